"""Heat: it slows down step by step, rests at the top, comes back; a zone that is gone is hot."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from tests.system.vm.machine import Machine
from tests.system.vm.scenes import film
from tests.system.vm.scenes.asking import events, status
from tests.system.vm.stage import Stage

TEMPERATURE = "/sys/module/fakethermal/parameters/temperature"
ZONE = "soc-thermal"
CONFIG = f"""{film.CAMERA}
[thermal]
zones = ["{ZONE}"]
# An emulated processor: only heat is to govern.
latency_budget_ms = 1e6
"""
HOT, COOL = 95, 45
DESCENT = (("very hot", 10, 75), ("hot", 4, 70), ("warm", 2, 62), ("cool", 1, COOL))
"""Bands and their strides on the way down, each with a temperature that it is held at."""
STEPS_UP = ("warm", "hot", "very hot", "resting")
CLIMB_S, DESCEND_S = 3.0, 20.0
"""Least times between two steps, of `edgefaced.core.thermal.GovernorLimits`."""
LONGEST_STRIDE_S = 1.0
"""Whatever the stride, so often a frame is looked at, where none is rested."""
WATCHED_S = 10


def scene(stage: Stage) -> None:
    film.bring(stage)
    door = stage.boot()
    heat(door, COOL)
    door.configure(CONFIG)
    wait_for_band(door, "cool")
    frames_pass(stage, door, "cool", 1)

    heat(door, HOT)
    wait_for_band(door, "resting")
    stage.expect(status(door)["pace"]["resting"], f"at {HOT} °C it rests")
    frames_rest(stage, door)
    for band, stride, celsius in DESCENT:
        heat(door, celsius)
        wait_for_band(door, band)
        frames_pass(stage, door, band, stride)
    events_say_so(stage, door)
    zone_goes(stage, door)


def heat(door: Machine, celsius: int) -> None:
    door.run(f"echo {celsius * 1000} >{TEMPERATURE}")


def wait_for_band(door: Machine, band: str) -> None:
    door.wait_for(f"systemctl show edgefaced --property=StatusText | grep 'pace {band},'")


def frames_pass(stage: Stage, door: Machine, band: str, stride: int) -> None:
    """One in so many frames is looked at, or one a second."""
    before, after = watched(door)
    stage.expect(
        after["pace"]["band"] == band and after["pace"]["frame_stride"] == stride,
        f"{after['temperature_celsius']:g} °C: {band}, a stride of {stride}",
    )
    captured, strode = (counted(before, after, what) for what in ("captured", "stride"))
    seconds = after["uptime_seconds"] - before["uptime_seconds"]
    passed = captured - strode
    # The counters are not read at one instant.
    most = captured / stride + (seconds / LONGEST_STRIDE_S if stride > 1 else 0) + 3
    stage.expect(0 < passed <= most, f"{passed} of {captured} frames pass in {seconds:.1f} s")


def frames_rest(stage: Stage, door: Machine) -> None:
    before, after = watched(door)
    captured, looked_at = (counted(before, after, what) for what in ("captured", "looked_at"))
    stage.expect(captured > 0 and looked_at == 0, f"of {captured} frames none is looked at")


def watched(door: Machine) -> tuple[dict[str, Any], dict[str, Any]]:
    """How it was, and is after a while."""
    before = status(door)
    door.run(f"sleep {WATCHED_S}")
    return before, status(door)


def counted(before: dict[str, Any], after: dict[str, Any], what: str) -> int:
    return int(after["frames"].get(what, 0) - before["frames"].get(what, 0))


def events_say_so(stage: Stage, door: Machine) -> None:
    paces = events(door, "pace")
    up, down = paces[: len(STEPS_UP)], paces[len(STEPS_UP) :]
    stage.expect(
        [(e["band"], e["cause"], e["celsius"]) for e in up]
        == [(band, "heat", HOT) for band in STEPS_UP],
        f"the ledger has each step up: {', '.join(STEPS_UP)}",
    )
    stage.expect(
        [(e["band"], e["cause"]) for e in down] == [(band, "cooled") for band, _, _ in DESCENT],
        "and each step down",
    )
    for which, pause in ((up, CLIMB_S), ([up[-1], *down], DESCEND_S)):
        waits = [(b["monotonic_ns"] - a["monotonic_ns"]) / 1e9 for a, b in pairwise(which)]
        shown = ", ".join(f"{wait:.1f}" for wait in waits)
        # The governor's clock is read a little before the event's.
        stage.expect(min(waits) > 0.9 * pause, f"{pause:g} s between two steps at least: {shown}")


def zone_goes(stage: Stage, door: Machine) -> None:
    known = len(events(door, "pace"))
    door.run("rmmod fakethermal")
    wait_for_band(door, "very hot")
    seen = status(door)
    stage.expect(
        seen["temperature_celsius"] is None and ZONE in seen["temperature_fault"],
        f"a zone that is gone counts as hot: {seen['temperature_fault']}",
    )
    steps = [(e["band"], e["cause"], e["celsius"]) for e in events(door, "pace")[known:]]
    stage.expect(
        steps == [(band, "unreadable", None) for band in STEPS_UP[:-1]],
        "it slows down step by step, and the ledger says why",
    )
    frames_pass_while_blind = watched(door)
    stage.expect(
        counted(*frames_pass_while_blind, "looked_at") > 0
        and not frames_pass_while_blind[1]["pace"]["resting"],
        "it does not rest for ever: a door must open",
    )
    door.run("modprobe fakethermal")
    door.wait_for(f"edgefaced status --json | grep '\"temperature_celsius\": {COOL}'")
    stage.say("ok: the zone is back and is read again")
