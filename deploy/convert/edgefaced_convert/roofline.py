"""The least time a network can take on a board: its arithmetic or its memory, layer by layer.

A bound, not a forecast: no NPU keeps its multipliers busy in a depthwise convolution.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from edgefaced.models.compiled import CostRecord
from edgefaced_convert.cost import LayerCost


@dataclass(frozen=True, slots=True)
class Board:
    """`tops` of one core at int8, two operations a MAC; `gigabytes` a second at the bus' peak."""

    name: str
    tops: float
    cores: int
    gigabytes: float
    bus: str


BOARDS = (
    Board("RK3566", 1.0, 1, 8.4, "32 bit, 2112 MT/s"),
    Board("RK3576", 3.0, 2, 17.1, "32 bit, 4266 MT/s"),
    Board("RK3588", 2.0, 3, 33.8, "64 bit, 4224 MT/s"),
    Board("A733", 3.0, 1, 14.4, "32 bit, 3600 MT/s"),
)
"""TOPS as their makers state them, of all cores together 1, 6, 6 and 3. The buses are those of
common modules: the widest that the chip has, at the speed its boards run LPDDR4(X) at."""

USABLE = 0.5
"""Share of the bus' peak that is taken to be the NPU's: the CPU, camera and display have the rest.
"""


def seconds_on(board: Board, layers: Sequence[LayerCost]) -> float:
    """On one core, every layer bound by the slower of the two."""
    operations_a_second = board.tops * 1e12
    bytes_a_second = board.gigabytes * 1e9 * USABLE
    return sum(
        max(2 * layer.macs / operations_a_second, layer.moved_bytes / bytes_a_second)
        for layer in layers
    )


def cost_record(layers: Sequence[LayerCost]) -> CostRecord:
    """What a compiled network's record says of its cost."""
    return CostRecord(
        macs=sum(layer.macs for layer in layers),
        moved_bytes=sum(layer.moved_bytes for layer in layers),
        least_ms={b.name: round(1000 * seconds_on(b, layers), 3) for b in BOARDS},
    )
