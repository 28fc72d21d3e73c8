"""Cold start: a fresh process from its command line to its answer, and the memory it took."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from edgefaced.benchmark.quiet import Noise, Watch
from edgefaced.benchmark.spread import Spread, spread
from edgefaced.errors import EdgefacedError

NAME = "Somebody"


@dataclass(frozen=True, slots=True)
class Run:
    """One process: how long it took, how much processor time, and the most memory it held."""

    wall_ms: float
    cpu_ms: float
    peak_rss_bytes: int


@dataclass(frozen=True, slots=True)
class StartFigures:
    """Several runs of the same command line."""

    wall: Spread
    cpu: Spread
    peak_rss_bytes: int
    noise: Noise


def run_once(command: Sequence[str], environment: Mapping[str, str]) -> Run:
    """Runs a command to its end. Raises EdgefacedError with the last it said where it fails."""
    launcher = subprocess.run(
        [sys.executable, "-m", "edgefaced.benchmark.launcher", *command],
        capture_output=True,
        text=True,
        check=True,
        env=dict(environment),
    )
    report = json.loads(launcher.stdout)
    if report["status"] != 0:
        said = launcher.stderr.strip().splitlines()[-1:] or ["it said nothing"]
        raise EdgefacedError(
            f"`{' '.join(command[2:])}` ended with status {report['status']}: {said[0]}"
        )
    return Run(report["wall_ms"], report["cpu_ms"], report["peak_rss_bytes"])


def measure_start(
    picture: Path, *, models_dir: Path, pack: str, size: int, threads: int, runs: int
) -> StartFigures:
    """`edgefaced identify PICTURE` as a fresh process each time, in a gallery of this one person.

    The first run is not counted: it brings the program and the networks into the page cache.
    """
    with TemporaryDirectory(prefix="edgefaced-bench-") as folder:
        config = Path(folder) / "edgefaced.toml"
        config.write_text(
            f'[models]\npack = "{pack}"\n'
            f"[inference]\nthreads = {threads}\n"
            f"[detection]\ninput_size_px = {size}\n"
            # Also for packs that are not calibrated; the picture is compared with itself.
            "[recognition]\nfixed_threshold = 0.4\n"
        )
        environment = {
            **os.environ,
            "EDGEFACED_CONFIG": str(config),
            "EDGEFACED_STATE_DIR": str(Path(folder) / "state"),
            "EDGEFACED_MODELS_DIR": str(models_dir),
        }
        edgefaced = [sys.executable, "-m", "edgefaced"]
        run_once([*edgefaced, "enroll", NAME, str(picture)], environment)
        identify = [*edgefaced, "identify", str(picture)]
        run_once(identify, environment)
        watch = Watch()
        measured = [run_once(identify, environment) for _ in range(runs)]
    return StartFigures(
        wall=spread([run.wall_ms for run in measured]),
        cpu=spread([run.cpu_ms for run in measured]),
        peak_rss_bytes=max(run.peak_rss_bytes for run in measured),
        noise=watch.noise(),
    )
