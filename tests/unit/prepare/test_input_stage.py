from __future__ import annotations

import numpy as np
import pytest
from networks import answers, embedder_spec, network
from onnx import helper

from edgefaced.errors import ModelContractError
from edgefaced.models.prepare.input_stage import add_input_stage
from edgefaced.models.prepare.onnx_file import read_graph, write_graph
from edgefaced.models.prepare.proof import pattern
from edgefaced.types import F32

IMAGENET = ((123.675, 116.28, 103.53), (58.395, 57.12, 57.375))
UNIFORM = ((127.5, 127.5, 127.5), (128.0, 128.0, 128.0))
RAW = ((0.0, 0.0, 0.0), (1.0, 1.0, 1.0))
MIXED = ((127.5, 127.5, 127.5), (58.395, 57.12, 57.375))


def passed_through(layout: str, name: str, mean_std: tuple[tuple[float, ...], ...]) -> F32:
    """What reaches a network that gives its input back."""
    shape = (1, 3, 16, 16) if layout == "NCHW" else (1, 16, 16, 3)
    model = network([helper.make_node("Identity", [name], ["y"])], {}, {name: shape}, {"y": shape})
    mean, std = mean_std
    spec = embedder_spec(
        model,
        shape=shape,
        layout=layout,
        mean=(mean[0], mean[1], mean[2]),
        std=(std[0], std[1], std[2]),
        output="y",
    )
    graph = read_graph(model)
    add_input_stage(graph, spec)
    value: F32 = answers(write_graph(graph), {"image": pattern(16)[None]})["y"]
    return value


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
@pytest.mark.parametrize("name", ["pixels", "image"])
@pytest.mark.parametrize("mean_std", [IMAGENET, UNIFORM, RAW, MIXED])
def test_the_network_gets_normalised_pixels(
    layout: str, name: str, mean_std: tuple[tuple[float, ...], ...]
) -> None:
    expected = (pattern(16)[None].astype(np.float64) - mean_std[0]) / mean_std[1]
    if layout == "NCHW":
        expected = expected.transpose(0, 3, 1, 2)
    np.testing.assert_allclose(passed_through(layout, name, mean_std), expected, atol=1e-5)


def test_a_tensor_of_the_same_name_inside_is_refused() -> None:
    nodes = [
        helper.make_node("Relu", ["pixels"], ["image"]),
        helper.make_node("Neg", ["image"], ["y"]),
    ]
    shape = (1, 3, 16, 16)
    model = network(nodes, {}, {"pixels": shape}, {"y": shape})
    with pytest.raises(ModelContractError, match="'image'"):
        add_input_stage(read_graph(model), embedder_spec(model, shape=shape, output="y"))
