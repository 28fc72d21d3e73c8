"""Door: somebody is enrolled at the camera, comes back, and is let in, told and recorded.

Play it alone: here the product's own deadlines count. A face is forgotten after three seconds
without a look, and nobody is let in for a frame ten seconds old.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from tests.system.vm.layers import PACK
from tests.system.vm.machine import CONFIGURATION, Machine
from tests.system.vm.scenes.asking import asked, events, status
from tests.system.vm.stage import Stage

ANN = "Wen_Jiabao"
POSES = {
    "frontal": 10,
    "slightly left": 5,
    "slightly right": 8,
    "slightly up": 3,
    "slightly down": 7,
}
"""Photographs of one person who holds the head so, in the view of `edgefaced.core.coaching`."""
ANN_COMES = (ANN, 11)
STRANGER = ("Tony_Blair", 86)
PULSE_MS = 2000
SHOWN = "/run/shown"
RELAY = "/sys/module/fakegpio/parameters/history"
HEARD = "/run/heard"

VIRTUAL_CAMERA = f"""set -e
modprobe vivid n_devs=1 node_types=0x101 num_inputs=1 input_types=0x3 num_outputs=1 output_types=0x1
in=/dev/video0 out=/dev/video1
v4l2-ctl --device $in --set-ctrl hdmi_000_0_is_connected_to=2,osd_text_mode=2
found=$(v4l2-ctl --device $out --list-dv-timings | tr -d '\\n' | sed 's/Index:/\\n&/g')
found=$(echo "$found" | grep 'width: 1280.*height: 720.*Pixelclock: 59400000' | head -1)
timings=$(echo "$found" | sed 's/^Index: *\\([0-9]*\\).*/\\1/')
for node in $in $out; do v4l2-ctl --device $node --set-dv-bt-timings index=$timings; done
format=width=1280,height=720,pixelformat=YUYV
v4l2-ctl --device $in --set-fmt-video $format
v4l2-ctl --device $out --set-fmt-video-out $format
touch {SHOWN}
"""
"""What is played into its HDMI output comes out of its HDMI input, 24 times a second."""

CONFIG = f"""
[camera]
device = "vivid-000-vid-cap"
pixel_format = "YUYV"
[models]
pack = "{PACK}"
[mqtt]
host = "127.0.0.1"
tls = false
names = true
[attendance]
enabled = true
mode = "in"
[groups.everybody]
doors = ["front"]
[doors.front]
chip = "fakegpio"
relay_line = "relay"
pulse_ms = {PULSE_MS}
liveness = "not required"
# An emulated processor: a look takes long, and the face is large.
[detection]
input_size_px = 160
[access]
maximum_age_seconds = 10
[thermal]
latency_budget_ms = 60000
"""


def scene(stage: Stage) -> None:
    faces = stage.pictures / "lfw" / "images"
    for who, number in [(ANN, n) for n in POSES.values()] + [ANN_COMES, STRANGER]:
        shutil.copy(faces / who / f"{who}_{number:04}.jpg", stage.cargo)
    shutil.copy(Path(__file__).with_name("play.py"), stage.cargo)
    door = stage.boot(settle=False)
    begin(stage, door)
    enrol(stage, door)
    ann_comes(stage, door)
    stranger_comes(stage, door)
    nobody_is_there(stage, door)


def begin(stage: Stage, door: Machine) -> None:
    """Camera, broker and daemon."""
    door.run("systemctl stop edgefaced")
    door.run(VIRTUAL_CAMERA)
    door.run(
        f"systemd-run --quiet --unit=play bash -c '{python(door)} /cargo/play.py {SHOWN} |"
        " v4l2-ctl --device /dev/video1 --stream-out-mmap --stream-from=-'"
    )
    door.push("/etc/mosquitto/conf.d/door.conf", "listener 1883 127.0.0.1\nallow_anonymous true\n")
    door.run("systemctl start mosquitto")
    door.run(
        "systemd-run --quiet --unit=hear bash -c"
        f" 'mosquitto_sub -h 127.0.0.1 -t edgefaced/# -v >{HEARD}'"
    )
    door.push(CONFIGURATION, CONFIG)
    door.run("edgefaced install-service --no-start")  # it may reach the broker's address now
    door.configure(CONFIG)
    door.wait_for("systemctl show edgefaced --property=StatusText | grep -q 'camera up'")
    gives = status(door)["camera"]["gives"]
    stage.expect(
        gives["dma"] and (gives["pixel_format"], gives["width_px"]) == ("YUYV", 1280),
        f"the daemon has the camera: {gives['width_px']}x{gives['height_px']} YUYV, DMA-BUF",
    )
    door.wait_for(f"grep -q 'availability online' {HEARD}")


def enrol(stage: Stage, door: Machine) -> None:
    """The guide asks, the photographs obey."""
    guide = door.start("edgefaced enroll Ann --camera --seconds 300 2>/run/guide", timeout_s=900)
    for taken, (pose, number) in enumerate(POSES.items(), start=1):
        show(door, ANN, number)
        if taken < len(POSES):
            door.wait_for(f"grep -q ' {taken} of 5 pictures' /run/guide")
            stage.say(f"{pose}: {door.run('tail -n 1 /run/guide').out.strip()}")
    done = door.answer(guide, timeout_s=900)
    stage.say(" | ".join((done.out + done.err).strip().splitlines()))
    stage.expect(
        done.code == 0 and "5 templates" in done.out, "Ann is enrolled by the daemon's camera"
    )


def ann_comes(stage: Stage, door: Machine) -> None:
    clear(door)
    known, heard = last_position(door), lines_heard(door)
    show(door, *ANN_COMES)
    door.wait_for(f"test $(wc -l <{RELAY}) = 2")
    rise, fall = (line.split() for line in door.run(f"cat {RELAY}").out.splitlines())
    high_ms = (int(fall[0]) - int(rise[0])) / 1e6
    stage.expect(
        (rise[1:], fall[1:]) == (["3", "1"], ["3", "0"]) and high_ms >= PULSE_MS,
        f"Ann comes: the relay's line rises, and falls after {high_ms:.0f} ms",
    )
    told = wait_to_hear(door, heard, "face")
    stage.expect(told["name"] == "Ann", f"the broker was told: {told['name']}, {told['score']:.2f}")
    told = wait_to_hear(door, heard, "access")
    stage.expect(told["granted"] and told["name"] == "Ann", f"and why: {told['reason']}")
    granted = [event for event in events(door, "access") if event["position"] > known]
    stage.expect([event["granted"] for event in granted] == [True], "the ledger says why")
    door.wait_for("edgefaced attendance list --json | grep -q Ann")
    stage.say("ok: her check-in is recorded")


def stranger_comes(stage: Stage, door: Machine) -> None:
    clear(door)
    known, heard = last_position(door), lines_heard(door)
    show(door, *STRANGER)
    told = wait_to_hear(door, heard, "face")
    stage.expect(told["name"] is None, f"a stranger comes, the broker was told: {told['reason']}")
    seen = [event for event in events(door, "face") if event["position"] > known]
    stage.expect([event["name"] for event in seen] == [None], "and the ledger has it")
    late = [e for e in events(door, "access") if e["position"] > known and e["granted"]]
    pulses = door.run(f"cat {RELAY}").out
    stage.expect(not late and not pulses, "the relay's line stays low")


def nobody_is_there(stage: Stage, door: Machine) -> None:
    """The shares are of the last ten seconds."""
    active = status(door)["cpu"]["share"]
    clear(door)
    door.run("sleep 15")
    idle = status(door)
    stage.expect(
        idle["faces_in_view"] == 0 and idle["cpu"]["share"] < active,
        f"nobody is there: {idle['cpu']['share']:.0%} of a core instead of {active:.0%}, "
        f"{idle['looks_per_second']:g} looks a second at {idle['frames_per_second']:g} frames",
    )


def clear(door: Machine) -> None:
    """A bare wall, until the daemon knows that nobody is there; the relay's past is forgotten."""
    show(door)
    door.wait_for("systemctl show edgefaced --property=StatusText | grep -q ' 0 faces in view'")
    door.wait_for("test $(cat /sys/module/fakegpio/parameters/levels) = 0")
    door.run(f"echo >{RELAY}")


def last_position(door: Machine) -> int:
    """Of the ledger."""
    return int(asked(door, "events list --limit 1")["events"][-1]["position"])


def lines_heard(door: Machine) -> int:
    """By the broker's subscriber."""
    return int(door.run(f"wc -l <{HEARD}").out)


def wait_to_hear(door: Machine, heard: int, kind: str) -> dict[str, Any]:
    """The first event of a kind that the broker passes on after so many lines."""
    first = f"tail -n +{heard + 1} {HEARD} | grep -m 1 '/event/{kind} '"
    said: dict[str, Any] = json.loads(door.wait_for(first).out.split(maxsplit=1)[1])
    return said


def show(door: Machine, who: str = "", number: int = 0) -> None:
    """Hangs a photograph on the wall, or takes it away."""
    named = f"/cargo/{who}_{number:04}.jpg" if who else ""
    door.run(f"echo {named} >{SHOWN}.new && mv {SHOWN}.new {SHOWN}")


def python(door: Machine) -> str:
    """The interpreter that the package runs edgefaced with, and so its libraries."""
    program = "$(readlink --canonicalize $(command -v edgefaced))"
    return door.run(f"sed -n '1s/^#!\\([^ ]*\\).*/\\1/p' {program}").out.strip()
