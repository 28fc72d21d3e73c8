"""Anti-passback: who went in must come out before going in again. Strangers: how many lately."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field


@dataclass(slots=True)
class Passback:
    """Which way each person last passed into or out of an area; times are monotonic seconds.

    It is forgotten with the process: a restart lets everybody pass once.
    """

    reset_seconds: float
    _last: dict[tuple[str, str], tuple[str, float]] = field(default_factory=dict)

    def refuses(self, area: str, direction: str, person_id: str, now: float) -> bool:
        """Whether the person passed the same way last, less than the reset time ago."""
        last = self._last.get((area, person_id))
        return last is not None and last[0] == direction and not self._over(last[1], now)

    def passed(self, area: str, direction: str, person_id: str, now: float) -> None:
        """Notes a passage."""
        self._last = {k: v for k, v in self._last.items() if not self._over(v[1], now)}
        self._last[area, person_id] = direction, now

    def _over(self, since: float, now: float) -> bool:
        return now - since >= self.reset_seconds


@dataclass(slots=True)
class StrangerWatch:
    """Notices when `limit` faces that nobody knows came within `window_seconds`."""

    limit: int
    window_seconds: float
    _seen: deque[tuple[int, float]] = field(default_factory=deque)

    def seen(self, track_id: int, now: float) -> bool:
        """Takes an unknown face; True once for every `limit` different ones."""
        while self._seen and not now - self._seen[0][1] < self.window_seconds:
            self._seen.popleft()
        if all(track_id != track for track, _ in self._seen):
            self._seen.append((track_id, now))
        if len(self._seen) < self.limit:
            return False
        self._seen.clear()
        return True
