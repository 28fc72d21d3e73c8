"""`events picture`, and what happens to pictures when people are forgotten."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

import gallery_peer
import pytest
from ledgers import BOB, event, seen

from edgefaced.events import Trouble
from edgefaced.evidence import folder
from edgefaced.evidence.folder import Kept, kept_in
from edgefaced.evidence.sealing import sealed
from edgefaced.gallery.picture_keys import picture_keys_or_first
from edgefaced.gallery.records import NewTemplate
from edgefaced.gallery.store import Gallery
from edgefaced.ledger.store import Ledger

Run = Callable[..., tuple[int, str, str]]
MONTHS_US = 60 * 86_400 * 1_000_000
JPEG = b"\xff\xd8\xff of Ann"


class Recorded:
    """A ledger with Ann and Bob, and a picture of each of Ann's two events and of Bob's."""

    def __init__(self, state: Path) -> None:
        self.state, self.folder = state, state / "pictures"
        with Gallery.open(state / "gallery.db", state / "gallery.key", create=True) as gallery:
            self.ann = gallery.enrol("Ann", [NewTemplate(gallery_peer.embedding(1))]).id
            keys = picture_keys_or_first(gallery)
        events = [event(seen(self.ann)), event(seen(self.ann)), event(seen(BOB)), event(seen(None))]
        self.ids = [one.id for one in events]
        with Ledger.open(state / "events.db", create=True) as ledger:
            ledger.append(events)
        people = (self.ann, self.ann, BOB)
        taken_us = time.time_ns() // 1000 - MONTHS_US
        with folder.alone_in(self.folder):
            for number, (event_id, person) in enumerate(zip(self.ids, people, strict=False)):
                kept = Kept(number, taken_us, event_id, person)
                folder.write(self.folder, kept, sealed(JPEG, kept, keys))

    def said(self) -> list[Trouble]:
        with Ledger.open(self.state / "events.db") as ledger:
            happenings = [record.event.happening for record in ledger.after(0)]
        return [h for h in happenings if isinstance(h, Trouble)]

    def people(self) -> list[str | None]:
        return [kept.person_id for kept in kept_in(self.folder)]


@pytest.fixture
def recorded(own_places: Path) -> Recorded:
    return Recorded(own_places / "state")


def test_a_picture_is_handed_out_for_one_user_and_that_is_an_event(
    edgefaced: Run, recorded: Recorded, tmp_path: Path
) -> None:
    target = tmp_path / "out.jpg"
    code, out, _ = edgefaced("events", "picture", recorded.ids[0], str(target), "--json")
    assert code == 0
    assert json.loads(out)["size_bytes"] == len(JPEG)
    assert target.read_bytes() == JPEG
    assert target.stat().st_mode & 0o777 == 0o600
    (said,) = recorded.said()
    assert said.where == "pictures"
    assert f"event {recorded.ids[0]} was handed to the user" in said.detail
    assert edgefaced("events", "picture", recorded.ids[1], str(target))[0] == 0
    assert len(recorded.said()) == 2


def test_what_is_not_there_is_refused(edgefaced: Run, recorded: Recorded, tmp_path: Path) -> None:
    code, _, err = edgefaced("events", "picture", recorded.ids[3], str(tmp_path / "out.jpg"))
    assert code == 1
    assert "there is no picture" in err
    code, _, err = edgefaced("events", "picture", recorded.ids[0], str(tmp_path / "out.png"))
    assert code == 2
    assert not recorded.said()


def test_without_the_gallerys_key_nobody_gets_it(
    edgefaced: Run, recorded: Recorded, tmp_path: Path
) -> None:
    (recorded.state / "gallery.key").unlink()
    code, _, err = edgefaced("events", "picture", recorded.ids[0], str(tmp_path / "out.jpg"))
    assert code == 6
    assert "key" in err
    assert not (tmp_path / "out.jpg").exists()


def test_without_a_record_of_it_nobody_gets_it(
    edgefaced: Run, recorded: Recorded, tmp_path: Path
) -> None:
    (recorded.state / "events.db").unlink()
    code, _, _ = edgefaced("events", "picture", recorded.ids[0], str(tmp_path / "out.jpg"))
    assert code == 13
    assert not (tmp_path / "out.jpg").exists()


def test_a_picture_of_another_event_is_none(
    edgefaced: Run, recorded: Recorded, tmp_path: Path
) -> None:
    first, second, _ = sorted(recorded.folder.iterdir())
    first.write_bytes(second.read_bytes())
    code, _, err = edgefaced("events", "picture", recorded.ids[0], str(tmp_path / "out.jpg"))
    assert code == 6
    assert "another event's" in err


def test_the_list_marks_events_with_a_picture(edgefaced: Run, recorded: Recorded) -> None:
    _, out, _ = edgefaced("events", "list", "--json")
    marked = [body["picture"] for body in json.loads(out)["events"]]
    assert marked == [True, True, True, False]
    _, out, _ = edgefaced("events", "list")
    assert out.splitlines()[0].endswith(f"[picture {recorded.ids[0]}]")
    assert "[picture" not in out.splitlines()[3]


def test_who_is_removed_is_on_no_picture_any_more(edgefaced: Run, recorded: Recorded) -> None:
    code, out, _ = edgefaced("remove", "Ann", "--yes", "--json")
    assert code == 0
    assert json.loads(out)["event_pictures"] == 2
    assert recorded.people() == [BOB]


def test_a_purge_of_a_person_takes_their_pictures(edgefaced: Run, recorded: Recorded) -> None:
    code, out, _ = edgefaced("events", "purge", "--person", BOB, "--yes", "--json")
    assert code == 0
    assert json.loads(out)["pictures"] == 1
    assert recorded.people() == [recorded.ann] * 2
    _, out, _ = edgefaced("events", "purge", "--person", "Ann", "--yes")
    assert "2 pictures removed" in out
    assert recorded.people() == []


def test_a_purge_leaves_out_pictures_as_well(
    edgefaced: Run, recorded: Recorded, own_places: Path
) -> None:
    (own_places / "edgefaced.toml").write_text("[pictures]\nkeep_days = 366\nkeep_pictures = 2\n")
    code, out, _ = edgefaced("events", "purge", "--json")
    assert (code, json.loads(out)["pictures"]) == (0, 1)
    assert recorded.people() == [recorded.ann, BOB]
    code, out, _ = edgefaced("events", "purge", "--older-than", "30")
    assert "2 pictures removed" in out, "they are older"
    assert recorded.people() == []


def test_a_configuration_with_pictures_says_for_how_long(edgefaced: Run, own_places: Path) -> None:
    (own_places / "edgefaced.toml").write_text('[pictures]\nof = ["unknown", "duress"]\n')
    code, out, err = edgefaced("config", "check")
    assert code == 0
    assert "pictures (the face) of unknown, duress are kept for 7 days, 500 at most" in out + err
