"""Boot: the package's service is ready, says so in words, and its sandbox holds."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

from tests.system.vm.machine import Machine
from tests.system.vm.stage import Stage

QUICK = True

INVITATION = """
install -d -m 777 /etc/open-to-all /usr/open-to-all /home/ann
mknod -m 666 /dev/open-disk b $(stat -c '0x%t 0x%T' /dev/vda)
mknod -m 666 /dev/open-terminal c 4 64
"""
"""What the file system would allow everybody."""

IN_THE_SANDBOX = """[Service]
ExecStartPost=/usr/bin/python3 /cargo/escape.py /var/lib/edgefaced/escape.json
"""


def scene(stage: Stage) -> None:
    shutil.copy(Path(__file__).with_name("escape.py"), stage.cargo)
    door = stage.boot()
    door.run("dpkg --status edgefaced | grep -q 'ok installed'")
    door.wait_for("systemctl is-active edgefaced")
    shown = properties(door, "Type", "NotifyAccess", "NRestarts", "User", "WatchdogUSec")
    stage.expect(
        shown["Type"] == "notify" and shown["NotifyAccess"] == "main",
        "READY is the daemon's own word",
    )
    stage.expect(shown["NRestarts"] == "0", "it was started once")
    stage.expect(shown["User"] == "edgefaced", "it runs as a user of its own")

    door.wait_for("systemctl show edgefaced --property=StatusText | grep -q 'NO CAMERA'")
    stage.say(door.status_text())
    stage.expect("NO CAMERA" in door.status_text(), "without a camera the service runs and says so")
    door.run("modprobe vivid")
    door.wait_for("systemctl show edgefaced --property=StatusText | grep -q 'camera up'")
    stage.say(door.status_text())
    stage.expect(
        "camera up" in door.status_text(), "a camera that is plugged in is taken without a restart"
    )
    stage.expect(
        door.run("edgefaced status").out.splitlines()[0].startswith("running"),
        "edgefaced status says it runs",
    )
    try_to_escape(stage, door)


def try_to_escape(stage: Stage, door: Machine) -> None:
    """The same attempts as the same user, outside the unit and in it."""
    door.run(INVITATION)
    door.run("runuser -u edgefaced -- python3 /cargo/escape.py /var/lib/edgefaced/escape.json")
    free = json.loads(door.pull("/var/lib/edgefaced/escape.json"))
    stage.expect(
        not any(free["forbidden"].values()), f"without a sandbox: {', '.join(free['forbidden'])}"
    )

    door.run("rm /var/lib/edgefaced/escape.json")
    door.push("/run/systemd/system/edgefaced.service.d/escape.conf", IN_THE_SANDBOX)
    door.run("systemctl daemon-reload && systemctl restart edgefaced")
    held = json.loads(door.pull("/var/lib/edgefaced/escape.json"))
    for attempt, refusal in (held["forbidden"] | held["privileged"]).items():
        stage.expect(bool(refusal), f"in it, {attempt}: {refusal}")
    stage.expect(not any(held["needed"].values()), f"allowed: {', '.join(held['needed'])}")

    process = properties(door, "MainPID")["MainPID"]
    facts = door.run(f"grep -E '^(CapBnd|CapEff|NoNewPrivs|Seccomp):' /proc/{process}/status").out
    stage.expect(
        re.findall(r"\w+:\s+(\w+)", facts) == ["0" * 16, "0" * 16, "1", "2"],
        f"no powers, none to gain, filtered calls: {' '.join(facts.split())}",
    )
    exposure = door.run("systemd-analyze security edgefaced | tail -n 1").out
    stage.say(exposure.strip())
    grade = re.search(r"level for edgefaced.service: ([0-9.]+)", exposure)
    stage.expect(grade is not None and float(grade[1]) < 2.5, "its exposure is among the lowest")


def properties(door: Machine, *names: str) -> dict[str, str]:
    """Of the unit, as systemd knows them."""
    shown = door.run(f"systemctl show edgefaced --property={','.join(names)}").out
    return dict(line.split("=", 1) for line in shown.splitlines())
