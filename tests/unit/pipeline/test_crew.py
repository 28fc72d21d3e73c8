"""One failure stops all; stopping has a deadline; who hangs is named with a stack."""

from __future__ import annotations

import threading
import time

from edgefaced.pipeline.crew import Crew, Heartbeat


def looping(crew: Crew) -> None:
    def body(heartbeat: Heartbeat) -> None:
        while not crew.stop.wait(0.001):
            heartbeat.beat()

    crew.add(f"loop {len(crew.heartbeats)}", body, lambda: None)


def test_a_stop_ends_every_stage() -> None:
    crew = Crew()
    finished: list[str] = []
    looping(crew)
    looping(crew)
    crew.add("third", lambda beat: beat.beat(), lambda: finished.append("third"))
    crew.start()
    assert crew.working()
    assert crew.join(60) == []
    assert not crew.working()
    assert finished == ["third"]
    assert crew.failures == []
    assert crew.heartbeats["third"].beats == 1
    assert crew.heartbeats["third"].cpu_seconds > 0


def test_one_failure_stops_all_and_is_kept_with_its_trace() -> None:
    crew = Crew()
    looping(crew)

    def fails(heartbeat: Heartbeat) -> None:
        raise ValueError("broken on purpose")

    finished, told = threading.Event(), list[tuple[str, bool]]()
    crew.tell_failure = lambda failure: told.append((failure.stage, finished.is_set()))
    crew.add("failing", fails, finished.set)
    crew.start()
    assert crew.stop.wait(60)
    assert crew.join(60) == []
    assert finished.is_set()
    assert [f.stage for f in crew.failures] == ["failing"]
    assert told == [("failing", False)], "told while there still is somebody to tell"
    assert "broken on purpose" in crew.failures[0].trace


def test_a_stage_that_hangs_is_named_with_its_stack() -> None:
    crew = Crew()
    release = threading.Event()

    def hangs_here(heartbeat: Heartbeat) -> None:
        release.wait(60)

    crew.add("hanging", hangs_here, lambda: None)
    crew.start()
    stragglers = crew.join(0.05)
    assert [s.stage for s in stragglers] == ["hanging"]
    assert "hangs_here" in stragglers[0].stack
    release.set()
    assert crew.join(60) == []


def test_a_crew_that_never_started_has_nobody_to_wait_for() -> None:
    crew = Crew()
    looping(crew)
    assert crew.join(0) == []


def test_progress_is_that_of_every_stage_since_a_moment() -> None:
    crew = Crew()
    crew.add("first", lambda heartbeat: None, lambda: None)
    crew.add("second", lambda heartbeat: None, lambda: None)
    assert not crew.moved_since(0), "none has gone round yet"
    crew.heartbeats["first"].beat()
    assert not crew.moved_since(0)
    crew.heartbeats["second"].beat()
    assert crew.moved_since(0)
    now = time.monotonic_ns()
    crew.heartbeats["first"].beat()
    assert not crew.moved_since(now), "the second stands still"
    crew.heartbeats["second"].beat()
    assert crew.moved_since(now)
