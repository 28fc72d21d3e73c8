"""`edgefaced doors`: through the control socket to a house, and to lines without a daemon."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from door_rigs import Rig, settings
from file_chip import FileChip
from idle_daemon import IdleDaemon

from edgefaced.cli.main import run
from edgefaced.control.commands import Commands
from edgefaced.control.contract import parse
from edgefaced.control.hub import EventHub
from edgefaced.control.peer import Access, Peer, rule_of_this_process
from edgefaced.control.server import ControlServer
from edgefaced.control.snapshots import Pictures
from edgefaced.doors.house import House
from edgefaced.doors.remembered import remember
from edgefaced.doors.wires import Lock, LockWires, Pulse, Wire
from edgefaced.errors import Forbidden, Refused
from edgefaced.events import DoorChanged, DoorState
from edgefaced.sinks.names import GalleryNames

Run = Callable[..., tuple[int, str, str]]

SOMEBODY = Peer(1, 65534, frozenset())


@pytest.fixture
def edgefaced(own_places: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    def call(*arguments: str) -> tuple[int, str, str]:
        code = run(["doors", *arguments])
        said = capsys.readouterr()
        assert "Traceback" not in said.err
        return code, said.out, said.err

    return call


def commands(folder: Path, house: House | None) -> Commands:
    def nobody(*_: object) -> Any:
        raise AssertionError("not asked for here")

    return Commands(
        IdleDaemon().vitals,
        lambda: None,
        EventHub(),
        lambda: GalleryNames(folder, folder),
        nobody,
        Pictures(lambda: False, nobody, nobody),
        lambda: house,
    )


def serving(folder: Path, house: House | None) -> ControlServer:
    path = folder / "state" / "control.sock"
    return ControlServer(path, commands(folder, house).answer, rule_of_this_process("read"))


@pytest.fixture
def rig(own_places: Path) -> Iterator[Rig]:
    rig = Rig(settings(), own_places / "doors.json")
    with serving(own_places, rig.house):
        yield rig


def document(out: str) -> dict[str, Any]:
    assert out.count("\n") == 1, "one document"
    body: dict[str, Any] = json.loads(out)
    return body


def test_status_says_how_the_doors_are(rig: Rig, edgefaced: Run) -> None:
    (door,) = document(edgefaced("status", "--json")[1])["doors"]
    assert door == {
        "name": "front",
        "lockdown": False,
        "held_seconds": None,
        "unlocked": False,
        "is_open": None,
        "lock": "ready",
    }
    rig.house.hold_open(["front"], 60, "by me")
    rig.house.guard_says("front", unlocked=True)
    _, out, _ = edgefaced("status")
    assert "held open for 0:00:" in out
    assert "UNLOCKED" in out


def test_a_lockdown_and_its_end(rig: Rig, edgefaced: Run) -> None:
    code, out, _ = edgefaced("lockdown")
    assert (code, out) == (0, "all doors: locked down\n")
    assert "LOCKDOWN" in edgefaced("status")[1]
    code, out, err = edgefaced("open", "front")
    assert (code, out) == (1, "")
    assert "front is locked down (`edgefaced doors normal front` first)" in err
    assert [type(order) for order in rig.orders] == [Lock]
    code, out, _ = edgefaced("normal", "front", "--json")
    assert document(out)["doors"] == ["front"]
    changes = [h for h in rig.told if isinstance(h, DoorChanged)]
    assert [change.state for change in changes] == [DoorState.LOCKDOWN, DoorState.NORMAL]
    assert all(change.cause.startswith("by user ") for change in changes)


def test_opening_and_holding_open(rig: Rig, edgefaced: Run) -> None:
    assert edgefaced("open", "front")[0] == 0
    assert edgefaced("hold-open", "front", "--minutes", "0.5")[1] == (
        "front: held open for 0.5 min\n"
    )
    assert [type(order) for order in rig.orders] == [Pulse, Pulse]
    assert edgefaced("open", "garage")[0] == 1
    assert edgefaced("open")[0] == 2
    for minutes in ("1000", "nan", "inf", "0"):
        assert edgefaced("hold-open", "front", "--minutes", minutes)[0] == 2
    assert edgefaced("trust-camera")[0] == 0


def test_without_a_daemon_or_without_doors_it_is_one_line(own_places: Path, edgefaced: Run) -> None:
    code, out, err = edgefaced("status")
    assert (code, out) == (1, "")
    assert "edgefaced is not running" in err
    with serving(own_places, None):
        assert document(edgefaced("status", "--json")[1])["doors"] == []
        code, _, err = edgefaced("lockdown")
        assert (code, "the daemon has no doors" in err) == (1, True)


def test_list_says_what_doors_demand_and_what_to_know(own_places: Path, edgefaced: Run) -> None:
    code, out, err = edgefaced("list")
    assert (code, out) == (0, "")
    assert "no door is configured" in err
    (own_places / "edgefaced.toml").write_text(
        '[doors.front]\nchip = "pins"\nrelay_line = "r"\nminimum_score = 0.6\n'
        '[doors.lab]\nchip = "pins"\nwiegand_zero_line = "a"\nwiegand_one_line = "b"\n'
        'liveness = "not required"\n'
    )
    code, out, err = edgefaced("list")
    assert code == 0
    assert "r for 3000 ms" in out
    assert "Wiegand-26" in out
    assert "liveness required, score 0.6" in out
    assert "doors.front opens for no face" in err
    assert "a photograph of somebody may open it" in err
    body = document(edgefaced("list", "--json")[1])
    assert len(body["cautions"]) == 2
    assert body["doors"]["front"]["pulse_ms"] == 3000


def test_safe_makes_lines_inactive_also_when_the_configuration_cannot_say_which(
    own_places: Path, edgefaced: Run
) -> None:
    chip = FileChip(own_places / "pins", "relay", "old")
    (own_places / "edgefaced.toml").write_text(
        f'[doors.front]\nchip_kind = "file"\nchip = "{chip.folder}"\nrelay_line = "relay"\n'
    )
    old = (LockWires("front", Wire("file", str(chip.folder), "old")),)
    remember(own_places / "state" / "door-lines.json", old)
    for line in ("relay", "old"):
        chip.drive(line, high=True)
    assert edgefaced("safe")[1] == "inactive: relay, old\n"
    assert not chip.is_high("relay")
    assert not chip.is_high("old")
    chip.drive("old", high=True)
    (own_places / "edgefaced.toml").write_text("[doors.front\n")
    code, _, _ = edgefaced("safe", "--json")
    assert code == 3
    assert not chip.is_high("old")
    (own_places / "edgefaced.toml").write_text("")
    (own_places / "state" / "door-lines.json").unlink()
    assert document(edgefaced("safe", "--json")[1])["lines"] == []
    assert edgefaced("safe")[1] == "inactive: no line is configured\n"


@pytest.mark.parametrize("order", ["open", "hold-open"])
def test_nothing_unlocks_all_doors_because_none_was_named(own_places: Path, order: str) -> None:
    rig = Rig(settings(), own_places / "doors.json")
    ask = f'{{"contract_version": 1, "command": "door-order", "order": "{order}"}}'.encode()
    with pytest.raises(Refused, match="not named"):
        next(commands(own_places, rig.house).answer(parse(ask), Access.FULL, SOMEBODY))
    assert rig.orders == []


def test_only_full_access_may_do_anything(own_places: Path) -> None:
    rig = Rig(settings(), own_places / "doors.json")
    ask = b'{"contract_version": 1, "command": "door-order", "order": "open", "doors": ["front"]}'
    with pytest.raises(Forbidden, match="door-order"):
        next(commands(own_places, rig.house).answer(parse(ask), Access.READ, SOMEBODY))
    assert rig.orders == []
