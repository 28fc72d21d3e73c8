"""Finding a chip of the kernel and asking libgpiod for its lines."""

from __future__ import annotations

import builtins
import errno
import os
from collections.abc import Mapping
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest
from fake_gpiod import Board, Wire
from gpiod import line as flags

from edgefaced.errors import DependencyMissing, GpioBusy, GpioError, GpioLost
from edgefaced.gpio.faults import gpio_error
from edgefaced.gpio.gpiochip import open_gpiochip
from edgefaced.gpio.lines import Bias, Edges


def board_of(devices: Path, labels: Mapping[str, str], **wires: list[Wire]) -> Board:
    """Nodes in a folder; each chip has one line named relay unless said otherwise."""
    for node in labels:
        (devices / node).touch()
    chips = {
        str(devices / node): (label, wires.get(node, [Wire("relay")]))
        for node, label in labels.items()
    }
    return Board(chips)


def test_the_label_is_found_under_any_number(tmp_path: Path) -> None:
    board = board_of(tmp_path, {"gpiochip0": "soc", "gpiochip10": "pinctrl-rp1", "gpiochip2": "x"})
    (tmp_path / "gpiochip4").symlink_to("gpiochip10")  # as older boards' documents name it
    with closing(open_gpiochip("pinctrl-rp1", devices=tmp_path, opener=board.open)) as chip:
        assert chip.name == f"pinctrl-rp1 ({tmp_path / 'gpiochip10'})"


def test_a_label_that_is_not_there_is_said_with_those_that_are(tmp_path: Path) -> None:
    board = board_of(tmp_path, {"gpiochip0": "soc", "gpiochip1": "expander"})
    with pytest.raises(GpioLost, match="no GPIO chip 'relays'") as caught:
        open_gpiochip("relays", devices=tmp_path, opener=board.open)
    assert f"soc ({tmp_path}/gpiochip0), expander ({tmp_path}/gpiochip1)" in caught.value.hint


def test_two_chips_with_one_label_are_not_guessed_between(tmp_path: Path) -> None:
    board = board_of(tmp_path, {"gpiochip0": "expander", "gpiochip1": "expander"})
    with pytest.raises(GpioError, match="2 GPIO chips have the label") as caught:
        open_gpiochip("expander", devices=tmp_path, opener=board.open)
    assert f"{tmp_path}/gpiochip0, {tmp_path}/gpiochip1" in caught.value.hint


def test_a_node_that_may_not_be_opened_says_who_may(tmp_path: Path) -> None:
    board = board_of(tmp_path, {"gpiochip0": "soc", "gpiochip1": "pins"})
    board.refused[str(tmp_path / "gpiochip1")] = errno.EACCES
    for name in ("pins", str(tmp_path / "gpiochip1")):
        with pytest.raises(GpioError, match=r"gpiochip1: open: Permission denied") as caught:
            open_gpiochip(name, devices=tmp_path, opener=board.open)
        assert "only root" in caught.value.hint
    with closing(open_gpiochip("soc", devices=tmp_path, opener=board.open)) as chip:
        assert "soc" in chip.name, "one that is found needs no other"


def test_a_chip_that_is_pulled_out_while_it_is_asked_is_an_error_of_ours(tmp_path: Path) -> None:
    board = board_of(tmp_path, {"gpiochip0": "expander", "gpiochip1": "pins"})
    board.pulled.add(str(tmp_path / "gpiochip0"))
    with pytest.raises(GpioLost, match="gpiochip0: open: No such device"):
        open_gpiochip("expander", devices=tmp_path, opener=board.open)
    with closing(open_gpiochip("pins", devices=tmp_path, opener=board.open)) as chip:
        assert "pins" in chip.name


def test_a_machine_without_chips_says_so(tmp_path: Path) -> None:
    with pytest.raises(GpioLost, match="no GPIO chip 'pins'") as caught:
        open_gpiochip("pins", devices=tmp_path)
    assert "no GPIO chip at all" in caught.value.hint


def test_the_real_library_refuses_what_is_no_chip(tmp_path: Path) -> None:
    with pytest.raises(GpioLost, match="gpiochip77: open: No such file"):
        open_gpiochip(str(tmp_path / "gpiochip77"))
    for path in (tmp_path / "file", tmp_path, Path("/dev/null")):
        if not path.exists():
            path.touch()
        with pytest.raises(GpioError, match=f"{path}: open: "):
            open_gpiochip(str(path))


def test_without_the_library_the_package_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = builtins.__import__

    def refuse(name: str, *rest: object) -> object:
        if name == "gpiod":
            raise ImportError(name)
        return real(name, *rest)  # type: ignore[arg-type]  # passed on as it came

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(DependencyMissing) as caught:
        open_gpiochip("pins", devices=tmp_path)
    assert "edgefaced[gpio]" in caught.value.hint


def test_an_input_is_asked_for_as_configured(tmp_path: Path) -> None:
    board = board_of(tmp_path, {"gpiochip0": "pins"})
    chip = open_gpiochip("pins", devices=tmp_path, opener=board.open)
    chip.input("relay", edges=Edges.FALLING, debounce=0.02, bias=Bias.PULL_UP).close()
    (asked,) = board.settings
    assert asked.direction is flags.Direction.INPUT
    assert asked.edge_detection is flags.Edge.FALLING
    assert asked.bias is flags.Bias.PULL_UP
    assert asked.debounce_period == timedelta(milliseconds=20)
    assert asked.event_clock is flags.Clock.MONOTONIC
    assert not asked.active_low


def test_lines_without_names_go_by_their_offset(tmp_path: Path) -> None:
    wires = [Wire(""), Wire("2"), Wire("x")]
    board = board_of(tmp_path, {"gpiochip0": "pins"}, gpiochip0=wires)
    chip = open_gpiochip("pins", devices=tmp_path, opener=board.open)
    with closing(chip.output("0", active_low=True)):
        assert wires[0].consumer == "edgefaced"
        assert wires[0].high
    with closing(chip.output("2")):
        assert wires[1].consumer == "edgefaced", "a name comes before a number"
    with pytest.raises(GpioLost, match="no line '3'") as caught:
        chip.output("3")
    assert "2 (1), x (2); or an offset below 3" in caught.value.hint


def test_two_lines_of_one_name_are_not_guessed_between(tmp_path: Path) -> None:
    wires = [Wire("door"), Wire("x"), Wire("door")]
    board = board_of(tmp_path, {"gpiochip0": "pins"}, gpiochip0=wires)
    chip = open_gpiochip("pins", devices=tmp_path, opener=board.open)
    with pytest.raises(GpioError, match="2 lines are named 'door'") as caught:
        chip.output("door")
    assert "0, 2" in caught.value.hint


def test_a_busy_line_says_who_holds_it(tmp_path: Path) -> None:
    board = board_of(tmp_path, {"gpiochip0": "pins"}, gpiochip0=[Wire("relay", consumer="spi0")])
    chip = open_gpiochip("pins", devices=tmp_path, opener=board.open)
    with pytest.raises(GpioBusy, match="take the line 'relay'") as caught:
        chip.output("relay")
    assert caught.value.hint == "held by spi0"


def test_a_chip_that_is_unplugged_is_lost_and_its_line_still_given_back(tmp_path: Path) -> None:
    board = board_of(tmp_path, {"gpiochip0": "pins"}, gpiochip0=[Wire("relay"), Wire("button")])
    chip = open_gpiochip("pins", devices=tmp_path, opener=board.open)
    relay, button = chip.output("relay"), chip.input("button")
    for wire in map(board.wire, ("relay", "button")):
        assert wire.request is not None
        wire.request.vanish()
    for use in (lambda: relay.set(True), button.level, lambda: button.wait(0)):
        with pytest.raises(GpioLost, match="No such device"):
            use()
    with pytest.raises(GpioLost):
        relay.close()
    relay.close()
    button.close()
    assert board.wire("relay").request is None


def test_the_groups_name_is_the_hint(tmp_path: Path) -> None:
    node = tmp_path / "gpiochip0"
    node.touch()
    if os.geteuid() != 0:
        pytest.skip("only root can give a file to another group")
    os.chown(node, 0, 44)
    board = Board({}, {str(node): errno.EPERM})
    with pytest.raises(GpioError) as caught:
        open_gpiochip(str(node), opener=board.open)
    assert "root and the group video (`sudo usermod -aG video USER`)" in caught.value.hint


def test_a_line_whose_holder_cannot_be_asked_any_more_is_still_busy() -> None:
    def gone() -> str:
        raise OSError(errno.ENODEV, os.strerror(errno.ENODEV))

    busy = OSError(errno.EBUSY, os.strerror(errno.EBUSY))
    error = gpio_error(busy, "/dev/gpiochip0", "take the line 'relay'", gone)
    assert isinstance(error, GpioBusy)
    assert error.hint == "another program holds the line"
