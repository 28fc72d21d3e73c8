"""A chip that behaves as libgpiod documents, under the real library's own classes."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import gpiod
from gpiod.line import Direction, Edge, Value

RISING, FALLING = gpiod.EdgeEvent.Type.RISING_EDGE, gpiod.EdgeEvent.Type.FALLING_EDGE


@dataclass
class Wire:
    """One line: its voltage outlives whoever drove it."""

    name: str
    high: bool = False
    consumer: str = ""
    request: FakeRequest | None = None


@dataclass
class Board:
    """Chips by the path of their node."""

    chips: dict[str, tuple[str, list[Wire]]]
    refused: dict[str, int] = field(default_factory=dict)
    """Nodes that answer with an error number."""
    pulled: set[str] = field(default_factory=set)
    """Nodes that can still be opened, and answer no more."""
    settings: list[gpiod.LineSettings] = field(default_factory=list)
    """What was asked, in order."""

    def open(self, path: str) -> gpiod.Chip:
        number = self.refused.get(path) or (0 if path in self.chips else errno.ENOENT)
        if number:
            raise OSError(number, os.strerror(number))
        return FakeChip(self, path)

    def wire(self, name: str) -> Wire:
        return next(w for _, wires in self.chips.values() for w in wires if w.name == name)

    def drive(self, name: str, high: bool) -> None:
        """Puts a voltage on a line from outside."""
        wire = self.wire(name)
        changed, wire.high = wire.high != high, high
        if changed and wire.request is not None:
            wire.request.happen()


class FakeChip(gpiod.Chip):
    def __init__(self, board: Board, path: str) -> None:
        self._board, self._place = board, path
        self._label, self._wires = board.chips[path]
        self.closed = False

    @property
    def path(self) -> str:
        return self._place

    def close(self) -> None:
        self.closed = True

    def get_info(self) -> Any:
        if self._place in self._board.pulled:
            raise OSError(errno.ENODEV, os.strerror(errno.ENODEV))
        return SimpleNamespace(label=self._label, num_lines=len(self._wires))

    def get_line_info(self, line: int | str) -> Any:
        assert isinstance(line, int)
        wire = self._wires[line]
        return SimpleNamespace(name=wire.name, consumer=wire.consumer, used=bool(wire.consumer))

    def request_lines(
        self,
        config: dict[Iterable[int | str] | int | str, gpiod.LineSettings | None],
        consumer: str | None = None,
        event_buffer_size: int | None = None,
        output_values: dict[int | str, Value] | None = None,
    ) -> gpiod.LineRequest:
        assert not self.closed
        ((offset, settings),) = config.items()
        assert isinstance(offset, int)
        assert settings is not None
        wire = self._wires[offset]
        if wire.consumer:
            raise OSError(errno.EBUSY, os.strerror(errno.EBUSY))
        self._board.settings.append(settings)
        wire.consumer = consumer or "?"
        return FakeRequest(self._board, wire, settings)


class FakeRequest(gpiod.LineRequest):
    def __init__(self, board: Board, wire: Wire, settings: gpiod.LineSettings) -> None:
        self._board, self._wire, self._settings = board, wire, settings
        self._reader, self._writer = os.pipe2(os.O_CLOEXEC)
        self._waiting: list[Any] = []
        self.gone = False
        wire.request = self
        if settings.direction is Direction.OUTPUT:
            wire.high = (settings.output_value is Value.ACTIVE) is not settings.active_low

    @property
    def fd(self) -> int:
        return self._reader

    def _check(self) -> None:
        if self._wire.request is not self:
            raise gpiod.RequestReleasedError
        if self.gone:
            raise OSError(errno.ENODEV, os.strerror(errno.ENODEV))

    def vanish(self) -> None:
        """The chip is unplugged."""
        self.gone = True
        os.write(self._writer, b"!")

    def happen(self) -> None:
        active = self._wire.high is not self._settings.active_low
        wanted = {Edge.BOTH, Edge.RISING if active else Edge.FALLING}
        if self._settings.edge_detection in wanted:
            kind = RISING if active else FALLING
            self._waiting.append(SimpleNamespace(event_type=kind, timestamp_ns=time.monotonic_ns()))
            os.write(self._writer, b"e")

    def get_value(self, line: int | str) -> Value:
        self._check()
        active = self._wire.high is not self._settings.active_low
        return Value.ACTIVE if active else Value.INACTIVE

    def set_value(self, line: int | str, value: Value) -> None:
        self._check()
        assert self._settings.direction is Direction.OUTPUT
        self._wire.high = (value is Value.ACTIVE) is not self._settings.active_low

    def read_edge_events(self, max_events: int | None = None) -> list[gpiod.EdgeEvent]:
        self._check()
        os.read(self._reader, 4096)
        found, self._waiting = self._waiting, []
        return found

    def release(self) -> None:
        if self._wire.request is self:
            self._wire.request, self._wire.consumer = None, ""
            os.close(self._reader)
            os.close(self._writer)
