"""The live index of a gallery that may be locked, damaged, replaced, or without its key.

What cannot be read makes nobody known: the templates in memory are overwritten, and the gallery
is opened again until that succeeds.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress

from edgefaced.errors import (
    EdgefacedError,
    GalleryBusy,
    GalleryError,
    KeyMissing,
    RecordDamaged,
    StorageError,
)
from edgefaced.gallery.index import LiveIndex, open_index
from edgefaced.gallery.lock import draft_of
from edgefaced.gallery.scan import IndexKind
from edgefaced.gallery.store import Gallery
from edgefaced.types import Embedding, Match

TRY_AGAIN_SECONDS = 1.0
LOCKED_SECONDS = 10.0
"""For so long the templates of before are used while somebody else keeps the gallery locked."""

LOOK_AGAIN_SECONDS = 5.0
"""After which one that cannot be written is opened anew: of changes in it nobody is told."""

WAIT_SECONDS = 0.05
"""For a lock: a face is waiting."""


class FollowingIndex:
    """Searches the templates of one model; used by one thread, which also closes it."""

    def __init__(
        self,
        open_gallery: Callable[[], Gallery],
        model_id: str,
        kind: IndexKind,
        *,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """Raises what opening raises, but for GalleryBusy: the first refresh says that."""
        self._open_gallery = open_gallery
        self._model_id = model_id
        self._kind: IndexKind = kind
        self._now = now
        self._index: LiveIndex | None = None
        self._fault: EdgefacedError | None = None
        self._read_at = self._tried_at = self._opened_at = float("-inf")
        with suppress(GalleryBusy):
            self._open()

    @property
    def size(self) -> int:
        """Number of templates; 0 while the gallery cannot be read."""
        return 0 if self._index is None else self._index.size

    def search(self, probe: Embedding) -> Match | None:
        """As LiveIndex; None while the gallery cannot be read."""
        return None if self._index is None else self._index.search(probe)

    def refresh(self) -> bool:
        """Takes over what was committed since; True where anything changed.

        Raises RecordDamaged where a record cannot be used and the others can; GalleryBusy, another
        GalleryError or StorageError where nothing can be read, at every call until it can.
        """
        now = self._now()
        if self._fault is not None and now - self._tried_at < TRY_AGAIN_SECONDS:
            raise type(self._fault)(self._fault.message, self._fault.hint)
        self._tried_at = now
        try:
            if self._untold() and now - self._opened_at >= LOOK_AGAIN_SECONDS:
                self.close()
            if self._index is None:
                self._open()
                changed = True
            else:
                refuse_lost_key(self._index.gallery)
                changed = self._index.refresh()
        except RecordDamaged:
            self._fault, self._read_at = None, now
            raise
        except (GalleryError, StorageError) as error:
            self._fault = error
            if not (isinstance(error, GalleryBusy) and now - self._read_at < LOCKED_SECONDS):
                self.close()
            raise
        self._fault, self._read_at = None, now
        return changed

    def close(self) -> None:
        """Overwrites the templates in memory and closes the gallery."""
        index, self._index = self._index, None
        if index is not None:
            index.close()
            index.gallery.close()

    def _untold(self) -> bool:
        return self._index is not None and not self._index.gallery.database.writable

    def _open(self) -> None:
        gallery = self._open_gallery()
        try:
            gallery.database.wait_for_others(WAIT_SECONDS)
            self._index = open_index(gallery, self._model_id, self._kind, despite_damage=True)
        except BaseException:
            gallery.close()
            raise
        self._read_at = self._opened_at = self._now()


def refuse_lost_key(gallery: Gallery) -> None:
    """Raises KeyMissing where the key's file has gone: whoever deletes it means everybody."""
    key_file = gallery.key_file
    if not (os.access(key_file, os.F_OK) or os.access(draft_of(key_file), os.F_OK)):
        raise KeyMissing(
            f"the gallery's key {key_file} is missing",
            "restore the key file: without it nobody can read the gallery",
        )
