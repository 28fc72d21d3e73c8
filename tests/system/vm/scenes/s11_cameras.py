"""Cameras: tests/device on the kernel's virtual cameras, in either V4L2 API and every format."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from tests.system.vm.layers import CHECKOUT
from tests.system.vm.machine import Machine, SceneError, Skipped, shorten
from tests.system.vm.stage import Stage

FORMATS = ("NV12", "I420", "YUYV", "RGB", "BGR")
MODULE = "vivid n_devs=2 node_types=0x1,0x1 num_inputs=1,1 input_types=0x0,0x0 multiplanar=1,2"
"""One camera speaks the single-planar API, the other the one with several planes."""
TOOLS = ("pytest", "pytest-timeout", "hypothesis")


def scene(stage: Stage) -> None:
    bring_tests(stage.cargo)
    door = stage.boot(settle=False)
    door.run("systemctl stop edgefaced")
    door.run(f"modprobe {MODULE}")
    # The interpreter that the package runs edgefaced with, and so its libraries.
    program = door.run("readlink --canonicalize $(command -v edgefaced)").out.strip()
    python = door.run(f"sed -n '1s/^#!\\([^ ]*\\).*/\\1/p' {shlex.quote(program)}").out.strip()
    for camera in ("vivid-000", "vivid-001"):
        for wanted in FORMATS:
            told = f"EDGEFACED_TEST_CAMERA=v4l2:{camera} EDGEFACED_TEST_CAMERA_FORMAT={wanted}"
            stage.say(f"{camera} {wanted}: {tested(door, python, told, 'test_camera.py')}")
        told = f"EDGEFACED_TEST_CAMERA=v4l2:{camera}"
        stage.say(f"{camera}, faults: {tested(door, python, told, 'test_vivid.py')}")


def bring_tests(cargo: Path) -> None:
    """The checkout's tests, and what runs them, for the machine's Python."""
    site = cargo / "site"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(site)]
    fetched = subprocess.run(
        [*pip, "--python-version", "3.13", "--only-binary", ":all:", *TOOLS],
        capture_output=True,
        text=True,
        check=False,
    )
    if fetched.returncode != 0:
        raise Skipped(f"pip brings no pytest for the machine: {shorten(fetched.stderr)}")
    # Without the package: it is the installed one that is tested.
    shutil.copytree(
        CHECKOUT / "tests", cargo / "tests", ignore=shutil.ignore_patterns("__pycache__")
    )
    shutil.copy(CHECKOUT / "pyproject.toml", cargo)


def tested(door: Machine, python: str, environment: str, file: str) -> str:
    """What pytest said of a file in its last line. Raises SceneError where a test failed."""
    command = (
        f"cd /cargo && {environment} PYTHONPATH=/cargo/site PYTHONDONTWRITEBYTECODE=1"
        f" {python} -m pytest -q -p no:cacheprovider --color=no --tb=short tests/device/{file}"
    )
    done = door.run(command, check=False, timeout_s=900)
    if done.code != 0:
        raise SceneError(f"{file}, {environment}: {done.out[-2000:]}{done.err[-500:]}")
    return done.out.strip().splitlines()[-1]
