"""One suite for every inference back end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import fake_rknnlite
import npu_rigs
import numpy as np
import pytest
from networks import network
from onnx import helper

from edgefaced.errors import ModelError
from edgefaced.inference.canned import CannedBackend
from edgefaced.inference.librknnrt import PRIORITY_HIGH
from edgefaced.inference.onnx import OnnxBackend
from edgefaced.inference.rknn import RknnBackend
from edgefaced.inference.rknn_direct import DirectRknnBackend
from edgefaced.protocols import InferenceBackend, TensorSpec

IMAGE = TensorSpec("image", (1, 4, 4, 3), np.dtype(np.uint8))
SUM = TensorSpec("sum", (1, 3), np.dtype(np.float32))
MEAN = TensorSpec("mean", (1, 3), np.dtype(np.float32))
PICTURE = np.arange(48, dtype=np.uint8).reshape(1, 4, 4, 3)


def rknn_backend(request: pytest.FixtureRequest) -> InferenceBackend:
    """By a fake rknnlite that keeps its output memory for the next call, as the real one may."""
    folder: Path = request.getfixturevalue("tmp_path")
    board = fake_rknnlite.Board({npu_rigs.FILE: npu_rigs.add_up})
    fake_rknnlite.install(request.getfixturevalue("monkeypatch"), board)
    library = folder / "librknnrt.so"
    library.write_bytes(b"librknnrt version: 2.3.0 (a fake)")
    network = npu_rigs.small_network(folder)
    return RknnBackend(network, npu_rigs.npu(library), core_mask=1)


def direct_rknn_backend(request: pytest.FixtureRequest) -> InferenceBackend:
    """By a double of librknnrt that is compiled from C."""
    folder: Path = request.getfixturevalue("tmp_path")
    library = npu_rigs.build_double(folder)
    network = npu_rigs.small_network(folder)
    return DirectRknnBackend(network, npu_rigs.npu(library), core_mask=1, priority=PRIORITY_HIGH)


def onnx_backend(request: pytest.FixtureRequest | None = None) -> InferenceBackend:
    """Adds up and averages a picture's channels."""
    nodes = [
        helper.make_node("Cast", ["image"], ["pixels"], to=1),
        helper.make_node("ReduceMean", ["pixels"], ["mean"], axes=[1, 2], keepdims=0),
        helper.make_node("Mul", ["mean", "count"], ["sum"]),
    ]
    count = np.array(16, np.float32)
    model = network(nodes, {"count": count}, {}, {"sum": [1, 3], "mean": [1, 3]})
    return OnnxBackend(with_image_input(model), threads=1, optimise=True)


def with_image_input(model: bytes) -> bytes:
    import onnx

    proto = onnx.load_model_from_string(model)
    proto.graph.input.append(
        helper.make_tensor_value_info("image", onnx.TensorProto.UINT8, [*IMAGE.shape])
    )
    return bytes(proto.SerializeToString())


def canned_backend(request: pytest.FixtureRequest) -> InferenceBackend:
    """Knows the answer for PICTURE."""
    pixels = PICTURE.astype(np.float32)
    answer = (pixels.sum(axis=(1, 2)), pixels.mean(axis=(1, 2)))
    return CannedBackend([IMAGE], [SUM, MEAN], [answer])


@pytest.fixture(params=[onnx_backend, canned_backend, rknn_backend, direct_rknn_backend])
def backend(request: pytest.FixtureRequest) -> Iterator[InferenceBackend]:
    make: Callable[[pytest.FixtureRequest], InferenceBackend] = request.param
    opened = make(request)
    yield opened
    opened.close()


def test_says_what_it_takes_and_gives(backend: InferenceBackend) -> None:
    assert backend.inputs == (IMAGE,)
    assert backend.outputs == (SUM, MEAN)


def test_answers_in_the_order_of_its_outputs(backend: InferenceBackend) -> None:
    total, mean = backend.run({"image": PICTURE})
    np.testing.assert_allclose(total, PICTURE.astype(np.float32).sum(axis=(1, 2)), rtol=1e-6)
    np.testing.assert_allclose(mean, PICTURE.astype(np.float32).mean(axis=(1, 2)), rtol=1e-6)
    assert total.dtype == mean.dtype == np.float32


def test_answers_the_same_again_after_a_reader_wrote_into_the_answer(
    backend: InferenceBackend,
) -> None:
    first = backend.run({"image": PICTURE})
    kept = [tensor.copy() for tensor in first]
    for tensor in first:
        tensor[...] = -1
    for old, new in zip(kept, backend.run({"image": PICTURE}), strict=True):
        np.testing.assert_array_equal(old, new)


def test_takes_a_picture_that_is_not_contiguous(backend: InferenceBackend) -> None:
    wide = np.zeros((1, 4, 8, 3), np.uint8)
    wide[:, :, ::2] = PICTURE
    total, _ = backend.run({"image": wide[:, :, ::2]})
    np.testing.assert_allclose(total, PICTURE.astype(np.float32).sum(axis=(1, 2)), rtol=1e-6)


@pytest.mark.parametrize(
    ("feeds", "said"),
    [
        ({}, "input 'image' is missing"),
        ({"picture": PICTURE}, "input 'image' is missing"),
        ({"image": PICTURE, "mask": PICTURE}, "no input 'mask'"),
        ({"image": PICTURE[0]}, r"uint8 \[4, 4, 3\], the network takes uint8 \[1, 4, 4, 3\]"),
        ({"image": PICTURE.astype(np.float32)}, "is float32"),
        ({"image": np.zeros((1, 4, 5, 3), np.uint8)}, r"\[1, 4, 5, 3\]"),
    ],
)
def test_refuses_what_is_not_its_input(
    backend: InferenceBackend, feeds: dict[str, np.ndarray], said: str
) -> None:
    with pytest.raises(ModelError, match=said):
        backend.run(feeds)
    backend.run({"image": PICTURE})  # and goes on


def test_closing_twice_is_allowed_and_running_afterwards_is_not(backend: InferenceBackend) -> None:
    backend.close()
    backend.close()
    with pytest.raises(ModelError, match="closed"):
        backend.run({"image": PICTURE})
    assert backend.inputs == (IMAGE,)


def test_two_of_a_kind_do_not_share_their_answers() -> None:
    first, second = onnx_backend(), onnx_backend()
    a = first.run({"image": PICTURE})[0].copy()
    second.run({"image": np.zeros_like(PICTURE)})
    np.testing.assert_array_equal(a, first.run({"image": PICTURE})[0])
    first.close()
    assert second.run({"image": PICTURE})[0].shape == SUM.shape
    second.close()
