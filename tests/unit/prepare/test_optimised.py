from __future__ import annotations

import numpy as np
import pytest
from networks import network, normal
from onnx import helper

from edgefaced.errors import ModelContractError, StorageError
from edgefaced.inference.onnx import OnnxBackend
from edgefaced.models.prepare.optimised import (
    channel_block,
    fingerprint,
    machine_fingerprint,
    optimise,
)

X86 = (
    "processor\t: 0\nmodel name\t: Some CPU\nflags\t\t: fpu avx2 sse2 avx fma lahf_lm\nflags\t: x\n"
)
ARM = "processor\t: 0\nBogoMIPS\t: 48\nFeatures\t: fp asimd evtstrm asimddp atomics\n"


@pytest.mark.parametrize(
    ("architecture", "text", "expected"),
    [
        ("x86_64", X86, "x86_64 avx avx2 fma"),
        ("aarch64", ARM, "aarch64 asimd asimddp"),
        ("riscv64", "processor: 0\nisa: rv64\n", "riscv64"),
        ("x86_64", "", "x86_64"),
    ],
)
def test_fingerprint(architecture: str, text: str, expected: str) -> None:
    assert fingerprint(architecture, text) == expected


def test_this_machine_has_one_that_stays() -> None:
    assert machine_fingerprint() == machine_fingerprint() != ""


def test_an_optimised_file_loads_as_it_is_and_means_the_same() -> None:
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"], pads=[1] * 4),
        helper.make_node("Relu", ["c"], ["y"]),
    ]
    shapes = {"x": [1, 16, 8, 8]}, {"y": [1, 32, 8, 8]}
    model = network(nodes, {"w": normal(32, 16, 3, 3)}, *shapes)
    optimised = optimise(model, 1)
    x = normal(1, 16, 8, 8)
    old = OnnxBackend(model, threads=1, optimise=False).run({"x": x})[0]
    new = OnnxBackend(optimised, threads=1, optimise=False).run({"x": x})[0]
    np.testing.assert_allclose(new, old, rtol=1e-4, atol=1e-4)
    if channel_block(1) > 1:
        assert b"com.microsoft.nchwc" in optimised


def test_the_block_of_this_machine() -> None:
    assert channel_block(1) in (1, 4, 8, 16, 32)
    if "avx512f" in machine_fingerprint().split():
        assert channel_block(1) == 16


def test_what_onnxruntime_refuses_is_one_line() -> None:
    made_up = network([helper.make_node("Frobnicate", ["x"], ["y"])], {}, {"x": [1]}, {"y": [1]})
    with pytest.raises(ModelContractError, match="refuses the prepared network"):
        optimise(made_up, 1)


def test_no_place_to_write_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", "/proc/nowhere")
    model = network([helper.make_node("Relu", ["x"], ["y"])], {}, {"x": [1]}, {"y": [1]})
    with pytest.raises(StorageError, match="cannot write"):
        optimise(model, 1)
