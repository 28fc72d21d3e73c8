"""One input and the outputs that belong to it: proof that a compiled network still works."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from edgefaced.errors import ModelDamaged
from edgefaced.models.compiled import CompiledModel
from edgefaced.types import F32, U8

IMAGE = "image"

UNREADABLE = (OSError, EOFError, KeyError, ValueError, zipfile.BadZipFile)


@dataclass(frozen=True, slots=True, eq=False)
class Golden:
    """`image` (1, height, width, 3); one float32 array for each output, by name."""

    image: U8
    outputs: Mapping[str, F32]


def read_golden(data: bytes, model: CompiledModel) -> Golden:
    """Reads an .npz. Raises ModelDamaged where it is none, or not one of this network's."""
    names = [output.name for output in model.outputs]
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
            found = {name: np.asarray(arrays[name]) for name in (IMAGE, *names)}
    except UNREADABLE as error:
        said = " ".join(str(error).split())[:200]
        raise ModelDamaged(f"{model.golden.file}: {said}", "convert the network again") from error
    image = found.pop(IMAGE)
    wanted = (1, model.height, model.width, 3)
    if image.dtype != np.uint8 or image.shape != wanted:
        raise ModelDamaged(
            f"{model.golden.file}: its image is {image.dtype} {list(image.shape)}, "
            f"{model.id} takes uint8 {list(wanted)}",
            "convert the network again",
        )
    outputs: dict[str, F32] = {}
    for record in model.outputs:
        given = found[record.name]
        if given.dtype != np.float32 or given.shape != record.shape:
            raise ModelDamaged(
                f"{model.golden.file}: {record.name} is {given.dtype} {list(given.shape)}, not "
                f"float32 {list(record.shape)}",
                "convert the network again",
            )
        outputs[record.name] = np.asarray(given, dtype=np.float32)
    return Golden(np.asarray(image, dtype=np.uint8), outputs)
