"""Enrolling a person from pictures: examine each, choose among them, store, and prove it.

A picture is kept when it passes its own gates, is nobody else's who is enrolled, agrees with the
person's others and adds something. What is stored is read back and must find the person.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from edgefaced.core.decision import decide
from edgefaced.core.enrolment import Choice, Chosen, choose, lowest_without_itself
from edgefaced.core.gates import QualityLimits
from edgefaced.enrolment.examine import FaceRule, Rejected, Sample, examine
from edgefaced.enrolment.finder import FaceFinder
from edgefaced.enrolment.report import EnrolmentReport, PictureReport, nothing_kept
from edgefaced.errors import EdgefacedError, Refused
from edgefaced.gallery.index import LiveIndex, open_index
from edgefaced.gallery.names import checked_name
from edgefaced.gallery.records import Details, NewTemplate, Person
from edgefaced.gallery.store import Gallery
from edgefaced.pictures.write import png_bytes
from edgefaced.types import F32, Candidate, ColourOrder, Liveness, Match, Outcome


@dataclass(frozen=True, slots=True)
class EnrolmentPolicy:
    """The rules. `threshold` gives the score to reach in a gallery of so many templates."""

    limits: QualityLimits
    threshold: Callable[[int], float]
    minimum_margin: float
    faces: FaceRule = field(default_factory=FaceRule)
    extend: bool = False
    allow_duplicate: bool = False
    keep_pictures: bool = False


def enrol(
    name: str,
    pictures: Iterable[Path],
    *,
    gallery: Gallery,
    finder: FaceFinder,
    policy: EnrolmentPolicy,
    consent: str | None = None,
) -> EnrolmentReport:
    """Enrols a person, or with `policy.extend` adds to one; nothing is stored unless one is kept.

    What pictures lack is in the report. Raises what Enrolment raises.
    """
    model_id = finder.recogniser.model_id
    with Enrolment(name, gallery=gallery, model_id=model_id, policy=policy) as enrolment:
        examined = [examine(p, finder, policy.limits, policy.faces) for p in pictures]
        return enrolment.complete(examined, consent)


class Enrolment(AbstractContextManager["Enrolment"]):
    """One enrolment, from the check of the name to the proof that the person is found."""

    def __init__(
        self, name: str, *, gallery: Gallery, model_id: str, policy: EnrolmentPolicy
    ) -> None:
        """Raises Refused for a name that is in use (or, to extend, is not), UsageError for what is
        no name, ConfigError where there is no threshold, ModelMismatch for a gallery of another
        model: all before anybody looks at pictures.
        """
        self._name = checked_name(name)
        self._own = gallery.find(self._name)
        if self._own is None and policy.extend:
            raise Refused(f"{name} is not enrolled", "leave --add out to enrol a new person")
        if self._own is not None and self._own.templates and not policy.extend:
            raise Refused(
                f"{name} is already enrolled", "--add adds pictures, `remove` starts anew"
            )
        policy.threshold(1)
        self._gallery = gallery
        self._model_id = model_id
        self._policy = policy
        self._index = open_index(gallery, model_id, "exact")

    def rehearse(self, examined: Sequence[Sample | Rejected]) -> EnrolmentReport:
        """What `complete` would keep; nothing is stored, so `person` is None in any case."""
        return self._judged(examined)[0]

    def complete(
        self,
        examined: Sequence[Sample | Rejected],
        consent: str | None = None,
        details: Details | None = None,
    ) -> EnrolmentReport:
        """Stores what is worth it and proves it. Raises UsageError for what is no note."""
        own, gallery, index, policy = self._own, self._gallery, self._index, self._policy
        report, samples, enrolled = self._judged(examined)
        if report.refusal is not None:
            return report
        templates = [_template(sample, keep_picture=policy.keep_pictures) for sample in samples]
        person = gallery.enrol(
            self._name, templates, consent=consent, details=details, extend=own is not None
        )
        index.refresh()
        _prove(person, samples, index, gallery, report.threshold, policy, new=own is None)
        everything = np.vstack([enrolled, *(s.embedding.vector[None] for s in samples)])
        return replace(
            report, person=person, lowest_without_itself=lowest_without_itself(everything)
        )

    def _judged(
        self, examined: Sequence[Sample | Rejected]
    ) -> tuple[EnrolmentReport, list[Sample], F32]:
        """The report, the samples worth storing, and the templates that the person has."""
        own, gallery, index, policy = self._own, self._gallery, self._index, self._policy
        index.refresh()  # others may have been enrolled while pictures were taken
        enrolled = _vectors_of(gallery, own, self._model_id, examined)
        reports, refusal = _judge(examined, enrolled, own, gallery, index, policy)
        kept = [s for s, r in zip(examined, reports, strict=True) if r.kept]
        samples = [s for s in kept if isinstance(s, Sample)]
        threshold = policy.threshold(index.size + len(samples))
        if not samples and refusal is None:
            refusal = nothing_kept(self._name, reports)
        report = EnrolmentReport(self._name, tuple(reports), threshold, refusal=refusal)
        return report, samples, enrolled

    def __exit__(self, *_: object) -> None:
        self._index.close()


def _vectors_of(
    gallery: Gallery, own: Person | None, model_id: str, examined: Sequence[Sample | Rejected]
) -> F32:
    """The person's own templates (m, d); (0, d) where there are none."""
    if own is not None:
        vectors = gallery.templates_of(own.id, model_id).vectors
        if len(vectors):
            return vectors
    dimensions = [e.embedding.dimension for e in examined if isinstance(e, Sample)]
    return np.empty((0, dimensions[0] if dimensions else 0), np.float32)


def _judge(
    examined: Sequence[Sample | Rejected],
    enrolled: F32,
    own: Person | None,
    gallery: Gallery,
    index: LiveIndex,
    policy: EnrolmentPolicy,
) -> tuple[list[PictureReport], EdgefacedError | None]:
    """A report per picture, and the refusal of the whole where they are somebody else's."""
    reports = {
        row: PictureReport(e.path, e.gate, e.detail, error=e.error)
        for row, e in enumerate(examined)
        if isinstance(e, Rejected)
    }
    samples = {row: e for row, e in enumerate(examined) if isinstance(e, Sample)}
    threshold = policy.threshold(index.size)
    elsewhere: Counter[str] = Counter()
    for row, sample in samples.items():
        other = _somebody_else(index.search(sample.embedding), own)
        if other is None:
            continue
        name = gallery.name_of(other.person_id)
        if other.score >= threshold and not policy.allow_duplicate:
            reports[row] = PictureReport(
                sample.path, f"enrolled as {name}", f"score {other.score:.2f}", other.score
            )
            elsewhere[name] += 1
        elif not 1.0 - other.score >= policy.minimum_margin:
            # Stored, it could never be decided: the margin over the other person is too small.
            reports[row] = PictureReport(
                sample.path, f"not to be told from {name}", f"score {other.score:.2f}", other.score
            )
    refusal = None
    if elsewhere and 2 * elsewhere.total() >= len(samples):
        refusal = Refused(
            f"this face is already enrolled as {elsewhere.most_common(1)[0][0]}",
            f"in {elsewhere.total()} of {len(samples)} usable pictures; "
            "--allow-duplicate enrols it all the same",
        )
    left = {row: sample for row, sample in samples.items() if row not in reports}
    vectors = np.array([s.embedding.vector for s in left.values()], np.float32)
    if len(left):
        same_person = policy.threshold(1)
        paths = [sample.path for sample in left.values()]
        chosen = choose(vectors, enrolled, same_person=same_person)
        for (row, sample), choice in zip(left.items(), chosen, strict=True):
            reports[row] = _chosen_report(sample, choice, paths, same_person)
    return [reports[row] for row in range(len(examined))], refusal


def _somebody_else(match: Match | None, own: Person | None) -> Candidate | None:
    """The best candidate who is not the person to be enrolled."""
    if match is None:
        return None
    if own is not None and match.best.person_id == own.id:
        return match.runner_up
    return match.best


def _chosen_report(
    sample: Sample, chosen: Chosen, paths: Sequence[Path], same_person: float
) -> PictureReport:
    against = "" if chosen.score is None else f"{chosen.score:.2f}"
    match chosen.choice:
        case Choice.KEPT:
            return PictureReport(sample.path, "", sample.how, chosen.score)
        case Choice.DUPLICATE:
            of = "an enrolled one" if chosen.repeats is None else paths[chosen.repeats].name
            detail = f"the same as {of}"
        case Choice.NOT_NEEDED:
            detail = "the person has enough templates; others differ more"
        case _:
            detail = f"score {against} with the others, at least {same_person:.2f}"
    return PictureReport(sample.path, str(chosen.choice), detail, chosen.score)


def _template(sample: Sample, *, keep_picture: bool) -> NewTemplate:
    aligned = sample.face.aligned
    bgr = aligned.pixels if aligned.colour_order is ColourOrder.BGR else aligned.pixels[:, :, ::-1]
    return NewTemplate(sample.embedding, png_bytes(bgr) if keep_picture else None)


def _prove(
    person: Person,
    samples: Sequence[Sample],
    index: LiveIndex,
    gallery: Gallery,
    threshold: float,
    policy: EnrolmentPolicy,
    *,
    new: bool,
) -> None:
    """Every kept picture must find the person in the gallery as it now is; else it is undone."""
    for sample in samples:
        decision = decide(
            index.search(sample.embedding),
            threshold=threshold,
            minimum_margin=policy.minimum_margin,
            quality_faults=(),
            liveness=Liveness.NOT_CHECKED,
        )
        if decision.outcome is Outcome.KNOWN and decision.person_id == person.id:
            continue
        if new:
            gallery.remove(person.id)
        undone = "nothing was enrolled" if new else "remove the person and enrol anew"
        raise Refused(
            f"{person.name} would not be recognised in {sample.path.name}: {decision.reason}",
            f"threshold {threshold:.2f}; {undone}",
        )
