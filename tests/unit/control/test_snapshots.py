"""A picture of the camera through the socket: whole, private, allowed and noticed."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np
import pytest

from edgefaced.camera.convert import planes_of
from edgefaced.cli.main import run
from edgefaced.control.contract import Request, SnapshotRequest
from edgefaced.control.peer import Access, Peer, rule_of_this_process
from edgefaced.control.server import Answers, ControlServer
from edgefaced.control.snapshots import PIECE_BYTES, Pictures, snapshot
from edgefaced.events import Happening, Trouble
from edgefaced.pipeline.tap import FrameTap
from edgefaced.types import U8, Frame, PixelFormat

Capture = pytest.CaptureFixture[str]


def scene(width: int, height: int) -> U8:
    """A picture without sharp colours: half the colour samples are enough for it."""
    rows, columns = np.mgrid[:height, :width]
    planes = 60 + 120 * columns / width, 60 + 120 * rows / height, 160 - 100 * columns / width
    return np.stack(planes, axis=-1).astype(np.uint8)


def frame_of(bgr: U8, pixel_format: PixelFormat) -> Frame:
    planes = planes_of(bgr, pixel_format)
    return Frame(1, 0, planes.pixels, pixel_format, planes.chroma)


class Desk:
    """Answers snapshots at a socket, with one frame or none."""

    def __init__(self, frame: Frame | None) -> None:
        self.frame, self.allowed = frame, True
        self.told: list[Happening] = []

    def answer(self, request: Request, access: Access, peer: Peer) -> Answers:
        assert isinstance(request, SnapshotRequest)
        pictures = Pictures(lambda: self.allowed, lambda timeout: self.frame, self.told.append)
        yield from snapshot(request, peer, pictures)

    def ask(self, folder: Path, *words: str) -> int:
        path = folder / "state" / "control.sock"
        path.parent.mkdir(exist_ok=True)
        with ControlServer(path, self.answer, rule_of_this_process("none")):
            return run(["snapshot", *words])


@pytest.mark.parametrize("pixel_format", list(PixelFormat), ids=str)
@pytest.mark.parametrize(("suffix", "error"), [(".png", 3), (".JPG", 8)])
def test_a_picture_of_every_format_is_what_the_camera_saw(
    own_places: Path, capsys: Capture, pixel_format: PixelFormat, suffix: str, error: int
) -> None:
    bgr = scene(640, 480)
    file = own_places / f"seen{suffix}"
    file.write_bytes(b"an older one")
    file.chmod(0o644)
    desk = Desk(frame_of(bgr, pixel_format))
    assert desk.ask(own_places, str(file)) == 0
    seen = cv2.imread(str(file))
    assert seen is not None
    assert seen.shape == bgr.shape
    assert int(np.abs(seen.astype(int) - bgr).max()) <= error
    assert file.stat().st_mode & 0o777 == 0o600
    assert sorted(p.name for p in own_places.iterdir()) == [f"seen{suffix}", "state"]
    (told,) = desk.told
    assert isinstance(told, Trouble)
    assert told.where == "snapshot"


def test_a_picture_of_many_pieces_is_put_together(own_places: Path, capsys: Capture) -> None:
    noise = np.random.default_rng(1).integers(0, 256, (480, 640, 3), np.uint8)
    file = own_places / "seen.png"
    assert Desk(frame_of(noise, PixelFormat.BGR)).ask(own_places, str(file), "--json") == 0
    document = json.loads(capsys.readouterr().out)
    assert document["size_bytes"] == file.stat().st_size > 3 * PIECE_BYTES
    assert (document["format"], document["width_px"], document["height_px"]) == ("png", 640, 480)
    seen = cv2.imread(str(file))
    assert seen is not None
    assert np.array_equal(seen, noise)


def test_where_pictures_are_not_allowed_nothing_is_taken(own_places: Path, capsys: Capture) -> None:
    desk = Desk(frame_of(scene(64, 48), PixelFormat.BGR))
    desk.allowed = False
    assert desk.ask(own_places, str(own_places / "seen.png")) == 1
    assert "control.allow_snapshots = true" in capsys.readouterr().err
    assert not (own_places / "seen.png").exists()
    assert desk.told == []


def test_a_camera_without_pictures_is_one_line(own_places: Path, capsys: Capture) -> None:
    desk = Desk(None)
    assert desk.ask(own_places, str(own_places / "seen.png")) == 1
    assert "the camera gives no pictures" in capsys.readouterr().err
    assert desk.told == []


def test_a_name_of_no_picture_is_refused_before_anybody_is_asked(
    own_places: Path, capsys: Capture
) -> None:
    assert run(["snapshot", str(own_places / "seen.txt")]) == 2
    assert ".jpg, .jpeg, .png" in capsys.readouterr().err


def test_a_file_that_cannot_be_written_is_one_line(own_places: Path, capsys: Capture) -> None:
    desk = Desk(frame_of(scene(64, 48), PixelFormat.BGR))
    assert desk.ask(own_places, str(own_places / "no" / "seen.png")) == 9
    assert capsys.readouterr().err.count("\n") == 1


def test_a_peer_without_a_name_is_a_number() -> None:
    assert Peer(7, 4_000_000_000, frozenset()).in_words() == "the user 4000000000 (process 7)"
    assert Peer(7, 0, frozenset()).in_words() == "the user root (process 7)"


def taken(tap: FrameTap, show: Callable[[], None]) -> Frame | None:
    """What somebody gets who asks while `show` happens."""
    got: list[Frame | None] = []
    asking = threading.Thread(target=lambda: got.append(tap.take(60)))
    asking.start()
    while asking.is_alive():
        if tap.watched:
            show()
    asking.join()
    return got[0]


@pytest.mark.parametrize("pixel_format", [PixelFormat.NV12, PixelFormat.YUYV])
def test_the_tap_gives_a_copy_that_outlives_the_lease(pixel_format: PixelFormat) -> None:
    tap = FrameTap()
    assert tap.take(0) is None
    assert not tap.watched
    lent = frame_of(scene(64, 48), pixel_format)
    lent.pixels.flags.writeable = True
    frame = taken(tap, lambda: tap.show(lent))
    assert frame is not None
    before = frame.pixels.copy()
    lent.pixels[:] = 0  # the camera's buffer is used again
    assert np.array_equal(frame.pixels, before)
    assert len(frame.chroma) == len(lent.chroma)
    assert not tap.watched
