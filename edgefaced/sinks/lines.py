"""Events as JSON lines, to a stream that somebody else keeps."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TextIO

from edgefaced.events import Event
from edgefaced.sinks.shape import document, person_of

NameOf = Callable[[str], str | None]


class JsonLines:
    """Writes one line an event and flushes it; the stream is the caller's and is not closed."""

    def __init__(self, stream: TextIO, name_of: NameOf) -> None:
        self._stream = stream
        self._name_of = name_of

    def emit(self, event: Event) -> None:
        """Raises OSError where the stream cannot be written."""
        person = person_of(event)
        name = None if person is None else self._name_of(person)
        self._stream.write(json.dumps(document(event, name), ensure_ascii=False) + "\n")
        self._stream.flush()

    def close(self) -> None:
        """Nothing to release."""
