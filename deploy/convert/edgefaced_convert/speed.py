"""How much faster the quantised network is on this CPU: both in turns, in the same run.

One thread and its own CPU time: what else runs on the machine changes little.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from edgefaced.inference.onnx import OnnxBackend
from edgefaced.recognition.contract import IMAGE
from edgefaced.types import U8
from edgefaced_convert.packs import OpenPack, PackNetwork

TURNS = 60
WARM_UP = 5


@dataclass(frozen=True, slots=True)
class SpeedUp:
    """Medians over TURNS of CPU time; `ratio` the median of neighbours."""

    float_ms: float
    quantised_ms: float
    ratio: float


def speed_up(opened: OpenPack, network: PackNetwork, quantised: bytes, picture: U8) -> SpeedUp:
    """Against what the daemon runs without this: the pack's own prepared file."""
    prepared = opened.store.prepared(network.spec, network.size)
    plain = OnnxBackend(prepared.data, threads=1, optimise=not prepared.optimised)
    other = OnnxBackend(quantised, threads=1, optimise=True)
    try:
        taken = np.array([[_once(plain, picture), _once(other, picture)] for _ in range(TURNS)])
    finally:
        plain.close()
        other.close()
    before, after = np.median(taken[WARM_UP:], axis=0)
    ratio = np.median(taken[WARM_UP:, 0] / taken[WARM_UP:, 1])
    return SpeedUp(
        round(float(1000 * before), 2), round(float(1000 * after), 2), round(float(ratio), 2)
    )


def _once(backend: OnnxBackend, picture: U8) -> float:
    started = time.thread_time()
    backend.run({IMAGE: picture})
    return time.thread_time() - started
