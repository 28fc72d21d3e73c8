"""Picamera2: the library itself on the kernel's virtual sensor; leases of real DMA-BUFs."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

from tests.system.vm.layers import PACK
from tests.system.vm.machine import Skipped, shorten
from tests.system.vm.scenes.asking import status
from tests.system.vm.scenes.s02_door import python
from tests.system.vm.stage import Stage

# Debian has libcamera and no picamera2: that is brought in wheels. What it does not import lacks.
WHEELS = ("picamera2==0.3.38", "av", "piexif", "pillow", "simplejpeg", "videodev2")
SITE = "/usr/local/lib/python3.13/dist-packages"
PREVIEW = """
class Names(type):
    def __getattr__(cls, name):
        return name
class PixelFormat(metaclass=Names): ...
class Card: ...
class ResourceManager: ...
class DumbFramebuffer: ...
class DmabufFramebuffer: ...
"""
RAW_FILES = {
    "pidng/__init__.py": "",
    "pidng/core.py": "class PICAM2DNG: ...\n",
    "pidng/camdefs.py": "class Picamera2Camera: ...\n",
}
"""What the library imports for its windows and for raw files, and no wheel brings."""
SIZES = ("640 480", "1280 720")
"""With the second, a camera that has two streams would be asked for both."""


def scene(stage: Stage) -> None:
    assert stage.pictures  # with them there is a pack
    shutil.copy(Path(__file__).with_name("loans.py"), stage.cargo)
    bring_picamera2(stage.cargo / "picamera2")
    door = stage.boot(settle=False)
    door.run("systemctl stop edgefaced")
    door.run(f"cp -r /cargo/picamera2/. {SITE}")
    # The library asks for the memory by the name that it has on a Raspberry Pi.
    door.run("modprobe vimc && udevadm settle && ln -s system /dev/dma_heap/linux,cma")
    for size in SIZES:
        said = json.loads(door.run(f"{python(door)} /cargo/loans.py {size}", timeout_s=900).out)
        stage.say(str(said))
        stage.expect(
            said["all_in_their_dma_buf"] and said["in_order"] and said["frames"] > said["buffers"],
            f"{size}: {said['frames']} frames lie in {said['dma_bufs']} DMA-BUFs and go back",
        )
        stage.expect("on loan" in said["early"], f"closed too early: {said['early']}")

    # This sensor's picture never changes by itself.
    door.configure(CONFIG)
    door.wait_for("edgefaced events list --kind camera | grep frozen")
    stage.say("ok: the daemon has its camera, and a picture that stands still is said to be frozen")
    door.run(NOISE)
    door.wait_for("edgefaced status --json | grep -q '\"looked_at\": [1-9]'")
    gives = status(door)["camera"]["gives"]
    stage.expect(gives["dma"], f"in its sandbox the daemon looks through it: {gives}")


NOISE = """
sensor=$(grep -lx 'Sensor B' /sys/class/video4linux/v4l-subdev*/name)
v4l2-ctl --device /dev/$(basename $(dirname $sensor)) --set-ctrl test_pattern=21
"""

CONFIG = f"""
[camera]
kind = "picamera2"
pixel_format = "RGB"
[models]
pack = "{PACK}"
# An emulated processor.
[thermal]
latency_budget_ms = 60000
"""


def bring_picamera2(site: Path) -> None:
    """The library for the machine's Python."""
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(site), "--no-deps"]
    fetched = subprocess.run(
        [*pip, "--python-version", "3.13", "--only-binary", ":all:", *WHEELS],
        capture_output=True,
        text=True,
        check=False,
    )
    if fetched.returncode != 0:
        raise Skipped(f"pip brings no picamera2 for the machine: {shorten(fetched.stderr)}")
    for name, text in {"pykms.py": PREVIEW, **RAW_FILES}.items():
        (site / name).parent.mkdir(exist_ok=True)
        (site / name).write_text(text)
