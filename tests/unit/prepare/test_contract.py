from __future__ import annotations

import numpy as np
import onnx
import pytest
from networks import detector_spec, embedder_spec, network, normal
from onnx import helper

from edgefaced.errors import ModelContractError
from edgefaced.models.manifest import ModelSpec, OutputSpec
from edgefaced.models.prepare.contract import (
    check_original,
    check_prepared,
    exported_size,
    input_shape,
    sizes_of,
)
from edgefaced.models.prepare.graph import Value
from edgefaced.models.prepare.onnx_file import read_graph

ROW = np.array([1, -1])


def embedder(
    *, name: str = "pixels", shape: tuple[int | str, ...] = (1, 3, 8, 8), output: str = "vector"
) -> bytes:
    nodes = [
        helper.make_node("GlobalAveragePool", [name], ["means"]),
        helper.make_node("Reshape", ["means", "row"], ["flat"]),
        helper.make_node("MatMul", ["flat", "w"], [output]),
    ]
    constants = {"row": ROW, "w": normal(3, 16)}
    return network(nodes, constants, {name: shape}, {output: [1, 16]})


def spec(
    shape: tuple[int, int, int, int] = (1, 3, 8, 8), output_shape: tuple[int, ...] | None = None
) -> ModelSpec:
    return embedder_spec(embedder(), shape=shape, output_shape=output_shape)


@pytest.mark.parametrize("given", [(1, 3, 8, 8), ("n", 3, 8, 8), ("n", 3, "h", "w")])
@pytest.mark.parametrize("wanted", [(1, 3, 8, 8), (-1, 3, 8, 8)])
def test_shapes_that_fit(given: tuple[int | str, ...], wanted: tuple[int, int, int, int]) -> None:
    check_original(read_graph(embedder(shape=given)), spec(wanted, (1, 16)))


@pytest.mark.parametrize(
    ("model", "manifest", "said"),
    [
        (embedder(name="data"), spec(), r"inputs are \['data'\], the manifest says \['pixels'\]"),
        (embedder(shape=(1, 3, 9, 8)), spec(), r"input 'pixels' is \[1, 3, 9, 8\]"),
        (embedder(shape=(1, 3, 8)), spec(), r"input 'pixels' is \[1, 3, 8\]"),
        (embedder(output="other"), spec(), "no output 'vector'"),
        (embedder(), spec(output_shape=(1, 128)), r"output 'vector' is \[1, 16\]"),
    ],
)
def test_names_and_shapes_that_do_not_fit(model: bytes, manifest: ModelSpec, said: str) -> None:
    with pytest.raises(ModelContractError, match=said):
        check_original(read_graph(model), manifest)


def test_an_output_too_many_is_named() -> None:
    model = onnx.load_model_from_string(embedder())
    model.graph.output.append(helper.make_tensor_value_info("flat", onnx.TensorProto.FLOAT, [1, 3]))
    with pytest.raises(ModelContractError, match="output 'flat' is not in the manifest"):
        check_original(read_graph(model.SerializeToString()), spec())


def test_a_second_input_is_named() -> None:
    nodes = [helper.make_node("Add", ["pixels", "more"], ["vector"])]
    shapes = {"pixels": [1, 3, 8, 8], "more": [1, 3, 8, 8]}
    with pytest.raises(ModelContractError, match="'more'"):
        check_original(read_graph(network(nodes, {}, shapes, {"vector": [1, 16]})), spec())


def test_an_input_of_another_type_is_named() -> None:
    graph = read_graph(embedder())
    graph.inputs = [Value("pixels", (1, 3, 8, 8), np.dtype(np.float16))]
    with pytest.raises(ModelContractError, match="'pixels' is float16"):
        check_original(graph, spec())


def test_an_output_of_another_type_is_named() -> None:
    graph = read_graph(embedder())
    graph.outputs = [Value("vector", (1, 16), np.dtype(np.int64))]
    with pytest.raises(ModelContractError, match="'vector' is int64"):
        check_prepared(graph, spec(), 8)


def test_an_embedding_of_another_size_is_named() -> None:
    graph = read_graph(embedder())
    graph.outputs = [Value("vector", (1, 8), np.dtype(np.float32))]
    with pytest.raises(ModelContractError, match="'vector' has 8 values at 8x8, 16 are needed"):
        check_prepared(graph, spec(), 8)


KINDS = {"score": 1, "box": 4, "landmarks": 10}


def detector(anchors: int = 2) -> tuple[bytes, ModelSpec]:
    nodes, constants, outputs = [], {}, {}
    for kind, values in KINDS.items():
        name = f"{kind}_8"
        constants[f"{name}_w"] = normal(anchors * values, 3, 8, 8)
        constants[f"{name}_t"] = np.array([1, -1, values])
        nodes += [
            helper.make_node("Conv", ["pixels", f"{name}_w"], [f"{name}_m"], strides=[8, 8]),
            helper.make_node("Reshape", [f"{name}_m", f"{name}_t"], [name]),
        ]
        outputs[name] = [1, 32, values]
    model = network(nodes, constants, {"pixels": [1, 3, 32, 32]}, outputs)
    names = [OutputSpec(name=name) for name in outputs]
    return model, detector_spec(
        model, shape=(1, 3, 32, 32), sizes=(32,), outputs=names, anchors=anchors
    )


def test_a_detector_has_a_value_for_each_cell_and_anchor() -> None:
    model, manifest = detector()
    check_prepared(read_graph(model), manifest, 32)


def test_a_detector_of_other_anchors_is_named() -> None:
    model, manifest = detector()
    assert manifest.decoder is not None
    one = manifest.decoder.model_copy(update={"anchors": 1})
    with pytest.raises(ModelContractError, match="'score_8' has 32 values at 32x32, 16 are needed"):
        check_prepared(read_graph(model), manifest.model_copy(update={"decoder": one}), 32)


def test_objectness_counts_too() -> None:
    model, manifest = detector()
    assert manifest.decoder is not None
    yunet = manifest.decoder.model_copy(update={"kind": "yunet", "objectness": ("box_8",)})
    with pytest.raises(ModelContractError, match="'box_8' has 128 values"):
        check_prepared(read_graph(model), manifest.model_copy(update={"decoder": yunet}), 32)


def test_sizes() -> None:
    assert sizes_of(detector()[1]) == (32,)
    assert sizes_of(spec()) == (8,)
    assert sizes_of(embedder_spec(embedder(), shape=(1, 8, 8, 3), layout="NHWC")) == (8,)


@pytest.mark.parametrize("shape", [(1, 3, 8, 9), (1, 3, -1, -1)])
def test_an_embedder_without_a_fixed_square_is_refused(shape: tuple[int, int, int, int]) -> None:
    with pytest.raises(ModelContractError, match=r"input\.shape"):
        sizes_of(spec(shape))


def test_the_size_a_file_was_exported_for() -> None:
    assert exported_size(read_graph(embedder()), spec()) == 8
    assert exported_size(read_graph(embedder(shape=("n", 3, "h", "w"))), spec()) is None


def test_the_shape_at_a_size() -> None:
    assert input_shape(spec(), 64, 64) == (1, 3, 64, 64)
    nhwc = embedder_spec(embedder(), shape=(1, 8, 8, 3), layout="NHWC")
    assert input_shape(nhwc, 64, 64) == (1, 64, 64, 3)
