"""A photograph of 300 million pixels is read in bounded memory."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from edgefaced.errors import PictureError
from edgefaced.pictures.decode import read_picture

ROWS_PER_STRIP = 16 * 8

READ = """
import json, resource, sys
from pathlib import Path
from edgefaced.pictures.decode import read_picture
resource.setrlimit(resource.RLIMIT_AS, (1_500_000_000, 1_500_000_000))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
pixels = read_picture(Path(sys.argv[1]))
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
means = pixels.mean(axis=(0, 1)).round().astype(int).tolist()
print(json.dumps([pixels.shape, means, (after - before) // 1024]))
"""


def tall_jpeg(width: int, height: int) -> bytes:
    """A real JPEG of any height at the cost of one strip, whose rows of blocks are repeated."""
    strip = np.empty((ROWS_PER_STRIP, width, 3), np.uint8)
    strip[:] = (200, 120, 40)
    strip[::5] = (180, 100, 60)
    buffer = io.BytesIO()
    Image.fromarray(strip).save(buffer, "JPEG", quality=60, restart_marker_rows=1)
    data = buffer.getvalue()
    size = data.index(b"\xff\xc0") + 5  # start of frame: length, precision, height, width
    data = data[:size] + height.to_bytes(2, "big") + data[size + 2 :]
    scan = data.index(b"\xff\xda")
    start = scan + 2 + int.from_bytes(data[scan + 2 : scan + 4], "big")
    rows = re.split(rb"\xff[\xd0-\xd7]", data[start:-2])
    assert len(rows) == ROWS_PER_STRIP // 16
    out = [data[:start]]
    count = -(-height // 16)
    for row in range(count):
        out.append(rows[row % len(rows)])
        if row < count - 1:
            out.append(bytes([0xFF, 0xD0 + row % 8]))
    return b"".join(out) + b"\xff\xd9"


def test_300_million_pixels_are_read_in_bounded_memory(tmp_path: Path) -> None:
    path = tmp_path / "huge.jpg"
    path.write_bytes(tall_jpeg(20_000, 15_000))
    done = subprocess.run(
        [sys.executable, "-c", READ, str(path)], capture_output=True, text=True, check=True
    )
    shape, means, megabytes = json.loads(done.stdout)
    assert shape == [3072, 4096, 3]
    assert np.abs(np.array(means) - [44, 116, 196]).max() <= 2
    # Whole, it would be 900 MB of pixels.
    assert megabytes < 300


def test_a_billion_pixels_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "bomb.jpg"
    path.write_bytes(tall_jpeg(20_000, 60_000))
    with pytest.raises(PictureError, match=r"too large \(20000x60000\)"):
        read_picture(path)


def test_a_progressive_jpeg_of_that_size_is_refused(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    Image.new("L", (8, 8)).save(buffer, "JPEG", progressive=True)
    data = buffer.getvalue()
    size = data.index(b"\xff\xc2") + 5
    path = tmp_path / "progressive.jpg"
    path.write_bytes(data[:size] + (20_000).to_bytes(2, "big") * 2 + data[size + 4 :])
    with pytest.raises(PictureError, match="at most 50 million pixels"):
        read_picture(path)
