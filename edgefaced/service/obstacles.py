"""Why the service would not work if it were set up now, each as an error with a way out."""

from __future__ import annotations

import os
import shutil
import stat
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from edgefaced.config.settings import Settings
from edgefaced.errors import ManifestError, ModelMissing, ServiceError
from edgefaced.models.catalogue import find_pack
from edgefaced.models.state import PackState, pack_state
from edgefaced.models.store import ModelStore
from edgefaced.service.place import Place

HIDDEN = tuple(
    Path(folder)
    for folder in ("/home", "/root", "/run/user", "/tmp", "/var/tmp")  # noqa: S108 - none is used
)
"""What ProtectHome and PrivateTmp of the unit take away."""

TOOLS = ("systemd-sysusers", "systemd-tmpfiles")
ELSEWHERE = (
    "install it for all users: `sudo /usr/bin/python3 -m venv /opt/edgefaced`, then use pip and "
    "edgefaced of /opt/edgefaced/bin"
)


@dataclass(frozen=True, slots=True)
class Machine:
    """What decides whether anything can be set up here."""

    user_id: int
    runs_systemd: bool
    missing: tuple[str, ...] = ()
    """Tools that are not there."""


def machine_of_this_process() -> Machine:
    """This machine, for whoever calls."""
    missing = tuple(tool for tool in TOOLS if shutil.which(tool) is None)
    return Machine(os.geteuid(), Path("/run/systemd/system").is_dir(), missing)


@dataclass(frozen=True, slots=True)
class Software:
    """The `edgefaced` that the service would run, and all the folders that it is read from."""

    executable: Path
    parts: tuple[Path, ...]


def software_of_this_process() -> Software:
    """Where this very process comes from."""
    called = Path(sys.argv[0])
    if called.name != "edgefaced" or not called.is_file():  # `python -m edgefaced`
        called = Path(sysconfig.get_path("scripts"), "edgefaced")
    executable = called.absolute()
    return Software(
        executable,
        (
            executable,
            executable.resolve(),
            Path(sys.executable).resolve(),
            Path(sys.prefix),
            Path(sys.base_prefix),
            Path(__file__).resolve().parents[1],
        ),
    )


def of_the_machine(machine: Machine, place: Place) -> Iterator[ServiceError]:
    """What stands in the way whatever is asked for."""
    if machine.user_id != 0:
        yield ServiceError(
            "users, folders and units are root's to make", "put `sudo` before the command"
        )
    if place.root is None and not machine.runs_systemd:
        yield ServiceError(
            "systemd does not run this machine",
            "`--root DIR` prepares the tree of one that it does",
        )
    for tool in machine.missing:
        yield ServiceError(f"{tool} is not on this machine", "it comes with systemd")


def of_the_software(software: Software) -> Iterator[ServiceError]:
    """The hardened unit, and a user that is not root, must be able to read the program."""
    if not software.executable.is_file():
        yield ServiceError(f"there is no {software.executable}", "install the package first")
    for part in software.parts:
        folder = next((hidden for hidden in HIDDEN if part.is_relative_to(hidden)), None)
        if folder is not None:
            yield ServiceError(f"the service does not see {folder}, and so not {part}", ELSEWHERE)
            return
    shut = shut_for_others(software.parts)
    if shut is not None:
        yield ServiceError(f"{shut} cannot be read by others than its owner", f"chmod o+rX {shut}")


def shut_for_others(parts: Iterable[Path]) -> Path | None:
    """The first file or folder, of the parts and on the way to them, that only its owner reads."""
    for part in parts:
        for step in (*reversed(part.parents), part):
            needed = stat.S_IXOTH if step.is_dir() else 0
            needed |= stat.S_IROTH if step == part else 0
            if step.exists() and step.stat().st_mode & needed != needed:
                return step
    return None


def of_the_models(place: Place, settings: Settings, executable: Path) -> Iterator[ModelMissing]:
    """The configured pack must be where the service looks for it."""
    folder, name = place.files.models_dir, settings.models.pack
    store = ModelStore(folder)
    try:
        state = pack_state(find_pack(name, (store.layout.packs,)), store)
    except (ModelMissing, ManifestError):
        state = PackState.ABSENT
    if state is not PackState.INSTALLED:
        move = "" if place.root is None else f"EDGEFACED_MODELS_DIR={folder} "
        yield ModelMissing(
            f"model pack {name} is {state} in {folder}",
            f"`sudo {move}{executable} models pull {name}`",
        )
