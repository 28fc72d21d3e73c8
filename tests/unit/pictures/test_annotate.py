"""Drawing: what a person sees is there, in scale, and nothing outside text can break it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from edgefaced.errors import PictureError, StorageError
from edgefaced.pictures import annotate as drawing
from edgefaced.pictures.annotate import COLOURS, Mark, Tile, annotate, contact_sheet, text_image
from edgefaced.pictures.decode import read_picture
from edgefaced.pictures.write import png_bytes, write_picture
from edgefaced.types import F32, U8, Box, Outcome

POINTS: F32 = np.array([[40, 40], [60, 40], [50, 50], [42, 60], [58, 60]], np.float32)


def grey(height: int = 240, width: int = 320) -> U8:
    return np.full((height, width, 3), 90, np.uint8)


def mark(box: Box, label: str = "", outcome: Outcome = Outcome.KNOWN) -> Mark:
    return Mark(box, POINTS, label, outcome)


@pytest.mark.parametrize("outcome", Outcome)
def test_box_and_landmarks_have_the_colour_of_the_outcome(outcome: Outcome) -> None:
    picture = grey()
    drawn = annotate(picture, [mark(Box(30, 30, 70, 70), outcome=outcome)])
    for x, y in [(30, 50), (70, 50), (50, 30), (50, 70), *POINTS.astype(int)]:
        assert tuple(drawn[y, x]) == COLOURS[outcome]
    assert tuple(drawn[100, 100]) == (90, 90, 90)
    assert (picture == 90).all()  # a copy was drawn on


def test_lines_grow_with_the_picture() -> None:
    def line_px(side: int) -> int:
        drawn = annotate(grey(side, side), [mark(Box(0.4 * side, 2, side - 3, 0.9 * side))])
        return int((drawn[side // 3, side // 5 : side // 2] != 90).any(axis=1).sum())

    assert line_px(320) < line_px(1280) < line_px(3840)


def test_a_label_stands_above_its_box_or_inside_where_there_is_no_room() -> None:
    above = annotate(grey(), [mark(Box(100, 100, 200, 200), "Ada 0.81")])
    assert (above[80:98, 105:150] != 90).any()
    assert (above[104:190, 110:190] == 90).all()
    inside = annotate(grey(), [mark(Box(100, 2, 200, 200), "Ada 0.81")])
    assert (inside[5:15, 105:150] == COLOURS[Outcome.KNOWN]).all(axis=2).any()


@pytest.mark.parametrize(
    "box",
    [
        Box(-500, -500, -400, -400),
        Box(310, 230, 5000, 5000),
        Box(-1e9, -1e9, 1e9, 1e9),
        Box(100, 239.9, 120, 260),
    ],
)
def test_faces_beyond_the_edge_do_not_break_anything(box: Box) -> None:
    drawn = annotate(grey(), [mark(box, "someone far away")])
    assert drawn.shape == (240, 320, 3)
    tiny = annotate(grey(3, 2), [mark(box, "a name much longer than the picture")])
    assert tiny.shape == (3, 2, 3)


@pytest.mark.parametrize(
    "name",
    ["", "Zoë Łukasz", "渡辺", "🙂", "שלום", "a\nb\tc\x00", "../../x", "'\"", "x" * 5000, "\udcff"],
)
@pytest.mark.parametrize("fonts", [drawing.SYSTEM_FONTS, ()])
def test_every_name_can_be_written(
    name: str, fonts: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drawing, "SYSTEM_FONTS", fonts)
    text = text_image(name, 15, (255, 255, 255), (0, 0, 0))
    assert text.shape[0] == text_image("x", 15, (1, 1, 1), (0, 0, 0)).shape[0]
    assert text.shape[1] < 4000
    assert (text.max() > 100) == any(c.isprintable() for c in name)


def test_without_system_fonts_accents_fall_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drawing, "SYSTEM_FONTS", ())
    white, black = (255, 255, 255), (0, 0, 0)
    assert np.array_equal(text_image("Zoë", 19, white, black), text_image("Zoe", 19, white, black))


def test_a_sheet_holds_every_picture_with_its_frame() -> None:
    tiles = [
        Tile(grey(), ["one", "two"], Outcome.KNOWN),
        Tile(grey(400, 40), [], Outcome.UNKNOWN),
        Tile(grey(2, 2), ["small"]),
        Tile(grey(), ["next row"], Outcome.SPOOF),
    ]
    sheet = contact_sheet(tiles, columns=3, tile_side_px=120, title="Four")
    assert sheet.shape[1] == 360
    assert sheet.shape[0] > 240
    for outcome in (Outcome.KNOWN, Outcome.UNKNOWN, Outcome.SPOOF):
        assert (sheet == COLOURS[outcome]).all(axis=2).sum() > 100
    assert (sheet == 90).all(axis=2).sum() > 10_000
    assert contact_sheet([], columns=2).shape[1] == 480


def test_pictures_are_written_whole_or_not_at_all(tmp_path: Path) -> None:
    picture = grey()
    picture[:20] = (10, 200, 30)
    for suffix in (".png", ".jpg", ".webp", ".bmp", ".PNG"):
        path = tmp_path / f"a{suffix}"
        write_picture(path, picture)
        assert np.abs(read_picture(path).astype(int) - picture).mean() < 3
    assert len(list(tmp_path.iterdir())) == 5
    with pytest.raises(PictureError, match=r"cannot write '\.txt'"):
        write_picture(tmp_path / "a.txt", picture)
    with pytest.raises(StorageError, match="No such file"):
        write_picture(tmp_path / "absent" / "a.png", picture)
    with pytest.raises(PictureError, match="cannot be written"):
        write_picture(tmp_path / "b.webp", np.zeros((20_000, 2, 3), np.uint8))
    assert not (tmp_path / "b.webp").exists()
    assert png_bytes(picture).startswith(b"\x89PNG")
