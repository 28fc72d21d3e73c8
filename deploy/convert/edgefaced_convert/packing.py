"""Each target's networks into its archive as soon as they are there: later failures cost nothing.

What is interrupted leaves the archives of the targets before; one that is refused all others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from edgefaced_convert.archive import write_archive
from edgefaced_convert.conversion import Converted
from edgefaced_convert.toolchain import ConvertError


@dataclass(slots=True)
class Packed:
    """What was packed: sizes by target; and why some targets were not."""

    networks: list[Converted] = field(default_factory=list)
    archives: dict[str, int] = field(default_factory=dict)
    refused: list[ConvertError] = field(default_factory=list)

    @property
    def fault(self) -> ConvertError | None:
        """All refusals in one, with the targets that are packed all the same."""
        if not self.refused:
            return None
        there, hint = ", ".join(self.archives), self.refused[0].hint
        return ConvertError(
            "; ".join(error.message for error in self.refused),
            f"packed all the same: {there}; {hint}" if there else hint,
        )


def pack_each(
    pack: str,
    targets: Sequence[str],
    lines: Mapping[str, Iterator[Converted | ConvertError]],
    archive_of: Callable[[str], Path],
    show: Callable[[Converted], None],
    say: Callable[[str], None],
) -> Packed:
    """Takes from the line of each network, by id, its result for each target in turn."""
    packed = Packed()
    for target, *outcomes in zip(targets, *lines.values(), strict=True):
        done = [one for one in outcomes if isinstance(one, Converted)]
        for one in done:
            packed.networks.append(one)
            show(one)
        faults = [
            ConvertError(f"{name} for {target}: {one.message}", one.hint)
            for name, one in zip(lines, outcomes, strict=True)
            if isinstance(one, ConvertError)
        ]
        packed.refused += faults
        if not faults:
            path = archive_of(target)
            members = [member for one in done for member in one.members]
            size_bytes = write_archive(path, pack, [one.model for one in done], members)
            packed.archives[target] = size_bytes
            say(f"{path}: {size_bytes} bytes")
        elif target != targets[-1]:
            say(f"{faults[0].message}; the next target")
    return packed
