"""What a conversion hands over, without a conversion."""

from __future__ import annotations

from edgefaced_convert.archive import Member
from edgefaced_convert.versions import needs_of

from edgefaced.models.compiled import (
    CompiledModel,
    CostRecord,
    GoldenRecord,
    ProofFigures,
    TensorRecord,
)

DATA, GOLDEN = Member("net.rknn", b"network"), Member("net.npz", b"golden")


def model(data: Member, golden: Member, target: str = "rk3588") -> CompiledModel:
    """A detector's record, with every kind of field."""
    return CompiledModel(
        id="scrfd-500m",
        original_sha256="a" * 64,
        target=target,
        kind="rknn",
        precision="mixed",
        width=320,
        height=320,
        file=data.name,
        size_bytes=len(data.data),
        sha256=data.sha256,
        outputs=(
            TensorRecord(name='a "quoted" é', shape=(40, 40, 1, 2), dtype="float16"),
            TensorRecord(
                name="446", shape=(40, 40, 1, 8), dtype="int8", scale=1.5e-5, zero_point=-6
            ),
        ),
        needs=needs_of(target, "2.5.0"),
        golden=GoldenRecord(
            file=golden.name,
            size_bytes=len(golden.data),
            sha256=golden.sha256,
            lowest_cosine=0.97,
        ),
        proof=ProofFigures(pictures=12, recall=1.0, recall_float=1.0, landmark_error=0.011),
        cost=CostRecord(macs=183_400_000, moved_bytes=9_300_000, least_ms={"RK 3588": 0.6}),
    )
