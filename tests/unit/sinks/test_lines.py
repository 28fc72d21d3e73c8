"""Lines of JSON in a file that is moved, cut, filled up and left half written."""

from __future__ import annotations

import io
import json
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from happenings import ANN, ANNS_NAME, decisions, events

from edgefaced.errors import EdgefacedError
from edgefaced.events import Event
from edgefaced.sinks.lines import FileLines, ReaderGone, StreamLines
from edgefaced.sinks.shape import document


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "events.jsonl"


def ids(path: Path) -> list[str]:
    return [json.loads(line)["event_id"] for line in path.read_text().splitlines()]


def test_every_line_is_a_document_in_ascii(path: Path) -> None:
    sent = list(events())
    with closing(FileLines(path)) as sink:
        for event in sent:
            sink.emit(event)
    assert path.read_bytes().isascii()
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [line["type"] for line in lines] == [document(event)["type"] for event in sent]
    broken = next(line for line in lines if line.get("track") == 8)
    assert broken["score"] is broken["threshold"] is None, "what is no number is null"
    assert path.stat().st_mode & 0o007 == 0


def test_a_file_that_is_moved_away_is_made_anew(path: Path, tmp_path: Path) -> None:
    one, two, three = decisions(3)
    with closing(FileLines(path)) as sink:
        sink.emit(one)
        path.rename(tmp_path / "events.jsonl.1")
        sink.emit(two)
        path.unlink()
        sink.emit(three)
    assert ids(tmp_path / "events.jsonl.1") == [one.id]
    assert ids(path) == [three.id]


def test_a_file_that_is_cut_goes_on_at_its_beginning(path: Path) -> None:
    one, two = decisions(2)
    with closing(FileLines(path)) as sink:
        sink.emit(one)
        os.truncate(path, 0)
        sink.emit(two)
    assert ids(path) == [two.id]


def test_a_half_line_of_a_power_cut_spoils_no_other(path: Path) -> None:
    path.write_bytes(b'{"event_id":"ha')
    event = decisions(1)[0]
    with closing(FileLines(path)) as sink:
        sink.emit(event)
    first, second = path.read_text().splitlines()
    assert first == '{"event_id":"ha'
    assert json.loads(second)["event_id"] == event.id


@contextmanager
def largest_file(size: int) -> Iterator[None]:
    """No file of this process grows beyond: a full disk, for writes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


def test_a_full_disk_leaves_whole_lines_and_takes_the_rest_later(path: Path) -> None:
    one, two = decisions(2)
    with closing(FileLines(path)) as sink:
        sink.emit(one)
        for room in (0, 100):
            with largest_file(path.stat().st_size + room), pytest.raises(OSError, match=r"."):
                sink.emit(two)
            assert ids(path) == [one.id]
        sink.emit(two)
    assert ids(path) == [one.id, two.id]


@pytest.mark.parametrize("kind", ["folder", "pipe", "no folder"])
def test_what_is_no_file_is_refused_and_not_waited_for(path: Path, kind: str) -> None:
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    target = path / "below" / "it" if kind == "no folder" else path
    with closing(FileLines(target)) as sink, pytest.raises(OSError, match=path.name):
        sink.emit(decisions(1)[0])


def test_a_reader_that_has_gone_ends_it_and_another_fault_does_not() -> None:
    script = """
import sys
from happenings import decisions
from edgefaced.sinks.lines import ReaderGone, StreamLines
sink = StreamLines(sys.stdout)
sink.emit(decisions(1)[0])
sys.stdin.read()
try:
    for event in decisions(1000):
        sink.emit(event)
except ReaderGone:
    sys.stderr.write("gone")
    sys.stderr.flush()
    import os
    os._exit(0)
"""
    support = str(Path(__file__).parents[2] / "support")
    child = subprocess.Popen(
        [sys.executable, "-c", script],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": support},
    )
    assert child.stdout is not None
    assert json.loads(child.stdout.readline())["type"] == "face"
    child.stdout.close()
    assert child.stdin is not None
    child.stdin.close()
    assert child.stderr is not None
    with child.stderr as stderr:
        assert stderr.read() == b"gone"
    assert child.wait() == 0
    assert not issubclass(ReaderGone, OSError | EdgefacedError), "it is not tried again"


def test_a_stream_gets_names_and_letters_as_they_are() -> None:
    stream = io.StringIO()
    sink = StreamLines(stream, {ANN: ANNS_NAME}.get)
    event: Event = decisions(1)[0]
    sink.emit(event)
    assert f'"name": "{ANNS_NAME}"' in stream.getvalue()
    assert stream.getvalue().endswith("\n")
