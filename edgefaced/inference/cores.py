"""Which cores of an NPU a network runs on."""

from __future__ import annotations

from collections.abc import Sequence

from edgefaced.errors import ConfigError
from edgefaced.inference.rockchip import Npu
from edgefaced.types import Role

MASKS = (0b1, 0b10, 0b100, 0b11, 0b111)
"""What the runtime has: one core, the first two, or all three."""


def core_mask(npu: Npu, role: Role, wished: Sequence[int] | None) -> int:
    """One bit a core; 0 where there is nothing to choose. Raises ConfigError.

    Detector and embedder work at the same time, so each has a core of its own where it can.
    """
    key = f"inference.{role}_cores"
    if npu.cores == 1:
        if wished is not None and tuple(wished) != (0,):
            raise ConfigError(f"{key} = {list(wished)}: {npu.chip} has core 0 alone", "[0]")
        return 0
    if wished is None:
        return 0b1 if role is Role.DETECTOR else 0b10
    mask = sum(1 << core for core in set(wished))
    if mask not in MASKS or mask >> npu.cores:
        allowed = [m for m in MASKS if not m >> npu.cores]
        raise ConfigError(
            f"{key} = {list(wished)}: {npu.chip} has no such cores together",
            f"one of {', '.join(str(cores_of(m)) for m in allowed)}",
        )
    return mask


def cores_of(mask: int) -> list[int]:
    """Numbers of the cores of a mask."""
    return [core for core in range(mask.bit_length()) if mask >> core & 1]
