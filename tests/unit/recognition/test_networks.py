"""Detector, embedder and their contract, driven by manifests of ours and canned networks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from edgefaced.core.align import TEMPLATE
from edgefaced.errors import EmbeddingError, ModelContractError, ModelError
from edgefaced.inference.canned import CannedBackend
from edgefaced.models.manifest import ModelSpec
from edgefaced.protocols import Tensor, TensorSpec
from edgefaced.recognition.detector import NetworkDetector
from edgefaced.recognition.embedder import NetworkEmbedder
from edgefaced.recognition.recogniser import Recogniser
from edgefaced.types import AlignedFace, ColourOrder, Frame, PixelFormat

SIDE = 64
ROWS = {32: 4}  # one stride only: 2 x 2 cells, one anchor


def spec(role: str, **more: Any) -> ModelSpec:
    table: dict[str, Any] = {
        "role": role,
        "id": f"test-{role}",
        "file": "a.onnx",
        "size_bytes": 1,
        "sha256": "0" * 64,
        "licence": "none",
        "commercial_use": True,
        "source": [],
        "input": {
            "name": "x",
            "shape": [1, 3, SIDE, SIDE],
            "layout": "NCHW",
            "colour_order": "RGB",
            "mean": [0, 0, 0],
            "std": [1, 1, 1],
        },
    }
    if role == "detector":
        table["input"]["sizes"] = [SIDE]
        table["output"] = [{"name": n} for n in ("s", "b", "k")]
        table["decoder"] = {
            "kind": "scrfd",
            "strides": [32],
            "anchors": 1,
            "scores": ["s"],
            "boxes": ["b"],
            "landmarks": ["k"],
            "score_threshold": 0.5,
            "nms_iou": 0.4,
        }
    else:
        table["output"] = [{"name": "e"}]
        table["embedding"] = {"id": "test-16", "dimension": 16, "output": "e"}
        table["input"]["shape"] = [1, 3, 112, 112]
    table.update(more)
    return ModelSpec.model_validate(table)


def tensor(name: str, *shape: int, dtype: type = np.float32) -> TensorSpec:
    return TensorSpec(name, shape, np.dtype(dtype))


IMAGE = tensor("image", 1, SIDE, SIDE, 3, dtype=np.uint8)
FACE = tensor("image", 1, 112, 112, 3, dtype=np.uint8)
OUTPUTS = (tensor("s", 1, 4, 1), tensor("b", 1, 4, 4), tensor("k", 1, 4, 10))


class Recording(CannedBackend):
    """Keeps what it is fed, where it lies."""

    def __init__(self, *parts: Any) -> None:
        super().__init__(*parts)
        self.seen: list[Tensor] = []

    def run(self, feeds: Any) -> Any:
        self.seen.append(feeds["image"])
        return super().run(feeds)


def one_face(score: float) -> list[Tensor]:
    """A face at cell (1, 1), whose anchor lies at (32, 32): box 16..48, landmarks on a template."""
    scores, boxes = np.zeros((1, 4, 1), np.float32), np.zeros((1, 4, 4), np.float32)
    points = np.zeros((1, 4, 10), np.float32)
    scores[0, 3], boxes[0, 3] = score, 0.5
    points[0, 3] = ((TEMPLATE / 3.5 - 16) / 32).reshape(-1)
    return [scores, boxes, points]


def detector(answers: list[list[Tensor]], **more: Any) -> NetworkDetector:
    return NetworkDetector(
        CannedBackend([IMAGE], OUTPUTS, answers), spec("detector"), size=SIDE, **more
    )


def frame(width: int = 128, height: int = 128) -> Frame:
    random = np.random.default_rng(1)
    pixels = random.integers(0, 256, (height, width, 3), np.uint8)
    return Frame(1, 0, pixels, PixelFormat.BGR)


def test_a_face_is_found_in_frame_coordinates() -> None:
    found = detector([one_face(0.9)]).detect(frame())
    assert len(found) == 1
    assert found[0].score == pytest.approx(0.9)
    assert found[0].box.left == pytest.approx(16.5 * 2 - 0.5)
    assert found[0].box.bottom == pytest.approx(48.5 * 2 - 0.5)


def test_the_threshold_is_the_packs_or_the_callers() -> None:
    assert detector([one_face(0.45)]).detect(frame()) == []
    assert len(detector([one_face(0.45)], score_threshold=0.4).detect(frame())) == 1


def test_the_input_is_aligned_for_dma_and_in_the_models_order() -> None:
    blue = Frame(0, 0, np.full((64, 64, 3), (255, 0, 0), np.uint8), PixelFormat.BGR)
    backend = Recording([IMAGE], OUTPUTS, [one_face(0.1)])
    NetworkDetector(backend, spec("detector"), size=SIDE).detect(blue)
    assert backend.seen[0].ctypes.data % 64 == 0
    assert backend.seen[0][0, 5, 5].tolist() == [0, 0, 255]


def test_a_rehearsal_is_a_run_on_black_of_the_largest_size() -> None:
    free = tensor("image", 1, -1, -1, 3, dtype=np.uint8)
    nothing = np.zeros((1, 16), np.float32)  # no direction, and nobody asks for one
    finder = Recording([free], OUTPUTS, [one_face(0.1)])
    mind = Recording([FACE], [tensor("e", 1, 16)], [[nothing]])
    NetworkDetector(finder, spec("detector"), size=SIDE).rehearse()
    NetworkEmbedder(mind, spec("embedder")).rehearse()
    seen = [*finder.seen, *mind.seen]
    assert [image.shape for image in seen] == [(1, SIDE, SIDE, 3), (1, 112, 112, 3)]
    assert not any(image.any() for image in seen)


def test_a_network_that_cannot_run_fails_at_its_rehearsal() -> None:
    backend = CannedBackend([IMAGE], OUTPUTS, [one_face(0.1)])
    network = NetworkDetector(backend, spec("detector"), size=SIDE)
    backend.close()
    with pytest.raises(ModelError, match="closed"):
        network.rehearse()


def test_a_network_of_free_size_sees_no_more_than_the_frame() -> None:
    free = tensor("image", 1, -1, -1, 3, dtype=np.uint8)
    outputs = (tensor("s", 1, -1, 1), tensor("b", 1, -1, 4), tensor("k", 1, -1, 10))
    row = [values[:, 2:] for values in one_face(0.9)]  # one row of cells, the face in its second
    answers = [row, one_face(0.9), row]
    backend = Recording([free], outputs, answers)
    wide = NetworkDetector(backend, spec("detector"), size=SIDE)
    (above,) = wide.detect(frame(128, 60))
    (square,) = wide.detect(frame(128, 128))
    wide.detect(frame(1000, 10))
    assert [fed.shape for fed in backend.seen] == [(1, 32, 64, 3), (1, 64, 64, 3), (1, 32, 64, 3)]
    assert all(fed.ctypes.data % 64 == 0 for fed in backend.seen)
    assert above.box.left == pytest.approx(square.box.left) == pytest.approx(16.5 * 2 - 0.5)
    assert square.box.bottom == pytest.approx(48.5 * 2 - 0.5)
    assert above.box.bottom == pytest.approx(16.5 * 2 - 0.5)


def test_a_size_that_the_strides_do_not_divide_is_refused() -> None:
    free = tensor("image", 1, -1, -1, 3, dtype=np.uint8)
    backend = CannedBackend([free], OUTPUTS, [one_face(0.1)])
    with pytest.raises(ModelContractError, match="multiples of 32 pixels, not 80"):
        NetworkDetector(backend, spec("detector"), size=80)


def test_a_decoder_that_does_not_fit_is_a_contract_error() -> None:
    outputs = (tensor("s", 1, 5, 1), tensor("b", 1, 5, 4), tensor("k", 1, 5, 10))
    answer = [np.zeros(o.shape, np.float32) for o in outputs]
    broken = NetworkDetector(CannedBackend([IMAGE], outputs, [answer]), spec("detector"), size=SIDE)
    with pytest.raises(ModelContractError, match="test-detector: stride 32: 5 scores"):
        broken.detect(frame())


@pytest.mark.parametrize(
    ("inputs", "outputs", "words"),
    [
        ([IMAGE, FACE], OUTPUTS, "takes 2 inputs"),
        ([tensor("picture", 1, 64, 64, 3, dtype=np.uint8)], OUTPUTS, "takes picture"),
        ([tensor("image", 1, 64, 64, 3)], OUTPUTS, "float32"),
        ([tensor("image", 1, 3, 64, 64, dtype=np.uint8)], OUTPUTS, r"\[1, 3, 64, 64\]"),
        ([tensor("image", 2, 64, 64, 3, dtype=np.uint8)], OUTPUTS, r"\[2, 64, 64, 3\]"),
        ([IMAGE], OUTPUTS[:2], r"gives \['b', 's'\]"),
    ],
)
def test_a_network_that_breaks_its_contract_is_refused(
    inputs: list[TensorSpec], outputs: tuple[TensorSpec, ...], words: str
) -> None:
    answer = [np.zeros(o.shape, o.dtype) for o in outputs]
    with pytest.raises(ModelContractError, match=words):
        NetworkDetector(CannedBackend(inputs, outputs, [answer]), spec("detector"), size=SIDE)


def embedder(answer: Tensor, *, face: TensorSpec = FACE) -> NetworkEmbedder:
    backend = CannedBackend([face], [tensor("e", *answer.shape)], [[answer]])
    return NetworkEmbedder(backend, spec("embedder"))


def test_an_embedding_is_a_direction_with_the_models_id() -> None:
    raw = np.arange(16, dtype=np.float32)[np.newaxis]
    face = AlignedFace(np.zeros((112, 112, 3), np.uint8), ColourOrder.BGR)
    embedding = embedder(raw).embed(face)
    assert embedding.model_id == "test-16"
    np.testing.assert_allclose(embedding.vector, raw[0] / np.linalg.norm(raw), rtol=1e-6)


def test_a_broken_answer_is_an_error_with_a_way_out() -> None:
    face = AlignedFace(np.zeros((112, 112, 3), np.uint8), ColourOrder.RGB)
    with pytest.raises(EmbeddingError, match="models verify"):
        embedder(np.full((1, 16), np.nan, np.float32)).embed(face)
    with pytest.raises(EmbeddingError, match="16 values, not 8"):
        embedder(np.ones((1, 8), np.float32)).embed(face)


def test_roles_and_sizes_are_checked() -> None:
    backend = CannedBackend([IMAGE], OUTPUTS, [one_face(0.1)])
    with pytest.raises(ModelContractError, match="not a detector"):
        NetworkDetector(backend, spec("embedder"), size=SIDE)
    with pytest.raises(ModelContractError, match="not an embedder"):
        NetworkEmbedder(backend, spec("detector"))
    with pytest.raises(ModelContractError, match="64, 64"):
        embedder(np.ones((1, 16), np.float32), face=IMAGE)


def test_a_recogniser_observes_aligns_and_embeds_in_the_embedders_order() -> None:
    eyes = CannedBackend([IMAGE], OUTPUTS, [one_face(0.9)])
    mind = CannedBackend([FACE], [tensor("e", 1, 16)], [[np.ones((1, 16), np.float32)]])
    recogniser = Recogniser(
        NetworkDetector(eyes, spec("detector"), size=SIDE),
        NetworkEmbedder(mind, spec("embedder")),
        (eyes, mind),
    )
    with recogniser:
        (seen,) = recogniser.observe(frame())
        assert seen.aligned.colour_order is ColourOrder.RGB
        assert seen.quality.inside == 1
        assert recogniser.embed(seen.aligned).model_id == recogniser.model_id == "test-16"
    recogniser.close()  # twice is allowed
