"""What must survive a power cut: which doors are locked down, and which camera is the right one."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from edgefaced.core.passback import Passage, Passback
from edgefaced.errors import StorageError
from edgefaced.models.atomic import published

VERSION = 1


@dataclass(frozen=True, slots=True)
class Page:
    """The book's content. `cameras` are pairs of a configured camera and what it was found to be.

    `remote` are those doors in lockdown that nobody here has locked down: an order from elsewhere
    may end that. `everything` is True where the book cannot be read or is gone: then all doors are
    locked down, until somebody says `normal`; and with it `forgotten`: no camera is trusted because
    it is the first one that comes, until somebody says so.
    """

    lockdown: frozenset[str] = frozenset()
    cameras: tuple[tuple[str, str], ...] = ()
    everything: bool = False
    remote: frozenset[str] = frozenset()
    forgotten: bool = False

    def locks_down(self, door: str) -> bool:
        return self.everything or door in self.lockdown

    def locked_here(self, door: str) -> bool:
        """Whether only somebody at the device may end the lockdown."""
        return self.locks_down(door) and (self.everything or door not in self.remote)

    def camera(self, configured: str) -> str | None:
        """What the configured camera was found to be; None where it is new."""
        return dict(self.cameras).get(configured)


LOST = Page(everything=True, forgotten=True)


@dataclass(slots=True)
class Book:
    """A small file, and what it says. One for a daemon's life: a reload of the settings neither
    forgets what the disk did not take nor overtakes an order that was just given.
    """

    file: Path
    was_here: Callable[[], bool] = lambda: False
    """Whether doors were set up on this device before; asked where there is no file."""
    passages: Callable[[float], Sequence[Passage]] = lambda seconds: ()
    """Who was let in by which door for so long, oldest first. Raises LedgerError."""
    passback: Passback = field(default_factory=Passback)
    """Who is inside; it is not in the file, the ledger has it."""
    page: Page = LOST
    """Everything is locked down until the file was read."""
    guarded: threading.RLock = field(default_factory=threading.RLock)
    """To be held by whoever uses it, and by whoever acts on it."""
    _is_open: bool = False

    def open(self) -> str | None:
        """Reads it, once; what is wrong with it in words, and then everything is locked down."""
        if self._is_open:
            return None
        self._is_open = True
        try:
            body = json.loads(self.file.read_bytes())
            if body["version"] != VERSION:
                raise ValueError(f"version {body['version']}")
            self.page = Page(
                frozenset(str(door) for door in body["lockdown"]),
                tuple((str(key), str(found)) for key, found in body["cameras"].items()),
                everything=body.get("everything", False) is not False,
                remote=frozenset(str(door) for door in body.get("remote", ())),
                forgotten=body.get("forgotten", False) is not False,
            )
        except FileNotFoundError:
            return self._begin()
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            return self._lose(f"cannot be read ({error})")
        return None

    def _begin(self) -> str | None:
        """A book for new doors. Doors that had one have lost what it said."""
        if self.was_here():
            return self._lose("is gone, and there were doors before")
        try:
            self.write(Page())
        except StorageError as error:
            return error.message
        return None

    def _lose(self, why: str) -> str:
        self.page = LOST
        return (
            f"{self.file} {why}: all doors are locked down until `edgefaced doors normal`, and "
            "open for no face until `edgefaced doors trust-camera`"
        )

    def write(self, page: Page) -> None:
        """The page holds from now on; raises StorageError where a power cut would lose it."""
        self.page = page
        body = {
            "version": VERSION,
            "lockdown": sorted(page.lockdown),
            "cameras": dict(page.cameras),
            "everything": page.everything,
            "remote": sorted(page.remote & page.lockdown),
            "forgotten": page.forgotten,
        }
        with published(self.file) as out:
            out.write(json.dumps(body).encode())

    def keep(self, page: Page) -> None:
        """The same for an order of somebody's, who is told where a power cut would undo it."""
        try:
            self.write(page)
        except StorageError as error:
            raise StorageError(
                f"done, but a restart would forget it: {error.message}",
                "say it again when the disk can be written",
            ) from error
