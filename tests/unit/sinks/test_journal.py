"""What the journal gets: a line, a priority and fields; ids of persons and nothing else of them."""

from __future__ import annotations

import io
import socket
import sys
from pathlib import Path
from types import ModuleType

import pytest

from edgefaced.events import (
    CameraChanged,
    DecisionMade,
    Event,
    FaceLeft,
    Happening,
    PaceChanged,
    Trouble,
)
from edgefaced.sinks import journal
from edgefaced.sinks.journal import Entry, JournalSink, Priority, entry, journal_writer, write_line
from edgefaced.types import Decision, Liveness, Outcome

ANN = "0190b2c4-0000-7000-8000-000000000001"
KNOWN = Decision(Outcome.KNOWN, ANN, 0.71, 0.35, Liveness.NOT_CHECKED, "match")
STRANGER = Decision(Outcome.UNKNOWN, None, 0.11, 0.35, Liveness.NOT_CHECKED, "below threshold")
SPOOF = Decision(Outcome.SPOOF, None, None, 0.35, Liveness.FAILED, "liveness")


def of(happening: Happening) -> Entry:
    return entry(Event(happening, "door"))


def test_a_known_face_is_an_id_and_figures() -> None:
    known = of(DecisionMade(7, KNOWN, 1_000_000, 51_000_000))
    assert known.message == f"face 7: {ANN} (match 0.710 of 0.350)"
    assert known.priority is Priority.INFO
    fields = known.fields
    assert fields.pop("EDGEFACED_EVENT_ID")
    assert float(fields.pop("EDGEFACED_TIMESTAMP")) > 0
    assert int(fields.pop("EDGEFACED_MONOTONIC_NS")) > 0
    fields.pop("EDGEFACED_BOOT_ID", None)
    assert fields.pop("EDGEFACED_SYNCHRONISED") in {"True", "False"}
    int(fields.pop("EDGEFACED_UTC_OFFSET_SECONDS"))
    assert fields == {
        "EDGEFACED_TYPE": "face",
        "EDGEFACED_CAMERA": "door",
        "EDGEFACED_TRACK": "7",
        "EDGEFACED_PERSON": ANN,
        "EDGEFACED_OUTCOME": "known",
        "EDGEFACED_SCORE": "0.71",
        "EDGEFACED_THRESHOLD": "0.35",
        "EDGEFACED_LIVENESS": "not-checked",
        "EDGEFACED_REASON": "match",
        "EDGEFACED_LATENCY_MS": "50.0",
        "EDGEFACED_RECORDED": "True",
    }


@pytest.mark.parametrize(
    ("happening", "priority", "message"),
    [
        (DecisionMade(1, STRANGER, 0, 1), Priority.INFO, "face 1: unknown (below threshold"),
        (DecisionMade(1, SPOOF, 0, 1), Priority.WARNING, "face 1: spoof (liveness)"),
        (FaceLeft(1, KNOWN, 2.5), Priority.INFO, f"face 1: {ANN} has left after 2.5 s"),
        (FaceLeft(1, None, 0.4), Priority.INFO, "face 1: has left after 0.4 s, not judged"),
        (PaceChanged("warm", "heat", 71.0), Priority.NOTICE, "pace warm (heat, 71 °C)"),
        (PaceChanged("rest", "heat", None), Priority.WARNING, "pace rest (heat, no temperature)"),
        (CameraChanged(True, "C920"), Priority.NOTICE, "camera up: C920"),
        (CameraChanged(False, "unplugged"), Priority.ERROR, "camera DOWN: unplugged"),
        (Trouble("disk", "full"), Priority.WARNING, "trouble in disk: full"),
    ],
)
def test_every_happening_has_a_line_and_a_priority(
    happening: Happening, priority: Priority, message: str
) -> None:
    written = of(happening)
    assert written.priority is priority
    assert written.message.startswith(message)


def test_fields_are_names_that_the_journal_takes() -> None:
    for happening in (DecisionMade(1, KNOWN, 0, 1), PaceChanged("a", "b", 1.0), Trouble("a", "b")):
        for name in of(happening).fields:
            assert name.replace("_", "").isalnum()
            assert name.isupper()


def test_text_from_outside_cannot_forge_an_entry() -> None:
    forged = of(CameraChanged(False, "gone\n<0>face 1: somebody\x1b[2J"))
    stream = io.StringIO()
    write_line(forged, stream)
    assert stream.getvalue() == "<3>camera DOWN: gone�<0>face 1: somebody�[2J\n"
    assert "\n" not in forged.fields["EDGEFACED_DETAIL"]


def test_a_sink_writes_one_entry_an_event() -> None:
    written: list[Entry] = []
    sink = JournalSink(written.append)
    sink.emit(Event(CameraChanged(True, "C920"), "door"))
    sink.emit(Event(DecisionMade(1, KNOWN, 0, 1), "door"))
    sink.close()
    assert [w.fields["EDGEFACED_TYPE"] for w in written] == ["camera", "face"]


def test_where_nobody_listens_lines_go_to_the_stream(tmp_path: Path) -> None:
    stream = io.StringIO()
    write = journal_writer(stream, tmp_path / "socket")
    JournalSink(write).emit(Event(DecisionMade(3, STRANGER, 0, 1), "door"))
    assert stream.getvalue() == "<6>face 3: unknown (below threshold 0.110 of 0.350)\n"


def test_fields_reach_the_journal(tmp_path: Path) -> None:
    stream = io.StringIO()
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as journald:
        journald.bind(str(tmp_path / "socket"))
        sink = JournalSink(journal_writer(stream, tmp_path / "socket"))
        sink.emit(Event(CameraChanged(False, "gone\nPRIORITY=7\udc80"), "door"))
        received = journald.recv(65536).decode()
    assert received.endswith("\n")
    fields = [line.partition("=") for line in received.splitlines()]
    assert len({name for name, _, _ in fields}) == len(fields), "every field once"
    values = {name: value for name, _, value in fields}
    assert values["MESSAGE"] == "camera DOWN: gone�PRIORITY=7�"
    assert values["PRIORITY"] == "3"
    assert values["SYSLOG_IDENTIFIER"] == "edgefaced"
    assert values["EDGEFACED_TYPE"] == "camera"
    assert values["EDGEFACED_UP"] == "False"
    assert values["EDGEFACED_DETAIL"] == "gone�PRIORITY=7�"
    assert not stream.getvalue()


def test_a_journal_that_went_away_is_an_error(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as journald:
        journald.bind(str(tmp_path / "socket"))
        sink = JournalSink(journal_writer(io.StringIO(), tmp_path / "socket"))
    with pytest.raises(ConnectionRefusedError):
        sink.emit(Event(CameraChanged(True, "C920"), "door"))


def test_the_library_loses_no_entry_in_silence_either(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[dict[str, str]] = []
    library = ModuleType("systemd.journal")
    library.send = lambda **fields: sent.append(fields)  # type: ignore[attr-defined] # a stand-in
    package = ModuleType("systemd")
    package.journal = library  # type: ignore[attr-defined] # as above
    monkeypatch.setitem(sys.modules, "systemd", package)
    monkeypatch.setitem(sys.modules, "systemd.journal", library)
    place = tmp_path / "socket"
    monkeypatch.setattr(journal, "JOURNAL_SOCKET", place)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as journald:
        journald.bind(str(place))
        sink = JournalSink(journal_writer(io.StringIO(), place))
        sink.emit(Event(CameraChanged(True, "C920"), "door"))
    place.unlink()
    with pytest.raises(FileNotFoundError):
        sink.emit(Event(CameraChanged(True, "C920"), "door"))
    assert [fields["MESSAGE"] for fields in sent] == ["camera up: C920"]
