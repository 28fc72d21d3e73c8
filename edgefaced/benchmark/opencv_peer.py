"""OpenCV's own face classes, FaceDetectorYN and FaceRecognizerSF, on the original files."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np

from edgefaced.benchmark.peer import Peer, PeerFace
from edgefaced.core.letterbox import fit
from edgefaced.models.manifest import ModelSpec, PackManifest
from edgefaced.models.prepare.contract import input_shape
from edgefaced.models.prepare.onnx_file import read_graph, require_onnx, write_graph
from edgefaced.models.prepare.sizing import fix_size
from edgefaced.models.store import ModelStore
from edgefaced.types import FACE_SIDE_PX, U8, Box, Role

NAME = "opencv"
PACK = "commercial"
"""The pack whose networks are OpenCV's: YuNet and SFace."""

SCORE_THRESHOLD = 0.7
NMS_THRESHOLD = 0.3


def open_opencv(
    store: ModelStore, original: PackManifest, measured: PackManifest, folder: Path, *, size: int
) -> Peer:
    """The classes with the networks of pack `original`, which are put into the empty `folder`.

    The frame is made as small as for our own detector, as OpenCV's samples do. Raises
    ModelMissing, DependencyMissing.
    """
    detector, embedder = original.of_role(Role.DETECTOR), original.of_role(Role.EMBEDDER)
    # It warns that its new engine has no targets, which nobody asked for.
    cv2.utils.logging.setLogLevel(cv2.utils.logging.LOG_LEVEL_ERROR)
    yunet_file = _put(folder, detector, store.original(detector))
    sface_file = _put(folder, embedder, plain_weights(embedder, store.original(embedder)))
    yunet = cv2.FaceDetectorYN.create(yunet_file, "", (size, size), SCORE_THRESHOLD, NMS_THRESHOLD)
    sface = cv2.FaceRecognizerSF.create(sface_file, "")

    def find(pixels: U8) -> list[PeerFace]:
        height, width = pixels.shape[:2]
        box = fit(width, height, size, size)
        small = cv2.resize(pixels, (box.fitted_width, box.fitted_height))
        yunet.setInputSize((box.fitted_width, box.fitted_height))
        found = yunet.detect(small)[1]
        faces: list[PeerFace] = []
        for row in () if found is None else found:
            row[:14] *= width / box.fitted_width
            face = sface.feature(sface.alignCrop(pixels, row))
            left, top, across, down = (float(value) for value in row[:4])
            faces.append(
                PeerFace(Box(left, top, left + across, top + down), np.asarray(face, np.float32))
            )
        return faces

    return Peer(
        name=NAME,
        version=str(cv2.__version__),
        settings=f"YuNet and SFace, {cv2.getNumThreads()} threads",
        same_weights=_weights(original) == _weights(measured),
        find=find,
    )


def plain_weights(spec: ModelSpec, original: bytes) -> bytes:
    """The same network with its weights in float32, which is how OpenCV computes with them.

    The published file stores them in blocks of int8; OpenCV 5.0 does not load that.
    """
    require_onnx()
    graph = read_graph(original)
    fix_size(graph, input_shape(spec, FACE_SIDE_PX, FACE_SIDE_PX))
    return write_graph(graph)


def _put(folder: Path, spec: ModelSpec, data: bytes) -> str:
    path = folder / spec.file
    path.write_bytes(data)
    return str(path)


def _weights(manifest: PackManifest) -> tuple[str, str]:
    return manifest.of_role(Role.DETECTOR).sha256, manifest.of_role(Role.EMBEDDER).sha256
