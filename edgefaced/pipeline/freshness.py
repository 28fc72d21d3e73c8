"""How old a frame is, and when nobody may be judged by it any more.

A recogniser that is slower than the detector must not work off what has gathered meanwhile: the
person may have gone, and somebody else may stand there. What is promised: when the recogniser
begins with a face, its frame is at most two looks old. A look takes as long as the detector does
(the longest of the last eight), and as long as it is from one frame to the next at least (their
median). The age counts from the frame's arrival: the camera's own delay is not in it.
"""

from __future__ import annotations

from collections import deque
from statistics import median

OLDEST_LOOKS = 2

RECENT = 8

FIRST_GAP_NS = 100_000_000
"""From the first frame to the second, as long as nobody knows."""


class Freshness:
    """Written by the capturing and the detecting stage, read by the recognising one."""

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
        gap_ns = round(median(self._gaps or (FIRST_GAP_NS,)))
        self.limit_ns = OLDEST_LOOKS * max(*self._looks, gap_ns)

    def age_ns(self, captured_ns: int, now_ns: int) -> int:
        """How long ago a frame arrived, by the newest one's arrival; both in monotonic time."""
        newest_captured_ns, newest_arrived_ns = self._newest or (captured_ns, now_ns)
        return newest_captured_ns - captured_ns + now_ns - newest_arrived_ns

    def is_fresh(self, captured_ns: int, now_ns: int) -> bool:
        """Whether somebody in this frame may be judged now."""
        limit_ns = self.limit_ns
        if self._unlimited or limit_ns is None:
            return True
        return self.age_ns(captured_ns, now_ns) <= limit_ns
