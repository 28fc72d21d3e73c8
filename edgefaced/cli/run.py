"""`edgefaced run`: the daemon in this terminal or under a service manager."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from edgefaced.cli.context import CliContext, pass_context
from edgefaced.cli.output import json_option, note, plain, stdout

if TYPE_CHECKING:
    from edgefaced.config import Settings
    from edgefaced.daemon import Ending
    from edgefaced.events import Event
    from edgefaced.pipeline.line import Line
    from edgefaced.protocols import EventSink


class TerminalSink:
    """Events as lines for a person, or as JSON lines."""

    def __init__(self, context: CliContext, *, as_json: bool) -> None:
        from edgefaced.sinks.names import GalleryNames

        self._names = GalleryNames(context.places.gallery_file, context.places.key_file)
        self._as_json = as_json

    def emit(self, event: Event) -> None:
        """Raises OSError where stdout cannot be written."""
        from edgefaced.sinks.shape import document, person_of

        person = person_of(event)
        body = document(event, None if person is None else self._names.name_of(person))
        if self._as_json:
            sys.stdout.write(json.dumps(body, ensure_ascii=False) + "\n")
        else:
            stdout.print(plain(in_words(body)))
        sys.stdout.flush()

    def close(self) -> None:
        self._names.close()


def in_words(body: dict[str, object]) -> str:
    """One line for a person."""
    match body["type"]:
        case "face" | "left" if "outcome" in body:
            who = body["name"] or body["id"] or body["outcome"]
            score = body["score"]
            shown = "" if score is None else f" {score:.3f} of {body['threshold']:.3f}"
            what = "" if body["type"] == "face" else f" has left after {body['seconds']} s"
            return f"face {body['track']}: {who}{what} ({body['reason']}{shown})"
        case "left":
            return f"face {body['track']}: has left after {body['seconds']} s, not judged"
        case "camera":
            return f"camera {'up' if body['up'] else 'DOWN'}: {body['detail']}"
        case "pace":
            return f"pace {body['band']} ({body['cause']}, {body['celsius']} °C)"
        case _:
            return f"trouble in {body['where']}: {body['detail']}"


@click.command("run")
@click.option(
    "--replay",
    "replay_paths",
    multiple=True,
    type=click.Path(path_type=Path, exists=True),
    help="Pictures, videos or folders instead of the configured camera; may be repeated.",
)
@click.option("--fast", is_flag=True, help="Replay every frame, as fast as possible.")
@json_option
@pass_context
def run_command(
    context: CliContext, *, replay_paths: tuple[Path, ...], fast: bool, as_json: bool
) -> int:
    """Recognise faces in front of the camera until stopped; one line an event.

    Exit 0 when asked to stop or when a replay is over, another code when a stage failed.
    """
    from edgefaced.daemon import Daemon
    from edgefaced.sensors.thermal import ZoneSensor
    from edgefaced.supervisor import supervisor_of

    def settings() -> Settings:
        return with_replay(context.settings(), replay_paths, fast=fast)

    sinks: dict[str, Callable[[], EventSink]] = {
        "terminal": lambda: TerminalSink(context, as_json=as_json)
    }
    daemon = Daemon(
        settings,
        context.places,
        sinks,
        lambda s: ZoneSensor(s.thermal.zones),
        supervisor_of(),
    )
    ending = daemon.run()
    report(ending)
    if not as_json:
        for line in summary(daemon.line):
            note(line)
    return ending.exit_code


def with_replay(settings: Settings, paths: tuple[Path, ...], *, fast: bool) -> Settings:
    """The settings with a replay instead of the configured camera, where paths are given."""
    if not paths:
        return settings
    camera = settings.camera.model_copy(
        update={
            "kind": "replay",
            "replay_paths": paths,
            "replay_pace": "fast" if fast else "real",
            "replay_loop": False,
        }
    )
    # A replay heats no board that anybody stands at; at full speed it may also be late.
    thermal = settings.thermal.model_copy(
        update={"zones": (), **({"latency_budget_ms": 1e9} if fast else {})}
    )
    return settings.model_copy(update={"camera": camera, "thermal": thermal})


def report(ending: Ending) -> None:
    """Says on stderr how a run ended, for a terminal or the journal."""
    from edgefaced.errors import EdgefacedError

    for failure in ending.failures:
        if isinstance(failure.error, EdgefacedError):
            note(f"edgefaced: {failure.stage}: {failure.error}")
        else:
            click.echo(f"edgefaced: {failure.stage} failed\n{failure.trace}", err=True)
    for straggler in ending.stragglers:
        click.echo(f"edgefaced: {straggler.stage} hangs\n{straggler.stack}", err=True)


def summary(line: Line) -> list[str]:
    """What the run did, in a few lines."""
    figures = line.figures
    frames = ", ".join(f"{count} {what}" for what, count in sorted(figures.frames.items()))
    looks = ", ".join(f"{count} {kind}" for kind, count in sorted(figures.looks.items()))
    lines = [f"frames: {frames or 'none'}", f"looks: {looks or 'none'}"]
    looked = figures.frames["looked_at"]
    if looked:
        lines.append(f"bytes copied: {figures.bytes_copied / looked:.0f} a frame looked at")
    for stage, watch in figures.stages.items():
        timing = watch.snapshot()
        if timing.median is not None and timing.p95 is not None:
            lines.append(
                f"{stage}: median {timing.median * 1000:.1f} ms, "
                f"p95 {timing.p95 * 1000:.1f} ms, n = {timing.count}"
            )
    return lines
