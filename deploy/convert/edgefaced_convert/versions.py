"""The versions that a converted file needs on its device."""

from __future__ import annotations

import re

import onnxruntime as ort

from edgefaced.models.compiled import NeedsRecord

OLDEST_ONNXRUNTIME = "1.20"
"""What edgefaced itself requires; its integer kernels are older."""
OLDEST_DRIVER = "0.9.6"
"""The oldest kernel driver that people report to run files of toolkit 2.x with (issues 378, 465
of airockchip/rknn-toolkit2: 0.9.6 does, 0.9.2 does not)."""


def needs_of(target: str, toolkit: str) -> NeedsRecord:
    """A board's runtime must not be older than the toolkit that compiled the file, in its first
    two numbers: an older librknnrt says "Invalid RKNN model version"."""
    if target == "cpu":
        return NeedsRecord(toolkit=f"onnxruntime {ort.__version__}", runtime=OLDEST_ONNXRUNTIME)
    match = re.match(r"\d+\.\d+", toolkit)
    runtime = f"{match.group()}.0" if match else toolkit
    return NeedsRecord(toolkit=toolkit, runtime=runtime, driver=OLDEST_DRIVER)
