"""Recording is measured on a real disk, and leaves nothing there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from edgefaced.benchmark.storing import Tail, measure_storing, tail
from edgefaced.cli.main import run
from edgefaced.errors import StorageError


def test_every_figure_is_of_what_was_asked_for(tmp_path: Path) -> None:
    told: list[str] = []
    figures = measure_storing(tmp_path, 20, lambda what, done, total: told.append(what))
    assert told == ["disk", "single", "batch", "wait", "flood", "done"]
    for measured in (figures.disk, figures.single, figures.wait):
        assert measured.count == 20
        assert 0 < measured.p50_ms <= measured.p99_ms <= measured.longest_ms
    rates = (figures.single_per_second, figures.batch_per_second, figures.flood_per_second)
    assert min(rates) > 0
    assert figures.bytes_per_event > 0
    assert not list(tmp_path.iterdir())


def test_a_tail_is_of_milliseconds() -> None:
    assert tail([0.001, 0.002, 0.003]) == Tail(3, 2.0, 2.98, 3.0)


def test_a_folder_that_takes_nothing_is_said(tmp_path: Path) -> None:
    with pytest.raises(StorageError):
        measure_storing(tmp_path / "absent", 10)


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_the_command(
    own_places: Path, capsys: pytest.CaptureFixture[str], options: tuple[str, ...]
) -> None:
    assert run(["bench", "ledger", "--events", "10", *options]) == 0
    said = capsys.readouterr().out
    if options:
        assert json.loads(said)["ledger"]["wait"]["count"] == 10
    else:
        assert "from a decision to a door, recorded in between: p50" in said
