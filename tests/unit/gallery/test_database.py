"""The SQLite file: modes, pragmas, versions, damage, and who else has it open."""

from __future__ import annotations

import sqlite3
import stat
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from edgefaced.errors import (
    GalleryBusy,
    GalleryDamaged,
    GalleryError,
    GalleryTooNew,
    StorageError,
)
from edgefaced.gallery.database import Database
from edgefaced.gallery.protection import Place, Protection
from edgefaced.gallery.records import NewTemplate
from edgefaced.gallery.rows import vector_place
from edgefaced.gallery.schema import SCHEMA
from edgefaced.gallery.store import Gallery
from edgefaced.storage import keyfile

Template = Callable[..., NewTemplate]


def pragma(db: sqlite3.Connection, name: str) -> object:
    return db.execute(f"PRAGMA {name}").fetchone()[0]


def test_files_and_folder_are_private(
    gallery: Gallery, path: Path, key_file: Path, template: Template
) -> None:
    gallery.enrol("Ann", [template(1)])
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    files = list(path.parent.iterdir())
    assert {f.name for f in files} == {
        "gallery.db",
        "gallery.db-wal",
        "gallery.db-shm",
        "gallery.key",
    }
    assert {stat.S_IMODE(f.stat().st_mode) for f in files} == {0o600}


def test_a_file_that_was_opened_up_is_closed_again(gallery: Gallery, path: Path) -> None:
    gallery.close()
    path.chmod(0o644)
    Database(path).close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_the_connection_is_durable_and_scrubs(gallery: Gallery) -> None:
    db = gallery.database.connection
    assert pragma(db, "journal_mode") == "wal"
    assert pragma(db, "synchronous") == 2, "FULL"
    assert pragma(db, "secure_delete") == 1
    assert pragma(db, "foreign_keys") == 1
    assert pragma(db, "trusted_schema") == 0
    assert pragma(db, "temp_store") == 2, "memory"
    assert pragma(db, "busy_timeout") == 5000
    assert pragma(db, "application_id") == SCHEMA.application_id
    assert pragma(db, "user_version") == SCHEMA.version
    assert pragma(db, "integrity_check") == "ok"


def test_no_name_and_no_vector_lies_open_in_the_files(
    gallery: Gallery, path: Path, template: Template
) -> None:
    new = template(1, b"picture of a face, kept by choice")
    gallery.enrol("Annabella Smith", [new], consent="signed by her mother")
    raw = b"".join(f.read_bytes() for f in path.parent.iterdir() if f.name != "gallery.key")
    for plain in (
        b"Annabella",
        b"annabella",
        b"mother",
        b"picture of",
        new.embedding.vector.tobytes()[:16],
        new.embedding.vector.astype(np.float64).tobytes()[:16],
    ):
        assert plain not in raw


def test_a_newer_schema_is_left_alone(gallery: Gallery, path: Path, key_file: Path) -> None:
    gallery.close()
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute(f"PRAGMA user_version = {SCHEMA.version + 1}")
    before = path.read_bytes()
    with pytest.raises(GalleryTooNew, match=rf"schema {SCHEMA.version + 1}.*update edgefaced"):
        Gallery.open(path, key_file, create=True)
    assert path.read_bytes() == before


SCHEMA_1 = """
CREATE TABLE meta (key TEXT PRIMARY KEY NOT NULL, value BLOB NOT NULL) STRICT;
CREATE TABLE people (
    row INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, name BLOB NOT NULL,
    name_lookup BLOB NOT NULL UNIQUE, consent BLOB, enrolled_at TEXT NOT NULL
) STRICT;
CREATE TABLE templates (
    row INTEGER PRIMARY KEY AUTOINCREMENT,
    person_id TEXT NOT NULL REFERENCES people (id) ON DELETE CASCADE,
    model_id TEXT NOT NULL, vector BLOB NOT NULL, added_at TEXT NOT NULL
) STRICT;
CREATE INDEX templates_by_person ON templates (person_id);
PRAGMA application_id = 0x45466763;
PRAGMA user_version = 1;
"""


@pytest.fixture
def schema_1(path: Path, key_file: Path, template: Template) -> str:
    """A gallery as schema 1 wrote it, with one person; the person's id."""
    master, gallery_id = keyfile.read_or_create_key(key_file), b"0123456789abcdef"
    protection = Protection(master, gallery_id)
    person_id = "6f8e3e1d-e87e-43b9-aa94-c86ae05e9ae3"
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.executescript(SCHEMA_1)
        for key, value in (("gallery_id", gallery_id), ("key_check", protection.key_check())):
            db.execute("INSERT INTO meta VALUES (?, ?)", (key, value))
        name = protection.seal(b"Ann", Place("people.name", 1, person_id))
        lookup = protection.name_lookup("Ann")
        at = "2024-05-01T10:00:00.000+00:00"
        db.execute("INSERT INTO people VALUES (1,?,?,?,NULL,?)", (person_id, name, lookup, at))
        place = Place("templates.vector", 1, person_id, "sface")
        vector = protection.seal(template(1).embedding.vector.tobytes(), place)
        db.execute("INSERT INTO templates VALUES (1, ?, 'sface', ?, ?)", (person_id, vector, at))
    return person_id


def test_an_older_gallery_is_brought_up_to_date(
    schema_1: str, path: Path, key_file: Path, template: Template
) -> None:
    with Gallery.open(path, key_file) as gallery:
        person = gallery.find("ann")
        assert person is not None
        assert (person.id, person.templates, person.enrolled_at.year) == (schema_1, 1, 2024)
        gallery.enrol("Ann", [template(2, b"png")], extend=True)
        assert [c.person_id for c in gallery.changes_since(0).items] == [schema_1]
        assert pragma(gallery.database.connection, "user_version") == SCHEMA.version
        assert pragma(gallery.database.connection, "journal_mode") == "wal"
        migrated = tables(gallery.database.connection)
    with Gallery.open(path.with_name("new.db"), key_file, create=True) as new:
        assert tables(new.database.connection) == migrated


def tables(db: sqlite3.Connection) -> set[tuple[str, str]]:
    """Every table and index with its text, blanks aside."""
    rows = db.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL")
    return {(name, "".join(sql.split())) for name, sql in rows.fetchall()}


def test_a_migration_that_fails_changes_nothing(schema_1: str, path: Path, key_file: Path) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        # The second statement of the step to come cannot be executed.
        db.execute("CREATE TABLE pictures (mine TEXT)")
    with pytest.raises(GalleryDamaged, match="pictures already exists"):
        Gallery.open(path, key_file)
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        assert pragma(db, "user_version") == 1
        assert "changes" not in {name for name, _ in tables(db)}
        db.execute("DROP TABLE pictures")
    with Gallery.open(path, key_file) as gallery:
        assert gallery.find(schema_1) is not None


@pytest.mark.parametrize("content", [b"", b"not a database at all", bytes(8192), b"SQLite format"])
def test_what_is_no_gallery(path: Path, key_file: Path, content: bytes) -> None:
    keyfile.read_or_create_key(key_file)
    path.write_bytes(content)
    with pytest.raises(GalleryDamaged) as caught:
        Gallery.open(path, key_file, create=True)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)
    assert path.read_bytes() == content


def test_another_programs_database_is_left_alone(path: Path, key_file: Path) -> None:
    path.parent.mkdir()
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE cookies (host TEXT)")
    before = path.read_bytes()
    with pytest.raises(GalleryDamaged, match="is not a gallery"):
        Gallery.open(path, key_file, create=True)
    assert path.read_bytes() == before


def test_torn_pages_are_damage_in_one_line(
    gallery: Gallery, path: Path, key_file: Path, template: Template
) -> None:
    for n in range(20):
        gallery.enrol(f"Person {n}", [template(n, bytes(9000))])
    gallery.close()
    content = bytearray(path.read_bytes())
    content[3 * 8192 :] = b"\xa5" * len(content[3 * 8192 :])
    path.write_bytes(content)

    def read() -> None:
        with Gallery.open(path, key_file) as opened:
            opened.people()
            opened.templates("sface")

    with pytest.raises(GalleryDamaged, match="damaged") as caught:
        read()
    assert "\n" not in str(caught.value)


def test_a_held_lock_is_busy_not_a_traceback(
    gallery: Gallery, path: Path, template: Template
) -> None:
    gallery.database.connection.execute("PRAGMA busy_timeout = 50")
    with closing(sqlite3.connect(path, isolation_level=None)) as holder:
        holder.execute("BEGIN IMMEDIATE")
        with pytest.raises(GalleryBusy, match="locked by another process") as caught:
            gallery.enrol("Ann", [template(1)])
        assert caught.value.retryable
        assert gallery.people() == [], "reading goes on"
        holder.execute("ROLLBACK")
    gallery.enrol("Ann", [template(1)])


@pytest.mark.parametrize("successor", [True, False])
def test_a_gallery_that_was_exchanged_is_noticed(
    gallery: Gallery, path: Path, template: Template, successor: bool
) -> None:
    gallery.enrol("Ann", [template(1)])
    moved = path.with_name("moved.db")
    path.rename(moved)
    if successor:
        path.write_bytes(moved.read_bytes())
    with pytest.raises(GalleryError, match="replaced or deleted while in use"):
        gallery.version()
    with pytest.raises(GalleryError, match="replaced or deleted while in use"):
        gallery.enrol("Bob", [template(2)])


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StorageError):
        Gallery.open(tmp_path / "file" / "gallery.db", tmp_path / "key", create=True)


def test_a_folder_in_the_gallerys_place(path: Path, key_file: Path) -> None:
    keyfile.read_or_create_key(key_file)
    path.mkdir()
    with pytest.raises(StorageError):
        Gallery.open(path, key_file, create=True)


def swap(db: sqlite3.Connection, table: str, column: str, one: int, two: int) -> None:
    rows = dict(db.execute(f"SELECT row, {column} FROM {table}").fetchall())  # noqa: S608 - test
    for row, value in ((one, rows[two]), (two, rows[one])):
        db.execute(f"UPDATE {table} SET {column} = ? WHERE row = ?", (value, row))  # noqa: S608


def test_swapped_templates_are_damage_not_a_match(
    gallery: Gallery, path: Path, template: Template
) -> None:
    gallery.enrol("Ann", [template(1)])
    gallery.enrol("Bob", [template(2)])
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        swap(db, "templates", "vector", 1, 2)
    with pytest.raises(GalleryDamaged, match=r"row 1 of templates\.vector is damaged"):
        gallery.templates("sface")


def test_a_template_given_to_somebody_else_is_damage(
    gallery: Gallery, path: Path, template: Template
) -> None:
    gallery.enrol("Ann", [template(1)])
    bob = gallery.enrol("Bob", [template(2)])
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("UPDATE templates SET person_id = ? WHERE row = 1", (bob.id,))
    with pytest.raises(GalleryDamaged, match=r"row 1 of templates\.vector"):
        gallery.templates("sface")


def test_a_template_of_another_model_is_damage(
    gallery: Gallery, path: Path, template: Template
) -> None:
    gallery.enrol("Ann", [template(1)])
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("UPDATE templates SET model_id = 'w600k'")
    with pytest.raises(GalleryDamaged, match=r"row 1 of templates\.vector"):
        gallery.templates("w600k")


def test_swapped_names_are_damage_and_can_still_be_removed(
    gallery: Gallery, path: Path, template: Template
) -> None:
    ann = gallery.enrol("Ann", [template(1)])
    bob = gallery.enrol("Bob", [template(2)])
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        swap(db, "people", "name", 1, 2)
    with pytest.raises(GalleryDamaged, match=r"row 1 of people\.name"):
        gallery.people()
    with pytest.raises(GalleryDamaged):
        gallery.name_of(bob.id)
    assert gallery.id_of("Ann") == ann.id, "found by the keyed digest, which is intact"
    assert set(gallery.ids()) == {ann.id, bob.id}
    gallery.remove(ann.id, bob.id)
    assert gallery.people() == []


@pytest.mark.parametrize("vector", [np.zeros(32), np.full(32, np.nan), np.full(32, 0.5)])
def test_a_sealed_vector_that_is_no_direction_is_damage(
    gallery: Gallery, template: Template, vector: object
) -> None:
    """As a fault of an earlier version could have sealed it."""
    ann = gallery.enrol("Ann", [template(1), template(2)])
    with gallery.writing() as db:
        plain = np.asarray(vector, "<f4").tobytes()
        sealed = gallery.protection.seal(plain, vector_place(2, ann.id, "sface"))
        db.execute("UPDATE templates SET vector = ? WHERE row = 2", (sealed,))
    with pytest.raises(GalleryDamaged, match=r"row 2 of templates\.vector"):
        gallery.templates("sface")


def test_a_time_that_is_none_is_damage(gallery: Gallery, path: Path, template: Template) -> None:
    gallery.enrol("Ann", [template(1)])
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("UPDATE people SET enrolled_at = 'yesterday'")
    with pytest.raises(GalleryDamaged, match=r"row 1 of people"):
        gallery.people()


def test_a_gallery_without_its_key_check_is_damaged(
    gallery: Gallery, path: Path, key_file: Path
) -> None:
    gallery.close()
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("DELETE FROM meta WHERE key = 'key_check'")
    with pytest.raises(GalleryDamaged, match="no key check"):
        Gallery.open(path, key_file)


def test_the_callers_own_fault_is_not_called_damage(gallery: Gallery) -> None:
    gallery.close()
    with pytest.raises(sqlite3.ProgrammingError):
        gallery.people()
