"""What the NPU's software answers, in words, each with what mends it."""

from __future__ import annotations

from edgefaced.errors import ModelError
from edgefaced.inference.rockchip import Npu, is_older
from edgefaced.inference.source import CompiledSource, Needs

NEW_RUNTIME = "install a newer librknnrt.so in /usr/lib, as `edgefaced doctor` lists it"
NEW_DRIVER = "update the board's kernel: the NPU driver is part of it"
CONVERT = "convert the network for this board and import it again"

CODES: dict[int, tuple[str, str]] = {
    -1: ("it failed", "`edgefaced doctor` looks for the cause"),
    -2: ("it took too long", "another program may hold the NPU; `edgefaced doctor` shows its load"),
    -3: ("no NPU answers", "is the driver in this kernel, and may this user use /dev/dri?"),
    -4: ("no memory is left", "the NPU needs contiguous memory (CMA): stop what else uses it"),
    -5: ("a parameter is not accepted", NEW_RUNTIME),
    -6: ("it does not accept the network's file", NEW_RUNTIME),
    -7: ("its context is gone", "start edgefaced again"),
    -8: ("it does not accept the input", CONVERT),
    -9: ("it does not accept the output", CONVERT),
    -10: ("runtime and driver do not fit each other", f"{NEW_RUNTIME}; {NEW_DRIVER}"),
    -11: ("the network is compiled for another driver", CONVERT),
    -12: ("the network is optimised for another driver", CONVERT),
    -13: ("the network is compiled for another chip", CONVERT),
}
"""Error codes of librknnrt, by Rockchip's rknn_api.h."""


def fault_of(code: int, what: str) -> ModelError:
    """The error that stands for a code of librknnrt."""
    said, hint = CODES.get(code, ("an unknown error", "`edgefaced doctor` looks for the cause"))
    return ModelError(f"{what}: {said} (librknnrt answered {code})", hint)


def check_versions(needs: Needs, runtime: str | None, driver: str | None) -> None:
    """Raises ModelError for a runtime or a driver older than the network needs.

    A version that nobody could read is not judged: the NPU's own answer will tell.
    """
    if runtime and needs.runtime and is_older(runtime, needs.runtime):
        raise ModelError(
            f"librknnrt {runtime} is older than {needs.model_id} needs: {needs.runtime}",
            NEW_RUNTIME,
        )
    if driver and needs.driver and is_older(driver, needs.driver):
        raise ModelError(
            f"the NPU driver {driver} is older than {needs.model_id} needs: {needs.driver}",
            NEW_DRIVER,
        )


def check_chip(source: CompiledSource, npu: Npu) -> None:
    """Raises ModelError for a network of another chip: its file would not load, or worse, would."""
    if source.target != npu.target:
        raise ModelError(
            f"{source.id} is compiled for {source.target}, this is {npu.chip}", CONVERT
        )
