"""Strangers at a door: how many lately."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field


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
