"""The road to a Rockchip NPU, by the vendor's toolkit."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from edgefaced.types import U8
from edgefaced_convert.layer_errors import LayerError, parse_table
from edgefaced_convert.packs import PackNetwork
from edgefaced_convert.rknn_build import (
    Algorithm,
    Calibrated,
    Compiled,
    built,
    built_fp16,
    calibrate,
)
from edgefaced_convert.road import Built, Plan, end_filters, score_heads, with_filters
from edgefaced_convert.simulator import SimulatedNetwork
from edgefaced_convert.toolchain import Api, ConvertError, checked

ALGORITHMS: dict[str, Algorithm] = {"min-max": "normal", "MMSE": "mmse"}
"""The second looks for the range with the least squared error, and pays for it in minutes. The
toolkit's KL divergence was measured as well: hardly better than min-max."""
MMSE_PICTURES = 12
SUFFIXES = ("", "_sw", "_int8")
"""What the toolkit appends to the name of a tensor that it moved or converts."""


@dataclass(slots=True, eq=False)
class RknnRoad:
    """For one network and target; `folder` is the working folder, which is also the current one."""

    form: bytes
    network: PackNetwork
    target: str
    pictures: Sequence[U8]
    folder: Path
    _calibrated: dict[str, Calibrated] = field(default_factory=dict)

    @property
    def algorithms(self) -> tuple[str, ...]:
        return tuple(ALGORITHMS)

    @property
    def base(self) -> str:
        return "MMSE"

    @property
    def ends(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        return end_filters(self.form)

    @property
    def heads(self) -> tuple[str, ...]:
        return tuple(score_heads(self.form, self.network))

    @contextmanager
    def built(self, plan: Plan) -> Iterator[Built]:
        if plan.precision == "fp16":
            building = built_fp16(self.form, self.network, self.target, self.folder)
        else:
            calibrated = self._ranges(plan.algorithm)
            building = built(calibrated, self.network, self._tensors(plan))
        with building as (compiled, simulated):
            yield self._as_built(plan, compiled, simulated)

    def _tensors(self, plan: Plan) -> list[str]:
        """A plan's tensors with what the compiler fuses with them, in the toolkit's names."""
        known = {*self._ranges(plan.algorithm).tensors}
        plain = [_plain(name) for name in plan.in_float]
        names = [t + suffix for t in with_filters(self.form, plain) for suffix in SUFFIXES]
        return [name for name in dict.fromkeys((*plan.in_float, *names)) if name in known]

    def _ranges(self, algorithm: str) -> Calibrated:
        """Calibrates anew for another algorithm: the working folder holds one calibration."""
        if algorithm not in self._calibrated:
            slow = ALGORITHMS[algorithm] == "mmse"
            self._calibrated = {
                algorithm: calibrate(
                    self.form,
                    self.network,
                    self.target,
                    self.pictures[:MMSE_PICTURES] if slow else self.pictures,
                    self.folder,
                    ALGORITHMS[algorithm],
                )
            }
        return self._calibrated[algorithm]

    def _as_built(self, plan: Plan, compiled: Compiled, simulated: SimulatedNetwork) -> Built:
        def errors() -> list[LayerError]:
            if plan.precision == "fp16":
                return []
            return _layer_errors(simulated.toolkit, self.pictures[0], self.folder)

        return Built(
            data=compiled.data,
            outputs=compiled.outputs,
            backend=simulated,
            layer_errors=errors,
            layers=compiled.layers,
            said=compiled.said,
        )


def _plain(name: str) -> str:
    """A tensor's name in the network as we gave it."""
    for suffix in SUFFIXES[1:]:
        name = name.removesuffix(suffix)
    return name


def _layer_errors(toolkit: Api, picture: U8, folder: Path) -> list[LayerError]:
    """The toolkit's own analysis on one picture; it leaves hundreds of megabytes, gone at once."""
    path, snapshots = folder / "analysed.npy", folder / "snapshots"
    np.save(path, np.moveaxis(picture, 2, 0)[np.newaxis])
    try:
        checked(
            "accuracy analysis",
            lambda: toolkit.accuracy_analysis(inputs=[str(path)], output_dir=str(snapshots)),
        )
        return parse_table((snapshots / "error_analysis.txt").read_text(errors="replace"))
    except OSError as error:
        raise ConvertError(f"the toolkit's analysis left no table: {error}") from error
    finally:
        shutil.rmtree(snapshots, ignore_errors=True)
