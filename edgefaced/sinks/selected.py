"""A sink that is told some kinds of events only."""

from __future__ import annotations

from collections.abc import Callable, Collection

from edgefaced.events import Event
from edgefaced.protocols import EventSink
from edgefaced.sinks.shape import discreet, document


class SelectedSink:
    """Passes on the events of some kinds; the others count as taken."""

    def __init__(
        self,
        sink: EventSink,
        kinds: Collection[str],
        close_besides: Callable[[], None],
        *,
        duress: bool,
    ) -> None:
        """`close_besides` closes what the sink was lent, after it; `duress` tells it of alarms."""
        self._sink = sink
        self._kinds = frozenset(kinds)
        self._close_besides = close_besides
        self._duress = duress

    def emit(self, event: Event) -> None:
        """Raises what the sink raises."""
        if document(event)["type"] in self._kinds:
            self._sink.emit(event if self._duress else discreet(event))

    def close(self) -> None:
        try:
            self._sink.close()
        finally:
            self._close_besides()
