"""What both roads have in common: a plan is built, and what came of it is looked at."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Literal, Protocol

from edgefaced.models.compiled import TensorRecord
from edgefaced.models.prepare.onnx_file import read_graph
from edgefaced.protocols import InferenceBackend
from edgefaced_convert.layer_errors import LayerError
from edgefaced_convert.layer_table import Layer
from edgefaced_convert.packs import PackNetwork

Precision = Literal["int8", "fp16", "mixed"]
ENDS = 3
FILTERS = frozenset({"Conv", "Gemm", "MatMul", "ConvTranspose"})


@dataclass(frozen=True, slots=True)
class Plan:
    """How to quantise: the calibration's way ("" for fp16 throughout), what stays in float."""

    algorithm: str
    in_float: tuple[str, ...] = ()
    words: str = "all of it in int8"

    @property
    def precision(self) -> Precision:
        if not self.algorithm:
            return "fp16"
        return "mixed" if self.in_float else "int8"

    def __str__(self) -> str:
        return f"{self.words} ({self.algorithm})" if self.algorithm else self.words


FP16 = Plan("", words="all of it in fp16")


@dataclass(frozen=True, slots=True, eq=False)
class Built:
    """A converted network while it can be run; `layers` and `said` are a compiler's."""

    data: bytes
    outputs: tuple[TensorRecord, ...]
    backend: InferenceBackend
    layer_errors: Callable[[], list[LayerError]]
    layers: tuple[Layer, ...] = ()
    said: tuple[str, ...] = ()


class Road(Protocol):
    """One way from a float network to a quantised one, calibrated once for each algorithm."""

    @property
    def algorithms(self) -> tuple[str, ...]:
        """Ways to choose ranges, the usual one first."""
        ...

    @property
    def base(self) -> str:
        """The way that mixed precision starts from."""
        ...

    @property
    def ends(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The first and the last few filters, in the names a plan's `in_float` has."""
        ...

    @property
    def heads(self) -> tuple[str, ...]:
        """What makes a detector's scores, in the names a plan's `in_float` has; else nothing."""
        ...

    def built(self, plan: Plan) -> AbstractContextManager[Built]:
        """Raises ConvertError where the toolchain fails."""
        ...


def end_filters(form: bytes) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What the first and the last filters make: usual suspects, and few of the layers."""
    made = [node.outputs[0] for node in read_graph(form).nodes if node.op in FILTERS]
    return tuple(made[:ENDS]), tuple(made[-ENDS:])


def score_heads(form: bytes, network: PackNetwork) -> list[str]:
    """The tensors of a detector's scores back to their last filters, those included."""
    decoder = network.spec.decoder
    if decoder is None:
        return []
    return with_filters(form, (*decoder.scores, *(decoder.objectness or ())))


def with_filters(form: bytes, names: Sequence[str]) -> list[str]:
    """These tensors, and all between them and the filters whose results they are.

    A compiler makes one layer of a filter and what follows it. Were only the end of that in
    floating point, the filter's own result would be rounded, in a wider range than before.
    """
    makers = read_graph(form).producers()
    found: dict[str, None] = {}
    for name in names:
        path = name
        while (maker := makers.get(path)) is not None:
            found[path] = None
            if maker.op in FILTERS:
                break
            fed = [i for i in maker.inputs if i in makers]
            filters = [i for i in fed if makers[i].op in FILTERS]
            path = (filters or fed or [""])[0]
    return list(found)
