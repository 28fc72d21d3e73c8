"""Anti-passback: who went in must come out before going in again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Passage:
    """Somebody was let in by a door, so long ago; None where nobody knows how long."""

    door: str
    person_id: str
    age_seconds: float | None


@dataclass(frozen=True, slots=True)
class Route:
    """Which way a door leads into or out of an area, and after how long that is forgotten."""

    area: str
    direction: str
    reset_seconds: float


@dataclass(slots=True)
class Passback:
    """Which way each person last passed, area by area; times are seconds since the boot."""

    _last: dict[tuple[str, str], tuple[str, float]] = field(default_factory=dict)

    def refuses(self, route: Route, person_id: str, now: float) -> bool:
        """Whether the person passed the same way last, less than the reset time ago."""
        last = self._last.get((route.area, person_id))
        return last is not None and last[0] == route.direction and not _is_over(last[1], route, now)

    def passed(self, route: Route, person_id: str, now: float) -> None:
        """Notes a passage."""
        self._last = {
            (area, person): last
            for (area, person), last in self._last.items()
            if area != route.area or not _is_over(last[1], route, now)
        }
        self._last[route.area, person_id] = route.direction, now

    def recall(self, passages: Iterable[Passage], routes: Mapping[str, Route], now: float) -> None:
        """Takes over passages of before, oldest first; what has been noted since is newer.

        One of which nobody knows when counts as one of just now: doubt lets nobody in twice.
        """
        before: dict[tuple[str, str], tuple[str, float]] = {}
        for passage in passages:
            route = routes.get(passage.door)
            if route is not None:
                since = now - max(passage.age_seconds or 0.0, 0.0)
                before[route.area, passage.person_id] = route.direction, since
        self._last = before | self._last


def _is_over(since: float, route: Route, now: float) -> bool:
    return now - since >= route.reset_seconds
