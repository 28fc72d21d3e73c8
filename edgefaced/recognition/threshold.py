"""The score a face must reach: fixed by a person, or from a promise and the gallery's size."""

from __future__ import annotations

from edgefaced.config.sections import RecognitionSection
from edgefaced.core.calibration import Basis, ThresholdChoice, choose_threshold, fixed_threshold
from edgefaced.errors import ConfigError
from edgefaced.models.manifest import ModelSpec

_GROUNDS = {
    Basis.FIXED: "fixed by the configuration",
    Basis.FLOOR: "the lowest score that was measured",
    Basis.MEASURED: "measured",
    Basis.FITTED: "from the fitted tail, within what was measured",
    Basis.EXTRAPOLATED: "EXTRAPOLATED: rarer than the measurement could show",
    Basis.UNREACHABLE: "NO score keeps the target: nobody will be recognised",
}


def threshold_for(
    settings: RecognitionSection, embedder: ModelSpec, gallery_templates: int
) -> ThresholdChoice:
    """The threshold in force for a gallery of so many templates.

    Templates are counted, not people: each is one more chance for a stranger, and counting them
    as independent errs on the safe side. Raises ConfigError where the pack has no calibration and
    the configuration no fixed threshold.
    """
    spec = embedder.calibration
    calibration = None if spec is None else spec.calibration()
    if settings.fixed_threshold is not None:
        return fixed_threshold(settings.fixed_threshold, gallery_templates, calibration)
    if calibration is None:
        raise ConfigError(
            f"recognition.fixed_threshold is absent and {embedder.id} has no calibration",
            "`edgefaced calibrate FOLDER` measures one; or set recognition.fixed_threshold",
        )
    return choose_threshold(calibration, settings.target_fpir, gallery_templates)


def explain(choice: ThresholdChoice) -> str:
    """One line for a person: the threshold, what it promises, and what that rests on."""
    grounds = _GROUNDS[choice.basis]
    if choice.fpir is None or choice.fpir_upper is None:
        return f"threshold {choice.threshold:.3f} ({grounds}; error rate unknown: no calibration)"
    return (
        f"threshold {choice.threshold:.3f}: a stranger matches one of {choice.gallery_size} "
        f"templates in {choice.fpir:.2g} of attempts, at most {choice.fpir_upper:.2g} with 95 % "
        f"confidence ({grounds})"
    )
