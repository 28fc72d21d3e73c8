"""The doorkeeper in its place: rights from a real gallery, events through a real ledger."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import gallery_peer
import pytest
from door_rigs import ANN, CAMERA, Rig, seen, settings

from edgefaced.config.places import places
from edgefaced.core.access import Grant, Rights
from edgefaced.core.policy import DecisionPolicy, Evidence, PolicyLimits
from edgefaced.doors.doorkeeper import Doorkeeper, GalleryRights
from edgefaced.doors.opening import attendant_of, doorkeeper_of
from edgefaced.doors.wires import Pulse
from edgefaced.events import AccessDecided, DecisionMade, Event, RelayPulsed, read_boot_id
from edgefaced.gallery.access import DoorAccess, set_access
from edgefaced.gallery.records import Details, NewTemplate
from edgefaced.gallery.store import Gallery
from edgefaced.ledger.store import Ledger
from edgefaced.pipeline.crew import Crew
from edgefaced.pipeline.deliveries import Deliveries
from edgefaced.pipeline.recorder import Recording
from edgefaced.protocols import Delivery, SinkPlan
from edgefaced.types import Candidate, Decision, Liveness, Match

FRONT = DoorAccess((Grant("front"),), card=7)


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state"


@pytest.fixture
def gallery(state: Path) -> Iterator[Gallery]:
    with Gallery.open(state / "gallery.db", state / "gallery.key", create=True) as opened:
        yield opened


@pytest.fixture
def rights(state: Path) -> Iterator[GalleryRights]:
    looked_up = GalleryRights(state / "gallery.db", state / "gallery.key")
    yield looked_up
    looked_up.close()


def enrolled(gallery: Gallery) -> str:
    ann = gallery.enrol("Ann", [NewTemplate(gallery_peer.embedding(1))], details=STAFF)
    return ann.id


STAFF = Details(None, ("Staff",))


def test_rights_are_those_of_this_moment(gallery: Gallery, rights: GalleryRights) -> None:
    ann = enrolled(gallery)
    assert rights.of(ann) == Rights(groups=("everybody", "staff"))
    set_access(gallery, ann, FRONT)
    assert rights.of(ann) == Rights(FRONT.grants, ("everybody", "staff"), 7)
    set_access(gallery, ann, DoorAccess())
    assert rights.of(ann) == Rights(groups=("everybody", "staff"))
    gallery.remove(ann)
    assert rights.of(ann) == Rights()


def test_without_a_gallery_nobody_has_rights(rights: GalleryRights) -> None:
    assert rights.of("ann") == Rights()


def test_a_gallery_that_cannot_be_read_gives_none_and_is_opened_anew(
    gallery: Gallery, rights: GalleryRights, state: Path
) -> None:
    ann = enrolled(gallery)
    set_access(gallery, ann, FRONT)
    assert rights.of(ann) is not None
    (state / "gallery.db").rename(state / "away.db")
    (state / "gallery.db").write_bytes(b"no gallery at all" * 1000)
    assert [rights.of(ann), rights.of(ann)] == [None, None]
    (state / "away.db").rename(state / "gallery.db")
    found = rights.of(ann)
    assert found is not None
    assert found.grants == FRONT.grants


def test_what_was_altered_gives_no_rights(gallery: Gallery, rights: GalleryRights) -> None:
    ann = enrolled(gallery)
    set_access(gallery, ann, FRONT)
    with gallery.writing() as db:
        db.execute("UPDATE people SET access = name")
    assert rights.of(ann) is None


class Ear:
    """A momentary sink that hears what it is told."""

    def __init__(self) -> None:
        self.heard: list[Event] = []

    def emit(self, event: Event) -> None:
        self.heard.append(event)

    def close(self) -> None:
        """Nothing to release."""


def test_what_comes_of_the_last_event_is_recorded_and_told_before_all_ends(
    tmp_path: Path, rights: GalleryRights, gallery: Gallery
) -> None:
    ann = enrolled(gallery)
    set_access(gallery, ann, FRONT)
    rig = Rig(settings(), tmp_path / "doors.json")
    ended, ear, crew = threading.Event(), Ear(), Crew()
    plans = {
        "ear": SinkPlan(lambda: ear, Delivery.MOMENTARY),
        "doors": SinkPlan(
            lambda: Doorkeeper(rig.house, rights, ended.set), Delivery.MOMENTARY, announces=True
        ),
    }
    path = tmp_path / "events.db"
    deliveries = Deliveries(CAMERA, plans, Recording(lambda: Ledger.open(path, create=True)), crew)
    rig.house.connect(deliveries.postbox.announce, lambda: "a camera")
    happening = seen(Decision(ANN.outcome, ann, 0.7, 0.4, Liveness.NOT_CHECKED, "")).happening
    deliveries.postbox.announce(happening)
    # The end of a replay, before the doorkeeper has seen anything.
    deliveries.close()
    crew.start()
    assert crew.wait(60)
    assert crew.failures == []
    assert ended.is_set()
    with Ledger.open(path) as ledger:
        kinds = [type(record.event.happening) for record in ledger.after(0)]
    # An event of another boot than the rig's: refused, which is told like a grant.
    assert kinds == [DecisionMade, AccessDecided]
    assert [type(event.happening) for event in ear.heard] == kinds
    assert all(event.recorded for event in ear.heard)


def test_an_end_that_is_asked_for_twice_waits_for_nobody(tmp_path: Path) -> None:
    ear, crew = Ear(), Crew()
    plans = {"doors": SinkPlan(lambda: ear, Delivery.MOMENTARY, announces=True)}
    deliveries = Deliveries(CAMERA, plans, None, crew)
    deliveries.close()
    deliveries.close()
    crew.start()
    assert crew.wait(60)


def test_the_doors_of_a_configuration_are_ready_to_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    house = places({"EDGEFACED_STATE_DIR": str(tmp_path)}, root=False)
    assert attendant_of(settings(doors={}), house) is None
    attendant = attendant_of(settings(), house)
    assert attendant is not None
    plan = doorkeeper_of(attendant, house)
    assert (plan.delivery, plan.announces) == (Delivery.MOMENTARY, True)
    assert 0 < plan.patience_seconds < settings().access.maximum_age_seconds
    sink = plan.open()
    assert not any(tmp_path.iterdir()), "nothing is opened before it runs"
    sink.emit(seen(boot_id=read_boot_id()))
    sink.close()
    assert [path.name for path in tmp_path.iterdir()] == ["doors.json"]


# A minute before the camera, by the policy that decides for the doors.


class Scene:
    """Frames of one track at 15 a second, judged, and brought to a door."""

    def __init__(self, rig: Rig) -> None:
        self.rig = rig
        self.policy = DecisionPolicy(PolicyLimits())

    def show(self, track: int, person: str, second: float) -> None:
        evidence = Evidence(
            Match(Candidate(person, 0.8), Candidate("somebody else", 0.2)),
            (),
            Liveness.NOT_CHECKED,
        )
        if not self.policy.wants(track, second):
            return
        for waiting in self.rig.again():
            self.policy.announce_again(waiting)
        decision = self.policy.observe(track, evidence, threshold=0.4, now=second)
        if decision is not None:
            self.rig.decide(seen(decision, track=track))

    @property
    def openings(self) -> int:
        return len([order for order in self.rig.orders if isinstance(order, Pulse)])


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(Rig(settings(), tmp_path / "doors.json"))


def test_a_person_who_stands_there_for_a_minute_opens_the_door_once(scene: Scene) -> None:
    for frame in range(60 * 15):
        scene.show(1, "ann", frame / 15)
    assert scene.openings == 1
    assert len(scene.rig.said(RelayPulsed)) == 1


def test_a_person_whose_track_is_lost_again_and_again_opens_it_once(scene: Scene) -> None:
    for frame in range(60 * 15):
        scene.show(frame // 30, "ann", frame / 15)
    assert scene.openings == 1


def test_who_meets_a_lock_that_is_not_ready_need_not_go_and_come_back(scene: Scene) -> None:
    scene.rig.house.guard_down("it has just been killed")
    for frame in range(60 * 15):
        if frame == 2 * 15:
            scene.rig.house.guard_up(scene.rig.orders.append)
        scene.show(1, "ann", frame / 15)
    assert scene.openings == 1


def test_people_who_take_turns_in_one_track_open_nothing(scene: Scene) -> None:
    for frame in range(60 * 15):
        scene.show(1, ("ann", "bea", "cid", "dan")[frame % 4], frame / 15)
    assert scene.openings == 0, "of five frames two at most are of one of them"


def test_two_people_who_take_turns_open_nothing_before_three_of_five_frames_agree(
    scene: Scene,
) -> None:
    for frame, person in enumerate(("ann", "bea", "ann", "bea")):
        scene.show(1, person, frame / 15)
        assert scene.openings == 0
    scene.show(1, "ann", 4 / 15)
    assert scene.openings == 1
