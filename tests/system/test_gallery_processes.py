"""Several processes on one gallery: creating it at once, following changes, leaving no remains."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from random import Random
from typing import Any

import gallery_peer
import pytest

from edgefaced.gallery import rows
from edgefaced.gallery.check import check_gallery
from edgefaced.gallery.records import NewTemplate
from edgefaced.gallery.rekey import rotate_key
from edgefaced.gallery.store import Gallery


class Process:
    """A peer in a process of its own."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, str(gallery_peer.__file__)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def tell(self, **order: Any) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(order) + "\n")
        self.process.stdin.flush()

    def hear(self) -> Any:
        assert self.process.stdout is not None
        reply = json.loads(self.process.stdout.readline())
        assert "error" not in reply, reply
        return reply["answer"]

    def ask(self, **order: Any) -> Any:
        self.tell(**order)
        return self.hear()

    def close(self) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


@pytest.fixture
def start() -> Iterator[Callable[[], Process]]:
    """Starts peers, and ends them after the test."""
    with ExitStack() as stack:

        def one() -> Process:
            process = Process()
            stack.callback(process.close)
            return process

        yield one


@pytest.fixture
def places(tmp_path: Path) -> tuple[Path, Path]:
    return tmp_path / "gallery.db", tmp_path / "gallery.key"


def new(seed: int, picture: bytes | None = None) -> NewTemplate:
    return NewTemplate(gallery_peer.embedding(seed), picture)


@pytest.mark.slow
def test_whoever_begins_there_is_one_gallery_and_one_key(
    start: Callable[[], Process], tmp_path: Path
) -> None:
    peers = [start() for _ in range(4)]
    for round_ in range(15):
        folder = tmp_path / str(round_)
        for peer in peers:
            peer.tell(do="open", folder=str(folder))
        for n, peer in enumerate(peers):
            peer.tell(do="enrol", name=f"Person {n}", seeds=[n])
        for peer in peers:
            peer.hear()
            peer.hear()
        with Gallery.open(folder / "gallery.db", folder / "gallery.key") as gallery:
            assert {p.name for p in gallery.people()} == {f"Person {n}" for n in range(4)}
            assert check_gallery(gallery).faults == ()
        left = {f.name for f in folder.iterdir()} - {"gallery.db-wal", "gallery.db-shm"}
        assert left == {"gallery.db", "gallery.key"}


@pytest.mark.slow
def test_two_writers_and_a_reader_lose_nothing(
    start: Callable[[], Process], tmp_path: Path, places: tuple[Path, Path]
) -> None:
    writers = [start(), start()]
    with Gallery.open(*places, create=True) as gallery:
        for writer in writers:
            writer.ask(do="open", folder=str(tmp_path))
        reader = start()
        reader.ask(do="open", folder=str(tmp_path))
        reader.ask(do="index", kind="exact")
        for n in range(60):
            for i, writer in enumerate(writers):
                writer.tell(do="enrol", name=f"Person {i} {n}", seeds=[1000 * i + n])
            reader.tell(do="refresh")
        ids = [[writer.hear() for _ in range(60)] for writer in writers]
        sizes = [reader.hear()[1] for _ in range(60)]
        assert sizes == sorted(sizes)
        reader.ask(do="refresh")
        for i in range(2):
            for n in range(60):
                found = reader.ask(do="search", seed=1000 * i + n)
                assert found[0] == ids[i][n]
        assert len(gallery.people()) == 120
        assert [c.revision for c in gallery.changes_since(0).items] == list(range(1, 121))


def test_a_running_reader_sees_changes_and_a_new_key(
    start: Callable[[], Process], tmp_path: Path, places: tuple[Path, Path]
) -> None:
    with Gallery.open(*places, create=True) as gallery:
        reader = start()
        reader.ask(do="open", folder=str(tmp_path))
        assert reader.ask(do="index", kind="exact") == 0
        ann = gallery.enrol("Ann", [new(1), new(2)])
        assert reader.ask(do="refresh") == [True, 2]
        assert reader.ask(do="refresh") == [False, 2]
        assert rotate_key(gallery)
        bob = gallery.enrol("Bob", [new(3)])
        assert reader.ask(do="refresh") == [True, 3]
        assert reader.ask(do="search", seed=3)[0] == bob.id
        carl = reader.ask(do="enrol", name="Carl", seeds=[4])
        assert gallery.name_of(carl) == "Carl", "written with the new key"
        assert gallery.remove(ann.id).scrubbed
        assert reader.ask(do="refresh") == [True, 2]
        assert check_gallery(gallery).faults == ()


def pieces(blobs: list[bytes]) -> list[bytes]:
    """Every 16 bytes of them: a remnant of 31 bytes or more holds one of these in full."""
    return [b[i : i + 16] for b in blobs for i in range(0, len(b) - 15, 16)]


def records_of(gallery: Gallery, person_id: str) -> list[bytes]:
    """All that lies in the files of one person, as it lies there."""
    with gallery.reading() as db:
        (name, lookup, consent) = db.execute(
            "SELECT name, name_lookup, consent FROM people WHERE id = ?", (person_id,)
        ).fetchone()
        templates = db.execute(
            "SELECT vector, picture FROM templates LEFT JOIN pictures ON template = row "
            "WHERE person_id = ?",
            (person_id,),
        ).fetchall()
    return [name, lookup, consent, *(blob for pair in templates for blob in pair if blob)]


def remains(folder: Path, needles: list[bytes]) -> int:
    """How many of the pieces are found in any file of the folder."""
    raw = b"\0".join(f.read_bytes() for f in sorted(folder.iterdir()))
    return sum(needle in raw for needle in needles)


def crowd(gallery: Gallery) -> None:
    for n in range(150):
        gallery.enrol(f"Somebody {n}", [new(1000 + n, bytes(n % 7 * 1500) or None)])


def test_removal_leaves_no_byte_also_with_a_reader_running(
    start: Callable[[], Process], tmp_path: Path, places: tuple[Path, Path]
) -> None:
    with Gallery.open(*places, create=True) as gallery:
        gallery.database.connection.execute("PRAGMA synchronous = OFF")  # for the crowd only
        crowd(gallery)
        gallery.database.connection.execute("PRAGMA synchronous = FULL")
        ann = gallery.enrol("Ann", [new(1, bytes(range(256)) * 70), new(2)], consent="on paper")
        needles = pieces(records_of(gallery, ann.id))
        reader = start()
        reader.ask(do="open", folder=str(tmp_path))
        reader.ask(do="index", kind="exact")
        assert reader.ask(do="search", seed=1)[0] == ann.id
        assert len(needles) > 1000
        # All but the few that lie across the end of a page: the search finds what is there.
        assert remains(tmp_path, needles) > 0.95 * len(needles)
        assert gallery.remove(ann.id).scrubbed
        assert remains(tmp_path, needles) == 0
        assert (tmp_path / "gallery.db-wal").stat().st_size < 64_000
        assert reader.ask(do="refresh") == [True, 150]
        assert reader.ask(do="search", seed=1)[0] != ann.id


def test_every_removal_leaves_no_byte_as_the_gallery_lives(
    tmp_path: Path, places: tuple[Path, Path]
) -> None:
    with Gallery.open(*places, create=True) as gallery:
        gallery.database.connection.execute("PRAGMA synchronous = OFF")
        people = []
        for n in range(300):  # enough for the index of names to be split and its rows moved
            person = gallery.enrol(f"Person {n}", [new(n)], consent="on paper")
            people.append((person.id, pieces(records_of(gallery, person.id))))
        gone: list[bytes] = []
        for person_id, needles in people[::13]:
            assert gallery.remove(person_id).scrubbed
            gone += needles
            assert remains(tmp_path, gone) == 0
        old = pieces(records_of(gallery, people[1][0])[:2])
        gallery.rename(people[1][0], "Another Name")
        assert remains(tmp_path, old) == 0, "nor of a name that was changed"


def test_copies_that_sqlite_left_when_it_moved_rows_go_too(
    tmp_path: Path, places: tuple[Path, Path]
) -> None:
    """A busy gallery has remnants of living rows in unused parts of pages; removal finds them."""
    random = Random(3)
    with Gallery.open(*places, create=True) as gallery:
        gallery.database.connection.execute("PRAGMA synchronous = OFF")
        living: list[str] = []
        copied: list[str] = []
        for number in range(6000):
            live(gallery, living, random, number)
            if number % 500 == 499:
                copied = with_copies(gallery, places[0])
                if copied:
                    break
        assert copied, "or this test shows nothing"
        needles = pieces([blob for i in copied for blob in records_of(gallery, i)[:2]])
        assert gallery.remove(*copied).scrubbed
        assert remains(tmp_path, needles) == 0


def live(gallery: Gallery, living: list[str], random: Random, number: int) -> None:
    """One enrolment, renaming or removal, without the scrub that belongs to the last two."""
    kind = random.random()
    if kind < 0.5 or not living:
        consent = random.choice([None, "x", "x" * 300, "x" * 1500, "x" * 2000])
        living.append(gallery.enrol(f"Person {number}", [new(number % 50)], consent=consent).id)
        return
    person_id = random.choice(living)
    with gallery.writing() as db:
        if kind < 0.7:
            name = f"{number} " + "y" * random.randint(1, 190)
            rows.set_name(db, gallery.protection, person_id, name)
        else:
            db.execute("DELETE FROM people WHERE id = ?", (person_id,))
            living.remove(person_id)


def with_copies(gallery: Gallery, path: Path) -> list[str]:
    """People whose names lie in the file more often than in their row and its index."""
    gallery.database.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    raw = path.read_bytes()
    with gallery.reading() as db:
        people = db.execute("SELECT id, name, name_lookup FROM people").fetchall()
    return [
        person_id
        for person_id, name, lookup in people
        if raw.count(name[:28]) > 1 or raw.count(name[-28:]) > 1 or raw.count(lookup) > 2
    ]


def test_a_reader_in_the_middle_of_reading_delays_the_scrub(
    start: Callable[[], Process], tmp_path: Path, places: tuple[Path, Path]
) -> None:
    with Gallery.open(*places, create=True) as gallery:
        ann = gallery.enrol("Ann", [new(1)], consent="on paper")
        gallery.enrol("Bob", [new(2)])
        needles = pieces(records_of(gallery, ann.id))
        reader = start()
        reader.ask(do="open", folder=str(tmp_path))
        assert reader.ask(do="hold") == 2
        assert not gallery.database.rewrite(seconds=0.1)
        removal = gallery.remove(ann.id)
        assert not removal.scrubbed, "said, not hidden"
        assert [p.name for p in gallery.people()] == ["Bob"], "removed all the same"
        assert remains(tmp_path, needles) > 0
        reader.ask(do="release")
        assert gallery.scrub()
        assert remains(tmp_path, needles) == 0


def test_the_next_opening_finishes_a_scrub(
    start: Callable[[], Process], tmp_path: Path, places: tuple[Path, Path]
) -> None:
    reader = start()
    with Gallery.open(*places, create=True) as gallery:
        ann = gallery.enrol("Ann", [new(1)], consent="on paper")
        needles = pieces(records_of(gallery, ann.id))
        reader.ask(do="open", folder=str(tmp_path))
        reader.ask(do="hold")
        assert not gallery.remove(ann.id).scrubbed
    assert remains(tmp_path, needles) > 0
    reader.ask(do="release")
    with Gallery.open(*places) as gallery:
        assert remains(tmp_path, needles) == 0
        with gallery.reading() as db:
            assert db.execute("SELECT * FROM meta WHERE key = 'scrub'").fetchall() == []


def test_an_exchanged_key_leaves_nothing_of_the_old(places: tuple[Path, Path]) -> None:
    with Gallery.open(*places, create=True) as gallery:
        ann = gallery.enrol("Ann", [new(1, b"a kept picture" * 10)], consent="on paper")
        needles = pieces(records_of(gallery, ann.id))
        assert rotate_key(gallery)
        assert remains(places[0].parent, needles) == 0


def copies_in_memory(pid: int, needle: bytes) -> int:
    """How often the bytes lie in what a process can write to."""
    count = 0
    process = Path(f"/proc/{pid}")
    with (process / "maps").open() as maps, (process / "mem").open("rb", buffering=0) as memory:
        for line in maps:
            place = re.match(r"([0-9a-f]+)-([0-9a-f]+) rw", line)
            if place is None:
                continue
            first, end = (int(address, 16) for address in place.groups())
            try:
                memory.seek(first)
                count += memory.read(end - first).count(needle)
            except OSError:  # a mapping of a device
                continue
    return count


def test_a_removed_template_leaves_the_readers_memory(
    start: Callable[[], Process], tmp_path: Path, places: tuple[Path, Path]
) -> None:
    with Gallery.open(*places, create=True) as gallery:
        people = [gallery.enrol(f"Person {n}", [new(n)]) for n in range(8)]
        reader = start()
        reader.ask(do="open", folder=str(tmp_path))
        reader.ask(do="index", kind="exact")
        late = gallery.enrol("Late", [new(50)])
        reader.ask(do="refresh")
        pid = reader.process.pid
        for person, seed in ((people[0], 0), (people[5], 5), (late, 50)):
            needle = gallery_peer.embedding(seed).vector.tobytes()[100:164]
            try:
                copies = copies_in_memory(pid, needle)
            except PermissionError:
                pytest.skip("this machine does not let a process look into its own child")
            assert copies == 1, "the index holds the one copy"
            gallery.remove(person.id)
            reader.ask(do="refresh")
            assert copies_in_memory(pid, needle) == 0
