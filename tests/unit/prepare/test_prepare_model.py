from __future__ import annotations

import sys

import numpy as np
import onnxruntime
import pytest
from networks import answers, detector_spec, embedder_spec, network, normal, operators
from onnx import helper

from edgefaced.errors import DependencyMissing, ModelContractError
from edgefaced.inference.onnx import OnnxBackend
from edgefaced.models.manifest import ModelSpec, OutputSpec
from edgefaced.models.prepare import (
    PREPARE_VERSION,
    PreparedModel,
    machine_fingerprint,
    prepare_model,
)
from edgefaced.models.prepare.proof import network_input, pattern
from edgefaced.protocols import TensorSpec
from edgefaced.types import ColourOrder

PHOTOGRAPHS = [pattern(200), pattern(90)[:, ::-1]]
KINDS = {"score": 2, "box": 8, "landmarks": 20}


def detector() -> tuple[bytes, ModelSpec]:
    """Stride 8, two anchors, exported at 64 with its sizes frozen; BGR."""
    nodes = [
        helper.make_node("Conv", ["pixels", "stem"], ["s"], strides=[4, 4], pads=[1] * 4),
        helper.make_node("BatchNormalization", ["s", "g", "b", "m", "v"], ["n"]),
        helper.make_node("PRelu", ["n", "slope"], ["p"]),
        helper.make_node("AveragePool", ["p"], ["f"], kernel_shape=[2, 2], strides=[2, 2]),
    ]
    constants = {
        "stem": normal(12, 3, 4, 4),
        "g": normal(12),
        "b": normal(12),
        "m": normal(12),
        "v": np.abs(normal(12)),
        "slope": np.full((12, 1, 1), 0.3, np.float32),
    }
    outputs = {}
    for i, (kind, channels) in enumerate(KINDS.items()):
        constants[f"{kind}_w"] = normal(channels, 12, 3, 3, seed=i)
        constants[f"{kind}_t"] = np.array([1, 128, channels // 2])
        nodes += [
            helper.make_node("Conv", ["f", f"{kind}_w"], [f"{kind}_c"], pads=[1] * 4),
            helper.make_node("Transpose", [f"{kind}_c"], [f"{kind}_l"], perm=[0, 2, 3, 1]),
            helper.make_node("Reshape", [f"{kind}_l", f"{kind}_t"], [f"{kind}_8"]),
        ]
        outputs[f"{kind}_8"] = [1, 128, channels // 2]
    model = network(nodes, constants, {"pixels": [1, 3, 64, 64]}, outputs, opset=11)
    names = [OutputSpec(name=name) for name in ("box_8", "score_8", "landmarks_8")]
    return model, detector_spec(
        model,
        shape=(1, 3, 64, 64),
        sizes=(64, 96),
        outputs=names,
        anchors=2,
        colour_order=ColourOrder.BGR,
    )


def prepared_detector() -> PreparedModel:
    model, spec = detector()
    return prepare_model(spec, model, PHOTOGRAPHS, 1)


def test_it_says_what_made_it_and_where() -> None:
    prepared = prepared_detector()
    assert prepared.spec_sha256 == detector()[1].sha256
    assert prepared.prepare_version == PREPARE_VERSION
    assert prepared.onnxruntime == onnxruntime.__version__
    assert prepared.machine == machine_fingerprint()
    assert [variant.size for variant in prepared.variants] == [64, 96]
    for variant in prepared.variants:
        # Two photographs, whole and their middles, in a square and in 16:9.
        assert (variant.proof.kind, variant.proof.inputs) == ("photographs", 8)
        assert variant.proof.lowest_cosine >= 0.9999


@pytest.mark.parametrize("optimised", [True, False])
def test_a_prepared_detector_keeps_its_contract(optimised: bool) -> None:
    for variant in prepared_detector().variants:
        data = variant.optimised if optimised else variant.portable
        backend = OnnxBackend(data, threads=1, optimise=not optimised)
        (image,) = backend.inputs
        assert image == TensorSpec("image", (1, -1, -1, 3), np.dtype(np.uint8))
        assert [o.name for o in backend.outputs] == ["box_8", "score_8", "landmarks_8"]
        assert {o.dtype for o in backend.outputs} == {np.dtype(np.float32)}
        for height in (variant.size, 40):
            cells = (variant.size // 8) * (height // 8) * 2
            given = backend.run({"image": np.zeros((1, height, variant.size, 3), np.uint8)})
            assert [o.shape for o in given] == [(1, cells, 4), (1, cells, 1), (1, cells, 10)]


def test_every_size_of_a_detector_is_one_file() -> None:
    small, large = prepared_detector().variants
    assert small.portable == large.portable
    assert small.optimised == large.optimised


def test_a_prepared_detector_answers_as_the_original() -> None:
    model, spec = detector()
    picture = pattern(64)
    wanted = answers(model, {"pixels": network_input(spec, picture)})
    backend = OnnxBackend(prepared_detector().variants[0].portable, threads=1, optimise=True)
    for tensor, value in zip(backend.outputs, backend.run({"image": picture[None]}), strict=True):
        np.testing.assert_allclose(value, wanted[tensor.name], rtol=1e-4, atol=1e-4)


def test_the_portable_file_has_only_operators_of_onnx() -> None:
    portable = prepared_detector().variants[0].portable
    assert b"nchwc" not in portable
    assert not {"PRelu", "BatchNormalization"} & {*operators(portable)}


def test_preparing_twice_gives_the_same_portable_file() -> None:
    a, b = prepared_detector(), prepared_detector()
    assert [v.portable for v in a.variants] == [v.portable for v in b.variants]


def test_a_file_of_a_size_that_is_not_wanted_is_proven_at_its_own_as_well() -> None:
    model, spec = detector()
    only_96 = spec.input.model_copy(update={"sizes": (96,)})
    prepared = prepare_model(spec.model_copy(update={"input": only_96}), model, PHOTOGRAPHS, 1)
    assert [variant.size for variant in prepared.variants] == [96]
    assert prepared.variants[0].proof.lowest_cosine >= 0.9999


def test_an_embedder_without_photographs() -> None:
    nodes = [
        helper.make_node("Conv", ["pixels", "k"], ["c"], strides=[8, 8]),
        helper.make_node("Flatten", ["c"], ["f"]),
        helper.make_node("Gemm", ["f", "w", "b"], ["vector"], transB=1),
    ]
    constants = {"k": normal(4, 3, 8, 8), "w": normal(16, 784), "b": normal(16)}
    model = network(nodes, constants, {"pixels": ["n", 3, 112, 112]}, {"vector": ["n", 16]})
    prepared = prepare_model(embedder_spec(model, shape=(-1, 3, 112, 112)), model, [], 1)
    (variant,) = prepared.variants
    assert variant.size == 112
    assert variant.proof.kind == "pattern"
    backend = OnnxBackend(variant.optimised, threads=1, optimise=False)
    assert backend.outputs[0].shape == (1, 16)


def test_a_network_that_breaks_its_manifest_is_refused() -> None:
    model, spec = detector()
    renamed = spec.input.model_copy(update={"name": "data"})
    with pytest.raises(ModelContractError, match="'data'"):
        prepare_model(spec.model_copy(update={"input": renamed}), model, PHOTOGRAPHS, 1)


def test_a_network_that_depends_on_chance_is_not_proven() -> None:
    nodes = [
        helper.make_node("RandomNormal", [], ["noise"], shape=[1, 16]),
        helper.make_node("GlobalAveragePool", ["pixels"], ["m"]),
        helper.make_node("Flatten", ["m"], ["f"]),
        helper.make_node("MatMul", ["f", "w"], ["v"]),
        helper.make_node("Add", ["v", "noise"], ["vector"]),
    ]
    shapes = {"pixels": [1, 3, 112, 112]}, {"vector": [1, 16]}
    model = network(nodes, {"w": normal(3, 16)}, *shapes)
    with pytest.raises(ModelContractError, match="differs from the original's"):
        prepare_model(embedder_spec(model), model, [], 1)


def test_without_the_onnx_package_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnx", None)
    model, spec = detector()
    with pytest.raises(DependencyMissing, match="onnx package") as raised:
        prepare_model(spec, model, PHOTOGRAPHS, 1)
    assert "pip install" in raised.value.hint
