"""Says as one JSON document on which physical pages a camera's frame lies; in the machine, as root.

    pages.py LABEL FORMAT

The driver's buffers are found without the camera's code: by a descriptor of their own, a query
and a mapping. What is written there must be what the detector's input is then drawn from.
"""

import fcntl
import json
import mmap
import os
import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from edgefaced.camera.choose import DEV, SYSFS
from edgefaced.camera.v4l2 import ioctl as v4l2
from edgefaced.camera.v4l2.device import open_v4l2
from edgefaced.camera.v4l2.names import find_node
from edgefaced.core.letterbox import fit
from edgefaced.core.sampling import draw
from edgefaced.protocols import CameraWish, FrameLease
from edgefaced.types import U8, ColourOrder

HELD = 3
GREY = 128


def pages(memory: U8) -> list[int]:
    """Numbers of the physical pages below an array, all of which has been touched."""
    start, end = np.lib.array_utils.byte_bounds(memory)
    first, last = start // mmap.PAGESIZE, (end - 1) // mmap.PAGESIZE
    with Path("/proc/self/pagemap").open("rb", buffering=0) as file:
        file.seek(first * 8)
        entries = np.frombuffer(file.read((last - first + 1) * 8), np.uint64)
    if not (entries >> np.uint64(63)).all():
        sys.exit("a page is not in memory")
    return [int(number) for number in entries & np.uint64((1 << 55) - 1)]


def mapped(fd: int, length: int, offset: int = 0) -> U8:
    protection = mmap.PROT_READ | mmap.PROT_WRITE
    flat = np.frombuffer(
        mmap.mmap(fd, length, mmap.MAP_SHARED, protection, offset=offset), np.uint8
    )
    flat.max()  # touches every page
    return flat


def drivers_buffers(node: Path, count: int) -> list[U8]:
    fd, found = os.open(node, os.O_RDWR), []
    for index in range(count):
        asked = v4l2.Buffer(index=index, type=v4l2.BUF_TYPE_CAPTURE, memory=v4l2.MEMORY_MMAP)
        fcntl.ioctl(fd, v4l2.QUERYBUF, asked)
        found.append(mapped(fd, asked.length, asked.m.offset))
    return found


def detectors_input(lease: FrameLease) -> NDArray[np.uint8]:
    frame = lease.small
    canvas = np.empty((192, 320, 3), np.uint8)
    box = fit(frame.width, frame.height, 320, 192)
    draw(canvas, frame, box, ColourOrder.RGB)
    return canvas[: box.fitted_height, : box.fitted_width]


def examined(lease: FrameLease, drivers: list[U8]) -> dict[str, object]:
    """One frame on loan. The driver does not write into it meanwhile."""
    frame = lease.small
    if frame.buffer is None:
        sys.exit("the frame lies in no DMA-BUF")
    frame.pixels.max()
    mine = pages(frame.pixels)
    whose = [n for n, buffer in enumerate(drivers) if pages(buffer)[: len(mine)] == mine]
    exported = pages(mapped(frame.buffer.fd, frame.buffer.size_bytes))[: len(mine)]
    before = detectors_input(lease)
    if len(whose) == 1:
        drivers[whose[0]][:] = GREY
    after = detectors_input(lease)
    return {
        "pages": len(mine),
        "first_page": hex(mine[0]),
        "drivers_buffer": whose,
        "dma_buf_is_the_same": exported == mine,
        "input_before": float(before.std()),
        "input_after": float(after.std()),
        "lent_bytes_copied": lease.copied_bytes,
        "same_frame_for_detector_and_face": lease.small is lease.frame,
    }


label, pixel_format = sys.argv[1:]
node = find_node(label, dev=DEV, sysfs=SYSFS)
with open_v4l2(node, CameraWish(pixel_format=pixel_format), buffers=4) as camera:
    drivers = drivers_buffers(node, camera.description.buffers)
    leases = [camera.next(30.0) for _ in range(HELD)]
    said = [examined(lease, drivers) for lease in leases if lease is not None]
    for lease in leases:
        if lease is not None:
            lease.release()
    sys.stdout.write(json.dumps(said))
