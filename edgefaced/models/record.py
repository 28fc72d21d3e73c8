"""`prepared.json`: what was prepared, from which file, where, how well it was proved."""

from __future__ import annotations

from typing import Literal

from pydantic import ValidationError

from edgefaced.errors import ModelDamaged
from edgefaced.models.manifest import Bytes, FileName, Sha256, Strict, first_fault
from edgefaced.models.runtime import Runtime

RECORD_FILE = "prepared.json"


class FileRecord(Strict):
    """One file beside the record."""

    file: FileName
    size_bytes: Bytes
    sha256: Sha256


class ProofRecord(Strict):
    """How old and new outputs compared, worst case over `inputs`."""

    kind: Literal["photographs", "pattern"]
    inputs: int
    lowest_cosine: float
    largest_difference: float


class VariantRecord(Strict):
    """The files of one input size."""

    size: int
    portable: FileRecord
    optimised: FileRecord
    proof: ProofRecord


class PreparedRecord(Strict):
    """All variants of one file."""

    record: Literal[1] = 1
    model: str
    sha256: Sha256
    prepare_version: int
    onnxruntime: str
    machine: str
    variants: tuple[VariantRecord, ...]

    def made_by(self, runtime: Runtime) -> bool:
        """Is there nothing to gain from preparing again here?"""
        return self.runs_optimised_on(runtime) and self.prepare_version == runtime.prepare_version

    def runs_optimised_on(self, runtime: Runtime) -> bool:
        """Was the optimised file made by this onnxruntime on this kind of machine?"""
        return (self.onnxruntime, self.machine) == (runtime.onnxruntime, runtime.machine)


def parse_record(data: bytes, source: str) -> PreparedRecord:
    """Raises ModelDamaged."""
    try:
        return PreparedRecord.model_validate_json(data)
    except ValidationError as error:
        raise ModelDamaged(f"{source}: {first_fault(error)}") from error
