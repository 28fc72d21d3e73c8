"""A soak of the daemon's line, run by hand: `python tests/bench/soak.py --minutes 20`.

A looped film at full speed: a known and an unknown person stand there for four seconds, then
nobody for two, so that tracks, decisions and leavings come without end; a second process enrols
and removes somebody all the while. Memory is sampled every five seconds, the slope is that of the
least squares after the warm-up.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import threading
import time
from collections import Counter
from dataclasses import asdict
from pathlib import Path

import numpy as np

from edgefaced.benchmark.film import EMPTY_FRAMES, RATE, film_of_frames, standing
from edgefaced.benchmark.line_rig import Bench, line_on, line_threads, open_bench
from edgefaced.benchmark.machine import this_machine
from edgefaced.benchmark.quiet import Watch
from edgefaced.benchmark.scene import scene
from edgefaced.benchmark.tallied import Tally
from edgefaced.config.places import places_of_this_process
from edgefaced.config.settings import read_settings
from edgefaced.events import DecisionMade, Event
from edgefaced.pictures.decode import frame_of
from edgefaced.protocols import Delivery, SinkPlan
from edgefaced.types import U8

SAMPLE_SECONDS = 5.0
CHANGE_EVERY = 6
"""Samples from one change of the gallery to the next."""
STOP_SECONDS = 20.0

CHANGE = """
import sys
from pathlib import Path
import numpy as np
from edgefaced.benchmark.crowd import directions
from edgefaced.gallery.records import NewTemplate
from edgefaced.gallery.store import Gallery
from edgefaced.types import Embedding
folder, model, dimension, seed = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
with Gallery.open(folder / "gallery.db", folder / "gallery.key") as gallery:
    there = gallery.find("Passer-by")
    if there is None:
        vectors = directions(5, dimension, seed)
        gallery.enrol("Passer-by", [NewTemplate(Embedding(v, model)) for v in vectors])
    else:
        gallery.remove(there.id)
"""


class Counting:
    """A sink that counts what comes."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()

    def emit(self, event: Event) -> None:
        happening = event.happening
        kind = type(happening).__name__
        if isinstance(happening, DecisionMade):
            kind = f"decided {happening.decision.outcome}"
        self.counts[kind] += 1

    def close(self) -> None:
        pass


def rss_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def slope_mb_per_hour(samples: list[tuple[float, float]], warm_up: float) -> float:
    times, sizes = np.array([s for s in samples if s[0] >= warm_up]).T
    return float(np.polyfit(times / 3600, sizes, 1)[0])


def change_gallery(bench: Bench, model: str, dimension: int, seed: int) -> None:
    words = [str(bench.places.state_dir), model, str(dimension), str(seed)]
    subprocess.run([sys.executable, "-c", CHANGE, *words], check=True)


def people(bench: Bench) -> tuple[U8, U8]:
    """Somebody to enrol, and a stranger."""
    photographs = bench.photographs()
    return photographs[0], photographs[-1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=20.0)
    parser.add_argument("--warm-up", type=float, default=2.0, help="minutes")
    parser.add_argument("--pack", help="instead of the configured one")
    options = parser.parse_args()
    places = places_of_this_process()
    settings = read_settings(places.config_file)
    # Ann is to be announced each time that she comes back.
    policy = settings.policy.model_copy(update={"cool_down_seconds": 1.0})
    settings = settings.model_copy(update={"policy": policy})
    pack = options.pack or settings.models.pack
    with open_bench(settings, places, pack, line_threads(settings)) as bench:
        known, stranger = people(bench)
        bench.enrol("Ann", frame_of(scene(known)))
        with bench.open_recogniser() as recogniser:
            face = recogniser.observe(frame_of(scene(known)))[0]
            model, dimension = recogniser.model_id, recogniser.embed(face.aligned).dimension
        acts = [(standing([known, stranger]), 4 * RATE), (standing([], EMPTY_FRAMES), 2 * RATE)]
        film = film_of_frames("two people, then nobody", acts)
        tally, sink, watch = Tally(), Counting(), Watch()
        sinks = {"counting": SinkPlan(lambda: sink, Delivery.MOMENTARY)}
        line, gate = line_on(bench, film, sinks, tally, loop=True)
        before = {"threads": threading.active_count(), "descriptors": descriptors()}
        line.start()
        assert line.capturer.first_frame.wait(60), line.crew.failures
        samples: list[tuple[float, float]] = []
        changes = 0
        during = {"threads": threading.active_count(), "descriptors": descriptors()}
        while line.crew.working() and not line.crew.stop.is_set():
            since = time.monotonic() - gate.begun
            samples.append((since, rss_mb()))
            if since > options.minutes * 60:
                break
            if len(samples) % CHANGE_EVERY == 0:
                change_gallery(bench, model, dimension, seed=len(samples))
                changes += 1
            if len(samples) % 24 == 0:
                sys.stderr.write(f"{since / 60:.1f} min: {samples[-1][1]:.1f} MB\n")
            line.crew.stop.wait(SAMPLE_SECONDS)
        at_end = {"threads": threading.active_count(), "descriptors": descriptors()}
        stragglers = line.stop(STOP_SECONDS)
        wall = time.monotonic() - gate.begun
        cpu = time.process_time() - gate.cpu_seconds
        warm = min(options.warm_up * 60, wall / 2)
        figures = line.figures
        report = {
            "machine": asdict(this_machine()),
            "noise": asdict(watch.noise()),
            "pack": pack,
            "minutes": round(wall / 60, 2),
            "cpu_share": round(cpu / wall, 3),
            "frames": dict(figures.frames),
            "looks": dict(figures.looks),
            "embeddings": figures.embeddings,
            "events": dict(sink.counts),
            "gallery_changes": changes,
            "templates": figures.templates,
            "leases": {"lent": tally.lent, "returned": tally.returned},
            "rss_mb": {
                "of_the_film": round(sum(f.nbytes for act, _ in acts for f in act) / 1e6, 1),
                "start": round(samples[0][1], 1),
                "after_warm_up": round(next(s for t, s in samples if t >= warm), 1),
                "end": round(samples[-1][1], 1),
                "slope_per_hour": round(slope_mb_per_hour(samples, warm), 3),
                "n": sum(t >= warm for t, _ in samples),
            },
            "before": before,
            "running": during,
            "running_at_end": at_end,
            "after": {"threads": threading.active_count(), "descriptors": descriptors()},
            "failures": [f"{f.stage}: {f.error!r}" for f in line.crew.failures],
            "stragglers": [s.stage for s in stragglers],
        }
    sys.stdout.write(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()
