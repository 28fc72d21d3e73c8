"""The vendor's toolkit (rknn-toolkit2) behind a seam: its return codes checked, its print kept.

`build()` returns -1 or raises, `inference()` returns None or a list: here each is a ConvertError.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from edgefaced.errors import DependencyMissing, ModelError
from edgefaced_convert.capture import captured

DISTRIBUTION = "rknn-toolkit2"
TARGETS = ("rk3588", "rk3576", "rk3566")

Api = Any
"""An `rknn.api.RKNN`: compiled, without types."""


class ConvertError(ModelError):
    """A network cannot be converted as asked."""

    code = "model-convert"


def toolkit_version() -> str:
    """Raises DependencyMissing where the toolkit is not installed."""
    try:
        return version(DISTRIBUTION)
    except PackageNotFoundError:
        raise DependencyMissing(
            f"{DISTRIBUTION} is not installed here",
            "deploy/convert/setup.sh makes an environment that has it (x86-64, Python 3.11)",
        ) from None


def open_toolkit() -> Api:
    """A toolkit object, quiet unless asked. Raises DependencyMissing."""
    toolkit_version()
    try:
        with captured():
            from rknn.api import RKNN

            return RKNN(verbose=True)
    except ImportError as error:
        raise DependencyMissing(f"{DISTRIBUTION} does not load: {error}", "run setup.sh") from error


def checked(what: str, call: Callable[[], Any]) -> tuple[Any, str]:
    """What a call gave, and what was printed meanwhile. Raises ConvertError where it failed."""
    fault = ""
    result: Any = None
    with captured() as printed:
        try:
            result = call()
        # The toolkit raises whatever its compiled parts raise, ValueError and RuntimeError mostly.
        except Exception as error:  # noqa: BLE001 - turned into our one error, nothing is hidden
            fault = _last_line(str(error))
    failed = fault or result is None or (isinstance(result, int) and result != 0)
    if failed:
        said = fault or _complaint(printed.text) or f"it returned {result!r}"
        raise ConvertError(f"{DISTRIBUTION}: {what}: {said}", "`report` names the operator")
    return result, printed.text


def list_pictures(pictures: Sequence[Any], folder: Path) -> Path:
    """Writes calibration pictures (1, 3, height, width) and the list that the toolkit reads."""
    import numpy as np

    lines = []
    for number, picture in enumerate(pictures):
        path = folder / f"picture{number}.npy"
        np.save(path, picture)
        lines.append(str(path))
    listed = folder / "pictures.txt"
    listed.write_text("\n".join(lines) + "\n")
    return listed


def _complaint(text: str) -> str:
    lines = [line for line in text.splitlines() if line.startswith(("E ", "\x1b[1;31mE"))]
    return _last_line("\n".join(lines))


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:200] if lines else ""
