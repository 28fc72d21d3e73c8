"""When a frame happened, by the driver's stamp where that can be true."""

from __future__ import annotations

CREDIBLE_NS = 10_000_000_000
"""A stamp older than this is of another clock: frames do not wait so long."""


def happened_ns(stamp_ns: int | None, now_ns: int) -> int:
    """The stamp, or `now_ns` where there is none, or one of the future or of long ago."""
    if stamp_ns is None or not now_ns - CREDIBLE_NS <= stamp_ns <= now_ns:
        return now_ns
    return stamp_ns
