"""The gates that make faults of a face picture's figures."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from edgefaced.types import Quality


@dataclass(frozen=True, slots=True)
class QualityLimits:
    """Gates: a figure outside its limit is a fault."""

    minimum_interocular_px: float
    minimum_sharpness: float
    minimum_brightness: float
    maximum_brightness: float
    minimum_contrast: float
    maximum_clipped: float
    maximum_yaw: float
    maximum_pitch: float
    maximum_roll_degrees: float
    minimum_inside: float
    minimum_symmetry: float


def eased(limits: QualityLimits, share: float) -> QualityLimits:
    """Every limit moved away by a share of itself: for who has passed, as figures waver."""
    return QualityLimits(
        **{
            name: limit + abs(limit) * (share if name.startswith("maximum") else -share)
            for name, limit in asdict(limits).items()
        }
    )


def quality_faults(quality: Quality, limits: QualityLimits) -> tuple[str, ...]:
    """Names of the gates that fail, the gravest first; empty for a good picture.

    Every comparison is written so that NaN fails.
    """
    gates = (
        ("too small", quality.interocular_px >= limits.minimum_interocular_px),
        ("cut off", quality.inside >= limits.minimum_inside),
        ("dark", quality.brightness >= limits.minimum_brightness),
        ("overexposed", quality.brightness <= limits.maximum_brightness),
        ("clipped", quality.clipped <= limits.maximum_clipped),
        ("low contrast", quality.contrast >= limits.minimum_contrast),
        (
            "pose",
            abs(quality.yaw) <= limits.maximum_yaw
            and abs(quality.pitch) <= limits.maximum_pitch
            and abs(quality.roll_degrees) <= limits.maximum_roll_degrees,
        ),
        ("blurred", quality.sharpness >= limits.minimum_sharpness),
        ("occluded", quality.symmetry >= limits.minimum_symmetry),
    )
    return tuple(name for name, passed in gates if not passed)
