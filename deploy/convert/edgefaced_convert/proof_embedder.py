"""Embeddings before and after: cosines on held-out faces, LFW on its pairs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np

from edgefaced.evaluation.embedding import EmbeddedPictures, most_central
from edgefaced.evaluation.lfw import evaluate_lfw, score_pairs
from edgefaced.evaluation.pairs import PairList, read_pairs
from edgefaced.pictures.decode import frame_of, read_picture
from edgefaced.protocols import Embedder
from edgefaced.recognition.recogniser import Recogniser
from edgefaced.types import F32, U8, AlignedFace, ColourOrder
from edgefaced_convert.figures import EmbedderFigures, LfwFigures


@dataclass(frozen=True, slots=True, eq=False)
class AlignedPairs:
    """A pair list and the aligned face of each picture that has one."""

    listed: PairList
    faces: tuple[AlignedFace, ...]
    found: tuple[int, ...]
    faceless: tuple[int, ...]


def embed_all(embedder: Embedder, faces: Sequence[AlignedFace]) -> F32:
    """One unit vector a row."""
    return np.stack([embedder.embed(face).vector for face in faces])


def aligned(pictures: Sequence[U8]) -> list[AlignedFace]:
    """RGB pictures of a calibration set as aligned faces."""
    return [AlignedFace(pixels, ColourOrder.RGB) for pixels in pictures]


def as_fed(pictures: Sequence[U8], order: ColourOrder) -> list[U8]:
    """RGB pictures in the order of channels that a network takes."""
    if order is ColourOrder.RGB:
        return list(pictures)
    return [np.asarray(cv2.cvtColor(p, cv2.COLOR_RGB2BGR), np.uint8) for p in pictures]


def cosines(before: F32, after: F32) -> EmbedderFigures:
    """Row by row."""
    each = np.einsum("ij,ij->i", before.astype(np.float64), after.astype(np.float64))
    return EmbedderFigures(
        faces=len(each),
        mean_cosine=float(each.mean()),
        first_percentile=float(np.percentile(each, 1)),
        lowest=float(each.min()),
    )


def align_pairs(folder: Path, recogniser: Recogniser, advance: Callable[[], None]) -> AlignedPairs:
    """The faces of LFW's pictures, found once for both networks. Raises UsageError."""
    listed = read_pairs(folder)
    faces, found, faceless = [], [], []
    for index, path in enumerate(listed.pictures.paths):
        frame = frame_of(read_picture(path), index)
        seen = recogniser.detect(frame)
        if seen:
            faces.append(recogniser.align(frame, most_central(seen, frame)))
            found.append(index)
        else:
            faceless.append(index)
        advance()
    return AlignedPairs(listed, tuple(faces), tuple(found), tuple(faceless))


def lfw_figures(pairs: AlignedPairs, before: F32, after: F32) -> LfwFigures:
    """LFW with the embeddings of both networks, rows as in `pairs.faces`."""
    results = []
    for vectors in (after, before):
        embedded = EmbeddedPictures(vectors, pairs.found, pairs.faceless, (), 0)
        results.append(evaluate_lfw(score_pairs(pairs.listed, embedded)))
    quantised, plain = results
    lowest, lowest_plain = (result.tar_at_far[-1:] for result in results)
    return LfwFigures(
        pairs=quantised.pairs,
        accuracy=quantised.accuracy.mean,
        accuracy_float=plain.accuracy.mean,
        tar=lowest[0].tar if lowest else None,
        tar_float=lowest_plain[0].tar if lowest_plain else None,
        far=lowest[0].wanted_fmr if lowest else None,
    )
