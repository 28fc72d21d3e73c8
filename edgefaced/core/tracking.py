"""Following faces from frame to frame: constant-velocity Kalman filters and one assignment.

A track's state is the face's centre and side with their velocities, three independent filters of
two values each. Between looks the filter predicts; a detection close enough to the prediction,
in units of the face's own size, corrects it. Time is an argument.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import count

import numpy as np

from edgefaced.types import F64, Box, FaceDetection


@dataclass(frozen=True, slots=True)
class TrackingLimits:
    """Distances are in units of the face's side, times in seconds."""

    gate: float = 0.9
    """A detection farther than this from a prediction is somebody else."""
    lost_after: float = 0.8
    """A face unseen for longer has left; until then it keeps its id."""
    acceleration: float = 6.0
    """How hard a face can accelerate, in sides per second squared (process noise)."""
    jitter: float = 0.04
    """How far a detector's box wanders on a face that stands still (measurement noise)."""
    jitter_px: float = 1.0
    """By how many pixels at least: the box of a tiny face wanders by more than its share."""
    walking: float = 2.0
    """How fast a new face may be moving across, in sides per second."""
    approaching: float = 0.7
    """How fast it may be growing or shrinking, in the same unit."""
    interrupted_after: float = 3.0
    """After so long without any look nobody is taken for somebody of before."""


@dataclass(frozen=True, slots=True, eq=False)
class Motion:
    """`mean` (3, 2): value and velocity of centre x, centre y and side; `spread` (3, 2, 2)."""

    mean: F64
    spread: F64


@dataclass(frozen=True, slots=True, eq=False)
class Track:
    """One face over time: the last `detection`, and the `box` where it is believed to be now."""

    id: int
    detection: FaceDetection
    box: Box
    born: float
    seen: float
    looks: int
    motion: Motion

    def unseen_for(self, now: float) -> float:
        """Seconds since a detection last confirmed this face."""
        return now - self.seen


@dataclass(frozen=True, slots=True, eq=False)
class TrackingResult:
    """All living tracks, those that a detection confirmed now, and those that have just left."""

    tracks: tuple[Track, ...]
    seen: tuple[Track, ...]
    left: tuple[Track, ...]


def measured(box: Box) -> F64:
    """Centre x, centre y and side (the root of the area) of a box."""
    x, y = box.centre
    return np.array([x, y, np.sqrt(max(box.area, 1.0))])


def start(box: Box, limits: TrackingLimits) -> Motion:
    """A face just seen, standing still as far as anybody knows."""
    values = measured(box)
    mean = np.stack([values, np.zeros(3)], axis=1)
    speeds = np.array([limits.walking, limits.walking, limits.approaching]) * values[2]
    spread = np.zeros((3, 2, 2))
    spread[:, 0, 0] = wander(values[2], limits)
    spread[:, 1, 1] = speeds**2
    return Motion(mean, spread)


def wander(side: float, limits: TrackingLimits) -> float:
    """Variance of what a detector says of a face that stands still, in square pixels."""
    return max(limits.jitter * side, limits.jitter_px) ** 2


def predict(motion: Motion, seconds: float, limits: TrackingLimits) -> Motion:
    """Where the face will be after `seconds` at constant velocity, and how much less surely."""
    step = np.array([[1.0, seconds], [0.0, 1.0]])
    push = np.array([[seconds**4 / 4, seconds**3 / 2], [seconds**3 / 2, seconds**2]])
    side = max(float(motion.mean[2, 0]), 1.0)
    spread = step @ motion.spread @ step.T + push * (limits.acceleration * side) ** 2
    return Motion(motion.mean @ step.T, spread)


def correct(motion: Motion, box: Box, limits: TrackingLimits) -> Motion:
    """The prediction drawn towards what was seen, by how sure each of the two is."""
    values = measured(box)
    noise = wander(float(values[2]), limits)
    gain = motion.spread[:, :, 0] / (motion.spread[:, 0, 0] + noise)[:, None]
    mean = motion.mean + gain * (values - motion.mean[:, 0])[:, None]
    spread = motion.spread - gain[:, :, None] * motion.spread[:, None, 0, :]
    return Motion(mean, spread)


def moved(box: Box, motion: Motion) -> Box:
    """The box with its own proportions, at the motion's centre and side."""
    x, y, side = motion.mean[:, 0]
    scale = max(float(side), 1.0) / float(measured(box)[2])
    half_width, half_height = box.width * scale / 2, box.height * scale / 2
    return Box(x - half_width, y - half_height, x + half_width, y + half_height)


def distances(tracks: Sequence[Track], detections: Sequence[FaceDetection]) -> F64:
    """(tracks, detections): way between prediction and detection in sides, size counted too."""
    table = np.full((len(tracks), len(detections)), np.inf)
    for row, track in enumerate(tracks):
        x, y, side = track.motion.mean[:, 0]
        for column, detection in enumerate(detections):
            seen = measured(detection.box)
            unit = max(min(float(side), float(seen[2])), 1.0)
            way = np.hypot(seen[0] - x, seen[1] - y) / unit
            table[row, column] = way + abs(np.log(seen[2] / max(side, 1.0)))
    return table


def assign(table: F64, gate: float) -> list[tuple[int, int]]:
    """Pairs (row, column) with the smallest sum of distances, none of them above `gate`.

    Exact for the few faces of one frame: the shortest augmenting path per row (Jonker & Volgenant,
    Computing 38, 1987). A pair above the gate costs as much as leaving both alone.
    """
    near = table <= gate
    if (near.sum(axis=0) <= 1).all() and (near.sum(axis=1) <= 1).all():
        # Nobody has a choice, as nearly always: a third of the time.
        return [(int(r), int(c)) for r, c in np.argwhere(near)]
    rows, columns = table.shape
    size = rows + columns
    cost = np.full((size, size), gate)
    cost[rows:, columns:] = 0.0
    cost[:rows, :columns] = np.where(table <= gate, table, 2 * gate + 1)
    row_price, column_price = np.zeros(size + 1), np.zeros(size + 1)
    owner = np.zeros(size + 1, dtype=np.intp)  # row of each column, 1-based; 0 is none
    for row in range(1, size + 1):
        owner[0] = row
        column, back = 0, np.zeros(size + 1, dtype=np.intp)
        best, used = np.full(size + 1, np.inf), np.zeros(size + 1, dtype=bool)
        while owner[column]:
            used[column] = True
            reduced = cost[owner[column] - 1] - row_price[owner[column]] - column_price[1:]
            closer = ~used[1:] & (reduced < best[1:])
            best[1:][closer], back[1:][closer] = reduced[closer], column
            ahead = int(np.argmin(np.where(used[1:], np.inf, best[1:]))) + 1
            delta = best[ahead]
            row_price[owner[used]] += delta
            column_price[used] -= delta
            best[1:][~used[1:]] -= delta
            column = ahead
        while column:
            owner[column] = owner[back[column]]
            column = back[column]
    pairs = ((int(owner[c + 1]) - 1, c) for c in range(columns))
    return [(r, c) for r, c in pairs if r < rows and table[r, c] <= gate]


class Tracker:
    """Keeps the tracks of one camera: foresee where they will be, update with what was seen."""

    def __init__(self, limits: TrackingLimits | None = None) -> None:
        self._limits = limits or TrackingLimits()
        self._tracks: tuple[Track, ...] = ()
        self._time: float | None = None
        self._ids = count(1)

    def foresee(self, now: float) -> tuple[Track, ...]:
        """The tracks as they are expected at `now`; changes nothing."""
        seconds = 0.0 if self._time is None else max(now - self._time, 0.0)
        return tuple(self._ahead(track, seconds) for track in self._tracks)

    def forget(self) -> None:
        """Nobody is followed any more; ids go on."""
        self._tracks, self._time = (), None

    def update(self, detections: Sequence[FaceDetection], now: float) -> TrackingResult:
        """Takes what was found at `now` (monotonic seconds) and says who is there.

        A face seen for the first time is a track at once; ids are never used again. Time that
        stands still or runs backwards predicts nothing and forgets nobody.
        """
        limits = self._limits
        interrupted = self._time is not None and now - self._time > limits.interrupted_after
        left = list(self._tracks) if interrupted else []
        predicted = () if interrupted else self.foresee(now)
        self._time = now
        pairs = assign(distances(predicted, detections), limits.gate)
        column_of = dict(pairs)
        seen: list[Track] = []
        living: list[Track] = []
        for row, track in enumerate(predicted):
            if row in column_of:
                detection = detections[column_of[row]]
                motion = correct(track.motion, detection.box, limits)
                track = replace(
                    track,
                    detection=detection,
                    box=detection.box,
                    seen=now,
                    looks=track.looks + 1,
                    motion=motion,
                )
                seen.append(track)
                living.append(track)
            elif track.unseen_for(now) > limits.lost_after:
                left.append(track)
            else:
                living.append(track)
        for column in sorted(set(range(len(detections))) - set(column_of.values())):
            detection = detections[column]
            new = Track(
                id=next(self._ids),
                detection=detection,
                box=detection.box,
                born=now,
                seen=now,
                looks=1,
                motion=start(detection.box, limits),
            )
            seen.append(new)
            living.append(new)
        self._tracks = tuple(living)
        return TrackingResult(self._tracks, tuple(seen), tuple(left))

    def _ahead(self, track: Track, seconds: float) -> Track:
        motion = predict(track.motion, seconds, self._limits)
        return replace(track, motion=motion, box=moved(track.detection.box, motion))
