"""A gate that a face picture fails, in words: its figure and what would have passed."""

from __future__ import annotations

from edgefaced.core.gates import QualityLimits
from edgefaced.types import Quality


def explain_fault(fault: str, quality: Quality, limits: QualityLimits) -> str:
    """The figure behind a fault that `quality_faults` names, and its limit."""
    match fault:
        case "too small":
            return (
                f"eyes {quality.interocular_px:.0f} px apart, "
                f"at least {limits.minimum_interocular_px:.0f}"
            )
        case "cut off":
            return (
                f"{quality.inside:.0%} of the face in the picture, "
                f"at least {limits.minimum_inside:.0%}"
            )
        case "dark":
            return f"brightness {quality.brightness:.0f}, at least {limits.minimum_brightness:.0f}"
        case "overexposed":
            return f"brightness {quality.brightness:.0f}, at most {limits.maximum_brightness:.0f}"
        case "clipped":
            return f"{quality.clipped:.0%} black or white, at most {limits.maximum_clipped:.0%}"
        case "low contrast":
            return f"contrast {quality.contrast:.0f}, at least {limits.minimum_contrast:.0f}"
        case "pose":
            return (
                f"turned: yaw {quality.yaw:+.2f} (±{limits.maximum_yaw:.2f}), "
                f"pitch {quality.pitch:+.2f} (±{limits.maximum_pitch:.2f}), "
                f"roll {quality.roll_degrees:+.0f}° (±{limits.maximum_roll_degrees:.0f}°)"
            )
        case "blurred":
            return f"sharpness {quality.sharpness:.0f}, at least {limits.minimum_sharpness:.0f}"
        case "occluded":
            return (
                f"symmetry {quality.symmetry:.2f}, at least {limits.minimum_symmetry:.2f}: "
                "half covered, or lit from one side"
            )
        case _:
            return fault
