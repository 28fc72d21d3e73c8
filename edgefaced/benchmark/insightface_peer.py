"""The `insightface` package on the original files of a pack."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np

from edgefaced.benchmark.peer import Peer, PeerFace
from edgefaced.errors import DependencyMissing, UsageError
from edgefaced.inference.onnx import PROVIDER, session_options
from edgefaced.models.manifest import PackManifest
from edgefaced.models.store import ModelStore
from edgefaced.types import U8, Box, ColourOrder, Role

NAME = "insightface"
AS_IT_COMES = "as it comes"
INSTALL = "pip install insightface, best in an environment of its own"

# The package knows these two preprocessings and takes every network for one of them.
DETECTOR_INPUT = (ColourOrder.RGB, (127.5,) * 3, (128.0,) * 3)
EMBEDDER_INPUT = (ColourOrder.RGB, (127.5,) * 3, (127.5,) * 3)


def open_insightface(
    store: ModelStore, manifest: PackManifest, folder: Path, *, size: int, threads: int | None
) -> Peer:
    """The package with the pack's original files, which are put into the empty `folder`.

    With `threads` its networks run in sessions set up as our own are; with None it is as it
    comes. Raises DependencyMissing, ModelMissing, and UsageError for a pack
    whose networks it cannot run.
    """
    try:
        import insightface
        from insightface.app import FaceAnalysis
    except ImportError as error:
        raise DependencyMissing(f"beside insightface: {error}", INSTALL) from None
    check_pack(manifest)
    models = folder / "models" / manifest.name
    models.mkdir(parents=True)
    for role in (Role.DETECTOR, Role.EMBEDDER):
        spec = manifest.of_role(role)
        (models / f"{role}.onnx").write_bytes(store.original(spec))
    options: dict[str, Any] = {"providers": [PROVIDER]}
    if threads is not None:
        options["sess_options"] = session_options(threads, optimise=True)
    # Some versions print what they load.
    with redirect_stdout(sys.stderr):
        app = FaceAnalysis(
            manifest.name,
            root=str(folder),
            allowed_modules=["detection", "recognition"],
            **options,
        )
        app.prepare(ctx_id=0, det_size=(size, size))
    if threads is not None:
        for model in app.models.values():
            if model.session.get_session_options().intra_op_num_threads != threads:
                raise DependencyMissing(
                    f"insightface {insightface.__version__} takes no session options",
                    "pip install 'insightface>=2.1'",
                )

    def find(pixels: U8) -> list[PeerFace]:
        return [
            PeerFace(
                Box(*(float(edge) for edge in face.bbox)), np.asarray(face.embedding, np.float32)
            )
            for face in app.get(pixels)
        ]

    return Peer(
        name=NAME,
        version=str(insightface.__version__),
        settings=AS_IT_COMES if threads is None else f"{threads} threads that wait as ours do",
        same_weights=True,
        find=find,
    )


def check_pack(manifest: PackManifest) -> None:
    """Raises UsageError where the package would feed the pack's networks something else."""
    detector, embedder = manifest.of_role(Role.DETECTOR), manifest.of_role(Role.EMBEDDER)
    decoder = detector.decoder
    known = (
        decoder is not None
        and decoder.kind == "scrfd"
        and (detector.input.colour_order, detector.input.mean, detector.input.std) == DETECTOR_INPUT
        and (embedder.input.colour_order, embedder.input.mean, embedder.input.std) == EMBEDDER_INPUT
    )
    if not known:
        raise UsageError(
            f"insightface cannot run the networks of pack {manifest.name}",
            "--pack buffalo-sc has such",
        )
