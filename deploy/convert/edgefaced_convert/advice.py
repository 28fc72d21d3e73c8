"""Why an operator hurts on a Rockchip NPU, and what to do about it.

Sources: places are measured (`measured.toml`); [a] airockchip/rknn-toolkit2, issues 54, 145, 378,
490; [b] its list RKNNToolKit2_OP_Support of version 2.1.0; [c] notes of rknpu2.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Advice:
    """One line each."""

    why: str
    cure: str


COPY = "the feature map leaves the NPU's layout for the CPU and comes back: two copies and a wait"

_ADVICE: dict[tuple[str, str], Advice] = {
    ("PRelu", ""): Advice(
        "fused into the convolution before it",
        "keep it right behind a convolution; do not rewrite it as for the CPU",
    ),
    ("PRelu", "behind no filter"): Advice(
        "a layer of its own, that reads and writes the whole feature map",
        "put it right behind a convolution: there it is fused and costs nothing",
    ),
    ("Softmax", ""): Advice(
        "no fixed-function unit for it; RK3588 refused large ones in some releases [a]",
        "end the network before it and compute it from the outputs",
    ),
    ("Transpose", ""): Advice(
        "moves every value; above 8192 values a plane RK3588 has left it to the CPU [a]",
        "at the network's end: convert with the reshapes removed, as `convert` does; else export "
        "channels in the order the decoder reads",
    ),
    ("Reshape", ""): Advice(
        f"changes the channel axis: {COPY}",
        "at the network's end `convert` removes it (the values keep their order); inside, export "
        "without it",
    ),
    ("Reshape", "to fewer dimensions"): Advice(
        f"an NPU's tensor has four dimensions: {COPY}",
        "at the network's end `convert` removes it (the values keep their order); inside, export "
        "without it",
    ),
    ("Flatten", ""): Advice(
        "changes the channel axis before a fully connected layer",
        "replace it and the layer by a convolution as large as the feature map",
    ),
    ("Gemm", ""): Advice(
        "needs its input flattened first",
        "replace it by a convolution as large as the feature map",
    ),
    ("MatMul", ""): Advice(
        "needs its input flattened first",
        "replace it by a convolution as large as the feature map",
    ),
    ("MatMul", "of two tensors"): Advice(
        "of two feature maps it is not a convolution", "keep attention off this target"
    ),
    ("Resize", "linear, corners aligned"): Advice(
        COPY, "export with half_pixel (align_corners=False), or nearest"
    ),
    ("Resize", "linear, by no whole factor"): Advice(
        COPY, "resize by whole factors, or by nearest: both stay on the NPU"
    ),
    ("Resize", "cubic"): Advice(
        "the list of operators has nearest and bilinear only [b]", "export with nearest or linear"
    ),
    ("Conv", "large kernel"): Advice(
        "cut into several convolutions with slices, pads and sums between them",
        "use kernels up to 15, or dilation",
    ),
    ("Conv", "asymmetric padding"): Advice(
        "measured on the NPU; other compilers add a Pad", "pad alike on both sides"
    ),
    ("AveragePool", "padding not counted"): Advice(
        COPY, "export with count_include_pad=1, or without padding and ceil_mode"
    ),
    ("InstanceNormalization", ""): Advice(
        "becomes transposes, reshapes and a norm", "train with BatchNormalization: it is folded"
    ),
    ("ReduceL2", ""): Advice(
        "its square root is a Pow on the CPU", "leave the normalisation to the program"
    ),
    ("Slice", "with steps"): Advice(COPY, "use a convolution or a pool with that stride"),
    ("SpaceToDepth", ""): Advice(COPY, "use a convolution of stride two (Focus layers: 6x6)"),
}

_OF_KIND: dict[str, Advice] = {
    "Pow": Advice(COPY, "write squares as products"),
    "Div": Advice(COPY, "multiply by the inverse of a constant"),
    "Exp": Advice(COPY, "end the network before it"),
    "TopK": Advice(COPY, "end the network before it: sorting is the program's"),
    "ArgMax": Advice("an index is no feature map", "end the network before it"),
    "LSTM": Advice("step by step: nothing of it runs side by side", "run it beside the network"),
    "LayerNormalization": Advice(
        "sums over each place, then a root", "train with BatchNormalization: it is folded"
    ),
    "GridSample": Advice(COPY, "warp the picture before the network, or end the network there"),
    "Cast": Advice(COPY, "keep one type through the network"),
    "NonMaxSuppression": Advice("boxes are no feature map", "end the network before it"),
}

_ELSE = Advice(COPY, "replace it at the export, or end the network before it")


def advice(kind: str, variant: str) -> Advice:
    """What is known of this operator in this variant, or what holds for any."""
    return _ADVICE.get((kind, variant)) or _OF_KIND.get(kind) or _ELSE
