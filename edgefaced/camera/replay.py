"""A camera made of files: in their own time, losing frames as a camera does, or as fast as asked.

What fits into memory is decoded and converted once, when it is opened, so that a frame costs as
little as a camera's; longer films are decoded as they run.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Literal

from edgefaced.camera.lease import FrameLease, LeaseBook, left_out
from edgefaced.camera.reel import NANOSECONDS, Playing, Reel, Shot, replayed
from edgefaced.errors import CameraEnded, CameraError, LeaseError
from edgefaced.protocols import Camera, CameraCounts, CameraDescription, CameraWish
from edgefaced.types import Frame, PixelFormat

MEMORY_BYTES = 256 * 1024 * 1024
USUAL_RATE = 30.0
CATCH_UP_NS = 100_000_000
"""How long a late reader's frames are decoded and passed over, at most, beyond its time-out."""

Pace = Literal["real", "fast"]


def open_replay(
    paths: Sequence[Path],
    wish: CameraWish,
    *,
    pace: Pace,
    loop: bool,
    picture_seconds: float,
    buffers: int,
    memory_bytes: int = MEMORY_BYTES,
    now_ns: Callable[[], int] = time.monotonic_ns,
    sleep: Callable[[float], None] = time.sleep,
) -> Camera:
    """Opens pictures and videos as one camera. Raises PictureError for a file it cannot read.

    The film begins with the first call of `next`. At "real" pace a frame happens when its time has
    come. At "fast" pace it comes when it is asked for, yet `captured_ns` is the film's own time,
    counted from its beginning: what follows from it does not depend on the machine's speed, and
    it says nothing about latency.
    """
    reel = Reel(
        paths=tuple(paths),
        pixel_format=_pixel_format(wish),
        rate=wish.frames_per_second or USUAL_RATE,
        picture_seconds=picture_seconds,
        width=wish.width or 0,
        height=wish.height or 0,
    )
    shots, lasts_ns = _load(reel, memory_bytes)
    play = reel.play if lasts_ns is None else partial(replayed, shots, lasts_ns)
    first, last = shots[0], shots[-1]
    shown_ns = last.offset_ns - first.offset_ns
    height, width = first.planes.pixels.shape[:2]
    description = CameraDescription(
        name="replay",
        device=str(paths[0]) if len(paths) == 1 else f"{paths[0]} and {len(paths) - 1} more",
        width=width,
        height=height,
        pixel_format=reel.pixel_format,
        native=reel.pixel_format.value,
        frames_per_second=(len(shots) - 1) * NANOSECONDS / shown_ns if shown_ns else reel.rate,
        buffers=buffers,
        dma=False,
        wish=wish,
    )
    return ReplayCamera(
        description, play, real=pace == "real", loop=loop, now_ns=now_ns, sleep=sleep
    )


class ReplayCamera:
    """Files that play; made by `open_replay`."""

    def __init__(
        self,
        description: CameraDescription,
        play: Callable[[], Playing],
        *,
        real: bool,
        loop: bool,
        now_ns: Callable[[], int],
        sleep: Callable[[float], None],
    ) -> None:
        self._description = description
        self._play = play
        self._real = real
        self._loop = loop
        self._now_ns = now_ns
        self._sleep = sleep
        self._book = LeaseBook(description.device)
        self._counts = CameraCounts()
        self._playing = play()
        self._rounds_ns = 0
        self._upcoming: Shot | None = next(self._playing)
        self._begins_ns: int | None = None
        self._sequence = -1
        self._closed = False

    @property
    def description(self) -> CameraDescription:
        return self._description

    @property
    def counts(self) -> CameraCounts:
        return self._counts

    def next(self, timeout: float) -> FrameLease | None:
        if self._closed:
            raise CameraError(f"{self._description.device}: the replay is closed")
        asked_ns = self._now_ns()
        if self._begins_ns is None:
            self._begins_ns = asked_ns
        shot = self._upcoming
        if shot is None:
            raise CameraEnded(f"{self._description.device}: the replay is over")
        if not self._book.wait_below(self._description.buffers, timeout):
            return None
        if self._real:
            return self._newest(shot, self._begins_ns, asked_ns, round(timeout * NANOSECONDS))
        self._advance()
        return self._lend(shot, self._begins_ns + shot.offset_ns)

    def settled(self, timeout: float) -> bool:
        return self._book.wait_below(1, timeout)

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        left = self._book.close()
        self._playing.close()
        if left:
            raise left_out(self._description.device, left)

    def __enter__(self) -> Camera:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            self.close()
        except LeaseError:
            if kind is None:
                raise

    def _newest(
        self, shot: Shot, begins_ns: int, asked_ns: int, timeout_ns: int
    ) -> FrameLease | None:
        """The upcoming shot once its time has come, or the last one whose time has."""
        due_ns, deadline_ns = begins_ns + shot.offset_ns, asked_ns + timeout_ns
        self._sleep(max(min(due_ns, deadline_ns) - self._now_ns(), 0) / NANOSECONDS)
        if due_ns > deadline_ns:
            return None
        give_up_ns = max(deadline_ns, asked_ns + CATCH_UP_NS)
        while (follower := self._advance()) is not None:
            if not begins_ns + follower.offset_ns <= self._now_ns() < give_up_ns:
                break
            self._sequence += 1
            self._counts = replace(self._counts, overtaken=self._counts.overtaken + 1)
            shot = follower
        return self._lend(shot, begins_ns + shot.offset_ns)

    def _advance(self) -> Shot | None:
        """Winds on by one shot, to the beginning again where the film loops; None at its end."""
        try:
            shot = next(self._playing)
        except StopIteration as end:
            if not self._loop:
                self._upcoming = None
                return None
            self._rounds_ns += end.value
            self._playing = self._play()
            shot = next(self._playing)
        self._upcoming = replace(shot, offset_ns=self._rounds_ns + shot.offset_ns)
        return self._upcoming

    def _lend(self, shot: Shot, captured_ns: int) -> FrameLease:
        self._sequence += 1
        self._counts = replace(self._counts, lent=self._counts.lent + 1)
        planes, pixel_format = shot.planes, self._description.pixel_format
        frame = Frame(self._sequence, captured_ns, planes.pixels, pixel_format, planes.chroma)
        return self._book.lend(frame, _nothing)


def _pixel_format(wish: CameraWish) -> PixelFormat:
    """BGR, as files are decoded, where no format is wished that frames can have."""
    known = {p.value: p for p in PixelFormat}
    return known.get(wish.pixel_format or "", PixelFormat.BGR)


def _load(reel: Reel, memory_bytes: int) -> tuple[list[Shot], int | None]:
    """The reel's shots and how long it lasts; only the first ones, and None, of a long one."""
    shots: list[Shot] = []
    used_bytes = 0
    with closing(reel.play()) as playing:
        while True:
            try:
                shot = next(playing)
            except StopIteration as end:
                return shots, int(end.value)
            # A picture that is shown for a while is in memory once.
            if not shots or shot.planes is not shots[-1].planes:
                planes = (shot.planes.pixels, *shot.planes.chroma)
                used_bytes += sum(plane.nbytes for plane in planes)
            shots.append(shot)
            if used_bytes > memory_bytes and len(shots) > 1:
                return shots, None


def _nothing() -> None:
    """Memory of a replay is never written again."""
