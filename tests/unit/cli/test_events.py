"""`events list`, `follow`, `export`, `verify`, `purge`."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import gallery_peer
import pytest
from ledgers import BOB, NOON, event, seen, tamper, troubles

from edgefaced.cli.events_export import offset
from edgefaced.cli.events_options import moment_in
from edgefaced.errors import UsageError
from edgefaced.events import Event, Trouble
from edgefaced.gallery.records import NewTemplate
from edgefaced.gallery.store import Gallery
from edgefaced.ledger.store import Ledger

Run = Callable[..., tuple[int, str, str]]
ANNS_NAME = "Ann =1+1"


@pytest.fixture
def ann(own_places: Path) -> str:
    """The id of somebody enrolled, whose name is a formula."""
    state = own_places / "state"
    with Gallery.open(state / "gallery.db", state / "gallery.key", create=True) as gallery:
        return gallery.enrol(ANNS_NAME, [NewTemplate(gallery_peer.embedding(1))]).id


def record(own_places: Path, *events: Event) -> Path:
    path = own_places / "state" / "events.db"
    with Ledger.open(path, create=True) as ledger:
        ledger.append(events)
    return path


def document(out: str) -> Any:
    assert out.count("\n") == 1, "one document"
    return json.loads(out)


def positions(out: str) -> list[int]:
    return [body["position"] for body in document(out)["events"]]


@pytest.mark.parametrize("command", [["list"], ["follow"], ["export", "-"], ["verify"], ["purge"]])
def test_before_anything_was_recorded(edgefaced: Run, command: list[str]) -> None:
    code, out, err = edgefaced("events", *command)
    assert (code, out) == (13, "")
    assert "there is no ledger" in err


def test_the_newest_are_listed_oldest_first(edgefaced: Run, own_places: Path, ann: str) -> None:
    record(own_places, *troubles(5), event(seen(ann)), event(seen(BOB)))
    code, out, _ = edgefaced("events", "list", "--limit", "3")
    assert code == 0
    assert [line.split()[0] for line in out.splitlines()] == ["5", "6", "7"]
    assert "2026-06-01 12:00:00+0000" in out
    assert f"face 1: {ANNS_NAME}" in out
    assert f"face 1: {BOB}" in out, "not enrolled: an id"
    _, out, _ = edgefaced("events", "list", "--ids", "--kind", "face")
    assert ANNS_NAME not in out
    assert ann in out


def test_by_time_kind_and_person(edgefaced: Run, own_places: Path, ann: str) -> None:
    record(
        own_places,
        event(seen(ann), at=NOON),
        event(seen(BOB), at=NOON + timedelta(hours=1)),
        event(Trouble("disk", "full"), at=NOON + timedelta(hours=2)),
    )

    def listed(*options: str) -> list[int]:
        code, out, _ = edgefaced("events", "list", "--json", *options)
        assert code == 0
        return positions(out)

    assert listed() == [1, 2, 3]
    assert listed("--person", ANNS_NAME) == listed("--person", ann) == [1]
    assert listed("--person", BOB) == [2], "somebody who is not enrolled any more"
    assert listed("--kind", "trouble", "--kind", "left") == [3]
    assert listed("--since", "2026-06-01T13:00:00+00:00") == [2, 3]
    assert listed("--until", "2026-06-01T15:00:00+02:00") == [1]
    code, out, err = edgefaced("events", "list", "--person", "Zoe")
    assert (code, out) == (1, "")
    assert "Zoe is not enrolled" in err
    assert edgefaced("events", "list", "--kind", "nonsense")[0] == 2
    assert edgefaced("events", "list", "--since", "soon")[0] == 2
    code, out, err = edgefaced("events", "list", "--kind", "pace")
    assert (code, out) == (0, "")
    assert "no such event" in err


def test_a_time_is_a_date_or_how_long_ago() -> None:
    now = datetime(2026, 6, 1, tzinfo=UTC)
    assert moment_in("90m", now) == now - timedelta(minutes=90)
    assert moment_in("7d", now) == now - timedelta(days=7)
    assert moment_in("2026-03-02T17:00:00+01:00") == datetime(2026, 3, 2, 16, tzinfo=UTC)
    assert moment_in("2026-03-02 17:00") == datetime(2026, 3, 2, 17).astimezone(UTC)
    assert moment_in("2026-03-02") == datetime(2026, 3, 2).astimezone(UTC)
    for wrong in ("", "soon", "12", "7y", "2026-13-01", "999999w", "0001-01-01T00:00:00+23:59"):
        with pytest.raises(UsageError):
            moment_in(wrong)


def test_an_unset_clock_shows(edgefaced: Run, own_places: Path) -> None:
    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    record(
        own_places,
        event(at=epoch, monotonic_s=10, synchronised=False),
        event(at=NOON, monotonic_s=40, offset=7200),
        event(at=epoch, monotonic_s=5, synchronised=False, boot="other"),
    )
    _, out, _ = edgefaced("events", "list")
    first, second, third = out.splitlines()
    assert "2026-06-01 13:59:30+0200~" in first
    assert "2026-06-01 14:00:00+0200 " in second
    assert "1970-01-01 00:00:00+0000?" in third
    bodies = document(edgefaced("events", "list", "--json")[1])["events"]
    assert [body["clock"] for body in bodies] == ["repaired", "synchronised", "uncertain"]
    assert bodies[0]["utc"] == "2026-06-01T11:59:30+00:00"
    assert bodies[0]["recorded_utc"] == "1970-01-01T00:00:00+00:00"
    assert not bodies[0]["synchronised"]


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(text.splitlines()))


def test_a_table_in_which_nothing_is_a_formula(edgefaced: Run, own_places: Path, ann: str) -> None:
    nasty = ["=1+1", "+1", "-1", "@x", "\t=1", "\r=1", "a;=1+1", '"', ",", "\x1b[31m"]
    record(own_places, event(seen(ann)), *(event(Trouble(text, text)) for text in nasty))
    code, out, _ = edgefaced("events", "export", "-")
    assert code == 0
    table = rows(out)
    assert len(table) == 1 + len(nasty)
    assert table[0]["name"] == ANNS_NAME
    assert table[0]["person_id"] == ann
    assert (table[0]["outcome"], table[0]["score"]) == ("known", "0.7")
    for row in table:
        for column, cell in row.items():
            if column not in {"record", "score"}:
                assert not cell.lstrip().startswith(("=", "+", "-", "@")), cell
                assert cell.isprintable()


def test_the_two_half_past_two_of_an_autumn_night(edgefaced: Run, own_places: Path) -> None:
    record(
        own_places,
        event(at=datetime(2026, 10, 25, 0, 30, tzinfo=UTC), offset=7200),
        event(at=datetime(2026, 10, 25, 1, 30, tzinfo=UTC), offset=3600),
        event(at=datetime(2026, 10, 25, 1, 30, tzinfo=UTC), offset=-12600),
    )
    table = rows(edgefaced("events", "export", "-", "--format", "csv")[1])
    assert [row["local"] for row in table] == [
        "2026-10-25 02:30:00",
        "2026-10-25 02:30:00",
        "2026-10-24 22:00:00",
    ]
    assert [row["utc_offset"] for row in table] == ["UTC+02:00", "UTC+01:00", "UTC-03:30"]
    assert [row["utc"][-8:] for row in table] == ["00:30:00", "01:30:00", "01:30:00"]
    assert offset(0) == "UTC+00:00"


def test_files(edgefaced: Run, own_places: Path, tmp_path: Path) -> None:
    record(own_places, *troubles(3))
    lines, table = tmp_path / "e.jsonl", tmp_path / "e.csv"
    code, out, _ = edgefaced("events", "export", str(lines), "--json")
    assert code == 0
    assert document(out)["events"] == 3
    assert document(out)["format"] == "jsonl"
    bodies = [json.loads(line) for line in lines.read_text().splitlines()]
    assert [body["detail"] for body in bodies] == ["0", "1", "2"]
    assert [body["position"] for body in bodies] == [1, 2, 3]
    assert edgefaced("events", "export", str(table), "--bom")[0] == 0
    assert table.read_bytes().startswith(b"\xef\xbb\xbf")
    assert table.stat().st_mode & 0o777 == 0o600
    code, _, err = edgefaced("events", "export", str(table))
    assert code == 1
    assert "exists already" in err
    assert edgefaced("events", "export", str(table), "--force", "--since", "2027-01-01")[0] == 0
    assert rows(table.read_text()) == []
    assert edgefaced("events", "export", "-", "--json")[0] == 2


def test_an_export_of_many_events_is_never_whole_in_memory(
    edgefaced: Run, own_places: Path
) -> None:
    record(own_places, *(event(Trouble("test", "x" * 1000)) for _ in range(4000)))
    assert edgefaced("events", "export", "-", "--since", "2030-01-01")[0] == 0, "imports all"
    tracemalloc.start()
    try:
        assert edgefaced("events", "export", str(own_places / "all.csv"))[0] == 0
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    size = (own_places / "all.csv").stat().st_size
    assert size > 4_000_000
    assert most < size * 0.75


def test_verify_is_clean_or_says_what_is_not(edgefaced: Run, own_places: Path) -> None:
    path = record(own_places, *troubles(5))
    code, out, _ = edgefaced("events", "verify")
    assert code == 0
    assert out.splitlines()[0] == "5 records, 0 of them redacted; 0 purged"
    assert out.splitlines()[-1] == "clean"
    end = next(line.removeprefix("end ") for line in out.splitlines() if line.startswith("end 5:"))
    assert edgefaced("events", "verify", "--head", end)[0] == 0
    assert edgefaced("events", "verify", "--head", end[:-64] + "0" * 64)[0] == 1
    assert edgefaced("events", "verify", "--head", "5:0")[0] == 2
    tamper(path, lambda db: db.execute("DELETE FROM records WHERE position = 3"))
    code, out, _ = edgefaced("events", "verify")
    assert code == 1
    assert "record 3: removed" in out
    code, out, _ = edgefaced("events", "verify", "--json")
    body = document(out)
    assert code == 1
    assert (body["ok"], body["clean"]) == (False, False)
    assert body["faults"] == [{"position": 3, "what": "removed"}]


def test_purging_keeps_what_the_configuration_says(edgefaced: Run, own_places: Path) -> None:
    record(own_places, *troubles(20), event())
    limits = "[ledger]\nkeep_days = 0\nkinds = {trouble = {records = 5}}\n"
    (own_places / "edgefaced.toml").write_text(limits)
    code, out, _ = edgefaced("events", "purge")
    assert (code, out) == (0, "15 records left out\n")
    assert positions(edgefaced("events", "list", "--json")[1]) == [16, 17, 18, 19, 20, 21]
    assert document(edgefaced("events", "purge", "--json")[1])["purged"] == 0
    old = datetime(2020, 1, 1, tzinfo=UTC)
    record(own_places, event(at=old), event(at=old), event(at=datetime(2100, 1, 1, tzinfo=UTC)))
    code, out, _ = edgefaced("events", "purge", "--older-than", "1")
    assert code == 0
    assert positions(edgefaced("events", "list", "--json", "--kind", "face")[1])[-1] == 24
    assert not {22, 23} & set(positions(edgefaced("events", "list", "--json")[1]))
    assert edgefaced("events", "verify")[0] == 0


@pytest.mark.parametrize(
    ("kept", "left", "said"), [(True, [2], ""), (False, [1, 2], "nothing is left out for its age")]
)
def test_an_age_counts_by_a_clock_that_is_kept(
    edgefaced: Run,
    own_places: Path,
    monkeypatch: pytest.MonkeyPatch,
    kept: bool,
    left: list[int],
    said: str,
) -> None:
    monkeypatch.setattr("edgefaced.cli.events_purge.is_synchronised", lambda: kept)
    now = datetime.now(UTC)
    record(own_places, event(at=now - timedelta(days=91)), event(at=now))
    code, out, err = edgefaced("events", "purge")
    assert (code, out) == (0, f"{2 - len(left)} records left out\n")
    assert said in err
    assert positions(edgefaced("events", "list", "--json")[1]) == left
    code, _, err = edgefaced("events", "purge", "--older-than", "90")
    assert (code, "taken as it is" in err) == (0, not kept)
    assert positions(edgefaced("events", "list", "--json")[1]) == [2]


@pytest.mark.parametrize("days", ["nan", "inf", "-1", "1e300", "soon"])
def test_an_age_that_is_none_is_said(edgefaced: Run, own_places: Path, days: str) -> None:
    record(own_places, event())
    code, out, err = edgefaced("events", "purge", "--older-than", days)
    assert (code, out, err.count("\n")) == (2, "", 1)


def test_forgetting_a_person(edgefaced: Run, own_places: Path, ann: str) -> None:
    path = record(own_places, event(seen(ann)), event(seen(BOB)), *troubles(2))
    code, out, err = edgefaced("events", "purge", "--person", ANNS_NAME)
    assert (code, out) == (2, "")
    assert "--yes" in err
    assert edgefaced("events", "purge", "--person", ann, "--older-than", "1", "--yes")[0] == 2
    code, out, _ = edgefaced("events", "purge", "--person", ANNS_NAME, "--yes")
    assert (code, out) == (0, f"1 records about {ANNS_NAME} redacted\n")
    assert ann.encode() not in path.read_bytes()
    assert edgefaced("events", "verify")[0] == 0
    _, out, _ = edgefaced("events", "list")
    assert "the contents of 1 records were taken out" in out
    body = document(edgefaced("events", "purge", "--person", BOB, "--yes", "--json")[1])
    assert body["redacted"] == 1
    assert edgefaced("events", "purge", "--person", "Zoe", "--yes")[0] == 1


def test_a_log_of_before_that_may_still_tell_of_a_person_is_named(
    edgefaced: Run, own_places: Path, ann: str
) -> None:
    path = record(own_places, event(seen(ann)))
    with Ledger.open(path) as ledger:
        ledger.append([event(seen(ann))])
        path.unlink()
        record(own_places, event(seen(ann)))
    (log,) = path.parent.glob("*orphan*")
    code, _, err = edgefaced("events", "purge", "--person", ann, "--yes")
    assert code == 0
    assert str(log) in err


def test_whoever_removes_a_person_is_told_of_the_events(
    edgefaced: Run, own_places: Path, ann: str
) -> None:
    record(own_places, event(seen(ann)), event(seen(BOB)))
    code, _, err = edgefaced("remove", ANNS_NAME, "--yes")
    assert code == 0
    assert f"`edgefaced events purge --person {ann}`" in err
    assert BOB not in err
    assert edgefaced("events", "purge", "--person", ann, "--yes")[0] == 0


def test_following_shows_what_another_process_records(own_places: Path, ann: str) -> None:
    path = record(own_places, *troubles(30))
    process = subprocess.Popen(
        [sys.executable, "-m", "edgefaced", "events", "follow", "--json", "--limit", "2"],
        env=os.environ.copy(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        told = [json.loads(process.stdout.readline()) for _ in range(2)]
        with Ledger.open(path) as ledger:
            ledger.append([event(seen(ann)), event(Trouble("disk", "full"))])
        told += [json.loads(process.stdout.readline()) for _ in range(2)]
    finally:
        process.send_signal(signal.SIGINT)
        _, complaint = process.communicate(timeout=60)
    assert [body["position"] for body in told] == [29, 30, 31, 32]
    assert told[2]["name"] == ANNS_NAME
    assert process.returncode == 130
    assert "Traceback" not in complaint
