"""The kernel's clocks: time since the boot, and of the wall clock whether anybody has set it right.

A device without a battery boots in 1970 or at its last shut-down; until a time server has answered,
its dates are guesses.
"""

from __future__ import annotations

import ctypes
import time
from datetime import UTC, datetime

UNSYNCHRONISED_MICROSECONDS = 16_000_000
"""The kernel's estimate of the error when nobody keeps the clock; timedatectl judges by it too.

Its flag STA_UNSYNC says less: it is also set to keep the kernel from writing the hardware clock.
"""


class Timex(ctypes.Structure):
    """The beginning of `struct timex`, adjtimex(2), with room for the rest of it."""

    _fields_ = (
        ("modes", ctypes.c_uint),
        ("offset", ctypes.c_long),
        ("freq", ctypes.c_long),
        ("maxerror", ctypes.c_long),
        ("esterror", ctypes.c_long),
        ("rest", ctypes.c_char * 256),
    )


def boot_ns() -> int:
    """Nanoseconds since the boot, those that the board was suspended for included.

    What `time.monotonic` leaves out: to it, a decision of before the suspend was made just now.
    """
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


def boot_seconds() -> float:
    """The same in seconds."""
    return boot_ns() / 1e9


def is_synchronised() -> bool:
    """Whether the wall clock is kept by a time source; False also where that is not known."""
    timex = Timex(modes=0)  # 0: only read
    try:
        state = ctypes.CDLL(None).adjtimex(ctypes.byref(timex))
    except (OSError, AttributeError):  # no such call here
        return False
    return int(state) >= 0 and 0 <= timex.maxerror < UNSYNCHRONISED_MICROSECONDS


def utc_offset_seconds(moment: datetime | None = None) -> int:
    """How far local time is ahead of UTC, now or at a moment; daylight saving included."""
    offset = (moment or datetime.now(UTC)).astimezone().utcoffset()
    return 0 if offset is None else round(offset.total_seconds())
