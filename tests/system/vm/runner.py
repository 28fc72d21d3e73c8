"""Plays scenes one after the other and says how each went: `tests/system/run`."""

from __future__ import annotations

import argparse
import importlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.system.vm.layers import CANNOT, CHECKOUT, HERE, Layers, installed_layer
from tests.system.vm.machine import SceneError, Skipped
from tests.system.vm.stage import Stage, Transcript

TOOLS = {
    "qemu-system-x86_64": "qemu-system-x86",
    "qemu-img": "qemu-utils",
    "mmdebstrap": "mmdebstrap",
    "mke2fs": "e2fsprogs",
    "dpkg-deb": "dpkg",
    "setpriv": "util-linux",
    "zstd": "zstd",
}
"""Programs, and the Debian packages that have them."""


@dataclass(frozen=True, slots=True)
class Scene:
    """A file of scenes/. `quick`: for every run of the gate; `bare`: without the package."""

    name: str
    title: str
    quick: bool
    bare: bool
    play: Callable[[Stage], None]


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a scene went: "passed", "failed" or "skipped", and why."""

    scene: Scene
    word: str
    why: str
    seconds: float


def scenes() -> list[Scene]:
    """Every scene, in order."""
    found = []
    for file in sorted((HERE / "scenes").glob("s[0-9]*.py")):
        module = importlib.import_module(f"tests.system.vm.scenes.{file.stem}")
        title = (module.__doc__ or file.stem).strip().splitlines()[0]
        quick, bare = (getattr(module, mark, False) for mark in ("QUICK", "BARE"))
        found.append(Scene(file.stem, title, quick, bare, module.scene))
    return found


def play(scene: Scene, folder: Path, layers: Layers, data: Path | None) -> Outcome:
    """One scene on a machine of its own; what it left is in `folder` when it failed."""
    folder.mkdir(parents=True)
    began = time.monotonic()
    with (folder / "transcript").open("w") as file:
        transcript = Transcript(file)
        transcript.say(f"== {scene.name}: {scene.title}")
        stage = Stage(folder, layers, transcript, data, scene.bare)
        word, why = "failed", "interrupted"
        try:
            if not (scene.bare or layers.weights):
                raise Skipped("no weights here: set EDGEFACED_TEST_DATA to a folder that has them")
            scene.play(stage)
            word, why = "passed", ""
        except Skipped as reason:
            word, why = "skipped", str(reason)
        except (SceneError, OSError, ValueError, LookupError, subprocess.SubprocessError) as error:
            why = (
                str(error) if isinstance(error, SceneError) else f"{type(error).__name__}: {error}"
            )
            transcript.say(f"FAILED: {why}")
            stage.keep_evidence()
        finally:
            stage.clear(keep=word == "failed")
    return Outcome(scene, word, why, time.monotonic() - began)


def chosen(names: list[str], every: list[Scene], quick: bool) -> list[Scene]:
    """Scenes by number ("2"), name ("s02_door") or part of it. Raises SceneError."""
    picked: list[Scene] = []
    for name in names:
        wanted = f"s{int(name):02}_" if name.isdecimal() else name
        matching = [scene for scene in every if wanted in scene.name]
        if not matching:
            raise SceneError(f"no scene {name}; see --list")
        picked += [scene for scene in matching if scene not in picked]
    picked = picked or every
    return [scene for scene in picked if scene.quick] if quick else picked


def package(given: Path | None, folder: Path) -> Path:
    """The package to install: the one given, else built from this checkout. Raises SceneError."""
    if given is not None:
        if not given.is_file():
            raise SceneError(f"{given} is not a file")
        return given.resolve()
    build = CHECKOUT / "deploy" / "debian" / "build"
    with (folder / "package.log").open("w") as log:
        built = subprocess.run(
            [build, "--arch", "amd64", "--fast", "--output", folder],
            stdout=log,
            stderr=log,
            check=False,
        )
    made = sorted(folder.glob("edgefaced_*_amd64.deb"))
    if built.returncode != 0 or len(made) != 1:
        raise SceneError(f"{build} ended with {built.returncode}, see {log.name}")
    return made[0]


def evaluation_data() -> Path | None:
    """The folder of pictures and weights, found as the other tests find it."""
    named = os.environ.get("EDGEFACED_TEST_DATA")
    folder = Path(named) if named else CHECKOUT.parent / "shared" / "data"
    return folder if folder.is_dir() else None


def obstacle() -> str:
    """Why machines cannot be made here; empty where they can."""
    # Where only root's PATH looks lies mke2fs.
    os.environ["PATH"] += ":/usr/sbin:/sbin"
    missing = sorted({debian for tool, debian in TOOLS.items() if shutil.which(tool) is None})
    if missing:
        return f"missing: apt install {' '.join(missing)}"
    if os.geteuid() != 0:
        return "mmdebstrap and mke2fs need root to give files their owners: run it with sudo"
    return ""


def table(outcomes: list[Outcome]) -> str:
    """How every scene went, a line each."""
    width = max(len(outcome.scene.name) for outcome in outcomes)
    lines = [
        f"{o.scene.name:{width}}  {o.word:7}  {o.seconds:6.0f} s  {o.why or o.scene.title}"
        for o in outcomes
    ]
    return "\n".join(
        [*lines, f"{'':{width}}           {sum(o.seconds for o in outcomes):6.0f} s in all"]
    )


def main() -> int:
    """0 when no scene failed, 1 when one did, 77 when machines cannot be made here."""
    default_cache = (
        Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "edgefaced-vm"
    )
    parser = argparse.ArgumentParser(
        prog="tests/system/run",
        description="A whole device, in QEMU: plays scenes and prints a transcript.",
    )
    parser.add_argument("scene", nargs="*", help="number, name or part of a name (default: all)")
    parser.add_argument("--list", action="store_true", help="name the scenes and end")
    parser.add_argument("--quick", action="store_true", help="only those that the gate plays")
    parser.add_argument(
        "--package", type=Path, help="a .deb instead of one built from this checkout"
    )
    parser.add_argument(
        "--cache", type=Path, default=default_cache, help="disks (default: %(default)s)"
    )
    parser.add_argument("--output", type=Path, help="what failures leave (default: under TMPDIR)")
    options = parser.parse_args()
    try:
        playing = chosen(options.scene, scenes(), options.quick)
        if options.list:
            for scene in playing:
                sys.stdout.write(f"{scene.name}{' (quick)' * scene.quick}: {scene.title}\n")
            return 0
        if why := obstacle():
            sys.stderr.write(f"tests/system/run: {why}\n")
            return CANNOT
        folder = Path(options.output or tempfile.mkdtemp(prefix="edgefaced-vm-"))
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / "transcript").open("w") as file:
            say = Transcript(file).say
            data = evaluation_data()
            deb = package(options.package, folder)
            say(f"{deb.name}: {deb.stat().st_size / 1e6:.1f} MB")
            layers = installed_layer(options.cache, deb, data and data / "models", say)
            say("the installed disk is there")
            outcomes = [play(scene, folder / scene.name, layers, data) for scene in playing]
            summary = table(outcomes)
            for out in (sys.stdout, file):
                out.write(f"\n{summary}\n")
    except ModuleNotFoundError as error:
        sys.stderr.write(
            f"tests/system/run: {error.name} is missing: make .venv as README's test command does\n"
        )
        return CANNOT
    except Skipped as why:
        sys.stderr.write(f"tests/system/run: {why}\n")
        return CANNOT
    except SceneError as error:
        sys.stderr.write(f"tests/system/run: {error}\n")
        return 1
    sys.stdout.write(f"transcripts, and what failures left: {folder}\n")
    return 1 if any(outcome.word == "failed" for outcome in outcomes) else 0
