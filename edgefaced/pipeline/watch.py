"""Where to look in a frame: all of it now and then, closely around the known faces in between.

Looking closely costs a third of a whole look and sees a face larger. A face that is not found
where it should be brings a whole look with the next frame; where that does not find it either it is
hidden, and whole looks come a little more often until it is back or has left.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from edgefaced.core.nms import suppress
from edgefaced.core.region import crop, shifted, square_around
from edgefaced.core.tracking import Track, Tracker, TrackingResult
from edgefaced.protocols import Detector
from edgefaced.types import Box, FaceDetection, Frame

REGION_SIDES = 2.2
"""Side of the region in face sides: room for the face to move between two looks."""

SAME_FACE_IOU = 0.4

CALM_LOOK_SECONDS = 0.095
"""Faces that need not be seen in every frame are followed from every third one at 30 a second, from
every second one at 12."""

SURE_LOOKS = 3
"""After so many a face's speed is known, and frames without it may follow."""

SEARCH_SECONDS = 0.06
"""Where no face is in view, something that moves is looked at in every second frame at 30 a second:
somebody is found one frame late at most. Slower cameras give every frame."""

CLOSE_LOOK_OVERHEAD = 0.1
"""What a close look costs beyond its share of pixels, of that share."""

HIDDEN_INTERVAL = 3
"""Frames from one whole look to the next while a face is hidden."""


class Watcher:
    """Detects and tracks; used by one thread."""

    def __init__(
        self,
        whole: Detector,
        close: Detector | None,
        tracker: Tracker | None = None,
        *,
        most_close_looks: int = 2,
    ) -> None:
        """Without a `close` detector every look is a whole one, and so it is for more faces than
        `most_close_looks`, which cost as much and see less.
        """
        self._whole = whole
        self._close = close
        self._tracker = tracker or Tracker()
        self._most_close_looks = most_close_looks
        self._tracks: tuple[Track, ...] = ()
        self._since_whole = 0
        self._passed = 0
        self._looked_at = float("-inf")
        self._hidden: frozenset[int] = frozenset()
        self._missed = False
        self.whole_looks = 0
        self.close_looks = 0
        self.bytes_copied = 0

    @property
    def tracks(self) -> tuple[Track, ...]:
        """The faces that are followed, as they were at the last look."""
        return self._tracks

    def begin_anew(self) -> tuple[Track, ...]:
        """Forgets everybody, for another picture comes; who was followed. No id is used again."""
        left, self._tracks = self._tracks, ()
        self._tracker.forget()
        self._hidden, self._missed, self._looked_at = frozenset(), False, float("-inf")
        return left

    @property
    def hidden(self) -> frozenset[int]:
        """Those of them that the last whole look did not find, nor any look since."""
        return self._hidden

    def pass_over(self, *, key_frame_interval: int, now: float) -> bool:
        """Whether a frame needs no look, where no face needs one each: counts it then."""
        in_view = [t for t in self._tracks if t.id not in self._hidden]
        if in_view:
            due = self._is_due(key_frame_interval - self._passed - 1)
            passed = not (due or any(is_due(track, now) for track in in_view))
        else:
            passed = now - self._looked_at < SEARCH_SECONDS
        self._passed += passed
        return passed

    def watch(
        self, frame: Frame, *, key_frame_interval: int, now: float, calm: Collection[int] = ()
    ) -> TrackingResult:
        """Looks at a frame and says who is there; `now` in monotonic seconds.

        Of the tracks `calm` those will do that have not been looked at for a while.
        """
        step, self._passed = self._passed + 1, 0
        self._since_whole += step
        self._looked_at = now
        followed = [
            track
            for track in self._tracker.foresee(now)
            if track.id not in self._hidden and (track.id not in calm or is_due(track, now))
        ]
        # Where frames are passed over, a whole look that would be due before the next one is now.
        whole = (
            self._close is None
            or not 0 < len(followed) <= self._most_close_looks
            or self._is_due(key_frame_interval - step + 1)
        )
        if whole:
            detections = self._whole.detect(frame)
            self.bytes_copied += self._whole.bytes_copied(frame)
            self.whole_looks += 1
            self._since_whole = 0
        else:
            detections = self._look_closely(frame, followed)
        result = self._tracker.update(detections, now)
        self._tracks = result.tracks
        unseen = {t.id for t in result.tracks} - {t.id for t in result.seen}
        self._hidden = frozenset(unseen if whole else unseen & self._hidden)
        self._missed = bool((unseen - self._hidden) & {t.id for t in followed})
        return result

    def _is_due(self, key_frame_interval: int) -> bool:
        """Whether something that only a whole look sees has been waiting for long enough."""
        interval = min(key_frame_interval, HIDDEN_INTERVAL) if self._hidden else key_frame_interval
        return self._missed or self._since_whole >= interval

    def _look_closely(self, frame: Frame, tracks: Sequence[Track]) -> list[FaceDetection]:
        found: list[FaceDetection] = []
        for track in tracks:
            part = crop(frame, square_around(track.box, REGION_SIDES, frame))
            if part is None or self._close is None:
                continue
            region, left, top = part
            seen = (shifted(d, left, top) for d in self._close.detect(region))
            found += [d for d in seen if not cut_by(d.box, region, left, top, frame)]
            self.close_looks += 1
            self.bytes_copied += self._close.bytes_copied(region)
        return without_doubles(found)


def is_due(track: Track, now: float) -> bool:
    """Whether a face that need not be seen in every frame is to be seen in this one."""
    return track.looks < SURE_LOOKS or track.unseen_for(now) >= CALM_LOOK_SECONDS


def close_looks_worth(whole_pixels: float, close_pixels: float) -> int:
    """How many close looks cost less than a whole one, by the pixels of the networks' inputs."""
    return max(int(whole_pixels / close_pixels * (1 - CLOSE_LOOK_OVERHEAD)), 1)


def cut_by(box: Box, region: Frame, left: int, top: int, frame: Frame) -> bool:
    """Whether an edge of the region, not of the frame, cuts a face: a neighbour seen in part.

    The face that the region was made for lies in its middle; the neighbour has its own region.
    """
    return (
        (left > 0 and box.left <= left)
        or (top > 0 and box.top <= top)
        or (left + region.width < frame.width and box.right >= left + region.width)
        or (top + region.height < frame.height and box.bottom >= top + region.height)
    )


def without_doubles(detections: Sequence[FaceDetection]) -> list[FaceDetection]:
    """Detections of overlapping regions, each face once, best first."""
    if len(detections) < 2:
        return list(detections)
    boxes = np.array(
        [[d.box.left, d.box.top, d.box.right, d.box.bottom] for d in detections], np.float32
    )
    scores = np.array([d.score for d in detections], np.float32)
    return [detections[i] for i in suppress(boxes, scores, SAME_FACE_IOU)]
