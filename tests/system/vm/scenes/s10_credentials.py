"""Credentials: the key comes by LoadCredential=; a wrong one is refused and harms nothing."""

from __future__ import annotations

import shutil

from tests.system.vm.machine import Machine
from tests.system.vm.stage import Stage

STORE = "/etc/credstore/edgefaced-gallery-key"
GALLERY = "/var/lib/edgefaced/gallery.db"
CONFIG = """
[models]
pack = "mobilefacenet"
"""
KEY_IS_WRONG = 6
"""The exit code that README gives the gallery's faults."""


def scene(stage: Stage) -> None:
    picture = "Jennifer_Capriati_0002.jpg"
    folder = stage.pictures / "lfw" / "images" / "Jennifer_Capriati"
    shutil.copy(folder / picture, stage.cargo)
    door = stage.boot(settle=False)
    door.configure(CONFIG)
    door.run(f"edgefaced enroll Jennifer /cargo/{picture}")

    door.run("systemctl stop edgefaced")
    door.run(f"install -D -m 600 /var/lib/edgefaced/gallery.key {STORE}")
    door.run("rm /var/lib/edgefaced/gallery.key && systemctl start edgefaced")
    stage.expect(knows_her(door), "the service reads its gallery with the credential's key")
    door.run("test ! -e /var/lib/edgefaced/gallery.key")
    stage.say("ok: no key lies beside the gallery any more")
    peeped = door.run(
        f"runuser -u nobody -- cat /run/credentials/edgefaced.service/* {STORE}", check=False
    )
    stage.expect(peeped.code != 0 and not peeped.out, "nobody else reads the key")

    door.run("systemctl stop edgefaced")
    before = digest(door)
    door.run(f"mv {STORE} /root/right && head -c 32 /dev/urandom >{STORE} && chmod 600 {STORE}")
    door.run("systemctl start edgefaced", check=False)
    door.wait_for(
        f"systemctl show edgefaced --property=ExecMainStatus --value | grep -qx {KEY_IS_WRONG}"
    )
    stage.say(refusal(door))
    stage.expect(
        "key" in refusal(door) and "Traceback" not in refusal(door), "it is refused in a line"
    )
    asked = door.run("edgefaced list", check=False)
    stage.expect(asked.code == KEY_IS_WRONG, f"and so is root's command: {asked.err.strip()}")
    stage.expect(digest(door) == before, "the gallery is what it was, byte for byte")
    door.run("test ! -e /var/lib/edgefaced/gallery.key")
    stage.say("ok: no key was made in its place")

    door.run(f"mv /root/right {STORE}")
    door.wait_for("edgefaced status")
    stage.expect(knows_her(door), "with the right credential it comes back by itself")


def knows_her(door: Machine) -> bool:
    """The daemon has her templates, and root's command reads her name."""
    door.wait_for("edgefaced status | grep -q ' 1 templates'")
    return "Jennifer" in door.run("edgefaced list").out


def digest(door: Machine) -> str:
    return door.run(f"sha256sum {GALLERY}").out


def refusal(door: Machine) -> str:
    """The last word of the daemon that did not start."""
    lines = door.run(
        "journalctl --boot --no-pager --output=cat --unit=edgefaced _COMM=edgefaced | grep -i key"
    ).out.splitlines()
    return lines[-1] if lines else ""
