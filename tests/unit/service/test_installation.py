"""Which steps set the service up and take it away, and which of them are done already."""

from __future__ import annotations

from pathlib import Path

import pytest

from edgefaced.config.settings import Settings
from edgefaced.errors import ServiceError, UsageError
from edgefaced.service import units
from edgefaced.service.installation import Wish, install_steps, reach_of
from edgefaced.service.place import UNIT, Place
from edgefaced.service.removal import kept, uninstall_steps
from edgefaced.service.steps import HandOver, Link, Overwrite, Remove, Run, Step, WriteFile
from edgefaced.service.units import Reach

WISH = Wish(Path("/opt/edgefaced/bin/edgefaced"))


def written(steps: list[Step], root: Path) -> list[str]:
    return [
        "/" + str(step.action.path.relative_to(root))
        for step in steps
        if isinstance(step.action, WriteFile)
    ]


def tools(steps: list[Step]) -> list[tuple[str, ...]]:
    return [step.action.words for step in steps if isinstance(step.action, Run)]


def test_a_bare_tree_needs_every_step_but_handing_over(tmp_path: Path) -> None:
    steps = install_steps(Place(tmp_path), WISH)
    assert written(steps, tmp_path) == [
        "/etc/sysusers.d/edgefaced.conf",
        "/etc/tmpfiles.d/edgefaced.conf",
        "/etc/edgefaced/edgefaced.toml",
        "/etc/udev/rules.d/60-edgefaced.rules",
        "/etc/systemd/system/edgefaced.service",
    ]
    assert tools(steps) == [
        ("systemd-sysusers", f"--root={tmp_path}", "edgefaced.conf"),
        ("systemd-tmpfiles", f"--root={tmp_path}", "--create", "edgefaced.conf"),
    ]
    assert [s.what for s in steps if not s.needed] == [
        f"hand {tmp_path}/var/lib/edgefaced over to edgefaced"
    ]
    assert all(step.why for step in steps)
    assert isinstance(steps[-1].action, Link)
    assert list(tmp_path.iterdir()) == [], "planning writes nothing"


def test_users_come_before_files_that_they_own_and_the_unit_last(tmp_path: Path) -> None:
    kinds = [step.action for step in install_steps(Place(tmp_path), WISH)]
    user = next(i for i, a in enumerate(kinds) if isinstance(a, Run) and "sysusers" in a.words[0])
    folders = next(i for i, a in enumerate(kinds) if isinstance(a, Run) and "tmpf" in a.words[0])
    handed = next(i for i, a in enumerate(kinds) if isinstance(a, HandOver))
    unit = next(i for i, a in enumerate(kinds) if isinstance(a, WriteFile) and a.path.name == UNIT)
    assert user < folders < handed < unit


def test_what_root_made_earlier_is_handed_over(tmp_path: Path) -> None:
    state = tmp_path / "var/lib/edgefaced"
    (state / "models").mkdir(parents=True)
    (state / "gallery.db").touch()
    step = next(s for s in install_steps(Place(tmp_path), WISH) if isinstance(s.action, HandOver))
    assert step.needed
    assert step.why.startswith("3 files and folders")


@pytest.mark.parametrize(("mode", "shut"), [(0o600, True), (0o640, True), (0o644, False)])
def test_an_existing_configuration_stays_and_becomes_readable(
    tmp_path: Path, mode: int, shut: bool
) -> None:
    config = tmp_path / "etc/edgefaced/edgefaced.toml"
    config.parent.mkdir(parents=True)
    config.write_text("# mine\n")
    config.chmod(mode)
    step = next(s for s in install_steps(Place(tmp_path), WISH) if str(config) in s.what)
    assert step.action == WriteFile(config, "# mine\n", 0o640, "edgefaced")
    assert step.needed is shut, "the tree has no group yet"


BROKER, PAGE = {"host": "192.0.2.7"}, {"port": 9464, "address": "0.0.0.0"}  # noqa: S104
HOOK = {"url": "https://[2001:db8::1]:8443/hook"}


@pytest.mark.parametrize(
    ("settings", "reach"),
    [
        ({}, units.SOCKET),
        ({"metrics": {"port": 9464}}, units.LOOPBACK),
        ({"metrics": {"port": 9464, "address": "::1"}}, units.LOOPBACK),
        ({"metrics": PAGE}, units.NETWORK),
        ({"metrics": {"address": "192.0.2.1"}}, units.SOCKET),
        ({"mqtt": {"host": "localhost"}}, units.LOOPBACK),
        ({"mqtt": {"host": "127.0.0.1"}, "metrics": {"port": 9464}}, units.LOOPBACK),
        ({"mqtt": {"host": "broker.example"}}, units.NETWORK),
        ({"mqtt": BROKER}, Reach(loopback=True, others=("192.0.2.7",))),
        ({"mqtt": BROKER, "webhook": HOOK}, Reach(True, ("192.0.2.7", "2001:db8::1"))),
        ({"mqtt": BROKER, "metrics": PAGE}, units.NETWORK),
        ({"webhook": {"url": "https://example.org/hook"}}, units.NETWORK),
        ({"webhook": {"url": "http://localhost:8123/hook"}}, units.LOOPBACK),
        ({"webhook": {"url": "https://[oops"}}, units.NETWORK),
        ({"command": {"argv": ["/bin/true"]}}, units.SOCKET),
        ({"command": {"argv": ["/bin/true"], "network": True}}, units.NETWORK),
        ({"command": {"network": True}}, units.SOCKET),
    ],
)
def test_the_configuration_says_how_far_the_daemon_reaches(
    settings: dict[str, object], reach: Reach
) -> None:
    assert reach_of(Settings.model_validate(settings)) == reach


def test_a_drop_in_comes_and_goes_with_the_configuration(tmp_path: Path) -> None:
    place = Place(tmp_path)
    wish = Wish(WISH.executable, reach=units.LOOPBACK)
    step = next(s for s in install_steps(place, wish) if str(place.reach) in s.what)
    assert isinstance(step.action, WriteFile)
    place.reach.parent.mkdir(parents=True)
    place.reach.write_text(step.action.text)
    place.reach.chmod(0o644)
    assert not next(s for s in install_steps(place, wish) if str(place.reach) in s.what).needed
    gone = next(s for s in install_steps(place, WISH) if str(place.reach) in s.what)
    assert gone.action == Remove(place.reach)


def on_this_machine(*, active: bool, start: bool = True) -> list[Step]:
    """Planned, never done."""
    if Place().unit.exists() or Place().files.state_dir.exists():
        pytest.skip("edgefaced is a service of this machine, or has been")
    wish = Wish(WISH.executable, user="a-user-nobody-has", start=start)
    return install_steps(Place(), wish, active=active)


def test_on_a_machine_systemd_is_told() -> None:
    steps = tools(on_this_machine(active=False))
    assert steps[0] == ("systemd-sysusers", "edgefaced.conf")
    assert steps[1] == ("systemd-tmpfiles", "--create", "edgefaced.conf")
    assert steps[-3:] == [
        ("systemctl", "daemon-reload"),
        ("systemctl", "enable", UNIT),
        ("systemctl", "start", UNIT),
    ]


def test_a_running_daemon_gets_the_new_unit() -> None:
    assert tools(on_this_machine(active=True))[-1] == ("systemctl", "restart", UNIT)


def test_no_start_is_no_start() -> None:
    steps = tools(on_this_machine(active=False, start=False))
    assert steps[-1] == ("systemctl", "enable", UNIT)


def test_on_a_machine_with_udev_the_rules_are_read_and_applied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("edgefaced.service.installation.UDEV", tmp_path)
    verbs = [words[1] for words in tools(on_this_machine(active=False)) if words[0] == "udevadm"]
    assert verbs == ["control", "trigger"]


def installed(root: Path) -> Place:
    """A tree as an installation leaves it, made by hand."""
    place = Place(root)
    files = (place.unit, place.sysusers, place.tmpfiles, place.rules, place.reach)
    for file in (*files, place.files.config_file, place.files.gallery_file, place.files.key_file):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("x" * 32)
    place.runtime.mkdir(parents=True)
    place.wanted.parent.mkdir()
    place.wanted.symlink_to("/etc/systemd/system/edgefaced.service")
    return place


def removed(steps: list[Step]) -> set[Path]:
    return {s.action.path for s in steps if isinstance(s.action, Remove) and s.needed}


def test_uninstalling_leaves_people_key_and_configuration(tmp_path: Path) -> None:
    place = installed(tmp_path)
    assert removed(uninstall_steps(place)) == {
        place.wanted,
        place.drop_ins,
        place.rules,
        place.tmpfiles,
        place.sysusers,
        place.runtime,
        place.unit,
    }
    assert kept(place) == [place.files.state_dir, place.files.config_file.parent]
    assert tools(uninstall_steps(place)) == []


def test_an_administrators_drop_in_stays(tmp_path: Path) -> None:
    place = installed(tmp_path)
    own = place.drop_ins / "override.conf"
    own.write_text("[Service]\n")
    steps = removed(uninstall_steps(place))
    assert place.reach in steps
    assert place.drop_ins not in steps
    assert own in kept(place)
    assert place.drop_ins in removed(uninstall_steps(place, purge=True))


def test_a_purge_overwrites_the_key_first_and_leaves_nothing(tmp_path: Path) -> None:
    place = installed(tmp_path)
    actions = [step.action for step in uninstall_steps(place, purge=True)]
    key = actions.index(Overwrite(place.files.key_file))
    assert key < actions.index(Remove(place.files.state_dir))
    assert Remove(place.files.config_file.parent) in actions
    assert kept(place, purge=True) == []


def test_a_credential_is_the_administrators(tmp_path: Path) -> None:
    place = installed(tmp_path)
    place.credential.parent.mkdir(parents=True)
    place.credential.write_bytes(b"k" * 32)
    assert place.credential not in removed(uninstall_steps(place, purge=True))
    assert kept(place, purge=True) == [place.credential]


def test_a_purge_takes_the_passwords_that_setup_has_stored(tmp_path: Path) -> None:
    place = installed(tmp_path)
    password, key = place.secrets
    password.parent.mkdir(parents=True)
    password.write_text("geheim")
    actions = [step.action for step in uninstall_steps(place, purge=True)]
    assert actions.index(Overwrite(password)) < actions.index(Remove(password))
    assert Remove(key) not in actions
    assert password not in removed(uninstall_steps(place))


def test_a_second_uninstallation_has_nothing_to_do(tmp_path: Path) -> None:
    assert not any(step.needed for step in uninstall_steps(Place(tmp_path), purge=True))
    assert kept(Place(tmp_path)) == []


def test_on_a_machine_the_service_is_stopped_first() -> None:
    if Place().unit.exists() or Place().files.state_dir.exists():
        pytest.skip("edgefaced is a service of this machine, or has been")
    steps = uninstall_steps(Place(), purge=True)
    assert tools(steps)[0] == ("systemctl", "disable", "--now", UNIT)
    assert ("systemctl", "daemon-reload") in tools(steps)
    assert not any(s.needed for s in steps if isinstance(s.action, Run) and "ctl" in s.what)


def test_planning_reads_modes_too(tmp_path: Path) -> None:
    place = Place(tmp_path)
    step = next(s for s in install_steps(place, WISH) if str(place.rules) in s.what)
    assert isinstance(step.action, WriteFile)
    place.rules.parent.mkdir(parents=True)
    place.rules.write_text(step.action.text)
    for mode, needed in ((0o600, True), (0o644, False)):
        place.rules.chmod(mode)
        assert (
            next(s for s in install_steps(place, WISH) if str(place.rules) in s.what).needed
            is needed
        )


def test_a_packages_service_keeps_its_files_and_gets_what_the_configuration_needs(
    tmp_path: Path,
) -> None:
    place = Place(tmp_path)
    unit = place.at(f"/usr/lib/systemd/system/{UNIT}")
    unit.parent.mkdir(parents=True)
    unit.write_text("[Service]\n")
    assert (place.packaged, place.installed) == (True, True)
    steps = install_steps(place, Wish(WISH.executable, reach=units.NETWORK))
    assert written(steps, tmp_path) == [
        "/etc/edgefaced/edgefaced.toml",
        "/etc/systemd/system/edgefaced.service.d/50-edgefaced-reach.conf",
    ]
    assert not tools(steps)
    with pytest.raises(UsageError, match="--user door"):
        install_steps(place, Wish(WISH.executable, user="door"))
    for purge in (False, True):
        with pytest.raises(ServiceError, match="the Debian package"):
            uninstall_steps(place, purge=purge)
    place.unit.parent.mkdir(parents=True)
    place.unit.write_text("[Service]\n")
    assert (place.packaged, place.installed) == (False, True), "ours hides it"
