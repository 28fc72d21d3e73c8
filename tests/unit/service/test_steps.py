"""Steps for real, in a folder of the test's own."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from edgefaced.errors import ServiceError
from edgefaced.service.place import Accounts
from edgefaced.service.steps import (
    HandOver,
    Link,
    Overwrite,
    Remove,
    Run,
    WriteFile,
    owned_by_others,
    perform,
)

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
USER_ID, GROUP_ID = 4711, 4712


@pytest.fixture
def accounts(tmp_path: Path) -> Accounts:
    """Those of a tree with the user and the group `door`."""
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/passwd").write_text(
        "root:x:0:0::/root:/bin/sh\n"
        f"door:x:{USER_ID}:{GROUP_ID}::/var/lib/edgefaced:/usr/sbin/nologin\n"
    )
    (tmp_path / "etc/group").write_text(f"root:x:0:\nvideo:x:44:door\ndoor:x:{GROUP_ID}:\n")
    return Accounts(tmp_path)


def test_accounts_are_those_of_the_tree(accounts: Accounts, tmp_path: Path) -> None:
    assert accounts.user_id("door") == USER_ID
    assert accounts.group_id("door") == GROUP_ID
    assert accounts.group_id("video") == 44
    assert accounts.home("door") == Path("/var/lib/edgefaced")
    assert accounts.user_id("doo") is None
    assert accounts.group_id("gpio") is None
    assert accounts.home("nobody-there") is None
    assert Accounts(tmp_path / "empty").user_id("root") is None


def test_accounts_are_those_of_the_machine() -> None:
    machine = Accounts()
    assert machine.user_id("root") == 0
    assert machine.group_id("root") == 0
    assert machine.home("root") is not None
    assert machine.user_id("nobody-with-this-name") is None
    assert machine.group_id("nobody-with-this-name") is None
    assert machine.home("nobody-with-this-name") is None


@as_root
def test_a_file_appears_whole_with_its_mode_and_group(accounts: Accounts, tmp_path: Path) -> None:
    file = tmp_path / "etc/edgefaced/edgefaced.toml"
    (tmp_path / "etc/edgefaced").mkdir()
    (tmp_path / "etc/edgefaced/.edgefaced.toml.new").write_text("left by a power cut")
    perform(WriteFile(file, "a = 1\n", 0o640, "door"), accounts)
    perform(WriteFile(file, "a = 2\n", 0o640, "door"), accounts)
    status = file.stat()
    assert file.read_text() == "a = 2\n"
    assert stat.S_IMODE(status.st_mode) == 0o640
    assert (status.st_uid, status.st_gid) == (0, GROUP_ID)
    assert [p.name for p in file.parent.iterdir()] == ["edgefaced.toml"]
    perform(WriteFile(file, "a = 3\n"), accounts)
    assert stat.S_IMODE(file.stat().st_mode) == 0o644
    assert file.stat().st_gid == 0


def test_a_group_that_is_missing_is_an_error_and_leaves_nothing(
    accounts: Accounts, tmp_path: Path
) -> None:
    with pytest.raises(ServiceError, match="no account gpio"):
        perform(WriteFile(tmp_path / "file", "", 0o640, "gpio"), accounts)
    assert [p.name for p in tmp_path.iterdir()] == ["etc"]


@as_root
def test_handing_over_reaches_everything_and_follows_no_link(
    accounts: Accounts, tmp_path: Path
) -> None:
    state, outside = tmp_path / "state", tmp_path / "outside"
    (state / "models/files").mkdir(parents=True)
    outside.mkdir()
    for file in (state / "gallery.db", state / "models/files/a", outside / "secret"):
        file.touch()
    (state / "link").symlink_to(outside)
    (state / "models/to-a-file").symlink_to(outside / "secret")
    assert len(list(owned_by_others(state, USER_ID))) == 7
    perform(HandOver(state, "door"), accounts)
    assert list(owned_by_others(state, USER_ID)) == []
    assert {p.lstat().st_gid for p in state.rglob("*")} == {GROUP_ID}
    assert (outside.stat().st_uid, (outside / "secret").stat().st_uid) == (0, 0)


def test_nothing_of_others_is_in_a_folder_that_is_not_there(tmp_path: Path) -> None:
    assert list(owned_by_others(tmp_path / "absent", 0)) == []


def test_a_link_takes_the_place_of_an_old_one(accounts: Accounts, tmp_path: Path) -> None:
    link = tmp_path / "wants/edgefaced.service"
    perform(Link(link, "/old"), accounts)
    perform(Link(link, "/etc/systemd/system/edgefaced.service"), accounts)
    assert str(link.readlink()) == "/etc/systemd/system/edgefaced.service"


def test_a_secret_is_overwritten_in_its_place(accounts: Accounts, tmp_path: Path) -> None:
    key = tmp_path / "gallery.key"
    key.write_bytes(b"k" * 32)
    with key.open("rb") as same_file:
        perform(Overwrite(key), accounts)
        perform(Remove(key), accounts)
        now = same_file.read()
    assert len(now) == 32
    assert b"kkkk" not in now
    assert not key.exists()


def test_removing_takes_folders_and_not_what_links_lead_to(
    accounts: Accounts, tmp_path: Path
) -> None:
    target, folder = tmp_path / "target", tmp_path / "folder"
    (target / "sub").mkdir(parents=True)
    (folder / "sub").mkdir(parents=True)
    (folder / "inner").symlink_to(target)
    link = tmp_path / "link"
    link.symlink_to(target)
    for path in (folder, link, tmp_path / "absent"):
        perform(Remove(path), accounts)
    assert not folder.exists()
    assert not link.is_symlink()
    assert (target / "sub").is_dir()


def test_a_tool_that_fails_is_one_line_with_its_last_word(
    accounts: Accounts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")  # a folder that nobody may enter says otherwise
    perform(Run(("true",)), accounts)
    with pytest.raises(ServiceError, match=r"^`sh -c .*`: second$"):
        perform(Run(("sh", "-c", "echo first >&2; echo second >&2; exit 3")), accounts)
    with pytest.raises(ServiceError, match="exit 1"):
        perform(Run(("false",)), accounts)
    with pytest.raises(ServiceError, match="no-such-tool: No such file"):
        perform(Run(("no-such-tool",)), accounts)


def test_a_place_that_cannot_be_written_is_one_line(accounts: Accounts, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ServiceError, match=r"Not a directory|File exists"):
        perform(Link(tmp_path / "file/x", "/y"), accounts)
