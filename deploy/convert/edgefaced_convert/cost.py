"""What a network costs, computed from its graph: MACs, parameters, and bytes moved in int8."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from edgefaced_convert.operators import Network, Operator, attribute

FUSED = frozenset({"Relu", "Clip", "PRelu", "LeakyRelu", "Sigmoid", "BatchNormalization", "Add"})
"""Done in the same pass as the convolution before it: nothing of theirs goes through memory, but
for the second operand of an Add."""
VIEWS = frozenset({"Reshape", "Flatten", "Squeeze", "Unsqueeze", "Identity"})


@dataclass(frozen=True, slots=True)
class LayerCost:
    """`moved_bytes` as if each feature map were read and written once, in int8."""

    name: str
    kind: str
    macs: int
    parameters: int
    moved_bytes: int


def costs_of(network: Network) -> list[LayerCost]:
    """Of each operator of a network whose shapes are fixed."""
    return [_cost(operator) for operator in network.operators]


def _cost(operator: Operator) -> LayerCost:
    weights = sum(
        int(value.size)
        for place, value in operator.constants.items()
        if place and _is_weight(value)
    )
    fed = [shape for i, shape in enumerate(operator.shapes_in) if i not in operator.constants]
    read, written = (sum(prod(s) for s in shapes if s) for shapes in (fed, operator.shapes_out))
    if operator.kind in VIEWS:
        moved = 0
    elif operator.kind == "Add":
        moved = read // 2
    else:
        moved = 0 if operator.kind in FUSED else read + written + weights
    return LayerCost(operator.name, operator.kind, macs_of(operator), weights, moved)


def macs_of(operator: Operator) -> int:
    """Multiplications with accumulation of a filter; 0 for all other operators."""
    if operator.kind in ("Conv", "ConvTranspose") and 1 in operator.constants:
        weights = operator.constants[1]
        points = operator.shapes_out[0] if operator.kind == "Conv" else operator.shapes_in[0]
        if operator.kind == "Conv":
            return prod(points) * prod(weights.shape[1:])
        return prod(points[2:]) * int(weights.size)
    if operator.kind == "Gemm":
        across = 0 if attribute(operator, "transA", 0) else 1
        return prod(operator.shapes_out[0]) * operator.shapes_in[0][across]
    if operator.kind == "MatMul":
        return prod(operator.shapes_out[0]) * operator.shapes_in[0][-1]
    return 0


def _is_weight(value: object) -> bool:
    return getattr(getattr(value, "dtype", None), "kind", "") == "f"
