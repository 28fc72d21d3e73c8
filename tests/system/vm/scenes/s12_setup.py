"""Setup: options make a fresh device a door that runs; once more, nothing changes."""

from __future__ import annotations

from typing import Any

from tests.system.vm.machine import Machine
from tests.system.vm.scenes.asking import asked
from tests.system.vm.stage import Stage

RELAY = "/sys/module/fakegpio/parameters"
STORED = "/etc/credstore/edgefaced-mqtt-password"
BROKER = """listener 1883 127.0.0.1
allow_anonymous false
password_file /etc/mosquitto/people
"""
SO_FAR = """# all that an emulated processor can follow
[camera]
width_px = 640
height_px = 360
frames_per_second = 2.0
[models]
pack = "mobilefacenet"
[thermal]
latency_budget_ms = 1e6
"""
WORDS = (
    "--camera first --door front --chip fakegpio --relay relay --for everybody "
    "--when 'daily 00:00-24:00' --photographs-may-open --attendance in "
    "--lines /var/lib/edgefaced/lines --mqtt 127.0.0.1 --mqtt-plain --mqtt-user door "
    "--mqtt-password-file /root/password"
)
LISTEN = "mosquitto_sub -h 127.0.0.1 -u door -P geheim -t 'edgefaced/+/availability' -C 1 -W 300"


def scene(stage: Stage) -> None:
    assert stage.pictures  # with them there is a pack
    door = stage.boot(settle=False)
    door.run("systemctl stop edgefaced")
    door.push("/etc/edgefaced/edgefaced.toml", SO_FAR, mode="640")
    door.run("chown root:edgefaced /etc/edgefaced/edgefaced.toml && modprobe vivid")
    door.push("/etc/mosquitto/conf.d/door.conf", BROKER)
    door.push("/root/password", "geheim\n", mode="600")
    door.run("mosquitto_passwd -b -c /etc/mosquitto/people door geheim")
    door.run("chown mosquitto /etc/mosquitto/people && systemctl start mosquitto")

    planned = setup(door, f"--dry-run {WORDS}")
    stage.expect("geheim" not in str(planned), f"{len(planned['steps'])} steps are planned")
    door.run("test ! -e /etc/edgefaced/edgefaced.toml.bak")
    done = setup(door, f"--yes --live 10 {WORDS}")
    for step in done["steps"]:
        stage.say(f"{step['state']}: {step['what']}")
    faults = [f for f in done["findings"] if f["level"] == "fault"]
    stage.expect(not faults, f"doctor finds no fault {faults or ''}")
    stage.expect(
        any("gives pictures" in line for line in done["live"]["lines"]),
        f"the camera is looked through by the daemon: {done['live']['lines']}",
    )
    files = door.run(f"stat -c '%a %U:%G %n' /etc/edgefaced/* {STORED}").out.splitlines()
    stage.expect(
        files
        == [
            "640 root:edgefaced /etc/edgefaced/edgefaced.toml",
            "640 root:edgefaced /etc/edgefaced/edgefaced.toml.bak",
            f"600 root:root {STORED}",
        ],
        "the service reads its configuration, and nobody the password",
    )
    door.run("! grep -r geheim /etc/edgefaced")
    stage.expect(asked(door, "config check")["ok"], "the configuration is in order")
    stage.expect(door.run(LISTEN).out.strip() == "online", "the broker has let it in")

    door.run(f"echo >{RELAY}/history && edgefaced doors open front")
    door.wait_for(f"test $(wc -l <{RELAY}/history) -ge 2")
    stage.expect(door.run("cat /var/lib/edgefaced/lines").out != "", "events are written")

    before = process(door)
    again = setup(door, "--yes --live 1")
    stage.expect(not again["changed"] and process(door) == before, "nothing to do: not restarted")
    setup(door, "--yes --live 1 --without mqtt --without lines")
    stage.expect(process(door) != before, "something new: started anew")
    door.run("test ! -e /etc/systemd/system/edgefaced.service.d/50-edgefaced-reach.conf")

    door.run("useradd --create-home ann")
    own = door.run("runuser -l ann -c 'edgefaced setup --yes --no-pull --live 0'", check=False)
    stage.expect("sudo" in own.err and own.code == 1, "a person is told what takes root")
    door.run("test -s /home/ann/.config/edgefaced/edgefaced.toml")


def setup(door: Machine, words: str) -> dict[str, Any]:
    """Raises SceneError where it does not end well."""
    return asked(door, f"setup {words}")


def process(door: Machine) -> str:
    return door.run("systemctl show edgefaced --property=MainPID --value").out
