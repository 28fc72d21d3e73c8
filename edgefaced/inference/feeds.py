"""What every back end checks of a run before it starts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from edgefaced.errors import ModelError
from edgefaced.protocols import Tensor, TensorSpec

FREE = -1


def check_feeds(inputs: Sequence[TensorSpec], feeds: Mapping[str, Tensor]) -> None:
    """Raises ModelError unless `feeds` has exactly these inputs, of these shapes and types."""
    for spec in inputs:
        value = feeds.get(spec.name)
        if value is None:
            raise ModelError(f"input {spec.name!r} is missing", f"given: {sorted(feeds)}")
        if value.dtype != spec.dtype or not fits(value.shape, spec.shape):
            raise ModelError(
                f"input {spec.name!r} is {value.dtype} {list(value.shape)}, the network takes "
                f"{spec.dtype} {list(spec.shape)}"
            )
    if len(feeds) > len(inputs):
        extra = sorted(set(feeds) - {spec.name for spec in inputs})
        raise ModelError(f"the network has no input {extra[0]!r}")


def fits(shape: tuple[int, ...], wanted: tuple[int, ...]) -> bool:
    """Is `shape` what `wanted` says, where -1 is any size but nothing?"""
    return len(shape) == len(wanted) and all(
        size == want or (want == FREE and size > 0)
        for size, want in zip(shape, wanted, strict=True)
    )
