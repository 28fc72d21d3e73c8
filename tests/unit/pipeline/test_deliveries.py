"""Events reach the ledger first, then the sinks; a sink or a disk that fails delays nobody else."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from ledgers import event, seen

from edgefaced.errors import EventRefused, LedgerBusy, LedgerError, LedgerFull, SinkAway
from edgefaced.events import CameraChanged, DecisionMade, Event, Happening, Trouble
from edgefaced.ledger.records import Record
from edgefaced.ledger.retention import Keep, Purge, Retention
from edgefaced.ledger.store import Ledger
from edgefaced.ledger.turn import sole_reader
from edgefaced.ledger.verify import verify
from edgefaced.pipeline import deliver
from edgefaced.pipeline.crew import Crew, Heartbeat
from edgefaced.pipeline.deliver import Attempts, Momentary
from edgefaced.pipeline.deliveries import Deliveries
from edgefaced.pipeline.handoff import Outbox
from edgefaced.pipeline.postbox import CAPACITY, Announcement
from edgefaced.pipeline.recorder import Backlog, Opening, Recording
from edgefaced.protocols import ClerkPlan, Delivery, EventSink, SinkPlan, SinkPlans

PATIENCE = 60


class Pupil:
    """A sink that writes down what it gets, and refuses for as long as it is told to."""

    def __init__(self) -> None:
        self.heard: list[Event] = []
        self.changed = threading.Condition()
        self.away: Exception | None = None
        self.refusals = 0
        self.closed = 0

    def emit(self, event: Event) -> None:
        with self.changed:
            if self.away is not None:
                self.refusals += 1
                self.changed.notify_all()
                raise self.away
            self.heard.append(event)
            self.changed.notify_all()

    def close(self) -> None:
        self.closed += 1

    def wait_for(self, condition: Callable[[], bool]) -> None:
        with self.changed:
            assert self.changed.wait_for(condition, PATIENCE)

    def wait_for_events(self, count: int) -> None:
        self.wait_for(lambda: len(self.numbers()) >= count)

    def come_back(self) -> None:
        with self.changed:
            self.away = None

    def numbers(self) -> list[int]:
        """Of the events that the test announced."""
        return [number_of(e) for e in self.heard if isinstance(e.happening, DecisionMade)]

    def troubles(self) -> list[Trouble]:
        return [e.happening for e in self.heard if isinstance(e.happening, Trouble)]


def numbered(number: int) -> DecisionMade:
    made = seen()
    return DecisionMade(number, made.decision, 0, 1)


def number_of(event: Event) -> int:
    assert isinstance(event.happening, DecisionMade)
    return event.happening.track_id


class Disk:
    """Opens ledgers, or fails as disks fail."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.fault: LedgerError | None = None
        self.failed = threading.Event()

    def open(self) -> Ledger:
        if self.fault is not None:
            self.failed.set()
            raise self.fault
        return Ledger.open(self.path, create=True)


class FailingLedger(Ledger):
    """A ledger whose disk is full for as long as the test says."""

    fault: LedgerError | None = None
    waits: threading.Event | None = None

    def append(self, events: Sequence[Event]) -> tuple[Record, ...]:
        if FailingLedger.waits is not None:
            FailingLedger.waits.wait(PATIENCE)
        if FailingLedger.fault is not None:
            raise FailingLedger.fault
        return super().append(events)


@pytest.fixture
def failing() -> Iterator[type[FailingLedger]]:
    yield FailingLedger
    FailingLedger.fault, FailingLedger.waits = None, None


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "events.db"


def plan(
    sink: EventSink, delivery: Delivery = Delivery.LASTING, patience_seconds: float = PATIENCE
) -> SinkPlan:
    return SinkPlan(lambda: sink, delivery, patience_seconds=patience_seconds)


@contextmanager
def running(plans: SinkPlans, recording: Recording | None) -> Iterator[Deliveries]:
    """Delivers; at the end everything is recorded and delivered as at the end of a replay."""
    crew = Crew()
    deliveries = Deliveries("door", plans, recording, crew)
    crew.start()
    try:
        yield deliveries
    finally:
        deliveries.close()
        crew.wait(PATIENCE)
        assert crew.join(PATIENCE) == []
    assert crew.failures == []


def recorded(path: Path) -> list[Happening]:
    with Ledger.open(path) as ledger:
        assert verify(ledger).clean
        return [record.event.happening for record in ledger.after(0, limit=100_000)]


def test_everybody_gets_everything_in_the_same_order(path: Path) -> None:
    lasting, momentary = Pupil(), Pupil()
    plans = {"mqtt": plan(lasting), "door": plan(momentary, Delivery.MOMENTARY)}
    with running(plans, Recording(Disk(path).open)) as deliveries:
        for number in range(300):
            deliveries.postbox.announce(numbered(number))
    assert lasting.numbers() == momentary.numbers() == list(range(300))
    assert [number_of(r) for r in map(event, recorded(path))] == list(range(300))
    assert all(heard.recorded for heard in momentary.heard)
    assert lasting.heard == momentary.heard, "the same ids and times"
    counts = deliveries.counts()
    assert (counts["mqtt"].waiting, counts["mqtt"].lost, counts["mqtt"].failures) == (0, 0, 0)
    assert counts["door"].delivery is Delivery.MOMENTARY
    assert deliveries.recorder is not None
    assert (deliveries.recorder.recorded, deliveries.recorder.position) == (300, 300)
    assert deliveries.recorder.waiting == deliveries.recorder.lost == 0
    assert (lasting.closed, momentary.closed) == (1, 1)


def test_a_momentary_sink_hears_of_an_event_only_once_it_is_recorded(
    path: Path, failing: type[FailingLedger]
) -> None:
    failing.waits = threading.Event()
    door = Pupil()

    def open_ledger() -> Ledger:
        return failing.open(path, create=True)

    plans = {"door": plan(door, Delivery.MOMENTARY)}
    with running(plans, Recording(open_ledger)) as deliveries:
        deliveries.postbox.announce(numbered(1))
        assert door.heard == []
        failing.waits.set()
        door.wait_for_events(1)
    assert door.heard[0].recorded


def test_a_disk_that_hangs_does_not_hang_a_door(path: Path, failing: type[FailingLedger]) -> None:
    failing.waits = threading.Event()
    door, patient = Pupil(), Pupil()
    plans = {
        "door": plan(door, Delivery.MOMENTARY, patience_seconds=0.05),
        "log": plan(patient, Delivery.MOMENTARY),
    }
    recording = Recording(lambda: failing.open(path, create=True))
    with running(plans, recording) as deliveries:
        deliveries.postbox.announce(numbered(1))
        door.wait_for_events(1)
        assert not door.heard[0].recorded, "in time, and not known to be recorded"
        failing.waits.set()
    assert len(door.heard) == 1, "told once"
    assert patient.heard[0].recorded, "each waits as long as it is worth to it"
    assert recorded(path) == [numbered(1)]


def test_a_full_disk_is_said_and_nothing_is_lost(path: Path, failing: type[FailingLedger]) -> None:
    lasting, door = Pupil(), Pupil()
    plans = {"mqtt": plan(lasting), "door": plan(door, Delivery.MOMENTARY)}
    recording = Recording(lambda: failing.open(path, create=True))
    with running(plans, recording) as deliveries:
        recorder = deliveries.recorder
        assert recorder is not None
        deliveries.postbox.announce(numbered(0))
        lasting.wait_for_events(1)
        failing.fault = LedgerFull("the disk is full on purpose")
        for number in range(1, 20):
            deliveries.postbox.announce(numbered(number))
        door.wait_for_events(20)
        assert [e.recorded for e in door.heard if number_of_any(e) == 19] == [False]
        assert "on purpose" in recorder.fault
        assert recorder.waiting > 0
        assert lasting.numbers() == [0]
        failing.fault = None
        lasting.wait_for_events(20)
        lasting.wait_for(lambda: len(lasting.troubles()) == 2)
        assert (recorder.fault, recorder.lost) == ("", 0)
    assert lasting.numbers() == door.numbers() == list(range(20))
    assert [t.where for t in lasting.troubles()] == ["ledger", "ledger"]
    assert "kept in memory" in lasting.troubles()[0].detail
    assert "records again; 0 events were lost" in lasting.troubles()[1].detail
    assert recorder.unrecorded >= 19
    assert len(recorded(path)) == 22


def number_of_any(event: Event) -> int | None:
    return number_of(event) if isinstance(event.happening, DecisionMade) else None


def test_memory_has_a_bound_and_what_is_lost_is_counted(path: Path) -> None:
    disk, door = Disk(path), Pupil()
    disk.fault = LedgerFull("no room")
    backlog = Backlog(capacity=10)
    plans = {"door": plan(door, Delivery.MOMENTARY)}
    with running(plans, Recording(disk.open, backlog=backlog)) as deliveries:
        for number in range(30):
            deliveries.postbox.announce(numbered(number))
        door.wait_for_events(30)
    assert deliveries.recorder is not None
    assert (deliveries.recorder.lost, len(backlog)) == (21, 10), "and the event of the trouble"
    # Another line takes over what waits: a reload loses nothing of it.
    disk.fault = None
    with running(plans, Recording(disk.open, backlog=backlog)) as deliveries:
        assert deliveries.recorder is not None
    assert len(backlog) == 0
    assert len(recorded(path)) == 10
    assert deliveries.recorder.lost == 0, "counted by the line that lost them"


def test_a_lasting_sink_that_is_away_gets_everything_later_and_delays_nobody(path: Path) -> None:
    lasting, other = Pupil(), Pupil()
    lasting.away = SinkAway("no broker")
    plans = {"mqtt": plan(lasting), "webhook": plan(other)}
    with running(plans, Recording(Disk(path).open)) as deliveries:
        for number in range(50):
            deliveries.postbox.announce(numbered(number))
        other.wait_for_events(50)
        lasting.wait_for(lambda: lasting.refusals >= 2)
        counts = deliveries.counts()["mqtt"]
        assert (counts.fault, counts.waiting >= 50) == ("no broker", True)
        lasting.come_back()
        lasting.wait_for_events(50)
    assert lasting.numbers() == list(range(50))
    assert [t for t in other.troubles() if t.where == "mqtt"] == [Trouble("mqtt", "no broker")]
    assert deliveries.counts()["mqtt"].fault == ""


def test_what_a_lasting_sink_did_not_take_waits_for_the_next_start(path: Path) -> None:
    away = Pupil()
    away.away = OSError("no route")
    with running({"mqtt": plan(away)}, Recording(Disk(path).open)) as deliveries:
        for number in range(20):
            deliveries.postbox.announce(numbered(number))
        away.wait_for(lambda: away.refusals >= 1)
    assert away.heard == []
    back, door = Pupil(), Pupil()
    plans = {"mqtt": plan(back), "door": plan(door, Delivery.MOMENTARY)}
    with running(plans, Recording(Disk(path).open)) as deliveries:
        deliveries.postbox.announce(numbered(20))
    assert back.numbers() == list(range(21))
    assert door.numbers() == [20], "never after a restart"
    with Ledger.open(path) as ledger:
        assert ledger.position_of("mqtt") == ledger.head().position


def test_a_new_sink_does_not_get_the_past(path: Path) -> None:
    with running({}, Recording(Disk(path).open)) as deliveries:
        deliveries.postbox.announce(numbered(1))
    fresh = Pupil()
    with running({"mqtt": plan(fresh)}, Recording(Disk(path).open)) as deliveries:
        deliveries.postbox.announce(numbered(2))
    assert fresh.numbers() == [2]


def test_a_momentary_sink_is_told_once_and_its_failure_is_said(path: Path) -> None:
    door, other = Pupil(), Pupil()
    door.away = OSError("no such line")
    plans = {"door": plan(door, Delivery.MOMENTARY), "log": plan(other, Delivery.MOMENTARY)}
    with running(plans, Recording(Disk(path).open)) as deliveries:
        for number in range(5):
            deliveries.postbox.announce(numbered(number))
        other.wait_for(lambda: len(other.heard) == 6)
        door.wait_for(lambda: door.refusals == 6)
        assert deliveries.counts()["door"].failures == 6
        door.come_back()
        deliveries.postbox.announce(numbered(5))
    assert door.numbers() == [5]
    assert other.troubles() == [Trouble("door", "no such line")]


def test_an_event_that_is_refused_for_good_holds_up_nobody(path: Path) -> None:
    class Picky(Pupil):
        def emit(self, event: Event) -> None:
            if number_of_any(event) == 1:
                raise EventRefused("not this one")
            super().emit(event)

    picky = Picky()
    with running({"webhook": plan(picky)}, Recording(Disk(path).open)) as deliveries:
        for number in range(3):
            deliveries.postbox.announce(numbered(number))
        picky.wait_for(lambda: len(picky.troubles()) == 1)
    assert picky.numbers() == [0, 2]
    assert deliveries.counts()["webhook"].lost == 1


def test_a_sink_that_cannot_be_opened_is_tried_again(path: Path) -> None:
    tries: list[int] = []
    late = Pupil()

    def open_late() -> EventSink:
        tries.append(1)
        if len(tries) < 3:
            raise SinkAway("not yet")
        return late

    for delivery in Delivery:
        tries.clear()
        plans = {"late": SinkPlan(open_late, delivery)}
        with running(plans, Recording(Disk(path).open)) as deliveries:
            deliveries.postbox.announce(numbered(7))
            late.wait_for(lambda: 7 in late.numbers())
        assert len(tries) == 3
        assert late.troubles()[0] == Trouble("late", "not yet")
        late.heard.clear()


def test_the_end_does_not_wait_for_a_sink_that_never_opens(path: Path) -> None:
    def never() -> EventSink:
        raise SinkAway("never")

    plans = {
        "one": SinkPlan(never, Delivery.LASTING),
        "two": SinkPlan(never, Delivery.MOMENTARY),
    }
    with running(plans, Recording(Disk(path).open)) as deliveries:
        deliveries.postbox.announce(numbered(1))
    assert numbered(1) in recorded(path)


class Echo:
    """A clerk that answers every decision with a camera that came up."""

    def __init__(self) -> None:
        self.asked: list[int] = []
        self.fails = 0

    def answer(self, event: Event) -> Sequence[Event]:
        number = number_of_any(event)
        if number is None:
            return ()
        self.asked.append(number)
        if self.fails:
            self.fails -= 1
            raise OSError("not now")
        return [Event(CameraChanged(True, str(number)), "clerk")]

    def close(self) -> None:
        """Nothing to close."""


def test_a_clerks_answers_are_recorded_once_and_shown(path: Path) -> None:
    clerk, door, mqtt = Echo(), Pupil(), Pupil()
    clerk.fails = 2
    plans: SinkPlans = {
        "clerk": ClerkPlan(lambda: clerk),
        "door": plan(door, Delivery.MOMENTARY),
        "mqtt": plan(mqtt),
    }

    def answers(heard: list[Event]) -> list[str]:
        return [e.happening.detail for e in heard if isinstance(e.happening, CameraChanged)]

    wanted = [str(number) for number in range(10)]
    with running(plans, Recording(Disk(path).open)) as deliveries:
        for number in range(10):
            deliveries.postbox.announce(numbered(number))
        for pupil in (door, mqtt):
            pupil.wait_for(lambda pupil=pupil: answers(pupil.heard) == wanted)  # type: ignore[misc]
    assert clerk.asked == [0, 0, *range(10)]
    assert [e.recorded for e in door.heard if e.camera == "clerk"] == [True] * 10
    again = Echo()
    with running({"clerk": ClerkPlan(lambda: again)}, Recording(Disk(path).open)):
        pass
    assert again.asked == []


def test_what_was_redacted_or_purged_does_not_hold_up_a_sink(path: Path) -> None:
    with Ledger.open(path, create=True) as ledger:
        ledger.settle_cursors(["mqtt"])
        ledger.append([event(seen()) for _ in range(5)])
        with ledger.database.writing() as db:
            db.execute("UPDATE records SET body = NULL, salt = NULL WHERE position IN (1, 4, 5)")
    sink = Pupil()
    with running({"mqtt": plan(sink)}, Recording(Disk(path).open)):
        pass
    assert len(sink.heard) == 2
    with Ledger.open(path) as ledger:
        assert ledger.position_of("mqtt") == 5


def test_retention_is_kept_while_it_runs_and_losses_are_announced(path: Path) -> None:
    with Ledger.open(path, create=True) as ledger:
        ledger.settle_cursors(["mqtt"])
        ledger.append([event(Trouble("x", "y" * 4000)) for _ in range(300)])
    away, log = Pupil(), Pupil()
    away.away = SinkAway("away for days")
    retention = Retention(Keep(), maximum_bytes=600_000)
    plans = {"mqtt": plan(away), "log": plan(log, Delivery.MOMENTARY)}
    with running(plans, Recording(Disk(path).open, retention)) as deliveries:
        log.wait_for(lambda: any("left out" in t.detail for t in log.troubles()))
        assert deliveries.recorder is not None
        assert deliveries.recorder.purged > 100
        away.wait_for(lambda: deliveries.counts()["mqtt"].lost > 0)
    said = next(t for t in log.troubles() if "left out" in t.detail)
    with Ledger.open(path) as ledger:
        lost = ledger.cursors()["mqtt"].lost
    assert said.detail == f"{lost} events that mqtt had not got were left out: the ledger is full"
    assert deliveries.counts()["mqtt"].lost == lost, "told while it is still away"


def test_a_purge_that_fails_is_said_and_recording_goes_on(path: Path) -> None:
    class Unpurged(Ledger):
        def purge(
            self, retention: Retention, *, now_us: int | None, holders: Collection[str]
        ) -> Purge:
            raise LedgerFull("no room to make room")

    log = Pupil()
    plans = {"log": plan(log, Delivery.MOMENTARY)}
    with running(plans, Recording(lambda: Unpurged.open(path, create=True))) as deliveries:
        log.wait_for(lambda: len(log.troubles()) == 1)
        deliveries.postbox.announce(numbered(1))
        log.wait_for_events(1)
    assert "cannot be left out: no room to make room" in log.troubles()[0].detail
    assert all(heard.recorded for heard in log.heard)


def test_a_stop_leaves_what_waits_for_the_next_start(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deliver, "FAREWELL_SECONDS", 0.0)
    with Ledger.open(path, create=True) as ledger:
        ledger.settle_cursors(["mqtt"])
        ledger.append([event(numbered(number)) for number in range(500)])
    crew, begun = Crew(), threading.Event()

    class Slow(Pupil):
        def emit(self, event: Event) -> None:
            super().emit(event)
            begun.set()
            assert crew.stop.wait(PATIENCE)

    slow, rest = Slow(), Pupil()
    deliveries = Deliveries("door", {"mqtt": plan(slow)}, Recording(Disk(path).open), crew)
    crew.start()
    assert begun.wait(PATIENCE)
    crew.stop.set()
    deliveries.close()
    assert crew.join(PATIENCE) == []
    assert 1 <= len(slow.heard) < 500
    with running({"mqtt": plan(rest)}, Recording(Disk(path).open)):
        pass
    assert slow.numbers() + rest.numbers() == list(range(500)), "none twice, none left out"


class Stuck(Pupil):
    """Takes an event when it is let."""

    def __init__(self) -> None:
        super().__init__()
        self.free, self.busy = threading.Event(), threading.Event()

    def emit(self, event: Event) -> None:
        self.busy.set()
        self.free.wait(PATIENCE)
        super().emit(event)


def test_a_sink_that_hangs_is_told_and_delays_nobody(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deliver, "HANGS_SECONDS", -1.0)
    journal, door = Stuck(), Pupil()
    plans = {"journal": plan(journal, Delivery.MOMENTARY), "door": plan(door, Delivery.MOMENTARY)}
    with running(plans, Recording(Disk(path).open)) as deliveries:
        deliveries.look()
        deliveries.postbox.announce(numbered(1))
        assert journal.busy.wait(PATIENCE)
        for _ in range(3):
            deliveries.look()
        door.wait_for(lambda: len(door.troubles()) >= 1)
        assert "hangs" in deliveries.counts()["journal"].fault
        deliveries.postbox.announce(numbered(2))
        door.wait_for_events(2)
        journal.free.set()
        journal.wait_for_events(2)
    assert [t.where for t in door.troubles()] == ["journal"], "once, however often it is looked at"
    assert deliveries.counts()["journal"].fault == ""
    assert len(journal.heard) == 3, "it has lost nothing"


def test_a_sink_that_loses_events_is_told_and_so_is_its_end(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deliver, "HANGS_SECONDS", PATIENCE)  # which it does, on any machine
    journal, door = Stuck(), Pupil()
    plans = {"journal": plan(journal, Delivery.MOMENTARY), "door": plan(door, Delivery.MOMENTARY)}
    with running(plans, Recording(Disk(path).open)) as deliveries:
        deliveries.postbox.announce(numbered(0))
        assert journal.busy.wait(PATIENCE)
        for number in range(1, CAPACITY + 3):
            deliveries.postbox.announce(numbered(number))
            door.wait_for_events(number)  # which takes them as quickly as they come
        for _ in range(3):
            deliveries.look()
        door.wait_for(lambda: len(door.troubles()) >= 1)
        journal.free.set()
        journal.wait_for(lambda: len(journal.troubles()) >= 1)  # the newest, of all that it gets
        lost = deliveries.counts()["journal"].lost
        deliveries.look()
        door.wait_for(lambda: len(door.troubles()) >= 2)
    begun, over = (trouble.detail for trouble in door.troubles())
    assert "loses events" in begun
    assert f"keeps up again; {lost} events were lost" == over
    assert len(journal.numbers()) == CAPACITY + 3 - lost


def test_what_came_before_a_ledger_that_opens_slowly_was_open_is_told_as_recorded() -> None:
    """However long that took, with sinks that wait for a moment only."""
    opening, stop = Opening(), threading.Event()
    outbox: Outbox[Announcement] = Outbox(10)
    sink = Pupil()
    attempts = Attempts("log", lambda happening: None, stop, lambda seconds: False)
    stage = Momentary(lambda: sink, outbox, attempts, PATIENCE, opening, stop, idle=lambda: None)
    hour_ns = 3600 * 10**9
    old = [Announcement(replace(event(numbered(n)), monotonic_ns=n * hour_ns)) for n in range(3)]
    for announcement in old:
        outbox.put(announcement)
    outbox.close()
    running = threading.Thread(target=stage.run, args=[Heartbeat()])
    running.start()
    opening.end()
    for announcement in old:
        announcement.settle(recorded=True)
    running.join(PATIENCE)
    assert [(number_of(e), e.recorded) for e in sink.heard] == [(n, True) for n in range(3)]


def test_a_ledger_that_others_keep_busy_while_it_opens_refuses_nothing(path: Path) -> None:
    door = Pupil()
    plans = {"door": plan(door, Delivery.MOMENTARY)}
    recording = Recording(lambda: Ledger.open(path, create=True, busy_seconds=0.01))
    with Ledger.open(path, create=True) as other, ExitStack() as busy:
        busy.enter_context(other.database.writing())
        with running(plans, recording) as deliveries:
            deliveries.postbox.announce(numbered(1))
            recorder = deliveries.recorder
            assert recorder is not None
            deadline = time.monotonic() + PATIENCE
            while not recorder.fault:
                assert time.monotonic() < deadline
            assert door.heard == []
            busy.close()
            door.wait_for_events(1)
    assert door.heard[0].recorded
    assert numbered(1) in recorded(path)


def test_a_ledger_is_opened_before_anything_happens(path: Path) -> None:
    with running({}, Recording(Disk(path).open)) as deliveries:
        assert deliveries.recorder is not None
        assert deliveries.recorder.opening.wait(PATIENCE)
        assert path.exists()


def test_a_ledger_that_hangs_while_it_opens_does_not_hang_a_door(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deliver, "OPENING_SECONDS", 0.0)
    opens = threading.Event()

    def open_ledger() -> Ledger:
        opens.wait(PATIENCE)
        return Ledger.open(path, create=True)

    door = Pupil()
    plans = {"door": plan(door, Delivery.MOMENTARY, patience_seconds=0.0)}
    with running(plans, Recording(open_ledger)) as deliveries:
        deliveries.postbox.announce(numbered(1))
        door.wait_for_events(1)
        assert not door.heard[0].recorded
        opens.set()
    assert recorded(path) == [numbered(1)]


def test_a_stop_does_not_wait_for_a_ledger_that_hangs_while_it_opens(path: Path) -> None:
    opens, door, crew = threading.Event(), Pupil(), Crew()
    plans = {"door": plan(door, Delivery.MOMENTARY, patience_seconds=0.0)}

    def open_ledger() -> Ledger:
        opens.wait(PATIENCE)
        return Ledger.open(path, create=True)

    deliveries = Deliveries("door", plans, Recording(open_ledger), crew)
    crew.start()
    deliveries.postbox.announce(numbered(1))
    crew.stop.set()
    deliveries.close()
    door.wait_for_events(1)
    opens.set()
    assert crew.join(PATIENCE) == []
    assert recorded(path) == [numbered(1)]


def test_a_ledger_that_cannot_be_opened_is_opened_later(path: Path) -> None:
    disk, sink = Disk(path), Pupil()
    disk.fault = LedgerError("no such disk")
    with running({"mqtt": plan(sink)}, Recording(disk.open)) as deliveries:
        deliveries.postbox.announce(numbered(1))
        assert disk.failed.wait(PATIENCE)
        disk.fault = None
        sink.wait_for_events(1)
    assert sink.numbers() == [1]


def test_a_ledger_that_was_moved_away_is_begun_anew(path: Path) -> None:
    door, mqtt = Pupil(), Pupil()
    plans = {"door": plan(door, Delivery.MOMENTARY), "mqtt": plan(mqtt)}
    with running(plans, Recording(Disk(path).open)) as deliveries:
        for number in range(20):
            deliveries.postbox.announce(numbered(number))
        mqtt.wait_for_events(20)
        path.rename(path.with_name("old.db"))
        for number in range(20, 25):
            deliveries.postbox.announce(numbered(number))
        mqtt.wait_for_events(25)
    assert door.numbers() == mqtt.numbers() == list(range(25))
    told = recorded(path)
    assert [h for h in told if isinstance(h, DecisionMade)] == [numbered(n) for n in range(20, 25)]


def test_one_process_at_a_time_delivers_to_a_sink(path: Path) -> None:
    first, second = Pupil(), Pupil()
    with running({"mqtt": plan(first)}, Recording(Disk(path).open)) as sooner:
        sooner.postbox.announce(numbered(0))
        first.wait_for_events(1)
        with pytest.raises(LedgerBusy, match="another process delivers"), sole_reader(path, "mqtt"):
            raise AssertionError("it was free")
        with running({"mqtt": plan(second)}, Recording(Disk(path).open)) as later:
            later.postbox.announce(numbered(1))
            first.wait_for_events(2)
        assert "another process delivers to mqtt" in later.counts()["mqtt"].fault
    assert (first.numbers(), second.numbers()) == ([0, 1], [])
    with sole_reader(path, "mqtt"):
        assert first.closed == 1, "and the place is free again"


def test_a_momentary_lock_of_another_process_costs_no_event(path: Path) -> None:
    mqtt = Pupil()
    recording = Recording(lambda: Ledger.open(path, create=True, busy_seconds=0.01))
    with running({"mqtt": plan(mqtt)}, recording) as deliveries:
        deliveries.postbox.announce(numbered(0))
        mqtt.wait_for_events(1)
        recorder = deliveries.recorder
        assert recorder is not None
        with Ledger.open(path) as other, other.database.writing():
            deliveries.postbox.announce(numbered(1))
            deadline = time.monotonic() + PATIENCE
            while not recorder.fault:
                assert time.monotonic() < deadline
        mqtt.wait_for_events(2)
    assert mqtt.numbers() == [0, 1]


def test_without_a_ledger_momentary_sinks_are_told_so() -> None:
    door = Pupil()
    with running({"door": plan(door, Delivery.MOMENTARY)}, None) as deliveries:
        deliveries.postbox.announce(numbered(1))
    assert [e.recorded for e in door.heard] == [False]
    with pytest.raises(ValueError, match="mqtt: a lasting sink reads a ledger"):
        Deliveries("door", {"mqtt": plan(door)}, None, Crew())


def test_a_sink_or_a_disk_that_hangs_is_no_reason_to_start_anew() -> None:
    crew = Crew()
    plans = {
        "mqtt": plan(Pupil()),
        "journal": plan(Pupil(), Delivery.MOMENTARY),
        "door": SinkPlan(Pupil, Delivery.MOMENTARY, announces=True),
    }
    Deliveries("door", plans, Recording(Disk(Path("nowhere")).open), crew)
    assert not crew.moved_since(0)
    crew.heartbeats["deliver door"].beat()
    assert crew.moved_since(0), "neither the recorder nor any other sink is waited for"
