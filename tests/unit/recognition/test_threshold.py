"""Which threshold is in force: fixed, calibrated, or none with the way out."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from edgefaced.config.sections import RecognitionSection
from edgefaced.core.calibration import Basis
from edgefaced.errors import ConfigError
from edgefaced.models.catalogue import find_pack
from edgefaced.models.manifest import CalibrationSpec, ModelSpec
from edgefaced.recognition.threshold import explain, threshold_for
from edgefaced.types import Role

TABLE: dict[str, Any] = {
    "measured_on": "a test",
    "detector": "scrfd-500m",
    "identities": 1_000,
    "comparisons": 10_000_000,
    "scores": (0.1, 0.2, 0.3, 0.4),
    "fmr": (0.3, 0.03, 1e-3, 1e-5),
    "fmr_upper": (0.32, 0.033, 1.2e-3, 1.5e-5),
    "tail": {"start": 0.3, "rate": 1e-3, "scale": 0.0217, "shape": -0.02},
    "tail_upper": {"start": 0.3, "rate": 1.2e-3, "scale": 0.0228, "shape": -0.02},
}


def embedder(calibration: CalibrationSpec | None) -> ModelSpec:
    model = find_pack("reference").of_role(Role.EMBEDDER)
    return model.model_copy(update={"calibration": calibration})


CALIBRATED = embedder(CalibrationSpec.model_validate(TABLE))


def test_threshold_grows_with_the_gallery() -> None:
    settings = RecognitionSection(target_fpir=1e-2)
    few, many = (threshold_for(settings, CALIBRATED, n) for n in (1, 200))
    assert 0.2 < few.threshold < 0.3 < many.threshold < 0.4
    assert many.fpir_upper == pytest.approx(1e-2, rel=1e-3)
    assert (many.basis, many.gallery_size) == (Basis.MEASURED, 200)
    assert threshold_for(settings, CALIBRATED, 0).threshold == few.threshold


def test_fixed_threshold_wins_and_says_what_it_costs() -> None:
    settings = RecognitionSection(fixed_threshold=0.3)
    choice = threshold_for(settings, CALIBRATED, 100)
    assert (choice.threshold, choice.basis) == (0.3, Basis.FIXED)
    assert choice.fpir == pytest.approx(0.095, abs=1e-3)
    assert "fixed by the configuration" in explain(choice)


def test_fixed_threshold_needs_no_calibration() -> None:
    choice = threshold_for(RecognitionSection(fixed_threshold=0.5), embedder(None), 100)
    assert (choice.threshold, choice.fmr) == (0.5, None)
    assert "error rate unknown" in explain(choice)


def test_neither_is_an_error_with_the_way_out() -> None:
    with pytest.raises(ConfigError) as caught:
        threshold_for(RecognitionSection(), embedder(None), 100)
    assert "sface-2021dec has no calibration" in caught.value.message
    assert "edgefaced calibrate" in caught.value.hint
    assert "recognition.fixed_threshold" in caught.value.hint


@pytest.mark.parametrize(
    ("fpir", "size", "words"),
    [
        (0.5, 1, "lowest score that was measured"),
        (1e-2, 100, "(measured)"),
        (1e-3, 200, "within what was measured"),
        (1e-3, 100_000, "EXTRAPOLATED"),
    ],
)
def test_a_person_is_told_what_the_threshold_rests_on(fpir: float, size: int, words: str) -> None:
    choice = threshold_for(RecognitionSection(target_fpir=fpir), CALIBRATED, size)
    said = explain(choice)
    assert words in said
    assert f"{choice.threshold:.3f}" in said
    assert f"one of {size} templates" in said
    assert "95 % confidence" in said


def test_no_score_that_keeps_the_target_is_said_loudly() -> None:
    heavy = {**TABLE, "tail_upper": {**TABLE["tail_upper"], "shape": 0.9}}
    model = embedder(CalibrationSpec.model_validate(heavy))
    choice = threshold_for(RecognitionSection(target_fpir=1e-6), model, 10_000)
    assert choice.threshold == 1.0
    assert "NO score" in explain(choice)


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"fmr": (0.3, 0.03)}, "same length"),
        ({"scores": (0.1, 0.3, 0.2, 0.4)}, "ascend"),
        ({"fmr": (0.3, 0.03, 0.031, 1e-5)}, "not rise"),
        ({"fmr_upper": (0.32, 0.033, 0.9e-3, 0.9e-5)}, "bound not below"),
        ({"tail": {**TABLE["tail"], "scale": 0.0}}, "greater than 0"),
    ],
)
def test_a_manifest_that_holds_no_calibration_is_refused(
    change: dict[str, Any], fault: str
) -> None:
    with pytest.raises(ValidationError, match=fault):
        CalibrationSpec.model_validate({**TABLE, **change})
