"""The compiler's own table of layers, read from what the toolkit prints.

ID OpType DataType Target InputShape OutputShape Cycles(DDR/NPU/Total) RW(KB) FullName
"""

from __future__ import annotations

import re
from dataclasses import dataclass

ENDS = frozenset({"InputOperator", "OutputOperator"})
"""Not operators: the copy between the program's memory and the network's."""

_ROW = re.compile(
    r"^D RKNN: \[[\d:.]+\] (\d+) +(\S+) +(\S+) +(NPU|CPU|GPU) +(\S+) +(\S+) +"
    r"(\d+)/(\d+)/(\d+) +(?:[\d.]+%? +)?(\d+) +(\S+)",
    re.MULTILINE,
)
_FALLBACK = re.compile(r"^W RKNN: \[[\d:.]+\] (.*fallback to CPU.*)$", re.MULTILINE | re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Layer:
    """One layer as it was compiled; `cycles` is the compiler's estimate, 0 where it has none."""

    number: int
    kind: str
    data_type: str
    target: str
    cycles: int
    moved_kb: int
    name: str

    @property
    def on_cpu(self) -> bool:
        return self.target != "NPU" and self.kind not in ENDS


def layers_in(log: str) -> tuple[Layer, ...]:
    """The layers of the last table in a log; none where there is no table."""
    found: list[Layer] = []
    for match in _ROW.finditer(log):
        number, kind, data_type, target, _, _, _, _, total, moved, name = match.groups()
        layer = Layer(int(number), kind, data_type, target, int(total), int(moved), name)
        if found and layer.number <= found[-1].number:
            found = []  # another table begins
        found.append(layer)
    return tuple(found)


def fallbacks_in(log: str) -> tuple[str, ...]:
    """The compiler's own words on what goes to the CPU, each once."""
    return tuple(dict.fromkeys(match.group(1).strip() for match in _FALLBACK.finditer(log)))
