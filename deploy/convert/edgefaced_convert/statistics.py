"""How a set's pictures are distributed, and whether other pictures still are.

Only means and histograms: a device can keep those of its recent frames and compare them with the
set its networks were calibrated with, without keeping a picture.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import numpy as np

from edgefaced.errors import UsageError
from edgefaced_convert.conditions import Figures

BINS: dict[str, tuple[float, ...]] = {
    "brightness": (40, 60, 80, 100, 120, 140, 160, 180, 200),
    "contrast": (15, 25, 35, 45, 55, 65),
    "surroundings": (30, 50, 70, 90, 110, 130, 150, 180),
    "colour": (3, 10, 20, 30, 45, 60),
    "eye_share": (0.02, 0.04, 0.06, 0.09, 0.12, 0.18, 0.25),
    "yaw": (-0.5, -0.3, -0.15, 0.15, 0.3, 0.5),
    "pitch": (-0.5, -0.25, -0.12, 0.12, 0.25, 0.5),
}
"""Inner edges; the first and last bin are open."""

MOVED = 0.25
"""Population stability index from which two samples are taken for different (the usual bar of
credit scoring, where it comes from). A balanced set differs from any natural sample: no alarm."""
THIN, LEFT = 0.02, 0.10
"""So small a share of the set in a bin does not cover it; so large a share of the recent faces in
such bins has left the set."""

FEWEST = 50
"""Faces below which a histogram says nothing."""


@dataclass(frozen=True, slots=True)
class Distribution:
    """Of one figure: `shares` of the bins that BINS gives it."""

    mean: float
    deviation: float
    shares: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Statistics:
    """Of a set of pictures."""

    faces: int
    figures: dict[str, Distribution]


@dataclass(frozen=True, slots=True)
class Drift:
    """One figure: the share of the recent faces where the set has hardly any, and how far it moved.

    `index` is the population stability index.
    """

    figure: str
    uncovered: float
    index: float
    mean: float
    recent_mean: float

    @property
    def left(self) -> bool:
        """Whether the recent pictures have left what the set covers."""
        return self.uncovered >= LEFT


def statistics_of(measured: Sequence[Figures]) -> Statistics:
    """Raises UsageError for nothing."""
    if not measured:
        raise UsageError("no face was measured", "are there faces in these pictures?")
    figures = {}
    for name in (field.name for field in fields(Figures)):
        values = np.array([getattr(one, name) for one in measured])
        places = np.digitize(values, BINS[name])
        counts = np.bincount(places, minlength=len(BINS[name]) + 1)
        shares = tuple(round(float(c) / len(measured), 5) for c in counts)
        figures[name] = Distribution(
            round(float(values.mean()), 4), round(float(values.std()), 4), shares
        )
    return Statistics(len(measured), figures)


def drift_between(reference: Statistics, recent: Statistics) -> list[Drift]:
    """Every figure, the least covered first. An empty bin counts as half a face in the index."""
    found = []
    for name, before in reference.figures.items():
        after = recent.figures[name]
        uncovered = index = 0.0
        for share, now in zip(before.shares, after.shares, strict=True):
            a, b = max(share, 0.5 / reference.faces), max(now, 0.5 / recent.faces)
            index += (b - a) * math.log(b / a)
            uncovered += now if share < THIN else 0.0
        drift = Drift(name, round(uncovered, 4), round(index, 4), before.mean, after.mean)
        found.append(drift)
    return sorted(found, key=lambda one: (-one.uncovered, -one.index))


def to_json(statistics: Statistics) -> str:
    return json.dumps({"statistics": 1, **asdict(statistics)}, indent=1) + "\n"


def parse_statistics(text: str, source: str) -> Statistics:
    """Raises UsageError for anything else than what `to_json` writes."""
    try:
        table = json.loads(text)
        figures = {
            name: Distribution(
                float(entry["mean"]), float(entry["deviation"]), tuple(map(float, entry["shares"]))
            )
            for name, entry in table["figures"].items()
        }
        faces = int(table["faces"])
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UsageError(f"{source} is no file of statistics: {error}") from error
    wanted = {name: len(edges) + 1 for name, edges in BINS.items()}
    if {name: len(d.shares) for name, d in figures.items()} != wanted or faces < 1:
        raise UsageError(f"{source} has other figures than this version's", "make it again")
    return Statistics(faces, figures)


def read_statistics(path: Path) -> Statistics:
    """Raises UsageError."""
    try:
        return parse_statistics(path.read_text(encoding="utf-8"), str(path))
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: {error}", "`calibrate-set statistics` writes one") from error
