"""From single frames to one decision per track: several good frames must agree.

One high frame never decides. A track is decided once; it is looked at again after an interval, so
that a person first seen from the side, or a stranger who takes somebody's place, is noticed; one
that was too poor to judge, as soon as it is good enough. A stranger is looked at no longer than
until no frame that may still come could make anybody known. The same person is announced again
only after a cool-down, however often the track was lost.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import fmean, median

from edgefaced.types import Candidate, Decision, Liveness, Match, Outcome

SETTLED = frozenset({Outcome.KNOWN, Outcome.SPOOF})


@dataclass(frozen=True, slots=True)
class PolicyLimits:
    """Frames are good frames of one track; times are monotonic seconds."""

    agreeing_frames: int = 3
    window_frames: int = 5
    minimum_margin: float = 0.05
    patience: float = 2.0
    """How long a face may be too poor to judge before that is the decision."""
    recheck_after: float = 5.0
    """When a track that was decided known or spoof is looked at again."""
    retry_after: float = 1.0
    """When one that was unknown is: a person may just have looked away."""
    cool_down: float = 10.0
    """For how long after being last confirmed a person is not announced again."""

    def __post_init__(self) -> None:
        if not 2 <= self.agreeing_frames <= self.window_frames:
            raise ValueError(
                f"agreeing_frames = {self.agreeing_frames}: from 2 to window_frames, for one "
                "frame never decides"
            )


@dataclass(frozen=True, slots=True)
class Evidence:
    """What one frame says of one track."""

    match: Match | None
    quality_faults: tuple[str, ...]
    liveness: Liveness


@dataclass(slots=True)
class _Case:
    """All that is known of one track."""

    opened: float
    good: deque[Evidence]
    faults: tuple[str, ...] = ()
    decision: Decision | None = None
    decided: float = 0.0


@dataclass(slots=True)
class DecisionPolicy:
    """Judges the tracks of one camera; no clock of its own."""

    limits: PolicyLimits = field(default_factory=PolicyLimits)
    _cases: dict[int, _Case] = field(default_factory=dict)
    _confirmed: dict[str, float] = field(default_factory=dict)
    _again: set[str] = field(default_factory=set)

    def wants(self, track_id: int, now: float) -> bool:
        """Whether the track is worth an embedding now: undecided, or due to be looked at again."""
        return now >= self.settled_until(track_id)

    def observe(
        self, track_id: int, evidence: Evidence, *, threshold: float, now: float
    ) -> Decision | None:
        """Takes one frame's evidence; the decision where this frame brought one to be announced."""
        limits = self.limits
        case = self._cases.setdefault(track_id, _Case(now, deque(maxlen=limits.window_frames)))
        if now < self._settled_until(case):
            return None
        if evidence.quality_faults:
            case.faults = evidence.quality_faults
        else:
            case.good.append(evidence)
        decision = self._judge(case, threshold, now)
        if decision is None:
            return None
        return self._announce(case, decision, now)

    def announce_again(self, person_id: str) -> None:
        """Whoever was told of this person could do nothing with it: fresh frames that agree are
        announced once more, as if they were the first.
        """
        self._again.add(person_id)

    def leave(self, track_id: int) -> Decision | None:
        """Forgets a track that has left; its last decision, None where it never got one."""
        case = self._cases.pop(track_id, None)
        return None if case is None else case.decision

    def settled_until(self, track_id: int) -> float:
        """When `wants` will be true again; minus infinity for a track that is not decided."""
        case = self._cases.get(track_id)
        return float("-inf") if case is None else self._settled_until(case)

    def patient_until(self, track_id: int) -> float:
        """When a track that stays too poor to judge is decided; infinity where that is over."""
        case = self._cases.get(track_id)
        if case is None or case.decision is not None:
            return float("inf")
        return case.opened + self.limits.patience

    def _settled_until(self, case: _Case) -> float:
        if case.decision is None:
            return float("-inf")
        if case.decision.outcome is Outcome.TOO_POOR:
            return case.decided
        settled = case.decision.outcome in SETTLED
        return case.decided + (self.limits.recheck_after if settled else self.limits.retry_after)

    def _judge(self, case: _Case, threshold: float, now: float) -> Decision | None:
        limits = self.limits
        frames = list(case.good)
        failed = sum(e.liveness is Liveness.FAILED for e in frames)
        if failed >= limits.agreeing_frames:
            return Decision(Outcome.SPOOF, None, None, threshold, Liveness.FAILED, "liveness")
        known = agreement(frames, limits, threshold)
        if known is not None:
            return known
        if len(frames) == limits.window_frames or hopeless(frames, limits, threshold):
            return self._unknown(frames, threshold)
        if now - case.opened >= limits.patience and case.faults and case.decision is None:
            return Decision(
                Outcome.TOO_POOR,
                None,
                None,
                threshold,
                Liveness.NOT_CHECKED,
                ", ".join(case.faults),
            )
        return None

    def _unknown(self, frames: Sequence[Evidence], threshold: float) -> Decision:
        scores = [e.match.best.score for e in frames if e.match is not None]
        return Decision(
            Outcome.UNKNOWN,
            None,
            fmean(scores) if scores else None,
            threshold,
            overall_liveness(frames),
            "no agreement" if scores else "nobody enrolled",
        )

    def _announce(self, case: _Case, decision: Decision, now: float) -> Decision | None:
        """Notes the decision; returns it unless this track or this person was told of it before."""
        before = case.decision
        case.decision, case.decided = decision, now
        case.opened, case.faults = now, ()
        case.good.clear()
        person = decision.person_id
        last = None if person is None else self._confirmed.get(person)
        if person is not None:
            self._confirmed[person] = now
            if person in self._again:
                self._again.remove(person)
                return decision
        if before is not None and (before.outcome, before.person_id) == (decision.outcome, person):
            return None
        if last is not None and now - last < self.limits.cool_down:
            return None
        return decision


def agreement(
    frames: Sequence[Evidence], limits: PolicyLimits, threshold: float
) -> Decision | None:
    """A known person, where enough live frames agree; mean and median must reach the threshold.

    The median is asked too, so that one high score cannot carry low ones over the mean.
    """
    votes: dict[str, list[Evidence]] = {}
    for evidence in frames:
        if evidence.match is not None and evidence.liveness is not Liveness.FAILED:
            votes.setdefault(evidence.match.best.person_id, []).append(evidence)
    if not votes:
        return None
    person, agreeing = max(votes.items(), key=lambda vote: len(vote[1]))
    if len(agreeing) < limits.agreeing_frames:
        return None
    scores = [e.match.best.score for e in agreeing if e.match is not None]
    margins = [e.match.margin for e in agreeing if e.match is not None]
    mean = fmean(scores)
    # Written so that NaN never passes.
    if not (mean >= threshold and median(scores) >= threshold):
        return None
    if not fmean(margins) >= limits.minimum_margin:
        return None
    return Decision(
        Outcome.KNOWN, person, mean, threshold, overall_liveness(agreeing), "frames agree"
    )


def hopeless(frames: Sequence[Evidence], limits: PolicyLimits, threshold: float) -> bool:
    """Whether nothing that the rest of the window may show could bring another decision.

    Each person is given the best that could come: they are known then, or never in this window.
    """
    rest = limits.window_frames - len(frames)
    failed = sum(e.liveness is Liveness.FAILED for e in frames)
    if rest >= limits.agreeing_frames or (failed and failed + rest >= limits.agreeing_frames):
        return False
    people = {e.match.best.person_id for e in frames if e.match is not None}
    for person in people:
        own = [e for e in frames if e.match is not None and e.match.best.person_id == person]
        best = Evidence(Match(Candidate(person, 1.0), None), (), Liveness.PASSED)
        if agreement([*own, *[best] * rest], limits, threshold) is not None:
            return False
    return True


def overall_liveness(frames: Sequence[Evidence]) -> Liveness:
    """Passed only where every frame was checked and passed; one unchecked frame is not checked."""
    seen = {e.liveness for e in frames}
    if seen == {Liveness.PASSED}:
        return Liveness.PASSED
    return Liveness.FAILED if Liveness.FAILED in seen else Liveness.NOT_CHECKED
