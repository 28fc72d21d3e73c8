"""Power cut: killed at any instant, it is whole afterwards and has all that it had acknowledged."""

from __future__ import annotations

import json
import os
import re
import time
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from shutil import copyfile
from typing import Any

from tests.system.vm.machine import Machine, SceneError
from tests.system.vm.scenes import film
from tests.system.vm.scenes.asking import asked
from tests.system.vm.stage import Stage

CUTS = 20
"""Of the environment variable EDGEFACED_POWER_CUTS, else so many; EDGEFACED_SEED repeats a run."""
TO_ENTER, TO_LEAVE = 40, 8
"""People at most that one boot enrols and removes; its end comes before or after that."""
LONGEST_SECONDS = 20.0
"""From the first enrolment, or removal, that a boot acknowledges, to the cut."""
PULSE_MS = 1000
LATEST_NS = 60_000_000_000
"""A pulse follows its decision within so long, on whatever machine this is."""

CONFIG = f"""{film.CAMERA}
[attendance]
enabled = true
cool_down_seconds = 0
[lines]
path = "/var/lib/edgefaced/lines"
[groups.everybody]
doors = ["front"]
[doors.front]
chip = "fakegpio"
relay_line = "relay"
pulse_ms = {PULSE_MS}
liveness = "not required"
[access]
maximum_age_seconds = 10
[thermal]
latency_budget_ms = 60000
"""

# What is written to the serial line has left the machine: QEMU writes it into a file out here.
TELL_LINES = """echo >/dev/ttyS0; systemd-run --quiet --unit=tell bash -c \
'tail -n 0 -F /var/lib/edgefaced/lines 2>/dev/null | sed -u "s/^/LINE /" >/dev/ttyS0'"""
ENTER = """edgefaced people import --largest --photos /cargo /cargo/{table} 2>&1 |
sed -u 's/^/ENTERED /' >/dev/ttyS0"""
LEAVE = """for name in {names}; do
edgefaced remove $name --yes; echo "LEFT $name $?" >/dev/ttyS0; done"""
ENTERED = re.compile(r"^ENTERED line \d+: (\S+): (kept|refused),", re.MULTILINE)
LEFT = re.compile(r"^LEFT (\S+) [06]\r?\n", re.MULTILINE)
"""6: gone, and to be overwritten later."""
LINE = re.compile(r"^LINE (\{.*\})\r?\n", re.MULTILINE)


@dataclass(slots=True)
class Outside:
    """What is known out here: it was acknowledged, or it is not decided."""

    sure: set[str] = field(default_factory=set)
    """People who must be enrolled."""
    open: set[str] = field(default_factory=set)
    """People who may be enrolled or not: the cut came in between."""
    events: dict[str, str] = field(default_factory=dict)
    """Kinds by id."""
    end: str = ""
    """Of the chain."""
    entered: int = 0
    left: int = 0


def scene(stage: Stage) -> None:
    seed = int(os.environ.get("EDGEFACED_SEED") or time.time_ns() % 1_000_000)
    cuts = int(os.environ.get("EDGEFACED_POWER_CUTS") or CUTS)
    stage.say(f"EDGEFACED_SEED={seed}, {cuts} cuts")
    chance, outside = Random(seed), Outside()
    film.bring(stage)
    faces = sorted((stage.pictures / "lfw" / "images").iterdir())
    chance.shuffle(faces)
    door = begin(stage)
    outside.sure.add("Ann")
    for cut in range(1, cuts + 1):
        console = stage.folder / f"console-{cut}"
        entering = [f"{cut}-{face.name}" for face in faces[:TO_ENTER]]
        bring_table(stage, cut, entering, faces[:TO_ENTER])
        del faces[:TO_ENTER]
        leaving = chance.sample(
            sorted(outside.sure - {"Ann"}), min(TO_LEAVE, len(outside.sure) - 1)
        )
        load(door, cut, leaving)
        wait_for_a_word(console, chance.choice((ENTERED, LEFT)) if leaving else ENTERED)
        # The instant is what is random here; nothing is waited for.
        time.sleep(chance.uniform(0, LONGEST_SECONDS))
        door.cut_power()
        hear(stage, outside, console.read_text(errors="replace"), entering, leaving)
        # What is stored is examined while the daemon starts.
        door = stage.boot(durable=True, settle=False)
        examine(stage, door, outside)
    stage.expect(
        bool(outside.entered and outside.left) and "attendance" in outside.events.values(),
        f"in all {outside.entered} enrolments, {outside.left} removals and "
        f"{len(outside.events)} events were acknowledged, "
        f"{list(outside.events.values()).count('attendance')} of them of attendance",
    )


def begin(stage: Stage) -> Machine:
    door = stage.boot(durable=True)
    door.run("systemctl stop edgefaced")
    door.push("/etc/edgefaced/edgefaced.toml", CONFIG, mode="640")
    door.run("chown root:edgefaced /etc/edgefaced/edgefaced.toml")
    door.run(film.ENROL_ANN)
    door.run("sync && systemctl start edgefaced")
    return door


def bring_table(stage: Stage, cut: int, names: list[str], faces: list[Path]) -> None:
    """Who is to be enrolled before a cut: a photograph each."""
    rows = ["name,photo"]
    for name, face in zip(names, faces, strict=True):
        copyfile(min(face.iterdir()), stage.cargo / f"{name}.jpg")
        rows.append(f"{name},{name}.jpg")
    (stage.cargo / f"table-{cut}.csv").write_text("\n".join(rows) + "\n")


def load(door: Machine, cut: int, leaving: list[str]) -> None:
    """Enrolments, removals and check-ins side by side."""
    door.run(TELL_LINES)
    door.start(ENTER.format(table=f"table-{cut}.csv"))
    door.start(LEAVE.format(names=" ".join(leaving)))


def wait_for_a_word(console: Path, word: re.Pattern[str]) -> None:
    """Until an enrolment, or a removal, was acknowledged. Raises SceneError."""
    until = time.monotonic() + 900
    while not word.search(console.read_text(errors="replace")):
        if time.monotonic() > until:
            raise SceneError("the machine has acknowledged nothing in 900 s")
        time.sleep(0.1)


def hear(
    stage: Stage, outside: Outside, console: str, entering: list[str], leaving: list[str]
) -> None:
    """What had left the machine when its power was cut."""
    entered = dict(ENTERED.findall(console))
    kept = {name for name, word in entered.items() if word == "kept"}
    left = set(LEFT.findall(console))
    lines = [json.loads(line) for line in LINE.findall(console)]
    outside.open = (set(entering) - entered.keys()) | (set(leaving) - left)
    outside.sure = (outside.sure | kept) - set(leaving)
    outside.events |= {line["event_id"]: line["type"] for line in lines}
    outside.entered += len(kept)
    outside.left += len(left)
    stage.say(
        f"cut: {len(kept)} enrolments, {len(left)} removals, {len(lines)} events were acknowledged"
    )


def examine(stage: Stage, door: Machine, outside: Outside) -> None:
    """Everything is whole, and as it must be."""
    said = asked(door, "list")
    enrolled = {person["name"] for person in said["people"]}
    lacking, extra = outside.sure - enrolled, enrolled - outside.sure - outside.open
    stage.expect(not lacking, f"who was enrolled is enrolled {sorted(lacking)}")
    stage.expect(not extra, f"who was removed is gone {sorted(extra)}")
    stage.expect(all(person["templates"] for person in said["people"]), "everybody has a template")
    undecided = enrolled & outside.open
    outside.sure, outside.open = enrolled, set()

    checked = asked(door, "gallery check")
    stage.expect(not checked["faults"], f"the gallery is whole: {checked['people']} people")
    verified = asked(door, "events verify" + (f" --head {outside.end}" if outside.end else ""))
    stage.expect(verified["clean"], f"the chain is whole: {verified['records']} records")
    outside.end = f"{verified['head']['position']}:{verified['head']['digest']}"
    door.wait_for("systemctl is-active edgefaced")
    boot = door.run("cat /proc/sys/kernel/random/boot_id").out.strip()
    # Before the events are listed: a pulse without a decision would be seen.
    history = door.run("cat /sys/module/fakegpio/parameters/history").out.splitlines()
    events = asked(door, "events list --limit 1000000")["events"]
    recorded = {event["event_id"]: event["type"] for event in events}
    stage.expect(
        outside.events.items() <= recorded.items(),
        f"all {len(outside.events)} acknowledged events are there",
    )
    line_follows_decisions(stage, history, boot, events)
    stage.say(f"{len(undecided)} of the undecided came about")


def line_follows_decisions(
    stage: Stage, history: list[str], boot: str, events: list[dict[str, Any]]
) -> None:
    """Low from the boot on, but for what was decided since."""
    granted = [
        event["monotonic_ns"]
        for event in events
        if event["type"] == "access" and event["granted"] and event["boot_id"] == boot
    ]
    changes = [record.split() for record in history]
    rises = [int(ns) for ns, _, level in changes if level == "1"]
    stage.expect(
        all(any(0 <= rise - then < LATEST_NS for then in granted) for rise in rises),
        f"the line is low from the boot on, but for {len(rises)} pulses after a decision",
    )
