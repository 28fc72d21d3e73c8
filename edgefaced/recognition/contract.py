"""The contract of a prepared network, checked once when it is loaded.

A prepared network takes one uint8 tensor `image` (1, height, width, 3) in the manifest's colour
order, with the normalisation inside, and gives the manifest's outputs: the same on a CPU and on
an NPU, so that the code around it knows neither layout nor mean. On a CPU a detector's height and
width are free (-1), on an NPU they are not.
"""

from __future__ import annotations

import numpy as np

from edgefaced.errors import ModelContractError
from edgefaced.models.manifest import ModelSpec
from edgefaced.protocols import InferenceBackend

IMAGE = "image"
FREE = -1


def check_contract(backend: InferenceBackend, spec: ModelSpec) -> tuple[int, int, int, int]:
    """The input's (1, height, width, 3), both or neither of the sides -1.

    Raises ModelContractError naming what differs.
    """
    hint = "`edgefaced models pull` prepares it again"
    if len(backend.inputs) != 1:
        raise ModelContractError(f"{spec.id} takes {len(backend.inputs)} inputs, not 1", hint)
    image = backend.inputs[0]
    shape = image.shape
    if (
        image.name != IMAGE
        or image.dtype != np.uint8
        or len(shape) != 4
        or (shape[0], shape[3]) != (1, 3)
        or (min(shape[1:3]) < 1 and shape[1:3] != (FREE, FREE))
    ):
        raise ModelContractError(
            f"{spec.id} takes {image.name} {list(shape)} {image.dtype}, "
            f"not {IMAGE} [1, height, width, 3] uint8",
            hint,
        )
    promised = {output.name for output in spec.output}
    given = {output.name for output in backend.outputs}
    if promised != given:
        raise ModelContractError(
            f"{spec.id} gives {sorted(given)}, its manifest promises {sorted(promised)}", hint
        )
    return shape[0], shape[1], shape[2], shape[3]
