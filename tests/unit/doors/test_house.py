"""The house: every way to a "yes" pulses once, and every doubt leaves the locks alone."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from door_rigs import ALWAYS, ANN, BOOT, DOOR, UNCHECKED, Make, Rig, seen, settings, unknown

from edgefaced.clock import boot_ns
from edgefaced.core.access import Grant, Rights
from edgefaced.core.passback import Passage
from edgefaced.doors.book import Book
from edgefaced.doors.guarded import GuardGone
from edgefaced.doors.wires import Frame, Lock, Order, Pulse
from edgefaced.errors import LedgerBusy, Refused, StorageError
from edgefaced.events import (
    AccessDecided,
    DecisionMade,
    DoorChanged,
    DoorState,
    Event,
    FaceLeft,
    RelayPulsed,
    Trouble,
)
from edgefaced.types import Decision, Liveness, Outcome

NAN = float("nan")
TWO = {
    "front": {**UNCHECKED, "area": "lab", "direction": "in"},
    "back": {**UNCHECKED, "relay_line": "other", "area": "lab", "direction": "out"},
}


@pytest.fixture
def make(tmp_path: Path) -> Make:
    def rig(**sections: Any) -> Rig:
        return Rig(settings(**sections), tmp_path / "doors.json")

    return rig


@pytest.fixture
def rig(make: Make) -> Rig:
    return make()


def states(rig: Rig) -> list[DoorState]:
    return [h.state for h in rig.told if isinstance(h, DoorChanged)]


def test_somebody_allowed_unlocks_the_door_once_and_it_is_told(rig: Rig) -> None:
    assert rig.ask() == (True, "allowed")
    (order,) = rig.orders
    assert isinstance(order, Pulse)
    assert (order.door, order.milliseconds) == ("front", 3000)
    assert rig.told == [
        AccessDecided("front", True, "allowed", "ann", 1, False),
        RelayPulsed("front", 3000),
    ]


def test_the_same_event_again_unlocks_nothing(rig: Rig) -> None:
    event = seen()
    assert rig.ask(event) == (True, "allowed")
    assert rig.ask(event) == (False, "already decided")
    assert rig.ask(replace(event, camera="v4l2")) == (False, "already decided")
    assert len(rig.orders) == 1


@pytest.mark.parametrize(
    "changes",
    [
        {"boot_id": "another boot"},
        {"boot_id": ""},
        {"monotonic_ns": 0},
        {"monotonic_ns": boot_ns() + 10**12},
    ],
)
def test_the_past_and_the_future_open_nothing(rig: Rig, changes: dict[str, Any]) -> None:
    assert rig.ask(seen(**changes)) == (False, "too late")
    assert rig.orders == []


def test_a_face_that_was_seen_long_ago_opens_nothing_although_decided_now(rig: Rig) -> None:
    now = time.monotonic_ns()
    event = replace(seen(), happening=DecisionMade(1, ANN, now - 3 * 10**9, now))
    assert rig.ask(event) == (False, "too late")


def test_what_was_decided_before_the_board_was_suspended_opens_nothing(rig: Rig) -> None:
    """The camera's clock stood still meanwhile, that of events went on."""
    event = replace(seen(), monotonic_ns=boot_ns() - 8 * 3600 * 10**9)
    assert rig.ask(event) == (False, "too late")
    assert rig.orders == []


def test_a_boot_without_an_id_opens_nothing(tmp_path: Path) -> None:
    from edgefaced.doors.house import House
    from edgefaced.doors.plan import plans_of

    rig = Rig(settings(), tmp_path / "doors.json")
    rig.house = House(plans_of(settings()), Book(tmp_path / "doors.json"), boot_id="")
    rig.house.connect(rig.told.append, lambda: "a camera")
    rig.house.open_book()
    rig.house.guard_up(rig.orders.append)
    assert rig.ask(seen(boot_id="")) == (False, "too late")


@pytest.mark.parametrize(
    ("decision", "reason"),
    [
        (replace(ANN, score=NAN), "below threshold"),
        (replace(ANN, threshold=NAN), "below threshold"),
        (replace(ANN, score=None), "below threshold"),
        (replace(ANN, liveness=Liveness.FAILED), "spoof"),
        (Decision(Outcome.SPOOF, None, None, 0.4, Liveness.FAILED, "liveness"), "spoof"),
    ],
)
def test_a_decision_that_is_none_opens_nothing(rig: Rig, decision: Decision, reason: str) -> None:
    assert rig.ask(seen(decision)) == (False, reason)
    assert rig.orders == []


def test_liveness_is_required_unless_somebody_has_written_otherwise(make: Make) -> None:
    rig = make(doors={"front": DOOR})
    assert rig.ask() == (False, "liveness")
    assert rig.orders == []


def test_an_event_that_is_not_recorded_opens_only_where_the_door_says_so(make: Make) -> None:
    assert make().ask(seen(recorded=False)) == (False, "not recorded")
    generous = make(doors={"front": {**UNCHECKED, "when_not_recorded": "open"}})
    assert generous.ask(seen(recorded=False)) == (True, "allowed")


def test_rights_that_cannot_be_read_are_none(rig: Rig) -> None:
    rig.rights = None
    assert rig.ask() == (False, "rights cannot be read")
    rig.rights = Rights()
    assert rig.ask() == (False, "not allowed")
    assert rig.orders == []


def test_schedules_are_not_judged_by_a_clock_that_nobody_keeps(make: Make) -> None:
    always = {"always": {"weekly": ["daily 00:00-24:00"], "on_holidays": True}}
    rig = make(schedules=always)
    rig.rights = Rights((Grant("front", "always"),))
    assert rig.ask() == (True, "allowed")
    assert rig.ask(seen(synchronised=False)) == (False, "clock")
    trusting = make(schedules=always, access={"unsynchronised_clock": "trust"})
    trusting.rights = rig.rights
    assert trusting.ask(seen(synchronised=False)) == (True, "allowed")


def test_a_group_lets_its_members_in_and_duress_is_silent(make: Make) -> None:
    rig = make(groups={"Staff": {"doors": ["front"]}})
    rig.rights = Rights(groups=("staff", "duress"))
    (decided,) = rig.decide(seen())
    assert (decided.granted, decided.duress) == (True, True)


def test_an_exchanged_camera_opens_nothing_until_it_is_trusted(make: Make, rig: Rig) -> None:
    assert rig.ask() == (True, "allowed")
    rig.camera = "somebody's own camera"
    assert [rig.ask(), rig.ask()] == [(False, "camera changed")] * 2
    assert len(rig.said(Trouble)) == 1, "told once"
    after_a_restart = make()
    after_a_restart.camera = "somebody's own camera"
    assert after_a_restart.ask() == (False, "camera changed")
    after_a_restart.house.trust_camera("by somebody")
    assert after_a_restart.ask() == (True, "allowed")
    after_a_restart.camera = None
    assert after_a_restart.ask() == (False, "camera changed")


def test_a_door_listens_to_its_own_camera_only(make: Make) -> None:
    rig = make(doors={"front": {**UNCHECKED, "camera": "/dev/video7"}})
    assert rig.decide(seen()) == []
    assert rig.ask(seen(camera="/dev/video7")) == (True, "allowed")


def test_no_guard_no_door(rig: Rig) -> None:
    rig.house.guard_down("it has ended")
    assert rig.ask() == (False, "lock does not answer")
    assert rig.said(RelayPulsed) == []
    assert rig.house.statuses()[0].lock == "it has ended"

    def refuse(order: Order) -> None:
        raise GuardGone("it takes no orders")

    rig.house.guard_up(refuse)
    assert rig.ask() == (False, "lock does not answer")
    with pytest.raises(Refused, match="takes no orders"):
        rig.house.open(["front"], "by me")
    rig.house.lockdown(["front"], "by me")


def test_a_controller_is_sent_the_card_number(make: Make) -> None:
    wires = {"wiegand_zero_line": "d0", "wiegand_one_line": "d1", "wiegand_facility": 123}
    rig = make(doors={"front": {**UNCHECKED, **wires, "relay_line": None}})
    assert rig.ask() == (False, "no card number")
    rig.rights = replace(ALWAYS, card=45678)
    assert rig.ask() == (True, "allowed")
    (order,) = rig.orders
    assert isinstance(order, Frame)
    assert order.bits == "10111101110110010011011101"
    assert rig.said(RelayPulsed) == []
    with pytest.raises(Refused, match="no relay"):
        rig.house.hold_open(["front"], 5, "by me")


def test_who_went_in_comes_out_first(make: Make) -> None:
    rig = make(doors=TWO)
    both = [(d.door, d.granted, d.reason) for d in rig.decide(seen())]
    # One camera for both doors: in by the one, and out by the other.
    assert both == [("front", True, "allowed"), ("back", True, "allowed")]
    only_in = make(doors={"front": TWO["front"]})
    assert [only_in.ask(), only_in.ask()] == [(True, "allowed"), (False, "anti-passback")]
    assert len(only_in.orders) == 1


def test_a_reload_does_not_forget_who_is_inside(make: Make, tmp_path: Path) -> None:
    rig = make(doors={"front": TWO["front"]})
    assert rig.ask() == (True, "allowed")
    # Its event is on its way into the ledger, which knows nothing of it yet.
    changed = settings(doors={"front": {**TWO["front"], "pulse_ms": 100}})
    again = Rig(changed, tmp_path / "doors.json", book_in_use=rig.kept)
    assert again.ask() == (False, "anti-passback")


def test_a_restart_asks_the_ledger_who_is_inside(tmp_path: Path) -> None:
    def passages(seconds: float) -> list[Passage]:
        assert seconds == 43_200
        return [Passage("front", "ann", 60.0)]

    book = Book(tmp_path / "doors.json", passages=passages)
    rig = Rig(settings(doors={"front": TWO["front"]}), book.file, book_in_use=book)
    assert rig.ask() == (False, "anti-passback")


def test_until_the_ledger_answers_nobody_gets_into_an_area(tmp_path: Path) -> None:
    answers: list[list[Passage]] = []

    def passages(seconds: float) -> list[Passage]:
        if not answers:
            raise LedgerBusy("events.db is locked")
        return answers[0]

    book = Book(tmp_path / "doors.json", passages=passages)
    doors = {"front": TWO["front"], "side": {**UNCHECKED, "relay_line": "side"}}
    rights = Rights((Grant("front"), Grant("side")))
    rig = Rig(settings(doors=doors), book.file, rights=rights, now_open=False, book_in_use=book)
    rig.house.open_book()
    rig.house.guard_up(rig.orders.append)
    rig.house.recall_passages()
    rig.house.recall_passages()
    (troubled,) = rig.said(Trouble)
    assert "nobody knows who is inside" in str(troubled), "once"
    said = {d.door: (d.granted, d.reason) for d in rig.decide(seen())}
    assert said == {"front": (False, "anti-passback"), "side": (True, "allowed")}
    assert rig.again() == ["ann"], "whoever still stands there then need not go and come back"
    answers.append([])
    rig.house.recall_passages()
    said = {d.door: (d.granted, d.reason) for d in rig.decide(seen(track=2))}
    assert said["front"] == (True, "allowed")


def test_a_refusal_is_no_passage(make: Make) -> None:
    rig = make(doors={"front": TWO["front"]})
    rig.house.guard_down("away")
    assert rig.ask() == (False, "lock does not answer")
    rig.house.guard_up(rig.orders.append)
    assert rig.ask() == (True, "allowed")


def test_strangers_are_told_and_open_nothing(make: Make) -> None:
    rig = make(access={"stranger_faces": 3})
    assert [rig.decide(unknown(track)) for track in (1, 2, 2)] == [[], [], []]
    (told,) = rig.decide(unknown(3))
    assert (told.granted, told.reason, told.person_id) == (False, "strangers", None)
    assert "3 unknown faces" in str(rig.said(Trouble))
    assert rig.orders == []


def test_whoever_is_refused_for_what_passes_is_decided_once_more_and_nobody_else(
    make: Make,
) -> None:
    rig = make()
    rig.house.guard_down("for a moment")
    rig.ask()
    rig.house.guard_up(rig.orders.append)
    rig.ask(seen(recorded=False))
    rig.ask(seen(monotonic_ns=0))
    assert rig.again() == ["ann"] * 3
    rig.ask()
    rig.rights = Rights()
    rig.ask()
    rig.decide(unknown(2))
    rig.house.lockdown([], "by me")
    rig.ask()
    assert rig.again() == []


def test_what_is_no_decision_is_no_question(rig: Rig) -> None:
    assert rig.decide(Event(FaceLeft(1, ANN, 2.0), "v4l2", boot_id=BOOT)) == []
    poor = Decision(Outcome.TOO_POOR, None, None, 0.4, Liveness.NOT_CHECKED, "dark")
    assert rig.decide(seen(poor)) == []
    assert rig.orders == []


def test_before_the_book_is_read_everything_is_locked_down(tmp_path: Path) -> None:
    rig = Rig(settings(), tmp_path / "doors.json", now_open=False)
    rig.house.guard_up(rig.orders.append)
    assert rig.house.statuses()[0].lockdown


def test_a_decision_before_the_first_round_is_judged_by_the_book(tmp_path: Path) -> None:
    """On a board that is so busy that the doors' own stage is late: no lockdown is made of it."""
    rig = Rig(settings(), tmp_path / "doors.json", now_open=False)
    assert rig.ask() == (False, "lock does not answer")
    assert rig.again() == ["ann"], "and they are decided again when the lock does"
    rig.house.lockdown([], "by me")
    after = Rig(settings(), tmp_path / "doors.json", now_open=False)
    after.house.guard_up(after.orders.append)
    assert after.ask() == (False, "lockdown")
    assert after.orders == []


def test_a_lockdown_ends_pulses_and_holds_and_survives_a_restart(make: Make, rig: Rig) -> None:
    rig.house.hold_open(["front"], 60, "by me")
    rig.house.lockdown([], "by me")
    assert isinstance(rig.orders[-1], Lock)
    assert rig.house.statuses()[0].held_seconds is None
    assert rig.ask() == (False, "lockdown")
    for refused in (rig.house.open, lambda names, by: rig.house.hold_open(names, 5, by)):
        with pytest.raises(Refused, match="locked down"):
            refused(["front"], "by me")
    after_a_power_cut = make()
    assert after_a_power_cut.ask() == (False, "lockdown")
    after_a_power_cut.house.normal(["front"], "by me")
    assert after_a_power_cut.ask() == (True, "allowed")
    assert make().ask() == (True, "allowed")


def test_holding_open_is_a_row_of_short_pulses_and_a_restart_ends_it(make: Make, rig: Rig) -> None:
    rig.house.hold_open(["front"], 60, "by me")
    rig.house.tick()
    pulses = [order for order in rig.orders if isinstance(order, Pulse)]
    assert len(pulses) == 2
    assert all(0 < pulse.milliseconds <= 3000 for pulse in pulses)
    held = rig.house.statuses()[0].held_seconds
    assert held is not None
    assert held <= 60
    rig.house.hold_open(["front"], 0, "by me")
    assert states(rig) == [DoorState.HELD, DoorState.HELD, DoorState.NORMAL]
    assert make().house.statuses()[0].held_seconds is None


def test_a_hold_goes_on_with_the_next_guard(rig: Rig) -> None:
    rig.house.hold_open(["front"], 60, "by me")
    rig.house.guard_down("killed")
    rig.house.tick()
    rig.house.guard_up(rig.orders.append)
    rig.house.tick()
    assert len(rig.orders) == 2
    rig.house.guard_down("killed")
    with pytest.raises(Refused, match="do not answer"):
        rig.house.hold_open(["front"], 60, "by me")


@pytest.mark.parametrize(
    "content", ["", "{", "[]", '{"version": 2}', '{"version": 1, "lockdown": 7, "cameras": {}}']
)
def test_a_book_that_cannot_be_read_locks_everything_down(
    make: Make, tmp_path: Path, content: str
) -> None:
    (tmp_path / "doors.json").write_text(content)
    rig = make(doors=TWO)
    assert {d.reason for d in rig.decide(seen())} == {"lockdown"}
    assert all(status.lockdown for status in rig.house.statuses())
    with pytest.raises(Refused, match="lost"):
        rig.house.trust_camera("by me")
    rig.house.normal(["front"], "by me")
    assert [s.lockdown for s in rig.house.statuses()] == [False, True]
    answers = {d.door: d.reason for d in rig.decide(seen())}
    assert answers == {"front": "camera changed", "back": "lockdown"}
    rig.house.trust_camera("by me")
    assert {d.door: d.granted for d in rig.decide(seen())} == {"front": True, "back": False}


def test_a_book_that_is_gone_is_missed_by_doors_that_were_there_before(tmp_path: Path) -> None:
    """Neither a lockdown nor which camera was the right one is forgotten in silence."""
    file = tmp_path / "doors.json"

    def begun(*, was_here: bool) -> Rig:
        return Rig(settings(), file, book_in_use=Book(file, lambda: was_here))

    new = begun(was_here=False)
    assert file.exists(), "from the first start on there is one"
    assert new.ask()[0]
    file.unlink()
    rig = begun(was_here=True)
    assert rig.ask() == (False, "lockdown")
    rig.house.normal([], "by me")
    rig.camera = "the first that comes"
    assert rig.ask() == (False, "camera changed")
    assert "which one it was is not known any more" in str(rig.said(Trouble))
    # Not even a restart makes it trusted.
    again = begun(was_here=True)
    again.camera = rig.camera
    assert again.ask() == (False, "camera changed")
    again.house.trust_camera("by me")
    assert again.ask() == (True, "allowed")
    again.camera = "another"
    assert again.ask() == (False, "camera changed")


def test_who_is_trusted_before_anybody_came_is_trusted_by_name(tmp_path: Path) -> None:
    file = tmp_path / "doors.json"
    rig = Rig(settings(), file, book_in_use=Book(file, lambda: True))
    rig.house.normal([], "by me")
    rig.house.trust_camera("by me")
    rig.camera = "another"
    assert rig.ask() == (False, "camera changed")


def test_what_was_locked_down_here_ends_here_only(make: Make, tmp_path: Path) -> None:
    """Who may publish on a broker is not known: a broker that is taken over ends no lockdown."""
    rig = make(doors=TWO)
    rig.house.lockdown(["front"], "by me")
    rig.house.lockdown([], "by MQTT", remote=True)
    with pytest.raises(Refused, match=r"front: locked down at the device"):
        rig.house.normal([], "by MQTT", remote=True)
    assert [s.lockdown for s in rig.house.statuses()] == [True, False], "theirs has ended"
    assert [o for o in rig.orders if not isinstance(o, Lock)] == []
    # Nor does it after a restart, and what both have locked down is ours.
    rig.house.lockdown(["back"], "by MQTT", remote=True)
    rig.house.lockdown(["back"], "by me")
    after = make(doors=TWO)
    with pytest.raises(Refused, match="front, back"):
        after.house.normal([], "by MQTT", remote=True)
    after.house.normal([], "by me")
    assert [s.lockdown for s in after.house.statuses()] == [False, False]


def test_a_lost_book_is_nothing_that_a_remote_order_could_mend(tmp_path: Path) -> None:
    rig = Rig(settings(), tmp_path / "doors.json", book_in_use=Book(tmp_path, lambda: True))
    with pytest.raises(Refused, match="at the device"):
        rig.house.normal([], "by MQTT", remote=True)
    assert rig.ask() == (False, "lockdown")


def test_what_is_wrong_with_a_book_is_told(tmp_path: Path) -> None:
    (tmp_path / "doors.json").write_text("{")
    rig = Rig(settings(), tmp_path / "doors.json", now_open=False)
    rig.house.open_book()
    assert "cannot be read" in str(rig.said(Trouble))
    assert states(rig) == [DoorState.LOCKDOWN]


def test_an_order_before_the_first_round_forgets_nothing_of_the_book(
    make: Make, tmp_path: Path
) -> None:
    before = make(doors=TWO)
    before.decide(seen())
    before.house.lockdown(["back"], "by me")
    for order in ("lockdown", "normal"):
        rig = Rig(settings(doors=TWO), tmp_path / "doors.json", now_open=False)
        getattr(rig.house, order)(["front"], "by me")
        rig.house.open_book()
        assert [s.lockdown for s in rig.house.statuses()] == [order == "lockdown", True]
        rig.camera = "somebody's own camera"
        rig.house.normal([], "by me")
        assert {d.reason for d in rig.decide(seen())} == {"camera changed"}
        rig.house.lockdown(["back"], "by me")


def test_a_lockdown_of_one_door_does_not_free_the_others_of_a_damaged_book(
    make: Make, tmp_path: Path
) -> None:
    (tmp_path / "doors.json").write_text("{")
    make(doors=TWO).house.lockdown(["front"], "by me")
    after_a_restart = make(doors=TWO)
    assert [s.lockdown for s in after_a_restart.house.statuses()] == [True, True]
    after_a_restart.house.normal(["front"], "by me")
    assert [s.lockdown for s in make(doors=TWO).house.statuses()] == [False, True]


def test_a_reload_keeps_what_the_disk_did_not_take_and_what_was_just_ordered(
    tmp_path: Path,
) -> None:
    before = Rig(settings(doors=TWO), tmp_path / "doors.json")
    (tmp_path / "doors.json.partial").mkdir()
    with pytest.raises(StorageError):
        before.house.lockdown(["front"], "by me")
    after = Rig(settings(doors=TWO), tmp_path / "doors.json", book_in_use=before.kept)
    assert [s.lockdown for s in after.house.statuses()] == [True, False]
    # Somebody who had found the house of before, just before it was exchanged.
    after.house.hold_open(["back"], 60, "by me")
    after.orders.clear()
    with pytest.raises(StorageError):
        before.house.lockdown(["back"], "by me")
    after.house.tick()
    assert after.orders == []
    assert {d.reason for d in after.decide(seen())} == {"lockdown"}


def test_only_a_camera_that_is_there_is_trusted(rig: Rig) -> None:
    assert rig.ask() == (True, "allowed")
    rig.camera = None
    with pytest.raises(Refused, match="no camera"):
        rig.house.trust_camera("by me")
    rig.camera = "the new one"
    rig.house.trust_camera("by me")
    rig.camera = "one that came a moment later"
    assert rig.ask() == (False, "camera changed")


def test_a_lockdown_that_cannot_be_kept_is_in_force_all_the_same(tmp_path: Path) -> None:
    rig = Rig(settings(), tmp_path / "doors.json")
    rig.ask()
    (tmp_path / "doors.json.partial").mkdir()
    with pytest.raises(StorageError, match="a restart would forget it"):
        rig.house.lockdown(["front"], "by me")
    assert rig.ask() == (False, "lockdown")


def test_a_camera_that_cannot_be_noted_is_told(tmp_path: Path) -> None:
    (tmp_path / "doors.json.partial").mkdir()
    rig = Rig(settings(), tmp_path / "doors.json")
    assert rig.ask() == (True, "allowed")
    assert len(rig.said(Trouble)) == 1


def test_an_operator_opens_once_and_is_named(rig: Rig) -> None:
    rig.house.open(["front"], "by user 0")
    assert len(rig.orders) == 1
    assert rig.told == [
        RelayPulsed("front", 3000),
        AccessDecided("front", True, "by user 0", None, None),
    ]
    with pytest.raises(Refused, match=r"no door 'garage' \(there are: front\)"):
        rig.house.open(["garage"], "by user 0")


def test_the_exit_button_opens_in_a_lockdown_as_well(rig: Rig) -> None:
    rig.house.lockdown(["front"], "by me")
    rig.orders.clear()
    rig.house.button("front")
    assert [type(order) for order in rig.orders] == [Pulse]
    assert states(rig)[-1] is DoorState.BUTTON
    rig.house.guard_down("away")
    rig.house.button("front")
    assert "does not answer: away" in str(rig.said(Trouble))


def test_a_button_at_a_door_without_a_relay_says_of_none_that_it_was_active(make: Make) -> None:
    rig = make(doors={"front": {"chip": "pins", "chip_kind": "file", "button_line": "exit"}})
    rig.house.contact_found("front", is_open=False)
    rig.house.button("front")
    rig.house.contact("front", is_open=True)
    assert rig.said(RelayPulsed) == []
    assert states(rig) == [DoorState.BUTTON, DoorState.OPENED], "and it was not forced"


def test_who_was_let_in_by_an_order_that_came_too_late_need_not_go_and_come_back(
    make: Make,
) -> None:
    rig = make()
    assert rig.ask() == (True, "allowed")
    rig.house.guard_says("front", unlocked=True)
    assert rig.again() == []
    rig.house.guard_says("front", unlocked=None)
    assert rig.again() == ["ann"]
    # An operator's order is for nobody, and inside an area they are already.
    rig.house.open(["front"], "by me")
    rig.house.guard_says("front", unlocked=None)
    area = make(doors=TWO)
    area.decide(seen())
    area.house.guard_says("front", unlocked=None)
    assert rig.again() == area.again() == []


def test_a_late_order_says_nothing_of_a_relay_that_is_active(make: Make) -> None:
    rig = make(doors={"front": {**UNCHECKED, "pulse_ms": 50}})
    rig.house.open(["front"], "by me")
    rig.house.guard_says("front", unlocked=True)
    rig.house.guard_says("front", unlocked=None)
    assert rig.house.statuses()[0].unlocked
    while rig.house.overdue(0.0) is None:
        pass  # active for longer than 50 ms, and nobody has said that it is not


def test_a_contact_tells_who_was_let_in_from_who_was_not(rig: Rig) -> None:
    house = rig.house
    house.contact_found("front", is_open=False)
    house.contact("front", is_open=True)
    house.contact("front", is_open=False)
    house.open(["front"], "by me")
    house.contact("front", is_open=True)
    assert states(rig) == [DoorState.FORCED, DoorState.CLOSED, DoorState.OPENED]
    assert house.statuses()[0].is_open is True


def test_a_door_that_stays_open_is_told(make: Make) -> None:
    rig = make(doors={"front": {**UNCHECKED, "held_open_seconds": 1.0}})
    rig.house.contact_found("front", is_open=True)
    while not states(rig):
        rig.house.tick()
    assert states(rig) == [DoorState.HELD_OPEN]


def test_a_guard_that_is_silent_or_late_is_found(make: Make) -> None:
    rig = make(doors={"front": {**UNCHECKED, "pulse_ms": 50}})
    house = rig.house
    assert house.overdue(0.0) is None
    house.open(["front"], "by me")
    assert house.overdue(60.0) is None
    while house.overdue(0.0) is None:
        pass  # not answered in no time at all
    house.guard_says("front", unlocked=True)
    assert house.statuses()[0].unlocked
    while house.overdue(0.0) is None:
        pass  # unlocked for longer than 50 ms
    house.guard_says("front", unlocked=False)
    assert house.overdue(0.0) is None
    house.open(["front"], "by me")
    house.guard_says("front", unlocked=True)
    house.lockdown(["front"], "by me")
    while house.overdue(0.0) is None:
        pass  # told to lock at once
    house.guard_down("killed")
    assert house.overdue(0.0) is None


def test_the_book_is_short_and_names_nobody(rig: Rig, tmp_path: Path) -> None:
    rig.ask()
    rig.house.lockdown(["front"], "by me")
    body = json.loads((tmp_path / "doors.json").read_text())
    assert body == {
        "version": 1,
        "lockdown": ["front"],
        "cameras": {"v4l2": "a camera"},
        "everything": False,
        "remote": [],
        "forgotten": False,
    }
