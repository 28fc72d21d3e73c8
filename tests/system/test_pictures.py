"""Pictures of events in a whole daemon, and what kill -9 leaves of them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import cv2
import gallery_peer
import numpy as np
import picture_worker
import pytest
from coloured import ANN, BOB, Cast, scene
from nursery import Nursery
from plugged_camera import Machine
from staged_daemon import Staged

from edgefaced.config.pictures import PicturesSection
from edgefaced.config.settings import Settings
from edgefaced.control.status import status
from edgefaced.events import DecisionMade, Happening
from edgefaced.evidence import folder as pictures
from edgefaced.evidence.sealing import opened
from edgefaced.gallery.picture_keys import picture_keys
from edgefaced.gallery.records import NewTemplate
from edgefaced.gallery.store import Gallery
from edgefaced.ledger.store import Ledger
from edgefaced.types import U8, Outcome

KILLS = 20
STRANGERS = Settings(pictures=PicturesSection(of=("unknown",), longest_side_px=64))


def two_people(number: int) -> U8:
    return scene((ANN, 20), (BOB, 120), sequence=number)


def is_stranger(happening: Happening) -> bool:
    return isinstance(happening, DecisionMade) and happening.decision.outcome is Outcome.UNKNOWN


def staged(tmp_path: Path, settings: Settings) -> Staged:
    machine = Machine(tmp_path / "machine")
    made = Staged(tmp_path, lambda s: Cast(machine.open), settings=settings)
    state = made.places.state_dir
    with Gallery.open(state / "gallery.db", state / "gallery.key", create=True) as gallery:
        gallery.enrol("Ann", [NewTemplate(gallery_peer.embedding(1))])

    def scenario() -> None:
        made.sink.until(is_stranger)
        made.heard.until("READY")

    with machine.showing(two_people):
        assert made.play(scenario).exit_code == 0
    return made


def opened_pictures(state: Path) -> dict[str, U8]:
    """Event id to picture, of everything that is kept; each can be opened."""
    with Gallery.open(state / "gallery.db", state / "gallery.key") as gallery:
        keys = picture_keys(gallery)
    found = {}
    for kept in pictures.kept_in(state / "pictures"):
        jpeg = opened(pictures.read(state / "pictures", kept), kept, keys)
        picture = cv2.imdecode(np.frombuffer(jpeg, np.uint8), cv2.IMREAD_COLOR)
        found[kept.event_id] = np.asarray(picture, np.uint8)
    return found


def test_a_stranger_has_a_picture_and_somebody_known_has_none(tmp_path: Path) -> None:
    daemon = staged(tmp_path, STRANGERS)
    made = [event for event in daemon.sink.events if is_stranger(event.happening)]
    found = opened_pictures(daemon.places.state_dir)
    assert set(found) == {event.id for event in made}
    for picture in found.values():
        height, width = picture.shape[:2]
        assert np.abs(picture[height // 2, width // 2].astype(int) - BOB).max() < 10
    with Ledger.open(daemon.places.events_file) as ledger:
        assert set(found) <= {record.event.id for record in ledger.after(0, 1000)}
    body = status(daemon.daemon.vitals())["pictures"]
    assert (body["kept"], body["missed"], body["fault"]) == (len(found), 0, None)


def test_by_default_no_picture_is_made_or_kept(tmp_path: Path) -> None:
    daemon = staged(tmp_path, Settings())
    state = daemon.places.state_dir
    assert not (state / "pictures").exists()
    assert daemon.daemon.line.tray.wish is None
    assert daemon.daemon.line.tray.find(1) is None
    with Gallery.open(state / "gallery.db", state / "gallery.key") as gallery:
        assert picture_keys(gallery) == ()
    assert status(daemon.daemon.vitals())["pictures"] is None


@pytest.fixture
def nursery() -> Iterator[Nursery]:
    with closing(Nursery(picture_worker.__file__)) as started:
        yield started


def test_kill_9_leaves_whole_pictures(nursery: Nursery, tmp_path: Path) -> None:
    with Gallery.open(tmp_path / "gallery.db", tmp_path / "gallery.key", create=True):
        pass
    chance, acknowledged = random.Random(4), list[str]()
    for turn in range(KILLS):
        said = nursery.run_and_kill(
            tmp_path, lines=3, then_s=chance.uniform(0, 0.02), first=turn * 10_000
        )
        acknowledged += [line.strip() for line in said]
        found = opened_pictures(tmp_path)
        unsaid = set(found) - set(acknowledged)
        assert len(unsaid) <= turn + 1, "one of a keeper that did not live to say so"
        newest = acknowledged[len(unsaid) + 1 - picture_worker.KEPT :]  # room comes first
        assert set(newest) <= set(found)
        assert len(found) <= picture_worker.KEPT
    with pictures.alone_in(tmp_path / "pictures"):
        pass
    left = {file.suffix for file in (tmp_path / "pictures").iterdir()}
    assert left == {".sealed"}
    assert len(acknowledged) >= 3 * KILLS
