"""What a running daemon costs, run by hand: `python tests/bench/idle.py --pack mobilefacenet`.

The command line itself, as a service manager starts it: start to READY, then the share of a core
and the memory with nobody in view and with a person who stands there; 1280x720 at 30 a second.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import socket
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory

import cv2

from edgefaced.benchmark.film import standing
from edgefaced.benchmark.line_rig import line_threads, open_bench
from edgefaced.benchmark.machine import this_machine
from edgefaced.benchmark.quiet import Watch
from edgefaced.benchmark.scene import scene
from edgefaced.config.places import places_of_this_process
from edgefaced.config.settings import read_settings
from edgefaced.pictures.decode import frame_of
from edgefaced.types import U8

SETTLE_SECONDS = 5.0
TICKS = os.sysconf("SC_CLK_TCK")


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def rss_mb(pid: int) -> float:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def told_ready(notified: socket.socket) -> None:
    while b"READY=1" not in notified.recv(4096):
        pass


def measure(folder: Path, environment: dict[str, str], seconds: float) -> dict[str, float]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notified:
        notified.settimeout(60)
        address = folder / "notify"
        address.unlink(missing_ok=True)
        notified.bind(str(address))
        begun = time.monotonic()
        daemon = subprocess.Popen(
            [sys.executable, "-m", "edgefaced", "run", "--json"],
            env={**environment, "NOTIFY_SOCKET": str(address)},
            stdout=subprocess.DEVNULL,
        )
        try:
            told_ready(notified)
            ready, start_cpu = time.monotonic() - begun, cpu_seconds(daemon.pid)
            time.sleep(SETTLE_SECONDS)
            cpu, at = cpu_seconds(daemon.pid), time.monotonic()
            time.sleep(seconds)
            share = (cpu_seconds(daemon.pid) - cpu) / (time.monotonic() - at)
            memory = rss_mb(daemon.pid)
        finally:
            daemon.send_signal(signal.SIGTERM)
            code = daemon.wait(30)
    return {
        "ready_s": round(ready, 3),
        "ready_cpu_s": round(start_cpu, 3),
        "cpu_share": round(share, 4),
        "rss_mb": round(memory, 1),
        "exit": code,
    }


def write_film(folder: Path, frames: list[U8]) -> float:
    folder.mkdir()
    for number, frame in enumerate(frames):
        cv2.imwrite(str(folder / f"{number:03}.png"), frame, [cv2.IMWRITE_PNG_COMPRESSION, 1])
    return sum(frame.nbytes for frame in frames) / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--pack", help="instead of the configured one")
    options = parser.parse_args()
    places = places_of_this_process()
    settings = read_settings(places.config_file)
    pack = options.pack or settings.models.pack
    report: dict[str, object] = {"machine": asdict(this_machine()), "pack": pack}
    with (
        TemporaryDirectory(prefix="edgefaced-idle-") as name,
        open_bench(settings, places, pack, line_threads(settings)) as bench,
    ):
        folder, person = Path(name), bench.photographs()[0]
        bench.enrol("Ann", frame_of(scene(person)))
        for act, pictures in (("nobody", []), ("one person", [person])):
            film_mb = write_film(folder / act, standing(pictures))
            config = folder / f"{act}.toml"
            config.write_text(
                f'[models]\npack = "{pack}"\n[recognition]\nfixed_threshold = 0.4\n'
                f'[camera]\nkind = "replay"\nreplay_paths = ["{folder / act}"]\n'
                "replay_loop = true\nreplay_picture_seconds = 0\n[thermal]\nzones = []\n"
            )
            environment = {
                **os.environ,
                "EDGEFACED_CONFIG": str(config),
                "EDGEFACED_STATE_DIR": str(bench.places.state_dir),
                "EDGEFACED_MODELS_DIR": str(bench.places.models_dir),
            }
            watch = Watch()
            measured = measure(folder, environment, options.seconds)
            report[act] = {**measured, "film_mb": film_mb, "noise": asdict(watch.noise())}
    sys.stdout.write(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()
