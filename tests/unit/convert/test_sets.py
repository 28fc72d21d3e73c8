"""Calibration sets: balanced, read back, sealed, compared."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import cv2
import numpy as np
import pytest
from edgefaced_convert.balance import balanced
from edgefaced_convert.calset import CalibrationSet, Part, Sample, read_set, write_set
from edgefaced_convert.cli import main
from edgefaced_convert.conditions import (
    Distance,
    Figures,
    Light,
    Pose,
    condition_of,
    figures_of,
)
from edgefaced_convert.coverage import ACROSS, contact_sheet, coverage_of
from edgefaced_convert.gathering import Seen, choose, part_of
from edgefaced_convert.sealing import seal, unseal
from edgefaced_convert.statistics import (
    MOVED,
    Statistics,
    drift_between,
    parse_statistics,
    read_statistics,
    statistics_of,
    to_json,
)

from edgefaced.errors import Refused, UsageError
from edgefaced.types import Quality

DAYLIGHT = Figures(
    brightness=140,
    contrast=45,
    surroundings=120,
    colour=30,
    eye_share=0.15,
    yaw=0.0,
    pitch=0.0,
)


def like_day(**changed: float) -> Figures:
    return Figures(**{**{f: getattr(DAYLIGHT, f) for f in DAYLIGHT.__slots__}, **changed})


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({}, (Light.DAY, Pose.FRONTAL, Distance.NEAR)),
        ({"brightness": 80}, (Light.DUSK, Pose.FRONTAL, Distance.NEAR)),
        ({"brightness": 40, "surroundings": 30}, (Light.NIGHT, Pose.FRONTAL, Distance.NEAR)),
        ({"brightness": 50, "surroundings": 180}, (Light.BACK_LIGHT, Pose.FRONTAL, Distance.NEAR)),
        ({"colour": 0.5}, (Light.IR, Pose.FRONTAL, Distance.NEAR)),
        ({"yaw": -0.6, "eye_share": 0.05}, (Light.DAY, Pose.TURNED, Distance.MIDDLE)),
        ({"pitch": 0.4, "eye_share": 0.01}, (Light.DAY, Pose.NODDING, Distance.FAR)),
    ],
)
def test_conditions(changed: dict[str, float], expected: tuple[object, ...]) -> None:
    assert condition_of(like_day(**changed)) == expected


def test_figures_are_measured_from_the_pixels() -> None:
    face = np.full((112, 112, 3), 90, np.uint8)
    frame = np.full((300, 400, 3), 200, np.uint8)
    quality = Quality(40, 1, 90, 0, 0, 0.1, 0.2, 0, 1, 1)
    found = figures_of(face, frame, quality)
    assert (found.colour, found.surroundings, found.eye_share) == (0, 200, 0.1)
    face[:, :, 0] = 130
    assert figures_of(face, frame, quality).colour == 40


def test_a_rare_condition_is_taken_whole() -> None:
    conditions = [("day",)] * 95 + [("night",)] * 5
    chosen = balanced(conditions, 20)
    assert Counter(conditions[at][0] for at in chosen) == {"day": 15, "night": 5}
    assert len(set(chosen)) == 20
    assert sorted(balanced(conditions, 1000)) == list(range(100))
    assert balanced([], 5) == []


def test_light_decides_and_pose_breaks_the_tie() -> None:
    conditions = [("day", "frontal")] * 10 + [("day", "turned")] * 10 + [("night", "frontal")] * 10
    chosen = Counter(conditions[at] for at in balanced(conditions, 12))
    assert chosen["night", "frontal"] == 6
    assert chosen["day", "turned"] > chosen["day", "frontal"]


def test_faces_of_one_picture_are_in_one_part() -> None:
    seen = [
        Seen(Path(f"p{i // 2}.jpg"), i % 2, DAYLIGHT, condition_of(DAYLIGHT)) for i in range(200)
    ]
    chosen = choose(seen, {Part.CALIBRATE: 40, Part.HELD_OUT: 20})
    parts = Counter(part_of(one.picture) for one in chosen)
    assert parts == {Part.CALIBRATE: 40, Part.HELD_OUT: 20}


def small_set(consent: str = "") -> CalibrationSet:
    draw = np.random.default_rng(5)
    faces = tuple(
        Sample(
            draw.integers(0, 256, (112, 112, 3), dtype=np.uint8),
            part,
            like_day(brightness=50.0 + 20 * i),
        )
        for i, part in enumerate((Part.CALIBRATE, Part.HELD_OUT) * 2)
    )
    frames = (Sample(draw.integers(0, 256, (60, 90, 3), dtype=np.uint8), Part.CALIBRATE, None),)
    figures = [face.figures for face in faces if face.figures]
    return CalibrationSet("tests", consent, "2026-01-01", faces, frames, statistics_of(figures))


@pytest.mark.parametrize("passphrase", [None, "correct horse"])
def test_a_set_is_read_back_as_it_was(tmp_path: Path, passphrase: str | None) -> None:
    path, made = tmp_path / "s.calset", small_set("everybody, 2026-01-01")
    size_bytes = write_set(path, made, passphrase, overwrite=False)
    assert path.stat().st_size == size_bytes
    assert path.stat().st_mode & 0o777 == 0o600
    found = read_set(path, passphrase)
    assert (found.source, found.consent, found.made) == (made.source, made.consent, made.made)
    assert found.statistics == made.statistics
    pairs = zip((*made.faces, *made.frames), (*found.faces, *found.frames), strict=True)
    for before, after in pairs:
        assert np.array_equal(before.pixels, after.pixels)
        assert (before.part, before.figures) == (after.part, after.figures)
    assert len(found.of(found.faces, Part.HELD_OUT)) == 2
    with pytest.raises(Refused):
        write_set(path, made, passphrase, overwrite=False)


def test_a_sealed_set_shows_nothing_without_its_passphrase(tmp_path: Path) -> None:
    path = tmp_path / "s.calset"
    write_set(path, small_set(), "correct horse", overwrite=False)
    assert b"PNG" not in path.read_bytes()
    with pytest.raises(UsageError, match="sealed"):
        read_set(path, None)
    with pytest.raises(UsageError, match="wrong passphrase"):
        read_set(path, "battery staple")


def test_what_is_no_set_is_said(tmp_path: Path) -> None:
    path = tmp_path / "s.calset"
    path.write_bytes(b"nothing")
    with pytest.raises(UsageError, match="no calibration set"):
        read_set(path, None)
    with pytest.raises(UsageError, match="No such file"):
        read_set(tmp_path / "absent", None)


def test_sealing_refuses_short_passphrases_and_notices_changes() -> None:
    with pytest.raises(UsageError):
        seal(b"x", "short")
    sealed = bytearray(seal(b"payload", "long enough", log2_n=10))
    assert unseal(bytes(sealed), "long enough", "it") == b"payload"
    sealed[-1] ^= 1
    with pytest.raises(UsageError, match="altered"):
        unseal(bytes(sealed), "long enough", "it")
    with pytest.raises(UsageError, match="no sealed"):
        unseal(bytes(sealed[:20]), "long enough", "it")


def sample(draw: np.random.Generator, brightness: float, n: int = 300) -> list[Figures]:
    return [like_day(brightness=float(draw.normal(brightness, 20))) for _ in range(n)]


def test_drift_names_the_figure_that_left() -> None:
    draw = np.random.default_rng(0)
    before = statistics_of(sample(draw, 130))
    alike = drift_between(before, statistics_of(sample(draw, 130)))
    assert not any(one.left for one in alike)
    darker = drift_between(before, statistics_of(sample(draw, 70)))
    assert [one.figure for one in darker if one.left] == ["brightness"]
    assert darker[0].recent_mean < darker[0].mean


def brightness_of(*values: float) -> Statistics:
    return statistics_of([like_day(brightness=value) for value in values])


@pytest.mark.parametrize(
    ("in_set", "recent", "uncovered"),
    [
        # of 100 in the set, of 100 recent ones, in a bin of its own
        (2, 100, 0.0),  # two in a hundred cover it, however many come
        (1, 9, 0.09),
        (1, 10, 0.10),
        (0, 100, 1.0),
    ],
)
def test_drift_is_a_tenth_where_the_set_has_hardly_any(
    in_set: int, recent: int, uncovered: float
) -> None:
    before = brightness_of(*[130] * (100 - in_set), *[30] * in_set)
    after = brightness_of(*[130] * (100 - recent), *[30] * recent)
    found = {one.figure: one for one in drift_between(before, after)}
    assert found["brightness"].uncovered == pytest.approx(uncovered)
    assert found["brightness"].left is (uncovered >= 0.1)
    assert not any(one.left for name, one in found.items() if name != "brightness")


def test_a_set_more_varied_than_the_days_alarms_nobody() -> None:
    balanced_set = brightness_of(*[30, 70, 110, 130, 170] * 20)
    days = drift_between(balanced_set, brightness_of(*[130] * 300))
    moved = next(one for one in days if one.figure == "brightness")
    assert moved.index > MOVED  # the usual index would cry
    assert not any(one.left for one in days)


def test_of_several_figures_the_least_covered_stands_first() -> None:
    before = statistics_of([like_day()] * 100)
    after = statistics_of([*[like_day(yaw=0.6)] * 20, *[like_day(yaw=0.6, colour=0.0)] * 80])
    found = drift_between(before, after)
    assert [(one.figure, one.uncovered) for one in found[:2]] == [("yaw", 1.0), ("colour", 0.8)]


def test_statistics_travel_as_json(tmp_path: Path) -> None:
    made = statistics_of(sample(np.random.default_rng(1), 100, 20))
    path = tmp_path / "s.json"
    path.write_text(to_json(made))
    assert read_statistics(path) == made
    assert "pixels" not in path.read_text()
    with pytest.raises(UsageError):
        statistics_of([])
    with pytest.raises(UsageError, match="other figures"):
        parse_statistics('{"faces": 3, "figures": {}}', "it")
    with pytest.raises(UsageError, match="no file of statistics"):
        parse_statistics("[]", "it")


def test_the_drift_command_says_it_by_its_exit_code(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    draw = np.random.default_rng(2)
    paths = [tmp_path / name for name in ("before.json", "same.json", "dark.json")]
    for path, brightness in zip(paths, (130, 130, 60), strict=True):
        path.write_text(to_json(statistics_of(sample(draw, brightness))))
    for recent, code in ((paths[1], 0), (paths[2], 1)):
        with pytest.raises(SystemExit) as exit_info:
            main(["drift", str(paths[0]), str(recent), "--json"])
        assert exit_info.value.code == code
        document = json.loads(capsys.readouterr().out)
        assert document["left"] == (["brightness"] if code else [])


def test_pictures_of_a_device_need_consent_and_a_seal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "s.calset"
    with pytest.raises(SystemExit) as exit_info:
        main(["calibrate-set", "build", str(tmp_path), "--out", str(out), "--from-device"])
    assert exit_info.value.code == 2
    assert "--consent" in capsys.readouterr().err
    assert not out.exists()


def test_coverage_lists_what_is_missing_and_the_sheet_shows_what_is_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = small_set()
    coverage = coverage_of([face.figures for face in made.faces if face.figures])
    assert coverage.counts[Light.IR] == 0
    assert Light.IR in coverage.thin
    assert contact_sheet(made.faces).shape[1:] == (ACROSS * 112, 3)
    path, sheet = tmp_path / "s.calset", tmp_path / "sheet.png"
    write_set(path, made, None, overwrite=False)
    with pytest.raises(SystemExit) as exit_info:
        main(["calibrate-set", "show", str(path), "--sheet", str(sheet), "--json"])
    assert exit_info.value.code == 0
    assert json.loads(capsys.readouterr().out)["faces"]["calibrate"]["frontal"] == 2
    assert cv2.imread(str(sheet)) is not None
