"""`edgefaced bench`: how fast this machine is, stage by stage, and beside other programs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, cast

import click
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from edgefaced.benchmark.film import film_of_files, staged_films
from edgefaced.benchmark.line import measure_line
from edgefaced.benchmark.line_rig import line_threads, open_bench
from edgefaced.benchmark.machine import this_machine
from edgefaced.benchmark.matching import kinds_here, measure_matching
from edgefaced.benchmark.measure import Beside, Plan, SizeFigures, measure
from edgefaced.benchmark.start import measure_start
from edgefaced.cli.bench_device import device_options, print_device
from edgefaced.cli.bench_ledger import ledger
from edgefaced.cli.bench_line_report import (
    line_body,
    line_lines,
    line_table,
    stage_cost_table,
)
from edgefaced.cli.bench_report import (
    comparison_lines,
    copied_line,
    machine_body,
    machine_line,
    match_body,
    match_table,
    noise_line,
    size_body,
    stage_table,
    start_lines,
)
from edgefaced.cli.context import CliContext, pass_context
from edgefaced.cli.numbers import NumberRange
from edgefaced.cli.output import json_option, note, plain, print_json, stderr, stdout
from edgefaced.errors import UsageError, extra
from edgefaced.inference.threads import default_threads
from edgefaced.models.catalogue import find_pack
from edgefaced.models.manifest import PackManifest
from edgefaced.models.store import ModelStore

SIZES = (320, 640)
STANDING_SECONDS, VISITS = 10.0, 10

pack_option = click.option("--pack", help="Model pack instead of the configured one.")
threads_option = click.option(
    "--threads",
    type=click.IntRange(1, 64),
    help="Threads of each network and of OpenCV; absent: the configured number.",
)
picture_option = click.option(
    "--picture",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Picture of one face; absent: a photograph of the pack.",
)


@click.group(invoke_without_command=True)
@pack_option
@click.option(
    "--size",
    "sizes",
    type=click.IntRange(32, 2048),
    multiple=True,
    help="Side of the detector's input; may be given several times.  [default: 320, 640]",
)
@click.option(
    "--frames", type=click.IntRange(1), default=500, show_default=True, help="Frames per stage."
)
@click.option(
    "--rounds",
    type=click.IntRange(2),
    default=100,
    show_default=True,
    help="Turns that we and every other program take.",
)
@click.option(
    "--templates",
    type=click.IntRange(1, 1_000_000),
    default=1000,
    show_default=True,
    help="Templates in the gallery that is searched.",
)
@threads_option
@picture_option
@click.option(
    "--beside",
    type=click.Choice(["insightface", "opencv"]),
    multiple=True,
    help="Measure this program too, in turns; may be given several times.",
)
@device_options
@json_option
@pass_context
@click.pass_context
def bench(
    ctx: click.Context,
    context: CliContext,
    *,
    pack: str | None,
    sizes: tuple[int, ...],
    frames: int,
    rounds: int,
    templates: int,
    threads: int | None,
    picture: Path | None,
    beside: tuple[str, ...],
    device: bool,
    minutes: float,
    as_json: bool,
) -> None:
    """Measure the way of a 720p frame with one face, stage by stage: medians, never a best case."""
    if ctx.invoked_subcommand is not None:
        _refuse_own_options(ctx)
        return
    manifest, store = _pack(context, pack)
    if device:
        if len(sizes) > 1 or beside:
            raise click.UsageError("--device measures one --size, and nothing --beside it")
        sizes = sizes or (context.settings().detection.input_size_px,)
    plan = Plan(
        manifest=manifest,
        sizes=tuple(dict.fromkeys(sizes or SIZES)),
        frames=frames,
        rounds=rounds,
        templates=templates,
        threads=_threads(context, threads),
        picture=picture,
        beside=cast("tuple[Beside, ...]", tuple(dict.fromkeys(beside))),
    )
    if device:
        with _telling() as told:
            print_device(plan, store, context.settings(), minutes, told, as_json=as_json)
        return
    shown: list[SizeFigures] = []
    if not as_json:
        stdout.print(plain(machine_line(this_machine())))
        stdout.print(
            plain(f"pack {manifest.name}, {plan.threads} threads, {templates:,} templates")
        )
    with _telling() as told:
        for figures in measure(plan, store, context.settings(), told):
            shown.append(figures)
            if not as_json:
                _print_size(figures)
    if as_json:
        print_json(
            {
                "machine": machine_body(),
                "pack": manifest.name,
                "threads": plan.threads,
                "templates": templates,
                "sizes": [size_body(figures) for figures in shown],
            }
        )


@bench.command()
@click.option(
    "--templates",
    "templates",
    type=click.IntRange(1, 1_000_000),
    multiple=True,
    default=(1_000, 10_000, 100_000),
    show_default=True,
    help="Templates in the gallery; may be given several times.",
)
@click.option(
    "--dimension",
    type=click.IntRange(16, 4096),
    default=512,
    show_default=True,
    help="Numbers of an embedding.",
)
@click.option(
    "--searches", type=click.IntRange(1), default=500, show_default=True, help="Searches of each."
)
@json_option
def match(*, templates: tuple[int, ...], dimension: int, searches: int, as_json: bool) -> None:
    """Measure a search in a gallery, exact and by faiss, on one core."""
    kinds = kinds_here()
    if "faiss" not in kinds:
        note(f"faiss is not installed: {extra('faiss')}")
    with _telling() as told:

        def enrolled(done: int, total: int) -> None:
            told("enrolling people who do not exist", done, total)

        measured = list(
            measure_matching(
                templates, dimension=dimension, searches=searches, kinds=kinds, told=enrolled
            )
        )
    if as_json:
        print_json({"machine": machine_body(), "threads": 1, "match": match_body(measured)})
        return
    stdout.print(plain(machine_line(this_machine())))
    stdout.print(match_table(measured))
    stdout.print(plain(noise_line(max((m.noise for m in measured), key=lambda n: n.others))))


@bench.command()
@pack_option
@click.option(
    "--size",
    type=click.IntRange(32, 2048),
    help="Side of the detector's input; absent: the configured one.",
)
@click.option(
    "--runs", type=click.IntRange(1), default=10, show_default=True, help="Fresh processes."
)
@threads_option
@picture_option
@json_option
@pass_context
def start(
    context: CliContext,
    *,
    pack: str | None,
    size: int | None,
    runs: int,
    threads: int | None,
    picture: Path | None,
    as_json: bool,
) -> None:
    """Measure `edgefaced identify` as a fresh process: until its answer, and its memory."""
    manifest, store = _pack(context, pack)
    figures = measure_start(
        picture or _photograph(manifest, store),
        models_dir=store.folder,
        pack=manifest.name,
        size=size or context.settings().detection.input_size_px,
        threads=_threads(context, threads),
        runs=runs,
    )
    if as_json:
        print_json(
            {
                "machine": machine_body(),
                "pack": manifest.name,
                "start": asdict(figures),
            }
        )
        return
    stdout.print(plain(machine_line(this_machine())))
    for line in start_lines(manifest.name, figures):
        stdout.print(plain(line))


@bench.command()
@pack_option
@click.option(
    "--film",
    "files",
    type=click.Path(path_type=Path, exists=True),
    multiple=True,
    help="Video, picture or folder; absent: a photograph of the pack as somebody standing there.",
)
@click.option(
    "--rounds", type=click.IntRange(1), default=3, show_default=True, help="Turns of each way."
)
@click.option(
    "--threads", type=click.IntRange(1, 64), help="Threads of each network; absent: the daemon's."
)
@click.option(
    "--beside",
    type=click.Choice(["insightface"]),
    help="Run this program on the film, too.",
)
@click.option(
    "--slower-ms",
    type=NumberRange(0, 60_000),
    multiple=True,
    help="How old frames are when they are judged by a recogniser that takes so much longer.",
)
@json_option
@pass_context
def line(
    context: CliContext,
    *,
    pack: str | None,
    files: tuple[Path, ...],
    rounds: int,
    threads: int | None,
    beside: str | None,
    slower_ms: tuple[float, ...],
    as_json: bool,
) -> None:
    """Measure the daemon's line beside finding and embedding every face of every frame."""
    settings = context.settings()
    used = threads or line_threads(settings)
    name = pack or settings.models.pack
    with open_bench(settings, context.places, name, used) as rig, _telling() as told:
        if files:
            film = live = film_of_files(files)
        else:
            photograph = rig.photographs()[:1]
            if not photograph:
                raise UsageError(
                    f"pack {name} has no photograph on this machine", "--film FILE names a film"
                )
            film, live = staged_films(photograph, seconds=STANDING_SECONDS, visits=VISITS)
        figures = measure_line(
            rig,
            film,
            live,
            rounds=rounds,
            beside_insightface=beside is not None,
            slower_ms=slower_ms,
            told=told,
        )
    if as_json:
        print_json(
            {"machine": machine_body(), "pack": name, "threads": used, "line": line_body(figures)}
        )
        return
    stdout.print(plain(machine_line(this_machine())))
    stdout.print(plain(f"pack {name}, {used} threads a network"))
    stdout.print(line_table(figures))
    for said in line_lines(figures):
        stdout.print(plain(said))
    stdout.print(stage_cost_table(figures))
    stdout.print(plain(noise_line(figures.noise)))


bench.add_command(ledger)


def _pack(context: CliContext, name: str | None) -> tuple[PackManifest, ModelStore]:
    store = ModelStore(context.places.models_dir)
    return find_pack(name or context.settings().models.pack, (store.layout.packs,)), store


def _threads(context: CliContext, threads: int | None) -> int:
    return threads or context.settings().inference.threads or default_threads()


def _photograph(manifest: PackManifest, store: ModelStore) -> Path:
    for spec in manifest.proof:
        if store.photograph(spec) is not None:
            return store.layout.photograph(spec)
    raise UsageError(
        f"pack {manifest.name} has no photograph on this machine", "--picture FILE names one"
    )


def _refuse_own_options(ctx: click.Context) -> None:
    """Options of `bench` itself mean nothing to its subcommands, which have their own."""
    for parameter in ctx.command.params:
        source = ctx.get_parameter_source(parameter.name or "")
        if source is click.core.ParameterSource.COMMANDLINE:
            raise click.UsageError(f"{parameter.opts[0]} goes behind {ctx.invoked_subcommand}")


def _print_size(figures: SizeFigures) -> None:
    stdout.print()
    stdout.print(plain(f"{figures.size} x {figures.size}, {figures.picture}"))
    stdout.print(stage_table(figures.pipeline))
    stdout.print(plain(copied_line(figures.copied)))
    for line in comparison_lines(figures.comparisons):
        stdout.print(plain(line))
    stdout.print(plain(noise_line(figures.noise)))


@contextmanager
def _telling() -> Iterator[Callable[[str, int, int], None]]:
    """Progress on stderr: bars on a terminal, else a line at the start of each part."""
    tasks: dict[str, Any] = {}
    if not stderr.is_terminal:

        def line(what: str, done: int, total: int) -> None:
            if tasks.setdefault(what, done) == done:
                note(f"{what}: {total:,}")

        yield line
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=stderr, transient=True) as bars:

        def advance(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = bars.add_task(what, total=total)
            bars.update(tasks[what], completed=done)

        yield advance
