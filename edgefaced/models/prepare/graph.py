"""A network as a small editable value: nodes, constants, inputs and outputs.

Rewriting works on this instead of on ONNX's protobuf: constants are arrays whatever they were
stored as, and attributes are Python values.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

Shapes = Mapping[str, tuple[int, ...]]
"""Shape of each tensor, by name."""

FREE = -1
"""A size that is not fixed."""


@dataclass(slots=True, eq=False)
class Node:
    """One operator of ONNX's own domain."""

    op: str
    inputs: list[str]
    outputs: list[str]
    attributes: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Value:
    """A graph input or output; FREE where a size is not fixed."""

    name: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]


@dataclass(slots=True)
class Graph:
    """A feed-forward network, its nodes in an order in which they can run."""

    opset: int
    inputs: list[Value]
    outputs: list[Value]
    nodes: list[Node]
    constants: dict[str, NDArray[Any]]

    def producers(self) -> dict[str, Node]:
        """The node that makes each tensor."""
        return {name: node for node in self.nodes for name in node.outputs if name}

    def users(self) -> dict[str, list[Node]]:
        """The nodes that read each tensor."""
        found: dict[str, list[Node]] = {}
        for node in self.nodes:
            for name in node.inputs:
                if name:
                    found.setdefault(name, []).append(node)
        return found

    def output_names(self) -> set[str]:
        return {value.name for value in self.outputs}

    def new_name(self, stem: str) -> str:
        """A tensor name that nothing has yet."""
        taken = {*self.constants, *(v.name for v in self.inputs), *self.producers()}
        return next(n for n in (f"{stem}_{i}" for i in count()) if n not in taken)

    def add_constant(self, stem: str, value: NDArray[Any]) -> str:
        name = self.new_name(stem)
        self.constants[name] = value
        return name

    def insert(self, before: Node, *nodes: Node) -> None:
        at = self.nodes.index(before)
        self.nodes[at:at] = nodes

    def remove(self, *nodes: Node) -> None:
        self.nodes = [node for node in self.nodes if node not in nodes]

    def redirect(self, old: str, new: str) -> None:
        """Every reader of `old` reads `new`; graph outputs keep their names."""
        for node in self.nodes:
            node.inputs = [new if name == old else name for name in node.inputs]

    def tidy(self) -> None:
        """Drops what no output needs."""
        needed = self.output_names()
        kept: list[Node] = []
        for node in reversed(self.nodes):
            if needed.intersection(node.outputs):
                kept.append(node)
                needed.update(node.inputs)
        self.nodes = kept[::-1]
        self.constants = {n: v for n, v in self.constants.items() if n in needed}
