"""A picture as its file: encrypted (AES-256-GCM), and bound to the event and person it is of."""

from __future__ import annotations

from collections.abc import Sequence

from edgefaced.errors import GalleryDamaged, RecordDamaged
from edgefaced.evidence.folder import Kept
from edgefaced.gallery.protection import Place, Protection

MAGIC = b"EFpic\x01"
NUMBER_BYTES = 4
PURPOSE = b"pictures of events"


def sealed(jpeg: bytes, kept: Kept, keys: Sequence[bytes]) -> bytes:
    """With the newest key."""
    number = len(keys) - 1
    head = MAGIC + number.to_bytes(NUMBER_BYTES, "big")
    return head + Protection(keys[number], PURPOSE).seal(jpeg, _place(kept))


def opened(content: bytes, kept: Kept, keys: Sequence[bytes]) -> bytes:
    """The JPEG. Raises GalleryDamaged where it was altered, exchanged, or no key is its own."""
    head, rest = content[: len(MAGIC)], content[len(MAGIC) :]
    number = int.from_bytes(rest[:NUMBER_BYTES], "big")
    try:
        if head != MAGIC or number >= len(keys):
            raise GalleryDamaged("no key of this gallery is its own")
        return Protection(keys[number], PURPOSE).open(rest[NUMBER_BYTES:], _place(kept))
    except RecordDamaged:
        raise _unreadable(kept, "it was altered, or is another event's or gallery's") from None
    except GalleryDamaged as error:
        raise _unreadable(kept, error.message) from None


def _place(kept: Kept) -> Place:
    return Place(f"picture.{kept.event_id}", kept.number, kept.person_id or "")


def _unreadable(kept: Kept, why: str) -> GalleryDamaged:
    return GalleryDamaged(
        f"the picture of event {kept.event_id} cannot be opened: {why}",
        "its retention takes it away",
    )
