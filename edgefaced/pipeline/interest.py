"""Which faces are worth cutting out: what the recognising stage tells the detecting one."""

from __future__ import annotations


class Interest:
    """Written by the recognising stage, read by the detecting one; neither waits for the other.

    A face nobody has heard of is wanted. What is read may be a batch or two old: then a face is
    offered that is not wanted any more, never the other way round.
    """

    def __init__(self) -> None:
        self._terms: dict[int, tuple[float, float]] = {}

    def settle(self, track_id: int, until: float, due: float) -> None:
        """The track is not of interest before `until`, minus infinity where it is undecided, and is
        to be seen at `due` whatever it looks like (monotonic seconds).
        """
        self._terms[track_id] = until, due

    def forget(self, track_id: int) -> None:
        """The track has left."""
        self._terms.pop(track_id, None)

    def wants(self, track_id: int, now: float) -> bool:
        """Whether the recognising stage would look at the face."""
        return now >= self._of(track_id)[0]

    def is_decided(self, track_id: int) -> bool:
        """Whether it was decided once, whatever it is looked at again for."""
        return self._of(track_id)[0] > float("-inf")

    def is_due(self, track_id: int, now: float) -> bool:
        """Whether patience with it is over: the recognising stage has a word for what it sees."""
        return now >= self._of(track_id)[1]

    def _of(self, track_id: int) -> tuple[float, float]:
        return self._terms.get(track_id, (float("-inf"), float("inf")))
