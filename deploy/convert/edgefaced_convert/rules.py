"""What each operator does to a network on a target: from measurements, then from general rules.

`measured.toml` says where the vendor's compiler put each operator (see `probe`). What is not in
it is unknown, and counts as a fall-back until the toolkit's own log says otherwise.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib.resources import files

from edgefaced.models.prepare.graph import FREE
from edgefaced_convert.advice import advice
from edgefaced_convert.operators import Network, Operator
from edgefaced_convert.variants import variant_of

MEASURED_FILE = "measured.toml"
OLDEST_OPSET, NEWEST_OPSET = 11, 19
"""Below the oldest our own rewriting raises it; the vendor's list is of opset 19."""
LARGEST_SIDE = 8192
"""Of an input, for RK3566 and RK3588 (release notes of rknpu2 1.5)."""
BATCH_OF_ONE = frozenset({"Slice", "Softmax", "Tile", "LogSoftmax", "GRU", "RoiAlign"})
"""The vendor's list of operators, version 2.1.0: these take a batch of one."""
RECURRENT = frozenset({"LSTM", "GRU", "RNN"})


class Verdict(StrEnum):
    """Where an operator runs, the worst last."""

    SUPPORTED = "supported"
    COSTLY = "supported, costly"
    UNKNOWN = "not measured"
    FALL_BACK = "CPU fall-back"
    UNSUPPORTED = "unsupported"


FALL_BACKS = frozenset({Verdict.UNKNOWN, Verdict.FALL_BACK, Verdict.UNSUPPORTED})


@dataclass(frozen=True, slots=True)
class Finding:
    """One operator's verdict; `why` and `cure` are empty for a plain supported one."""

    name: str
    kind: str
    variant: str
    verdict: Verdict
    why: str = ""
    cure: str = ""


def judge(network: Network, target: str) -> list[Finding]:
    """Findings on the network as a whole, then one for each operator."""
    return [*_of_the_whole(network), *(judge_operator(op, target) for op in network.operators)]


def judge_operator(operator: Operator, target: str) -> Finding:
    """The verdict on one operator; for "cpu" all that onnxruntime has runs."""
    variant = variant_of(operator)

    def found(verdict: Verdict, why: str = "", cure: str = "") -> Finding:
        if verdict is not Verdict.SUPPORTED:
            said = advice(operator.kind, variant)
            why, cure = why or said.why, cure or said.cure
        return Finding(operator.name, operator.kind, variant, verdict, why, cure)

    if operator.domain:
        return found(
            Verdict.UNSUPPORTED,
            f"an operator of the foreign domain {operator.domain!r}",
            "export the network with ONNX's own operators",
        )
    if target == "cpu":
        return found(Verdict.SUPPORTED)
    if operator.kind in ("If", "Loop", "Scan"):
        return found(Verdict.UNSUPPORTED, "a graph inside an operator", "export it unrolled")
    batch = _batch(operator)
    if operator.kind in BATCH_OF_ONE and batch not in (1, FREE):
        return found(
            Verdict.UNSUPPORTED, f"its batch is {batch}", "fix the batch to one at the export"
        )
    place = measured().get((operator.kind, variant), {}).get(target)
    if place is None:
        return found(
            Verdict.UNKNOWN,
            "nobody measured where the compiler puts it",
            "convert it: the toolkit's log then says where it went",
        )
    if place == "fails":
        return found(Verdict.UNSUPPORTED, "the compiler failed on it when it was measured")
    if place == "cpu":
        return found(Verdict.FALL_BACK)
    if operator.rank > 4 or (operator.kind, variant) in COSTLY:
        rank = f"a tensor of {operator.rank} dimensions" if operator.rank > 4 else ""
        return found(Verdict.COSTLY, rank, "export it with four dimensions" if rank else "")
    return found(Verdict.SUPPORTED)


def _batch(operator: Operator) -> int:
    shape = next(iter(operator.shapes_in), ())
    axis = 1 if operator.kind in RECURRENT else 0  # time comes first there
    return shape[axis] if len(shape) > axis else 1


COSTLY = frozenset(
    {
        *(("Conv", "large kernel"), ("Softmax", ""), ("Transpose", "")),
        *(("InstanceNormalization", ""), ("PRelu", "behind no filter")),
    }
)
"""On the NPU, but not free: `advice` says why."""


def _of_the_whole(network: Network) -> list[Finding]:
    found = []
    if not OLDEST_OPSET <= network.opset <= NEWEST_OPSET:
        found.append(
            Finding(
                f"opset {network.opset}",
                "opset",
                "",
                Verdict.COSTLY,
                f"opsets {OLDEST_OPSET} to {NEWEST_OPSET} are read as they are",
                "older ones are raised; export newer ones with opset 17",
            )
        )
    if FREE in network.input_shape[1:]:
        found.append(
            Finding(
                "input",
                "dynamic shape",
                "",
                Verdict.COSTLY,
                "an NPU plans its memory for one size: a free one is compiled once for each",
                "conversion fixes it to the size asked for",
            )
        )
    if max(network.input_shape, default=0) > LARGEST_SIDE:
        found.append(
            Finding("input", "size", "", Verdict.UNSUPPORTED, f"a side above {LARGEST_SIDE}")
        )
    return found


@cache
def measured() -> Mapping[tuple[str, str], Mapping[str, str]]:
    """Where the compiler put each operator and variant: "npu", "cpu" or "fails" for a target."""
    text = files(__package__).joinpath(MEASURED_FILE).read_text()
    return {
        (case["operator"], case["variant"]): case["places"] for case in tomllib.loads(text)["case"]
    }
