"""Export and import: everything travels, conflicts are said, all or nothing."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from edgefaced.errors import EmbeddingError, GalleryDamaged, ModelMismatch, Refused
from edgefaced.gallery import rows
from edgefaced.gallery.records import NewTemplate, Person
from edgefaced.gallery.store import Gallery
from edgefaced.gallery.transfer import export_gallery, import_gallery, open_export, pack, unpack

PHRASE = "correct horse battery"
Template = Callable[..., NewTemplate]


@pytest.fixture
def elsewhere(tmp_path: Path) -> Iterator[Gallery]:
    """The gallery of another device, with a key of its own."""
    folder = tmp_path / "elsewhere"
    with Gallery.open(folder / "gallery.db", folder / "gallery.key", create=True) as opened:
        yield opened


def brought(gallery: Gallery, payload: bytes, conflicts: Any = "refuse") -> Any:
    return import_gallery(gallery, unpack(payload, "backup"), conflicts)


def everything(gallery: Gallery) -> list[tuple[Person, list[tuple[Any, ...]]]]:
    with gallery.reading() as db:
        return [
            (
                person,
                [
                    (t.embedding.vector.tobytes(), t.embedding.model_id, t.added_at, t.picture_png)
                    for t in rows.stored_templates(db, gallery.protection, person.id)
                ],
            )
            for person in gallery_people(gallery)
        ]


def gallery_people(gallery: Gallery) -> list[Person]:
    return rows.people(gallery.database.connection, gallery.protection)


def test_everything_travels(gallery: Gallery, elsewhere: Gallery, template: Template) -> None:
    gallery.enrol("Ann", [template(1, b"png one"), template(2)], consent="signed\nform 12")
    gallery.enrol("שלום --json 👩‍👩‍👧", [template(3)])
    content = export_gallery(gallery, PHRASE)
    assert b"Ann" not in content
    report = import_gallery(elsewhere, open_export(content, PHRASE, "backup"))
    assert report.added == ("Ann", "שלום --json 👩‍👩‍👧")
    assert (report.replaced, report.skipped, report.scrubbed) == ((), (), True)
    assert everything(elsewhere) == everything(gallery)
    assert elsewhere.protection.name_lookup("Ann") != gallery.protection.name_lookup("Ann")
    assert len(elsewhere.changes_since(0).items) == 2, "running readers are told"


def test_an_empty_gallery_travels_too(gallery: Gallery, elsewhere: Gallery) -> None:
    assert brought(elsewhere, pack(gallery)).added == ()


def test_a_conflict_is_said_and_nothing_comes_in(
    gallery: Gallery, elsewhere: Gallery, template: Template
) -> None:
    for n in range(8):
        gallery.enrol(f"Person {n}", [template(n)])
        if n:
            elsewhere.enrol(f"PERSON {n}", [template(100 + n)])
    before = everything(elsewhere)
    with pytest.raises(Refused, match=r"already enrolled: Person 1, .* and 2 more .*--replace"):
        brought(elsewhere, pack(gallery))
    assert everything(elsewhere) == before


def test_skip_and_replace(gallery: Gallery, elsewhere: Gallery, template: Template) -> None:
    ann = gallery.enrol("Ann", [template(1), template(2)])
    gallery.enrol("Bob", [template(3)])
    content = pack(gallery)
    theirs = elsewhere.enrol("ann", [template(4)])
    report = brought(elsewhere, content, "skip")
    assert (report.added, report.skipped) == (("Bob",), ("Ann",))
    assert elsewhere.find("Ann") == theirs
    report = brought(elsewhere, content, "replace")
    assert (report.added, report.replaced) == ((), ("Ann", "Bob"))
    found = elsewhere.find("Ann")
    assert found is not None
    assert (found.id, found.templates) == (ann.id, 2)
    assert elsewhere.find(theirs.id) is None
    assert len(elsewhere.people()) == 2
    assert brought(gallery, content, "replace").replaced == ("Ann", "Bob"), "onto itself"


def test_one_has_the_name_and_another_the_id(
    gallery: Gallery, elsewhere: Gallery, template: Template
) -> None:
    ann = gallery.enrol("Ann", [template(1)])
    gallery.enrol("Bob", [template(2)])
    original = pack(gallery)
    brought(elsewhere, original)
    elsewhere.rename(ann.id, "Bobby")
    bob = elsewhere.id_of("Bob")
    assert bob is not None
    elsewhere.rename(bob, "Ann")
    # Here Ann's id is called Bobby, and Bob's id is called Ann.
    brought(elsewhere, original, "replace")
    assert everything(elsewhere) == everything(gallery)


def test_another_model_stays_outside(
    gallery: Gallery, elsewhere: Gallery, template: Template
) -> None:
    gallery.enrol("Ann", [template(1, model_id="w600k")])
    content = pack(gallery)
    elsewhere.enrol("Bob", [template(2)])
    with pytest.raises(ModelMismatch, match="w600k"):
        brought(elsewhere, content)
    with pytest.raises(EmbeddingError):
        brought(
            elsewhere,
            changed(
                content,
                lambda e: e["people"][0]["templates"].__setitem__(
                    0, {**e["people"][0]["templates"][0], "model_id": "sface", "vector": b64(16)}
                ),
            ),
        )
    assert [p.name for p in elsewhere.people()] == ["Bob"]
    assert elsewhere.changes_since(0).revision == 1


def b64(dimension: int) -> str:
    from base64 import b64encode

    vector = np.zeros(dimension, "<f4")
    vector[0] = 1
    return b64encode(vector.tobytes()).decode()


def changed(payload: bytes, change: Callable[[Any], object]) -> bytes:
    """The same payload with something else in it."""
    export = json.loads(payload)
    change(export)
    return json.dumps(export).encode()


CHANGES: dict[str, Callable[[Any], object]] = {
    "unknown key": lambda e: e.update(admin=True),
    "no people": lambda e: e.pop("people"),
    "a name with a line break": lambda e: e["people"][0].update(name="a\nb"),
    "an empty name": lambda e: e["people"][0].update(name=""),
    "an id that is none": lambda e: e["people"][0].update(id="../../x"),
    "a time without a zone": lambda e: e["people"][0].update(enrolled_at="2024-01-01T00:00:00"),
    "a vector that is no base64": lambda e: e["people"][0]["templates"][0].update(vector="%%"),
    "a vector cut off": lambda e: e["people"][0]["templates"][0].update(vector="AAA="),
    "a vector of zeros": lambda e: e["people"][0]["templates"][0].update(vector="AAAAAA=="),
    "a vector of NaN": lambda e: e["people"][0]["templates"][0].update(vector="AADAfw=="),
    "an empty vector": lambda e: e["people"][0]["templates"][0].update(vector=""),
    "an empty model id": lambda e: e["people"][0]["templates"][0].update(model_id=""),
    "a person twice": lambda e: e["people"].append(e["people"][0]),
    "a name twice": lambda e: e["people"].append(
        {**e["people"][0], "id": "6f8e3e1d-e87e-43b9-aa94-c86ae05e9ae3"}
    ),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_file_that_was_made_up_is_damaged(
    gallery: Gallery, elsewhere: Gallery, template: Template, change: Callable[[Any], object]
) -> None:
    gallery.enrol("Ann", [template(1)])
    content = changed(pack(gallery), change)
    with pytest.raises(GalleryDamaged, match=r"^backup") as caught:
        brought(elsewhere, content)
    assert "\n" not in str(caught.value)
    assert elsewhere.people() == []


def test_a_payload_that_is_no_json() -> None:
    with pytest.raises(GalleryDamaged, match=r"^backup"):
        unpack(b"\xff\x00", "backup")
