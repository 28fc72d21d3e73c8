"""Borrows frames of a picamera2 camera and says what they were as one JSON document.

loans.py WIDTH HEIGHT      in the machine
"""

import json
import mmap
import sys
from pathlib import Path

import numpy as np

from edgefaced.camera import picamera2
from edgefaced.camera.choose import open_camera
from edgefaced.config.sections import CameraSection
from edgefaced.errors import LeaseError
from edgefaced.protocols import Camera, FrameLease

PATIENCE_SECONDS = 60.0


def take(camera: Camera) -> FrameLease:
    lease = camera.next(PATIENCE_SECONDS)
    if lease is None:
        sys.exit("no frame came")
    return lease


def lies_in_its_buffer(lease: FrameLease) -> bool:
    """Whether a mapping of the DMA-BUF of our own shows the frame."""
    buffer = lease.frame.buffer
    if buffer is None or "dmabuf" not in str(Path(f"/proc/self/fd/{buffer.fd}").readlink()):
        return False
    with mmap.mmap(buffer.fd, buffer.size_bytes, prot=mmap.PROT_READ) as memory:
        row = lease.frame.pixels[-1].reshape(-1)
        start = buffer.offset + (lease.frame.height - 1) * buffer.stride
        return bool(np.array_equal(np.frombuffer(memory[start : start + row.size], np.uint8), row))


def borrowed(section: CameraSection) -> dict[str, object]:
    """Three at once, and more one after another than there are buffers."""
    with open_camera(section) as camera:
        what = camera.description
        held = [take(camera) for _ in range(3)]
        fds = {lease.frame.buffer.fd for lease in held if lease.frame.buffer}
        kept = [lies_in_its_buffer(lease) for lease in held]
        for lease in held:
            lease.release()
        sequences = []
        for _ in range(2 * what.buffers):
            with take(camera) as lease:
                sequences.append(lease.frame.sequence)
                fds.update([lease.frame.buffer.fd] if lease.frame.buffer else [])
                kept.append(lies_in_its_buffer(lease) and lease.copied_bytes == 0)
        return {
            "camera": what.name,
            "size": [what.width, what.height],
            "format": what.native,
            "buffers": what.buffers,
            "frames": len(kept),
            "all_in_their_dma_buf": all(kept),
            "dma_bufs": len(fds),
            "in_order": sequences == sorted(set(sequences)),
        }


def closed_too_early(section: CameraSection) -> str:
    """What closing says while a frame is on loan; the camera can be opened again afterwards."""
    camera = open_camera(section)
    lease = take(camera)
    try:
        camera.close()
    except LeaseError as error:
        lease.release()
        return str(error)
    return ""


# An emulated processor takes seconds for a frame, and the library closes between two.
picamera2.CLOSE_SECONDS = PATIENCE_SECONDS
# The virtual sensor starts with no other order of colours.
wanted = CameraSection.model_validate(
    {
        "kind": "picamera2",
        "width_px": sys.argv[1],
        "height_px": sys.argv[2],
        "pixel_format": "RGB",
    }
)
said = {"early": closed_too_early(wanted)} | borrowed(wanted)
sys.stdout.write(json.dumps(said))
