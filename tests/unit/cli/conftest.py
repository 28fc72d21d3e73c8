"""A command line of the test's own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from edgefaced.cli.main import run

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def edgefaced(own_places: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a command line in folders of the test's own: exit code, stdout, stderr."""

    def call(*arguments: str) -> tuple[int, str, str]:
        code = run(list(arguments))
        said = capsys.readouterr()
        assert "Traceback" not in said.err
        return code, said.out, said.err

    return call
