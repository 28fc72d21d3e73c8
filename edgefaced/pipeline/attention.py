"""Which faces are worth judging, which of them in every frame, and which are good enough."""

from __future__ import annotations

import math
from collections.abc import Sequence

from edgefaced.core.gates import QualityLimits, eased, quality_faults
from edgefaced.core.tracking import Track
from edgefaced.pipeline.faces import SeenFace
from edgefaced.pipeline.interest import Interest
from edgefaced.pipeline.tap import FaceTap
from edgefaced.types import Quality

WAVER = 0.05
"""By such a share of themselves the figures of a face's quality vary from look to look."""


class Attention:
    """The detecting stage's own; it knows what the recognising one has made of the faces before."""

    def __init__(self, limits: QualityLimits, interest: Interest, tap: FaceTap) -> None:
        self._limits, self._eased = limits, eased(limits, WAVER)
        self._interest = interest
        self._tap = tap
        self._good: frozenset[int] = frozenset()

    def wants(self, track_id: int, now: float) -> bool:
        """Whether somebody would look at the face; whoever looks through the tap does at all."""
        return self._tap.watched or self._interest.wants(track_id, now)

    def is_calm(self, track: Track, now: float, scale: float) -> bool:
        """Whether it need not be seen in every frame: nothing is wanted of it, or it is too poor to
        judge and was judged before, or is too far away. `scale` is what its pixels are enlarged by.
        """
        if not self.wants(track.id, now):
            return True
        if self._tap.watched or self._interest.is_due(track.id, now) or track.id in self._good:
            return False
        left, right, *_ = track.detection.landmarks.tolist()
        too_far = math.dist(left, right) * scale < self._limits.minimum_interocular_px
        return too_far or self._interest.is_decided(track.id)

    def faults(self, track_id: int, quality: Quality) -> tuple[str, ...]:
        """The gates that a face fails; one that passed them when it was last seen has some room."""
        return quality_faults(quality, self._eased if track_id in self._good else self._limits)

    def note(self, tracks: Sequence[Track], faces: Sequence[SeenFace]) -> None:
        """Takes what was seen of those in view."""
        seen = {face.track.id for face in faces}
        good = self._good - seen | {face.track.id for face in faces if not face.faults}
        self._good = good & {track.id for track in tracks}
