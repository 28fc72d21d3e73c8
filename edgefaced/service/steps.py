"""The steps of an installation or a removal as values, and how each of them is done."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from edgefaced.errors import ServiceError
from edgefaced.service.place import Accounts
from edgefaced.storage.files import sync_folder


@dataclass(frozen=True, slots=True)
class WriteFile:
    """A whole new file of root's, which a group may share; without root it is the caller's."""

    path: Path
    text: str = field(repr=False)
    mode: int = 0o644
    group: str | None = None


@dataclass(frozen=True, slots=True)
class Run:
    """A tool of the system's."""

    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class HandOver:
    """All of a folder becomes a user's and the group's of the same name."""

    folder: Path
    user: str


@dataclass(frozen=True, slots=True)
class Link:
    """A symbolic link."""

    path: Path
    target: str


@dataclass(frozen=True, slots=True)
class Overwrite:
    """Random bytes in the place of a secret, before it is removed."""

    path: Path


@dataclass(frozen=True, slots=True)
class Remove:
    """A file, a link (not what it leads to), or a folder with all that is in it."""

    path: Path


Action = WriteFile | Run | HandOver | Link | Overwrite | Remove


@dataclass(frozen=True, slots=True)
class Step:
    """What is done and why; `needed` is False where everything is so already."""

    what: str
    why: str
    action: Action
    needed: bool = True


def perform(action: Action, accounts: Accounts) -> None:
    """Does it. Raises ServiceError in one line, with what was refused."""
    try:
        match action:
            case WriteFile():
                _write(action, accounts)
            case Run(words):
                _run(words)
            case HandOver(folder, user):
                _hand_over(folder, user, accounts)
            case Link(path, target):
                path.parent.mkdir(parents=True, exist_ok=True)
                path.unlink(missing_ok=True)
                path.symlink_to(target)
            case Overwrite(path):
                _overwrite(path)
            case Remove(path):
                _remove(path)
    except OSError as error:
        raise ServiceError(f"{error.filename}: {error.strerror}") from error


def owned_by_others(folder: Path, user_id: int | None) -> Iterator[Path]:
    """Everything in and including `folder` that is not the user's; links are not followed."""
    everything = (
        Path(parent, name)
        for parent, folders, files in os.walk(folder)
        for name in (*folders, *files)
    )
    for path in (folder, *everything) if folder.exists() else ():
        if path.lstat().st_uid != user_id:
            yield path


def _write(file: WriteFile, accounts: Accounts) -> None:
    file.path.parent.mkdir(parents=True, exist_ok=True)
    draft = file.path.with_name(f".{file.path.name}.new")
    draft.unlink(missing_ok=True)
    group_id = 0 if file.group is None else _known(accounts.group_id(file.group), file.group)
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "w") as stream:
        stream.write(file.text)
        stream.flush()
        if os.geteuid() == 0:
            os.fchown(descriptor, 0, group_id)
        os.fchmod(descriptor, file.mode)
        os.fsync(descriptor)
    draft.replace(file.path)
    sync_folder(file.path.parent)


def _run(words: tuple[str, ...]) -> None:
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines() or [f"exit {done.returncode}"]
        hint = "`journalctl -u edgefaced -n 20` says more" if words[0] == "systemctl" else ""
        raise ServiceError(f"`{' '.join(words)}`: {said[-1]}", hint)


def _hand_over(folder: Path, user: str, accounts: Accounts) -> None:
    user_id = _known(accounts.user_id(user), user)
    group_id = _known(accounts.group_id(user), user)
    # By descriptors and without following links: the daemon's user may write here meanwhile.
    for _, folders, files, descriptor in os.fwalk(folder, follow_symlinks=False):
        os.fchown(descriptor, user_id, group_id)
        for name in (*folders, *files):
            os.chown(name, user_id, group_id, dir_fd=descriptor, follow_symlinks=False)


def _known(number: int | None, name: str) -> int:
    if number is None:
        raise ServiceError(f"there is no account {name}", "`systemd-sysusers` should have made it")
    return number


def _overwrite(path: Path) -> None:
    with path.open("r+b") as file:
        size = os.fstat(file.fileno()).st_size
        file.write(os.urandom(size))
        file.flush()
        os.fsync(file.fileno())


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
