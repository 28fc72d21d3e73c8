"""The front door when it is interrupted, has nowhere to write, or is itself at fault."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

EDGEFACED = [sys.executable, "-m", "edgefaced"]
COMMANDS = [
    ["--help"],
    ["--version"],
    ["models", "list"],
    ["models", "show", "reference"],
    ["models", "list", "--json"],
    ["config", "show"],
    ["list", "--json"],
]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_reader_that_has_gone_ends_it_quietly(own_places: Path, command: list[str]) -> None:
    process = subprocess.Popen(
        [*EDGEFACED, *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    with process.stderr as stderr:
        said = stderr.read()
    assert process.wait() == 141
    assert said == b""


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_full_disk_behind_stdout_is_one_line_and_nine(
    own_places: Path, command: list[str]
) -> None:
    with Path("/dev/full").open("wb") as full:
        ended = subprocess.run(
            EDGEFACED + command, stdout=full, stderr=subprocess.PIPE, check=False
        )
    assert ended.stderr.decode() == (
        "edgefaced: the output cannot be written: No space left on device\n"
    )
    assert ended.returncode == 9


def test_a_fault_of_our_own_is_not_a_no() -> None:
    program = (
        "import sys; from edgefaced.cli.main import confess; sys.excepthook = confess; int('x')"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)
    assert ended.returncode == 70
    assert ended.stdout == b""
    assert ended.stderr.decode().splitlines()[-1].startswith("ValueError")


def test_a_ctrl_c_while_the_program_loads_is_one_line() -> None:
    program = """
import sys
class Interrupting:
    def find_spec(self, name, *_):
        if name == "edgefaced.cli.output":
            raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupting())
from edgefaced.__main__ import main
main()
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, b"", b"stopped\n")
