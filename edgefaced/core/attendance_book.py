"""Records and corrections folded into what now stands, and sightings and buttons into records."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from edgefaced.core.attendance import (
    AttendanceRules,
    CheckIn,
    Correction,
    Mode,
    Moment,
    Punch,
    Sighting,
    record_of,
    seconds_between,
)
from edgefaced.types import CorrectionKind, Direction

BY_HAND = "by hand"
"""The source of a record that an operator added."""


@dataclass(slots=True)
class Book:
    """What stands of each person, oldest first; with `keep`, only so many of the last.

    Records come in the order in which they were written, which is theirs even where the dates of
    a boot were wrong. What an operator dates goes where its date belongs.
    """

    keep: int | None = None
    _people: dict[str, list[Punch]] = field(default_factory=dict)

    def take(self, punch: Punch) -> None:
        """A record that the device made."""
        own = self._people.setdefault(punch.person_id, [])
        own.append(punch)
        self._trim(own)

    def correct(self, correction: Correction) -> bool:
        """Applies a correction, once; False where it is about a record that is not here."""
        own = self._people.setdefault(correction.person_id, [])
        if any(correction in punch.corrections for punch in own):
            return True
        if correction.kind is CorrectionKind.ADD:
            return self._add(own, correction)
        at = next((i for i, p in enumerate(own) if p.record_id == correction.of_record), None)
        if at is None:
            return False
        corrected = replace(own[at], corrections=(*own[at].corrections, correction))
        if correction.direction is not None:
            corrected = replace(corrected, direction=correction.direction)
        if correction.at is None:
            own[at] = corrected
        else:
            del own[at]
            # The operator's clock dates it now, whatever the device's was like.
            self._insert(own, replace(corrected, moment=Moment(correction.at), synchronised=True))
        return True

    def last(self, person_id: str) -> Punch | None:
        """The person's last record that counts."""
        return next((p for p in reversed(self._people.get(person_id, [])) if not p.void), None)

    def find(self, record_id: str) -> Punch | None:
        """A record by its id, also one that was taken back."""
        return next((p for p in self.punches() if p.record_id == record_id), None)

    def people(self) -> tuple[str, ...]:
        """Everybody who has a record, in the order of their first one."""
        return tuple(person for person, own in self._people.items() if own)

    def punches(self, person_id: str | None = None) -> Iterator[Punch]:
        """Everything that was recorded, of everybody or of one person, voided records as well."""
        for person in self._people if person_id is None else (person_id,):
            yield from self._people.get(person, ())

    def _add(self, own: list[Punch], correction: Correction) -> bool:
        if correction.direction is None or correction.at is None:
            return False
        punch = Punch(
            record_id=correction.id,
            person_id=correction.person_id,
            direction=correction.direction,
            moment=Moment(correction.at),
            source=BY_HAND,
            place="",
            synchronised=True,
            corrections=(correction,),
        )
        self._insert(own, punch)
        return True

    def _insert(self, own: list[Punch], punch: Punch) -> None:
        at = len(own)
        while at and own[at - 1].moment.utc > punch.moment.utc:
            at -= 1
        own.insert(at, punch)
        self._trim(own)

    def _trim(self, own: list[Punch]) -> None:
        if self.keep is not None:
            del own[: -self.keep]


def merged(books: Sequence[Book]) -> Book:
    """What several devices recorded, each record once; between devices only dates count."""
    if len(books) == 1:
        return books[0]
    together = Book()
    found = {punch.record_id: punch for book in books for punch in book.punches()}
    for punch in sorted(found.values(), key=lambda punch: punch.moment.utc):
        together.take(punch)
    return together


@dataclass(slots=True)
class Register:
    """Turns sightings and buttons into records of one device; no clock of its own."""

    rules: AttendanceRules
    book: Book = field(default_factory=lambda: Book(keep=16))
    _waiting: Sighting | None = None
    """Somebody seen who has not pressed a button yet."""
    _pressed: tuple[Direction, Moment] | None = None
    """A button that nobody was seen for yet."""

    @property
    def waiting(self) -> str | None:
        """The id of the decision about somebody for whom a button may still be pressed."""
        return None if self._waiting is None else self._waiting.event_id

    def saw(self, sighting: Sighting) -> CheckIn | None:
        """What is to be recorded of a known person; `book` must be told of what was."""
        button = None
        if self.rules.mode is Mode.BUTTON:
            if self._pressed is None or not self._near(self._pressed[1], sighting.moment):
                self._waiting = sighting
                return None
            button, self._pressed = self._pressed[0], None
        return record_of(self.rules, sighting, self.book.last(sighting.person_id), button)

    def pressed(self, direction: Direction, moment: Moment) -> CheckIn | None:
        """What is to be recorded now that a button was pressed."""
        waiting, self._waiting = self._waiting, None
        if waiting is None or not self._near(waiting.moment, moment):
            self._pressed = direction, moment
            return None
        return record_of(self.rules, waiting, self.book.last(waiting.person_id), direction)

    def _near(self, first: Moment, second: Moment) -> bool:
        return 0 <= seconds_between(first, second) <= self.rules.button_seconds
