"""A real NPU does its work: run by hand on a Rockchip board, with a pack compiled and imported.

    EDGEFACED_TEST_NPU=commercial pytest tests/device/test_npu.py     # the pack's name

The pack lies in the models folder of whoever runs it (EDGEFACED_MODELS_DIR); its networks for this
board are imported. Reading the load counter needs root.
"""

from __future__ import annotations

import gc
import mmap
import os
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from statistics import median

import numpy as np
import pytest

from edgefaced.config.sections import InferenceSection
from edgefaced.inference.rknn import RknnBackend
from edgefaced.inference.rknn_direct import DirectRknnBackend
from edgefaced.inference.rockchip import Npu, find_npu
from edgefaced.inference.selftest import cosine
from edgefaced.inference.source import CompiledSource
from edgefaced.models.catalogue import find_pack
from edgefaced.models.compiled_files import CompiledNetwork, compiled_models
from edgefaced.models.manifest import ModelSpec
from edgefaced.models.store import ModelStore
from edgefaced.protocols import InferenceBackend
from edgefaced.recognition.on_npu import open_on_npu, proved, source_of
from edgefaced.sensors.npu import read_npu
from edgefaced.types import DmaBuffer, Frame, PixelFormat, Role

CALLS = 20_000
MOST_GROWTH_BYTES = 20_000_000
DMA_HEAP = Path("/dev/dma_heap/system")

WAYS: dict[str, Callable[[CompiledSource, Npu], InferenceBackend]] = {
    "lite": lambda source, npu: RknnBackend(source, npu, core_mask=0),
    "direct": lambda source, npu: DirectRknnBackend(source, npu, core_mask=0, priority=0),
}


@pytest.fixture(scope="module")
def npu() -> Npu:
    if "EDGEFACED_TEST_NPU" not in os.environ:
        pytest.skip("no pack named for a real NPU: set EDGEFACED_TEST_NPU")
    found = find_npu()
    if found is None:
        pytest.skip("this board has no NPU of Rockchip's")
    return found


@pytest.fixture(scope="module", params=[Role.DETECTOR, Role.EMBEDDER], ids=str)
def spec(request: pytest.FixtureRequest, npu: Npu, own_models: Path) -> ModelSpec:
    store = ModelStore(own_models)
    role: Role = request.param
    return find_pack(os.environ["EDGEFACED_TEST_NPU"], (store.layout.packs,)).of_role(role)


@pytest.fixture(scope="module")
def network(npu: Npu, spec: ModelSpec, own_models: Path) -> CompiledNetwork:
    store = ModelStore(own_models)
    models = compiled_models(store.layout, spec, npu.target)
    assert models, f"{spec.id} is not compiled for {npu.target}: import what the converter wrote"
    return store.compiled(spec, npu.target, models[0].size)


@pytest.fixture(params=WAYS)
def backend(
    request: pytest.FixtureRequest, npu: Npu, network: CompiledNetwork
) -> Iterator[InferenceBackend]:
    opened = WAYS[request.param](source_of(network), npu)
    yield opened
    opened.close()


def test_the_golden_pair_holds(backend: InferenceBackend, network: CompiledNetwork) -> None:
    print(network.model.id, proved(backend, network))  # noqa: T201 - whoever runs it wants to see


def test_the_counter_moves_and_the_time_is_plausible(
    backend: InferenceBackend, network: CompiledNetwork
) -> None:
    reading = read_npu()
    if reading is None or reading.loads is None:
        pytest.skip(f"the load counter cannot be read: {reading and reading.fault}")
    times: list[float] = []
    end = time.monotonic() + 2
    while time.monotonic() < end:
        start = time.perf_counter()
        backend.run({"image": network.golden.image})
        times.append(time.perf_counter() - start)
    after = read_npu()
    assert after is not None
    assert after.loads is not None
    print(f"{median(times) * 1000:.2f} ms", after)  # noqa: T201
    assert max(after.loads.values()) > 0


def test_many_calls_do_not_grow(backend: InferenceBackend, network: CompiledNetwork) -> None:
    for _ in range(500):
        backend.run({"image": network.golden.image})
    before = resident_bytes()
    for _ in range(CALLS):
        backend.run({"image": network.golden.image})
    gc.collect()
    grown = resident_bytes() - before
    print(f"{grown / CALLS:.1f} bytes a call")  # noqa: T201
    assert grown < MOST_GROWTH_BYTES


def test_both_ways_give_the_same(npu: Npu, network: CompiledNetwork) -> None:
    answers = []
    for open_it in WAYS.values():
        opened = open_it(source_of(network), npu)
        answers.append(opened.run({"image": network.golden.image}))
        opened.close()
    for lite, direct in zip(*answers, strict=True):
        assert cosine(lite, direct) > 0.9999


def test_two_networks_in_two_threads_do_not_disturb_each_other(
    npu: Npu, spec: ModelSpec, network: CompiledNetwork
) -> None:
    wrong: list[str] = []

    def work() -> None:
        opened, _ = open_on_npu(network, spec, npu, InferenceSection())
        first = [tensor.copy() for tensor in opened.run({"image": network.golden.image})]
        for _ in range(300):
            again = opened.run({"image": network.golden.image})
            if not all(np.array_equal(a, b) for a, b in zip(first, again, strict=True)):
                wrong.append(threading.current_thread().name)
        opened.close()

    threads = [threading.Thread(target=work, name=str(n)) for n in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_a_dma_buffer_is_the_input(npu: Npu, network: CompiledNetwork) -> None:
    if not os.access(DMA_HEAP, os.R_OK):
        pytest.skip(f"{DMA_HEAP} may not be opened: a udev rule gives it to a group")
    opened = DirectRknnBackend(source_of(network), npu, core_mask=0, priority=0)
    try:
        expected = opened.run({"image": network.golden.image})
        stride = opened.picture.strides[1]
        image = network.golden.image[0]
        fd = heap_buffer(len(image) * stride)
        size = os.lseek(fd, 0, os.SEEK_END)
        flat = np.frombuffer(mmap.mmap(fd, size), np.uint8)
        pixels = np.ndarray(image.shape, np.uint8, flat, 0, (stride, 3, 1))
        pixels[...] = image
        frame = Frame(0, 0, pixels, PixelFormat.RGB, (), DmaBuffer(fd, size, 0, stride))
        opened.adopt(frame)
        for there, here in zip(opened.run_adopted(), expected, strict=True):
            assert cosine(there, here) > 0.9999
        askew = replace(frame, buffer=DmaBuffer(fd, size, 3, stride))
        assert "begins at byte 3" in opened.misfit(askew)
    finally:
        opened.close()
    os.close(fd)


def heap_buffer(size: int) -> int:
    """A DMA-BUF of the kernel's system heap; the caller closes it."""
    import fcntl
    import struct

    allocate = 0xC0184800  # DMA_HEAP_IOCTL_ALLOC, linux/dma-heap.h
    heap = os.open(DMA_HEAP, os.O_RDONLY | os.O_CLOEXEC)
    try:
        whole = -(-size // mmap.PAGESIZE) * mmap.PAGESIZE
        asked = struct.pack("=QIIQ", whole, 0, os.O_RDWR | os.O_CLOEXEC, 0)
        answer = fcntl.ioctl(heap, allocate, asked)
    finally:
        os.close(heap)
    return int(struct.unpack("=QIIQ", answer)[1])


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * mmap.PAGESIZE
