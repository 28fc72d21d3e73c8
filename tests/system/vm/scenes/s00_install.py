"""Install: the package under a running systemd, without a network: new, again, removed, purged."""

from __future__ import annotations

import shutil

from tests.system.vm.layers import PACK
from tests.system.vm.machine import Machine, Skipped
from tests.system.vm.stage import Stage

BARE = True

CONFIG = f"""
[models]
pack = "{PACK}"
"""
PICTURE = "Jennifer_Capriati_0002.jpg"
LEFT = """
find / -xdev -name '*edgefaced*' -not -path '/var/log/*' -not -path '/var/cache/apt/*'
getent passwd edgefaced; getent group edgefaced
systemctl list-unit-files --no-legend 'edgefaced*'
"""


def scene(stage: Stage) -> None:
    if not stage.layers.weights:
        raise Skipped("no weights here: set EDGEFACED_TEST_DATA to a folder that has them")
    package = stage.layers.package.name
    pictures = stage.pictures / "lfw" / "images" / "Jennifer_Capriati"
    for file in (stage.layers.package, *stage.layers.weights, pictures / PICTURE):
        shutil.copy(file, stage.cargo)
    door = stage.boot()
    install = f"apt-get install -y /cargo/{package}"
    stage.say(f"$ {install}")
    door.run(install, timeout_s=1800)
    door.run("systemctl is-active edgefaced && systemctl is-enabled edgefaced")
    stage.say("ok: installed, the service is up")
    stage.say(door.status_text())

    door.configure(CONFIG)
    door.wait_for(f"systemctl show edgefaced --property=StatusText | grep {PACK}")
    stage.expect(
        PACK in door.status_text(), f"it says that the pack is missing: {door.status_text()}"
    )
    stage.say(f"$ edgefaced models import /cargo --pack {PACK}")
    door.run(f"edgefaced models import /cargo --pack {PACK}", timeout_s=1800)
    door.wait_for("edgefaced status | grep -q templates", timeout_s=300)
    restarts = door.run("systemctl show edgefaced --property=NRestarts --value").out.strip()
    stage.expect(restarts == "0", "with the pack it begins by itself, without a restart")
    door.run(f"edgefaced enroll Jennifer /cargo/{PICTURE}")

    door.run(f"{install} --reinstall", timeout_s=1800)
    stage.expect(knows_her(door), "installed over itself: people and configuration are still there")
    door.run("apt-get remove -y edgefaced", timeout_s=600)
    left = door.run("systemctl is-active edgefaced", check=False)
    stage.expect(left.out.strip() != "active", "removed: the service is gone")
    door.run("test -s /var/lib/edgefaced/gallery.db")
    door.run(install, timeout_s=1800)
    stage.expect(knows_her(door), "installed again: people are still there")
    door.run("apt-get purge -y edgefaced", timeout_s=600)
    remains = door.run(LEFT, check=False).out.strip()
    stage.expect(not remains, f"purged: nothing is left {remains}")


def knows_her(door: Machine) -> bool:
    door.wait_for("edgefaced status | grep -q ' 1 templates'", timeout_s=300)
    return "Jennifer" in door.run("edgefaced list").out
