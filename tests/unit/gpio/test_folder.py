"""A chip made of files."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from edgefaced.errors import GpioBusy, GpioError, GpioLost
from edgefaced.gpio.choose import open_chip

HOLDER = """
import sys
from edgefaced.gpio.choose import open_chip
line = open_chip("file", sys.argv[1]).output("relay")
line.set(True)
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def pins(tmp_path: Path) -> Path:
    folder = tmp_path / "pins"
    folder.mkdir()
    (folder / "relay").write_text("0\n")
    (folder / "button").touch()
    (folder / ".hidden").touch()
    return folder


def test_a_level_stays_when_its_holder_is_killed_and_the_next_one_ends_it(pins: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(pins)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        chip = open_chip("file", str(pins))
        with pytest.raises(GpioBusy) as caught:
            chip.output("relay")
        hint = caught.value.hint
        assert f"({holder.pid})" in hint or hint == "another program holds the line"
        holder.kill()
    assert (pins / "relay").read_text() == "1\n"
    chip.output("relay").close()
    assert (pins / "relay").read_text() == "0\n"


def test_an_empty_file_is_a_low_voltage_and_one_cut_off_says_nothing(pins: Path) -> None:
    chip = open_chip("file", str(pins))
    with closing(chip.input("button")) as plain:
        assert plain.level() is False
    with closing(chip.input("button", active_low=True)) as inverted:
        assert inverted.level() is True
        (pins / "button").write_text("1")
        assert [e.active for e in inverted.wait(30)] == [False]
        (pins / "button").write_text("")
        assert inverted.wait(0) == ()
        assert inverted.level() is False


def test_a_file_may_be_replaced(pins: Path) -> None:
    with closing(open_chip("file", str(pins)).input("relay")) as line:
        (pins / ".new").write_text("1")
        (pins / ".new").rename(pins / "relay")
        assert [e.active for e in line.wait(30)] == [True]


def test_a_file_that_goes_is_a_chip_that_goes(pins: Path) -> None:
    chip = open_chip("file", str(pins))
    relay, button = chip.output("relay"), chip.input("button")
    for file in pins.iterdir():
        file.unlink()
    pins.rmdir()
    with pytest.raises(GpioLost):
        relay.set(True)
    with pytest.raises(GpioLost):
        button.wait(30)
    with pytest.raises(GpioLost):
        relay.close()
    button.close()
    with pytest.raises(GpioLost, match="list the lines"):
        chip.input("button")


def test_nonsense_is_an_error_and_never_a_level(pins: Path) -> None:
    (pins / "button").write_text("on")
    with pytest.raises(GpioError, match="holds 'on'"):
        open_chip("file", str(pins)).input("button")


def test_a_folder_that_is_not_there_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(GpioLost, match="no folder") as caught:
        open_chip("file", str(tmp_path / "none"))
    assert "a file with 0 in it" in caught.value.hint


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everything")
def test_a_line_that_may_not_be_written_is_not_held(pins: Path) -> None:
    (pins / "relay").chmod(0o444)
    for _ in range(2):
        with pytest.raises(GpioError, match="set the line: Permission denied"):
            open_chip("file", str(pins)).output("relay")
