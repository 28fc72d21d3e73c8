"""The files of systemd/ as shipped, and fitted to a machine."""

from __future__ import annotations

import configparser
import re
import tomllib
from itertools import pairwise
from pathlib import Path

import pytest

from edgefaced.daemon import STOP_SECONDS, TICK_SECONDS
from edgefaced.errors import UsageError
from edgefaced.pipeline.capture import NEXT_SECONDS, SETTLE_SECONDS
from edgefaced.service import units
from edgefaced.service.units import Folder, Reach

UNITS = sorted(p for p in units.shipped_folder().rglob("*") if p.suffix in {".service", ".conf"})
OPT = Path("/opt/edgefaced/bin/edgefaced")


def seconds(text: str, key: str) -> float:
    found = re.search(rf"^{key}=(\d+)s$", text, re.MULTILINE)
    assert found is not None, key
    return float(found[1])


@pytest.mark.parametrize("file", UNITS, ids=lambda path: path.name)
def test_every_option_has_its_reason_above_it(file: Path) -> None:
    lines = file.read_text().splitlines()
    for before, line in pairwise(lines):
        key = line.split("=")[0]
        if not line.startswith(("#", "[")) and line and "Description" not in key:
            says = before.startswith("#") or before.split("=")[0] == key
            assert says or key == "Documentation", f"{line!r} says not why"


def test_the_unit_waits_longer_than_the_daemon_does() -> None:
    unit = units.unit(OPT, "edgefaced")
    a_reload = STOP_SECONDS + SETTLE_SECONDS + NEXT_SECONDS + TICK_SECONDS
    assert seconds(unit, "WatchdogSec") > 2 * a_reload
    assert seconds(unit, "TimeoutStopSec") > a_reload + STOP_SECONDS
    assert "StartLimitIntervalSec=0" in unit


def test_a_unit_is_fitted_to_executable_and_user() -> None:
    unit = units.unit(OPT, "door")
    lines = unit.splitlines()
    assert f"ExecStart={OPT} run --wait" in lines
    assert f"ExecStartPre={OPT} config check" in lines
    assert "User=door" in lines
    assert "Group=door" in lines
    assert units.SHIPPED_EXECUTABLE not in unit
    assert units.user_of(unit) == "door"
    assert units.user_of("") == "edgefaced"
    parsed = configparser.RawConfigParser(strict=False, delimiters="=", comment_prefixes="#")
    parsed.read_string(unit)
    assert parsed["Service"]["statedirectory"] == "edgefaced", "folders are not the user's name"


@pytest.mark.parametrize(
    ("path", "written"),
    [
        ("/opt/edgefaced/bin/edgefaced", "/opt/edgefaced/bin/edgefaced"),
        ("/opt/my apps/edgefaced", '"/opt/my apps/edgefaced"'),
        ("/opt/100%/edgefaced", "/opt/100%%/edgefaced"),
        ('/opt/"x"/edgefaced', '"/opt/\\"x\\"/edgefaced"'),
        ("/opt/a\\b/edgefaced", '"/opt/a\\\\b/edgefaced"'),
        ("/opt/tür/edgefaced", "/opt/tür/edgefaced"),
    ],
)
def test_a_path_is_written_as_systemd_reads_it(path: str, written: str) -> None:
    assert units.quoted(Path(path)) == written
    assert f"ExecStart={written} run --wait" in units.unit(Path(path), "edgefaced").splitlines()


def test_a_path_cannot_add_a_line() -> None:
    with pytest.raises(UsageError):
        units.unit(Path("/opt/x\nExecStartPre=/bin/evil"), "edgefaced")


@pytest.mark.parametrize("user", ["root", "", "Ann", "a b", "-x", "x\nUser=root", "a" * 32, "0"])
def test_a_user_is_a_name_and_not_root(user: str) -> None:
    with pytest.raises(UsageError):
        units.unit(OPT, user)


def test_the_account_joins_the_groups_that_there_are() -> None:
    text = units.sysusers("door", ["video"])
    entries = [line for line in text.splitlines() if line and not line.startswith("#")]
    assert entries[0].startswith("u door - ")
    assert entries[1:] == ["m door video"]
    assert "# no group gpio on this machine" in text
    everything = units.sysusers("edgefaced", units.GROUPS)
    assert everything == (units.shipped_folder() / "edgefaced.sysusers.conf").read_text()


def test_folders_belong_to_the_user_and_the_configuration_to_root() -> None:
    assert units.folders(units.tmpfiles("door")) == [
        Folder("/etc/edgefaced", 0o750, "root", "door"),
        Folder("/var/lib/edgefaced", 0o750, "door", "door"),
        Folder("/var/lib/edgefaced/models", 0o750, "door", "door"),
        Folder("/run/edgefaced", 0o750, "door", "door"),
    ]


def test_pins_belong_to_the_user_alone() -> None:
    rules = units.rules("door")
    pins = next(line for line in rules.splitlines() if "gpiochip" in line)
    assert 'OWNER="door"' in pins
    assert "GROUP" not in pins, "whoever is in a group of theirs could open the door"
    for rule in rules.splitlines():
        assert rule.startswith("#") or not rule or re.fullmatch(r'(\w+={1,2}"[^"]+"(, |$))+', rule)


def test_a_drop_in_opens_no_more_than_is_asked_for() -> None:
    assert units.drop_in(units.SOCKET) is None
    loopback, network = units.drop_in(units.LOOPBACK), units.drop_in(units.NETWORK)
    known = units.drop_in(Reach(loopback=True, others=("192.0.2.1", "2001:db8::1")))
    assert loopback is not None
    assert network is not None
    assert "\nIPAddressAllow" not in loopback
    assert "\nIPAddressAllow=any\n" in network
    assert known is not None
    assert "\nIPAddressAllow=192.0.2.1\nIPAddressAllow=2001:db8::1\n" in known
    assert "=any" not in known
    for text in (loopback, network, known):
        assert "\nRestrictAddressFamilies=AF_INET AF_INET6\n" in text


def test_the_sample_is_the_documented_configuration() -> None:
    sample = Path(__file__).resolve().parents[3] / "deploy" / "edgefaced.toml"
    assert units.sample_configuration() == sample.read_text()


def test_they_travel_in_the_wheel_to_where_they_are_looked_for() -> None:
    root = Path(__file__).resolve().parents[3]
    project = tomllib.loads((root / "pyproject.toml").read_text())
    included = project["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    room = Path(units.__file__).parent.relative_to(root)
    assert included["systemd"] == str(room / "units")
    assert included["deploy/edgefaced.toml"] == str(room / "edgefaced.toml")
