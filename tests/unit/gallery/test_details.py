"""External ids and groups: kept sealed, moved with their person, found again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from edgefaced.errors import Refused, UsageError
from edgefaced.gallery.check import check_gallery
from edgefaced.gallery.document import person_body
from edgefaced.gallery.records import ChangeKind, Details, NewTemplate
from edgefaced.gallery.rekey import rotate_key
from edgefaced.gallery.store import Gallery
from edgefaced.gallery.transfer import import_gallery, pack, unpack

Template = Callable[..., NewTemplate]

STAFF = Details("A-17", ("night", "Staff"))


def test_details_are_kept_and_changed(gallery: Gallery, path: Path, template: Template) -> None:
    ann = gallery.enrol("Ann", [template(1)], details=Details(" A-17", ("Staff", "night", "STAFF")))
    assert ann.details == Details("A-17", ("night", "STAFF"))
    bob = gallery.enrol("Bob", [template(2)])
    assert bob.details == gallery.details_of("nobody's id") == Details()
    assert person_body(ann)["groups"] == ["night", "STAFF"]
    gallery.enrol("Ann", [template(3)], extend=True)
    assert gallery.details_of(ann.id) == ann.details
    assert gallery.describe(ann.id, STAFF).details == gallery.details_of(ann.id) == STAFF
    assert gallery.changes_since(0).items[-1].kind is ChangeKind.DESCRIBED
    everything = path.read_bytes() + path.with_name("gallery.db-wal").read_bytes()
    assert b"A-17" not in everything
    assert b"night" not in everything


def test_a_new_key_opens_them(gallery: Gallery, template: Template) -> None:
    ann = gallery.enrol("Ann", [template(1)], details=STAFF)
    assert rotate_key(gallery)
    assert gallery.details_of(ann.id) == STAFF
    assert not check_gallery(gallery).faults


def test_damaged_details_are_found(gallery: Gallery, template: Template) -> None:
    ann = gallery.enrol("Ann", [template(1)], details=STAFF)
    with gallery.writing() as db:
        db.execute("UPDATE people SET details = name")
    assert [fault.person_id for fault in check_gallery(gallery).faults] == [ann.id]


def test_they_travel_with_their_person(gallery: Gallery, template: Template, path: Path) -> None:
    gallery.enrol("Ann", [template(1)], details=STAFF)
    gallery.enrol("Bob", [template(2)])
    elsewhere = path.with_name("elsewhere")
    with Gallery.open(elsewhere / "g.db", elsewhere / "g.key", create=True) as target:
        import_gallery(target, unpack(pack(gallery), "here"))
        assert [p.details for p in target.people()] == [STAFF, Details()]


@pytest.mark.parametrize(
    "details",
    [
        Details("two\nlines"),
        Details(""),
        Details("x" * 201),
        Details(None, ("",)),
        Details(None, ("\u202eabc",)),
    ],
)
def test_what_cannot_be_kept(details: Details, gallery: Gallery, template: Template) -> None:
    with pytest.raises(UsageError):
        gallery.enrol("Ann", [template(1)], details=details)
    assert gallery.people() == []
    with pytest.raises(UsageError):
        gallery.describe("nobody", details)


def test_nobody_is_not_described(gallery: Gallery) -> None:
    with pytest.raises(Refused):
        gallery.describe("nobody", STAFF)
