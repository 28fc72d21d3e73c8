"""Which variant of an operator this is: compilers treat them differently."""

from __future__ import annotations

from edgefaced_convert.operators import Operator, attribute

LARGEST_KERNEL = 15
"""The largest that the compiler gives to the NPU whole; larger ones it cuts into pieces."""

SPATIAL = {2, 3, -1, -2}


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
    if mode != "linear":
        return "" if mode == "nearest" else str(mode)
    corners = attribute(operator, "coordinate_transformation_mode", "half_pixel")
    return "linear, corners aligned" if corners == "align_corners" else "linear"


def _convolution(operator: Operator) -> str:
    kernel = attribute(operator, "kernel_shape", None)
    if kernel is None and 1 in operator.constants:
        kernel = operator.constants[1].shape[2:]
    if kernel is not None and max(kernel, default=0) > LARGEST_KERNEL:
        return "large kernel"
    pads = attribute(operator, "pads", [])
    half = len(pads) // 2
    if list(pads[:half]) != list(pads[half:]):
        return "asymmetric padding"
    return ""
