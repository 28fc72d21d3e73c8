"""requirements.txt from requirements.in: the same versions with the hashes of their wheels."""

from __future__ import annotations

import hashlib
import tempfile
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from edgefaced_deb.wheels import Target, download

HEADER = "# Written by `deploy/debian/build --lock` from requirements.in.\n"


def lock(folder: Path, targets: Iterable[Target], pythons: Iterable[str]) -> None:
    """Writes `requirements.txt` in `folder`; who runs this trusts the index for that once."""
    hashes: dict[str, set[str]] = defaultdict(set)
    with tempfile.TemporaryDirectory(prefix="edgefaced-deb-") as name:
        for target in targets:
            for python in pythons:
                place = Path(name, target.debian, python)
                for wheel in download(
                    folder / "requirements.in", target, python, place, known=False
                ):
                    project, version, *_ = wheel.name.split("-")
                    pin = f"{project.replace('_', '-').lower()}=={version}"
                    hashes[pin].add(hashlib.sha256(wheel.read_bytes()).hexdigest())
    lines = [
        " \\\n    ".join([pin, *(f"--hash=sha256:{digest}" for digest in sorted(digests))])
        for pin, digests in sorted(hashes.items())
    ]
    (folder / "requirements.txt").write_text(HEADER + "\n".join(lines) + "\n")
