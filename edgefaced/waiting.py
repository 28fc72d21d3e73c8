"""A service whose model pack is not here yet: up, saying what is missing, deciding nothing.

It looks again every few seconds and begins by itself. Whatever else is wrong ends it at once.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Generator
from contextlib import ExitStack, suppress
from queue import Empty, SimpleQueue
from types import FrameType
from typing import TypeVar

from edgefaced.config.places import Places
from edgefaced.config.settings import Settings
from edgefaced.control.contract import Document, Request
from edgefaced.control.peer import Access, Peer, rule_of_this_process
from edgefaced.control.server import ControlServer
from edgefaced.errors import ConfigError, ModelMissing, Waiting
from edgefaced.outlets import record_trouble
from edgefaced.supervisor import Supervisor

LOOK_SECONDS = 5.0

Begun = TypeVar("Begun")


class Patience:
    """Begins as soon as the model pack is here. The caller's thread must be the main one."""

    def __init__(
        self,
        settings: Settings,
        places: Places,
        supervisor: Supervisor,
        say: Callable[[str], None],
        *,
        look_seconds: float = LOOK_SECONDS,
    ) -> None:
        self._settings, self._places = settings, places
        self._supervisor, self._say = supervisor, say
        self._look_seconds = look_seconds
        # Not an Event: a signal handler may interrupt whoever holds its lock, and this has none.
        self._wake: SimpleQueue[int] = SimpleQueue()
        self._missing = ModelMissing("")

    def until(self, begin: Callable[[], Begun]) -> Begun | None:
        """What `begin` gives; None where a signal ended the wait. Raises what `begin` raises."""
        try:
            return begin()
        except ModelMissing as missing:
            self._announce(missing)
        numbers = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
        before = {number: signal.signal(number, self._on_signal) for number in numbers}
        try:
            with ExitStack() as services:
                self._open_control(services)
                return self._look_again(begin)
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _look_again(self, begin: Callable[[], Begun]) -> Begun | None:
        while True:
            self._supervisor.status(f"WAITING, nobody is recognised: {self._missing}")
            self._supervisor.ready()
            # Honest: every look is progress, and nothing else is to be done.
            self._supervisor.alive()
            number = None
            with suppress(Empty):
                number = self._wake.get(timeout=self._look_seconds)
            if number in (signal.SIGTERM, signal.SIGINT):
                self._supervisor.stopping()
                return None
            if number == signal.SIGHUP:
                self._supervisor.reloading()
            try:
                return begin()
            except ModelMissing as missing:
                if str(missing) != str(self._missing):
                    self._announce(missing)

    def _announce(self, missing: ModelMissing) -> None:
        self._missing = missing
        self._say(f"waiting: {missing}")
        # Why doors stay shut is to be found where everything else about them is.
        record_trouble(self._places, "start", str(missing))

    def _open_control(self, services: ExitStack) -> None:
        path = self._places.control_sockets(self._settings)[0]
        rule = rule_of_this_process(self._settings.control.group_access)
        try:
            services.enter_context(ControlServer(path, self._refuse, rule))
        except ConfigError as error:
            self._say(f"trouble in control: {error}")

    def _refuse(
        self, request: Request, access: Access, peer: Peer
    ) -> Generator[Document | None, None, None]:
        yield from ()
        missing = self._missing
        raise Waiting(f"the service waits, nobody is recognised: {missing.message}", missing.hint)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self._wake.put(number)
