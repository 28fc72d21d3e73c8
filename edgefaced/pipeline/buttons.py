"""The stage that listens to two buttons, one for coming and one for going.

A line that is absent, taken or broken is told once and tried again; nothing else waits for it.
"""

from __future__ import annotations

import select
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, closing

from edgefaced.errors import DependencyMissing, GpioError
from edgefaced.events import DirectionChosen, Happening, Trouble
from edgefaced.gpio.lines import InputLine
from edgefaced.pipeline.crew import Heartbeat
from edgefaced.types import Direction

WAIT_SECONDS = 0.5
"""How long the stage listens before it shows that it is alive."""

PAUSE_SECONDS = 1.0
"""Before lines that have failed are taken again."""

BOUNCE_NS = 500_000_000
"""Within this a button is pressed once, whatever its contacts do: a second press would be taken
for the next person's."""

WHERE = "attendance buttons"


class Buttons:
    """Body of the stage."""

    def __init__(
        self,
        open_lines: Mapping[Direction, Callable[[], InputLine]],
        *,
        pause_seconds: float = PAUSE_SECONDS,
    ) -> None:
        """The functions take a line that is active while its button is pressed."""
        self._open_lines = open_lines
        self._pause_seconds = pause_seconds
        self._over = threading.Event()
        self._stop = threading.Event()
        self._announce: Callable[[Happening], None] = _to_nobody
        self._pressed_ns: dict[Direction, int] = {}
        self._said = False

    def connect(
        self,
        announce: Callable[[Happening], None],
        camera: Callable[[], str | None],
        stop: threading.Event,
    ) -> None:
        """Before it runs: where happenings go, and what ends everything."""
        self._announce, self._stop = announce, stop

    def run(self, heartbeat: Heartbeat) -> None:
        """Until everything stops, or `end`."""
        while not self._ended():
            heartbeat.beat()
            try:
                with ExitStack() as taken:
                    lines = {
                        direction: taken.enter_context(closing(open_line()))
                        for direction, open_line in self._open_lines.items()
                    }
                    self._tell_well()
                    self._listen(lines, heartbeat)
            except (GpioError, DependencyMissing) as error:
                self._tell_fault(error)
            self._rest(heartbeat)

    def end(self) -> None:
        """Ends it soon; from any thread."""
        self._over.set()

    def _listen(self, lines: Mapping[Direction, InputLine], heartbeat: Heartbeat) -> None:
        poll = select.poll()
        directions = {line.fd: direction for direction, line in lines.items()}
        for fd in directions:
            poll.register(fd, select.POLLIN)
        while not self._ended():
            heartbeat.beat()
            for fd, _ in poll.poll(WAIT_SECONDS * 1000):
                direction = directions[fd]
                for edge in lines[direction].wait(0.0):
                    if edge.active:
                        self._press(direction, edge.at_ns)

    def _press(self, direction: Direction, at_ns: int) -> None:
        before = self._pressed_ns.get(direction)
        self._pressed_ns[direction] = at_ns
        if before is None or at_ns - before > BOUNCE_NS:
            self._announce(DirectionChosen(direction))

    def _tell_well(self) -> None:
        if self._said:
            self._announce(Trouble(WHERE, "they answer again"))
        self._said = False

    def _tell_fault(self, error: GpioError | DependencyMissing) -> None:
        if not self._said:
            self._announce(Trouble(WHERE, f"nobody can choose a direction: {error}"))
        self._said = True

    def _ended(self) -> bool:
        return self._stop.is_set() or self._over.is_set()

    def _rest(self, heartbeat: Heartbeat) -> None:
        end = time.monotonic() + self._pause_seconds
        while not self._ended() and (left := end - time.monotonic()) > 0:
            heartbeat.beat()
            self._over.wait(min(left, WAIT_SECONDS))


def _to_nobody(happening: Happening) -> None:
    """Before `connect`."""
