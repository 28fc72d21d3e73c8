"""From a camera's buffer to the NPU without a copy: a canned V4L2 node, a double of librknnrt."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from npu_rigs import FILE, add_up, build_double, left_behind, npu

from edgefaced.camera.layout import Planes
from edgefaced.camera.v4l2.canned import CannedCamera, CannedFormat, CannedKernel
from edgefaced.camera.v4l2.device import open_v4l2
from edgefaced.inference.librknnrt import PRIORITY_MEDIUM
from edgefaced.inference.rknn_direct import DirectRknnBackend
from edgefaced.inference.source import CompiledSource, Needs
from edgefaced.protocols import CameraWish, TensorSpec

WIDTH, HEIGHT = 64, 48
NODE = Path("/dev/video0")
SOON = 30.0


@pytest.fixture(scope="module")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Path]:
    """By the pixels from one row to the next."""
    return {
        stride: build_double(
            tmp_path_factory.mktemp("double"), HEIGHT=HEIGHT, WIDTH=WIDTH, STRIDE=stride
        )
        for stride in (WIDTH, WIDTH + 8)
    }


def network(folder: Path) -> CompiledSource:
    row, picture = np.dtype(np.float32), (1, HEIGHT, WIDTH, 3)
    return CompiledSource(
        id="small",
        target="rk3588",
        needs=Needs("small", "", ""),
        path=folder / "small.rknn",
        data=FILE,
        inputs=(TensorSpec("image", picture, np.dtype(np.uint8)),),
        outputs=(TensorSpec("sum", (1, 3), row), TensorSpec("mean", (1, 3), row)),
    )


@pytest.mark.parametrize(
    ("stride", "quirks"),
    [
        (WIDTH, {}),
        (WIDTH, {"planar": True, "offset": 128}),
        (WIDTH + 8, {"padding": 24}),
    ],
    ids=["packed", "behind an offset", "padded rows"],
)
def test_frames_are_read_where_the_driver_wrote_them(
    libraries: dict[int, Path], tmp_path: Path, stride: int, quirks: dict[str, Any]
) -> None:
    kernel, device = (
        CannedKernel(),
        CannedCamera([CannedFormat("RGB3", ((WIDTH, HEIGHT),))], **quirks),
    )
    kernel.plug_in(str(NODE), device)
    library = libraries[stride]
    backend = DirectRknnBackend(
        network(tmp_path), npu(library), core_mask=1, priority=PRIORITY_MEDIUM
    )
    random = np.random.default_rng(2)
    before = len(list(Path("/proc/self/fd").iterdir()))
    with open_v4l2(NODE, CameraWish(WIDTH, HEIGHT), buffers=4, kernel=kernel) as camera:
        for _ in range(12):
            picture = random.integers(0, 256, (HEIGHT, WIDTH, 3), dtype=np.uint8)
            device.expose(Planes(picture))
            lease = camera.next(SOON)
            assert lease is not None
            with lease:
                assert backend.misfit(lease.frame) == ""
                backend.adopt(lease.frame)
                total, _ = backend.run_adopted()
                assert lease.copied_bytes == 0
            np.testing.assert_allclose(total, add_up(picture[np.newaxis])[0])
    assert left_behind(library) == (1, 3), "nothing of the camera's is kept"
    backend.close()
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_rows_that_the_network_reads_otherwise_do_not_fit(
    libraries: dict[int, Path], tmp_path: Path
) -> None:
    kernel = CannedKernel()
    device = CannedCamera([CannedFormat("RGB3", ((WIDTH, HEIGHT),))], padding=64)
    kernel.plug_in(str(NODE), device)
    backend = DirectRknnBackend(
        network(tmp_path), npu(libraries[WIDTH]), core_mask=1, priority=PRIORITY_MEDIUM
    )
    with open_v4l2(NODE, CameraWish(WIDTH, HEIGHT), buffers=4, kernel=kernel) as camera:
        device.expose(Planes(np.zeros((HEIGHT, WIDTH, 3), np.uint8)))
        lease = camera.next(SOON)
        assert lease is not None
        with lease:
            assert "rows are 256 bytes apart, the network reads them 192" in backend.misfit(
                lease.frame
            )
    backend.close()
