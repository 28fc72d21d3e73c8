"""People and templates: enrolling, finding, renaming, removing."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from edgefaced.errors import (
    EmbeddingError,
    GalleryMissing,
    KeyMissing,
    KeyWrong,
    ModelMismatch,
    Refused,
    UsageError,
)
from edgefaced.gallery.records import Change, ChangeKind, NewTemplate
from edgefaced.gallery.rows import KEPT_CHANGES
from edgefaced.gallery.store import Gallery

Template = Callable[..., NewTemplate]


def test_a_person_comes_back_as_enrolled(
    gallery: Gallery, path: Path, key_file: Path, template: Template
) -> None:
    before = datetime.now(UTC)
    person = gallery.enrol(" Zoe\u0308 ", [template(1), template(2)], consent="signed form 12")
    gallery.close()
    with Gallery.open(path, key_file) as again:
        assert again.people() == [person]
        assert again.find("ZOË") == person
        assert again.find(person.id) == person
        assert again.name_of(person.id) == "Zoë"
        table = again.templates("sface")
    assert (person.name, person.templates, person.model_ids) == ("Zoë", 2, ("sface",))
    assert person.consent is not None
    assert person.consent.note == "signed form 12"
    assert person.enrolled_at.utcoffset() == timedelta(0)
    assert timedelta(0) <= person.enrolled_at - before + timedelta(milliseconds=1)
    assert person.consent.at == person.enrolled_at
    assert table.person_ids == (person.id,)
    np.testing.assert_array_equal(table.owners, [0, 0])
    expected = np.stack([template(n).embedding.vector for n in (1, 2)])
    np.testing.assert_array_equal(table.vectors, expected)
    assert table.vectors.dtype == np.float32


def test_people_are_listed_by_name(gallery: Gallery, template: Template) -> None:
    for n, name in enumerate(["bob", "Ann", "Émile", "Carl"]):
        gallery.enrol(name, [template(n)])
    assert [p.name for p in gallery.people()] == ["Ann", "bob", "Carl", "Émile"]
    assert len(gallery.ids()) == 4


def test_one_name_is_one_person(gallery: Gallery, template: Template) -> None:
    gallery.enrol("Ann", [template(1)])
    with pytest.raises(Refused, match="ANN is already enrolled"):
        gallery.enrol("ANN", [template(2)])
    assert len(gallery.templates("sface").vectors) == 1


def test_a_person_can_be_extended(gallery: Gallery, template: Template) -> None:
    first = gallery.enrol("Ann", [template(1)], consent="verbal")
    second = gallery.enrol("ann", [template(2), template(3)], extend=True)
    assert (second.id, second.name, second.templates) == (first.id, "Ann", 3)
    assert second.consent == first.consent
    third = gallery.enrol("ann", [template(4)], extend=True, consent="signed")
    assert third.consent is not None
    assert third.consent.note == "signed"
    assert gallery.enrol("Bob", [template(5)], extend=True).templates == 1


def test_an_enrolment_needs_a_template_and_a_name(gallery: Gallery, template: Template) -> None:
    with pytest.raises(UsageError, match="template"):
        gallery.enrol("Ann", [])
    with pytest.raises(UsageError):
        gallery.enrol("a\nb", [template(1)])
    with pytest.raises(UsageError):
        gallery.enrol("Ann", [template(1)], consent="")
    assert gallery.people() == []


def test_another_model_is_refused_with_the_way_out(gallery: Gallery, template: Template) -> None:
    gallery.enrol("Ann", [template(1)])
    for extend, name in ((False, "Bob"), (True, "Ann")):
        with pytest.raises(ModelMismatch, match=r"1 enrolled people.*sface.*re-embed"):
            gallery.enrol(name, [template(2, model_id="mobilefacenet")], extend=extend)
    with pytest.raises(ModelMismatch):
        gallery.enrol("Bob", [template(2), template(3, model_id="mobilefacenet")])
    with pytest.raises(ModelMismatch, match=r"sface, not of mobilefacenet"):
        gallery.templates("mobilefacenet")
    assert [p.name for p in gallery.people()] == ["Ann"]
    assert gallery.people()[0].templates == 1


def test_another_dimension_is_refused(gallery: Gallery, template: Template) -> None:
    gallery.enrol("Ann", [template(1)])
    with pytest.raises(EmbeddingError, match=r"64 numbers.*sface have 32"):
        gallery.enrol("Bob", [template(2, dimension=64)])
    with pytest.raises(EmbeddingError):
        gallery.enrol("Ann", [template(2), template(3, dimension=16)], extend=True)
    assert gallery.people()[0].templates == 1


def test_an_empty_gallery_fits_any_model(gallery: Gallery, template: Template) -> None:
    assert gallery.templates("anything").vectors.shape[0] == 0
    person = gallery.enrol("Ann", [template(1)])
    gallery.remove(person.id)
    gallery.enrol("Ann", [template(2, dimension=64, model_id="mobilefacenet")])
    assert gallery.templates("mobilefacenet").vectors.shape == (1, 64)


def test_renaming(gallery: Gallery, template: Template) -> None:
    ann, bob = gallery.enrol("Ann", [template(1)]), gallery.enrol("Bob", [template(2)])
    assert gallery.rename(ann.id, " Anna ").name == "Anna"
    assert gallery.rename(ann.id, "ANNA").name == "ANNA", "one's own name in another case"
    assert gallery.find("Ann") is None
    assert gallery.find("anna") is not None
    with pytest.raises(Refused, match="bob is already enrolled"):
        gallery.rename(ann.id, "bob")
    with pytest.raises(Refused, match="nobody is not enrolled"):
        gallery.rename("nobody", "Carl")
    with pytest.raises(UsageError):
        gallery.rename(bob.id, "\x00")
    assert gallery.name_of(bob.id) == "Bob"
    gallery.enrol("Ann", [template(3)])


def test_removing(gallery: Gallery, template: Template) -> None:
    ann = gallery.enrol("Ann", [template(1, b"png"), template(2)], consent="yes")
    bob = gallery.enrol("Bob", [template(3)])
    removal = gallery.remove(ann.id)
    assert (removal.people, removal.templates, removal.pictures) == (1, 2, 1)
    assert removal.scrubbed
    assert gallery.people() == [bob]
    assert gallery.find("Ann") is None
    assert len(gallery.templates("sface").vectors) == 1
    with pytest.raises(Refused, match="not enrolled"):
        gallery.name_of(ann.id)


def test_removing_is_all_or_nothing(gallery: Gallery, template: Template) -> None:
    ann, bob = gallery.enrol("Ann", [template(1)]), gallery.enrol("Bob", [template(2)])
    with pytest.raises(Refused):
        gallery.remove(ann.id, "nobody", bob.id)
    assert len(gallery.people()) == 2
    assert gallery.remove(ann.id, bob.id, ann.id).people == 2
    assert gallery.people() == []


def test_row_numbers_are_never_used_again(gallery: Gallery, template: Template) -> None:
    ann = gallery.enrol("Ann", [template(1), template(2)])
    gallery.remove(ann.id)
    gallery.enrol("Bob", [template(3)])
    with gallery.reading() as db:
        assert db.execute("SELECT row FROM templates").fetchall() == [(3,)]
        assert db.execute("SELECT row FROM people").fetchall() == [(2,)]


def test_changes_tell_who_and_what(gallery: Gallery, other: Gallery, template: Template) -> None:
    start = other.changes_since(0)
    assert (start.items, start.revision, start.complete) == ((), 0, True)
    ann = gallery.enrol("Ann", [template(1)])
    gallery.enrol("Ann", [template(2)], extend=True)
    gallery.rename(ann.id, "Anna")
    gallery.remove(ann.id)
    changes = other.changes_since(0)
    assert changes.complete
    assert changes.items == tuple(
        Change(n, ann.id, kind)
        for n, kind in enumerate(
            (ChangeKind.ENROLLED, ChangeKind.TEMPLATES, ChangeKind.RENAMED, ChangeKind.REMOVED), 1
        )
    )
    assert other.changes_since(2).items == changes.items[2:]
    assert other.changes_since(4).items == ()
    assert not other.changes_since(9).complete, "a revision of another gallery"


def test_old_changes_are_trimmed(gallery: Gallery, template: Template) -> None:
    ann = gallery.enrol("Ann", [template(1)])
    with gallery.writing() as db:
        from edgefaced.gallery.rows import append_change

        for _ in range(KEPT_CHANGES):
            append_change(db, ann.id, ChangeKind.TEMPLATES)
    assert not gallery.changes_since(0).complete
    kept = gallery.changes_since(1)
    assert kept.complete
    assert len(kept.items) == KEPT_CHANGES


def test_version_moves_with_every_commit_only(
    gallery: Gallery, other: Gallery, template: Template
) -> None:
    mine, theirs = gallery.version(), other.version()
    gallery.people()
    assert (gallery.version(), other.version()) == (mine, theirs)
    gallery.enrol("Ann", [template(1)])
    assert gallery.version() != mine, "own changes count"
    assert other.version() != theirs


def test_a_gallery_is_only_started_on_request(path: Path, key_file: Path) -> None:
    with pytest.raises(GalleryMissing, match="no gallery at"):
        Gallery.open(path, key_file)
    assert not path.parent.exists()


def test_a_missing_key_is_never_replaced(gallery: Gallery, path: Path, key_file: Path) -> None:
    gallery.close()
    key_file.unlink()
    for create in (False, True):
        with pytest.raises(KeyMissing):
            Gallery.open(path, key_file, create=create)
    assert not key_file.exists()


def test_a_wrong_key_is_a_clear_error(gallery: Gallery, path: Path, key_file: Path) -> None:
    gallery.close()
    key_file.write_bytes(bytes(32))
    with pytest.raises(KeyWrong, match="does not open this gallery"):
        Gallery.open(path, key_file)


def test_a_key_that_was_laid_ready_is_used(path: Path, key_file: Path, template: Template) -> None:
    key_file.parent.mkdir()
    key_file.touch(mode=0o600)
    key_file.write_bytes(bytes(range(32)))
    with Gallery.open(path, key_file, create=True) as gallery:
        gallery.enrol("Ann", [template(1)])
    assert key_file.read_bytes() == bytes(range(32))


@pytest.mark.parametrize("name", ["\udcff", "a\x00b", "x" * 5000, "", "%", "' OR 1=1 --"])
def test_anything_may_be_looked_up(gallery: Gallery, template: Template, name: str) -> None:
    gallery.enrol("Ann", [template(1)])
    assert gallery.find(name) is None
    assert gallery.id_of(name) is None


@pytest.mark.parametrize("begun", [False, True])
def test_what_a_start_that_was_killed_left_is_swept(
    path: Path, key_file: Path, begun: bool
) -> None:
    if begun:
        Gallery.open(path, key_file, create=True).close()
    path.parent.mkdir(exist_ok=True)
    drafts = path.parent / f".{path.name}.x1"
    drafts.mkdir()
    (drafts / path.name).touch()
    key_file.with_name(f".{key_file.name}.0123456789abcdef").write_bytes(bytes(32))
    another = path.parent / ".another"
    another.touch()
    Gallery.open(path, key_file, create=True).close()
    assert {p.name for p in path.parent.iterdir()} == {path.name, key_file.name, another.name}
