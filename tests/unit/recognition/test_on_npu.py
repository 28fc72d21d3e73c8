"""Opening on the NPU: the direct way where it works and proves itself, else the plain one."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from compiled_pack import picture
from fake_rknnlite import Board, install
from npu_rigs import FILE, add_up, build_double, left_behind, npu
from tiny_pack import TinyPack

from edgefaced.config.sections import InferenceSection
from edgefaced.errors import ModelError
from edgefaced.models.compiled import (
    CompiledModel,
    GoldenRecord,
    NeedsRecord,
    ProofFigures,
    TensorRecord,
)
from edgefaced.models.compiled_files import CompiledNetwork
from edgefaced.models.golden import Golden
from edgefaced.models.manifest import parse_manifest
from edgefaced.recognition.on_npu import open_on_npu
from edgefaced.types import Role

SIDE = 32
SPEC = parse_manifest(TinyPack().manifest.encode(), "tiny").of_role(Role.DETECTOR)
AUTO = InferenceSection()


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_double(tmp_path_factory.mktemp("double"), HEIGHT=SIDE, WIDTH=SIDE)


@pytest.fixture
def network(tmp_path: Path) -> CompiledNetwork:
    path = tmp_path / "network.rknn"
    path.write_bytes(FILE)
    image = picture(SIDE)
    total, mean = add_up(image)
    row = (1, 3)
    model = CompiledModel(
        id="small",
        original_sha256="0" * 64,
        target="rk3588",
        kind="rknn",
        precision="int8",
        width=SIDE,
        height=SIDE,
        file="network.rknn",
        size_bytes=len(FILE),
        sha256="0" * 64,
        outputs=(
            TensorRecord(name="sum", shape=row, dtype="int8"),
            TensorRecord(name="mean", shape=row, dtype="int8"),
        ),
        needs=NeedsRecord(toolkit="2.3.2", runtime="2.3.0"),
        golden=GoldenRecord(file="g.npz", size_bytes=1, sha256="0" * 64, lowest_cosine=0.999),
        proof=ProofFigures(pictures=0),
    )
    return CompiledNetwork(model, path, FILE, Golden(image, {"sum": total, "mean": mean}))


def test_the_direct_way_needs_no_package(
    network: CompiledNetwork, library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "rknnlite.api", None)
    backend, serving = open_on_npu(network, SPEC, npu(library), AUTO)
    assert (serving.memory, serving.remark, serving.where) == ("NPU memory", "", "rk3588 core 0")
    assert serving.network == "tiny-detector", "by the pack's name, whatever the record calls it"
    total, _ = backend.run({"image": network.golden.image})
    np.testing.assert_allclose(total, network.golden.outputs["sum"])
    backend.close()
    assert left_behind(library) == (0, 0)


def test_a_direct_way_that_gives_something_else_is_not_taken(
    network: CompiledNetwork, library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the double gives is wrong here; the library's own way gives what is right."""
    right = [np.array([[1, -2, 3]], np.float32), np.array([[-1, 1, 1]], np.float32)]
    other = replace(
        network, golden=Golden(network.golden.image, {"sum": right[0], "mean": right[1]})
    )
    board = install(monkeypatch, Board({FILE: lambda image: right}))
    backend, serving = open_on_npu(other, SPEC, npu(library), AUTO)
    assert serving.memory == "copied"
    assert "small fails its self-test" in serving.remark
    backend.close()
    assert board.open_masks == []
    assert left_behind(library) == (0, 0)


def test_what_the_npu_said_is_not_hidden_by_a_package_that_lacks(
    network: CompiledNetwork, library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "rknnlite.api", None)
    monkeypatch.setenv("DOUBLE_FAIL", "rknn_init")
    monkeypatch.setenv("DOUBLE_CODE", "-3")
    with pytest.raises(ModelError, match="loading the network: no NPU answers"):
        open_on_npu(network, SPEC, npu(library), AUTO)


def test_the_direct_way_may_be_forbidden(
    network: CompiledNetwork, library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    board = install(monkeypatch, Board({FILE: add_up}))
    section = InferenceSection(zero_copy="off", detector_cores=(2,))
    backend, serving = open_on_npu(network, SPEC, npu(library), section)
    assert (serving.memory, serving.where) == ("copied", "rk3588 core 2")
    assert board.open_masks == [4]
    backend.close()


def test_a_face_is_copied_into_the_npus_memory_and_that_is_said(
    network: CompiledNetwork, library: Path
) -> None:
    embedder = parse_manifest(TinyPack().manifest.encode(), "tiny").of_role(Role.EMBEDDER)
    backend, serving = open_on_npu(network, embedder, npu(library), AUTO)
    assert (serving.memory, serving.where) == ("copied", "rk3588 core 1")
    assert serving.remark == "a face at a time, straight into the NPU's memory"
    backend.close()
