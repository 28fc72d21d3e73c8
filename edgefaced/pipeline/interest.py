"""Which faces are worth cutting out: what the recognising stage tells the detecting one."""

from __future__ import annotations


class Interest:
    """Written by the recognising stage, read by the detecting one; neither waits for the other.

    A face nobody has heard of is wanted. What is read may be a batch or two old: then a face is
    offered that is not wanted any more, never the other way round.
    """

    def __init__(self) -> None:
        self._settled_until: dict[int, float] = {}

    def settle(self, track_id: int, until: float) -> None:
        """The track is decided, and not of interest before `until` (monotonic seconds)."""
        self._settled_until[track_id] = until

    def forget(self, track_id: int) -> None:
        """The track has left."""
        self._settled_until.pop(track_id, None)

    def wants(self, track_id: int, now: float) -> bool:
        """Whether the recognising stage would look at the face."""
        return now >= self._settled_until.get(track_id, float("-inf"))
