"""Ids sort by time and follow RFC 9562; an event knows its boot."""

from __future__ import annotations

import ctypes
from datetime import datetime, tzinfo
from pathlib import Path
from types import SimpleNamespace

import pytest

from edgefaced import events
from edgefaced.events import Event, Trouble, read_boot_id, uuid7


def test_a_uuid7_has_its_time_its_version_and_its_variant() -> None:
    made = uuid7(now_ms=0x017F22E279B0, randomness=b"\xff" * 10)
    assert str(made) == "017f22e2-79b0-7fff-bfff-ffffffffffff"
    assert (made.version, made.variant) == (7, "specified in RFC 4122")


def test_ids_sort_by_time_and_differ() -> None:
    ids = [str(uuid7(now_ms=ms)) for ms in (1, 2, 1_800_000_000_000)]
    assert ids == sorted(ids)
    assert len({str(uuid7(now_ms=5)) for _ in range(1000)}) == 1000


def test_an_event_knows_when_and_in_which_boot() -> None:
    first = Event(Trouble("disk", "full"), "front door")
    second = Event(Trouble("disk", "full"), "front door")
    assert first.id != second.id
    assert first.monotonic_ns <= second.monotonic_ns
    assert first.utc.utcoffset() is not None
    assert first.boot_id == second.boot_id == read_boot_id()


def test_no_boot_id_is_no_error(tmp_path: Path) -> None:
    assert read_boot_id(tmp_path / "none") == ""


def test_a_clock_that_is_set_while_an_event_happens_is_doubted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whatever the source says once the date was read, it does not make that date certain."""
    asked: list[str] = []

    class Watched(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Watched:
            asked.append("date")
            return super().now(tz)

    monkeypatch.setattr(events, "datetime", Watched)

    def adjtimex(timex: object) -> int:
        asked.append("state")
        return 0

    monkeypatch.setattr(ctypes, "CDLL", lambda name: SimpleNamespace(adjtimex=adjtimex))
    Event(Trouble("clock", "set"), "door")
    assert asked[:2] == ["state", "date"]
