"""The NPU by librknnrt's own calls, with a library that is compiled from C for the occasion."""

from __future__ import annotations

import mmap
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest
from npu_rigs import FILE, PICTURE, add_up, build_double, left_behind, npu, small_network

from edgefaced.errors import ModelError
from edgefaced.inference.librknnrt import PRIORITY_MEDIUM
from edgefaced.inference.rknn_direct import DirectRknnBackend
from edgefaced.inference.selftest import prove
from edgefaced.types import DmaBuffer, Frame, PixelFormat

RIGHT = dict(zip(("sum", "mean"), add_up(PICTURE), strict=True))


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_double(tmp_path_factory.mktemp("double"))


@pytest.fixture(scope="module")
def padded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Its rows are eight pixels apart."""
    return build_double(tmp_path_factory.mktemp("padded"), STRIDE=8)


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "calls"
    monkeypatch.setenv("DOUBLE_LOG", str(path))
    return path


def opened(folder: Path, library: Path, *, cores: int = 3, mask: int = 2) -> DirectRknnBackend:
    return DirectRknnBackend(
        small_network(folder), npu(library, cores=cores), core_mask=mask, priority=PRIORITY_MEDIUM
    )


@pytest.fixture
def lent() -> Iterator[Callable[..., Frame]]:
    """Frames in memory with a descriptor, as a camera's, that is closed by whoever made it."""
    with ExitStack() as opened:

        def lend(picture: np.ndarray, offset: int = 0, padding: int = 0) -> Frame:
            height, width, _ = picture.shape
            stride = 3 * (width + padding)
            fd = os.memfd_create("picture")
            opened.callback(os.close, fd)
            os.ftruncate(fd, mmap.PAGESIZE)
            memory = np.frombuffer(mmap.mmap(fd, mmap.PAGESIZE), np.uint8)
            pixels = np.ndarray(picture.shape, np.uint8, memory, offset, (stride, 3, 1))
            pixels[...] = picture
            size = offset + height * stride
            return Frame(0, 0, pixels, PixelFormat.RGB, (), DmaBuffer(fd, size, offset, stride))

        yield lend


def test_calls_come_in_their_order(tmp_path: Path, library: Path, log: Path) -> None:
    backend = opened(tmp_path, library)
    backend.run({"image": PICTURE})
    backend.close()
    backend.close()
    assert log.read_text().split("\n")[:-1] == [
        "rknn_init",
        "priority 1",
        "rknn_query",
        "rknn_query",
        "cores 2",
        "rknn_set_core_mask",
        "rknn_query",
        "rknn_create_mem",
        "rknn_set_io_mem",
        *["rknn_query", "rknn_create_mem", "rknn_set_io_mem"] * 2,
        "sync to device",
        "rknn_run",
        *["sync from device"] * 2,
        *["rknn_destroy_mem"] * 3,
        "rknn_destroy",
    ]
    assert left_behind(library) == (0, 0)


def test_one_core_has_no_mask_to_choose(tmp_path: Path, library: Path, log: Path) -> None:
    opened(tmp_path, library, cores=1).close()
    assert "rknn_set_core_mask" not in log.read_text()


def test_rows_may_be_padded(tmp_path: Path, padded: Path) -> None:
    backend = opened(tmp_path, padded)
    for picture in (PICTURE, 255 - PICTURE):
        for given, wanted in zip(backend.run({"image": picture}), add_up(picture), strict=True):
            np.testing.assert_allclose(given, wanted)
    place = backend.picture
    assert place.strides[1:] == (24, 3, 1)
    place[...] = PICTURE
    np.testing.assert_allclose(backend.run({"image": place})[0], add_up(PICTURE)[0])
    del place
    backend.close()


def test_a_picture_may_be_drawn_where_the_npu_reads_it(tmp_path: Path, library: Path) -> None:
    backend = opened(tmp_path, library)
    place = backend.picture
    assert place.ctypes.data % 64 == 0
    place[...] = PICTURE
    total, _ = backend.run({"image": place})
    np.testing.assert_allclose(total, add_up(PICTURE)[0])
    del place
    backend.close()


@pytest.mark.parametrize("offset", [0, 64])
def test_a_frame_in_a_dma_buffer_is_read_in_place(
    tmp_path: Path, library: Path, log: Path, lent: Callable[..., Frame], offset: int
) -> None:
    backend = opened(tmp_path, library)
    frame = lent(255 - PICTURE[0], offset)
    log.unlink()
    backend.adopt(frame)
    total, _ = backend.run_adopted()
    np.testing.assert_allclose(total, add_up(255 - PICTURE)[0])
    assert log.read_text().split("\n")[:-1] == [
        "rknn_create_mem_from_fd",
        "rknn_set_io_mem",
        "rknn_run",
        *["sync from device"] * 2,
        "rknn_set_io_mem",
        "rknn_destroy_mem",
    ], "the CPU wrote nothing, the camera's memory is let go of at once"
    assert left_behind(library) == (1, 3)
    total, _ = backend.run({"image": PICTURE})
    np.testing.assert_allclose(total, add_up(PICTURE)[0], err_msg="its own memory again")
    backend.adopt(frame)
    backend.adopt(frame)
    backend.close()
    assert left_behind(library) == (0, 0)
    with pytest.raises(ModelError, match="closed"):
        backend.misfit(frame)


def test_a_frame_is_adopted_for_one_run(
    tmp_path: Path, library: Path, lent: Callable[..., Frame]
) -> None:
    backend = opened(tmp_path, library)
    backend.adopt(lent(PICTURE[0]))
    backend.run_adopted()
    with pytest.raises(ModelError, match="no frame was adopted"):
        backend.run_adopted()
    backend.close()


def test_padded_rows_of_a_frame_are_read_in_place_where_the_network_has_the_same(
    tmp_path: Path, padded: Path, lent: Callable[..., Frame]
) -> None:
    backend = opened(tmp_path, padded)
    backend.adopt(lent(PICTURE[0], 64, padding=4))
    np.testing.assert_allclose(backend.run_adopted()[0], add_up(PICTURE)[0])
    backend.close()


@pytest.mark.parametrize(
    ("buffer", "said"),
    [
        (None, "lies in no DMA-BUF"),
        (DmaBuffer(0, 4096, 32, 24), "begins at byte 32 of its DMA-BUF"),
        (DmaBuffer(0, 4096, -64, 24), "begins at byte -64 of its DMA-BUF"),
        (DmaBuffer(0, 4096, 0, 12), "rows are 12 bytes apart, the network reads them 24 apart"),
        (DmaBuffer(0, 150, 64, 24), "has 86 bytes for a picture of 96"),
    ],
)
def test_a_buffer_of_another_layout_is_refused(
    tmp_path: Path, padded: Path, buffer: DmaBuffer | None, said: str
) -> None:
    backend = opened(tmp_path, padded)
    frame = Frame(0, 0, PICTURE[0], PixelFormat.RGB, (), buffer)
    assert said in backend.misfit(frame)
    with pytest.raises(ModelError, match=said):
        backend.adopt(frame)
    backend.run({"image": PICTURE})
    backend.close()


def test_a_frame_of_another_size_is_refused(tmp_path: Path, library: Path) -> None:
    backend = opened(tmp_path, library)
    frame = Frame(0, 0, PICTURE[0, :3], PixelFormat.RGB, (), DmaBuffer(0, 4096, 0, 12))
    assert backend.misfit(frame) == "the frame is 4x3, the network takes 4x4"
    backend.close()


@pytest.mark.parametrize(
    ("call", "code", "said"),
    [
        ("rknn_init", -1, "loading the network: it failed"),
        ("rknn_init", -6, "does not accept the network's file"),
        ("rknn_init", -13, "compiled for another chip"),
        ("rknn_query", -7, "asking for the network's tensors: its context is gone"),
        ("rknn_set_core_mask", -5, r"choosing the NPU's cores \(0x2\): a parameter"),
        ("rknn_create_mem", -4, "no 48 bytes of memory left"),
        ("rknn_set_io_mem", -8, "binding memory to 'image': it does not accept the input"),
        ("rknn_init", -99, r"an unknown error \(librknnrt answered -99\)"),
    ],
)
def test_what_fails_at_the_start_is_said_and_leaves_nothing(
    tmp_path: Path,
    library: Path,
    monkeypatch: pytest.MonkeyPatch,
    call: str,
    code: int,
    said: str,
) -> None:
    monkeypatch.setenv("DOUBLE_FAIL", call)
    monkeypatch.setenv("DOUBLE_CODE", str(code))
    with pytest.raises(ModelError, match=said):
        opened(tmp_path, library)
    assert left_behind(library) == (0, 0)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ("sync to device", "syncing memory: it took too long"),
        ("rknn_run", "running the network: it took too long"),
        ("sync from device", "syncing memory: it took too long"),
    ],
)
def test_what_fails_in_a_run_is_said_and_the_next_may_work(
    tmp_path: Path, library: Path, monkeypatch: pytest.MonkeyPatch, call: str, said: str
) -> None:
    backend = opened(tmp_path, library)
    monkeypatch.setenv("DOUBLE_CODE", "-2")
    monkeypatch.setenv("DOUBLE_FAIL", call)
    with pytest.raises(ModelError, match=said):
        backend.run({"image": PICTURE})
    monkeypatch.delenv("DOUBLE_FAIL")
    total, _ = backend.run({"image": PICTURE})
    np.testing.assert_allclose(total, add_up(PICTURE)[0])
    backend.close()
    assert left_behind(library) == (0, 0)


@pytest.mark.parametrize("call", ["rknn_create_mem_from_fd", "rknn_set_io_mem"])
def test_a_buffer_that_the_npu_does_not_take_leaves_nothing(
    tmp_path: Path,
    library: Path,
    monkeypatch: pytest.MonkeyPatch,
    lent: Callable[..., Frame],
    call: str,
) -> None:
    backend = opened(tmp_path, library)
    monkeypatch.setenv("DOUBLE_CODE", "-5")
    monkeypatch.setenv("DOUBLE_FAIL", call)
    with pytest.raises(ModelError):
        backend.adopt(lent(PICTURE[0]))
    monkeypatch.delenv("DOUBLE_FAIL")
    assert left_behind(library) == (1, 3)
    backend.run({"image": PICTURE})
    backend.close()
    assert left_behind(library) == (0, 0)


def test_a_run_on_a_frame_that_fails_lets_go_of_it(
    tmp_path: Path, library: Path, monkeypatch: pytest.MonkeyPatch, lent: Callable[..., Frame]
) -> None:
    backend = opened(tmp_path, library)
    backend.adopt(lent(255 - PICTURE[0]))
    monkeypatch.setenv("DOUBLE_CODE", "-2")
    monkeypatch.setenv("DOUBLE_FAIL", "rknn_run")
    with pytest.raises(ModelError, match="it took too long"):
        backend.run_adopted()
    monkeypatch.delenv("DOUBLE_FAIL")
    assert left_behind(library) == (1, 3)
    np.testing.assert_allclose(backend.run({"image": PICTURE})[0], add_up(PICTURE)[0])
    backend.close()


def test_the_versions_that_the_library_answers_count(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    old = build_double(tmp_path_factory.mktemp("old"), API_VERSION='"1.6.0 (old)"')
    network = small_network(tmp_path, runtime="2.3.0")
    with pytest.raises(ModelError, match=r"librknnrt 1\.6\.0 \(old\) is older than small needs"):
        DirectRknnBackend(network, npu(old), core_mask=1, priority=PRIORITY_MEDIUM)
    assert left_behind(old) == (0, 0)


def test_a_network_of_another_shape_than_its_record_is_refused(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    other = build_double(tmp_path_factory.mktemp("other"), HEIGHT=8, WIDTH=8)
    with pytest.raises(ModelError, match=r"takes \[1, 8, 8, 3\] in layout 1, its record says"):
        opened(tmp_path, other)
    assert left_behind(other) == (0, 0)


@pytest.mark.parametrize(
    ("content", "said"), [(b"no library", "cannot be loaded"), (None, r"no librknnrt\.so")]
)
def test_without_a_library_that_is_said(tmp_path: Path, content: bytes | None, said: str) -> None:
    path = None
    if content is not None:
        path = tmp_path / "librknnrt.so"
        path.write_bytes(content)
    with pytest.raises(ModelError, match=said):
        DirectRknnBackend(small_network(tmp_path), npu(path), core_mask=1, priority=PRIORITY_MEDIUM)


def test_a_library_without_these_calls_is_not_used(tmp_path: Path) -> None:
    import _ctypes

    with pytest.raises(ModelError, match="has no rknn_init"):
        opened(tmp_path, Path(_ctypes.__file__))


def test_twenty_thousand_runs_leave_nothing_behind(
    tmp_path: Path, library: Path, lent: Callable[..., Frame]
) -> None:
    backend = opened(tmp_path, library)
    frames = [lent(PICTURE[0], offset) for offset in (0, 64, 128)]
    descriptors = len(list(Path("/proc/self/fd").iterdir()))
    resident = 0
    for turn in range(20_000):
        if turn % 2:
            backend.run({"image": PICTURE})
        else:
            backend.adopt(frames[turn % 3])
            backend.run_adopted()
        if turn == 2000:
            resident = resident_bytes()
    assert left_behind(library) == (1, 3), "the context, an input and two outputs"
    assert resident_bytes() - resident < 4_000_000
    assert len(list(Path("/proc/self/fd").iterdir())) == descriptors
    backend.close()
    assert left_behind(library) == (0, 0)


def test_the_golden_pair_proves_it(tmp_path: Path, library: Path) -> None:
    network = small_network(tmp_path)
    backend = opened(tmp_path, library)
    assert network.data == FILE
    assert prove(backend, "small", PICTURE, RIGHT, 0.99).cosine == pytest.approx(1)
    backend.close()


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * mmap.PAGESIZE
