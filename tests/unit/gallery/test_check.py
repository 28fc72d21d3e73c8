"""Looking at a gallery as a whole."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from edgefaced.gallery.check import check_gallery, figures_of
from edgefaced.gallery.records import NewTemplate
from edgefaced.gallery.store import Gallery

Template = Callable[..., NewTemplate]


def test_figures_are_counts(gallery: Gallery, template: Template) -> None:
    gallery.enrol("Ann", [template(1, b"png"), template(2)])
    gallery.enrol("Bob", [template(3)])
    figures = figures_of(gallery)
    assert (figures.people, figures.templates, figures.pictures) == (2, {"sface": 3}, 1)
    assert (figures.revision, figures.scrub_pending) == (2, False)


def test_a_gallery_in_order(gallery: Gallery, template: Template) -> None:
    gallery.enrol("Ann", [template(1, b"png"), template(2)], consent="signed")
    report = check_gallery(gallery)
    assert (report.people, report.templates, report.pictures) == (1, 2, 1)
    assert report.faults == ()


def test_every_altered_record_is_named_with_its_person(
    gallery: Gallery, path: Path, template: Template
) -> None:
    ann = gallery.enrol("Ann", [template(1, b"png one")], consent="signed")
    bob = gallery.enrol("Bob", [template(2, b"png two"), template(3)])
    carl = gallery.enrol("Carl", [template(4)])
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("UPDATE people SET consent = zeroblob(length(consent)) WHERE id = ?", (ann.id,))
        db.execute("UPDATE pictures SET picture = x'00' WHERE template = 2")
        db.execute("UPDATE templates SET vector = x'00' WHERE row = 3")
        db.execute("UPDATE templates SET model_id = 'w600k' WHERE row = 4")
        db.execute("UPDATE people SET name = zeroblob(40) WHERE id = ?", (carl.id,))
        db.execute("INSERT INTO templates VALUES (9, 'nobody', 'sface', x'00', '')")
    faults = {(f.what.split(" is ")[0], f.person_id) for f in check_gallery(gallery).faults}
    assert faults == {
        ("row 1 of people.consent", ann.id),
        ("row 2 of pictures.picture", bob.id),
        ("row 3 of templates.vector", bob.id),
        ("row 4 of templates.vector", carl.id),
        ("row 3 of people.name", carl.id),
        ("row 9 of templates belongs to nobody in people", ""),
        ("row 9 of templates.vector", "nobody"),
    }


def test_a_broken_index_is_found(gallery: Gallery, path: Path, template: Template) -> None:
    for n in range(3):
        gallery.enrol(f"Person {n}", [template(n)])
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("PRAGMA writable_schema = ON")
        db.execute(
            "UPDATE sqlite_master SET sql = replace(sql, '(person_id)', '(added_at)') "
            "WHERE name = 'templates_by_person'"
        )
    gallery.close()
    with Gallery.open(path, path.with_name("gallery.key")) as again:
        faults = check_gallery(again).faults
    assert faults
    assert all("templates_by_person" in fault.what for fault in faults)
