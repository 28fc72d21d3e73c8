"""What a scene is given: machines, expectations, a transcript and what is kept."""

from __future__ import annotations

import itertools
import shutil
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

from tests.system.vm.layers import Layers, overlay
from tests.system.vm.machine import Hardware, Machine, SceneError, Skipped

KEPT = {
    "journal": "journalctl --no-pager --output=short-precise --boot=all",
    "status": "systemctl status --no-pager --full edgefaced; systemctl --failed --no-pager",
    "events": "edgefaced events list --json",
    "configuration": "cat /etc/edgefaced/edgefaced.toml",
    "kernel": "dmesg",
    "relay": "cat /sys/module/fakegpio/parameters/history",
}


@dataclass(slots=True)
class Transcript:
    """Lines with the seconds since the scene began, on the screen and in a file."""

    file: TextIO
    began: float = field(default_factory=time.monotonic)

    def say(self, text: str) -> None:
        for out in (sys.stdout, self.file):
            out.write(f"{time.monotonic() - self.began:7.1f} s  {text}\n")
            out.flush()


@dataclass(slots=True)
class Stage:
    """One scene's own folder, disk and machines. See the top of machine.py for how it is used."""

    folder: Path
    layers: Layers
    transcript: Transcript
    data: Path | None
    """Evaluation pictures and weights, where this machine has them."""
    bare: bool = False
    """Nothing is installed yet."""
    cargo: Path = field(init=False)
    _disk: Path = field(init=False)
    _machine: Machine | None = None
    _boots: itertools.count[int] = field(default_factory=lambda: itertools.count(1))

    def __post_init__(self) -> None:
        self.cargo = self.folder / "cargo"
        self.cargo.mkdir()
        self._disk = self.folder / "disk.qcow2"
        overlay(self._disk, self.layers.bare_disk if self.bare else self.layers.disk)

    @property
    def pictures(self) -> Path:
        """Folder of evaluation pictures. Raises Skipped where there is none."""
        if self.data is None:
            raise Skipped(
                "no evaluation data here: set EDGEFACED_TEST_DATA to a folder that has it"
            )
        return self.data

    def boot(
        self, *, clock: str | None = None, durable: bool = False, settle: bool = True
    ) -> Machine:
        """Switches the scene's machine on, after it was shut down or its power was cut.

        `clock` is what its hardware clock says (UTC, "1970-01-01T00:00:00"). With `durable` a power
        cut takes what was not flushed. With `settle` systemd has started everything. Raises
        SceneError.
        """
        if self._machine is not None and self._machine.alive:
            raise SceneError("the scene boots a machine that is running")
        began = time.monotonic()
        self._machine = Machine(
            Hardware(
                kernel=self.layers.kernel,
                initrd=self.layers.initrd,
                disk=self._disk,
                cargo=self.cargo,
                console=self.folder / f"console-{next(self._boots)}",
                clock=clock,
                durable=durable,
            )
        )
        self._machine.wait_for_agent()
        if settle:
            self._machine.wait_for_boot()
            # systemd gives a mount 90 s, which is not enough where many machines are emulated.
            self._machine.run("mountpoint --quiet /cargo || mount /cargo")
        self.say(f"booted in {time.monotonic() - began:.0f} s")
        return self._machine

    def say(self, text: str) -> None:
        self.transcript.say(text)

    def expect(self, true: bool, text: str) -> None:
        """Raises SceneError with `text`, which says what must be so, unless it is."""
        if not true:
            raise SceneError(f"not so: {text}")
        self.say(f"ok: {text}")

    def keep_evidence(self) -> None:
        """Copies what a failure is understood by out of the machine, while that still answers."""
        for name, command in KEPT.items():
            if self._machine is None or not self._machine.alive:
                return
            try:
                seen = self._machine.run(command, check=False)
            except SceneError as error:
                self.say(f"{name} is not kept: {error}")
                return
            (self.folder / name).write_text(seen.out + seen.err)

    def clear(self, keep: bool) -> None:
        """Ends the machine; what is large goes, and without `keep` all but the transcript."""
        if self._machine is not None:
            self._machine.cut_power()
        shutil.rmtree(self.cargo)
        self._disk.unlink()
        for path in () if keep else self.folder.iterdir():
            if path.name != "transcript":
                path.unlink()
