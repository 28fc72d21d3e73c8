"""What is kept of which event, and what happens when it cannot be."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import cv2
import gallery_peer
import numpy as np
import pytest
from small_disk import small_disk

from edgefaced.core.portrait import bytes_reduced
from edgefaced.events import AccessDecided, DecisionMade, Event, FaceLeft, Happening, Trouble
from edgefaced.evidence.folder import Kept, alone_in, forget, kept_in, read, write
from edgefaced.evidence.keeper import Keeper, Keeping, occasions
from edgefaced.evidence.limits import Limits
from edgefaced.evidence.sealing import opened
from edgefaced.gallery.picture_keys import picture_keys
from edgefaced.gallery.records import NewTemplate
from edgefaced.gallery.store import Gallery
from edgefaced.pipeline.tray import CAPACITY, PictureWish, TakenPicture, Tray
from edgefaced.types import U8, Box, Decision, Frame, Liveness, Outcome, PixelFormat

GREEN = (20, 200, 20)


def decided(outcome: Outcome, person: str | None = None, *, track: int = 1, at: int = 5) -> Event:
    decision = Decision(outcome, person, 0.5, 0.4, Liveness.NOT_CHECKED, "because")
    return Event(DecisionMade(track, decision, at, at + 1), "door", synchronised=True)


def access(*, granted: bool = True, duress: bool = False, track: int | None = 1) -> Event:
    happening = AccessDecided("front", granted, "allowed", None, track, duress)
    return Event(happening, "door", synchronised=True)


class Stand:
    """A keeper with a gallery in which Ann is."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "pictures"
        self.gallery = folder / "gallery.db", folder / "gallery.key"
        with Gallery.open(*self.gallery, create=True) as gallery:
            self.ann = gallery.enrol("Ann", [NewTemplate(gallery_peer.embedding(1))]).id
        self.said: list[Happening] = []
        self.keepers: list[Keeper] = []
        self.keeper = self.with_limits("known", "unknown", "granted", "duress")

    def with_limits(self, *of: str, reserve: int = 0, days: float = 7, count: int = 50) -> Keeper:
        limits = Limits(days, count, 10_000_000)
        keeping = Keeping(frozenset(of), self.folder, self.gallery, limits, 90, reserve)
        tray = Tray(PictureWish(whole=False, longest_px=64) if of else None)
        tray.announce = self.said.append
        self.keeper = Keeper(keeping, tray, tidy_seconds=0)
        self.keepers.append(self.keeper)
        return self.keeper

    def show(self, event: Event, colour: tuple[int, int, int] = GREEN) -> str:
        """The event with a picture of its face's frame; its id."""
        if isinstance(happening := event.happening, DecisionMade):
            picture = TakenPicture(happening.track_id, happening.captured_ns, painted(colour))
            self.keeper.tray.lay_down(picture)
        self.keeper.emit(event)
        return event.id

    def kept(self) -> list[Kept]:
        return kept_in(self.folder)

    def picture(self, kept: Kept) -> U8:
        with Gallery.open(*self.gallery) as gallery:
            jpeg = opened(read(self.folder, kept), kept, picture_keys(gallery))
        return np.asarray(cv2.imdecode(np.frombuffer(jpeg, np.uint8), cv2.IMREAD_COLOR), np.uint8)


def painted(colour: tuple[int, int, int]) -> U8:
    return np.full((64, 48, 3), colour, np.uint8)


@pytest.fixture
def stand(tmp_path: Path) -> Iterator[Stand]:
    made = Stand(tmp_path)
    yield made
    for keeper in made.keepers:
        keeper.close()


def test_the_wanted_ones_are_kept_with_their_event(stand: Stand) -> None:
    ids = [
        stand.show(decided(Outcome.UNKNOWN)),
        stand.show(decided(Outcome.KNOWN, stand.ann, track=2), (200, 20, 20)),
    ]
    stand.show(decided(Outcome.SPOOF, track=3))
    stand.show(decided(Outcome.TOO_POOR, track=4))
    stand.show(Event(FaceLeft(1, None, 1.0), "door"))
    stand.show(access(granted=False))
    first, second = stand.kept()
    assert [first.event_id, second.event_id] == ids
    assert (first.person_id, second.person_id) == (None, stand.ann)
    assert np.abs(stand.picture(first).astype(int) - GREEN).max() < 8
    assert np.abs(stand.picture(second).astype(int) - (200, 20, 20)).max() < 8
    assert not stand.said
    tray = stand.keeper.tray
    assert (tray.kept, tray.missed, tray.fault) == (2, 0, "")
    assert tray.kept_bytes == sum(file.stat().st_size for file in stand.folder.iterdir())


def test_nothing_readable_lies_there(stand: Stand) -> None:
    stand.show(decided(Outcome.KNOWN, stand.ann))
    (file,) = stand.folder.iterdir()
    content = file.read_bytes()
    assert b"JFIF" not in content
    assert b"\xff\xd8\xff" not in content
    assert cv2.imdecode(np.frombuffer(content, np.uint8), cv2.IMREAD_COLOR) is None
    assert b"Ann" not in content + str(file).encode()


def test_a_doors_decision_has_the_face_that_it_was_about(stand: Stand) -> None:
    stand.keeper.tray.lay_down(TakenPicture(1, 5, painted(GREEN)))
    ids = [stand.show(access()), stand.show(access(granted=False, duress=True))]
    stand.show(access(granted=False))
    stand.show(access(track=None))
    assert [kept.event_id for kept in stand.kept()] == ids
    assert stand.keeper.tray.missed == 0
    stand.show(access(track=9))
    assert stand.keeper.tray.missed == 1, "wanted, and never laid down"


def test_occasions_are_what_the_configuration_may_say() -> None:
    assert occasions(decided(Outcome.TOO_POOR)) == {"too-poor"}
    assert occasions(access(duress=True)) == {"granted", "duress"}
    assert occasions(access(granted=False)) == {"refused"}
    assert occasions(Event(Trouble("a", "b"), "door")) == frozenset()


def test_whoever_was_removed_does_not_come_back(stand: Stand) -> None:
    stand.show(decided(Outcome.KNOWN, stand.ann))
    with Gallery.open(*stand.gallery) as gallery:
        gallery.remove(stand.ann)
    assert forget(stand.folder, [stand.ann]) == 1
    stand.show(decided(Outcome.KNOWN, stand.ann, at=9))
    assert stand.kept() == []
    assert not stand.said


def test_the_oldest_make_room(stand: Stand) -> None:
    stand.with_limits("unknown", count=3)
    ids = [stand.show(decided(Outcome.UNKNOWN, at=n)) for n in range(5)]
    assert [kept.event_id for kept in stand.kept()] == ids[2:]


def test_the_old_go_while_nothing_happens_and_where_none_are_wanted(
    stand: Stand, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("edgefaced.evidence.keeper.is_synchronised", lambda: True)
    three_days_ago = datetime.now(UTC) - timedelta(days=3)
    stand.show(replace(decided(Outcome.UNKNOWN), utc=three_days_ago))
    stand.keeper.plan().idle()
    assert len(stand.kept()) == 1
    stand.with_limits(days=2).plan().idle()
    assert stand.kept() == []
    assert (stand.keeper.tray.kept, stand.keeper.tray.kept_bytes) == (0, 0)


def test_of_many_old_ones_no_round_takes_all(stand: Stand) -> None:
    stand.with_limits(count=1)
    with alone_in(stand.folder):
        for number in range(120):
            write(stand.folder, Kept(number, None, f"e{number}", None), b"x")
    left = []
    for _ in range(4):
        stand.keeper.plan().idle()
        left.append(len(stand.kept()))
    assert left == [70, 20, 1, 1]


def test_the_last_room_of_the_disk_is_not_taken_and_that_is_told_once(stand: Stand) -> None:
    stand.with_limits("unknown", reserve=1 << 62)
    for n in range(3):
        stand.show(decided(Outcome.UNKNOWN, at=n))
        stand.keeper.plan().idle()
    (said,) = stand.said
    assert isinstance(said, Trouble)
    assert "less than" in said.detail
    assert stand.kept() == []
    tray = stand.keeper.tray
    assert (tray.missed, tray.fault.count("free")) == (3, 1)


def test_a_full_disk_tears_nothing_and_pictures_can_be_forgotten(
    stand: Stand, tmp_path: Path
) -> None:
    with small_disk(tmp_path / "disk", megabytes=1) as disk:
        stand.folder = disk / "pictures"
        stand.with_limits("unknown", "known", count=1000)
        first = stand.show(decided(Outcome.KNOWN, stand.ann, at=0))
        (disk / "ballast").write_bytes(bytes(1_000_000))
        for n in range(1, 40):
            stand.show(decided(Outcome.UNKNOWN, at=n))
        (said,) = stand.said
        assert isinstance(said, Trouble)
        assert "No space left" in said.detail
        assert stand.keeper.tray.fault
        there = stand.kept()
        assert there[0].event_id == first
        for kept in there:
            stand.picture(kept)
        assert forget(stand.folder, [stand.ann]) == 1
        (disk / "ballast").unlink()
        stand.show(decided(Outcome.UNKNOWN, at=50))
        assert stand.keeper.tray.fault == ""
        assert {file.suffix for file in stand.folder.iterdir()} == {".sealed"}


def test_a_gallery_that_is_missing_is_told_and_its_return_as_well(stand: Stand) -> None:
    key = stand.gallery[1]
    key.rename(key.with_name("aside"))
    stand.show(decided(Outcome.UNKNOWN))
    stand.show(decided(Outcome.UNKNOWN, at=6))
    key.with_name("aside").rename(key)
    stand.show(decided(Outcome.UNKNOWN, at=7))
    assert [type(said) for said in stand.said] == [Trouble, Trouble]
    assert "2 are missing" in str(stand.said[1])
    assert (stand.keeper.tray.fault, len(stand.kept())) == ("", 1)


def test_another_gallery_in_its_place_is_noticed(stand: Stand) -> None:
    stand.show(decided(Outcome.UNKNOWN))
    for file in stand.folder.parent.glob("gallery.*"):
        file.unlink()
    with Gallery.open(*stand.gallery, create=True):
        pass
    stand.show(decided(Outcome.UNKNOWN, at=6))
    assert np.abs(stand.picture(stand.kept()[1]).astype(int) - GREEN).max() < 8


def test_a_folder_that_cannot_be_tidied_is_told_until_it_can(stand: Stand) -> None:
    stand.with_limits()
    stand.folder.write_text("a file")
    stand.keeper.plan().idle()
    assert stand.keeper.tray.fault
    stand.keeper.plan().idle()
    assert len(stand.said) == 1
    stand.folder.unlink()
    stand.keeper.plan().idle()
    assert not stand.keeper.tray.fault
    assert len(stand.said) == 2


def test_without_a_wish_no_picture_is_made() -> None:
    frame = Frame(1, 0, np.zeros((60, 80, 3), np.uint8), PixelFormat.BGR)
    face = Box(10, 10, 30, 30)
    assert Tray(None).take(frame, (face, face)) == ((None, None), 0)
    made, written = Tray(PictureWish(whole=True, longest_px=40)).take(frame, (face, face))
    assert made[0] is made[1]
    assert made[0] is not None
    assert (made[0].shape, written) == ((30, 40, 3), bytes_reduced(frame, 40))
    assert Tray(PictureWish(whole=True, longest_px=40)).take(frame, ()) == ((), 0)


def test_a_tray_has_the_few_newest() -> None:
    tray = Tray(PictureWish(whole=False, longest_px=64))
    for n in range(CAPACITY + 1):
        tray.lay_down(TakenPicture(n, n, painted(GREEN)))
    assert tray.find(0) is None
    assert tray.find(3, 4) is None
    found = tray.find(3, 3)
    assert found is not None
    assert found.track_id == 3
    tray.clear_after(3600)
    assert tray.find(3) is not None
    tray.clear_after(0)
    assert tray.find(3) is None
