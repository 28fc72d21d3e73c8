"""What a machine is called."""

from dataclasses import asdict

from edgefaced.benchmark.machine import processor, this_machine


def test_a_board_is_known_by_its_own_name() -> None:
    assert processor("model name : x", "Raspberry Pi 5 Model B Rev 1.0\0") == (
        "Raspberry Pi 5 Model B Rev 1.0"
    )


def test_a_pc_is_known_by_its_processor() -> None:
    assert processor("processor : 0\nmodel name\t: Some CPU @ 3 GHz\n", "") == "Some CPU @ 3 GHz"


def test_an_unknown_processor_has_no_name() -> None:
    assert processor("processor : 0\n", "") == ""


def test_this_machine_says_all_of_itself() -> None:
    machine = asdict(this_machine())
    assert all(machine.values())
    assert machine["usable_cores"] >= 1
