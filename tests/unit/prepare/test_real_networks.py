"""The networks of the packs, as far as this machine has them, against the files as they came.

The expected answers come from onnxruntime or OpenCV and from cv2.dnn.blobFromImage, none of which
the preparation's own proof uses for its input.
"""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest
from networks import answers

from edgefaced.inference.onnx import OnnxBackend
from edgefaced.models.catalogue import catalogue
from edgefaced.models.manifest import ModelSpec
from edgefaced.models.prepare import PreparedVariant, prepare_model
from edgefaced.types import F32, U8, ColourOrder

PACKS = catalogue([Path(__file__).resolve().parents[2] / "packs"])
NETWORKS = {
    "scrfd-500m": ("mobilefacenet", "det_500m.onnx"),
    "mobilefacenet-128": ("mobilefacenet", "foamliu_MobileFaceNet.onnx"),
    "w600k-mbf-dequantised": ("w600k-mbf-dequantised", "w600k_mbf_dequantised_fp32.onnx"),
}


def blob(spec: ModelSpec, picture: U8) -> F32:
    """OpenCV's own preparation of an input; the last division is ours, it knows one factor only."""
    swap = spec.input.colour_order is ColourOrder.RGB
    made = cv2.dnn.blobFromImage(picture, mean=spec.input.mean, swapRB=swap)
    value: F32 = (made / np.reshape(spec.input.std, (1, 3, 1, 1))).astype(np.float32)
    return value


def photograph(shared_data: Path, size: int) -> U8:
    picture = cv2.imread(str(sorted((shared_data / "detect" / "dlib").glob("*.jpg"))[0]))
    assert picture is not None
    scaled: U8 = cv2.resize(picture, (size, size), interpolation=cv2.INTER_AREA).astype(np.uint8)
    return scaled


def check(spec: ModelSpec, variant: PreparedVariant, picture: U8, wanted: dict[str, F32]) -> None:
    image = picture if spec.input.colour_order is ColourOrder.BGR else picture[..., ::-1].copy()
    for data, optimise in ((variant.portable, True), (variant.optimised, False)):
        backend = OnnxBackend(data, threads=1, optimise=optimise)
        given = backend.run({"image": image[None]})
        assert [o.name for o in backend.outputs] == [o.name for o in spec.output]
        for output, value in zip(backend.outputs, given, strict=True):
            scale = max(1.0, float(np.abs(wanted[output.name]).max()))
            np.testing.assert_allclose(
                value, wanted[output.name], rtol=0, atol=2e-5 * scale, err_msg=output.name
            )


@pytest.mark.parametrize("model_id", [*NETWORKS])
def test_prepared_networks_answer_as_the_files_do(shared_data: Path, model_id: str) -> None:
    pack, file = NETWORKS[model_id]
    (spec,) = (model for model in PACKS[pack].model if model.id == model_id)
    original = (shared_data / "models" / file).read_bytes()
    prepared = prepare_model(spec, original, [photograph(shared_data, 400)], 1)
    sizes = spec.input.sizes or (112,)
    assert [variant.size for variant in prepared.variants] == [*sizes]
    for variant in prepared.variants:
        assert variant.proof.lowest_cosine >= 0.999999
        picture = photograph(shared_data, variant.size)
        wanted = answers(original, {spec.input.name: blob(spec, picture)})
        check(spec, variant, picture, wanted)


def test_yunet_exported_at_640_answers_at_320_as_it_does_in_opencv(shared_data: Path) -> None:
    """The pack's file is this one with its weights in int8 blocks; names and shapes are alike."""
    (spec,) = (model for model in PACKS["commercial"].model if model.decoder)
    original = (shared_data / "models" / "face_detection_yunet_2023mar.onnx").read_bytes()
    prepared = prepare_model(spec, original, [], 1)
    net = cv2.dnn.readNetFromONNX(np.frombuffer(original, np.uint8))
    for variant in prepared.variants:
        picture = photograph(shared_data, variant.size)
        net.setInput(blob(spec, picture), spec.input.name)
        names = [output.name for output in spec.output]
        wanted = [np.array(value, np.float32) for value in net.forward(names)]
        check(spec, variant, picture, dict(zip(names, wanted, strict=True)))
