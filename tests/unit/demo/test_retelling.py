"""How a run is told: lines, drawings, the sheet, the video, the tables and the document."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from edgefaced.cli.demo_narration import Narrator, crowd_line, sighting_line
from edgefaced.cli.demo_report import (
    conclusion,
    decision_bodies,
    scene_body,
    scene_table,
    time_table,
)
from edgefaced.demo.bookkeeping import Claim, Sighting, Truth, Verdict
from edgefaced.demo.drawing import ALARM, captioned, drawn
from edgefaced.demo.player import Scored
from edgefaced.demo.recording import Recording, open_folder
from edgefaced.demo.results import RunResult, scene_result
from edgefaced.demo.script import SCENES
from edgefaced.demo.studio import Shot, shots_of
from edgefaced.demo.timing import Stage, Stopwatch, stage_time
from edgefaced.errors import StorageError
from edgefaced.pictures.decode import read_picture
from edgefaced.pictures.video import read_video
from edgefaced.types import Box, Decision, Liveness, Outcome

BOX = Box(400, 200, 520, 360)
ANNA = Truth("Person A", True, BOX)
STRANGER = Truth("Stranger 1", False, BOX)
WALK_UP = SCENES[0]


def claim(name: str | None, score: float | None, outcome: Outcome, reason: str) -> Claim:
    return Claim(BOX, name, Decision(outcome, name, score, 0.4, Liveness.NOT_CHECKED, reason))


RECOGNISED = Sighting(Verdict.RECOGNISED, ANNA, claim("Person A", 0.61, Outcome.KNOWN, "match"))
REJECTED = Sighting(
    Verdict.REJECTED, STRANGER, claim(None, 0.12, Outcome.UNKNOWN, "below threshold")
)
NARROW = Sighting(Verdict.NOT_RECOGNISED, ANNA, claim(None, 0.55, Outcome.UNKNOWN, "margin"))
POOR = Sighting(Verdict.TOO_POOR, ANNA, claim(None, 0.33, Outcome.TOO_POOR, "dark, blurred"))
MISSED = Sighting(Verdict.MISSED, ANNA, None)
WRONG = Sighting(Verdict.FALSE_ACCEPT, STRANGER, claim("Person A", 0.7, Outcome.KNOWN, "match"))
STRAY = Sighting(Verdict.NO_FACE, None, claim(None, None, Outcome.UNKNOWN, "nobody enrolled"))


def scored(*sightings: Sighting, index: int = 0) -> Scored:
    pixels = np.full((720, 1280, 3), 90, dtype=np.uint8)
    return Scored(Shot(WALK_UP, index, index / 6, pixels, ()), sightings)


@pytest.mark.parametrize(
    ("sighting", "said"),
    [
        (RECOGNISED, ["Person A", "recognised", "0.61 >= 0.40"]),
        (REJECTED, ["Stranger 1", "rejected", "0.12 <  0.40"]),
        (NARROW, ["not recognised", "0.55 >= 0.40", "margin"]),
        (POOR, ["too poor", "0.33", "dark, blurred"]),
        (MISSED, ["Person A", "missed"]),
        (WRONG, ["Stranger 1", "FALSE ACCEPT", "taken for Person A"]),
        (STRAY, ["no face here", "no face"]),
    ],
)
def test_a_line_says_who_what_and_why(sighting: Sighting, said: list[str]) -> None:
    line = sighting_line(scored(sighting), sighting).plain
    assert all(part in line for part in said)


def test_only_news_is_told() -> None:
    narrator = Narrator(everything=False)
    told = [bool(narrator.lines(scored(RECOGNISED, index=i))) for i in range(14)]
    assert told == [True] + [False] * 11 + [True, False]
    assert narrator.lines(scored(POOR, index=14))
    assert not narrator.lines(scored(POOR, index=15))


def test_a_false_accept_is_always_told() -> None:
    narrator = Narrator(everything=False)
    assert all(narrator.lines(scored(WRONG, index=i)) for i in range(5))
    crowd = [*([REJECTED] * 6), WRONG]
    for index in range(4):
        lines = [line.plain for line in narrator.lines(scored(*crowd, index=index))]
        assert sum("taken for Person A" in line for line in lines) == 1


def test_a_crowd_is_told_in_one_line() -> None:
    frame = scored(*([REJECTED] * 5), MISSED)
    narrator = Narrator(everything=False)
    assert [line.plain for line in narrator.lines(frame)] == [crowd_line(frame).plain]
    assert not narrator.lines(scored(*([REJECTED] * 6), index=1))
    assert "5 rejected" in crowd_line(frame).plain
    assert "best score 0.12" in crowd_line(frame).plain


def test_everything_is_told_on_request() -> None:
    narrator = Narrator(everything=True)
    assert len(narrator.lines(scored(*([REJECTED] * 6)))) == 6
    assert len(narrator.lines(scored(*([REJECTED] * 6), index=1))) == 6


def test_a_drawing_marks_faces_and_leaves_the_frame_alone() -> None:
    frame = scored(RECOGNISED)
    picture = drawn(frame, 640)
    assert picture.shape == (360, 640, 3)
    assert np.all(frame.shot.pixels == 90)
    blue, green, red = (int(c) for c in picture[150, 200])  # the box's left edge
    assert green > blue
    assert green > red
    assert np.array_equal(drawn(scored(), 640), np.full((360, 640, 3), 90))


def test_missed_faces_are_marked_at_their_corners() -> None:
    picture = drawn(scored(MISSED), 1280)
    assert int(picture[200, 405, 0]) > 180
    assert int(picture[200, 460, 0]) == 90


def test_a_false_accept_reddens_the_whole_picture() -> None:
    picture = drawn(scored(WRONG), 640)
    assert all(tuple(picture[y, x]) == ALARM for y, x in ((0, 0), (0, 639), (200, 0), (359, 0)))


def test_a_caption_stays_in_its_corner() -> None:
    picture = drawn(scored(), 960)
    captioned(picture, scored())
    assert np.all(picture[:400] == 90)
    assert not np.all(picture[-10:, :100] == 90)


def test_a_recording_leaves_a_sheet_a_video_and_credits(tmp_path: Path) -> None:
    stride = 15
    folder = open_folder(tmp_path / "new" / "folder")
    with Recording(folder, stride=stride) as recording:
        count = 0
        results = []
        for scene in SCENES:
            sightings = []
            for index in range(shots_of(scene, stride)):
                pixels = np.full((720, 1280, 3), 40 + 5 * index, dtype=np.uint8)
                seen = (RECOGNISED,) if scene.enrolled else (REJECTED,)
                recording.add(Scored(Shot(scene, index, count / 2, pixels, ()), seen))
                sightings.append(seen)
                count += 1
            results.append(scene_result(scene, sightings))
        kept = recording.finish(results, "title", ("a line",), "# Credits\nšž\n")
    assert kept.credits.read_text(encoding="utf-8") == "# Credits\nšž\n"
    with read_video(kept.video) as frames:
        assert sum(1 for _ in frames) == count
    sheet = read_picture(kept.contact_sheet)
    assert sheet.shape[0] > len(SCENES) * 180
    assert sheet.shape[1] > 5 * 320
    assert all(path.parent == folder for path in (kept.contact_sheet, kept.video, kept.credits))


def test_a_folder_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StorageError, match="--output"):
        open_folder(tmp_path / "file" / "demo")
    assert open_folder(tmp_path / "demo").is_absolute()
    assert not list((tmp_path / "demo").iterdir())


def run_of(*sightings: Sighting) -> RunResult:
    scenes = tuple(scene_result(scene, [sightings]) for scene in SCENES[:2])
    return RunResult(scenes, (stage_time(Stage.DETECT, [1_000_000, 3_000_000]),))


def test_the_tables_fit_eighty_columns() -> None:
    console = Console(width=80, color_system=None)
    with console.capture() as captured:
        console.print(scene_table(run_of(RECOGNISED, WRONG)))
        console.print(time_table(run_of().times))
    text = captured.get()
    assert "…" not in text
    assert "walk-up" in text
    assert all(len(line) <= 80 for line in text.splitlines())
    assert text.splitlines()[-1].split() == ["detect", "2.00", "2.90", "2"]


def test_the_conclusion_names_what_went_wrong() -> None:
    both = Sighting(
        Verdict.RECOGNISED,
        Truth("Person B", True, BOX),
        claim("Person B", 0.8, Outcome.KNOWN, "match"),
    )
    assert conclusion(run_of(RECOGNISED, both)).startswith("exit 0")
    assert "Person B never recognised in 'turn'" in conclusion(run_of(RECOGNISED))
    wrong = conclusion(run_of(RECOGNISED, both, WRONG))
    assert wrong == "exit 1: 2 false accepts"


def test_the_document_holds_every_decision() -> None:
    frame = scored(RECOGNISED, REJECTED, POOR, MISSED, WRONG, STRAY)
    bodies = decision_bodies(frame)
    assert json.loads(json.dumps(bodies, allow_nan=False)) == bodies
    assert [body["verdict"] for body in bodies] == [
        "recognised",
        "rejected",
        "too poor",
        "missed",
        "false accept",
        "no face",
    ]
    assert [body["score"] for body in bodies] == [0.61, 0.12, 0.33, None, 0.7, None]
    body = scene_body(scene_result(WALK_UP, [frame.sightings]))
    assert (body["faces"], body["false_accepts"], body["missed"], body["passed"]) == (
        5,
        1,
        1,
        False,
    )


def test_a_stopwatch_counts_what_finished() -> None:
    stopwatch = Stopwatch()
    with stopwatch.measuring(Stage.EMBED):
        pass
    with pytest.raises(ZeroDivisionError), stopwatch.measuring(Stage.MATCH):
        _ = 1 / 0
    (only,) = stopwatch.times()
    assert (only.stage, only.count) == (Stage.EMBED, 1)
    assert 0 <= only.p50_ms <= only.p95_ms
