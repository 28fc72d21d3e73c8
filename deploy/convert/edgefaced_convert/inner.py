"""The tensors inside a network while it runs, by onnxruntime and unoptimised."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from edgefaced.inference.onnx import PROVIDER, session_options
from edgefaced.protocols import Tensor

Feeds = Mapping[str, Tensor]


def inner_tensors(
    data: bytes, tensors: Sequence[str], feeds: Sequence[Feeds]
) -> Iterator[dict[str, Tensor]]:
    """What these tensors are for each of `feeds`; names that nothing makes are left out."""
    import onnx
    import onnxruntime as ort

    model = onnx.load_model_from_string(data)
    made = {name for node in model.graph.node for name in node.output}
    own = {value.name for value in model.graph.output}
    asked = [name for name in tensors if name in made]
    if not asked:  # an empty list means all outputs to onnxruntime
        yield from ({} for _ in feeds)
        return
    model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in asked if name not in own)
    session = ort.InferenceSession(
        model.SerializeToString(), session_options(1, optimise=False), providers=[PROVIDER]
    )
    for fed in feeds:
        yield dict(zip(asked, session.run(asked, fed), strict=True))
