"""What is in the package: where each file goes, and dpkg's own description of it."""

from __future__ import annotations

import gzip
import hashlib
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from email.utils import format_datetime
from pathlib import Path, PurePosixPath

from edgefaced_deb.archive import Entry
from edgefaced_deb.wheels import Target

OWN = PurePosixPath("usr/lib/edgefaced")
SYSTEMD = {
    "edgefaced.service": "usr/lib/systemd/system/edgefaced.service",
    "edgefaced.sysusers.conf": "usr/lib/sysusers.d/edgefaced.conf",
    "edgefaced.tmpfiles.conf": "usr/lib/tmpfiles.d/edgefaced.conf",
    "60-edgefaced.rules": "usr/lib/udev/rules.d/60-edgefaced.rules",
}
COMMAND = """\
#!/usr/lib/edgefaced/bin/python3 -I
from edgefaced.__main__ import main

main()
"""
# A virtual environment by hand: the system's Python, whichever it is, reads `site-packages` first
# and then what the system has, such as picamera2 of a Raspberry Pi.
ENVIRONMENT = "home = /usr/bin\ninclude-system-site-packages = true\n"
MINORS = range(11, 15)


def version_of(checkout: Path) -> str:
    """The version that the program says it is."""
    text = (checkout / "edgefaced" / "__init__.py").read_text()
    found = re.search(r'^__version__ = "(.+)"$', text, re.MULTILINE)
    if found is None:
        raise AssertionError("edgefaced/__init__.py has no __version__")
    return found[1]


def package_entries(
    here: Path,
    checkout: Path,
    site: Mapping[PurePosixPath, bytes],
    manual: Mapping[str, str],
    wheels: Iterable[str],
    version: str,
    epoch: int,
) -> list[Entry]:
    """Everything that is unpacked."""
    documents = PurePosixPath("usr/share/doc/edgefaced")
    return [
        *(Entry(OWN / "site-packages" / path, data) for path, data in site.items()),
        *(
            Entry(OWN / f"lib/python3.{minor}/site-packages", link="../../site-packages")
            for minor in MINORS
        ),
        Entry(OWN / "bin/python3", link="../../../bin/python3"),
        Entry(OWN / "pyvenv.cfg", ENVIRONMENT.encode()),
        Entry(PurePosixPath("usr/bin/edgefaced"), COMMAND.encode(), 0o755),
        Entry(
            PurePosixPath("usr/share/python3/runtime.d/edgefaced.rtupdate"),
            (here / "rtupdate").read_bytes(),
            0o755,
        ),
        *(
            Entry(PurePosixPath(there), (checkout / "systemd" / name).read_bytes())
            for name, there in SYSTEMD.items()
        ),
        Entry(PurePosixPath("usr/share/man/man1/edgefaced.1.gz"), gzipped(manual["page"].encode())),
        Entry(
            PurePosixPath("usr/share/bash-completion/completions/edgefaced"),
            manual["completion"].encode(),
        ),
        Entry(
            PurePosixPath("usr/share/lintian/overrides/edgefaced"),
            (here / "lintian-overrides").read_bytes(),
        ),
        Entry(documents / "copyright", copyright_of(here, wheels).encode()),
        Entry(documents / "changelog.gz", gzipped(changelog(version, epoch).encode())),
        *(
            Entry(documents / path.name, path.read_bytes())
            for path in sorted((checkout / "deploy").glob("*.md"))
        ),
        Entry(documents / "edgefaced.toml", (checkout / "deploy/edgefaced.toml").read_bytes()),
    ]


def control_entries(
    here: Path, entries: Iterable[Entry], version: str, target: Target
) -> list[Entry]:
    """dpkg's part: description, scripts, checksums."""
    files = [entry for entry in entries if entry.link is None]
    size = sum(-(-len(entry.data) // 1024) for entry in files)
    text = (here / "control").read_text()
    for name, value in (("VERSION", version), ("ARCH", target.debian), ("SIZE", str(size))):
        text = text.replace(f"@{name}@", value)
    sums = "".join(
        f"{hashlib.md5(entry.data, usedforsecurity=False).hexdigest()}  {entry.path}\n"
        for entry in sorted(files, key=lambda entry: entry.path)
    )
    return [
        Entry(PurePosixPath("control"), text.encode()),
        Entry(PurePosixPath("md5sums"), sums.encode()),
        *(
            Entry(PurePosixPath(name), (here / name).read_bytes(), 0o755)
            for name in ("postinst", "prerm", "postrm")
        ),
    ]


def copyright_of(here: Path, wheels: Iterable[str]) -> str:
    """The copyright file, with the names and versions of what else is in the package."""
    names = sorted({" ".join(wheel.split("-")[:2]) for wheel in wheels})
    return (here / "copyright").read_text().replace("@WHEELS@", "\n".join(f"  {n}" for n in names))


def changelog(version: str, epoch: int) -> str:
    """The package's changelog: one entry, for what has changed is told in CHANGELOG.md."""
    day = format_datetime(datetime.fromtimestamp(epoch, UTC))
    return (
        f"edgefaced ({version}) stable; urgency=medium\n\n"
        "  * This version of edgefaced; its CHANGELOG.md says what is new.\n\n"
        f" -- edgefaced maintainers <maintainers@edgefaced.example>  {day}\n"
    )


def gzipped(data: bytes) -> bytes:
    """Compressed without a time or a name in it."""
    return gzip.compress(data, 9, mtime=0)
