"""A running daemon that is asked, watched, reloaded and measured, by the command line."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cv2
import pytest
from stand_in_pack import PACK

ANN, STRANGER = "Jennifer_Capriati", "Pete_Sampras"


class House:
    """A folder with everything that the processes of one test need."""

    def __init__(self, folder: Path, models: Path) -> None:
        self.folder = folder
        self.config = folder / "edgefaced.toml"
        self.environment = {
            **os.environ,
            "EDGEFACED_CONFIG": str(self.config),
            "EDGEFACED_STATE_DIR": str(folder / "state"),
            "EDGEFACED_MODELS_DIR": str(models),
        }

    def start(self, *words: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "edgefaced", *words],
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *words: str) -> tuple[int, str, str]:
        process = self.start(*words)
        said, complained = process.communicate(timeout=120)
        return process.returncode, said, complained


@pytest.fixture(scope="module")
def port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        number: int = probe.getsockname()[1]
        return number


@pytest.fixture(scope="module")
def house(
    shared_data: Path, stand_in_models: Path, port: int, tmp_path_factory: pytest.TempPathFactory
) -> House:
    """One person is enrolled; the camera is an endless replay of another picture of her."""
    folder = tmp_path_factory.mktemp("house")
    house = House(folder, stand_in_models)
    pictures = sorted((shared_data / "lfw" / "images" / ANN).glob("*.jpg"))
    (folder / "known").mkdir()
    shutil.copy(pictures[3], folder / "known")
    house.config.write_text(
        f'[camera]\nkind = "replay"\nreplay_paths = ["{folder / "known"}"]\nreplay_loop = true\n'
        f'[models]\npack = "{PACK}"\n[thermal]\nzones = []\nlatency_budget_ms = 1e9\n'
        "[policy]\nrecheck_seconds = 0.2\ncool_down_seconds = 0.0\n"
        f"[metrics]\nport = {port}\n"
    )
    code, _, complained = house.run("enroll", ANN, *map(str, pictures[:3]))
    assert code == 0, complained
    return house


@pytest.fixture
def daemon(house: House) -> Iterator[subprocess.Popen[str]]:
    text = house.config.read_text()
    with house.start("run", "--json") as process:
        assert process.stdout is not None
        for line in process.stdout:
            if json.loads(line)["type"] == "face":
                break
        yield process
        if process.poll() is None:
            process.kill()
            process.communicate()
    house.config.write_text(text)


def asked(house: House) -> dict[str, Any]:
    code, said, complained = house.run("status", "--json")
    assert code == 0, complained
    body: dict[str, Any] = json.loads(said)["status"]
    return body


def test_status_says_how_the_daemon_is(house: House, daemon: subprocess.Popen[str]) -> None:
    body = asked(house)
    assert body["camera"]["up"] is True
    assert body["camera"]["gives"]["name"]
    assert body["gallery_templates"] == 3
    assert body["decisions"]["known"] >= 1
    assert body["stages"]["embed"]["count"] == body["embeddings"] >= 3
    assert set(body["sinks"]) == {"terminal", "control"}
    code, said, _ = house.run("status")
    assert code == 0
    assert f"pack {PACK}" in " ".join(said.split())


def test_without_a_daemon_status_is_one_line_and_says_no(house: House) -> None:
    code, said, complained = house.run("status")
    assert (code, said) == (1, "")
    assert complained.startswith("edgefaced: edgefaced is not running")
    assert complained.count("\n") == 1
    code, said, _ = house.run("watch", "--json")
    assert code == 1
    code, said, _ = house.run("status", "--json")
    assert (code, json.loads(said)["error"]["code"]) == (1, "not-running")


def test_two_watchers_see_events_through_a_reload_until_the_stop(
    house: House, daemon: subprocess.Popen[str]
) -> None:
    with house.start("watch", "--json") as one, house.start("watch") as two:
        for watcher in (one, two):
            assert watcher.stderr is not None
            assert "events of the running daemon" in watcher.stderr.readline()
        house.config.write_text(
            house.config.read_text() + "[recognition]\nfixed_threshold = 0.999\n"
        )
        daemon.send_signal(signal.SIGHUP)
        assert one.stdout is not None
        for line in one.stdout:
            event = json.loads(line)
            if event["type"] == "face" and event["threshold"] == 0.999:
                break
        else:
            pytest.fail(f"cut off by the reload: {one.communicate()}")
        assert asked(house)["decisions"].get("known", 0) == 0
        daemon.send_signal(signal.SIGTERM)
        said, complained = one.communicate(timeout=60)
        assert (one.returncode, "stopped" in complained) == (0, True), complained
        said, _ = two.communicate(timeout=60)
        assert two.returncode == 0
        assert "unknown (no agreement" in said
    daemon.communicate(timeout=60)
    assert daemon.returncode == 0
    assert not (house.folder / "state" / "control.sock").exists()


def test_a_reload_says_what_waits_for_the_next_start(
    house: House, daemon: subprocess.Popen[str]
) -> None:
    house.config.write_text(house.config.read_text() + '[control]\ngroup_access = "none"\n')
    daemon.send_signal(signal.SIGHUP)
    assert daemon.stdout is not None
    trouble = next(e for e in map(json.loads, daemon.stdout) if e["type"] == "trouble")
    assert "next start" in trouble["detail"]
    assert asked(house)["camera"]["name"]


def test_a_picture_is_handed_out_only_where_it_is_allowed_and_never_unnoticed(
    house: House, daemon: subprocess.Popen[str]
) -> None:
    picture = house.folder / "seen.jpg"
    code, _, complained = house.run("snapshot", str(picture))
    assert (code, picture.exists()) == (1, False)
    assert "control.allow_snapshots = true" in complained
    house.config.write_text(house.config.read_text() + "[control]\nallow_snapshots = true\n")
    daemon.send_signal(signal.SIGHUP)
    assert daemon.stdout is not None
    events = map(json.loads, daemon.stdout)
    assert next(e for e in events if e["type"] == "camera")["up"] is True
    code, said, complained = house.run("snapshot", str(picture), "--json")
    assert code == 0, complained
    body = json.loads(said)
    pixels = cv2.imread(str(picture))
    assert pixels is not None
    assert pixels.shape == (body["height_px"], body["width_px"], 3)
    assert picture.stat().st_mode & 0o777 == 0o600
    trouble = next(e for e in events if e["type"] == "trouble")
    assert trouble["where"] == "snapshot"
    assert "a picture was handed to the user" in trouble["detail"]
    held = {p.name for p in (house.folder / "state").iterdir()}
    assert not {name for name in held if name.endswith((".jpg", ".png", ".part"))}


def test_metrics_are_served_while_it_runs(
    house: House, daemon: subprocess.Popen[str], port: int
) -> None:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=60) as answer:
        page = answer.read().decode()
    assert 'edgefaced_decisions_total{decision="known"}' in page
    assert "edgefaced_gallery_templates 3.0" in page
    assert f'edgefaced_build_info{{pack="{PACK}"' in page
    assert ANN not in page
    assert "process_resident_memory_bytes" in page


def test_a_second_daemon_leaves_the_first_ones_socket_and_port(
    house: House, daemon: subprocess.Popen[str]
) -> None:
    code, said, complained = house.run(
        "run", "--json", "--fast", "--replay", str(house.folder / "known")
    )
    assert code == 0, complained
    troubles = {e["where"] for e in map(json.loads, said.splitlines()) if e["type"] == "trouble"}
    assert troubles == {"control", "metrics"}
    assert asked(house)["camera"]["up"] is True


@pytest.fixture
def strangers_config(house: House, shared_data: Path) -> Path:
    """The same house, but somebody who is not enrolled stands before the camera."""
    target = house.folder / "unknown"
    target.mkdir(exist_ok=True)
    for picture in sorted((shared_data / "lfw" / "images" / STRANGER).glob("*.jpg"))[:4]:
        shutil.copyfile(picture, target / picture.name)  # read-only data, written again
    config = house.folder / "stranger.toml"
    text = house.config.read_text().replace(str(house.folder / "known"), str(target))
    config.write_text(text + "[quality]\nminimum_sharpness = 0.0\n")
    return config


def test_somebody_is_enrolled_from_the_camera_without_a_daemon(
    house: House, strangers_config: Path
) -> None:
    words = ("--config", str(strangers_config), "enroll", "Pete", "--camera", "--seconds", "5")
    code, said, complained = house.run(*words, "--consent", "yes", "--json")
    assert code == 0, complained
    body = json.loads(said)
    assert body["kept"] == body["person"]["templates"] >= 1
    assert body["person"]["consent"]["note"] == "yes"
    assert "pictures: " in complained, "guidance goes to stderr"
    code, _, complained = house.run(*words)
    assert (code, "already enrolled" in complained) == (1, True)
    assert house.run("remove", "Pete", "--yes")[0] == 0


def test_somebody_is_enrolled_by_the_running_daemon_and_known_at_once(
    house: House, strangers_config: Path
) -> None:
    with house.start("--config", str(strangers_config), "run", "--json") as process:
        assert process.stdout is not None
        events = map(json.loads, process.stdout)
        assert next(e for e in events if e["type"] == "face")["outcome"] == "unknown"
        code, said, complained = house.run("enroll", "Pete", "--camera", "--seconds", "5")
        assert code == 0, complained
        assert "Pete is enrolled" in said
        assert next(e for e in events if e.get("outcome") == "known")["name"] == "Pete"
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
        assert process.returncode == 0
    assert house.run("remove", "Pete", "--yes")[0] == 0


def test_a_face_that_is_enrolled_gets_no_second_name(
    house: House, daemon: subprocess.Popen[str]
) -> None:
    code, _, complained = house.run("enroll", "Eve", "--camera", "--seconds", "2")
    assert code == 1
    assert f"enrolled as {ANN}" in complained
