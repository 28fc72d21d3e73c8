"""Progress on a terminal and elsewhere."""

from __future__ import annotations

import io

import pytest
from rich.console import Console
from rich.progress import Progress

from edgefaced.cli.transfers import Bars, transfers


def test_without_a_terminal_a_file_is_two_lines(capsys: pytest.CaptureFixture[str]) -> None:
    with transfers() as progress:
        progress.advance("net.onnx", 0, 2_000_000)
        progress.advance("net.onnx", 1_000_000, 2_000_000)
        progress.advance("net.onnx", 2_000_000, 2_000_000)
        progress.advance("unknown", 5, None)
        progress.say("done")
    assert capsys.readouterr().err.splitlines() == [
        "downloading net.onnx (2.0 MB)",
        "downloaded net.onnx",
        "downloading unknown",
        "done",
    ]


def test_on_a_terminal_a_file_is_a_bar() -> None:
    console = Console(file=io.StringIO(), force_terminal=True, width=80)
    with Progress(console=console, auto_refresh=False) as bars:
        progress = Bars(bars)
        progress.advance("[red]net.onnx", 10, None)
        progress.advance("[red]net.onnx", 50, 100)
        progress.say("half of it")
        (task,) = bars.tasks
        assert (task.completed, task.total) == (50, 100)
        bars.refresh()
    assert isinstance(console.file, io.StringIO)
    shown = console.file.getvalue()
    assert "[red]net.onnx" in shown
    assert "half of it" in shown


def test_a_bar_begins_with_the_size_of_the_file() -> None:
    console = Console(file=io.StringIO(), force_terminal=True, width=80)
    with Progress(console=console, auto_refresh=False) as bars:
        Bars(bars).advance("unknown", 0, None)
        assert bars.tasks[0].total is None
        Bars(bars).advance("net.onnx", 0, 2_000_000)
        assert bars.tasks[1].total == 2_000_000
