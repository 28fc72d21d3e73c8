"""`edgefaced enroll` with real networks on real photographs, through the real front door."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from stand_in_pack import PACK

from edgefaced.cli.main import run
from edgefaced.pictures.decode import read_picture
from edgefaced.pictures.write import write_picture

Enroll = Callable[..., tuple[int, dict[str, Any]]]

KEPT, REFUSED, UNREADABLE = 0, 1, 4
GATES = {
    **dict.fromkeys(
        ["derived.bmp", "derived.webp", "derived_cmyk.jpg", "derived_progressive.jpg"], ""
    ),
    **{f"derived_exif_{orientation}.jpg": "" for orientation in range(1, 9)},
    **{
        f"derived_{kind}": ""
        for kind in (
            *("grey.jpg", "grey.png", "grey16.png", "grey_alpha.png"),
            *("palette.png", "rgb16.png", "rgba.png"),
        )
    },
    "derived_16x12.png": "too small",
    "derived_40x30.png": "too small",
    "pillow_hopper_16bit.pgm": "too small",
    "derived_1x1.png": "no face",
    "derived_tall_60x4000.jpg": "no face",
    "derived_wide_4000x60.jpg": "no face",
    "pillow_pil_sample_cmyk.jpg": "no face",
    "derived_not_an_image.jpg": "unreadable",
    "derived_truncated_10pct.jpg": "unreadable",
    "derived_truncated_50pct.jpg": "unreadable",
    "derived_truncated_90pct.jpg": "unreadable",
    "derived_zero_bytes.jpg": "unreadable",
    "pillow_truncated_end_chunk.png": "unreadable",
}


@pytest.fixture
def place(own_places: Path, stand_in_models: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("EDGEFACED_MODELS_DIR", str(stand_in_models))
    monkeypatch.setenv("COLUMNS", "300")
    (own_places / "edgefaced.toml").write_text(f'[models]\npack = "{PACK}"\n')
    return own_places


@pytest.fixture
def enroll(place: Path, capsys: pytest.CaptureFixture[str]) -> Enroll:
    """Runs the command with --json; its exit code and document."""

    def command(*words: str | Path) -> tuple[int, dict[str, Any]]:
        capsys.readouterr()
        status = run(["enroll", "--json", *map(str, words)])
        captured = capsys.readouterr()
        assert captured.out.count("\n") == 1
        return status, json.loads(captured.out)

    return command


@pytest.fixture
def lfw(shared_data: Path) -> Callable[[str], list[Path]]:
    return lambda person: sorted((shared_data / "lfw" / "images" / person).glob("*.jpg"))


def gates(document: dict[str, Any]) -> list[str]:
    return [picture["gate"] or "" for picture in document["pictures"]]


def people(capsys: pytest.CaptureFixture[str]) -> dict[str, int]:
    capsys.readouterr()
    assert run(["list", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)["people"]
    return {person["name"]: person["templates"] for person in listed}


@pytest.mark.parametrize("name", GATES)
def test_every_kind_of_file_is_enrolled_or_refused_in_one_line(
    name: str, place: Path, shared_data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    gate = GATES[name]
    path = shared_data / "detect" / "formats" / name
    status = run(["enroll", "Somebody", str(path)])
    said = capsys.readouterr()
    expected = {"": KEPT, "unreadable": UNREADABLE}.get(gate, REFUSED)
    assert status == expected
    (line, *summary) = said.out.splitlines()
    assert line.startswith(f"{path}: {gate or 'kept'}")
    assert len(summary) == (1 if status == KEPT else 0)
    assert len(said.err.splitlines()) == (0 if status == KEPT else 1)
    assert people(capsys) == ({"Somebody": 1} if status == KEPT else {})


def test_every_file_of_the_folder_is_one_of_them(shared_data: Path) -> None:
    assert {p.name for p in (shared_data / "detect" / "formats").iterdir()} == set(GATES)


def test_a_folder_with_everything_in_it(
    enroll: Enroll, shared_data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, said = enroll("Somebody", shared_data / "detect" / "formats")
    assert status == KEPT
    found = {Path(p["path"]).name: p["gate"] or "" for p in said["pictures"]}
    assert set(found) == set(GATES)
    for name, gate in found.items():
        if GATES[name]:
            assert gate.startswith(GATES[name])
        else:  # all of one photograph, many of them exactly
            assert gate in {"", "duplicate picture"}
    assert said["kept"] == list(found.values()).count("")
    assert people(capsys) == {"Somebody": said["kept"]}


def test_people_of_lfw_are_enrolled_from_folders(
    enroll: Enroll, lfw: Callable[[str], list[Path]], capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("Jennifer_Capriati", "Pete_Sampras", "Gloria_Macapagal_Arroyo"):
        status, said = enroll(name, lfw(name)[0].parent, "--largest", "--consent", "on paper")
        assert status == KEPT
        assert said["kept"] >= 0.8 * min(len(said["pictures"]), 20)
        assert said["person"]["consent"]["note"] == "on paper"
        assert said["lowest_without_itself"] > 0.3
    assert len(people(capsys)) == 3


def test_another_person_among_them_is_left_out(
    enroll: Enroll, lfw: Callable[[str], list[Path]]
) -> None:
    mine, other = lfw("Jennifer_Capriati")[:4], lfw("Pete_Sampras")[0]
    status, said = enroll("Jennifer", *mine[:2], other, *mine[2:], "--largest")
    assert status == KEPT
    assert gates(said) == ["", "", "another person", "", ""]
    odd = said["pictures"][2]
    assert odd["score"] < said["threshold"]


def test_who_is_enrolled_already_is_named(
    enroll: Enroll, lfw: Callable[[str], list[Path]], capsys: pytest.CaptureFixture[str]
) -> None:
    mine = lfw("Jennifer_Capriati")
    enroll("Jennifer", *mine[:2], "--largest")
    status, said = enroll("Jenny", *mine[2:5], "--largest")
    assert status == REFUSED
    assert gates(said) == ["enrolled as Jennifer"] * 3
    assert said["error"]["message"] == "this face is already enrolled as Jennifer"
    assert people(capsys) == {"Jennifer": 2}
    status, _ = enroll("Jenny", mine[4], "--largest", "--allow-duplicate")
    assert status == KEPT


def test_a_name_in_use_is_refused_before_any_picture_is_read(
    enroll: Enroll, lfw: Callable[[str], list[Path]], capsys: pytest.CaptureFixture[str]
) -> None:
    mine = lfw("Jennifer_Capriati")
    enroll("Jennifer", mine[0], "--largest")
    status, said = enroll("JENNIFER", mine[1])
    assert status == REFUSED
    assert "already enrolled" in said["error"]["message"]
    status, said = enroll("Jennifer", *mine[:3], "--add", "--largest")
    assert status == KEPT
    assert gates(said) == ["duplicate picture", "", ""]
    assert people(capsys) == {"Jennifer": 3}
    status, said = enroll("Nobody Yet", mine[0], "--add")
    assert status == REFUSED
    assert "not enrolled" in said["error"]["message"]


def test_several_faces_need_a_word(enroll: Enroll, shared_data: Path) -> None:
    picture = shared_data / "detect" / "fr_two_people.jpg"
    status, said = enroll("Right", picture)
    assert status == REFUSED
    assert gates(said) == ["several faces"]
    assert enroll("Left", picture, "--face", "1")[0] == KEPT
    status, said = enroll("Left again", picture, "--face", "1")
    assert gates(said) == ["enrolled as Left"]
    assert enroll("Right", picture, "--face", "2")[0] == KEPT
    status, said = enroll("Third", picture, "--face", "3")
    assert gates(said) == ["no such face"]
    assert enroll("X", picture, "--face", "1", "--largest")[0] == 2


@pytest.mark.parametrize(
    ("file", "gate"),
    [
        ("inspireface_blur.jpg", "blurred"),
        ("partial/fr_obama_partial_face.jpg", "cut off"),
        ("rotate/inspireface_rot_0.jpg", ""),
        ("rotate/inspireface_rot_90.jpg", "pose"),
        ("rotate/inspireface_rot_180.jpg", "upside down"),
        ("rotate/inspireface_rot_270.jpg", "pose"),
        ("negative/derived_noise.png", "no face"),
        ("negative/dlib_giraffe.jpg", "no face"),
        # A mask costs SFace and MobileFaceNet little, and no gate of ours sees it.
        ("mask/inspireface_mask2.jpg", ""),
    ],
)
def test_poor_pictures_are_refused_by_name(
    file: str, gate: str, enroll: Enroll, shared_data: Path
) -> None:
    status, said = enroll("Somebody", shared_data / "detect" / file)
    assert gates(said) == [gate]
    assert status == (REFUSED if gate else KEPT)


def test_turned_tiny_and_filling_pictures_of_one_photograph(
    enroll: Enroll, shared_data: Path, tmp_path: Path
) -> None:
    original = read_picture(shared_data / "detect" / "sizes" / "fr_obama.jpg")
    assert enroll("Him", shared_data / "detect" / "sizes" / "fr_obama.jpg")[0] == KEPT
    face = original[110:700, 240:700]  # hair to chin: it fills the frame
    write_picture(tmp_path / "filling.png", np.ascontiguousarray(face))
    room = np.full((1200, 1600, 3), 90, np.uint8)  # 34 pixels between the eyes
    small = cv2.resize(original, None, fx=0.3, fy=0.3, interpolation=cv2.INTER_AREA)
    room[500 : 500 + small.shape[0], 900 : 900 + small.shape[1]] = small
    write_picture(tmp_path / "small.png", room)
    status, said = enroll("Somebody", tmp_path / "filling.png", tmp_path / "small.png")
    assert status == REFUSED
    # Both are found and recognised: whatever way was taken, the face was cut out rightly.
    assert gates(said) == ["enrolled as Him", "enrolled as Him"]
    assert min(picture["score"] for picture in said["pictures"]) > 0.8


def test_a_profile_that_no_probe_could_reach_is_not_stored(
    place: Path, enroll: Enroll, shared_data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (place / "edgefaced.toml").write_text(
        f'[models]\npack = "{PACK}"\n[recognition]\nminimum_margin = 0.5\n'
    )
    sizes = shared_data / "detect" / "sizes"
    assert enroll("Him", sizes / "fr_obama.jpg")[0] == KEPT
    status, said = enroll("Twin", sizes / "fr_obama2.jpg", "--allow-duplicate")
    assert status == REFUSED
    assert gates(said) == ["not to be told from Him"]
    assert people(capsys) == {"Him": 1}


def test_unreadable_files_among_good_ones_are_said_and_not_fatal(
    enroll: Enroll, shared_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = shared_data / "detect" / "sizes" / "fr_obama.jpg"
    heic = tmp_path / "phone.heic"
    heic.write_bytes(b"\x00\x00\x00\x18ftypheic" + b"\x01" * 100)
    os.mkfifo(tmp_path / "pipe")
    monkeypatch.setitem(sys.modules, "pillow_heif", None)
    bad = [heic, tmp_path / "pipe", tmp_path / "absent.jpg", Path("/dev/null"), Path("/dev/zero")]
    status, said = enroll("Him", *bad, good)
    assert status == KEPT
    assert gates(said) == [*["unreadable"] * 5, ""]
    status, said = enroll("Her", *bad[1:])
    assert status == UNREADABLE
    assert said["ok"] is False
    status, said = enroll("Her", heic)
    assert status == 8
    assert "heic" in said["error"]["hint"]
    status, said = enroll("Her", tmp_path)  # a folder: the pipe in it is no picture
    assert status == 8
    (tmp_path / "empty").mkdir()
    status, said = enroll("Her", tmp_path / "empty")
    assert status == UNREADABLE


def test_odd_names_of_files_and_people(
    enroll: Enroll, shared_data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    photograph = shared_data / "detect" / "sizes" / "fr_obama.jpg"
    odd = [tmp_path / "two\nlines.jpg", tmp_path / "-–é🙂.jpg", Path(f"{tmp_path}/\udcff.jpg")]
    for path in odd:
        shutil.copy(photograph, path)
    status, said = enroll("Zoë 🙂 O'Neill", *odd)
    assert status == KEPT
    assert gates(said) == ["", "duplicate picture", "duplicate picture"]
    run(["enroll", "Other", str(odd[0])])
    said_in_words = capsys.readouterr()
    assert said_in_words.out.count("\n") == 1
    assert said_in_words.err.count("\n") == 1
    for name in ("", "a\nb", "x" * 300):
        assert enroll(name, photograph)[0] == 2


def test_the_gallery_keeps_nothing_of_a_refused_enrolment(
    place: Path, enroll: Enroll, shared_data: Path
) -> None:
    photographs = shared_data / "detect"
    enroll("Him", photographs / "sizes" / "fr_obama.jpg")
    before = (place / "state" / "gallery.db").stat().st_size
    for file in ("inspireface_blur.jpg", "fr_two_people.jpg", "sizes/fr_obama2.jpg"):
        assert enroll("Her", photographs / file)[0] == REFUSED
    assert (place / "state" / "gallery.db").stat().st_size == before
