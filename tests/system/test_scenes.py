"""The command that plays a whole device in a virtual machine, as far as it goes without one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

RUN = Path(__file__).with_name("run")


def run(*words: str, path: str = os.environ["PATH"]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, RUN, *words],
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )


def test_every_scene_has_a_number_of_its_own_and_a_title() -> None:
    listed = run("--list")
    assert listed.returncode == 0, listed.stderr
    numbers = [line[:3] for line in listed.stdout.splitlines()]
    assert numbers == sorted(set(numbers))
    assert all(": " in line and line.endswith(".") for line in listed.stdout.splitlines())
    files = sorted((RUN.parent / "vm" / "scenes").glob("s[0-9]*.py"))
    assert len(numbers) == len(files) > 0


def test_scenes_are_chosen_by_number_name_and_for_the_gate() -> None:
    assert run("--list", "1").stdout == run("--list", "s01_boot").stdout
    assert run("--list", "1").stdout.count("\n") == 1
    both = run("--list", "1", "boot", "7").stdout.splitlines()
    assert [line[:3] for line in both] == ["s01", "s07"]
    quick = run("--list", "--quick").stdout.splitlines()
    assert 0 < len(quick) < len(run("--list").stdout.splitlines())
    assert all("(quick)" in line for line in quick)


def test_an_unknown_scene_is_one_line() -> None:
    refused = run("--list", "99")
    assert refused.returncode == 1
    assert refused.stderr == "tests/system/run: no scene 99; see --list\n"


def test_a_missing_tool_is_one_line_with_what_to_install(tmp_path: Path) -> None:
    refused = run(path=str(tmp_path))
    assert refused.returncode == 77
    assert refused.stderr.startswith("tests/system/run: missing: apt install ")
    assert "qemu-system-x86" in refused.stderr
    assert refused.stderr.count("\n") == 1
