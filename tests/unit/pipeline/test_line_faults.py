"""A line and its faults: cameras that hang, vanish, freeze or change; stages that raise or hang."""

from __future__ import annotations

import ctypes
import gc
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from datetime import datetime, tzinfo
from itertools import count, takewhile
from pathlib import Path

import cv2
import numpy as np
import pytest
from coloured import (
    ANN,
    BOB,
    PATIENCE_SECONDS,
    Cast,
    Collector,
    ColourDetector,
    ColourEmbedder,
    Kind,
    Watched,
    scene,
)
from plugged_camera import Machine
from scripted_camera import ScriptedCamera, Step

from edgefaced import events
from edgefaced.camera.v4l2 import ioctl as v4l2
from edgefaced.camera.v4l2.canned import CannedKernel
from edgefaced.core.policy import DecisionPolicy, Evidence, PolicyLimits
from edgefaced.core.thermal import BANDS, Cause, Pace
from edgefaced.events import CameraChanged, DecisionMade, Event, FaceLeft, Trouble
from edgefaced.gallery.following import FollowingIndex
from edgefaced.gallery.records import ChangeKind, NewTemplate
from edgefaced.gallery.rows import append_change
from edgefaced.gallery.store import Gallery
from edgefaced.pipeline.judge import Knowledge
from edgefaced.pipeline.line import Line
from edgefaced.protocols import Camera, Delivery, SinkPlan
from edgefaced.types import U8, AlignedFace, ColourOrder, Decision, Embedding, FaceDetection, Frame


def announcing() -> DecisionPolicy:
    """Announces the same person each time they come."""
    return DecisionPolicy(PolicyLimits(recheck_after=60, retry_after=60, cool_down=0))


class Stand:
    """A line on a cast, and what is seen at a sink of it."""

    def __init__(self, cast: Cast, sink: Watched | None = None) -> None:
        self.sink = sink or Watched()
        cast.sinks = {**cast.sinks, "watched": SinkPlan(lambda: self.sink, Delivery.MOMENTARY)}
        self.line = Line(cast.parts())

    def __enter__(self) -> Stand:
        self.line.start()
        return self

    def __exit__(self, *_: object) -> None:
        assert self.line.stop(PATIENCE_SECONDS) == []

    def run_to_the_end(self) -> None:
        self.line.start()
        assert self.line.crew.wait(PATIENCE_SECONDS)
        assert self.line.stop(PATIENCE_SECONDS) == []
        assert self.line.crew.failures == []

    def decided(self, count: int = 1) -> None:
        self.sink.until(lambda h: isinstance(h, DecisionMade), count)

    def left(self, count: int = 1) -> None:
        self.sink.until(lambda h: isinstance(h, FaceLeft), count)

    def camera(self, *, up: bool, count: int = 1) -> None:
        self.sink.until(lambda h: isinstance(h, CameraChanged) and h.up is up, count)

    def happened(self, kind: type[Kind]) -> list[Kind]:
        return self.sink.happened(kind)


class Remembering(ColourEmbedder):
    """Remembers whose face each crop showed."""

    def __init__(self) -> None:
        super().__init__()
        self.begun = threading.Event()
        self.seen: list[tuple[int, ...]] = []

    def waits(self, _: int) -> bool:
        """Whether nobody has been embedded yet."""
        return not self.begun.is_set()

    def embed(self, face: AlignedFace) -> Embedding:
        middle = face.pixels[30:80, 30:80].reshape(-1, 3)
        assert (middle == middle[0]).all(), "a crop of something else than one face"
        self.seen.append(tuple(int(value) for value in middle[0]))
        self.begun.set()
        return super().embed(face)


def ann(number: int) -> U8:
    """Ann stands there; the picture is never the same twice."""
    return scene((ANN, 50), sequence=number)


def nobody(number: int) -> U8:
    return scene(sequence=number)


# Cameras


def test_a_camera_that_vanishes_returns_under_another_node(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    with Stand(Cast(machine.open, policy=announcing())) as stand, machine.showing(ann):
        stand.decided()
        machine.unplug()
        stand.camera(up=False)
        stand.left()
        machine.plug_in(4)
        stand.camera(up=True, count=2)
        stand.decided(2)
    assert [change.up for change in stand.happened(CameraChanged)] == [True, False, True]
    first, second = (d.track_id for d in stand.happened(DecisionMade))
    assert first != second, "whoever stands there now is somebody new"
    description = stand.line.capturer.description
    assert description is not None
    assert description.device.endswith("video4")


def test_a_camera_that_is_busy_at_the_start_is_taken_when_it_is_free(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.camera.busy = True
    with Stand(Cast(machine.open)) as stand, machine.showing(ann):
        stand.camera(up=False)
        machine.camera.busy = False
        stand.camera(up=True)
        stand.decided()
    assert "busy" in stand.happened(CameraChanged)[0].detail
    assert machine.camera.users == 0


def test_a_source_that_changes_its_size_is_opened_anew_with_nobody_in_view(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    cast = Cast(machine.open, policy=announcing())
    # Of the two sizes the camera has one at a time; the other's frames are lost.
    with Stand(cast) as stand, machine.showing(lambda n: ann(n) if n % 2 else ann(n)[:, :160]):
        stand.decided()
        machine.camera.change_source(160, 120)
        stand.camera(up=False)
        stand.left()
        stand.camera(up=True, count=2)
        stand.decided(2)
    _, down, up = stand.happened(CameraChanged)
    assert "size has changed" in down.detail
    assert "160x120" in up.detail
    assert len({d.track_id for d in stand.happened(DecisionMade)}) == 2
    assert machine.camera.users == 0


def test_frames_of_another_size_forget_everybody_and_no_wrong_face_is_cut() -> None:
    """As in a film that was put together: no new camera, another size all the same."""
    large: list[Step] = [scene((BOB, 150), (ANN, 20), sequence=n) for n in range(12)]
    small: list[Step] = [scene((ANN, 50), sequence=n)[:, :120].copy() for n in range(12)]
    embedder = Remembering()
    ledger: list[str] = []
    cast = Cast(
        lambda: ScriptedCamera(iter([*large, *small, *large]), ledger),
        embedder=embedder,
        policy=announcing(),
        replay=True,
        lossless=True,
    )
    stand = Stand(cast)
    stand.run_to_the_end()
    decisions = stand.happened(DecisionMade)
    assert sorted(d.decision.outcome for d in decisions) == ["known"] * 3 + ["unknown"] * 2
    assert len({d.track_id for d in decisions}) == 5, "nobody goes on from one size to the next"
    assert [f.track_id for f in stand.happened(FaceLeft)] == [1, 2, 3]
    assert set(embedder.seen) == {ANN, BOB}
    assert ledger.count("lent") == ledger.count("back")


def test_a_frozen_picture_decides_nothing_and_keeps_nobody_there(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    embedder = ColourEmbedder()
    frozen = threading.Event()
    frozen.set()
    with (
        Stand(Cast(machine.open, embedder=embedder)) as stand,
        machine.showing(lambda n: ann(1 if frozen.is_set() else n)),
    ):
        stand.camera(up=False)
        stand.left()
        # On a busy machine even this one may be too old when its turn comes.
        figures = stand.line.figures
        looks = embedder.embedded + figures.batches_stale + figures.batches_displaced
        assert looks == 1, "one picture is one look, however often it comes"
        assert stand.happened(DecisionMade) == []
        frozen.clear()
        stand.camera(up=True, count=2)
        stand.decided()
    assert "frozen" in stand.happened(CameraChanged)[1].detail
    assert stand.happened(FaceLeft)[0].decision is None


def test_black_pictures_show_nobody_and_are_no_fault_of_the_camera(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    black: U8 = np.zeros((120, 200, 3), np.uint8)
    covered = threading.Event()
    with (
        Stand(Cast(machine.open)) as stand,
        machine.showing(lambda n: black if covered.is_set() else ann(n)),
    ):
        stand.decided()
        covered.set()
        stand.left()
    assert [change.up for change in stand.happened(CameraChanged)] == [True]


def test_while_the_board_rests_nobody_is_in_view(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    with Stand(Cast(machine.open, policy=announcing())) as stand, machine.showing(ann):
        stand.decided()
        stand.line.pace.current = Pace(BANDS[-1], len(BANDS) - 1, Cause.HEAT, stepped=True)
        stand.left()
        assert stand.line.figures.tracks == 0
        stand.line.pace.current = Pace(BANDS[0], 0, Cause.COOLED, stepped=True)
        stand.decided(2)
    assert [change.up for change in stand.happened(CameraChanged)] == [True]


def test_damaged_pictures_are_passed_over_and_endless_ones_are_a_camera_that_is_down(
    tmp_path: Path,
) -> None:
    machine = Machine(tmp_path, "MJPG")
    broken = threading.Event()

    def shown(number: int) -> bytes:
        whole = cv2.imencode(".jpg", nobody(number))[1].tobytes()
        return whole[: len(whole) // 2] if broken.is_set() or number % 3 == 0 else whole

    with Stand(Cast(machine.open)) as stand, machine.showing(shown):
        stand.camera(up=True)
        broken.set()
        stand.camera(up=False)
        broken.clear()
        stand.camera(up=True, count=2)
    assert "no whole frame" in stand.happened(CameraChanged)[1].detail
    assert stand.line.figures.lost["damaged"] > 0
    assert machine.camera.users == 0


def open_descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_twenty_restarts_leave_nothing_behind(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    stand = Stand(Cast(machine.open, camera_pauses=(0.0, 0.0)))
    descriptors, threads = [open_descriptors()], set()
    with stand, machine.showing(ann):
        for turn in range(21):
            stand.camera(up=True, count=turn + 1)
            descriptors.append(open_descriptors())
            threads.add(threading.active_count())
            machine.unplug()
            stand.camera(up=False, count=turn + 1)
            machine.plug_in(turn + 1)
    assert len(threads) == 1
    # The last frame looked at keeps its buffer until the next one comes.
    assert max(descriptors[1:]) - min(descriptors[1:]) < 10, descriptors
    assert machine.camera.users == 0
    del stand
    gc.collect()
    assert open_descriptors() == descriptors[0]


# Stages

STAGES = ("capture", "detect", "recognise", "deliver watched")


class Trap:
    """What happens to one stage."""

    def __init__(self, stage: str, action: Callable[[], None]) -> None:
        self._stage = stage
        self._action = action

    def at(self, stage: str) -> None:
        if stage == self._stage:
            self._action()


class TrappedKernel(CannedKernel):
    def __init__(self, trap: Trap) -> None:
        super().__init__()
        self._trap = trap

    def ioctl(self, fd: int, request: int, argument: ctypes.Structure | ctypes.c_int) -> None:
        if request == v4l2.DQBUF:
            self._trap.at("capture")
        super().ioctl(fd, request, argument)


class TrappedDetector(ColourDetector):
    def __init__(self, trap: Trap) -> None:
        self._trap = trap

    def detect(self, frame: Frame) -> list[FaceDetection]:
        self._trap.at("detect")
        return super().detect(frame)


class TrappedEmbedder(ColourEmbedder):
    def __init__(self, trap: Trap) -> None:
        super().__init__()
        self._trap = trap

    def embed(self, face: AlignedFace) -> Embedding:
        self._trap.at("recognise")
        return super().embed(face)


class TrappedSink(Watched):
    def __init__(self, trap: Trap) -> None:
        super().__init__()
        self._trap = trap

    def emit(self, event: Event) -> None:
        self._trap.at("deliver watched")
        super().emit(event)


def trapped(folder: Path, trap: Trap) -> tuple[Machine, Stand]:
    """A line that falls into the trap, and would go on for ever."""
    machine = Machine(folder, kernel=TrappedKernel(trap))
    cast = Cast(machine.open, detector=TrappedDetector(trap), embedder=TrappedEmbedder(trap))
    return machine, Stand(cast, TrappedSink(trap))


@pytest.mark.parametrize("stage", STAGES)
def test_a_stage_that_raises_ends_all_and_is_named(stage: str, tmp_path: Path) -> None:
    def fail() -> None:
        raise ZeroDivisionError("on purpose")

    machine, stand = trapped(tmp_path, Trap(stage, fail))
    with machine.showing(ann):
        stand.line.start()
        assert stand.line.crew.stop.wait(PATIENCE_SECONDS)
        assert stand.line.stop(PATIENCE_SECONDS) == []
    assert [failure.stage for failure in stand.line.crew.failures] == [stage]
    assert "on purpose" in stand.line.crew.failures[0].trace
    assert machine.camera.users == 0
    assert stand.sink.closed


@pytest.mark.parametrize("stage", STAGES)
def test_a_stage_that_hangs_starves_the_watchdog_and_is_the_only_one_named(
    stage: str, tmp_path: Path
) -> None:
    reading, writing = os.pipe()
    hanging = threading.Event()

    def hang_in_a_driver() -> None:
        hanging.set()
        os.read(reading, 1)

    machine, stand = trapped(tmp_path, Trap(stage, hang_in_a_driver))
    crew = stand.line.crew
    with machine.showing(ann):
        stand.line.start()
        try:
            assert hanging.wait(PATIENCE_SECONDS)
            since = time.monotonic_ns()
            still = stand.line.stop(0.5)
            while len(still) > 1:
                assert time.monotonic_ns() < since + PATIENCE_SECONDS * 1e9, still
                still = stand.line.stop(0.5)
            (hung,) = still
            assert hung.stage == stage
            assert "hang_in_a_driver" in hung.stack
            assert not crew.moved_since(since)
            assert crew.failures == []
            if stage != "deliver watched":
                assert stand.sink.closed, "what happened is delivered all the same"
        finally:
            os.close(writing)
        assert stand.line.stop(PATIENCE_SECONDS) == []
    os.close(reading)
    assert machine.camera.users == 0


def test_a_sink_that_hangs_or_is_away_delays_nobody_else(tmp_path: Path) -> None:
    held = threading.Event()

    class Held(Collector):
        def emit(self, event: Event) -> None:
            assert held.wait(PATIENCE_SECONDS)
            super().emit(event)

    def away() -> Collector:
        raise ConnectionRefusedError("nobody there")

    slow, machine, there = Held(), Machine(tmp_path), threading.Event()
    there.set()
    cast = Cast(machine.open)
    cast.sinks = {
        "slow": SinkPlan(lambda: slow, Delivery.MOMENTARY),
        "away": SinkPlan(away, Delivery.MOMENTARY),
    }
    with (
        Stand(cast) as stand,
        machine.showing(lambda n: ann(n) if there.is_set() else nobody(n)),
    ):
        stand.decided()
        there.clear()
        stand.left()
        assert slow.events == []
        held.set()
    assert {t.where for t in stand.happened(Trouble)} == {"away"}
    kept = [event.id for event in slow.events]
    assert kept == [event.id for event in stand.sink.events], "all of it, later, in order"


# The clock


class Jumping(datetime):
    """A wall clock that is ten years ahead, ten years behind, ahead, and so on."""

    looks = count()

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> Jumping:
        years = 10 if next(cls.looks) % 2 else -10
        return cls.fromtimestamp(time.time(), tz).replace(year=2026 + years, day=1)


def test_a_wall_clock_that_jumps_by_ten_years_changes_no_decision(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whoever comes back within the cool-down is not announced, whoever comes later is."""
    monkeypatch.setattr(events, "datetime", Jumping)
    ledger: list[str] = []
    stays: list[Step] = [ann(n) for n in range(10)]
    a_second: list[Step] = [nobody(n) for n in range(30)]
    film = [*stays, *a_second, *stays, *a_second * 12, *stays, *a_second]
    cast = Cast(lambda: ScriptedCamera(iter(film), ledger), replay=True, lossless=True)
    stand = Stand(cast)
    stand.run_to_the_end()
    first, second = stand.happened(DecisionMade)
    assert (first.track_id, second.track_id) == (1, 3)
    assert [f.track_id for f in stand.happened(FaceLeft)] == [1, 2, 3]
    assert all(0 <= f.seconds_in_view < 1 for f in stand.happened(FaceLeft))
    assert {event.utc.year for event in stand.sink.events} == {2016, 2036}
    order = [event.monotonic_ns for event in stand.sink.events]
    assert order == sorted(order)


# The gallery


class Enrolled(Cast):
    """A cast whose gallery is a real one, with Ann in it."""

    def __init__(self, folder: Path, open_camera: Callable[[], Camera]) -> None:
        limits = PolicyLimits(recheck_after=60, retry_after=60, cool_down=0, patience=0.3)
        super().__init__(open_camera, policy=DecisionPolicy(limits))
        self.gallery, self.key = folder / "gallery.db", folder / "gallery.key"
        face = AlignedFace(np.full((112, 112, 3), ANN, np.uint8), ColourOrder.BGR)
        with Gallery.open(self.gallery, self.key, create=True) as gallery:
            self.ann = gallery.enrol("Ann", [NewTemplate(self.embedder.embed(face))]).id

    @contextmanager
    def knowledge(self) -> Iterator[Knowledge]:
        def open_gallery() -> Gallery:
            return Gallery.open(self.gallery, self.key)

        with closing(FollowingIndex(open_gallery, self.embedder.model_id, "exact")) as index:
            yield Knowledge(self.embedder, index, lambda size: 0.9)


def lose_key(cast: Enrolled) -> Callable[[], object]:
    kept = cast.key.rename(cast.key.with_name("kept"))
    return lambda: kept.rename(cast.key)


def lose_gallery(cast: Enrolled) -> Callable[[], object]:
    kept = cast.gallery.rename(cast.gallery.with_name("kept"))
    return lambda: kept.rename(cast.gallery)


def damage_record(cast: Enrolled) -> Callable[[], object]:
    """One bit of the only template; mended by enrolling again."""
    with Gallery.open(cast.gallery, cast.key) as gallery, gallery.writing() as db:
        db.execute("UPDATE templates SET vector = zeroblob(length(vector))")
        append_change(db, cast.ann, ChangeKind.TEMPLATES)

    def mend() -> None:
        face = AlignedFace(np.full((112, 112, 3), ANN, np.uint8), ColourOrder.BGR)
        with Gallery.open(cast.gallery, cast.key) as gallery:
            gallery.remove(cast.ann)
            cast.ann = gallery.enrol("Ann", [NewTemplate(cast.embedder.embed(face))]).id

    return mend


@pytest.mark.parametrize("break_it", [lose_key, lose_gallery, damage_record])
def test_nobody_is_known_or_a_stranger_while_the_gallery_cannot_be_read(
    break_it: Callable[[Enrolled], Callable[[], object]], tmp_path: Path
) -> None:
    machine, there = Machine(tmp_path / "machine"), threading.Event()
    cast = Enrolled(tmp_path, machine.open)
    there.set()
    with (
        Stand(cast) as stand,
        machine.showing(lambda n: ann(n) if there.is_set() else nobody(n)),
    ):
        stand.decided()
        there.clear()
        stand.left()
        mend = break_it(cast)
        there.set()
        stand.decided(2)
        there.clear()
        stand.left(2)
        mend()
        stand.sink.until(lambda h: isinstance(h, Trouble) and h.detail == "can be read again")
        there.set()
        stand.decided(3)
    first, blind, last = (d.decision for d in stand.happened(DecisionMade))
    assert (first.outcome, last.outcome) == ("known", "known")
    assert last.person_id == cast.ann
    assert (blind.outcome, blind.reason) == ("too-poor", "gallery unreadable")
    assert {trouble.where for trouble in stand.happened(Trouble)} == {"gallery"}


# A slow recogniser


class Book(list[str]):
    """A camera's book that says when a lease is back."""

    def __init__(self) -> None:
        super().__init__()
        self._back = threading.Semaphore(0)

    def append(self, entry: str) -> None:
        super().append(entry)
        if entry == "back":
            self._back.release()

    def wait_for_one(self) -> None:
        assert self._back.acquire(timeout=PATIENCE_SECONDS)

    def each(self, pictures: Iterable[U8]) -> Iterator[Step]:
        """Steps that show every picture until it was looked at: none displaces another."""
        for picture in pictures:
            yield picture
            yield self.wait_for_one


class Noting(DecisionPolicy):
    """Notes which track it was asked to judge, by which frame."""

    judged: list[tuple[int, float]]

    def observe(
        self, track_id: int, evidence: Evidence, *, threshold: float, now: float
    ) -> Decision | None:
        self.judged.append((track_id, now))
        return super().observe(track_id, evidence, threshold=threshold, now=now)


def test_whoever_has_gone_meanwhile_is_not_judged() -> None:
    """The embedder is busy with a picture of Ann while she walks off and Bob comes."""
    embedder, book = Remembering(), Book()
    embedder.hold = threading.Event()

    def film() -> Iterator[Step]:
        assert embedder.hold is not None
        yield from book.each(ann(n) for n in takewhile(embedder.waits, count()))
        yield from book.each(ann(n) for n in range(8))
        yield from book.each(nobody(n) for n in range(60))
        yield embedder.hold.set
        yield from book.each(scene((BOB, 50), sequence=n) for n in range(60))

    stand = Stand(Cast(lambda: ScriptedCamera(film(), book), embedder=embedder, replay=True))
    stand.run_to_the_end()
    assert embedder.seen[0] == ANN
    assert set(embedder.seen[1:]) <= {BOB}
    gone = stand.happened(FaceLeft)[0]
    assert (gone.track_id, gone.decision) == (1, None)
    assert stand.line.figures.batches_displaced + stand.line.figures.batches_stale >= 7


def test_the_second_face_of_an_old_frame_is_judged_by_a_new_one_and_comes_first() -> None:
    embedder, book = Remembering(), Book()
    embedder.hold = threading.Event()
    policy = Noting(PolicyLimits(recheck_after=60, retry_after=60))
    policy.judged = []

    def both(number: int) -> U8:
        return scene((ANN, 20), (BOB, 150), sequence=number)

    def film() -> Iterator[Step]:
        assert embedder.hold is not None
        yield from book.each(both(n) for n in takewhile(embedder.waits, count()))
        yield from book.each(both(n) for n in range(300))
        yield embedder.hold.set
        yield from book.each(both(n) for n in range(120))

    cast = Cast(lambda: ScriptedCamera(film(), book), embedder=embedder, policy=policy, replay=True)
    Stand(cast).run_to_the_end()
    (first, began), (second, then) = policy.judged[:2]
    assert {first, second} == {1, 2}
    assert then - began > 250 / 30, "ten seconds of film lie between them"
