"""The road to a CPU: QDQ by onnxruntime, from the same calibration set."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np

from edgefaced.inference.onnx import OnnxBackend
from edgefaced.models.compiled import TensorRecord
from edgefaced.models.prepare.onnx_file import read_graph, write_graph
from edgefaced.models.prepare.sizing import free_size
from edgefaced.protocols import Tensor
from edgefaced.recognition.contract import IMAGE
from edgefaced.types import U8
from edgefaced_convert.inner import inner_tensors
from edgefaced_convert.layer_errors import LayerError
from edgefaced_convert.packs import PackNetwork
from edgefaced_convert.qdq import ALGORITHMS, quantise
from edgefaced_convert.road import FILTERS, Built, Plan, end_filters, score_heads

ROUNDED = "_DequantizeLinear_Output"
"""What onnxruntime appends to the name of a tensor that it has quantised."""
COMPARED = 3
"""Pictures on which layers are compared."""


@dataclass(slots=True, eq=False)
class CpuRoad:
    """For one network; `form` is its portable form."""

    form: bytes
    network: PackNetwork
    pictures: Sequence[U8]
    threads: int
    _names: dict[str, str] = field(default_factory=dict)

    @property
    def algorithms(self) -> tuple[str, ...]:
        return tuple(ALGORITHMS)

    @property
    def base(self) -> str:
        return "min-max"

    @property
    def ends(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        filters = filters_of(self.form)
        first, last = end_filters(self.form)
        return tuple(filters[t] for t in first), tuple(filters[t] for t in last)

    @property
    def heads(self) -> tuple[str, ...]:
        """The last filters before the scores, by node."""
        filters = filters_of(self.form)
        tensors = score_heads(self.form, self.network)
        return tuple(filters[tensor] for tensor in tensors if tensor in filters)

    @contextmanager
    def built(self, plan: Plan) -> Iterator[Built]:
        data = quantise(self.form, self.pictures, algorithm=plan.algorithm, in_float=plan.in_float)
        if self.network.spec.decoder is not None:
            data = of_free_size(data)
        backend = OnnxBackend(data, threads=self.threads, optimise=True)
        answers = backend.run({IMAGE: self.pictures[0][np.newaxis]})
        try:
            yield Built(
                data=data,
                outputs=tuple(
                    TensorRecord(name=spec.name, shape=answer.shape, dtype="float32")
                    for spec, answer in zip(backend.outputs, answers, strict=True)
                ),
                backend=backend,
                layer_errors=lambda: compare_layers(self.form, data, self.pictures[:COMPARED]),
            )
        finally:
            backend.close()


def of_free_size(data: bytes) -> bytes:
    """The same network at every size, as the daemon's float one is.

    A 16:9 frame is then not padded to a square, which would cost more than int8 saves.
    """
    graph = read_graph(data)
    free_size(graph)
    return write_graph(graph)


def with_activations(form: bytes, names: Sequence[str]) -> list[str]:
    """These nodes, and the Relu or Clip behind each.

    Were that left in int8 alone, what it takes would be rounded, in a wider range than it gives.
    """
    import onnx

    nodes = onnx.load_model_from_string(form).graph.node
    made = {output for node in nodes if node.name in names for output in node.output}
    behind = [n.name for n in nodes if n.op_type in ("Relu", "Clip") and n.input[0] in made]
    return [*dict.fromkeys((*names, *behind))]


def filters_of(form: bytes) -> dict[str, str]:
    """Name of the filter that makes each tensor."""
    import onnx

    nodes = onnx.load_model_from_string(form).graph.node
    return {name: node.name for node in nodes if node.op_type in FILTERS for name in node.output}


def compare_layers(form: bytes, quantised: bytes, pictures: Sequence[U8]) -> list[LayerError]:
    """Each filter's output in both networks, by node, in running order.

    A layer's own share is what its cosine falls below the lowest of the layers that feed it.
    """
    import onnx

    nodes = onnx.load_model_from_string(form).graph.node
    left = {name for n in onnx.load_model_from_string(quantised).graph.node for name in n.output}
    # A Relu or Clip behind a filter is gone with its quantisation: its tensor is then the filter's.
    behind = {n.input[0]: n.output[0] for n in nodes if n.op_type in ("Relu", "Clip")}
    shown = {
        n.name: n.output[0] if n.output[0] in left else behind.get(n.output[0], "")
        for n in nodes
        if n.op_type in FILTERS
    }
    tensors = [tensor for tensor in shown.values() if tensor in left]
    # What the next layer reads: rounded, and clipped where a Relu was.
    rounded = {t: f"{t}{ROUNDED}" if f"{t}{ROUNDED}" in left else t for t in tensors}
    before = _run_all(form, tensors, pictures)
    found = _run_all(quantised, [*rounded.values()], pictures)
    after = {tensor: found[name] for tensor, name in rounded.items()}
    reached: dict[str, float] = {}
    errors = []
    for node in nodes:
        fed = min((reached[name] for name in node.input if name in reached), default=1.0)
        tensor = shown.get(node.name, "")
        here = _cosine(before[tensor], after[tensor]) if tensor in before else fed
        for name in node.output:
            reached[name] = here
        if tensor in before:
            errors.append(LayerError(node.name, node.op_type, here, min(1.0, 1.0 - (fed - here))))
    return errors


def _run_all(data: bytes, tensors: Sequence[str], pictures: Sequence[U8]) -> dict[str, Tensor]:
    feeds = [{IMAGE: picture[np.newaxis]} for picture in pictures]
    runs = [*inner_tensors(data, tensors, feeds)]
    return {name: np.concatenate([run[name].ravel() for run in runs]) for name in runs[0]}


def _cosine(a: Tensor, b: Tensor) -> float:
    length = float(np.linalg.norm(a) * np.linalg.norm(b))
    return min(1.0, float(a @ b) / length) if length else 1.0
