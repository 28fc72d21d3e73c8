"""The golden pair: one picture and what the converted network answered, for the device's test.

The picture is one of the pack's published photographs, never one of a calibration set: an archive
travels, and people at a device did not agree to that.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any

import cv2
import numpy as np

from edgefaced.core.letterbox import fit
from edgefaced.core.sampling import draw
from edgefaced.models.preparing import photographs
from edgefaced.pictures.decode import frame_of
from edgefaced.protocols import InferenceBackend
from edgefaced.recognition.contract import IMAGE
from edgefaced.recognition.recogniser import Recogniser
from edgefaced.types import F32, FACE_SIDE_PX, U8
from edgefaced_convert.packs import OpenPack, PackNetwork

Answers = Mapping[str, F32]

LOWEST_COSINE = {"rknn": 0.97, "onnx": 0.99}
"""An NPU rounds otherwise than the simulator; a CPU without VNNI saturates where others do not."""


def golden_picture(opened: OpenPack, network: PackNetwork, recogniser: Recogniser) -> U8:
    """(1, height, width, 3) in the network's order of channels."""
    order = network.spec.input.colour_order
    for pixels in photographs(opened.manifest, opened.store):
        frame = frame_of(pixels)
        faces = recogniser.detect(frame)
        if not faces:
            continue
        if network.spec.decoder is None:
            aligned = recogniser.align(frame, faces[0])
            face = aligned.pixels
            if aligned.colour_order is not order:
                face = np.asarray(cv2.cvtColor(face, cv2.COLOR_BGR2RGB), np.uint8)
            return face[np.newaxis]
        picture = np.zeros((1, network.size, network.size, 3), np.uint8)
        box = fit(frame.width, frame.height, network.size, network.size)
        draw(picture[0], frame, box, order)
        return picture
    return drawn_picture(network.size if network.spec.decoder else FACE_SIDE_PX)


def drawn_picture(side: int) -> U8:
    """Soft coloured blobs, the same everywhere: for a pack without photographs."""
    coarse = np.random.default_rng(7).integers(0, 256, (8, 8, 3), dtype=np.uint8)
    smooth = cv2.resize(coarse, (side, side), interpolation=cv2.INTER_CUBIC)
    return np.asarray(smooth, np.uint8)[np.newaxis]


def answers_of(backend: InferenceBackend, picture: U8) -> Answers:
    """Each output by its name."""
    answers = backend.run({IMAGE: picture})
    return {
        spec.name: np.array(answer, np.float32)
        for spec, answer in zip(backend.outputs, answers, strict=True)
    }


def golden_file(picture: U8, answers: Answers) -> bytes:
    """The .npz that `compiled.toml` names: `image`, and each output as float32."""
    named: dict[str, Any] = dict(answers)
    buffer = io.BytesIO()
    np.savez_compressed(buffer, image=picture, **named)
    return buffer.getvalue()
