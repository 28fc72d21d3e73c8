from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from networks import answers, network, normal, operators
from onnx import helper

from edgefaced.errors import ModelContractError
from edgefaced.models.prepare.onnx_file import read_graph, write_graph
from edgefaced.models.prepare.sizing import fix_size, released


def sized(model: bytes, side: int) -> bytes:
    graph = read_graph(model)
    fix_size(graph, (1, 3, side, side))
    return write_graph(graph)


def pyramid(side: int | str, cells: int | str, *, frozen: bool) -> bytes:
    """Two scales, the small one doubled and added; a head of 2 x 4 values a cell.

    `frozen` writes the sizes into the graph as an exporter does that traced one picture; else the
    graph takes them from the picture.
    """
    pads, strides = [1, 1, 1, 1], [2, 2]
    nodes = [
        helper.make_node("Conv", ["x", "w1"], ["large"], pads=pads, strides=strides),
        helper.make_node("Conv", ["large", "w2"], ["small"], pads=pads, strides=strides),
        helper.make_node(
            "Resize",
            ["small", "", "", "sizes"],
            ["doubled"],
            mode="nearest",
            coordinate_transformation_mode="asymmetric",
            nearest_mode="floor",
        ),
        helper.make_node("Add", ["large", "doubled"], ["sum"]),
        helper.make_node("Conv", ["sum", "w3"], ["head"]),
        helper.make_node("Transpose", ["head"], ["last"], perm=[0, 2, 3, 1]),
        helper.make_node("Reshape", ["last", "target"], ["y"]),
    ]
    constants = {
        "w1": normal(4, 3, 3, 3),
        "w2": normal(4, 4, 3, 3, seed=1),
        "w3": normal(8, 4, 1, 1, seed=2),
    }
    if frozen:
        half = int(side) // 2
        constants |= {
            "sizes": np.array([1, 4, half, half]),
            "target": np.array([1, half * half * 2, 4]),
        }
    else:
        nodes.insert(2, helper.make_node("Shape", ["large"], ["sizes"]))
        constants["target"] = np.array([1, -1, 4])
    return network(nodes, constants, {"x": [1, 3, side, side]}, {"y": [1, cells, 4]})


@pytest.mark.parametrize("side", [64, 32, 96])
def test_a_network_of_one_size_follows_another(side: int) -> None:
    """Its answer is that of the same network exported without a size."""
    fixed, free = pyramid(64, 2048, frozen=True), pyramid("s", "n", frozen=False)
    x = normal(1, 3, side, side, seed=5)
    given, wanted = answers(sized(fixed, side), {"x": x})["y"], answers(free, {"x": x})["y"]
    assert given.shape == (1, side * side // 2, 4)
    np.testing.assert_array_equal(given, wanted)


@pytest.mark.parametrize("frozen", [True, False])
def test_sizes_become_factors(frozen: bool) -> None:
    model = pyramid(64, 2048, frozen=True) if frozen else pyramid("s", "n", frozen=False)
    graph = read_graph(model)
    fix_size(graph, (1, 3, 32, 32))
    (resize,) = (node for node in graph.nodes if node.op == "Resize")
    assert graph.constants[resize.inputs[2]].tolist() == [1, 1, 2, 2]
    assert "Shape" not in operators(write_graph(graph))


def test_outputs_get_their_fixed_shape() -> None:
    graph = read_graph(pyramid("s", "n", frozen=False))
    fix_size(graph, (1, 3, 32, 32))
    assert graph.outputs[0].shape == (1, 512, 4)


def test_a_resize_by_no_whole_factor_keeps_its_sizes() -> None:
    node = helper.make_node("Resize", ["x", "", "", "sizes"], ["y"], mode="linear")
    constants = {"sizes": np.array([1, 3, 12, 12])}
    graph = read_graph(network([node], constants, {"x": [1, 3, 8, 8]}, {"y": [1, 3, 12, 12]}))
    fix_size(graph, (1, 3, 8, 8))
    assert graph.nodes[0].inputs[3] == "sizes"


@pytest.mark.parametrize(
    ("attribute", "value"), [("keep_aspect_ratio_policy", "not_larger"), ("axes", [2, 3])]
)
def test_a_resize_that_is_not_plain_keeps_its_sizes(attribute: str, value: object) -> None:
    node = helper.make_node("Resize", ["x", "", "", "sizes"], ["y"], mode="linear")
    node.attribute.append(helper.make_attribute(attribute, value))
    sizes = np.array([16, 16] if attribute == "axes" else [1, 3, 16, 16])
    shapes = {"x": [1, 3, 8, 8]}, {"y": [1, 3, 16, 16]}
    graph = read_graph(network([node], {"sizes": sizes}, *shapes, opset=18))
    fix_size(graph, (1, 3, 8, 8))
    assert graph.nodes[0].inputs[3] == "sizes"


def test_a_reshape_of_something_of_unknown_size_ties_the_network_to_its_size() -> None:
    nodes = [
        helper.make_node("NonZero", ["x"], ["where"]),
        helper.make_node("Reshape", ["where", "t"], ["r"]),
        helper.make_node("Cast", ["r"], ["y"], to=1),
    ]
    model = network(nodes, {"t": np.array([768])}, {"x": [1, 3, 8, 8]}, {"y": [768]})
    with pytest.raises(ModelContractError, match="'r' cannot follow the size 1x3x16x16"):
        sized(model, 16)


def test_a_reshape_of_what_has_no_size_stays_as_it_is() -> None:
    nodes = [
        helper.make_node("Relu", ["x"], ["a"]),
        helper.make_node("GlobalAveragePool", ["a"], ["g"]),
        helper.make_node("Reshape", ["g", "t"], ["y"]),
    ]
    model = network(nodes, {"t": np.array([1, 3])}, {"x": [1, 3, 8, 8]}, {"y": [1, 3]})
    x = normal(1, 3, 16, 16)
    expected = np.maximum(x, 0).mean(axis=(2, 3))
    np.testing.assert_allclose(answers(sized(model, 16), {"x": x})["y"], expected, rtol=1e-5)


def test_a_matrix_behind_the_picture_ties_the_network_to_its_size() -> None:
    nodes = [
        helper.make_node("Reshape", ["x", "t"], ["row"]),
        helper.make_node("MatMul", ["row", "w"], ["y"]),
    ]
    constants = {"t": np.array([1, 192]), "w": normal(192, 4)}
    model = network(nodes, constants, {"x": [1, 3, 8, 8]}, {"y": [1, 4]})
    with pytest.raises(ModelContractError):
        sized(model, 16)


def test_a_map_of_the_old_size_ties_the_network_to_it() -> None:
    add = helper.make_node("Add", ["x", "anchors"], ["y"])
    model = network(
        [add], {"anchors": normal(1, 3, 8, 8)}, {"x": [1, 3, 8, 8]}, {"y": [1, 3, 8, 8]}
    )
    with pytest.raises(ModelContractError, match="shapes do not fit"):
        sized(model, 16)


def test_a_shape_that_depends_on_the_picture_is_refused() -> None:
    nodes = [
        helper.make_node("NonZero", ["x"], ["where"]),
        helper.make_node("Cast", ["where"], ["y"], to=1),
    ]
    model = network(nodes, {}, {"x": [1, 3, 8, 8]}, {"y": [4, "n"]})
    with pytest.raises(ModelContractError, match="'y' has no fixed shape"):
        sized(model, 8)


@pytest.mark.parametrize(
    ("target", "before", "after", "expected"),
    [
        ((1, 12800, 4), (1, 80, 80, 8), (1, 40, 40, 8), (1, -1, 4)),
        ((12800, 1), (80, 80, 1, 2), (40, 40, 1, 2), (-1, 1)),
        ((1, 8, 6400), (1, 8, 80, 80), (1, 8, 40, 40), (1, 8, -1)),
        ((1, 2, 4, 6400), (1, 8, 80, 80), (1, 8, 40, 40), (1, 2, 4, -1)),
    ],
)
def test_the_dimension_that_holds_the_size(
    target: tuple[int, ...],
    before: tuple[int, ...],
    after: tuple[int, ...],
    expected: tuple[int, ...],
) -> None:
    assert released(target, before, after) == expected


@pytest.mark.parametrize(
    ("target", "before", "after"),
    [
        ((1, 8, 80, 80), (1, 80, 80, 8), (1, 40, 40, 8)),  # two dimensions hold it
        ((80, 640), (1, 80, 80, 8), (1, 40, 40, 8)),
    ],
)
def test_no_single_dimension_that_holds_the_size(
    target: tuple[int, ...], before: tuple[int, ...], after: tuple[int, ...]
) -> None:
    with pytest.raises(ModelContractError, match="cannot follow"):
        released(target, before, after)


@given(st.integers(2, 12), st.integers(1, 3), st.sampled_from([2, 4, 10]), st.integers(2, 4))
def test_a_released_reshape_keeps_the_order_of_values(
    cells: int, anchors: int, values: int, factor: int
) -> None:
    """Cropping the larger map and then reshaping equals reshaping the smaller map."""
    small, large = (1, cells, cells, anchors * values), cells * factor
    target = released(
        (1, large * large * anchors, values), (1, large, large, anchors * values), small
    )
    map_ = np.arange(np.prod(small)).reshape(small)
    expected = np.stack(
        [
            map_[0, y, x, a * values : (a + 1) * values]
            for y in range(cells)
            for x in range(cells)
            for a in range(anchors)
        ]
    )
    np.testing.assert_array_equal(map_.reshape(target)[0], expected)


NAMED = [f"{kind}_{stride}" for kind in ("score", "bbox", "kps") for stride in (8, 16, 32)]
NUMBERED = ["443", "468", "493", "446", "471", "496", "449", "474", "499"]


@pytest.mark.parametrize("side", [320, 640, 96])
def test_scrfd_exported_at_640_equals_the_same_weights_exported_free(
    shared_data: Path, side: int
) -> None:
    fixed = (shared_data / "models" / "scrfd_500m_bnkps.onnx").read_bytes()
    free = (shared_data / "models" / "det_500m.onnx").read_bytes()
    feeds = {"input.1": normal(1, 3, side, side)}
    given, wanted = answers(sized(fixed, side), feeds), answers(free, feeds)
    for name, number in zip(NAMED, NUMBERED, strict=True):
        np.testing.assert_array_equal(given[name][0], wanted[number], err_msg=name)
