"""How long from a decision to the relay, with the ledger in between; and Wiegand's timing."""

from __future__ import annotations

import select
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from door_rigs import ALWAYS, ANN, CAMERA, UNCHECKED, settings
from file_chip import FileChip

from edgefaced.core.access import Rights
from edgefaced.doors.book import Book
from edgefaced.doors.doorkeeper import Doorkeeper, GalleryRights
from edgefaced.doors.guarded import GuardProcess
from edgefaced.doors.house import House
from edgefaced.doors.plan import plans_of
from edgefaced.doors.wires import Frame, Locked, Report, Sent, Unlocked
from edgefaced.events import DecisionMade, read_boot_id
from edgefaced.ledger.store import Ledger
from edgefaced.pipeline.crew import Crew
from edgefaced.pipeline.deliveries import Deliveries
from edgefaced.pipeline.recorder import Recording
from edgefaced.protocols import Delivery, SinkPlan

pytestmark = pytest.mark.bench


class EverybodyMay(GalleryRights):
    def of(self, person_id: str) -> Rights:
        return ALWAYS


def percentiles(values: list[float]) -> str:
    p50, p99, most = np.percentile(values, [50, 99, 100])
    return f"p50 {p50:.2f}, p99 {p99:.2f}, longest {most:.2f}, n = {len(values)}"


def heard(guard: GuardProcess) -> tuple[Report, ...]:
    select.select([guard.fd], [], [], 60)
    return guard.reports()


@pytest.mark.parametrize("decisions", [500])
def test_from_a_decision_to_the_relay(tmp_path: Path, decisions: int) -> None:
    chip = FileChip(tmp_path / "pins", "relay")
    door = {**UNCHECKED, "chip": str(chip.folder), "pulse_ms": 50}
    house = House(plans_of(settings(doors={"front": door})), Book(tmp_path / "b"), read_boot_id())
    ended = threading.Event()
    plan = SinkPlan(
        lambda: Doorkeeper(house, EverybodyMay(tmp_path, tmp_path), ended.set),
        Delivery.MOMENTARY,
        announces=True,
    )
    crew = Crew()
    recording = Recording(lambda: Ledger.open(tmp_path / "events.db", create=True))
    deliveries = Deliveries(CAMERA, {"doors": plan}, recording, crew)
    house.connect(deliveries.postbox.announce, lambda: "a camera")
    house.open_book()
    guard = GuardProcess(tuple(plan.wires for plan in house.plans.doors), tmp_path / "m")
    heard(guard)
    house.guard_up(guard.send)
    crew.start()
    took = []
    for track in range(decisions):
        now = time.monotonic_ns()
        deliveries.postbox.announce(DecisionMade(track, ANN, now, now))
        locked = False
        while not locked:
            for report in heard(guard):
                if isinstance(report, Unlocked):
                    took.append((report.at_ns - now) / 1e6)
                locked = locked or isinstance(report, Locked)
    deliveries.close()
    assert crew.wait(60)
    guard.close()
    print(f"\ndecision to relay, ms: {percentiles(took)}")  # noqa: T201 - a measurement's result


def test_how_even_wiegand_frames_are(tmp_path: Path) -> None:
    chip = FileChip(tmp_path / "pins", "d0", "d1")
    door = {"chip_kind": "file", "chip": str(chip.folder), "wiegand_zero_line": "d0"}
    plans = plans_of(settings(doors={"front": {**door, "wiegand_one_line": "d1"}}))
    guard = GuardProcess(tuple(plan.wires for plan in plans.doors), tmp_path / "m")
    heard(guard)
    pulses, gaps = [], []
    for _ in range(200):
        guard.send(Frame("front", "01" * 13, time.monotonic_ns()))
        (sent,) = heard(guard)
        assert isinstance(sent, Sent)
        pulses.append(float(sent.longest_pulse_us))
        gaps.append(sent.longest_gap_us / 1000)
    guard.close()
    print(f"\nlongest of a frame's 26 pulses (50 us asked), us: {percentiles(pulses)}")  # noqa: T201
    print(f"longest of its 25 gaps (2 ms asked), ms: {percentiles(gaps)}")  # noqa: T201
