"""When something happened, where the wall clock was not right at the time.

A device without a battery boots in 1970, and its dates are wrong until a time server has answered.
Monotonic time is right within a boot: one moment of the boot at which the wall clock was right
dates everything before it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta, timezone


@dataclass(frozen=True, slots=True)
class ClockMark:
    """A moment of a boot at which the wall clock was right."""

    monotonic_ns: int
    utc: datetime
    utc_offset_seconds: int


@dataclass(frozen=True, slots=True)
class Dated:
    """When something happened, with the local offset of that moment.

    `repaired` says that it was reckoned back from a mark. Where there is no mark, an
    unsynchronised time stays what the clock said, and is not `certain`.
    """

    utc: datetime
    utc_offset_seconds: int
    repaired: bool
    certain: bool

    @property
    def local(self) -> datetime:
        """The local time of the moment; its offset tells the two 02:30 of an autumn night apart."""
        return local_time(self.utc, self.utc_offset_seconds)


def dated(
    utc: datetime,
    utc_offset_seconds: int,
    *,
    monotonic_ns: int,
    synchronised: bool,
    mark: ClockMark | None,
) -> Dated:
    """The best that is known of a moment; `mark` is the first one of its boot, if any.

    Only what lies before a mark is reckoned back: a clock that was right and lost its source still
    goes better than it would by a quartz from then on.
    """
    if synchronised:
        return Dated(utc, utc_offset_seconds, repaired=False, certain=True)
    if mark is None or monotonic_ns > mark.monotonic_ns:
        return Dated(utc, utc_offset_seconds, repaired=False, certain=False)
    before = timedelta(microseconds=(mark.monotonic_ns - monotonic_ns) // 1000)
    return Dated(mark.utc - before, mark.utc_offset_seconds, repaired=True, certain=True)


def local_time(utc: datetime, utc_offset_seconds: int) -> datetime:
    """The same moment with its local offset."""
    return utc.astimezone(timezone(timedelta(seconds=utc_offset_seconds)))
