"""A door with its camera, its gallery, its ledger and a person who may pass; daemons to run it.

The line is a file that keeps its level when whoever drove it is killed: the worst that hardware
does.
"""

from __future__ import annotations

import json
import os
import select
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from file_chip import PATIENCE_SECONDS, FileChip
from stand_in_pack import PACK

from edgefaced.config.places import places
from edgefaced.config.settings import Settings
from edgefaced.control.client import connect
from edgefaced.events import Event, Trouble
from edgefaced.ledger.store import Ledger

ANN = "Jennifer_Capriati"
CONFIG = """
[camera]
kind = "replay"
replay_paths = ["{pictures}"]
replay_loop = true
replay_picture_seconds = {picture_seconds}
[models]
pack = "{pack}"
[policy]
patience_seconds = 600.0
recheck_seconds = 0.5
cool_down_seconds = {cool_down_seconds}
[thermal]
zones = []
latency_budget_ms = 1e9
# One step from working to resting, so that the proof need not wait for five.
[[thermal.bands]]
name = "on"
leave_above_celsius = 60.0
frame_stride = 1
key_frame_interval = 5
[[thermal.bands]]
name = "off"
leave_below_celsius = 50.0
frame_stride = 1
key_frame_interval = 1
rest = true
[doors.front]
chip_kind = "file"
chip = "{chip}"
relay_line = "relay"
pulse_ms = {pulse_ms}
liveness = "not required"
{more}
"""


class Site:
    """A door, its camera, its gallery, and every process that has to do with them."""

    def __init__(self, folder: Path, state: Path, models: Path) -> None:
        self.folder, self.state, self.models = folder, state, models
        self.known, self.empty = folder / "known", folder / "empty"
        """Pictures of the person, and one without anybody."""
        self.chip = FileChip(folder / "pins", "relay")

    def configure(
        self,
        pictures: Path | None = None,
        more: str = "",
        *,
        pack: str = PACK,
        pulse_ms: int = 30000,
        cool_down_seconds: float = 10.0,
        picture_seconds: float = 1.0,
    ) -> None:
        text = CONFIG.format(
            pictures=pictures or self.known,
            pack=pack,
            chip=self.chip.folder,
            pulse_ms=pulse_ms,
            cool_down_seconds=cool_down_seconds,
            picture_seconds=picture_seconds,
            more=more,
        )
        (self.folder / "edgefaced.toml").write_text(text)

    @property
    def environment(self) -> dict[str, str]:
        return {
            **os.environ,
            "EDGEFACED_CONFIG": str(self.folder / "edgefaced.toml"),
            "EDGEFACED_STATE_DIR": str(self.state),
            "EDGEFACED_MODELS_DIR": str(self.models),
        }

    def start(self, *words: str, **environment: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "edgefaced", *words],
            env={**self.environment, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *words: str, **environment: str) -> tuple[int, str]:
        with self.start(*words, **environment) as process:
            said, complained = process.communicate(timeout=120)
        return process.returncode, said + complained

    @contextmanager
    def daemon(self, **environment: str) -> Iterator[subprocess.Popen[str]]:
        """Killed at the end where it still runs."""
        with self.start("run", "--json", **environment) as process:
            try:
                yield process
            finally:
                process.kill()
                process.communicate()

    def order(self, order: str, *doors: str) -> None:
        """What an operator tells the running daemon by the command line."""
        with connect(places(self.environment, root=False).control_sockets(Settings())) as client:
            client.ask("door-order", order=order, doors=doors)

    @property
    def is_locked(self) -> bool:
        return not self.chip.is_high("relay")

    def log(self) -> list[Event]:
        """Everything that was recorded until now, whoever recorded it."""
        events: list[Event] = []
        with Ledger.open(self.state / "events.db") as ledger:
            position = 0
            while records := ledger.after(position):
                events += [record.event for record in records]
                position = records[-1].position
        return events

    def troubles(self) -> list[str]:
        return [str(e.happening) for e in self.log() if isinstance(e.happening, Trouble)]


def until(process: subprocess.Popen[str], **wanted: object) -> dict[str, Any]:
    """The next event of a daemon with these values."""
    assert process.stdout is not None
    for line in process.stdout:
        event: dict[str, Any] = json.loads(line)
        if wanted.items() <= event.items():
            return event
    raise AssertionError(f"it ended before {wanted}: {process.stderr and process.stderr.read()}")


def gone(pid: int) -> None:
    """Waits for the end of a process that is nobody's child any more."""
    try:
        fd = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        ready, _, _ = select.select([fd], [], [], PATIENCE_SECONDS)
        assert ready, "it did not end"
    finally:
        os.close(fd)


def inhabited(folder: Path, models: Path, data: Path) -> Site:
    """A site where one person is enrolled and may always pass, and stands before the camera.

    `data` is the folder of the evaluation data.
    """
    site = Site(folder, folder / "state", models)
    for place in (site.known, site.empty):
        place.mkdir()
    faces = sorted((data / "lfw" / "images" / ANN).glob("*.jpg"))
    shutil.copy(faces[3], site.known)
    shutil.copy(next((data / "detect" / "negative").glob("*.jpg")), site.empty)
    site.configure()
    for words in (
        ["enroll", ANN, *map(str, faces[:3])],
        ["access", "grant", ANN, "--door=front"],
    ):
        code, said = site.run(*words)
        assert code == 0, said
    return site
