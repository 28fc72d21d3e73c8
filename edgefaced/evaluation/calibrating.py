"""From all comparisons of a set to a manifest's calibration."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from math import ceil, floor, log10

from edgefaced.core.calibration import ScoreCalibration
from edgefaced.core.comparisons import Comparisons
from edgefaced.core.impostors import calibrate
from edgefaced.core.peaks import LEAST_COMPARISONS, LEAST_PEOPLE, enough
from edgefaced.core.suspects import Suspects, find_suspects
from edgefaced.core.tail import ParetoTail
from edgefaced.errors import Refused
from edgefaced.evaluation.people import Pictures
from edgefaced.models.manifest import CalibrationSpec, TailSpec

DIGITS = 4


@dataclass(frozen=True, slots=True, eq=False)
class Measured:
    """Both calibrations of one set: of everything, and without the suspects; and who they are."""

    everything: ScoreCalibration
    without_suspects: ScoreCalibration
    suspects: Suspects


def refuse_too_few(pictures: Pictures) -> None:
    """Raises Refused where it would not do even if every picture had a face that can be used."""
    pictures_of = Counter(pictures.owners)
    total = len(pictures.owners)
    impostors = (total**2 - sum(count**2 for count in pictures_of.values())) // 2
    if len(pictures_of) < LEAST_PEOPLE or impostors < LEAST_COMPARISONS:
        raise _too_few(len(pictures_of), impostors)


def _too_few(people: int, impostors: int) -> Refused:
    return Refused(
        f"{people} people and {impostors:,} comparisons of different "
        f"people are too few: a calibration needs {LEAST_PEOPLE} and {LEAST_COMPARISONS:,}",
        "more people help, more pictures of the same people hardly; 142 people with one "
        "picture each are enough to begin with",
    )


def measure_calibration(comparisons: Comparisons) -> Measured:
    """Raises Refused, with the numbers, where there is too little to measure."""
    if not enough(comparisons):
        raise _too_few(comparisons.people, comparisons.impostors)
    try:
        suspects = find_suspects(comparisons)
        return Measured(
            everything=calibrate(comparisons),
            without_suspects=calibrate(comparisons, without=suspects),
            suspects=suspects,
        )
    except ValueError as error:
        raise Refused(
            f"the impostor scores cannot be calibrated: {error}",
            "is this an embedder of faces, and does each sub-folder hold one person?",
        ) from error


def spec_of(
    calibration: ScoreCalibration, *, measured_on: str, detector: str, excluded: int
) -> CalibrationSpec:
    """The manifest's form, rounded: bounds upwards, estimates to the nearest."""
    knots = calibration.knots
    return CalibrationSpec(
        measured_on=measured_on,
        detector=detector,
        identities=calibration.identities,
        comparisons=calibration.comparisons,
        excluded_comparisons=excluded,
        scores=tuple(knot.score for knot in knots),
        fmr=tuple(rounded(knot.fmr) for knot in knots),
        fmr_upper=tuple(rounded_up(knot.fmr_upper) for knot in knots),
        tail=_tail_spec(calibration.tail),
        tail_upper=_tail_spec(calibration.tail_upper),
    )


def rounded(value: float) -> float:
    """To four significant digits."""
    return float(f"{value:.{DIGITS}g}")


def rounded_up(value: float) -> float:
    """To four significant digits, never below `value`."""
    step = 10.0 ** (floor(log10(value)) - DIGITS + 1)
    return max(rounded(ceil(value / step) * step), rounded(value))


def _tail_spec(tail: ParetoTail) -> TailSpec:
    # Scale and shape decide far away from where they were fitted: six digits.
    return TailSpec(
        start=float(f"{tail.start:.6g}"),
        rate=float(f"{tail.rate:.6g}"),
        scale=float(f"{tail.scale:.6g}"),
        shape=float(f"{tail.shape:.6g}"),
    )
