"""The front door: one line or one document for every error, and the documented exit codes."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from pathlib import Path

import click
import pytest

from edgefaced.cli.main import COMMANDS, cli, run


def test_every_command_of_the_table_loads_and_has_help(capsys: pytest.CaptureFixture[str]) -> None:
    for name, (place, _) in COMMANDS.items():
        module, attribute = place.split(":")
        command = getattr(importlib.import_module(module), attribute)
        assert isinstance(command, click.Command)
        assert command.help, f"{name} has no help"
        assert run([name, "--help"]) == 0
    assert "Usage: edgefaced" in capsys.readouterr().out


def test_every_command_is_listed_on_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) == 0
    lines = capsys.readouterr().out.splitlines()
    for name, (_, summary) in COMMANDS.items():
        assert any(line.split(maxsplit=1) == [name, summary] for line in lines), name


def loaded(module: str) -> set[str]:
    """Packages that a fresh process has loaded once this module is."""
    listed = subprocess.run(
        [sys.executable, "-c", f"import sys, {module}; print(*sys.modules)"],
        check=True,
        capture_output=True,
        text=True,
    )
    return {name.split(".")[0] for name in listed.stdout.split()}


@pytest.mark.parametrize(
    ("modules", "absent"),
    [
        ("edgefaced.cli.main", {"numpy", "pydantic", "cv2", "onnxruntime", "cryptography"}),
        (
            "edgefaced.cli.status, edgefaced.cli.watch, edgefaced.cli.doors, edgefaced.cli.people, "
            "edgefaced.cli.access, edgefaced.cli.events, edgefaced.cli.attendance, "
            "edgefaced.cli.gallery, edgefaced.cli.config, edgefaced.config.settings",
            {"cv2", "onnxruntime", "PIL", "onnx"},
        ),
    ],
)
def test_what_needs_no_network_loads_none(modules: str, absent: set[str]) -> None:
    assert not loaded(modules) & absent


def test_an_unknown_command_is_one_line_and_two(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["nonsense"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert "nonsense" in captured.err


def test_with_json_an_error_is_one_document(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["config", "show", "--nonsense", "--json"]) == 2
    document = json.loads(capsys.readouterr().out)
    assert document["ok"] is False
    assert document["error"]["code"] == "usage"


def test_after_two_dashes_json_is_a_name(
    own_places: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["config", "show", "--", "--json"]) == 2
    assert capsys.readouterr().out == ""


def test_control_characters_never_reach_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["config", "show", "\x1b[31m[bold]red"]) == 2
    captured = capsys.readouterr().err
    assert "\x1b" not in captured
    assert "[bold]" in captured


@pytest.mark.parametrize("arguments", [["enroll", "Ann", ""], ["identify", ""], ["show", ""]])
def test_an_empty_argument_is_not_the_current_folder(
    own_places: Path, capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    assert run(arguments) == 2
    assert capsys.readouterr().err.startswith("edgefaced: an argument is empty")
    assert run([*arguments, "--json"]) == 2
    assert json.loads(capsys.readouterr().out)["error"]["code"] == "usage"


@pytest.mark.parametrize("loading", [False, True])
def test_an_interrupt_is_no_fault_also_while_a_library_is_being_loaded(
    loading: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        if loading:
            raise ImportError("initialization failed") from KeyboardInterrupt()
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "main", interrupted)
    assert run(["run"]) == 130
    assert capsys.readouterr().err.strip().endswith("stopped")


def test_a_library_that_is_broken_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ImportError("initialization failed")

    monkeypatch.setattr(cli, "main", broken)
    with pytest.raises(ImportError):
        run(["run"])
