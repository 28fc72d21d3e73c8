"""Several processes on one ledger: begun by one, one chain, each one's order kept."""

from __future__ import annotations

import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import ledger_peer
from ledgers import ANN, event, seen

from edgefaced.events import RecordsRedacted, Trouble
from edgefaced.ledger.redaction import redact_person
from edgefaced.ledger.retention import Keep, Retention
from edgefaced.ledger.store import Ledger
from edgefaced.ledger.verify import verify


def peers(stack: ExitStack, folder: Path, *names: str, events: int) -> list[subprocess.Popen[str]]:
    """Processes that begin at one word each."""
    return [
        stack.enter_context(
            subprocess.Popen(
                [sys.executable, str(ledger_peer.__file__), str(folder), name, str(events), "3"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
        )
        for name in names
    ]


def begin(started: list[subprocess.Popen[str]]) -> None:
    for process in started:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()


def finish(started: list[subprocess.Popen[str]]) -> None:
    for process in started:
        assert process.communicate(timeout=120)[0] == "done\n"
        assert process.returncode == 0


def test_two_processes_begin_one_ledger_and_write_one_chain(tmp_path: Path) -> None:
    with ExitStack() as stack:
        started = peers(stack, tmp_path, "one", "two", events=300)
        begin(started)
        finish(started)
    with Ledger.open(tmp_path / "events.db") as ledger:
        verdict = verify(ledger)
        assert verdict.clean
        assert verdict.records == 600
        told = [r.event.happening for r in ledger.after(0, 1000)]
    for name in ("one", "two"):
        own = [int(t.detail) for t in told if isinstance(t, Trouble) and t.where == name]
        assert own == list(range(300))
    assert {f.name for f in tmp_path.iterdir()} == {"events.db", "events.key"}


def test_purging_and_forgetting_beside_a_process_that_records(tmp_path: Path) -> None:
    with ExitStack() as stack:
        (peer,) = started = peers(stack, tmp_path, "one", events=600)
        with Ledger.open(tmp_path / "events.db", create=True, busy_seconds=60) as ledger:
            ledger.append([event(seen(ANN)) for _ in range(100)])
            begin(started)
            redacted = 0
            while peer.poll() is None:
                ledger.append([event(seen(ANN))])
                redacted += redact_person(ledger, ANN, "door").records
                ledger.purge(
                    Retention(kinds={"trouble": Keep(records=50)}), now_us=None, holders=()
                )
            finish(started)
            assert verify(ledger).clean
            assert redacted >= 101
            kinds = [type(r.event.happening) for r in ledger.after(0, 5000)]
            assert RecordsRedacted in kinds
