"""GPIO of the kernel, through libgpiod's own bindings (version 2)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from edgefaced.errors import DependencyMissing, GpioError, GpioLost, extra
from edgefaced.gpio.faults import CONSUMER, gpio_error, listed, nobody, spoken
from edgefaced.gpio.lines import Bias, Chip, Edge, Edges, InputLine, OutputLine
from edgefaced.gpio.waiting import readable

if TYPE_CHECKING:
    import gpiod

DEVICES = Path("/dev")

Opener = Callable[[str], "gpiod.Chip"]
"""Opens a node as a chip; raises OSError."""


def open_gpiochip(name: str, *, devices: Path = DEVICES, opener: Opener | None = None) -> Chip:
    """The chip at a path ("/dev/gpiochip0") or of a label ("pinctrl-rp1").

    Numbers change from one boot to the next, labels do not. Raises GpioLost where there is none,
    GpioError where two have the label or the node may not be opened, DependencyMissing.
    """
    opener = opener or library_opener()
    if "/" in name:
        with spoken(name, "open"):
            return KernelChip(opener(name), name)
    found: dict[str, Path] = {}
    seen: list[str] = []
    refused: GpioError | None = None
    for node in chip_nodes(devices):
        try:
            with closing(opener(str(node))) as chip:
                label = chip.get_info().label
        except OSError as error:  # also of one that is pulled out at this moment
            refused = gpio_error(error, str(node), "open", nobody)
            seen.append(f"{node} ({error.strerror})")
            continue
        seen.append(f"{label} ({node})")
        if label == name:
            found[str(node)] = node
    if len(found) > 1:
        raise GpioError(
            f"{len(found)} GPIO chips have the label {name!r}", f"take one of {listed(found)}"
        )
    for place in found:
        with spoken(place, "open"):
            return KernelChip(opener(place), f"{name} ({place})")
    if refused is not None:
        raise refused  # the one that is looked for may be behind it
    raise GpioLost(
        f"no GPIO chip {name!r}",
        f"there are: {listed(seen)}" if seen else f"{devices} has no GPIO chip at all",
    )


def library_opener() -> Opener:
    """Raises DependencyMissing."""
    try:
        import gpiod
    except ImportError as error:
        raise DependencyMissing("GPIO needs libgpiod's Python package", extra("gpio")) from error
    return gpiod.Chip


def chip_nodes(devices: Path) -> Iterator[Path]:
    """Nodes of chips by number; a link to another node is the same chip again."""
    for node in sorted(devices.glob("gpiochip*"), key=lambda n: (len(n.name), n.name)):
        if not node.is_symlink():
            yield node


class KernelChip:
    """One open chip of the kernel."""

    def __init__(self, chip: gpiod.Chip, name: str) -> None:
        self._chip, self._name = chip, name
        self._path = chip.path

    @property
    def name(self) -> str:
        return self._name

    def output(self, line: str, *, active_low: bool = False) -> OutputLine:
        import gpiod
        from gpiod.line import Direction, Value

        settings = gpiod.LineSettings(
            direction=Direction.OUTPUT, output_value=Value.INACTIVE, active_low=active_low
        )
        offset, request = self._request(line, settings)
        return KernelOutput(request, offset, self._path, line)

    def input(
        self,
        line: str,
        *,
        edges: Edges = Edges.BOTH,
        debounce: float = 0.0,
        bias: Bias = Bias.AS_IS,
        active_low: bool = False,
    ) -> InputLine:
        import gpiod
        from gpiod import line as flags

        settings = gpiod.LineSettings(
            direction=flags.Direction.INPUT,
            edge_detection=flags.Edge[edges.name],
            bias=flags.Bias[bias.name],
            active_low=active_low,
            debounce_period=timedelta(seconds=debounce),
            event_clock=flags.Clock.MONOTONIC,
        )
        offset, request = self._request(line, settings)
        return KernelInput(request, offset, self._path, line)

    def close(self) -> None:
        self._chip.close()

    def _request(self, line: str, settings: gpiod.LineSettings) -> tuple[int, gpiod.LineRequest]:
        offset = self._offset(line)

        def holder() -> str:
            return self._chip.get_line_info(offset).consumer or ""

        with spoken(self._path, f"take the line {line!r}", holder):
            return offset, self._chip.request_lines({offset: settings}, consumer=CONSUMER)

    def _offset(self, line: str) -> int:
        """By name; where no line has that name, a number is an offset: many boards name none."""
        with spoken(self._path, "list the lines"):
            count = self._chip.get_info().num_lines
            names = [self._chip.get_line_info(offset).name for offset in range(count)]
        found = [offset for offset, name in enumerate(names) if name == line]
        if len(found) > 1:
            raise GpioError(
                f"{self._path}: {len(found)} lines are named {line!r}",
                f"take one by its offset: {listed(str(offset) for offset in found)}",
            )
        if found:
            return found[0]
        if line.isascii() and line.isdigit() and int(line) < count:
            return int(line)
        named = [f"{name} ({offset})" for offset, name in enumerate(names) if name]
        raise GpioLost(
            f"{self._path}: no line {line!r}",
            f"there are: {listed(named)}; or an offset below {count}",
        )


class KernelOutput:
    """A requested output."""

    def __init__(self, request: gpiod.LineRequest, offset: int, place: str, line: str) -> None:
        self._request, self._offset = request, offset
        self._place, self._line = place, line
        self._open = True

    def set(self, active: bool) -> None:
        from gpiod.line import Value

        if not self._open:
            raise GpioError(f"{self._place}: the line {self._line!r} was given back")
        with spoken(self._place, f"set the line {self._line!r}"):
            self._request.set_value(self._offset, Value.ACTIVE if active else Value.INACTIVE)

    def close(self) -> None:
        if not self._open:
            return
        try:
            # Most chips keep the level of a line that is given back.
            self.set(False)
        finally:
            self._open = False
            self._request.release()


class KernelInput:
    """A requested input."""

    def __init__(self, request: gpiod.LineRequest, offset: int, place: str, line: str) -> None:
        self._request, self._offset = request, offset
        self._place, self._line = place, line
        self._fd = request.fd

    def wait(self, timeout: float) -> tuple[Edge, ...]:
        from gpiod import EdgeEvent

        with spoken(self._place, f"watch the line {self._line!r}"):
            if not readable(self._fd, timeout):
                return ()
            events = self._request.read_edge_events()
        rising = EdgeEvent.Type.RISING_EDGE
        return tuple(Edge(event.event_type is rising, event.timestamp_ns) for event in events)

    def level(self) -> bool:
        with spoken(self._place, f"read the line {self._line!r}"):
            return bool(self._request.get_value(self._offset))

    @property
    def fd(self) -> int:
        return self._fd

    def close(self) -> None:
        self._request.release()
