"""Which variant of an operator this is: compilers treat them differently."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from edgefaced_convert.operators import Operator, attribute

LARGEST_KERNEL = 15
"""The largest that the compiler gives to the NPU whole; larger ones it cuts into pieces."""

UNUSUAL = {"align_corners": "corners aligned", "tf_crop_and_resize": "of a crop"}
BEFORE_PRELU = frozenset({"Conv", "ConvTranspose", "Gemm", "MatMul"})


def variant_of(operator: Operator) -> str:
    """A few words, "" for the plain variant; the same words stand in `measured.toml`."""
    match operator.kind:
        case "Resize" | "Upsample":
            return _resize(operator)
        case "Conv" | "ConvTranspose":
            return _convolution(operator)
        case "AveragePool":
            uncounted = not attribute(operator, "count_include_pad", 0)
            padded = any(attribute(operator, "pads", [0])) or attribute(operator, "ceil_mode", 0)
            return "padding not counted" if uncounted and padded else ""
        case "PRelu":
            return "" if operator.follows in BEFORE_PRELU else "behind no filter"
        case "Pad":
            mode = attribute(operator, "mode", "constant")
            return "" if mode == "constant" else mode
        case "Div" | "Pow":
            return "" if operator.constants else "of two tensors"
        case "MatMul":
            return "" if 1 in operator.constants else "of two tensors"
        case "Reshape":
            shapes = (*operator.shapes_in[:1], *operator.shapes_out)
            return "to fewer dimensions" if len(shapes[-1]) < len(shapes[0]) else ""
        case "Slice":
            steps = operator.constants.get(4)
            return "with steps" if steps is not None and (steps != 1).any() else ""
        case _:
            return ""


def _resize(operator: Operator) -> str:
    mode = attribute(operator, "mode", "nearest")
    corners = attribute(operator, "coordinate_transformation_mode", "half_pixel")
    words = [] if mode == "nearest" else [str(mode)]
    if mode == "cubic":
        return "cubic"
    if corners in UNUSUAL:
        return ", ".join((*words, UNUSUAL[corners]))
    if mode == "linear" and corners == "asymmetric":
        words.append("from the corner")
    if any(after % before for before, after in _sides(operator) if min(before, after) > 0):
        words.append("by no whole factor")
    return ", ".join(words)


def _sides(operator: Operator) -> Iterator[tuple[int, int]]:
    for before, after in zip(operator.shapes_in[:1], operator.shapes_out[:1], strict=False):
        yield from zip(before, after, strict=False)


def _convolution(operator: Operator) -> str:
    kernel = attribute(operator, "kernel_shape", None)
    if kernel is None and 1 in operator.constants:
        kernel = operator.constants[1].shape[2:]
    if kernel is not None and max(kernel, default=0) > LARGEST_KERNEL:
        return "large kernel"
    pads = attribute(operator, "pads", [])
    half = len(pads) // 2
    if attribute(operator, "auto_pad", "NOTSET").startswith("SAME") and _uneven(operator, kernel):
        return "asymmetric padding"
    if list(pads[:half]) != list(pads[half:]):
        return "asymmetric padding"
    return ""


def _uneven(operator: Operator, kernel: Sequence[int] | None) -> bool:
    """Whether automatic padding adds an odd number of rows or columns."""
    sides = [*_sides(operator)][2:]
    strides = attribute(operator, "strides", [1] * len(sides))
    dilations = attribute(operator, "dilations", [1] * len(sides))
    return any(
        max((after - 1) * stride + (k - 1) * dilation + 1 - before, 0) % 2
        for (before, after), k, stride, dilation in zip(
            sides, kernel or [], strides, dilations, strict=False
        )
    )
