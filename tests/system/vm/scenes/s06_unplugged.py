"""Unplugged: the camera goes under load and comes back under another number, without a restart."""

from __future__ import annotations

import time

from tests.system.vm.layers import PACK
from tests.system.vm.machine import Machine
from tests.system.vm.scenes.asking import events, status
from tests.system.vm.stage import Stage

LABEL = "vivid-000-vid-cap"
FIRST, SECOND = "/dev/video0", "/dev/video7"
CONFIG = f"""
[camera]
device = "{LABEL}"
width_px = 640
height_px = 360
frames_per_second = 10.0
[models]
pack = "{PACK}"
[detection]
input_size_px = 160
[thermal]
latency_budget_ms = 1e6
"""
MOVING = "v4l2-ctl --device {node} --set-ctrl=horizontal_movement=5,vertical_movement=4"
"""A picture that stands still is not looked at."""
WATCHDOG_S = 30
"""Of the unit: silence for so long would end the daemon."""
STEADY = ("MainPID", "NRestarts")


def scene(stage: Stage) -> None:
    assert stage.pictures  # with them there is a pack
    door = stage.boot(settle=False)
    door.run("systemctl stop edgefaced")
    plug_in(door, FIRST)
    door.configure(CONFIG)
    looks_at(stage, door, FIRST)
    before, known = shown(door, *STEADY), len(events(door, "camera"))

    refused = door.run("rmmod vivid", check=False)
    stage.expect(refused.code != 0, f"the kernel keeps what is in use: {refused.err.strip()}")
    # What the kernel does when a cable is pulled: the driver leaves the device, and whoever has the
    # node open gets ENODEV. The module may go when the last one has let go of it.
    door.run("echo vivid.0 >/sys/bus/platform/drivers/vivid/unbind")
    door.wait_for("rmmod vivid")
    stage.say("ok: the device is gone, and the daemon has let go of it: the module is unloaded")
    door.wait_for("systemctl show edgefaced --property=StatusText | grep 'NO CAMERA'")
    stage.say(door.status_text())
    lost = events(door, "camera")[known:]
    stage.expect(
        [event["up"] for event in lost] == [False], f"an event says so: {lost[0]['detail']}"
    )

    fed = float(shown(door, "WatchdogTimestampMonotonic")[0])
    began = time.monotonic()
    door.run(f"sleep {WATCHDOG_S + 15}")
    gone_s = time.monotonic() - began
    fed_s = (float(shown(door, "WatchdogTimestampMonotonic")[0]) - fed) / 1e6
    stage.expect(
        shown(door, *STEADY) == before and fed_s > WATCHDOG_S,
        f"{gone_s:.0f} s without a camera: the same process, the watchdog is content all the while",
    )

    plug_in(door, SECOND)
    looks_at(stage, door, SECOND)
    back = events(door, "camera")[known:]
    stage.expect(
        [event["up"] for event in back] == [False, True], f"and an event: {back[-1]['detail']}"
    )
    stage.expect(shown(door, *STEADY) == before, f"without a restart: {STEADY} {before}")
    journal = door.run("journalctl --boot --no-pager --unit=edgefaced").out
    stage.expect(
        "Watchdog timeout" not in journal and "Traceback" not in journal,
        "nothing hung, nothing broke",
    )


def plug_in(door: Machine, node: str) -> None:
    number = node.removeprefix("/dev/video")
    door.run(f"modprobe vivid n_devs=1 node_types=0x1 vid_cap_nr={number}")
    door.wait_for(f"test -c {node} && grep -qx {LABEL} /sys/class/video4linux/video{number}/name")
    door.run(MOVING.format(node=node))


def looks_at(stage: Stage, door: Machine, node: str) -> None:
    door.wait_for("systemctl show edgefaced --property=StatusText | grep 'camera up'")
    first = status(door)
    stage.expect(
        first["camera"]["gives"]["device"] == node, f"the daemon has found {LABEL} at {node}"
    )
    door.run("sleep 5")
    looks = status(door)["frames"]["looked_at"] - first["frames"].get("looked_at", 0)
    stage.expect(looks > 0, f"{looks} looks meanwhile")


def shown(door: Machine, *properties: str) -> list[str]:
    """Of the unit."""
    return [
        door.run(f"systemctl show edgefaced --property={name} --value").out.strip()
        for name in properties
    ]
