"""`edgefaced run`: the daemon in this terminal or under a service manager."""

from __future__ import annotations

import faulthandler
import os
import sys
from contextlib import suppress
from pathlib import Path
from threading import Timer
from typing import TYPE_CHECKING

import click

from edgefaced.cli.context import CliContext, pass_context
from edgefaced.cli.output import complain, json_option, note, plain, stdout, warn
from edgefaced.supervisor import goes_to_journal

if TYPE_CHECKING:
    from edgefaced.config.settings import Settings
    from edgefaced.daemon import Ending
    from edgefaced.events import Event
    from edgefaced.pipeline.line import Line
    from edgefaced.protocols import SinkPlan


FAREWELL_SECONDS = 2.0
"""For telling how a run ended, where a stage hangs."""


class TerminalSink:
    """Events as lines for a person, or as JSON lines; with names where `named`.

    Of a duress alarm neither shows anything: the terminal may be the one at the door.
    """

    def __init__(self, context: CliContext, *, as_json: bool, named: bool) -> None:
        from edgefaced.sinks.lines import StreamLines
        from edgefaced.sinks.names import GalleryNames

        self._names = GalleryNames(context.places.gallery_file, context.places.key_file)
        self._name_of = self._names.name_of if named else None
        self._lines = StreamLines(sys.stdout, self._name_of) if as_json else None

    def emit(self, event: Event) -> None:
        """Raises OSError where stdout cannot be written, ReaderGone where nobody reads it."""
        from edgefaced.sinks.lines import ReaderGone
        from edgefaced.sinks.shape import discreet
        from edgefaced.sinks.wire import described
        from edgefaced.sinks.words import in_words

        event = discreet(event)
        if self._lines is not None:
            self._lines.emit(event)
            return
        try:
            stdout.print(plain(in_words(described(event, self._name_of))))
            sys.stdout.flush()
        except (BrokenPipeError, SystemExit) as error:  # SystemExit is what rich makes of it
            raise ReaderGone from error

    def close(self) -> None:
        self._names.close()


def sink_for(context: CliContext, *, as_json: bool) -> SinkPlan:
    """Lines for a person, JSON lines, or the journal's entries, by who reads them."""
    from edgefaced.protocols import Delivery, SinkPlan
    from edgefaced.sinks.journal import JournalSink, journal_writer

    if not as_json and goes_to_journal(sys.stderr):
        return SinkPlan(lambda: JournalSink(journal_writer(sys.stderr)), Delivery.MOMENTARY)
    # A log that lies around holds ids; names are for the person at the terminal.
    named = as_json or sys.stdout.isatty()
    return SinkPlan(lambda: TerminalSink(context, as_json=as_json, named=named), Delivery.MOMENTARY)


@click.command("run")
@click.option(
    "--replay",
    "replay_paths",
    multiple=True,
    type=click.Path(path_type=Path, exists=True),
    help="Pictures, videos or folders instead of the configured camera; may be repeated. "
    "No door opens then.",
)
@click.option("--fast", is_flag=True, help="Replay every frame, as fast as possible.")
@click.option(
    "--wait", is_flag=True, help="Wait for a model pack that is not here yet: for services."
)
@json_option
@pass_context
def run_command(
    context: CliContext, *, replay_paths: tuple[Path, ...], fast: bool, wait: bool, as_json: bool
) -> int:
    """Recognise faces in front of the camera until stopped; one line an event.

    Exit 0 when asked to stop or when a replay is over, another code when a stage failed.
    """
    from edgefaced.daemon import Daemon
    from edgefaced.errors import EdgefacedError
    from edgefaced.outlets import record_trouble
    from edgefaced.sensors.thermal import ZoneSensor
    from edgefaced.supervisor import Nobody, supervisor_of
    from edgefaced.waiting import Patience

    supervisor = supervisor_of()
    if not isinstance(supervisor, Nobody):
        # The watchdog's SIGABRT writes a stack of every thread to the journal: it shows what hung.
        faulthandler.enable()

    def settings() -> Settings:
        return with_replay(context.settings(), replay_paths, fast=fast)

    def begin() -> Daemon:
        return Daemon(
            settings,
            context.places,
            {"terminal": sink_for(context, as_json=as_json)},
            lambda s: ZoneSensor(s.thermal.zones),
            supervisor,
        )

    try:
        if wait:
            daemon = Patience(settings(), context.places, supervisor, warn).until(begin)
        else:
            daemon = begin()
    except EdgefacedError as error:
        # Why doors stay shut is to be found where everything else about them is.
        record_trouble(context.places, "start", str(error))
        raise
    if daemon is None:
        return 0
    return conclude(daemon.run(), daemon.line, as_json=as_json)


def conclude(ending: Ending, line: Line, *, as_json: bool) -> int:
    """Says how a run ended and returns its exit code; does not return where a stage hangs.

    Raises BrokenPipeError where nobody reads stdout any more.
    """
    from edgefaced.sinks.lines import ReaderGone

    if any(isinstance(failure.error, ReaderGone) for failure in ending.failures):
        raise BrokenPipeError
    if ending.stragglers:
        # One of them may be what hangs in writing to where the end is to be told.
        last = Timer(FAREWELL_SECONDS, os._exit, [ending.exit_code])
        last.daemon = True
        last.start()
    report(ending)
    if not as_json:
        for said in summary(line):
            note(said)
    if ending.stragglers:
        # The interpreter's own end may wait for what a hanging thread holds: a driver, a lock.
        with suppress(OSError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(ending.exit_code)
    return ending.exit_code


def with_replay(settings: Settings, paths: tuple[Path, ...], *, fast: bool) -> Settings:
    """The settings with a replay instead of the configured camera, where paths are given.

    Pictures that somebody names on a command line open no door: there are none then.
    """
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
    return settings.model_copy(
        update={"camera": camera, "thermal": thermal, "doors": {}, "groups": {}}
    )


def report(ending: Ending) -> None:
    """Says on stderr how a run ended, for a terminal or the journal."""
    from edgefaced.errors import EdgefacedError

    for failure in ending.failures:
        if isinstance(failure.error, EdgefacedError):
            complain(f"{failure.stage}: {failure.error}")
        else:
            complain(f"{failure.stage} failed")
            click.echo(failure.trace, err=True)
    for straggler in ending.stragglers:
        complain(f"{straggler.stage} hangs")
        click.echo(straggler.stack, err=True)


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
