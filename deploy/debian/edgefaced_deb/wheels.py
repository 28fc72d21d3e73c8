"""Wheels of several Pythons, merged into one folder that all of them read.

Compiled modules carry their Python's version in their names, so one folder holds those of every
version, and what is the same in all wheels is there once.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from zipfile import ZipFile

GLIBC_MINORS = range(17, 37)
"""manylinux tags up to glibc 2.36, which Debian 12 has."""

LEFT_OUT = re.compile(
    r"""(^|/)__pycache__/
    | ^(numpy|ml_dtypes)/(.+/)?tests/
    | ^numpy/(_core/include|_core/lib|f2py|typing/tests|random/(lib|_examples))/
    | ^onnx/(backend/test|test)/
    | ^onnx/.+\.(cc|h|proto3?)$
    | ^onnxruntime/capi/libonnxruntime\.so
    | ^onnxruntime/(tools|quantization|transformers|datasets)/
    | ^(?!edgefaced/).+\.pyi$
    | \.dist-info/(RECORD|WHEEL|INSTALLER|REQUESTED|sboms/.*)$
    | \.data/(data|scripts|headers)/""",
    re.VERBOSE,
)
"""What no device needs: tests, headers, a library for programs in C, notes for pip."""

MAY_DIFFER = frozenset({"numpy/__config__.py"})
"""Says how a wheel was compiled; nothing reads it."""


class BuildError(Exception):
    """One line for whoever builds."""


@dataclass(frozen=True, slots=True)
class Target:
    """A processor, by Debian's name and by that of wheels."""

    debian: str
    machine: str


TARGETS = {"amd64": Target("amd64", "x86_64"), "arm64": Target("arm64", "aarch64")}


def download(
    requirements: Path, target: Target, python: str, folder: Path, *, known: bool = True
) -> list[Path]:
    """The wheels that `requirements` pin, for a processor and a Python (such as 3.11.2).

    Their hashes must be among the requirements, unless they are not `known` yet.
    """
    folder.mkdir(parents=True, exist_ok=True)
    short = "".join(python.split(".")[:2])
    words = ["--implementation", "cp", "--python-version", python]
    for abi in (f"cp{short}", "abi3", "none"):
        words += ["--abi", abi]
    for tag in (*(f"manylinux_2_{minor}" for minor in GLIBC_MINORS), "manylinux2014"):
        words += ["--platform", f"{tag}_{target.machine}"]
    pip(
        "download",
        *("--only-binary=:all:", "--no-deps", *(("--require-hashes",) if known else ())),
        *("--dest", folder),
        *("--requirement", requirements),
        *words,
    )
    return sorted(folder.glob("*.whl"))


def own_wheel(checkout: Path, folder: Path, epoch: int) -> Path:
    """The wheel of this checkout, with every time in it set to `epoch`."""
    folder.mkdir(parents=True, exist_ok=True)
    environment = {**os.environ, "SOURCE_DATE_EPOCH": str(epoch)}
    pip("wheel", "--no-deps", "--wheel-dir", folder, checkout, environment=environment)
    (wheel,) = folder.glob("*.whl")
    return wheel


def pip(*words: str | Path, environment: Mapping[str, str] = os.environ) -> None:
    """Runs pip quietly. Raises BuildError with what it said."""
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    done = subprocess.run(
        [*command, *map(str, words)], capture_output=True, text=True, env=environment, check=False
    )
    if done.returncode:
        raise BuildError(f"pip {words[0]}: {(done.stderr or done.stdout).strip()}")


def merged(sets: Iterable[Iterable[Path]]) -> dict[PurePosixPath, bytes]:
    """The files of several Pythons' wheels as those of one folder.

    Raises BuildError where two wheels have a different file of the same name.
    """
    files: dict[PurePosixPath, bytes] = {}
    seen: set[str] = set()
    for wheels in sets:
        for wheel in wheels:
            if wheel.name in seen:  # it suits every Python and was fetched for each of them
                continue
            seen.add(wheel.name)
            for name, data in contents(wheel):
                path = PurePosixPath(name)
                if files.setdefault(path, data) != data and name not in MAY_DIFFER:
                    raise BuildError(f"{wheel.name}: {name} differs from another wheel's")
    return files


def contents(wheel: Path) -> Iterable[tuple[str, bytes]]:
    """Names and bytes of what a device needs of a wheel."""
    with ZipFile(wheel) as archive:
        for entry in archive.infolist():
            name = entry.filename
            if not entry.is_dir() and not LEFT_OUT.search(name):
                yield re.sub(r"^[^/]+\.data/(pure|plat)lib/", "", name), archive.read(entry)
