"""Every gate has words: its figure and its limit."""

from __future__ import annotations

import pytest

from edgefaced.config.sections import QualitySection
from edgefaced.core.gates import quality_faults
from edgefaced.core.quality_words import explain_fault
from edgefaced.types import Quality

LIMITS = QualitySection().limits()
WORST = Quality(
    interocular_px=3,
    sharpness=1,
    brightness=300,
    contrast=1,
    clipped=0.9,
    yaw=1,
    pitch=-1,
    roll_degrees=90,
    inside=0.1,
    symmetry=-0.9,
)


@pytest.mark.parametrize("fault", quality_faults(WORST, LIMITS))
def test_a_fault_is_said_with_figure_and_limit(fault: str) -> None:
    words = explain_fault(fault, WORST, LIMITS)
    assert words != fault
    assert sum(c.isdigit() for c in words) >= 2
    assert "at least" in words or "at most" in words or "±" in words


def test_darkness_is_said_too() -> None:
    assert explain_fault("dark", WORST, LIMITS) == "brightness 300, at least 25"


def test_a_gate_without_figures_stands_for_itself() -> None:
    assert explain_fault("struck by lightning", WORST, LIMITS) == "struck by lightning"


def test_every_gate_was_tried() -> None:
    assert len(quality_faults(WORST, LIMITS)) == 8
