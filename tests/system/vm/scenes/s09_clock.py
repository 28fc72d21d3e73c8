"""Clock: it is 1970 at the boot and is set later; order holds, dates are put right, flags tell."""

from __future__ import annotations

import csv
import io
import json
import time
from datetime import UTC, datetime
from typing import Any

from tests.system.vm.machine import Machine
from tests.system.vm.scenes import film
from tests.system.vm.scenes.asking import asked, events
from tests.system.vm.stage import Stage

LONG_AGO = "1970-01-01T00:00:00"
LINES = "/var/lib/edgefaced/lines"
CONFIG = f"""{film.CAMERA}
[attendance]
enabled = true
cool_down_seconds = 0
[lines]
path = "{LINES}"
[schedules.always]
weekly = ["daily 00:00-24:00"]
[groups.everybody]
doors = ["front"]
schedule = "always"
[doors.front]
chip = "fakegpio"
relay_line = "relay"
liveness = "not required"
[access]
maximum_age_seconds = 10
[thermal]
latency_budget_ms = 1e6
"""
HISTORY = "/sys/module/fakegpio/parameters/history"
SLACK_S = 120.0
"""Between a look at the clock out here and setting the one in there."""

SYNCHRONISED = """
import ctypes
class Timex(ctypes.Structure):
    _fields_ = [("modes", ctypes.c_uint), ("offset", ctypes.c_long), ("freq", ctypes.c_long),
                ("maxerror", ctypes.c_long), ("esterror", ctypes.c_long), ("status", ctypes.c_int),
                ("rest", ctypes.c_char * 256)]
# ADJ_MAXERROR, ADJ_ESTERROR and ADJ_STATUS, as a time daemon does with every answer of a server.
kept = Timex(modes=0x4 | 0x8 | 0x10, maxerror=1000, esterror=1000, status=0)
if ctypes.CDLL(None).adjtimex(ctypes.byref(kept)) != 0:
    raise SystemExit("the clock is not kept")
"""


def scene(stage: Stage) -> None:
    film.bring(stage)
    door = stage.boot(clock=LONG_AGO, settle=False)
    stage.say(f"its hardware's clock begins at {LONG_AGO}, systemd makes it {now(door)}")
    door.run(film.ENROL_ANN)
    begin_in_1970(door)
    first = boot_id(door)
    wait_for_access(door, first, granted=False)
    everything_is_doubted(stage, door)
    door.power_off()

    booted = time.time()
    door = stage.boot(clock=LONG_AGO, settle=False)
    begin_in_1970(door)
    second = boot_id(door)
    wait_for_access(door, second, granted=False)
    door.run(f"date --utc --set @{time.time():.3f}")
    door.push("/run/synchronised.py", SYNCHRONISED)
    door.run("python3 /run/synchronised.py")
    stage.say(f"the clock is set and kept: {now(door)}")
    wait_for_access(door, second, granted=True)
    door.run("systemctl stop edgefaced")
    told = asked(door, "events list --limit 1000000")["events"]
    boots_are_in_order(stage, told, first, second)
    dates_are_right(stage, told, second, booted)
    door_waits_for_the_clock(stage, door, told, second)
    texts_and_tables(stage, door, told)
    attendance_is_right(stage, door, told, first)


def begin_in_1970(door: Machine) -> None:
    """As on a board whose system does not move the clock at the boot."""
    # Noon: the kernel refuses a time of day that is less than the time since the boot.
    door.run("systemctl stop edgefaced && date --utc --set '1970-01-01 12:00:00'")
    door.configure(CONFIG)


def everything_is_doubted(stage: Stage, door: Machine) -> None:
    told = [e for e in about_her(events(door, "access")) if e["recorded_utc"].startswith("1970")]
    stage.expect(
        bool(told)
        and not any(e["synchronised"] or e["clock"] != "uncertain" for e in told)
        and {e["reason"] for e in told} == {"clock"},
        f"{len(told)} times a door with a schedule refuses because of the clock",
    )
    stage.expect(not door.run(f"cat {HISTORY}").out, "the lock stays shut")
    wall = door.run("edgefaced events list").out.splitlines()
    stage.expect(
        any(" 1970-01-01 " in line and "+0000? " in line for line in wall),
        f"the list doubts its dates: {wall[-1].strip()}",
    )


def boots_are_in_order(stage: Stage, told: list[dict[str, Any]], first: str, second: str) -> None:
    positions = [event["position"] for event in told]
    # What is stored in the daemon's last second as attendance enters the ledger at the next start.
    decided = [event for event in told if event["type"] != "attendance"]
    places = {
        boot: [e["position"] for e in decided if e["boot_id"] == boot] for boot in (first, second)
    }
    stage.expect(
        positions == sorted(positions) and max(places[first]) < min(places[second]),
        f"{len(told)} records are in the order in which they were made, across two times 1970",
    )
    faces = [e["utc"] for e in told if e["type"] == "face" and e["boot_id"] == second]
    stage.expect(
        faces == sorted(faces), "and so are the dates of the boot that the clock was set in"
    )


def dates_are_right(stage: Stage, told: list[dict[str, Any]], second: str, booted: float) -> None:
    mine = [event for event in told if event["boot_id"] == second]
    before = [event for event in mine if not event["synchronised"]]
    after = [event for event in mine if event["synchronised"]]
    stage.expect(
        bool(after) and all(e["clock"] == "synchronised" for e in after),
        f"{len(after)} events since then are by a clock that is kept",
    )
    old = [event for event in before if event["recorded_utc"].startswith("1970")]
    # A boot's first events may be of the time between systemd's clock and ours.
    stage.expect(
        bool(old) and all(event["clock"] == "repaired" for event in before),
        f"the dates of {len(before)} events before are repaired",
    )
    times = [event["timestamp"] for event in mine]
    stage.expect(
        booted - SLACK_S < min(times) and max(times) < time.time() + SLACK_S,
        f"they happened from {day_and_time(min(times))} to {day_and_time(max(times))}",
    )
    # Wherever the clock was, the distance of two events is that of the monotonic clock.
    origin = {round(e["timestamp"] - e["monotonic_ns"] / 1e9, 1) for e in mine}
    stage.expect(max(origin) - min(origin) < 1, "as far apart as by the clock that nobody sets")


def door_waits_for_the_clock(
    stage: Stage, door: Machine, told: list[dict[str, Any]], second: str
) -> None:
    mine = [e for e in about_her(told) if e["type"] == "access" and e["boot_id"] == second]
    stage.expect(
        all(e["reason"] == ("allowed" if e["synchronised"] else "clock") for e in mine),
        "the door has refused without a clock, and opened with one",
    )
    opened = [int(ns) for ns, _, level in map(str.split, history(door)) if level == "1"]
    allowed = [e["monotonic_ns"] for e in mine if e["granted"]]
    stage.expect(
        bool(opened) and min(opened) > min(allowed), f"the lock opened {len(opened)} times, then"
    )


def texts_and_tables(stage: Stage, door: Machine, told: list[dict[str, Any]]) -> None:
    marks = {"uncertain": "?", "repaired": "~", "synchronised": " "}
    lines = door.run("edgefaced events list --limit 1000000").out.splitlines()
    stage.expect(
        all(f"+0000{marks[e['clock']]}" in line for e, line in zip(told, lines, strict=True)),
        "the list marks what is doubted (?) and what is repaired (~)",
    )
    table = csv.DictReader(
        io.StringIO(door.run("edgefaced events export - --format csv", timeout_s=900).out)
    )
    rows = [(int(row["record"]), row["clock"], row["utc"][:10]) for row in table]
    stage.expect(
        rows == [(e["position"], e["clock"], e["utc"][:10]) for e in told],
        f"the table has the same {len(rows)} dates",
    )
    exported = door.run("edgefaced events export - --format jsonl", timeout_s=900).out
    stage.expect(
        [json.loads(line)["utc"] for line in exported.splitlines()] == [e["utc"] for e in told],
        "and so have the lines of JSON",
    )


def attendance_is_right(
    stage: Stage, door: Machine, told: list[dict[str, Any]], first: str
) -> None:
    records = asked(door, "attendance list --from 1969-12-01")["records"]
    known = {e["event_id"]: e for e in told if e["type"] == "attendance"}
    stage.expect(
        {record["record_id"] for record in records} == known.keys(),
        f"{len(records)} records of attendance",
    )
    for record in records:
        event = known[record["record_id"]]
        doubted = event["boot_id"] == first
        apart = event["timestamp"] - datetime.fromisoformat(record["at"]).timestamp()
        if record["clock_synchronised"] is doubted or not -0.01 < apart < 1.01:
            stage.expect(False, f"{record['at']} is that of {event['utc']}, {event['clock']}")
    today = f"{datetime.now(UTC):%Y-%m-%d}"
    hours = csv.DictReader(io.StringIO(door.run("edgefaced attendance export -").out))
    days = {(row["date"][:4], row["clock_synchronised"]) for row in hours}
    stage.expect(
        {year for year, _ in days} >= {today[:4]} and (today[:4], "yes") in days,
        f"the payroll's table has them by year, and whether the clock was right: {sorted(days)}",
    )


def about_her(told: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Without faces that were no good, and what a busy machine decided too late for a door."""
    return [e for e in told if e.get("id") and e.get("reason") != "too late"]


def wait_for_access(door: Machine, boot: str, *, granted: bool) -> None:
    """Until the door has decided so in this boot. Raises SceneError."""
    wanted = [boot, '"type":"access"', f'"granted":{str(granted).lower()}']
    # What was refused, by our clock and not by that of systemd.
    wanted += [] if granted else ['"reason":"clock"', '"timestamp":[0-9]\\{1,6\\}[.]']
    filters = "".join(f" | grep '{text}'" for text in wanted)
    # Not the ledger: a processor that is asked again and again has no time to recognise anybody.
    door.wait_for(f"cat {LINES}{filters}", timeout_s=1200)


def boot_id(door: Machine) -> str:
    return door.run("cat /proc/sys/kernel/random/boot_id").out.strip()


def history(door: Machine) -> list[str]:
    return door.run(f"cat {HISTORY}").out.splitlines()


def now(door: Machine) -> str:
    return door.run("date --utc --iso-8601=seconds").out.strip()


def day_and_time(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S}"
