"""Which kept pictures must go: the too old ones, and the oldest of too many."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from edgefaced.evidence.folder import AT_ONCE, Kept, alone_in, erase, kept_in

DAY_US = 86_400 * 1_000_000


@dataclass(frozen=True, slots=True)
class Limits:
    """Each of the three holds."""

    days: float
    pictures: int
    maximum_bytes: int


def due(kept: Sequence[Kept], limits: Limits, now_us: int | None) -> Sequence[Kept]:
    """Those that must go, of pictures in their order, oldest first.

    `now_us` is None where the wall clock is not synchronised: then none is old. One that was taken
    without a date is as old as the next one that has one.
    """
    oldest_us = None if now_us is None else now_us - round(limits.days * DAY_US)
    goes = max(len(kept) - limits.pictures, 0)
    left = sum(picture.size_bytes for picture in kept[goes:])
    while left > limits.maximum_bytes:
        left -= kept[goes].size_bytes
        goes += 1
    for place, picture in enumerate(kept):
        if oldest_us is not None and picture.taken_us is not None and picture.taken_us < oldest_us:
            goes = max(goes, place + 1)
    return kept[:goes]


def erase_some_due(folder: Path, limits: Limits, now_us: int | None) -> int:
    """Erases pictures that must go, `AT_ONCE` at most; how many. Raises StorageError."""
    if not folder.exists():
        return 0
    with alone_in(folder):
        return erase(folder, due(kept_in(folder), limits, now_us)[:AT_ONCE])
