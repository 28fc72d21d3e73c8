"""Where a daemon's socket is: one place to serve at, and where a person looks for one."""

from __future__ import annotations

from pathlib import Path

import pytest

from edgefaced.config.places import places
from edgefaced.config.sections import ControlSection
from edgefaced.config.settings import Settings

SYSTEM = Path("/run/edgefaced/control.sock")


@pytest.mark.parametrize(
    ("environment", "root", "expected"),
    [
        ({}, True, [SYSTEM]),
        ({"RUNTIME_DIRECTORY": "/run/a:/run/b"}, False, [Path("/run/a/control.sock")]),
        (
            {"XDG_RUNTIME_DIR": "/run/user/7", "HOME": "/home/ann"},
            False,
            [Path("/run/user/7/edgefaced/control.sock"), SYSTEM],
        ),
        ({"EDGEFACED_STATE_DIR": "/moved"}, True, [Path("/moved/control.sock")]),
        (
            {"EDGEFACED_STATE_DIR": "/moved", "EDGEFACED_RUNTIME_DIR": "/other"},
            True,
            [Path("/other/control.sock")],
        ),
    ],
)
def test_the_own_place_comes_first(
    environment: dict[str, str], root: bool, expected: list[Path]
) -> None:
    assert list(places(environment, root=root).control_sockets(Settings())) == expected


def test_a_person_without_a_session_has_it_beside_the_gallery() -> None:
    own, system = places({"HOME": "/home/ann"}, root=False).control_sockets(Settings())
    assert own == Path("/home/ann/.local/share/edgefaced/control.sock")
    assert system == SYSTEM


def test_the_configuration_has_the_last_word() -> None:
    settings = Settings(control=ControlSection(socket=Path("/x/y.sock")))
    assert places({}, root=True).control_sockets(settings) == (Path("/x/y.sock"),)
