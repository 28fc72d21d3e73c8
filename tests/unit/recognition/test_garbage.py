"""Networks that give what no face gives: nobody is found, nobody matches, and it is said."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from networks import detector_spec, embedder_spec

from edgefaced.core.quality import measure_quality
from edgefaced.core.sampling import cut_face
from edgefaced.errors import EmbeddingError, ModelContractError, ModelError
from edgefaced.inference.canned import CannedBackend
from edgefaced.models.manifest import OutputSpec
from edgefaced.pipeline.watch import Watcher
from edgefaced.protocols import Tensor, TensorSpec
from edgefaced.recognition.detector import NetworkDetector
from edgefaced.recognition.embedder import NetworkEmbedder
from edgefaced.types import AlignedFace, ColourOrder, Frame, PixelFormat

SIDE, CELLS = 32, 16
NAN, INFINITE = float("nan"), float("inf")


def tensor(name: str, *shape: int, dtype: type = np.float32) -> TensorSpec:
    return TensorSpec(name, shape, np.dtype(dtype))


IMAGE = tensor("image", 1, SIDE, SIDE, 3, dtype=np.uint8)
FACE = tensor("image", 1, 112, 112, 3, dtype=np.uint8)
WIDTHS = (("score", 1), ("box", 4), ("landmarks", 10))
OUTPUTS = tuple(
    tensor(f"{name}_8", CELLS, width)
    for name, width in (("score", 1), ("box", 4), ("landmarks", 10))
)


def detector(*answers: list[Tensor], outputs: tuple[TensorSpec, ...] = OUTPUTS) -> NetworkDetector:
    named = [OutputSpec(name=output.name, shape=None) for output in OUTPUTS]
    spec = detector_spec(b"network", shape=(1, 3, SIDE, SIDE), sizes=(SIDE,), outputs=named)
    return NetworkDetector(CannedBackend([IMAGE], outputs, answers), spec, size=SIDE)


def answer(score: float, box: float, landmarks: float) -> list[Tensor]:
    values = (score, box, landmarks)
    return [np.full(o.shape, v, np.float32) for o, v in zip(OUTPUTS, values, strict=True)]


def frame(number: int = 0) -> Frame:
    pixels = np.random.default_rng(number).integers(0, 256, (48, 64, 3), np.uint8)
    return Frame(number, 0, pixels, PixelFormat.BGR)


@pytest.mark.parametrize(
    ("garbage", "words"),
    [
        (answer(NAN, 1, 1), "scores are no numbers"),
        (answer(INFINITE, 1, 1), "scores are no numbers"),
        (answer(0.9, NAN, 1), "boxes are no numbers"),
        (answer(0.9, 1, INFINITE), "boxes are no numbers"),
    ],
)
def test_a_detector_without_numbers_is_an_error_and_finds_nobody(
    garbage: list[Tensor], words: str
) -> None:
    with pytest.raises(ModelError, match=words) as caught:
        detector(garbage).detect(frame())
    assert caught.value.exit_code == ModelError.exit_code
    assert "\n" not in str(caught.value)


def test_a_detector_with_other_shapes_is_an_error() -> None:
    outputs = (tensor("score_8", CELLS + 1, 1), *OUTPUTS[1:])
    other = [np.ones((CELLS + 1, 1), np.float32), *answer(1, 1, 1)[1:]]
    with pytest.raises(ModelContractError):
        detector(other, outputs=outputs).detect(frame())


@pytest.mark.parametrize(
    "raw",
    [np.full((1, 16), value, np.float32) for value in (NAN, INFINITE, 0.0)]
    + [np.ones((1, 15), np.float32), np.ones((2, 16), np.float32)],
    ids=["nan", "infinite", "zero", "short", "two"],
)
def test_an_embedding_that_is_no_direction_is_an_error(raw: Tensor) -> None:
    backend = CannedBackend([FACE], [tensor("vector", *raw.shape)], [[raw]])
    face = AlignedFace(np.zeros((112, 112, 3), np.uint8), ColourOrder.RGB)
    with pytest.raises(EmbeddingError):
        NetworkEmbedder(backend, embedder_spec(b"network")).embed(face)


def numbers(shape: tuple[int, ...]) -> st.SearchStrategy[Any]:
    """Whatever a float can be, small numbers as well, and mostly not the same one."""
    return arrays(np.float32, shape, elements=st.floats(width=32) | st.floats(-9, 9, width=32))


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(*(numbers(o.shape) for o in OUTPUTS)), min_size=2, max_size=4))
def test_whatever_a_detector_gives_is_followed_and_cut_or_refused(
    answers: list[tuple[Tensor, ...]],
) -> None:
    network = detector(*(list(given_) for given_ in answers))
    watcher = Watcher(network, network)
    with np.errstate(over="ignore", invalid="ignore"):
        for number in range(len(answers)):
            shown = frame(number)
            try:
                result = watcher.watch(shown, key_frame_interval=2, now=number / 30)
            except ModelError:
                return
            for track in result.seen[:2]:
                points = track.detection.landmarks
                pixels = cut_face(shown, points, ColourOrder.BGR)
                measure_quality(pixels, ColourOrder.BGR, points, frame_width=64, frame_height=48)
