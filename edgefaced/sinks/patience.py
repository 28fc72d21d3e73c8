"""How long a sink waits for its far end."""

from __future__ import annotations

import threading
import time

GRACE_SECONDS = 1.0


class Patience:
    """So many seconds; from the moment when all stops only a short time of grace."""

    def __init__(self, seconds: float, stop: threading.Event) -> None:
        self._end = time.monotonic() + seconds
        self._stop = stop
        self._stops = False

    def is_over(self) -> bool:
        """Also notices the stop: to be asked several times a second."""
        if self._stop.is_set() and not self._stops:
            self._stops = True
            self._end = min(self._end, time.monotonic() + GRACE_SECONDS)
        return time.monotonic() >= self._end
