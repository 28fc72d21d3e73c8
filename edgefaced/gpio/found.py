"""The chips of this machine with their lines, for somebody who is asked which one it shall be."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from edgefaced.gpio.gpiochip import DEVICES, Opener, chip_nodes, library_opener


@dataclass(frozen=True, slots=True)
class FoundLine:
    """A line by its offset; `name` and `user` are empty where it has none."""

    offset: int
    name: str
    user: str


@dataclass(frozen=True, slots=True)
class FoundChip:
    """A chip that can be looked at."""

    label: str
    path: Path
    lines: tuple[FoundLine, ...]

    def free(self) -> tuple[str, ...]:
        """Names of the lines that nobody uses."""
        return tuple(line.name for line in self.lines if line.name and not line.user)


def found_chips(*, devices: Path = DEVICES, opener: Opener | None = None) -> tuple[FoundChip, ...]:
    """By number; one that may not be opened is passed over. Raises DependencyMissing."""
    nodes = list(chip_nodes(devices))
    if not nodes:
        return ()
    opener = opener or library_opener()
    found = []
    for node in nodes:
        try:
            with closing(opener(str(node))) as chip:
                info = chip.get_info()
                lines = [chip.get_line_info(offset) for offset in range(info.num_lines)]
        except OSError:
            continue
        named = (FoundLine(n, line.name, line.consumer) for n, line in enumerate(lines))
        found.append(FoundChip(info.label, node, tuple(named)))
    return tuple(found)
