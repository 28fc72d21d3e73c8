"""Processes that are killed, race each other or run out of disk, as real processes."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path

import pytest
from installation import Installation, Told
from local_server import LocalServer, Resource
from tiny_pack import TinyPack

from edgefaced.models.catalogue import find_pack
from edgefaced.models.fetch.pip_config import PipConfig
from edgefaced.models.manifest import PackManifest
from edgefaced.models.pull import Pulled, pull
from edgefaced.models.state import PackState, pack_state
from edgefaced.models.verification import verify

HALF = 1000


@dataclass(frozen=True)
class Setting:
    """The tiny pack on the server, and this machine's store."""

    server: LocalServer
    here: Installation
    pack: PackManifest
    tiny: TinyPack

    def hold(self) -> Resource:
        """Makes the server stop after the first bytes of the detector."""
        content = Resource(self.tiny.detector, held_at=HALF)
        return self.server.add("/detector.onnx", content)

    def start(self, **limits: int) -> subprocess.Popen[str]:
        """`edgefaced models pull tiny --json` as a process of its own."""
        return subprocess.Popen(
            [sys.executable, "-m", "edgefaced", "models", "pull", "tiny", "--json"],
            env={
                **os.environ,
                "EDGEFACED_MODELS_DIR": str(self.here.store.folder),
                "EDGEFACED_CONFIG": str(self.here.folder / "none.toml"),
                "PIP_RETRIES": "1",
                "PIP_CONFIG_FILE": os.devnull,
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=lambda: _limit(**limits),
        )


def _limit(file_bytes: int | None = None) -> None:
    if file_bytes is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (file_bytes, file_bytes))


@pytest.fixture
def setting(server: LocalServer, tmp_path: Path) -> Setting:
    here = Installation(tmp_path)
    tiny = TinyPack(sources=f'kind = "https"\nurl = "{server.url}/{{member}}"')
    for name, data in tiny.files.items():
        server.add(f"/{name}", Resource(data))
    tiny.write_manifest(here.store.layout.packs)
    pack = find_pack("tiny", (here.store.layout.packs,))
    return Setting(server, here, pack, tiny)


def test_a_pull_that_was_killed_is_continued(setting: Setting) -> None:
    held = setting.hold()
    process = setting.start()
    assert held.holding.wait(60)
    partial = setting.here.store.layout.original(setting.pack.model[0])
    partial = partial.with_name(partial.name + ".partial")
    process.send_signal(signal.SIGKILL)
    process.communicate()
    held.release.set()
    assert pack_state(setting.pack, setting.here.store) is PackState.ABSENT
    assert not setting.here.store.layout.original(setting.pack.model[0]).exists()

    setting.server.add("/detector.onnx", Resource(setting.tiny.detector))
    again = setting.start()
    out, err = again.communicate()
    assert again.returncode == 0, err
    assert json.loads(out)["packs"][0]["changed"] is True
    assert verify(setting.pack, setting.here.store).faults == ()
    assert not partial.exists()


def test_two_pulls_at_once_do_not_get_in_each_others_way(setting: Setting) -> None:
    held = setting.hold()
    results: list[list[Pulled]] = []
    waits = threading.Event()

    class Waiting(Told):
        def say(self, line: str) -> None:
            if "another edgefaced" in line:
                waits.set()

    def work() -> None:
        here = setting.here
        results.append(
            pull([setting.pack], here.store, here.workshop, lambda: PipConfig(), Waiting())
        )

    threads = [threading.Thread(target=work) for _ in range(2)]
    threads[0].start()
    assert held.holding.wait(60)
    threads[1].start()
    assert waits.wait(60)
    held.release.set()
    for thread in threads:
        thread.join()
    assert sorted(pulled.changed for (pulled,) in results) == [False, True]
    assert len(setting.server.asked_for("/detector.onnx")) == 1
    assert verify(setting.pack, setting.here.store).faults == ()


def test_a_full_disk_is_one_line_and_an_exit_code(setting: Setting) -> None:
    process = setting.start(file_bytes=HALF)
    out, err = process.communicate()
    assert process.returncode == 9
    error = json.loads(out)["error"]
    assert error["code"] == "storage"
    assert "Traceback" not in err
    left = [p.name for p in setting.here.store.folder.rglob("*") if p.is_file()]
    assert sorted(left) == [".lock", "tiny.toml"]


def test_a_disk_that_fills_while_preparing_leaves_a_pack_that_can_be_finished(
    setting: Setting,
) -> None:
    room = max(map(len, setting.tiny.files.values()))
    process = setting.start(file_bytes=room)
    _, err = process.communicate()
    assert process.returncode == 9, err
    assert pack_state(setting.pack, setting.here.store) is PackState.ABSENT
    setting.server.resources.clear()
    again = setting.start()
    _, err = again.communicate()
    assert again.returncode == 0, err
    assert verify(setting.pack, setting.here.store).faults == ()


def test_a_pull_that_a_person_stops_says_so(setting: Setting) -> None:
    held = setting.hold()
    process = setting.start()
    assert held.holding.wait(60)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate()
    assert process.returncode == 130
    assert "Traceback" not in err
