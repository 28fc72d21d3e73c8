"""The daemon's line beside the serial loop, and beside others, on the same film in turns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import cv2

from edgefaced.assembly import close_size, whole_size
from edgefaced.benchmark.copied import Copied
from edgefaced.benchmark.film import Film, Pace
from edgefaced.benchmark.line_rig import PATIENCE_SECONDS, Bench, line_on
from edgefaced.benchmark.passing import Decided, InputBytes, NetworkCosts, Passing, delays
from edgefaced.benchmark.quiet import Noise, Watch, settle
from edgefaced.benchmark.serial import (
    NAME,
    film_seconds,
    look_of_peer,
    look_with,
    run_serially,
)
from edgefaced.benchmark.slow import SlowFigures, run_slowly
from edgefaced.benchmark.stage_time import StageClocks, StageCost, stage_costs
from edgefaced.benchmark.tallied import Tally
from edgefaced.benchmark.turns import Contender, take_turns
from edgefaced.core.region import crop, square_around
from edgefaced.errors import EdgefacedError, UsageError
from edgefaced.events import DecisionMade, Event
from edgefaced.gallery.records import NewTemplate
from edgefaced.pipeline.watch import REGION_SIDES
from edgefaced.protocols import Delivery, SinkPlan
from edgefaced.recognition.detector import NetworkDetector
from edgefaced.recognition.network import opened_network
from edgefaced.types import Frame, Role

OURS = "edgefaced"
COST_ROUNDS = 40


@dataclass(frozen=True, slots=True)
class Rival:
    """Another way over the same film: `rounds` passings, and how it differs from the line.

    Ratios are theirs to ours, of passings in the same round. `delays` are frames by which the
    line decides later; None where the decisions differ. `live` is in the film's own time.
    """

    passings: tuple[Passing, ...]
    live: Passing
    cpu_ratios: tuple[float, ...]
    delays: tuple[int, ...] | None


@dataclass(frozen=True, slots=True)
class LineFigures:
    """What was measured on one film."""

    film: str
    costs: NetworkCosts
    copied: Copied | None
    """By the first passing of ours."""
    ours: tuple[Passing, ...]
    ours_live: Passing
    """In the film's own time, on `live_film`."""
    stages: tuple[StageCost, ...]
    """Of the same."""
    rivals: tuple[Rival, ...]
    slow: tuple[SlowFigures, ...]
    """With a recogniser that takes longer, where that was asked for; on `live_film`."""
    noise: Noise

    @property
    def network_share(self) -> float:
        """Network cost of a frame in the line, as a share of the serial loop's."""
        serial = self.rivals[0].passings[0]
        return self.costs.per_frame(self.ours[0]) / self.costs.per_frame(serial)


class Notes:
    """A sink that keeps the decisions."""

    def __init__(self, clocks: StageClocks) -> None:
        self.decisions: list[DecisionMade] = []
        self._clocks = clocks
        clocks.start("deliver")

    def emit(self, event: Event) -> None:
        if isinstance(event.happening, DecisionMade):
            self.decisions.append(event.happening)

    def close(self) -> None:
        self._clocks.stop("deliver")


def run_line(
    bench: Bench, film: Film, *, pace: Pace = "fast", clocks: StageClocks | None = None
) -> Passing:
    """The whole film; every frame at "fast" pace. Raises what ended a stage before its end."""
    tally, taken, clocks = Tally(), list[Notes](), clocks or StageClocks()

    def open_notes() -> Notes:
        taken.append(Notes(clocks))
        return taken[0]

    sinks = {"notes": SinkPlan(open_notes, Delivery.MOMENTARY)}
    line, gate = line_on(bench, film, sinks, tally, pace=pace, numbered=True, clocks=clocks)
    line.start()
    while line.crew.working() and not line.crew.stop.is_set():
        line.crew.wait(1.0)
    cpu, wall = gate.used
    hanging = line.stop(PATIENCE_SECONDS)
    if line.crew.failures:
        raise line.crew.failures[0].error
    if hanging:
        raise EdgefacedError(f"{hanging[0].stage} hangs")
    figures, moments = line.figures, sorted(tally.numbers)
    frames = figures.frames["captured"]
    return Passing(
        name=OURS,
        frames=frames,
        film_seconds=film_seconds(moments[0], moments[-1], frames),
        cpu_seconds=cpu,
        wall_seconds=wall,
        decided=tuple(
            Decided(
                tally.numbers[d.captured_ns],
                d.decision.outcome,
                d.decision.person_id,
                (d.decided_ns - d.captured_ns) / 1e6,
            )
            for d in taken[0].decisions
        ),
        whole_looks=figures.looks["whole"],
        close_looks=figures.looks["close"],
        embeddings=figures.embeddings,
        faces=figures.faces,
        bytes_copied=figures.bytes_copied,
    )


def measure_line(
    bench: Bench,
    film: Film,
    live_film: Film,
    *,
    rounds: int,
    beside_insightface: bool,
    slower_ms: Sequence[float] = (),
    told: Callable[[str, int, int], None] = lambda what, done, total: None,
) -> LineFigures:
    """The line and its rivals, once a round each, and once on `live_film` in its own time.

    The first face of `film` is enrolled. Raises UsageError for a film without one.
    """
    cv2.setNumThreads(bench.threads)
    watch = Watch()
    with ExitStack() as opened:
        recogniser = opened.enter_context(bench.open_recogniser())
        frame = frame_with_face(film, recogniser.detect)
        embedding = recogniser.embed(recogniser.observe(frame)[0].aligned)
        with bench.open_gallery() as gallery:
            gallery.enrol("Somebody", [NewTemplate(embedding)])
        costs, inputs = network_costs(bench, frame)
        looks = {NAME: look_with(recogniser, bench)}
        if beside_insightface:
            from edgefaced.benchmark.insightface_peer import open_insightface

            folder = opened.enter_context(TemporaryDirectory(prefix="edgefaced-bench-"))
            peer = open_insightface(
                bench.store,
                bench.manifest,
                Path(folder),
                size=bench.settings.detection.input_size_px,
                threads=bench.threads,
            )
            looks[f"{peer.name} {peer.version}"] = look_of_peer(
                peer, embedding.model_id, embedding.dimension
            )
        ours: list[Passing] = []
        theirs: dict[str, list[Passing]] = {name: [] for name in looks}
        for number in range(rounds):
            ours.append(run_line(bench, film))
            settle()
            for name, look in looks.items():
                theirs[name].append(run_serially(name, bench, film, look, embedding.model_id))
                settle()
            told("in turns", number + 1, rounds)
        eager, clocks, hooked = announcing(bench), StageClocks(), StageClocks(hooked=True)
        ours_live = run_line(eager, live_film, pace="real", clocks=clocks)
        told("in the film's own time", 1, 2 + len(looks))
        run_line(eager, live_film, pace="real", clocks=hooked)
        told("in the film's own time", 2, 2 + len(looks))
        live: dict[str, Passing] = {}
        for name, look in looks.items():
            live[name] = run_serially(name, eager, live_film, look, embedding.model_id, pace="real")
            told("in the film's own time", 2 + len(live), 2 + len(looks))
        slow: list[SlowFigures] = []
        for delay_ms in slower_ms:
            slow.append(run_slowly(bench, live_film, delay_ms))
            told("with a slower recogniser", len(slow), len(slower_ms))
    return LineFigures(
        film=film.name,
        costs=costs,
        copied=inputs.copied(ours[0]),
        ours=tuple(ours),
        ours_live=ours_live,
        stages=stage_costs(clocks.times, hooked.times, ours_live.frames),
        rivals=tuple(rival(ours, passings, live[name]) for name, passings in theirs.items()),
        slow=tuple(slow),
        noise=watch.noise(),
    )


def announcing(bench: Bench) -> Bench:
    """The same, but a person is announced again each time that they come back."""
    policy = bench.settings.policy.model_copy(update={"cool_down_seconds": 0.0})
    return replace(bench, settings=bench.settings.model_copy(update={"policy": policy}))


def rival(ours: Sequence[Passing], theirs: Sequence[Passing], live: Passing) -> Rival:
    """Theirs held against ours, round by round."""
    return Rival(
        passings=tuple(theirs),
        live=live,
        cpu_ratios=tuple(
            other.cpu_seconds / mine.cpu_seconds for mine, other in zip(ours, theirs, strict=True)
        ),
        delays=delays(ours[0].decided, theirs[0].decided),
    )


def frame_with_face(film: Film, detect: Callable[[Frame], Sequence[object]]) -> Frame:
    """An own copy of the first frame that shows a face. Raises UsageError where none does."""
    with film.open("fast", False) as camera:
        while True:
            try:
                lease = camera.next(1.0)
            except EdgefacedError:
                raise UsageError(
                    f"nobody is seen in {film.name}", "measure where somebody stands"
                ) from None
            if lease is None:
                continue
            with lease:
                if detect(lease.frame):
                    frame = lease.frame
                    return Frame(0, 0, frame.pixels.copy(), frame.pixel_format)


def network_costs(bench: Bench, frame: Frame) -> tuple[NetworkCosts, InputBytes]:
    """Processor time of each network on a frame with a face, in turns; medians. Its inputs, too."""
    spec, whole_side = bench.manifest.of_role(Role.DETECTOR), whole_size(bench.settings)
    with (
        bench.open_recogniser() as recogniser,
        opened_network(bench.store, spec, whole_side, bench.threads) as network,
    ):
        whole = NetworkDetector(network, spec, size=whole_side)
        close = NetworkDetector(network, spec, size=close_size(bench.manifest))
        face = recogniser.observe(frame)[0]
        part = crop(frame, square_around(face.detection.box, REGION_SIDES, frame))
        region = frame if part is None else part[0]
        whole.feed(frame)
        close.feed(region)
        far, near, embed = take_turns(
            [
                Contender("whole", whole.infer),
                Contender("close", close.infer),
                Contender("embed", lambda: recogniser.embed(face.aligned)),
            ],
            COST_ROUNDS,
            settle=settle,
        )
    inputs = InputBytes(whole.input_bytes(frame), close.input_bytes(region))
    return NetworkCosts(median(far.cpu_ms), median(near.cpu_ms), median(embed.cpu_ms)), inputs
