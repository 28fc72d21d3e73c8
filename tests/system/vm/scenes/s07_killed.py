"""Killed or hung: whatever happens to the daemon, the line goes low and it comes back."""

from __future__ import annotations

from tests.system.vm.machine import Machine
from tests.system.vm.stage import Stage

PULSE_MS = 30_000
"""As long as a pulse may be: whoever ends it earlier is not its clock."""
CONFIG = f"""
[models]
pack = "mobilefacenet"
[doors.front]
chip = "fakegpio"
relay_line = "relay"
pulse_ms = {PULSE_MS}
"""
RELAY = "/sys/module/fakegpio/parameters"
LOW = f"test $(cat {RELAY}/levels) = 0"
HIGH = f"test $(cat {RELAY}/levels) = 8"
"""Line 3 is the relay, and the only one in use."""


def scene(stage: Stage) -> None:
    door = stage.boot(settle=False)
    door.configure(CONFIG)
    door.run(LOW)
    stage.say("the line is low before anything happened")

    open_the_door(door)
    door.run("systemctl kill --signal=KILL --kill-whom=main edgefaced")
    door.wait_for(LOW)
    stage.expect(last_pulse_ms(door) < PULSE_MS, "daemon killed in a pulse: the guard ends it")
    comes_back(stage, door, 1)

    open_the_door(door)
    door.run("systemctl kill --signal=KILL edgefaced")
    door.wait_for(LOW)
    stage.say("ok: daemon and guard killed in a pulse: the line is low again")
    comes_back(stage, door, 2)

    open_the_door(door)
    door.run("systemctl kill --signal=STOP --kill-whom=main edgefaced")
    door.wait_for("test $(systemctl show edgefaced --property=NRestarts --value) = 3")
    stage.expect("Watchdog timeout" in journal(door), "daemon stopped: the watchdog ends it")
    stage.expect("hread 0x" in journal(door), "the journal has a stack of every thread")
    door.wait_for(LOW)
    comes_back(stage, door, 3)
    restart_loop(stage, door)


def restart_loop(stage: Stage, door: Machine) -> None:
    """A configuration that no daemon starts with, and a line that was left high."""
    door.run("systemctl stop edgefaced")
    door.push("/etc/edgefaced/broken", "[doors.front]\nno_such_key = 1\n", mode="640")
    door.run("cd /etc/edgefaced && mv edgefaced.toml good && mv broken edgefaced.toml")
    door.run("chown root:edgefaced /etc/edgefaced/edgefaced.toml")
    door.run(f"echo 8 >{RELAY}/levels && {HIGH}")
    door.run("systemctl start edgefaced", check=False)
    door.wait_for("test $(systemctl show edgefaced --property=NRestarts --value) -ge 2")
    door.run(LOW)
    stage.say("ok: in a loop of restarts the line is made low")
    door.run(f"echo >{RELAY}/history")
    door.wait_for("test $(systemctl show edgefaced --property=NRestarts --value) -ge 4")
    stage.expect(door.run(f"cat {RELAY}/history").out == "", "and it stays low")
    stage.expect("no_such_key" in journal(door), "the journal says why it does not start")
    door.run("mv /etc/edgefaced/good /etc/edgefaced/edgefaced.toml")
    door.wait_for("edgefaced status")
    stage.say("ok: with the configuration in order it comes back by itself")


def open_the_door(door: Machine) -> None:
    door.run("edgefaced doors open front")
    door.wait_for(HIGH)


def comes_back(stage: Stage, door: Machine, times: int) -> None:
    door.wait_for("edgefaced status")
    restarts = door.run("systemctl show edgefaced --property=NRestarts --value").out.strip()
    stage.expect(restarts == str(times), f"systemd has started it again, {times} times by now")
    door.run(LOW)


def last_pulse_ms(door: Machine) -> float:
    """For how long the line was high the last time."""
    rise, fall = door.run(f"cat {RELAY}/history").out.splitlines()[-2:]
    return (int(fall.split()[0]) - int(rise.split()[0])) / 1e6


def journal(door: Machine) -> str:
    return door.run("journalctl --boot --no-pager --unit=edgefaced").out
