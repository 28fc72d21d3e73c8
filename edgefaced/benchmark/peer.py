"""Another program's path from a frame to embeddings, as its makers deliver it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from edgefaced.types import F32, U8, Box, Embedding, FaceDetection


@dataclass(frozen=True, slots=True, eq=False)
class PeerFace:
    """What a peer says of one face: its box in frame pixels, and an embedding of any length."""

    box: Box
    vector: F32


@dataclass(frozen=True, slots=True)
class Peer:
    """`find` takes the BGR pixels of a whole frame; `settings` says how it was set up.

    `same_weights`: it runs the very networks of the pack that is measured.
    """

    name: str
    version: str
    settings: str
    same_weights: bool
    find: Callable[[U8], list[PeerFace]]


@dataclass(frozen=True, slots=True)
class Agreement:
    """How alike a peer's face is to ours: overlap of the boxes; cosine, for the same networks."""

    overlap: float
    cosine: float | None


def overlap(a: Box, b: Box) -> float:
    """Intersection over union."""
    width = min(a.right, b.right) - max(a.left, b.left)
    height = min(a.bottom, b.bottom) - max(a.top, b.top)
    shared = max(width, 0.0) * max(height, 0.0)
    return shared / (a.area + b.area - shared) if shared else 0.0


def agreement(
    peer: Peer, detection: FaceDetection, embedding: Embedding, faces: list[PeerFace]
) -> Agreement | None:
    """Whether the peer did the same work: None where it found another face, none or several."""
    if len(faces) != 1 or overlap(detection.box, faces[0].box) < 0.5:
        return None
    vector = faces[0].vector.reshape(-1)
    cosine = None
    if peer.same_weights:
        product = float(vector @ embedding.vector)
        cosine = product / float((vector @ vector) ** 0.5)
    return Agreement(overlap=overlap(detection.box, faces[0].box), cosine=cosine)
