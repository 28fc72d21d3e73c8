"""What is said of one face: a pure function of scores, gates and limits. Doubt is never "known"."""

from __future__ import annotations

from collections.abc import Sequence

from edgefaced.types import Decision, Liveness, Match, Outcome


def decide(
    match: Match | None,
    *,
    threshold: float,
    minimum_margin: float,
    quality_faults: Sequence[str],
    liveness: Liveness,
) -> Decision:
    """The decision for one probe; comparisons are written so that NaN never passes.

    Gates come first, so that a blurred face is "too poor" and not a stranger; then liveness; then
    score and margin over the best *other* person.
    """

    def decision(outcome: Outcome, reason: str, person_id: str | None = None) -> Decision:
        score = None if match is None else match.best.score
        return Decision(outcome, person_id, score, threshold, liveness, reason)

    if quality_faults:
        return decision(Outcome.TOO_POOR, ", ".join(quality_faults))
    if liveness is Liveness.FAILED:
        return decision(Outcome.SPOOF, "liveness")
    if match is None:
        return decision(Outcome.UNKNOWN, "nobody enrolled")
    if not match.best.score >= threshold:
        return decision(Outcome.UNKNOWN, "below threshold")
    if not match.margin >= minimum_margin:
        return decision(Outcome.UNKNOWN, "margin")
    return decision(Outcome.KNOWN, "match", match.best.person_id)
