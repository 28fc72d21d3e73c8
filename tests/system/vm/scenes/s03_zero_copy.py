"""Zero copy: the detector reads the driver's own pages, and the daemon counts what it copies."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from tests.system.vm.layers import PACK
from tests.system.vm.scenes.asking import status
from tests.system.vm.scenes.s02_door import python
from tests.system.vm.stage import Stage

WIDTH, HEIGHT = 1280, 720
FORMATS = {"NV12": 1.5, "YUYV": 2, "BGR": 3}
"""Bytes of a pixel."""
SIDE, STEP = 320, 32
"""The detector's input is so wide, and as high as a 16:9 picture needs in steps of its strides."""
PAGE = 4096
ALIKE = 1.0
"""Standard deviation, in steps of 0..255, of an input that is drawn from one shade."""


def scene(stage: Stage) -> None:
    assert stage.pictures  # with them there is a pack
    shutil.copy(Path(__file__).with_name("pages.py"), stage.cargo)
    door = stage.boot(settle=False)
    door.run("systemctl stop edgefaced")
    door.run("modprobe vivid n_devs=1 node_types=0x1")
    # A picture that never changes is a camera that is frozen.
    door.wait_for("v4l2-ctl --device /dev/video0 --set-ctrl horizontal_movement=5")
    for name, bytes_a_pixel in FORMATS.items():
        said = json.loads(door.run(f"{python(door)} /cargo/pages.py vivid-000-vid-cap {name}").out)
        first_plane = WIDTH * HEIGHT * (1 if name == "NV12" else bytes_a_pixel)
        for frame in said:
            stage.say(f"{name}: {frame}")
            stage.expect(
                len(frame["drivers_buffer"]) == 1 and frame["pages"] >= first_plane // PAGE,
                f"{name}: all {frame['pages']} pages of the frame are those of the driver's buffer",
            )
            stage.expect(frame["dma_buf_is_the_same"], "and those of its DMA-BUF")
            stage.expect(
                frame["input_before"] > 10 * ALIKE > 10 * frame["input_after"],
                "what is written into the driver's buffer is what the detector's input is drawn of",
            )
            stage.expect(frame["lent_bytes_copied"] == 0, "lending it copied no byte")
        buffers = {frame["drivers_buffer"][0] for frame in said}
        stage.expect(len(buffers) == len(said) == 3, "three frames on loan lie in three buffers")

    drawn = SIDE * -(-SIDE * HEIGHT // WIDTH // STEP) * STEP * 3
    for name, bytes_a_pixel in FORMATS.items():
        door.configure(config(name))
        # The counters are of looks at a picture without faces: nothing but inputs is written.
        door.wait_for("sleep 3; edgefaced status --json | grep -q '\"looked_at\": [1-9][0-9]'")
        told = status(door)
        gives, frame_bytes = told["camera"]["gives"], int(WIDTH * HEIGHT * bytes_a_pixel)
        stage.expect(
            gives["dma"] and (gives["pixel_format"], gives["width_px"]) == (name, WIDTH),
            f"the daemon reads {name} where it lies",
        )
        copied = told["bytes_copied_per_frame"]
        stage.expect(
            copied == drawn,
            f"it copies the network's input and no more: {copied} bytes a look of {frame_bytes}",
        )


def config(pixel_format: str) -> str:
    return f"""
[camera]
device = "vivid-000-vid-cap"
pixel_format = "{pixel_format}"
[models]
pack = "{PACK}"
# An emulated processor.
[thermal]
latency_budget_ms = 60000
"""
