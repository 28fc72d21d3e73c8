"""From pictures in a folder to the faces and frames of a set."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from edgefaced_convert.calset import Part
from edgefaced_convert.cli import main
from edgefaced_convert.gathering import (
    FRAME_SIDE_PX,
    Seen,
    choose,
    faces_of,
    frames_of,
    look_at,
    part_of,
)
from painted_faces import BLUE, RED, painted_recogniser, picture

from edgefaced.pictures.write import write_picture
from edgefaced.types import Box

LEFT, RIGHT = Box(20, 60, 100, 140), Box(200, 60, 280, 140)


def folder_of(tmp_path: Path, count: int) -> list[Seen]:
    """Pictures of two faces each; what was seen of them."""
    seen = []
    for number in range(count):
        path = tmp_path / f"{number}.png"
        write_picture(path, picture((RED, LEFT), (BLUE, RIGHT)))
        seen += look_at(painted_recogniser(), path)
    return seen


def test_every_face_of_a_picture_is_measured(tmp_path: Path) -> None:
    seen = folder_of(tmp_path, 1)
    assert [one.face for one in seen] == [0, 1]
    for one in seen:
        assert one.picture == tmp_path / "0.png"
        assert one.figures.colour > 100
        assert one.figures.eye_share == pytest.approx(80 * 35 / 112 / 320, rel=0.05)


def test_what_is_no_picture_or_shows_nobody_has_no_faces(tmp_path: Path) -> None:
    cut_off, nobody = tmp_path / "a.png", tmp_path / "b.png"
    cut_off.write_bytes(b"")
    write_picture(nobody, picture())
    assert look_at(painted_recogniser(), cut_off) == []
    assert look_at(painted_recogniser(), nobody) == []


def test_faces_and_frames_are_taken_in_rgb_each_frame_once(tmp_path: Path) -> None:
    chosen = choose(folder_of(tmp_path, 12), {Part.CALIBRATE: 10, Part.HELD_OUT: 4})
    assert len(chosen) == 14
    faces, frames = faces_of(painted_recogniser(), chosen), frames_of(chosen)
    assert len(faces) == 14
    assert len(frames) == len({one.picture for one in chosen})
    for one, face in zip(chosen, faces, strict=True):
        blue, green, red = RED if one.face == 0 else BLUE  # painted as BGR
        np.testing.assert_allclose(face.pixels[60, 56], (red, green, blue), atol=2)
        assert face.part is part_of(one.picture)
        assert face.figures == one.figures
    assert frames[0].pixels.shape == (240, 320, 3)
    assert tuple(frames[0].pixels[100, 60]) == RED[::-1]


def test_a_large_frame_is_kept_smaller(tmp_path: Path) -> None:
    path = tmp_path / "large.png"
    write_picture(path, picture((RED, Box(400, 200, 900, 700)), width=1600, height=900))
    (frame,) = frames_of(look_at(painted_recogniser(), path))
    assert frame.pixels.shape == (360, FRAME_SIDE_PX, 3)


@pytest.mark.parametrize("option", ["--out", "--sheet", "--statistics"])
def test_what_is_there_already_is_said_before_anything_is_looked_at(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], option: str
) -> None:
    there = tmp_path / "there"
    there.write_text("mine")
    named = {"--out": tmp_path / "s.calset", option: there}
    options = [word for name, path in named.items() for word in (name, str(path))]
    with pytest.raises(SystemExit) as exit_info:
        main(["calibrate-set", "build", str(tmp_path), *options])
    assert exit_info.value.code == 1
    assert "exists already" in capsys.readouterr().err
    assert there.read_text() == "mine"


def test_boards_and_a_cpu_are_not_converted_for_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    targets = ["--target", "cpu", "--target", "rk3588"]
    with pytest.raises(SystemExit) as exit_info:
        main(["convert", "p", *targets, "--precision", "int8", "--set", "s.calset"])
    assert exit_info.value.code == 2
    assert "another road" in capsys.readouterr().err


@pytest.mark.skipif(find_spec("rknn") is not None, reason="rknn-toolkit2 is installed here")
def test_without_the_toolkit_a_board_is_refused_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_info:
        main(["convert", "p", "--target", "rk3588", "--precision", "int8", "--set", "s.calset"])
    assert exit_info.value.code == 8
    assert "setup.sh" in capsys.readouterr().err
