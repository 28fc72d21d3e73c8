"""One picture of the running daemon's camera, for who may have it, and never unnoticed.

It goes through the socket to whoever asked and is kept nowhere. A picture is larger than a line may
be, so it comes in pieces.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from dataclasses import dataclass

from edgefaced.control.contract import SnapshotRequest, answer
from edgefaced.control.peer import Peer
from edgefaced.control.server import Answers
from edgefaced.core.picture import bgr_of
from edgefaced.errors import Forbidden, Refused
from edgefaced.events import Happening, Trouble
from edgefaced.pictures.write import jpeg_bytes, png_bytes
from edgefaced.types import Frame

TRIES, TRY_SECONDS = 5, 1.0
"""For the camera's next frame; between two tries it is seen whether the client is still there."""

PIECE_BYTES = 192 * 1024
"""A multiple of 3: pieces of base64 without padding between."""


@dataclass(frozen=True, slots=True)
class Pictures:
    """Where pictures come from: whether the configuration allows them, the camera's next frame (an
    own copy; None where none comes within so many seconds), and whom to tell that one was taken.
    """

    allowed: Callable[[], bool]
    take: Callable[[float], Frame | None]
    announce: Callable[[Happening], None]


def snapshot(request: SnapshotRequest, peer: Peer, pictures: Pictures) -> Answers:
    """Raises Forbidden where the configuration allows none, Refused where no frame comes."""
    if not pictures.allowed():
        raise Forbidden(
            "the daemon hands out no pictures",
            "control.allow_snapshots = true in its configuration allows it",
        )
    frame = None
    for _ in range(TRIES):
        frame = pictures.take(TRY_SECONDS)
        if frame is not None:
            break
        yield None
    if frame is None:
        raise Refused("the camera gives no pictures", "`edgefaced status` says how it is")
    # Before anybody has it: who goes away with it in the middle is known as well.
    pictures.announce(Trouble("snapshot", f"a picture was handed to {peer.in_words()}"))
    bgr = bgr_of(frame)
    data = png_bytes(bgr) if request.format == "png" else jpeg_bytes(bgr)
    yield answer(
        {
            "stream": True,
            "format": request.format,
            "width_px": frame.width,
            "height_px": frame.height,
            "size_bytes": len(data),
        }
    )
    for start in range(0, len(data), PIECE_BYTES):
        piece = data[start : start + PIECE_BYTES]
        yield {"type": "piece", "base64": base64.b64encode(piece).decode()}
