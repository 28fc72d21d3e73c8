"""The command sink and real programs: good ones, hanging ones, and those that fork or shout."""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from happenings import ANN, ANNS_NAME, NASTY, decisions
from mosquitto import wait_until

from edgefaced.errors import EventRefused, SinkAway
from edgefaced.events import AccessDecided, DoorChanged, DoorState, Event, Trouble
from edgefaced.sinks.command import CommandSink, environment
from edgefaced.sinks.patience import Patience
from edgefaced.sinks.program import run_bounded
from edgefaced.sinks.shape import document

SH = "/bin/sh"


def command(*argv: str, seconds: float = 60, stop: threading.Event | None = None) -> CommandSink:
    return CommandSink(argv, seconds=seconds, stop=stop or threading.Event())


def script(text: str, seconds: float = 60, stop: threading.Event | None = None) -> CommandSink:
    return command(SH, "-c", text, seconds=seconds, stop=stop)


def lives(pid: int) -> bool:
    """Whether a process runs; one that is dead and not yet reaped by its new parent does not."""
    with suppress(FileNotFoundError, ProcessLookupError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in {"Z", "X"}
    return False


def test_the_program_gets_the_event_and_nothing_else_of_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EDGEFACED_SECRET_OF_THE_DAEMON", "s3cret")
    told, seen = tmp_path / "told", tmp_path / "seen"
    event = Event(AccessDecided("front", True, "match", ANN, 7), "door")
    program = f"""
import json, os, sys
json.dump({{"environ": dict(os.environ), "cwd": os.getcwd(), "argv": sys.argv[1:],
    "fds": sorted(os.listdir("/proc/self/fd")), "leader": os.getsid(0) == os.getpid()}},
    open({str(seen)!r}, "w"))
open({str(told)!r}, "w").write(sys.stdin.read())
"""
    command(sys.executable, "-c", program, "$(id)", "; rm -rf /").emit(event)
    assert json.loads(told.read_text()) == document(event)
    found = json.loads(seen.read_text())
    found["environ"].pop("LC_CTYPE", None)  # Python's own
    assert found["environ"] == {
        "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "LANG": "C.UTF-8",
        "EDGEFACED_EVENT_ID": event.id,
        "EDGEFACED_TYPE": "access",
        "EDGEFACED_CAMERA": "door",
        "EDGEFACED_DOOR": "front",
        "EDGEFACED_GRANTED": "true",
        "EDGEFACED_PERSON": ANN,
    }
    assert found["argv"] == ["$(id)", "; rm -rf /"], "no shell has looked at it"
    assert found["cwd"] == "/"
    assert found["leader"]
    assert len(found["fds"]) <= 5, "0, 1, 2, the listing, and the file it is written to"


def test_the_environment_is_text_whatever_happens() -> None:
    told = environment(document(Event(DoorChanged(NASTY, DoorState.FORCED, NASTY), NASTY)))
    assert told["EDGEFACED_STATE"] == "forced"
    assert all(value.isprintable() for value in told.values())


def test_a_name_is_in_the_document_where_it_is_asked_for(tmp_path: Path) -> None:
    told = tmp_path / "told"
    sink = CommandSink(
        [SH, "-c", f"cat > {told}"],
        seconds=60,
        stop=threading.Event(),
        name_of={ANN: ANNS_NAME}.get,
    )
    sink.emit(decisions(1)[0])
    assert json.loads(told.read_text())["name"] == ANNS_NAME


@pytest.mark.parametrize(
    ("text", "error", "words"),
    [
        ("exit 1", SinkAway, "/bin/sh: exit 1"),
        ("exit 75", SinkAway, "/bin/sh: exit 75"),
        ("echo first; echo no mail >&2; exit 2", SinkAway, "/bin/sh: exit 2: no mail"),
        ("kill -9 $$", SinkAway, "/bin/sh: killed by signal 9"),
        ("echo too long; exit 65", EventRefused, "/bin/sh refuses it: too long"),
        ("printf '\\377\\000\\033[31mred\\n\\n'; exit 1", SinkAway, "/bin/sh: exit 1: ���[31mred"),
        ("head -c 500 /dev/zero | tr '\\0' x; exit 1", SinkAway, "/bin/sh: exit 1: " + "x" * 200),
    ],
)
def test_how_a_program_ends_and_what_it_said(text: str, error: type[Exception], words: str) -> None:
    with pytest.raises(error) as caught:
        script(text).emit(decisions(1)[0])
    assert str(caught.value) == words


@pytest.mark.parametrize("code", [1, 65])
def test_a_name_that_a_program_was_told_is_not_repeated(code: int) -> None:
    told = ("-c", f"cat; exit {code}")
    sink = CommandSink(
        (SH, *told), seconds=60, stop=threading.Event(), name_of=lambda person: "Ann Secret"
    )
    with pytest.raises((SinkAway, EventRefused)) as caught:
        sink.emit(decisions(1)[0])
    assert "Secret" not in str(caught.value)
    assert "/bin/sh" in str(caught.value)


def test_a_program_need_not_read_what_it_is_told() -> None:
    script("exit 0").emit(Event(Trouble("test", "x" * 1_000_000), "door"))


def test_a_program_that_shouts_is_heard_out_and_its_end_remembered() -> None:
    ended = run_bounded(
        [SH, "-c", "head -c 20000000 /dev/zero; echo; echo done"],
        b"",
        {},
        Patience(60, threading.Event()),
    )
    assert ended.code == 0
    assert len(ended.said) == 4096
    assert ended.said.endswith(b"\ndone\n")


def test_a_program_that_cannot_be_started_is_an_error_of_the_system(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        command(str(tmp_path / "absent")).emit(decisions(1)[0])
    (tmp_path / "text").write_text("no program")
    with pytest.raises(PermissionError):
        command(str(tmp_path / "text")).emit(decisions(1)[0])


def test_a_program_that_takes_too_long_is_killed() -> None:
    with pytest.raises(SinkAway, match=r"/bin/sh took more than 0.2 s and was killed"):
        script("trap '' TERM; sleep 1000", seconds=0.2).emit(decisions(1)[0])


def killed_when(happened: Callable[[], bool], text: str) -> None:
    """Runs a script that never ends, and stops it once something has happened."""
    stop = threading.Event()

    def stop_it() -> None:
        wait_until(happened)
        stop.set()

    stopper = threading.Thread(target=stop_it)
    stopper.start()
    try:
        with pytest.raises(SinkAway, match="was stopped, because all stops"):
            script(text, stop=stop).emit(decisions(1)[0])
    finally:
        stopper.join()


def test_a_program_that_hangs_is_killed_with_all_it_started(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    pids.touch()
    text = f"""
        trap '' TERM INT HUP
        exec 3>&1 >/dev/null
        (trap '' TERM HUP; echo $$ >> {pids}; sh -c 'echo $$ >> {pids}; sleep 1000') &
        sh -c 'echo $$ >> {pids}; exec sleep 1000' &
        wait
    """
    killed_when(lambda: len(pids.read_text().split()) == 3, text)
    wait_until(lambda: not any(lives(int(pid)) for pid in pids.read_text().split()))


def test_what_forks_without_end_is_ended(tmp_path: Path) -> None:
    mark, count = f"mark-{os.getpid()}-{tmp_path.name}", tmp_path / "count"
    count.touch()
    # Sixteen at any time; each makes one that takes over from it, and ends soon.
    program = f"""
import os, time
for _ in range(4): os.fork()
while True:
    with open("{count}", "a") as file: file.write("x")
    if os.fork():
        time.sleep(0.05)
        os._exit(0)
"""
    text = f"{sys.executable} -c '{program}' {mark} & wait; sleep 1000"
    killed_when(lambda: count.stat().st_size > 50, text)
    wait_until(lambda: not with_mark(mark), lambda: str(with_mark(mark)))
    grown = count.stat().st_size
    assert not with_mark(mark)
    assert count.stat().st_size == grown, "nobody goes on"


def with_mark(mark: str) -> list[int]:
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            with suppress(FileNotFoundError, ProcessLookupError):
                words = (folder / "cmdline").read_bytes().split(b"\0")
                if mark.encode() in words and lives(int(folder.name)):
                    found.append(int(folder.name))
    return found


def test_what_a_good_program_leaves_behind_is_ended_too(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    script(f"sleep 1000 & echo $! > {pid}").emit(decisions(1)[0])
    wait_until(lambda: not lives(int(pid.read_text())))


def test_a_program_without_an_output_is_waited_for(tmp_path: Path) -> None:
    done = tmp_path / "done"
    script(f"exec >&- 2>&-; sleep 0.2; : > {done}").emit(decisions(1)[0])
    assert done.exists()
