"""The real rknn-toolkit-lite2 on a double of librknnrt: on aarch64, without an NPU.

`tests/device/lite_on_a_double.sh ROOT` lays the stage in a Debian arm64 root and runs this there.
"""

from __future__ import annotations

import gc
import mmap
import threading
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from npu_rigs import PICTURE, add_up, small_network

from edgefaced.errors import ModelError
from edgefaced.inference.rknn import RknnBackend
from edgefaced.inference.rockchip import Npu, find_npu
from edgefaced.inference.selftest import prove

CALLS = 20_000
MOST_GROWTH_BYTES = 3_000_000
RIGHT = dict(zip(("sum", "mean"), add_up(PICTURE), strict=True))


@pytest.fixture
def npu(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Npu:
    if find_spec("rknnlite") is None:
        pytest.skip("no rknn-toolkit-lite2 here: it comes for aarch64")
    found = find_npu()
    if found is None or found.library is None:
        pytest.skip("no stage for rknn-toolkit-lite2: see lite_on_a_double.sh")
    if b"(a double)" not in found.library.read_bytes():
        pytest.skip("this librknnrt is real: see test_npu.py")
    monkeypatch.setenv("DOUBLE_LOG", str(tmp_path / "calls"))
    return found


def test_it_takes_and_gives_what_our_back_end_expects(npu: Npu, tmp_path: Path) -> None:
    assert (npu.target, npu.runtime) == ("rk3588", "2.3.0")
    backend = RknnBackend(small_network(tmp_path, runtime="2.3.0"), npu, core_mask=2)
    for picture in (PICTURE, 255 - PICTURE, PICTURE):
        for given, right in zip(backend.run({"image": picture}), add_up(picture), strict=True):
            np.testing.assert_allclose(given, right)
    assert prove(backend, "small", PICTURE, RIGHT, 0.999).cosine == pytest.approx(1)
    backend.close()
    calls = (tmp_path / "calls").read_text().split("\n")
    assert "cores 2" in calls
    assert calls.count("rknn_run") == 4
    assert calls[-2] == "rknn_destroy"


def test_an_older_library_is_said_with_both_versions(npu: Npu, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"^librknnrt 2\.3\.0 is older than small needs: 2\.4"):
        RknnBackend(small_network(tmp_path, runtime="2.4"), npu, core_mask=0)


@pytest.mark.parametrize("call", ["rknn_init", "rknn_query"])
def test_a_context_that_is_refused_is_an_error(
    npu: Npu, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    monkeypatch.setenv("DOUBLE_FAIL", call)
    monkeypatch.setenv("DOUBLE_CODE", "-6")
    with pytest.raises(ModelError, match="the NPU does not take it"):
        RknnBackend(small_network(tmp_path), npu, core_mask=0)


@pytest.mark.parametrize("call", ["rknn_inputs_set", "rknn_run", "rknn_outputs_get"])
def test_a_run_that_fails_is_an_error_and_the_next_may_work(
    npu: Npu, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    """Where the run itself fails, the library gives the answer of the run before."""
    backend = RknnBackend(small_network(tmp_path), npu, core_mask=0)
    backend.run({"image": 255 - PICTURE})
    monkeypatch.setenv("DOUBLE_CODE", "-2")
    monkeypatch.setenv("DOUBLE_FAIL", call)
    with pytest.raises(ModelError, match=r"gave no answer|it took too long"):
        backend.run({"image": PICTURE})
    monkeypatch.delenv("DOUBLE_FAIL")
    np.testing.assert_allclose(backend.run({"image": PICTURE})[0], RIGHT["sum"])
    backend.close()


def test_two_threads_have_a_context_each(npu: Npu, tmp_path: Path) -> None:
    wrong: list[int] = []

    def work(number: int) -> None:
        backend = RknnBackend(small_network(tmp_path), npu, core_mask=1 << number)
        picture = np.full_like(PICTURE, number + 1)
        for _ in range(50):
            if not np.array_equal(backend.run({"image": picture})[0], add_up(picture)[0]):
                wrong.append(number)
        backend.close()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_twenty_thousand_calls_do_not_grow(
    npu: Npu, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The collector is off: what the library leaves in cycles is for the back end to sweep."""
    monkeypatch.delenv("DOUBLE_LOG")
    backend = RknnBackend(small_network(tmp_path), npu, core_mask=0)
    for _ in range(500):
        backend.run({"image": PICTURE})
    gc.disable()
    try:
        before = resident_bytes()
        for _ in range(CALLS):
            backend.run({"image": PICTURE})
        grown = resident_bytes() - before
    finally:
        gc.enable()
    backend.close()
    print(f"{grown / CALLS:.1f} bytes a call")  # noqa: T201 - whoever runs it wants to see
    assert grown < MOST_GROWTH_BYTES


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * mmap.PAGESIZE
