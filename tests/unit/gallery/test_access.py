"""Grants and card numbers: sealed, moved and gone with their person."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from edgefaced.core.access import Grant, Rights
from edgefaced.errors import GalleryDamaged, Refused, UsageError
from edgefaced.gallery.access import DoorAccess, access_of, rights_of, set_access
from edgefaced.gallery.check import check_gallery
from edgefaced.gallery.records import Details, NewTemplate
from edgefaced.gallery.rekey import rotate_key
from edgefaced.gallery.store import Gallery
from edgefaced.gallery.transfer import import_gallery, pack, unpack

Template = Callable[..., NewTemplate]

OFFICE = DoorAccess((Grant("front", "office", 20_000, 21_000), Grant("lab")), card=4711)


def test_what_is_granted_is_kept_sealed_and_goes_with_the_person(
    gallery: Gallery, other: Gallery, path: Path, template: Template
) -> None:
    ann = gallery.enrol("Ann", [template(1)], details=Details(None, ("Staff",)))
    assert access_of(gallery, ann.id) == access_of(gallery, "nobody") == DoorAccess()
    set_access(gallery, ann.id, OFFICE)
    assert access_of(other, ann.id) == OFFICE
    assert rights_of(other, ann.id) == Rights(OFFICE.grants, ("everybody", "staff"), 4711)
    everything = path.read_bytes() + path.with_name("gallery.db-wal").read_bytes()
    assert b"front" not in everything
    gallery.remove(ann.id)
    assert rights_of(other, ann.id) == Rights(), "who is not enrolled is not even one of everybody"


def test_other_details_and_templates_leave_it_alone(gallery: Gallery, template: Template) -> None:
    ann = gallery.enrol("Ann", [template(1)])
    set_access(gallery, ann.id, OFFICE)
    gallery.describe(ann.id, Details("A-1", ("night",)))
    gallery.enrol("Ann", [template(2)], extend=True)
    gallery.rename(ann.id, "Anna")
    assert access_of(gallery, ann.id) == OFFICE
    set_access(gallery, ann.id, DoorAccess())
    assert access_of(gallery, ann.id) == DoorAccess()


def test_a_new_key_opens_it(gallery: Gallery, template: Template) -> None:
    ann = gallery.enrol("Ann", [template(1)])
    set_access(gallery, ann.id, OFFICE)
    assert rotate_key(gallery)
    assert access_of(gallery, ann.id) == OFFICE
    assert not check_gallery(gallery).faults


@pytest.mark.parametrize("column", ["name", "X'00'"])
def test_what_was_altered_grants_nothing(gallery: Gallery, template: Template, column: str) -> None:
    ann = gallery.enrol("Ann", [template(1)])
    bob = gallery.enrol("Bob", [template(2)])
    set_access(gallery, ann.id, OFFICE)
    with gallery.writing() as db:
        db.execute(f"UPDATE people SET access = {column} WHERE id = ?", (ann.id,))  # noqa: S608
    assert [fault.person_id for fault in check_gallery(gallery).faults] == [ann.id]
    with pytest.raises(GalleryDamaged):
        rights_of(gallery, ann.id)
    assert rights_of(gallery, bob.id) == Rights((), ("everybody",))


def test_one_persons_rights_cannot_be_copied_to_another(
    gallery: Gallery, template: Template
) -> None:
    ann, bob = (gallery.enrol(n, [template(s)]) for n, s in (("Ann", 1), ("Bob", 2)))
    set_access(gallery, ann.id, OFFICE)
    with gallery.writing() as db:
        db.execute("UPDATE people SET access = (SELECT access FROM people WHERE id = ?)", (ann.id,))
    assert access_of(gallery, ann.id) == OFFICE
    with pytest.raises(GalleryDamaged):
        access_of(gallery, bob.id)


def test_it_travels_with_its_person(gallery: Gallery, template: Template, path: Path) -> None:
    ann = gallery.enrol("Ann", [template(1)])
    bob = gallery.enrol("Bob", [template(2)])
    set_access(gallery, ann.id, OFFICE)
    elsewhere = path.with_name("elsewhere")
    with Gallery.open(elsewhere / "g.db", elsewhere / "g.key", create=True) as target:
        import_gallery(target, unpack(pack(gallery), "here"))
        assert access_of(target, ann.id) == OFFICE
        assert access_of(target, bob.id) == DoorAccess()


def test_what_cannot_be_kept_is_refused(gallery: Gallery, template: Template) -> None:
    ann = gallery.enrol("Ann", [template(1)])
    for card in (-1, 65_536):
        with pytest.raises(UsageError, match="card number"):
            set_access(gallery, ann.id, DoorAccess(card=card))
    with pytest.raises(Refused, match="not enrolled"):
        set_access(gallery, "nobody", OFFICE)
