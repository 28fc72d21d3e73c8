"""What the demo's end says to a newcomer."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from edgefaced.cli.demo_report import next_steps


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A virtual environment whose programs the shell does not find."""
    programs = tmp_path / "my door" / ".venv" / "bin"
    programs.mkdir(parents=True)
    (programs / "activate").touch()
    (programs / "edgefaced").touch(mode=0o755)
    monkeypatch.setattr(sys, "prefix", str(programs.parent))
    monkeypatch.setenv("PATH", "/nowhere")
    return programs


def test_one_who_stands_beside_the_environment_types_a_short_path(
    environment: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(environment.parents[1])
    assert next_steps()[0] == ". .venv/bin/activate"


def test_a_path_from_elsewhere_is_whole_and_quoted(
    environment: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert next_steps()[0] == f". '{environment / 'activate'}'"


def test_an_active_environment_needs_nothing(
    environment: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(environment))
    assert [step.split()[0] for step in next_steps()] == ["edgefaced", "edgefaced"]


def test_an_installation_for_all_needs_nothing(
    environment: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (environment / "activate").unlink()
    assert [step.split()[0] for step in next_steps()] == ["edgefaced", "edgefaced"]
