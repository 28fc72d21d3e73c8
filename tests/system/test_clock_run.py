"""A real daemon that boots in 1970 and is told the time in the night that has an hour twice."""

from __future__ import annotations

import csv
import io
import json
import shutil
import signal
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path

from clock_double import ClockDouble
from door_site import Site, until

BOOTED = datetime(1970, 1, 1, 0, 0, 20, tzinfo=UTC)
SUMMER, WINTER = (datetime(2026, 10, 25, hour, 30, tzinfo=UTC) for hour in (0, 1))
"""Half past two by the one clock, and an hour later by the other one."""
ROUNDING = timedelta(milliseconds=1)
BERLIN = {"TZ": "Europe/Berlin"}
ATTENDANCE = """
[attendance]
enabled = true
mode = "alternating"
cool_down_seconds = 0
liveness = "not required"
"""


def test_order_is_kept_and_dates_are_reckoned_back(site: Site, tmp_path: Path) -> None:
    clock = ClockDouble(tmp_path)
    own = Site(tmp_path, tmp_path / "state", site.models)
    own.state.mkdir(mode=0o700)
    for name in ("gallery.db", "gallery.key"):
        shutil.copy(site.state / name, own.state)
    shutil.copytree(site.known, own.known)
    shutil.copy(next(site.empty.iterdir()), own.known / "zz nobody.jpg")
    own.configure(more=ATTENDANCE, cool_down_seconds=0.0)
    clock.jump(BOOTED, synchronised=False)
    with own.daemon(**clock.environment | BERLIN) as process:
        until(process, type="attendance", direction="in")
        clock.jump(SUMMER, synchronised=True)
        until(process, type="attendance", direction="out", synchronised=True)
        clock.jump(WINTER, synchronised=True)
        # Not one that came before the jump, and was not read until now.
        while until(process, type="attendance", direction="in")["timestamp"] < WINTER.timestamp():
            pass
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)

    def told(*words: str) -> str:
        with own.start(*words, **BERLIN) as command:
            out, _ = command.communicate(timeout=60)
        assert command.returncode == 0
        return out

    assert "clean" in told("events", "verify")
    events = json.loads(told("events", "list", "--json", "--limit", "1000"))["events"]
    assert [e["position"] for e in events] == sorted(e["position"] for e in events)
    # A record of attendance has the time of the decision before it.
    own_time = [event for event in events if event["type"] != "attendance"]
    # What one thread tells may be recorded before what another one saw a little earlier.
    own_time.sort(key=lambda event: event["monotonic_ns"])
    moments = [datetime.fromisoformat(event["utc"]) for event in own_time]
    assert all(later - sooner > -ROUNDING for sooner, later in pairwise(moments)), "none of 1970"
    assert SUMMER - timedelta(minutes=10) < moments[0] < SUMMER
    certain = [event["clock"] for event in own_time]
    assert certain == sorted(certain), "repaired, and from then on synchronised"
    assert set(certain) == {"repaired", "synchronised"}
    assert events[0]["recorded_utc"].startswith("1970-01-01")

    table = list(csv.DictReader(io.StringIO(told("events", "export", "-", "--kind", "attendance"))))
    assert [row["utc_offset"] for row in table][:2] == ["UTC+02:00", "UTC+02:00"]
    assert table[-1]["utc_offset"] == "UTC+01:00"
    assert all(row["local"].startswith("2026-10-25 02:") for row in table)

    shifts = list(csv.DictReader(io.StringIO(told("attendance", "export", "-"))))
    first, last = shifts[0], shifts[-1]
    assert first["state"] == "complete"
    assert first["in"] < first["out"] < "2026-10-25 02:40"
    assert float(first["hours"]) < 0.1, "not the years since 1970"
    assert last["in"].startswith("2026-10-25 02:3")
