"""The state of the wall clock is the kernel's, and unknown is not synchronised."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import time
from datetime import UTC, datetime

import pytest

from edgefaced.clock import (
    UNSYNCHRONISED_MICROSECONDS,
    Timex,
    boot_ns,
    boot_seconds,
    is_synchronised,
    utc_offset_seconds,
)

SUMMER, WINTER = datetime(2026, 7, 1, tzinfo=UTC), datetime(2026, 1, 1, tzinfo=UTC)


def test_the_time_since_the_boot_is_the_kernels_that_goes_on_while_the_board_is_suspended() -> None:
    moments = [time.clock_gettime_ns(time.CLOCK_BOOTTIME), boot_ns(), round(boot_seconds() * 1e9)]
    assert moments[0] <= moments[1] <= moments[2] + 1000
    assert moments[2] <= time.clock_gettime_ns(time.CLOCK_BOOTTIME) + 1000


def test_it_says_what_the_kernel_says() -> None:
    seen = Timex(modes=0)
    if ctypes.CDLL(None).adjtimex(ctypes.byref(seen)) < 0:
        pytest.skip("this machine does not let adjtimex be read")
    assert is_synchronised() is (0 <= seen.maxerror < UNSYNCHRONISED_MICROSECONDS)


def test_a_kernel_that_does_not_say_is_not_synchronised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda name: object())
    assert not is_synchronised()


@pytest.mark.parametrize(
    ("zone", "moment", "offset"),
    [
        ("CET-1CEST,M3.5.0,M10.5.0/3", SUMMER, 7200),
        ("CET-1CEST,M3.5.0,M10.5.0/3", WINTER, 3600),
        ("NST3:30NDT,M3.2.0,M11.1.0", WINTER, -12600),
        ("UTC", SUMMER, 0),
    ],
)
def test_the_offset_is_that_of_the_zone_at_the_moment(
    zone: str, moment: datetime, offset: int
) -> None:
    said = subprocess.run(
        [
            sys.executable,
            "-c",
            "import sys; from datetime import datetime;"
            "from edgefaced.clock import utc_offset_seconds;"
            "print(utc_offset_seconds(datetime.fromisoformat(sys.argv[1])))",
            moment.isoformat(),
        ],
        env={**os.environ, "TZ": zone},
        capture_output=True,
        text=True,
        check=True,
    )
    assert int(said.stdout) == offset


def test_without_a_moment_it_is_now() -> None:
    assert abs(utc_offset_seconds()) < 86_400
