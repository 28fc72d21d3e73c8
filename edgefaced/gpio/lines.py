"""The seam to GPIO: chips, lines for output, lines for input.

All levels are logical: with `active_low` a line is active while its voltage is low.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol


class Edges(StrEnum):
    """Which changes of an input are reported."""

    RISING = "rising"
    """Becoming active."""
    FALLING = "falling"
    """Becoming inactive."""
    BOTH = "both"

    def include(self, active: bool) -> bool:
        """Whether a change to this level is one of them."""
        return self in (Edges.BOTH, Edges.RISING if active else Edges.FALLING)


class Bias(StrEnum):
    """The resistor inside the chip that holds an open input at a level."""

    AS_IS = "as-is"
    """As the board's description has it."""
    DISABLED = "disabled"
    PULL_UP = "pull-up"
    PULL_DOWN = "pull-down"


@dataclass(frozen=True, slots=True)
class Edge:
    """An input became active or inactive at this monotonic time."""

    active: bool
    at_ns: int


class OutputLine(Protocol):
    """A line that this process drives: inactive from the request until set, and after `close`.

    One thread at a time uses it. When the process dies the hardware keeps the last level unless the
    board has a resistor or a timer of its own that says otherwise.
    """

    def set(self, active: bool) -> None:
        """Raises GpioLost for a chip that is gone, GpioError otherwise."""
        ...

    def close(self) -> None:
        """Sets the line inactive and gives it back, both whatever fails; twice is allowed.

        Raises GpioError where the line could not be set inactive.
        """
        ...


class InputLine(Protocol):
    """A line that this process listens to. One thread at a time uses it."""

    def wait(self, timeout: float) -> tuple[Edge, ...]:
        """Changes since the last call, oldest first; () where none comes within `timeout` seconds.

        Raises GpioLost for a chip that is gone, GpioError otherwise.
        """
        ...

    def level(self) -> bool:
        """Whether the line is active now. Raises GpioLost or GpioError."""
        ...

    @property
    def fd(self) -> int:
        """Readable when `wait` would find something; the line's own, valid until `close`."""
        ...

    def close(self) -> None:
        """Gives the line back; twice is allowed."""
        ...


class Chip(Protocol):
    """An open GPIO chip; lines taken from it outlive its `close`."""

    @property
    def name(self) -> str:
        """What a person calls it: its label and where it is."""
        ...

    def output(self, line: str, *, active_low: bool = False) -> OutputLine:
        """Takes a line by name and sets it inactive.

        Raises GpioLost where the chip has no such line, GpioBusy where somebody has it.
        """
        ...

    def input(
        self,
        line: str,
        *,
        edges: Edges = Edges.BOTH,
        debounce: float = 0.0,
        bias: Bias = Bias.AS_IS,
        active_low: bool = False,
    ) -> InputLine:
        """Takes a line by name; a level counts once it has lasted `debounce` seconds.

        Raises GpioLost where the chip has no such line, GpioBusy where somebody has it.
        """
        ...

    def close(self) -> None:
        """Twice is allowed."""
        ...
