"""The daemon for real: enrolled people are known, others unknown, and signals end or reload it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from stand_in_pack import PACK, import_stand_in

from edgefaced.ledger.store import Ledger

ANN, STRANGER = "Jennifer_Capriati", "Pete_Sampras"


@pytest.fixture(scope="module")
def house(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with models, configuration, a gallery of one person, and replays."""
    folder = tmp_path_factory.mktemp("house")
    import_stand_in(shared_data, folder)
    (folder / "edgefaced.toml").write_text(
        f'[models]\npack = "{PACK}"\n[thermal]\nzones = []\nlatency_budget_ms = 1e9\n'
        "[policy]\npatience_seconds = 60.0\n"
    )
    images = shared_data / "lfw" / "images"
    enrolled = sorted((images / ANN).glob("*.jpg"))
    command(folder, "enroll", ANN, *[str(p) for p in enrolled[:3]])
    for name, person, pictures in (("known", ANN, enrolled[3:]), ("unknown", STRANGER, None)):
        target = folder / name
        target.mkdir()
        for picture in (pictures or sorted((images / person).glob("*.jpg")))[:1]:
            shutil.copy(picture, target)
    return folder


def environment(folder: Path) -> dict[str, str]:
    return {
        **os.environ,
        "EDGEFACED_CONFIG": str(folder / "edgefaced.toml"),
        "EDGEFACED_STATE_DIR": str(folder / "state"),
        "EDGEFACED_MODELS_DIR": str(folder / "models"),
    }


def command(folder: Path, *words: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "edgefaced", *words],
        env=environment(folder),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def decisions(lines: str) -> list[tuple[str, str | None]]:
    events = [json.loads(line) for line in lines.splitlines()]
    return [(e["outcome"], e["name"]) for e in events if e["type"] == "face"]


def test_enrolled_people_are_known_and_others_are_not(house: Path) -> None:
    known = command(house, "run", "--fast", "--json", "--replay", str(house / "known"))
    assert decisions(known) == [("known", ANN)]
    unknown = command(house, "run", "--fast", "--json", "--replay", str(house / "unknown"))
    assert decisions(unknown) == [("unknown", None)]


@pytest.mark.parametrize("form", [["--json"], []], ids=["json", "lines"])
def test_a_reader_of_events_that_has_gone_ends_the_run(house: Path, form: list[str]) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "edgefaced", "run", *form, "--replay", str(house / "known")],
        env=environment(house),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    with process.stderr as stderr:
        said = stderr.read()
    assert process.wait(timeout=60) == 141
    assert b"Traceback" not in said


class Running:
    """A daemon on an endless replay, and the events it has written."""

    def __init__(self, folder: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "edgefaced", "run", "--json"],
            env=environment(folder),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._seen: list[dict[str, object]] = []
        self._more = threading.Condition()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if not line.endswith("\n"):
                return  # it was killed in the middle of a line
            with self._more:
                self._seen.append(json.loads(line))
                self._more.notify_all()

    def seen(self) -> list[dict[str, object]]:
        """Every event so far."""
        with self._more:
            return list(self._seen)

    def wait_for_events(self, count: int) -> None:
        """Whatever they are."""
        with self._more:
            assert self._more.wait_for(lambda: len(self._seen) >= count, 60), self._seen

    def wait_for(self, **wanted: object) -> dict[str, object]:
        """The first event with these values, which may still be to come."""

        def found() -> dict[str, object] | None:
            return next((e for e in self._seen if wanted.items() <= e.items()), None)

        with self._more:
            assert self._more.wait_for(lambda: found() is not None, 60), self._seen
            event = found()
            assert event is not None
            return event

    def end(self, number: int) -> tuple[int, str]:
        self.process.send_signal(number)
        code = self.process.wait(60)
        self._reader.join(60)
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        said = self.process.stderr.read()
        self.process.stdout.close()
        self.process.stderr.close()
        return code, said


@pytest.fixture
def running(house: Path) -> Iterator[Running]:
    text = (house / "edgefaced.toml").read_text()
    endless = (
        f'[camera]\nkind = "replay"\nreplay_paths = ["{house / "known"}"]\nreplay_loop = true\n'
    )
    (house / "edgefaced.toml").write_text(text + endless)
    daemon = Running(house)
    yield daemon
    if daemon.process.poll() is None:
        daemon.end(signal.SIGKILL)
    (house / "edgefaced.toml").write_text(text)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_in_order(running: Running, number: int) -> None:
    running.wait_for(type="face", outcome="known", name=ANN)
    code, said = running.end(number)
    assert code == 0, said
    assert "Traceback" not in said


def test_a_reload_takes_a_good_configuration_and_keeps_the_old_for_a_bad_one(
    house: Path, running: Running
) -> None:
    running.wait_for(type="face", outcome="known")
    good = (house / "edgefaced.toml").read_text()
    (house / "edgefaced.toml").write_text(good + "[recognition]\ntarget_fpir = 7\n")
    running.process.send_signal(signal.SIGHUP)
    trouble = running.wait_for(type="trouble")
    assert "recognition.target_fpir" in str(trouble["detail"])
    strict = good + "[recognition]\nfixed_threshold = 0.999\n"
    (house / "edgefaced.toml").write_text(strict)
    running.process.send_signal(signal.SIGHUP)
    running.wait_for(type="face", outcome="unknown", threshold=0.999)
    assert running.end(signal.SIGTERM)[0] == 0


def test_somebody_removed_is_unknown_to_the_running_daemon(house: Path, running: Running) -> None:
    running.wait_for(type="face", outcome="known", name=ANN)
    backup = house / "people.backup"
    (house / "passphrase").write_text("a long passphrase for this test")
    words = ["--passphrase-file", str(house / "passphrase")]
    command(house, "gallery", "export", str(backup), *words)
    command(house, "remove", ANN, "--yes")
    running.wait_for(type="face", outcome="unknown")
    assert running.end(signal.SIGTERM)[0] == 0
    command(house, "gallery", "import", str(backup), *words)


KILLS = int(os.environ.get("EDGEFACED_TEST_KILLS", "10"))


@pytest.mark.slow
def test_killed_often_it_has_recorded_and_delivers_all_it_said(house: Path) -> None:
    """Each event on stdout is recorded by then; the file of lines gets it at least once."""
    text = (house / "edgefaced.toml").read_text()
    lines, state = house / "lines.jsonl", house / "state"
    (house / "edgefaced.toml").write_text(
        text + "cool_down_seconds = 0.0\nretry_seconds = 0.1\nrecheck_seconds = 0.1\n"
        f'[camera]\nkind = "replay"\nreplay_paths = ["{house / "known"}", "{house / "unknown"}"]\n'
        "replay_loop = true\nreplay_picture_seconds = 0.7\n"
        f'[lines]\npath = "{lines}"\n'
    )
    said: list[str] = []
    try:
        for kill in range(KILLS + 1):
            daemon = Running(house)
            try:
                daemon.wait_for_events(2 + kill % 3)
            finally:
                code, complaint = daemon.end(signal.SIGKILL if kill < KILLS else signal.SIGTERM)
            assert code == (-signal.SIGKILL if kill < KILLS else 0), complaint
            said += [str(event["event_id"]) for event in daemon.seen() if event["recorded"]]
    finally:
        (house / "edgefaced.toml").write_text(text)
    checked = json.loads(command(house, "events", "verify", "--json"))
    assert checked["clean"]
    with Ledger.open(state / "events.db") as ledger:
        recorded = [record.event.id for record in ledger.after(0, limit=100_000)]
        assert ledger.position_of("lines") == ledger.head().position
    assert len(set(recorded)) == len(recorded)
    assert len(said) > KILLS
    assert set(said) <= set(recorded), "what was shown was recorded first"
    delivered = [json.loads(line)["event_id"] for line in lines.read_text().splitlines()]
    first_time = list(dict.fromkeys(delivered))
    assert first_time == recorded[-len(first_time) :], "in order, none left out"
    assert set(said) <= set(first_time)
