"""Which layer loses what: the table that names the first bad one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

BAD_COSINE = 0.99
"""Of a layer's output with all errors before it."""

_ROW = re.compile(r"^\[(\w+)\] (\S+) +([\d.]+|nan) \| +\S+ +([\d.]+|nan) \|", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class LayerError:
    """Cosine of a layer's output to float32: with all before it quantised, and by itself alone."""

    name: str
    kind: str
    cosine: float
    alone: float


def parse_table(text: str) -> list[LayerError]:
    """The toolkit's `error_analysis.txt`, in running order; layers without figures are fused."""
    return [
        LayerError(name, kind, float(entire), float(single))
        for kind, name, entire, single in _ROW.findall(text)
    ]


def first_bad(errors: Sequence[LayerError]) -> LayerError | None:
    """The first layer below the bar, in running order."""
    return next((error for error in errors if not error.cosine >= BAD_COSINE), None)


def worst_first(errors: Sequence[LayerError]) -> list[LayerError]:
    """Layers by how much each loses by itself."""
    return sorted((e for e in errors if e.kind not in ENDS), key=lambda e: e.alone)


ENDS = frozenset({"Input", "exDataConvert", "Reshape", "Transpose"})
"""Rows of the table that compute nothing."""
