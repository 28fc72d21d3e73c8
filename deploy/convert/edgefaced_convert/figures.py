"""What a proof measures, and the bars that it has to hold."""

from __future__ import annotations

from dataclasses import dataclass

ACCEPTED_COSINE, REFUSED_COSINE = 0.99, 0.95
"""Mean cosine of embeddings: below the first they are another network's, below the second no
choice of layers is likely to help."""
LARGEST_LFW_LOSS = 0.002
LARGEST_LANDMARK_ERROR = 0.02
"""Of the face's width, on average."""
LARGEST_LOST_SHARE = 0.03
"""Of the faces that float32 finds in a set's held-out frames, many of them at the edge of what it
finds at all; one face is always allowed. Of the pictures that are named, one face at most."""


@dataclass(frozen=True, slots=True)
class EmbedderFigures:
    """Embeddings of the same faces by the converted network and by float32."""

    faces: int
    mean_cosine: float
    first_percentile: float
    lowest: float

    @property
    def fault(self) -> str:
        """What keeps the network from serving the same embedding id; "" where nothing does."""
        if self.mean_cosine >= ACCEPTED_COSINE:
            return ""
        way = "quantise mixed" if self.mean_cosine >= REFUSED_COSINE else "mixed precision or QAT"
        return (
            f"mean cosine {self.mean_cosine:.4f} over {self.faces} faces, below "
            f"{ACCEPTED_COSINE}: {way}"
        )


@dataclass(frozen=True, slots=True)
class LfwFigures:
    """LFW's protocol on the pairs of a list; TAR at the lowest FAR that they can show, if any."""

    pairs: int
    accuracy: float
    accuracy_float: float
    tar: float | None = None
    tar_float: float | None = None
    far: float | None = None

    @property
    def fault(self) -> str:
        if round(self.accuracy_float - self.accuracy, 9) <= LARGEST_LFW_LOSS:
            return ""
        return (
            f"LFW accuracy {self.accuracy:.4f}, float32 {self.accuracy_float:.4f} on {self.pairs} "
            f"pairs: more than {LARGEST_LFW_LOSS} lost"
        )


@dataclass(frozen=True, slots=True)
class DetectorFigures:
    """Faces found in the same pictures; `recall` of known faces, None without a list of them."""

    pictures: int
    faces: int
    faces_float: int
    lost: int
    box_overlap: float
    """Mean IoU of the boxes that both found."""
    landmark_error: float
    """Mean distance of landmarks over the float32 face's width."""
    known: int = 0
    recall: float | None = None
    recall_float: float | None = None

    @property
    def fault(self) -> str:
        if self.lost > max(1, LARGEST_LOST_SHARE * self.faces_float):
            return self._lost
        if not self.landmark_error < LARGEST_LANDMARK_ERROR:
            return f"landmarks are off by {self.landmark_error:.1%} of the face's width"
        return ""

    @property
    def strict_fault(self) -> str:
        """The same for pictures that were named: one lost face is all that is allowed."""
        return self._lost if self.lost > 1 else self.fault

    @property
    def _lost(self) -> str:
        return f"{self.lost} of {self.faces_float} faces lost in {self.pictures} pictures"
