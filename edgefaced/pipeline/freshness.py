"""How old a frame is, the camera's own delay aside, and when nobody may be judged by it any more.

A recogniser that is slower than the detector must not work off what has gathered meanwhile: the
person may have gone, and somebody else may stand there.
"""

from __future__ import annotations

from collections import deque
from statistics import median

OLDEST_LOOKS = 2
"""A frame that is older than so many looks of the detector is not judged."""

RECENT = 8


class Freshness:
    """Written by the capturing and the detecting stage, read by the recognising one.

    A look takes as long as the detector does, and the time from one frame to the next at least.
    """

    def __init__(self, *, unlimited: bool = False) -> None:
        """`unlimited` is for replays that wait for every stage: none of their frames is old."""
        self._unlimited = unlimited
        self._newest: tuple[int, int] | None = None
        self._looks: deque[int] = deque(maxlen=RECENT)
        self._gaps: deque[int] = deque(maxlen=RECENT)
        self._taken_ns: int | None = None
        self.limit_ns: int | None = None
        """The age at which a frame is too old; None before the first look."""

    def arrived(self, captured_ns: int, now_ns: int) -> None:
        """The capturing stage passes a frame on."""
        self._newest = captured_ns, now_ns

    def taken(self, captured_ns: int) -> None:
        """The detecting stage has taken a frame."""
        before, self._taken_ns = self._taken_ns, captured_ns
        if before is not None and captured_ns > before:
            self._gaps.append(captured_ns - before)

    def looked(self, look_ns: int) -> None:
        """The detecting stage has looked at it for so long."""
        self._looks.append(look_ns)
        self.limit_ns = OLDEST_LOOKS * max(*self._looks, round(median(self._gaps or (0,))))

    def is_fresh(self, captured_ns: int, now_ns: int) -> bool:
        """Whether somebody in this frame may be judged now; both in monotonic time."""
        newest, limit_ns = self._newest, self.limit_ns
        if self._unlimited or newest is None or limit_ns is None:
            return True
        newest_captured_ns, newest_arrived_ns = newest
        age_ns = newest_captured_ns - captured_ns + now_ns - newest_arrived_ns
        return age_ns <= limit_ns
