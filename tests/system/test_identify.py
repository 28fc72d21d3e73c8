"""`edgefaced identify` and `verify` with real networks, through the real front door."""

from __future__ import annotations

import json
import os
import pty
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from stand_in_pack import PACK

from edgefaced.cli.main import run
from edgefaced.pictures.annotate import COLOURS
from edgefaced.pictures.decode import read_picture
from edgefaced.pictures.video import VideoWriter, read_video
from edgefaced.types import Outcome

Asked = Callable[..., tuple[int, dict[str, Any]]]


@pytest.fixture
def place(own_places: Path, stand_in_models: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("EDGEFACED_MODELS_DIR", str(stand_in_models))
    monkeypatch.setenv("COLUMNS", "300")
    (own_places / "edgefaced.toml").write_text(f'[models]\npack = "{PACK}"\n')
    return own_places


@pytest.fixture
def photographs(shared_data: Path) -> Path:
    return shared_data / "detect"


@pytest.fixture
def him(place: Path, photographs: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """One person is enrolled, from one photograph."""
    assert run(["enroll", "Him", str(photographs / "sizes" / "fr_obama.jpg")]) == 0
    capsys.readouterr()
    return place


@pytest.fixture
def ask(capsys: pytest.CaptureFixture[str]) -> Asked:
    def command(verb: str, *words: str | Path) -> tuple[int, dict[str, Any]]:
        capsys.readouterr()
        status = run([verb, "--json", *map(str, words)])
        captured = capsys.readouterr()
        assert captured.out.count("\n") == 1
        return status, json.loads(captured.out)

    return command


def faces(document: dict[str, Any]) -> list[tuple[str, str | None]]:
    return [
        (face["outcome"], face["name"])
        for file in document["files"]
        for frame in file["frames"]
        for face in frame["faces"]
    ]


def test_the_known_is_named_and_the_stranger_beside_is_not(
    him: Path, photographs: Path, ask: Asked, capsys: pytest.CaptureFixture[str]
) -> None:
    both = photographs / "fr_two_people.jpg"
    status, said = ask("identify", both)
    assert status == 0
    assert faces(said) == [("known", "Him"), ("unknown", None)]
    assert said["known"] == 1
    known, unknown = said["files"][0]["frames"][0]["faces"]
    assert unknown["score"] < said["threshold"]["threshold"] <= known["score"]
    assert known["liveness"] == "not-checked"
    assert known["margin"] is None  # nobody else is enrolled
    assert known["box"][0] < unknown["box"][0]

    assert run(["identify", str(both)]) == 0
    words = capsys.readouterr()
    first, second = words.out.splitlines()
    assert first.startswith(f"{both} face 1: known Him, score 0.")
    assert second.startswith(f"{both} face 2: unknown, score ")
    assert second.endswith("(below threshold)")
    assert words.err.startswith("threshold 0.")


def test_with_nobody_enrolled_everybody_is_unknown(
    place: Path, photographs: Path, ask: Asked, capsys: pytest.CaptureFixture[str]
) -> None:
    status, said = ask("identify", photographs / "fr_two_people.jpg")
    assert status == 1
    assert faces(said) == [("unknown", None)] * 2
    assert not (place / "state" / "gallery.db").exists()
    assert run(["identify", str(photographs / "fr_two_people.jpg")]) == 1
    words = capsys.readouterr()
    assert "nobody is enrolled" in words.err
    assert words.out.count("nobody enrolled") == 2


def test_a_poor_picture_says_its_gate_and_no_name(
    him: Path, photographs: Path, ask: Asked, capsys: pytest.CaptureFixture[str]
) -> None:
    partial = photographs / "partial" / "fr_obama_partial_face.jpg"
    status, said = ask("identify", partial)
    assert status == 1
    assert faces(said) == [("too-poor", None)]
    assert said["files"][0]["frames"][0]["faces"][0]["score"] is None
    assert run(["identify", str(partial)]) == 1
    assert "too-poor: cut off (" in capsys.readouterr().out


def test_no_face_is_an_answer(
    him: Path, photographs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["identify", str(photographs / "negative" / "dlib_giraffe.jpg")]) == 1
    assert capsys.readouterr().out.endswith("dlib_giraffe.jpg: no face\n")


def test_a_folder_names_what_cannot_be_read_and_goes_on(
    him: Path, photographs: Path, ask: Asked, capsys: pytest.CaptureFixture[str]
) -> None:
    status, said = ask("identify", photographs / "formats")
    assert status == 0
    by_name = {Path(file["path"]).name: file for file in said["files"]}
    assert len(by_name) == 32
    broken = {name for name, file in by_name.items() if file["error"]}
    assert broken == {
        *(f"derived_truncated_{part}pct.jpg" for part in (10, 50, 90)),
        *("derived_not_an_image.jpg", "derived_zero_bytes.jpg", "pillow_truncated_end_chunk.png"),
    }
    for orientation in range(1, 9):
        (face,) = by_name[f"derived_exif_{orientation}.jpg"]["frames"][0]["faces"]
        assert face["name"] == "Him"
    assert run(["identify", str(photographs / "formats")]) == 0
    words = capsys.readouterr()
    assert sum(line.startswith("edgefaced: ") for line in words.err.splitlines()) == len(broken)


def test_a_bar_on_the_terminal_leaves_the_document_alone(him: Path, photographs: Path) -> None:
    ours, theirs = pty.openpty()
    try:
        done = subprocess.run(
            [sys.executable, "-m", "edgefaced", "identify", "--json", str(photographs / "exif")],
            stdout=subprocess.PIPE,
            stderr=theirs,
            env={**os.environ, "TERM": "xterm"},
            check=False,
        )
        shown = os.read(ours, 100_000).decode()
    finally:
        os.close(ours)
        os.close(theirs)
    assert done.returncode == 1
    assert "identifying" in shown
    assert len(json.loads(done.stdout)["files"]) == 8


def test_unreadable_files_are_exit_4(him: Path, tmp_path: Path, ask: Asked) -> None:
    bad = tmp_path / "bad"
    bad.mkdir()
    (bad / "a.jpg").write_text("no picture")
    (bad / "b.mp4").write_bytes(b"\x00\x00\x00\x20ftypisom" + bytes(100))
    status, said = ask("identify", bad)
    assert status == 4
    assert said["ok"] is False
    assert [Path(file["path"]).name for file in said["files"]] == ["a.jpg", "b.mp4"]
    assert all(file["error"]["code"] == "picture" for file in said["files"])
    assert ask("identify", bad / "a.jpg", "absent.jpg")[0] == 4
    (tmp_path / "empty").mkdir()
    status, said = ask("identify", tmp_path / "empty")
    assert status == 4


@pytest.fixture
def film(photographs: Path, tmp_path: Path) -> Path:
    """Two seconds: an empty room, then the two people."""
    people = read_picture(photographs / "fr_two_people.jpg", max_side_px=640)
    height, width = people.shape[:2]
    path = tmp_path / "film.mp4"
    with VideoWriter(path, width=width, height=height, frames_per_second=5.0) as writer:
        for number in range(10):
            writer.write(np.full_like(people, 70) if number < 5 else people)
    return writer.path


def test_every_frame_of_a_video_is_looked_at(him: Path, film: Path, ask: Asked) -> None:
    status, said = ask("identify", film)
    assert status == 0
    frames = said["files"][0]["frames"]
    assert [frame["seconds"] for frame in frames] == pytest.approx([n / 5 for n in range(10)])
    assert [len(frame["faces"]) for frame in frames] == [0] * 5 + [2] * 5
    assert said["known"] == 5


def test_json_lines_are_one_document_a_frame(
    him: Path, film: Path, photographs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = photographs / "formats" / "derived_zero_bytes.jpg"
    assert run(["identify", "--json-lines", str(film), str(broken)]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert len(lines) == 11
    assert all(line["ok"] for line in lines[:10])
    assert [face["name"] for face in lines[7]["faces"]] == ["Him", None]
    assert lines[10]["ok"] is False
    assert lines[10]["path"] == str(broken)
    assert run(["identify", "--json-lines", "--json", str(film)]) == 2
    assert json.loads(capsys.readouterr().out)["error"]["code"] == "usage"


def test_an_animated_gif_is_a_video_and_a_still_one_a_picture(
    him: Path, photographs: Path, tmp_path: Path, ask: Asked
) -> None:
    picture = Image.open(photographs / "sizes" / "fr_obama_small.jpg")
    still, moving = tmp_path / "still.gif", tmp_path / "moving.gif"
    picture.save(still)
    picture.save(moving, save_all=True, append_images=[picture.rotate(3)], duration=100)
    picture.close()
    _, said = ask("identify", still, moving)
    assert [len(file["frames"]) for file in said["files"]] == [1, 2]
    assert said["known"] == 3


def test_annotated_copies_show_what_was_said(
    him: Path, film: Path, photographs: Path, tmp_path: Path, ask: Asked
) -> None:
    again = tmp_path / "again"
    again.mkdir()
    shutil.copy(photographs / "fr_two_people.jpg", again)
    out = tmp_path / "deep" / "out"
    both = photographs / "fr_two_people.jpg"
    status, said = ask("identify", both, again, film, "--output", out)
    assert status == 0
    names = sorted(path.name for path in out.iterdir())
    assert names == ["film.mp4", "fr_two_people-2.jpg", "fr_two_people.jpg"]
    drawn = read_picture(out / "fr_two_people.jpg").astype(int)
    for face in said["files"][0]["frames"][0]["faces"]:
        left, top, _, bottom = (round(v) for v in face["box"])
        edge = drawn[top + 10 : bottom - 10, left - 2 : left + 3].mean(axis=0)
        colour = np.array(COLOURS[Outcome(face["outcome"])])
        assert np.abs(edge - colour).max(axis=1).min() < 30
    with read_video(out / "film.mp4") as frames:
        assert frames.frames_per_second == 5.0
        assert len(list(frames)) == 10


def test_an_output_that_cannot_be_written_is_said_before_the_work(
    him: Path, photographs: Path, tmp_path: Path, ask: Asked
) -> None:
    (tmp_path / "file").touch()
    both = photographs / "fr_two_people.jpg"
    status, said = ask("identify", both, "--output", tmp_path / "file" / "out")
    assert status == 9
    assert "files" not in said


def test_detector_sizes_and_packs_can_be_chosen(him: Path, photographs: Path, ask: Asked) -> None:
    both = photographs / "fr_two_people.jpg"
    assert ask("identify", both, "--detector-size", "640")[1]["known"] == 1
    status, said = ask("identify", both, "--detector-size", "352")
    assert status == 5
    assert "640" in said["error"]["hint"]
    assert ask("identify", both, "--pack", "no-such-pack")[0] == 5


def test_two_pictures_are_compared(
    place: Path, photographs: Path, ask: Asked, capsys: pytest.CaptureFixture[str]
) -> None:
    one, other = photographs / "sizes" / "fr_obama.jpg", photographs / "sizes" / "fr_obama2.jpg"
    stranger = photographs / "rotate" / "inspireface_rot_0.jpg"
    status, said = ask("verify", one, other)
    assert status == 0
    assert said["same_person"] is True
    assert said["score"] >= said["threshold"]
    status, said = ask("verify", one, stranger)
    assert status == 1
    assert said["same_person"] is False
    assert said["reason"] == "below threshold"
    assert run(["verify", str(one), str(other)]) == 0
    assert capsys.readouterr().out.startswith("the same person: score 0.")
    assert run(["verify", str(one), str(stranger)]) == 1
    assert capsys.readouterr().out.startswith("not the same person: score ")


def test_a_person_is_compared_with_a_picture(
    him: Path, photographs: Path, ask: Asked, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ask("verify", "him", photographs / "sizes" / "fr_obama2.jpg")[0] == 0
    status, said = ask("verify", "Him", photographs / "rotate" / "inspireface_rot_0.jpg")
    assert status == 1
    assert said["sides"][0]["shown"] == "Him"
    # Of several the largest counts, and is said.
    run(["verify", "Him", str(photographs / "fr_two_people.jpg")])
    assert "2 faces, the largest is compared" in capsys.readouterr().err


def test_a_poor_side_is_no_match_whatever_the_score(
    him: Path, photographs: Path, ask: Asked, capsys: pytest.CaptureFixture[str]
) -> None:
    partial = photographs / "partial" / "fr_obama_partial_face.jpg"
    status, said = ask("verify", "Him", partial)
    assert status == 1
    assert said["same_person"] is False
    assert "cut off" in said["reason"]
    assert run(["verify", "Him", str(partial)]) == 1
    assert capsys.readouterr().out.startswith("cannot be told, fr_obama_partial_face.jpg: cut off")


@pytest.mark.parametrize(
    ("first", "second", "status", "words"),
    [
        ("Nobody", "sizes/fr_obama.jpg", 1, "not enrolled"),
        ("sizes/absent.jpg", "sizes/fr_obama.jpg", 2, "no such picture"),
        ("Him", "negative/dlib_giraffe.jpg", 1, "no face"),
        ("Him", "rotate/inspireface_rot_180.jpg", 1, ""),
        ("Him", "sizes/absent.jpg", 4, "No such file"),
        ("Him", "formats/derived_zero_bytes.jpg", 4, "empty"),
        ("sizes", "sizes/fr_obama.jpg", 4, "is a folder"),
    ],
)
def test_what_cannot_be_compared_is_one_line(
    first: str,
    second: str,
    status: int,
    words: str,
    him: Path,
    photographs: Path,
    ask: Asked,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(photographs)
    answer, said = ask("verify", first, second)
    assert answer == status
    assert words in said.get("error", {"message": ""})["message"]


def test_without_a_gallery_nobody_can_be_verified(
    place: Path, photographs: Path, ask: Asked
) -> None:
    assert ask("verify", "Him", photographs / "sizes" / "fr_obama.jpg")[0] == 1
