"""What must survive a power cut: which doors are locked down, and which camera is the right one."""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass, field
from pathlib import Path

from edgefaced.errors import StorageError
from edgefaced.models.atomic import published

VERSION = 1


@dataclass(frozen=True, slots=True)
class Page:
    """The book's content. `cameras` are pairs of a configured camera and what it was found to be.

    `everything` is True where the book cannot be read: then all doors are locked down, until
    somebody says `normal`.
    """

    lockdown: frozenset[str] = frozenset()
    cameras: tuple[tuple[str, str], ...] = ()
    everything: bool = False

    def locks_down(self, door: str) -> bool:
        return self.everything or door in self.lockdown

    def camera(self, configured: str) -> str | None:
        """What the configured camera was found to be; None where it is new."""
        return dict(self.cameras).get(configured)


@dataclass(slots=True)
class Book:
    """A small file, and what it says. One for a daemon's life: a reload of the settings neither
    forgets what the disk did not take nor overtakes an order that was just given.
    """

    file: Path
    page: Page = field(default_factory=lambda: Page(everything=True))
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
            )
        except FileNotFoundError:
            self.page = Page()
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            self.page = Page(everything=True)
            return f"{self.file} cannot be read ({error}): all doors are locked down"
        return None

    def write(self, page: Page) -> None:
        """The page holds from now on; raises StorageError where a power cut would lose it."""
        self.page = page
        body = {
            "version": VERSION,
            "lockdown": sorted(page.lockdown),
            "cameras": dict(page.cameras),
            "everything": page.everything,
        }
        with published(self.file) as out:
            out.write(json.dumps(body).encode())


def unkept(error: StorageError) -> StorageError:
    """The same for whoever asked: it is done, but would not survive a restart."""
    return StorageError(
        f"done, but a restart would forget it: {error.message}",
        "say it again when the disk can be written",
    )
