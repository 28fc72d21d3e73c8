"""The NPU's load and clock, on trees as boards have them, whole and broken."""

from __future__ import annotations

from pathlib import Path

import pytest

from edgefaced.sensors.npu import NpuReading, parse_load, read_npu


@pytest.fixture
def board(tmp_path: Path) -> Path:
    """A three-core board's files."""
    node = tmp_path / "devfreq" / "fdab0000.npu"
    node.mkdir(parents=True)
    (tmp_path / "devfreq" / "fb000000.gpu").mkdir()
    (tmp_path / "devfreq" / "dmc").mkdir()
    (node / "cur_freq").write_text("1000000000\n")
    (node / "governor").write_text("rknpu_ondemand\n")
    (tmp_path / "rknpu").mkdir()
    (tmp_path / "rknpu" / "load").write_text("NPU load:  Core0: 37%, Core1:  0%, Core2:100%,\n")
    return tmp_path


def read(board: Path) -> NpuReading | None:
    return read_npu((board / "rknpu" / "load", board / "proc" / "load"), board / "devfreq")


def test_a_board_tells_all(board: Path) -> None:
    assert read(board) == NpuReading(
        {0: 0.37, 1: 0.0, 2: 1.0}, 1_000_000_000, "rknpu_ondemand", None
    )


@pytest.mark.parametrize(
    ("text", "loads"),
    [
        ("NPU load:  Core0:  0%, Core1:  0%, Core2:  0%,\n", {0: 0.0, 1: 0.0, 2: 0.0}),
        ("NPU load:  Core0: 12%, Core1:  5%,\n", {0: 0.12, 1: 0.05}),
        ("NPU load:  0%\n", {0: 0.0}),
        ("NPU load: 100%\n", {0: 1.0}),
        ("", None),
        ("NPU load:  Core0:", None),
        ("12@800000000Hz", None),
        ("NPU load:  Core0: 400%,", None),
    ],
)
def test_loads_of_every_driver(text: str, loads: dict[int, float] | None) -> None:
    assert parse_load(text) == loads


def test_a_load_that_may_not_be_read_leaves_the_rest(board: Path) -> None:
    load = board / "rknpu" / "load"
    load.unlink()
    load.mkdir()  # for root, what cannot be read is not a matter of permission
    seen = read(board)
    assert seen is not None
    assert (seen.loads, seen.hertz) == (None, 1_000_000_000)
    assert seen.fault == f"{load}: Is a directory"


def test_the_second_place_is_looked_at_where_the_first_is_empty(board: Path) -> None:
    (board / "rknpu" / "load").unlink()
    (board / "proc").mkdir()
    (board / "proc" / "load").write_text("NPU load:  3%\n")
    seen = read(board)
    assert seen is not None
    assert (seen.loads, seen.fault) == ({0: 0.03}, None)


def test_nonsense_is_said_and_is_no_number(board: Path) -> None:
    (board / "rknpu" / "load").write_text("busy\n")
    node = board / "devfreq" / "fdab0000.npu"
    (node / "cur_freq").write_bytes(b"\xff\xfe\n")
    (node / "governor").unlink()
    seen = read(board)
    assert seen is not None
    assert (seen.loads, seen.hertz, seen.governor) == (None, None, None)
    assert seen.fault is not None
    assert "'busy' is no load" in seen.fault
    assert "is no frequency" in seen.fault
    assert "governor: No such file" in seen.fault


def test_a_driver_without_a_clock_is_an_npu_all_the_same(board: Path) -> None:
    for file in (board / "devfreq" / "fdab0000.npu").iterdir():
        file.unlink()
    (board / "devfreq" / "fdab0000.npu").rmdir()
    assert read(board) == NpuReading({0: 0.37, 1: 0.0, 2: 1.0}, None, None, None)


def test_a_machine_without_an_npu_has_none(tmp_path: Path) -> None:
    assert read(tmp_path) is None
    (tmp_path / "devfreq" / "fb000000.gpu").mkdir(parents=True)
    assert read(tmp_path) is None


def test_this_machine_is_read_without_an_error() -> None:
    read_npu()
