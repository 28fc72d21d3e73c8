"""Waiting for a descriptor."""

from __future__ import annotations

import math
import select


def readable(fd: int, timeout: float) -> bool:
    """Whether `fd` can be read, or has failed, now or within `timeout` seconds."""
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    return bool(poll.poll(math.ceil(max(timeout, 0.0) * 1000)))
