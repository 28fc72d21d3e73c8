"""The NPU by rknn-toolkit-lite2: every answer is looked at, nothing is kept, nothing is shared."""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fake_rknnlite import Board, Garbage, install
from npu_rigs import FILE, PICTURE, add_up, npu, small_network
from numpy.typing import NDArray

from edgefaced.errors import DependencyMissing, ModelError
from edgefaced.inference.rknn import RUNS_PER_SWEEP, SWEEPS_PER_CLEANING, RknnBackend
from edgefaced.inference.rockchip import Npu
from edgefaced.inference.selftest import cosine, prove

RIGHT = dict(zip(("sum", "mean"), add_up(PICTURE), strict=True))


@pytest.fixture
def board(monkeypatch: pytest.MonkeyPatch) -> Board:
    return install(monkeypatch, Board({FILE: add_up}))


@pytest.fixture
def host(tmp_path: Path) -> Npu:
    library = tmp_path / "librknnrt.so"
    library.write_bytes(b"")
    return npu(library)


def test_without_the_package_its_name_is_said(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, host: Npu
) -> None:
    monkeypatch.setitem(sys.modules, "rknnlite.api", None)
    with pytest.raises(DependencyMissing, match="rknn-toolkit-lite2") as missing:
        RknnBackend(small_network(tmp_path), host, core_mask=0)
    assert "edgefaced[rockchip]" in missing.value.hint


def test_a_file_that_cannot_be_read_is_said(board: Board, tmp_path: Path, host: Npu) -> None:
    board.refuses_files = True
    with pytest.raises(ModelError, match=r"small\.rknn: rknn-toolkit-lite2 cannot read it"):
        RknnBackend(small_network(tmp_path), host, core_mask=0)
    assert board.calls[-1] == "release"


def test_a_context_that_is_refused_is_said_with_the_versions(
    board: Board, tmp_path: Path, host: Npu
) -> None:
    board.refuses_contexts = True
    with pytest.raises(ModelError, match=r"small: the NPU does not take it \(librknnrt \?, driver"):
        RknnBackend(small_network(tmp_path), host, core_mask=0)
    assert board.calls[-1] == "release"


def test_a_library_that_lacks_a_call_is_said(board: Board, tmp_path: Path, host: Npu) -> None:
    board.lacks = "rknn_set_input_shapes"
    with pytest.raises(ModelError, match=r"does not take it .*rknn_set_input_shapes") as old:
        RknnBackend(small_network(tmp_path), host, core_mask=0)
    assert "newer librknnrt.so" in old.value.hint


def test_without_the_library_that_is_said(board: Board, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"no librknnrt\.so"):
        RknnBackend(small_network(tmp_path), npu(None), core_mask=0)


@pytest.mark.parametrize("by", ["file", "answer"])
def test_a_library_that_is_too_old_is_said_with_both_versions(
    board: Board, tmp_path: Path, by: str
) -> None:
    library = tmp_path / "librknnrt.so"
    library.write_bytes(b"")
    board.sdk = "  API: 1.6.0 (9a7b5d24c build)\n  DRV: rknn drv: 0.9.8"
    host = npu(library, runtime="1.6.0" if by == "file" else None)
    with pytest.raises(
        ModelError, match=r"^librknnrt 1\.6\.0 is older than small needs: 2\.3\.0"
    ) as old:
        RknnBackend(small_network(tmp_path, runtime="2.3.0"), host, core_mask=0)
    assert "install a newer librknnrt.so" in old.value.hint
    assert board.open_masks == [], "no context is left"


def test_a_library_that_says_no_version_is_given_a_try(
    board: Board, tmp_path: Path, host: Npu
) -> None:
    board.sdk = None
    RknnBackend(small_network(tmp_path, runtime="2.3.0"), host, core_mask=0).close()


def test_a_network_of_another_chip_is_never_loaded(board: Board, tmp_path: Path, host: Npu) -> None:
    with pytest.raises(ModelError, match="compiled for rk3566, this is rk3588"):
        RknnBackend(small_network(tmp_path, target="rk3566"), host, core_mask=0)
    assert board.calls == []


def test_no_answer_is_an_error_and_the_next_may_come(
    board: Board, tmp_path: Path, host: Npu
) -> None:
    board.fails_at = 1
    backend = RknnBackend(small_network(tmp_path), host, core_mask=0)
    backend.run({"image": PICTURE})
    with pytest.raises(ModelError, match="gave no answer"):
        backend.run({"image": PICTURE})
    backend.run({"image": PICTURE})
    backend.close()


@pytest.mark.parametrize(
    ("code", "said"),
    [(-1, "it failed"), (-2, "it took too long"), (-3, "no NPU answers"), (None, "None")],
)
def test_a_run_that_failed_never_gives_the_answer_of_the_one_before(
    board: Board, tmp_path: Path, host: Npu, code: int | None, said: str
) -> None:
    """The library itself would give it: somebody would be taken for who stood there before."""
    backend = RknnBackend(small_network(tmp_path), host, core_mask=0)
    backend.run({"image": PICTURE})
    board.run_code = code
    with pytest.raises(ModelError, match=f"small: running the network: {said}"):
        backend.run({"image": 255 - PICTURE})
    board.run_code = 0
    total, _ = backend.run({"image": 255 - PICTURE})
    np.testing.assert_allclose(total, add_up(255 - PICTURE)[0])
    backend.close()


def test_a_library_that_hides_the_code_is_not_used(board: Board, tmp_path: Path, host: Npu) -> None:
    board.hides_runtime = True
    with pytest.raises(ModelError, match="does not show whether the NPU ran"):
        RknnBackend(small_network(tmp_path), host, core_mask=0)
    assert board.open_masks == []


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([np.zeros(3, np.float32)], "gave 1 outputs, its record has 2"),
        ([np.zeros(3, np.float32), np.zeros(4, np.float32)], "'mean' has 4 values"),
    ],
)
def test_outputs_that_were_not_promised_are_refused(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    host: Npu,
    given: Sequence[NDArray[Any]],
    said: str,
) -> None:
    install(monkeypatch, Board({FILE: lambda image: given}))
    backend = RknnBackend(small_network(tmp_path), host, core_mask=0)
    with pytest.raises(ModelError, match=said):
        backend.run({"image": PICTURE})
    backend.close()


@pytest.mark.parametrize("reuses", [True, False])
def test_an_answer_stays_as_it_is_whatever_comes_after(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, host: Npu, reuses: bool
) -> None:
    install(monkeypatch, Board({FILE: add_up}, reuses=reuses))
    backend = RknnBackend(small_network(tmp_path), host, core_mask=0)
    first = backend.run({"image": PICTURE})
    kept = [tensor.copy() for tensor in first]
    backend.run({"image": 255 - PICTURE})
    for tensor, copy in zip(first, kept, strict=True):
        np.testing.assert_array_equal(tensor, copy)
    backend.close()


def test_cores_are_asked_for_and_given_back(board: Board, tmp_path: Path, host: Npu) -> None:
    first = RknnBackend(small_network(tmp_path), host, core_mask=1)
    second = RknnBackend(small_network(tmp_path), host, core_mask=2)
    assert board.open_masks == [1, 2]
    first.close()
    assert board.open_masks == [2]
    second.close()
    assert board.open_masks == []


def test_another_thread_is_refused(board: Board, tmp_path: Path, host: Npu) -> None:
    backend = RknnBackend(small_network(tmp_path), host, core_mask=0)
    said: list[str] = []

    def elsewhere() -> None:
        with pytest.raises(ModelError) as error:
            backend.run({"image": PICTURE})
        said.append(error.value.message)

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert said == ["small was opened by another thread"]
    backend.close()


def test_twenty_thousand_calls_leave_no_more_behind_than_a_sweep(
    board: Board, tmp_path: Path, host: Npu
) -> None:
    """The collector is off: on a small heap it may not come by itself for hours."""
    backend = RknnBackend(small_network(tmp_path), host, core_mask=0)
    gc.collect()
    gc.disable()
    try:
        for _ in range(20_000):
            backend.run({"image": PICTURE})
    finally:
        gc.enable()
    backend.close()
    # What a sweep finds in use (the last call's) outlives it, once each, until the cleaning.
    assert Garbage.most <= RUNS_PER_SWEEP + SWEEPS_PER_CLEANING + 1
    assert Garbage.alive == 0, "closing takes the rest"


def test_the_golden_pair_proves_a_network(board: Board, tmp_path: Path, host: Npu) -> None:
    network = small_network(tmp_path)
    backend = RknnBackend(network, host, core_mask=0)
    assert prove(backend, "small", PICTURE, RIGHT, 0.99).cosine == pytest.approx(1)
    backend.close()


def test_a_network_that_gives_something_else_does_not_serve(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, host: Npu
) -> None:
    zeros = [np.zeros((1, 3), np.float32), np.zeros((1, 3), np.float32)]
    install(monkeypatch, Board({FILE: lambda image: zeros}))
    network = small_network(tmp_path)
    backend = RknnBackend(network, host, core_mask=0)
    with pytest.raises(ModelError, match="fails its self-test: sum has a cosine of 0"):
        prove(backend, "small", PICTURE, RIGHT, 0.99)
    backend.close()


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ([1, 2], [2, 4], 1),
        ([1, 0], [0, 1], 0),
        ([0, 0], [0, 0], 1),
        ([0, 0], [1, 0], 0),
        ([np.nan, 0], [1, 0], -1),
        ([1, 0, 0], [1, 0], -1),
    ],
)
def test_cosines(a: list[float], b: list[float], expected: float) -> None:
    assert cosine(np.array(a), np.array(b)) == pytest.approx(expected)
