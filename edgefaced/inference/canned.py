"""A network that gives prepared answers: for pipelines without a model and for tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from edgefaced.errors import ModelError
from edgefaced.inference.feeds import check_feeds, fits
from edgefaced.protocols import Tensor, TensorSpec


class CannedBackend:
    """Gives one answer after another, and the last one from then on.

    Each answer holds one tensor for each of `outputs`. Raises ModelError for one that does not.
    """

    def __init__(
        self,
        inputs: Sequence[TensorSpec],
        outputs: Sequence[TensorSpec],
        answers: Sequence[Sequence[Tensor]],
    ) -> None:
        if not answers:
            raise ModelError("a canned network needs one answer at least")
        for answer in answers:
            _check_answer(outputs, answer)
        self._inputs = tuple(inputs)
        self._outputs = tuple(outputs)
        self._answers = [tuple(answer) for answer in answers]
        self._turn = 0
        self._closed = False

    @property
    def inputs(self) -> tuple[TensorSpec, ...]:
        return self._inputs

    @property
    def outputs(self) -> tuple[TensorSpec, ...]:
        return self._outputs

    def run(self, feeds: Mapping[str, Tensor]) -> Sequence[Tensor]:
        """The next answer, as copies: a reader that writes into them spoils no later run."""
        if self._closed:
            raise ModelError("the network is closed", "open it again")
        check_feeds(self._inputs, feeds)
        answer = self._answers[min(self._turn, len(self._answers) - 1)]
        self._turn += 1
        return [tensor.copy() for tensor in answer]

    def close(self) -> None:
        self._closed = True


def _check_answer(outputs: Sequence[TensorSpec], answer: Sequence[Tensor]) -> None:
    if len(answer) != len(outputs):
        raise ModelError(f"an answer has {len(answer)} tensors, the network {len(outputs)} outputs")
    for spec, tensor in zip(outputs, answer, strict=True):
        if tensor.dtype != spec.dtype or not fits(tensor.shape, spec.shape):
            raise ModelError(
                f"answer {spec.name!r} is {tensor.dtype} {list(tensor.shape)}, the network gives "
                f"{spec.dtype} {list(spec.shape)}"
            )
