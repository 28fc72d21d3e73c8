"""`edgefaced demo`: the main job on real faces, from nothing, without a camera."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from edgefaced.cli.context import CliContext, pass_context
from edgefaced.cli.output import json_option

if TYPE_CHECKING:
    from edgefaced.demo.pictures import Album
    from edgefaced.demo.player import Scored
    from edgefaced.demo.results import RunResult
    from edgefaced.models.manifest import PackManifest
    from edgefaced.models.store import ModelStore

Say = Callable[[str], None]


@click.command()
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    default=Path("edgefaced-demo"),
    show_default=True,
    help="Folder for the contact sheet, the video and the credits.",
)
@click.option("--pack", default="reference", show_default=True, help="Model pack.")
@click.option("--seed", type=click.IntRange(0), default=1, show_default=True, help="Of all chance.")
@click.option(
    "--stride",
    type=click.IntRange(1, 30),
    default=5,
    show_default=True,
    metavar="N",
    help="Recognise every Nth frame of a camera of 30 frames a second.",
)
@click.option("--verbose", is_flag=True, help="Print every decision, not only news.")
@json_option
@pass_context
def demo(
    context: CliContext,
    *,
    output: Path,
    pack: str,
    seed: int,
    stride: int,
    verbose: bool,
    as_json: bool,
) -> int:
    """Recognise two people in a generated camera sequence; no camera is needed.

    The first run downloads models and photographs. Two people are enrolled from one photograph
    each into a gallery of the demo's own; other photographs of them and of strangers are played.
    Exit 0 when everybody was recognised in every scene meant for it and no stranger got a name.
    """
    from edgefaced.cli.demo_audience import Audience, Person, Program
    from edgefaced.cli.engine import open_engine
    from edgefaced.cli.models import store_of
    from edgefaced.demo.credits import credit_lines, credits_page
    from edgefaced.demo.performance import open_performance
    from edgefaced.demo.pictures import cast_of, read_album
    from edgefaced.demo.recording import Recording, open_folder
    from edgefaced.demo.studio import shoot
    from edgefaced.models.catalogue import find_pack
    from edgefaced.recognition.threshold import explain

    folder = open_folder(output)
    store, album = store_of(context), read_album()
    manifest = find_pack(pack, (store.layout.packs,))
    audience: Audience = (
        Program(pack=pack, seed=seed, stride=stride) if as_json else Person(everything=verbose)
    )
    audience.say("1 of 4: models and photographs")
    _make_ready(context, manifest, album, store, audience.say)
    audience.credits(credit_lines(album))
    with (
        open_engine(context, pack=pack) as engine,
        open_performance(album, store, engine.finder, engine.settings, engine.threshold) as stage,
        Recording(folder, stride=stride) as recording,
    ):
        audience.say("2 of 4: enrolment, from one photograph each")
        audience.enrolled(stage.enrolments, stage.threshold)
        audience.say("3 of 4: a camera sequence, made of other photographs")

        def on_shot(scored: Scored) -> None:
            audience.shot(scored)
            recording.add(scored)

        shots = shoot(cast_of(album, store), seed=seed, stride=stride)
        result = stage.player.run(shots, audience.scene, on_shot)
        audience.say("4 of 4: results")
        kept = recording.finish(
            result.scenes,
            "edgefaced demo",
            (_about(manifest, result), explain(stage.threshold)),
            credits_page(album, store),
        )
    audience.end(result, kept)
    return 0 if result.passed else 1


def _make_ready(
    context: CliContext, manifest: PackManifest, album: Album, store: ModelStore, say: Say
) -> None:
    """Downloads and prepares what is not here yet; afterwards the demo needs no network."""
    from edgefaced.cli.models import say_terms, workshop_of
    from edgefaced.cli.transfers import megabytes, transfers
    from edgefaced.demo.install import install, is_installed, missing_bytes
    from edgefaced.models.fetch.pip_config import pip_config_of_this_process

    if is_installed(manifest, album, store):
        say(f"  pack {manifest.name} and the photographs are here: {store.folder}")
        return
    size = missing_bytes(manifest, album, store)
    if size:
        say(f"  downloading {megabytes(size)}, once; kept in {store.folder}")
    say_terms([manifest])
    with transfers() as progress:
        workshop = workshop_of(context)
        install(manifest, album, store, workshop, pip_config_of_this_process, progress)


def _about(manifest: PackManifest, result: RunResult) -> str:
    """What ran, in one line."""
    from edgefaced.demo.timing import Stage

    names = " + ".join(model.id for model in manifest.model)
    frame = next(time for time in result.times if time.stage is Stage.FRAME)
    speed = f"{result.frames} frames, {frame.p50_ms:.0f} ms each (median)"
    return f"pack {manifest.name}: {names}; {speed}"
