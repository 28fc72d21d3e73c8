"""Events to a program: called once an event, with its document on stdin and no shell between."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from edgefaced.errors import EventRefused, SinkAway
from edgefaced.events import Event
from edgefaced.sinks.journal import harmless
from edgefaced.sinks.patience import Patience
from edgefaced.sinks.program import Ended, run_bounded
from edgefaced.sinks.wire import NameOf, described, packed

REFUSES = 65
"""EX_DATAERR of sysexits.h: the program will never take this event."""
ENVIRONMENT: Mapping[str, str] = MappingProxyType(
    {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8"}
)
TOLD = ("event_id", "type", "camera", "outcome", "door", "granted", "state", "direction")
"""Values of the document that the environment has as well, for scripts that read no JSON."""
SHOWN_CHARACTERS = 200


class CommandSink:
    """Exit 0 is "taken", 65 "never", everything else and a time-out "again"."""

    def __init__(
        self,
        argv: Sequence[str],
        *,
        seconds: float,
        stop: threading.Event,
        name_of: NameOf | None = None,
    ) -> None:
        self._argv = tuple(argv)
        self._seconds = seconds
        self._stop = stop
        self._name_of = name_of

    def emit(self, event: Event) -> None:
        """Raises OSError where the program cannot be started, SinkAway or EventRefused."""
        body = described(event, self._name_of)
        ended = run_bounded(
            self._argv,
            packed(body) + b"\n",
            environment(body),
            Patience(self._seconds, self._stop),
        )
        if ended.code == 0:
            return
        program = harmless(self._argv[0])
        # Who knows names may say them, and what a sink complains of goes into the ledger.
        words = last_words(ended) if self._name_of is None else ""
        if ended.code == REFUSES:
            raise EventRefused(f"{program} refuses it{words}")
        if ended.code is None:
            if self._stop.is_set():
                raise SinkAway(f"{program} was stopped, because all stops")
            raise SinkAway(f"{program} took more than {self._seconds:g} s and was killed")
        how = f"exit {ended.code}" if ended.code > 0 else f"killed by signal {-ended.code}"
        raise SinkAway(f"{program}: {how}{words}")

    def close(self) -> None:
        """Nothing outlives `emit`."""


def environment(body: Mapping[str, Any]) -> dict[str, str]:
    """All that the program finds in its environment."""
    told = {f"EDGEFACED_{key.upper()}": body[key] for key in TOLD if body.get(key) is not None}
    if body.get("id") is not None:
        told["EDGEFACED_PERSON"] = body["id"]
    return {**ENVIRONMENT, **{key: harmless(_word(value)) for key, value in told.items()}}


def last_words(ended: Ended) -> str:
    """The last line that a program said, fit for a log."""
    lines = ended.said.decode(errors="replace").split("\n")
    last = next((line.strip() for line in reversed(lines) if line.strip()), "")
    return f": {harmless(last)[:SHOWN_CHARACTERS]}" if last else ""


def _word(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
