"""The disks that machines start from, cached: Debian, and on it Debian with edgefaced installed.

A cached folder is named by a digest of what it was made from and counts only when complete; any
number of runs may share one cache.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.system.vm.machine import CONFIGURATION, SceneError, Skipped, shorten

HERE = Path(__file__).parent
CHECKOUT = HERE.parents[2]
CANNOT = 77
"""How programs end that find nothing to blame but the place they run in."""
INSTALLED_KEPT = 4
"""Every package makes an installed disk; older ones go."""
PACK = "mobilefacenet"
"""The lightest: the emulated processor has hardly the power of a small board."""
PACK_FILES = ("det_500m.onnx", "foamliu_MobileFaceNet.onnx")


@dataclass(frozen=True, slots=True)
class Layers:
    """What a machine boots: kernel, its first files, and the disk that scenes lay theirs upon."""

    base: Path
    disk: Path
    package: Path
    weights: tuple[Path, ...]
    """What the pack `PACK` is made of, and was installed from; nothing where there is none here."""

    @property
    def bare_disk(self) -> Path:
        """Debian alone."""
        return self.base / "root.ext4"

    @property
    def kernel(self) -> Path:
        return self.base / "vmlinuz"

    @property
    def initrd(self) -> Path:
        return self.base / "initrd.img"


def digest(*paths: Path) -> str:
    """Of names and contents of files, and of all files of folders."""
    total = hashlib.sha256()
    for path in paths:
        files = sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]
        for file in files:
            total.update(f"{file.relative_to(path.parent)}\0{file.stat().st_mode:o}\0".encode())
            total.update(hashlib.sha256(file.read_bytes()).digest())
    return total.hexdigest()[:16]


def overlay(disk: Path, below: Path) -> None:
    """A disk that begins as the one below and leaves it as it is. Replaces a former one."""
    kind = "qcow2" if below.suffix == ".qcow2" else "raw"
    disk.unlink(missing_ok=True)
    subprocess.run(
        [
            "qemu-img",
            "create",
            "-q",
            "-f",
            "qcow2",
            "-F",
            kind,
            "-b",
            str(below.resolve()),
            str(disk),
        ],
        check=True,
    )


def base_layer(cache: Path, say: Callable[[str], None]) -> Path:
    """The folder with Debian's disk and kernel, made where it is missing.

    Raises Skipped for want of Debian's archive, SceneError when what is made of it is at fault.
    """
    key = digest(HERE / "image.sh", HERE / "modules", HERE / "guest")

    def make(folder: Path) -> None:
        say("making the image: Debian and kernel modules")
        with (cache / "image.log").open("wb") as log:
            made = subprocess.run([HERE / "image.sh", folder], stdout=log, stderr=log, check=False)
        if made.returncode != 0:
            words = Path(log.name).read_text(errors="replace").strip().splitlines()[-1:]
            why = f"image.sh ended with {made.returncode}, see {log.name}: {' '.join(words)}"
            raise (Skipped if made.returncode == CANNOT else SceneError)(why)

    return _cached(cache, f"base-{key}", make)


def installed_layer(
    cache: Path, package: Path, weights: Path | None, say: Callable[[str], None]
) -> Layers:
    """Debian with the package and, where there are weights, a pack.

    Raises Skipped where there is no Debian to be had, and SceneError.
    """
    base = base_layer(cache, say)
    files = [weights / name for name in PACK_FILES] if weights else []
    key = digest(base / "made", package, *files, Path(__file__))

    def make(folder: Path) -> None:
        say("installing the package in a root without a network")
        root = folder / "root"
        root.mkdir()
        _run("tar", "-C", root, "-xf", base / "root.tar")
        for file in (package, *files):
            shutil.copy(file, root / "cargo")
        command = f"apt-get install -y /cargo/{package.name} && edgefaced --version"
        if files:
            command += f" && edgefaced models import /cargo --pack {PACK}"
            command += f" && sed -i 's/^# pack = .*/pack = \"{PACK}\"/' {CONFIGURATION}"
        say(f"  $ {command}")
        with (folder / "said").open("wb") as said:
            # A namespace's own network has nothing in it, and the mount ends with the namespace.
            inside = 'mount -t proc proc "$0/proc" && exec chroot "$0" bash -ec "$1"'
            shell = ["unshare", "--mount", "--net", "sh", "-c", inside, str(root), command]
            environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root"}
            done = subprocess.run(shell, env=environment, stdout=said, stderr=said, check=False)
        if done.returncode != 0:
            raise SceneError(f"the installation ended with {done.returncode}, see {folder}/said")
        for file in (package, *files):
            (root / "cargo" / file.name).unlink()
        _run("mke2fs", "-q", "-t", "ext4", "-d", root, folder / "root.ext4", "4G")
        shutil.rmtree(root)

    folder = _cached(cache, f"installed-{key}", make)
    return Layers(base, folder / "root.ext4", package, tuple(files))


def _run(*command: str | Path) -> None:
    """Raises SceneError when it fails."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SceneError(f"`{shorten(' '.join(map(str, command)))}`: {shorten(done.stderr)}")


@contextmanager
def locked(cache: Path) -> Iterator[None]:
    """One run at a time makes disks in a cache."""
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / "lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _cached(cache: Path, name: str, make: Callable[[Path], None]) -> Path:
    folder = cache / name
    with locked(cache):
        if not (folder / "made").exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            make(folder)
            (folder / "made").write_text(name)
        os.utime(folder)
        kind = name.partition("-")[0]
        newest_first = sorted(
            cache.glob(f"{kind}-*"), key=lambda p: p.stat().st_mtime, reverse=True
        )
        for old in newest_first[INSTALLED_KEPT:]:
            shutil.rmtree(old)
    return folder
