"""How long a search takes, by index and number of templates, on one core."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from edgefaced.benchmark.quiet import Noise
from edgefaced.benchmark.spread import Spread
from edgefaced.errors import EdgefacedError

THREAD_LIMITS = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)
"""What the libraries that may do the sums ask for their number of threads."""


@dataclass(frozen=True, slots=True)
class MatchFigures:
    """Searches of one index with so many templates of so many numbers."""

    index: str
    templates: int
    dimension: int
    search: Spread
    noise: Noise


def kinds_here() -> tuple[str, ...]:
    """The indexes that this machine can measure."""
    return ("exact", "faiss") if importlib.util.find_spec("faiss") else ("exact",)


def measure_matching(
    templates: Sequence[int],
    *,
    dimension: int,
    searches: int,
    kinds: Sequence[str],
    told: Callable[[int, int], None] = lambda done, total: None,
) -> Iterator[MatchFigures]:
    """Figures as they come, from a process that has one thread; `told` hears of enrolled people.

    The threads of a BLAS are settled when it is loaded, which here it already is.
    """
    command = [
        sys.executable,
        "-m",
        "edgefaced.benchmark.match_worker",
        f"--dimension={dimension}",
        f"--searches={searches}",
        *(f"--kind={kind}" for kind in kinds),
        *(str(count) for count in sorted(set(templates))),
    ]
    environment = {**os.environ, **dict.fromkeys(THREAD_LIMITS, "1")}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as worker:
        assert worker.stdout is not None  # noqa: S101 - asked for above
        try:
            for line in worker.stdout:
                message = json.loads(line)
                if "enrolled" in message:
                    told(message["enrolled"], message["of"])
                else:
                    yield MatchFigures(
                        index=message["index"],
                        templates=message["templates"],
                        dimension=message["dimension"],
                        search=Spread(**message["search"]),
                        noise=Noise(**message["noise"]),
                    )
        finally:
            if worker.poll() is None:
                worker.terminate()
    if worker.returncode != 0:
        raise EdgefacedError(
            f"the measuring process ended with status {worker.returncode}", "see above for why"
        )
