"""The listening stage: a motion sensor at a GPIO line, which opens the gate to detection at once.

It only ever adds looks. A line that is absent, taken or broken is reported and tried again, and
the camera's own picture decides meanwhile, as it does where there is no sensor.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import closing

from edgefaced.errors import DependencyMissing, GpioError
from edgefaced.events import Happening, Trouble
from edgefaced.gpio.lines import InputLine
from edgefaced.pipeline.crew import Heartbeat

WAIT_SECONDS = 0.5
"""How long the stage listens before it shows that it is alive."""

LONGEST_SECONDS = 60.0
"""A line that stays active for longer than this is stuck, or the room is full: the picture, which
sees either, decides again."""

PAUSES_SECONDS = (1.0, 30.0)


class MotionWatch:
    """Body of the stage, and what it has noticed."""

    def __init__(
        self,
        open_line: Callable[[], InputLine],
        announce: Callable[[Happening], None],
        stop: threading.Event,
        *,
        pauses: tuple[float, float] = PAUSES_SECONDS,
    ) -> None:
        """`pauses` are the first and the longest one before the line is taken again."""
        self._open_line = open_line
        self._announce = announce
        self._stop = stop
        self._first_pause, self._longest_pause = pauses
        self._over = threading.Event()
        self._noticed = threading.Event()
        self._active_since_ns: int | None = None
        self.up: bool | None = None
        """Whether the line is listened to; None before the first try."""
        self.motions = 0
        """Times that motion began."""

    def moved(self, now: float) -> bool:
        """Whether motion began since the last call, or goes on at `now` (monotonic seconds)."""
        began = self._noticed.is_set()
        self._noticed.clear()
        since_ns = self._active_since_ns
        return began or (since_ns is not None and now - since_ns / 1e9 <= LONGEST_SECONDS)

    def run(self, heartbeat: Heartbeat) -> None:
        """Until `stop` or `end`."""
        pause = self._first_pause
        while not self._ended():
            heartbeat.beat()
            try:
                with closing(self._open_line()) as line:
                    self._listen(line, heartbeat)
            except (GpioError, DependencyMissing) as error:
                if self.up:
                    pause = self._first_pause  # it worked until now
                self._lose(error)
            self._wait(pause, heartbeat)
            pause = min(pause * 2, self._longest_pause)

    def end(self) -> None:
        """The line that it watches for is over; from any thread."""
        self._over.set()

    def _listen(self, line: InputLine, heartbeat: Heartbeat) -> None:
        if line.level():
            self._begin(time.monotonic_ns())
        if self.up is False:
            self._announce(Trouble("motion sensor", "answers again"))
        self.up = True
        while not self._ended():
            heartbeat.beat()
            for edge in line.wait(WAIT_SECONDS):
                if edge.active:
                    self._begin(edge.at_ns)
                else:
                    self._active_since_ns = None

    def _begin(self, at_ns: int) -> None:
        self._active_since_ns = at_ns
        self.motions += 1
        self._noticed.set()

    def _lose(self, error: GpioError | DependencyMissing) -> None:
        self._active_since_ns = None
        if self.up is not False:
            self.up = False
            detail = f"not trusted, the camera's picture decides alone: {error}"
            self._announce(Trouble("motion sensor", detail))

    def _ended(self) -> bool:
        return self._stop.is_set() or self._over.is_set()

    def _wait(self, seconds: float, heartbeat: Heartbeat) -> None:
        """A pause in which the stage still beats."""
        while seconds > 0 and not self._ended():
            heartbeat.beat()
            self._over.wait(min(seconds, WAIT_SECONDS))
            seconds -= WAIT_SECONDS
