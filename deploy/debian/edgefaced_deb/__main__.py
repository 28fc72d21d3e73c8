"""From this checkout and pinned wheels to dist/edgefaced_VERSION_ARCH.deb."""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path, PurePosixPath

from edgefaced_deb.archive import write_deb
from edgefaced_deb.contents import control_entries, package_entries, version_of
from edgefaced_deb.lock import lock
from edgefaced_deb.wheels import TARGETS, BuildError, Target, download, merged, own_wheel

HERE = Path(__file__).resolve().parents[1]
CHECKOUT = HERE.parents[1]
PYTHONS = ("3.11.2", "3.12.3", "3.13.5", "3.14.0")
"""The oldest of each that is around: Debian 12, Ubuntu 24.04, Debian 13, Ubuntu 26.04."""


def main() -> None:
    """Builds, and prints where the package is."""
    parser = argparse.ArgumentParser(prog="deploy/debian/build", description=__doc__)
    parser.add_argument("--arch", choices=sorted(TARGETS), default=own_arch())
    parser.add_argument("--output", type=Path, default=CHECKOUT / "dist", metavar="FOLDER")
    parser.add_argument("--version", help="the package's version instead of edgefaced's own")
    parser.add_argument("--fast", action="store_true", help="compress little, for trying")
    parser.add_argument(
        "--lock", action="store_true", help="only write requirements.txt anew, with hashes"
    )
    options = parser.parse_args()
    try:
        if options.lock:
            lock(HERE, TARGETS.values(), PYTHONS)
        else:
            package = build(
                TARGETS[options.arch], options.output, options.version, fast=options.fast
            )
            sys.stdout.write(f"{package}\n")
    except BuildError as error:
        sys.exit(f"{parser.prog}: {error}")


def build(target: Target, output: Path, version: str | None, *, fast: bool) -> Path:
    """Builds the package and returns its path."""
    epoch = epoch_of(CHECKOUT)
    version = version or version_of(CHECKOUT)
    output.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="edgefaced-deb-") as name:
        work = Path(name)
        own = own_wheel(CHECKOUT, work / "own", epoch)
        requirements = HERE / "requirements.txt"
        sets = [download(requirements, target, p, work / target.debian / p) for p in PYTHONS]
        site = merged([[own], *sets])
        # The manual is written by the program, which has to run here: with this machine's wheels.
        here = TARGETS[own_arch()]
        python = platform.python_version()
        native = merged([[own], download(requirements, here, python, work / "here")])
        manual = {what: said_by(native, what, version, epoch) for what in ("page", "completion")}
    wheels = sorted({wheel.name for wheels in sets for wheel in wheels})
    entries = package_entries(HERE, CHECKOUT, site, manual, wheels, version, epoch)
    control = control_entries(HERE, entries, version, target)
    package = output / f"edgefaced_{version}_{target.debian}.deb"
    level = 3 if fast else 12
    write_deb(package, control, entries, epoch, level=level)
    return package


def own_arch() -> str:
    """This machine's processor, by Debian's name."""
    machine = platform.machine()
    return next((t.debian for t in TARGETS.values() if t.machine == machine), "amd64")


def epoch_of(checkout: Path) -> int:
    """SOURCE_DATE_EPOCH, or when the checkout was committed. Raises BuildError without either."""
    given = os.environ.get("SOURCE_DATE_EPOCH")
    if given:
        return int(given)
    command = ["git", "-C", str(checkout), "log", "-1", "--format=%ct"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise BuildError("no commit to take the time from: set SOURCE_DATE_EPOCH")
    return int(done.stdout)


def said_by(site: dict[PurePosixPath, bytes], what: str, version: str, epoch: int) -> str:
    """What `edgefaced_deb.manual` makes of the program in `site`."""
    with tempfile.TemporaryDirectory(prefix="edgefaced-deb-") as name:
        for path, data in site.items():
            file = Path(name, path)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)
        done = subprocess.run(
            [sys.executable, "-P", "-m", "edgefaced_deb.manual", what, version, str(epoch)],
            env={"PATH": os.environ["PATH"], "PYTHONPATH": f"{name}:{HERE}", "HOME": name},
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode:
        raise BuildError(f"the manual: {done.stderr.strip()}")
    return done.stdout


main()
