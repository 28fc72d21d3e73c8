"""Enrolling everybody of a table, each row on its own: one that fails stops no other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from edgefaced.enrolment.enrol import Enrolment, EnrolmentPolicy
from edgefaced.enrolment.examine import Rejected, Sample, examine
from edgefaced.enrolment.finder import FaceFinder
from edgefaced.enrolment.photos import PhotoFolder
from edgefaced.enrolment.report import PictureReport
from edgefaced.enrolment.roster import (
    Entrant,
    Roster,
    RosterRow,
    checked_entrant,
    reason_of,
    twice_in,
)
from edgefaced.errors import EdgefacedError, Refused
from edgefaced.gallery.names import lookup_form
from edgefaced.gallery.records import Person
from edgefaced.gallery.store import Gallery
from edgefaced.types import F32


class RowOutcome(StrEnum):
    """What became of a row."""

    KEPT = "kept"
    SKIPPED = "skipped"
    """Enrolled already; nothing was changed."""
    UPDATED = "updated"
    """Enrolled already; what the table says of the person is taken over."""
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class RowReport:
    """One row: what became of it, and why where it was not kept."""

    line: int
    name: str
    outcome: RowOutcome
    reason: str
    person_id: str | None = None
    pictures: tuple[PictureReport, ...] = ()


@dataclass(frozen=True, slots=True)
class ImportRules:
    """How an import goes about it; with `dry_run` nothing is stored."""

    policy: EnrolmentPolicy
    dry_run: bool = False
    update: bool = False
    consent: str | None = None
    """For rows that have no note of their own."""


def import_people(
    roster: Roster,
    photos: PhotoFolder,
    *,
    gallery: Gallery,
    finder: FaceFinder,
    rules: ImportRules,
) -> Iterator[RowReport]:
    """A report for each row, as soon as it is done; each person is stored before the next one."""
    repeated = twice_in(roster.rows)
    importer = _Importer(photos, gallery, finder, rules)
    for row in roster.rows:
        name = " ".join(row.name.split())
        try:
            if reason := repeated.get(row.line):
                raise Refused(reason)
            yield importer.take(row)
        except EdgefacedError as error:
            yield RowReport(row.line, name, RowOutcome.REFUSED, reason_of(error))


class _Importer:
    """What the rows of one import share."""

    def __init__(
        self, photos: PhotoFolder, gallery: Gallery, finder: FaceFinder, rules: ImportRules
    ) -> None:
        self._photos = photos
        self._gallery = gallery
        self._finder = finder
        self._rules = rules
        self._rehearsed: list[tuple[int, str, F32]] = []
        self._external = {
            lookup_form(p.details.external_id): p
            for p in gallery.people()
            if p.details.external_id is not None
        }

    def take(self, row: RosterRow) -> RowReport:
        """Raises what refuses the row."""
        entrant = checked_entrant(row)
        enrolled = self._enrolled(entrant)
        if enrolled is not None and enrolled.templates:
            return self._meet_again(entrant, enrolled)
        return self._enrol(entrant)

    def _enrolled(self, entrant: Entrant) -> Person | None:
        """The person of this row who is enrolled. Raises Refused where it may be another one."""
        person, external_id = self._gallery.find(entrant.name), entrant.details.external_id
        owner = None if external_id is None else self._external.get(lookup_form(external_id))
        if owner is not None and (person is None or person.id != owner.id):
            raise Refused(
                f"the external id {external_id} is {owner.name}'s",
                f"`edgefaced rename` gives {owner.name} another name",
            )
        if person is not None and owner is None and person.details.external_id and external_id:
            raise Refused(
                f"{person.name} is enrolled with the external id {person.details.external_id}",
                "another person of that name needs another name",
            )
        return person

    def _meet_again(self, entrant: Entrant, person: Person) -> RowReport:
        differs = entrant.details != person.details
        if not (differs and self._rules.update):
            hint = "; --update takes over its groups and external id" if differs else ""
            reason = f"enrolled already{hint}"
            return RowReport(entrant.line, person.name, RowOutcome.SKIPPED, reason, person.id)
        if not self._rules.dry_run:
            person = self._gallery.describe(person.id, entrant.details)
            self._remember(person)
        reason = "enrolled already; groups and external id are the table's now"
        return RowReport(entrant.line, person.name, RowOutcome.UPDATED, reason, person.id)

    def _enrol(self, entrant: Entrant) -> RowReport:
        finder, policy = self._finder, self._rules.policy
        paths = self._photos.pictures_of(entrant)
        model_id = finder.recogniser.model_id
        with Enrolment(
            entrant.name, gallery=self._gallery, model_id=model_id, policy=policy
        ) as enrolment:
            examined = [examine(p, finder, policy.limits, policy.faces) for p in paths]
            if self._rules.dry_run:
                report = enrolment.rehearse(examined)
                if report.refusal is None:
                    self._rehearse(entrant, examined)
            else:
                consent = entrant.consent or self._rules.consent
                report = enrolment.complete(examined, consent, entrant.details)
        pictures = report.pictures
        if report.refusal is not None:
            reason = reason_of(report.refusal)
            return RowReport(
                entrant.line, entrant.name, RowOutcome.REFUSED, reason, pictures=pictures
            )
        self._remember(report.person)
        person_id = None if report.person is None else report.person.id
        reason = f"{report.kept} of {len(pictures)} pictures"
        return RowReport(entrant.line, entrant.name, RowOutcome.KEPT, reason, person_id, pictures)

    def _rehearse(self, entrant: Entrant, examined: Sequence[Sample | Rejected]) -> None:
        """Raises Refused where an earlier row of this rehearsal shows the same face."""
        vectors = [e.embedding.vector for e in examined if isinstance(e, Sample)]
        same = self._rules.policy.threshold(1)
        for line, name, earlier in self._rehearsed:
            if any(float(earlier @ vector) >= same for vector in vectors):
                raise Refused(f"the same face as {name} in line {line}")
        self._rehearsed.extend((entrant.line, entrant.name, vector) for vector in vectors)

    def _remember(self, person: Person | None) -> None:
        if person is not None and person.details.external_id is not None:
            self._external[lookup_form(person.details.external_id)] = person


def row_body(report: RowReport) -> dict[str, Any]:
    """Plain JSON values."""
    return {
        "line": report.line,
        "name": report.name,
        "outcome": report.outcome.value,
        "reason": report.reason,
        "person_id": report.person_id,
        "pictures": [
            {"path": str(p.path), "kept": p.kept, "gate": p.gate or None, "detail": p.detail}
            for p in report.pictures
        ],
    }


def photo_folder_of(table: Path, photos: Path | None) -> PhotoFolder:
    """The folder named, or the one that the table lies in."""
    return PhotoFolder(photos if photos is not None else table.absolute().parent)
