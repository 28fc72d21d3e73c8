"""The master key's file: created once, refused when others can read it."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from edgefaced.config.places import places
from edgefaced.errors import GalleryError, KeyMissing, KeyWrong, StorageError
from edgefaced.storage import files, keyfile


def test_a_key_is_random_private_and_whole(tmp_path: Path) -> None:
    one, two = tmp_path / "a" / "key", tmp_path / "b" / "key"
    assert keyfile.read_or_create_key(one) != keyfile.read_or_create_key(two)
    assert stat.S_IMODE(one.stat().st_mode) == 0o600
    assert stat.S_IMODE(one.parent.stat().st_mode) == 0o700
    assert one.stat().st_size == 32
    assert [p.name for p in one.parent.iterdir()] == ["key"], "no draft is left"


def test_a_key_that_is_there_is_used(tmp_path: Path) -> None:
    key = keyfile.read_or_create_key(tmp_path / "key")
    assert keyfile.read_or_create_key(tmp_path / "key") == key
    assert not files.publish(tmp_path / "key", bytes(32)), "never overwritten"
    assert keyfile.read_key(tmp_path / "key") == key


def test_a_missing_key_is_not_invented(tmp_path: Path) -> None:
    with pytest.raises(KeyMissing, match="is missing"):
        keyfile.read_key(tmp_path / "key")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o602, 0o644, 0o666])
def test_a_key_open_to_others_is_refused(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "key"
    keyfile.read_or_create_key(path)
    path.chmod(mode)
    with pytest.raises(GalleryError, match=f"mode {mode:04o}.*chmod 600"):
        keyfile.read_key(path)


@pytest.mark.parametrize("size", [0, 1, 31, 33, 64, 100_000])
def test_a_key_of_another_size_is_wrong(tmp_path: Path, size: int) -> None:
    path = tmp_path / "key"
    path.touch(mode=0o600)
    path.write_bytes(bytes(size))
    with pytest.raises(KeyWrong, match="32"):
        keyfile.read_key(path)


def test_a_folder_is_no_key(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="Is a directory"):
        keyfile.read_key(tmp_path)


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StorageError, match="cannot be written"):
        keyfile.read_or_create_key(tmp_path / "file" / "key")


def test_a_credential_may_show_its_acl_mask_as_group_bits(tmp_path: Path) -> None:
    path = tmp_path / keyfile.CREDENTIAL
    path.touch(mode=0o600)
    path.write_bytes(bytes(range(32)))
    path.chmod(0o440)
    assert keyfile.read_key(path) == bytes(range(32))
    path.chmod(0o444)
    with pytest.raises(GalleryError, match="0444"):
        keyfile.read_key(path)


def test_a_credential_is_never_created(tmp_path: Path) -> None:
    with pytest.raises(KeyMissing):
        keyfile.read_or_create_key(tmp_path / keyfile.CREDENTIAL)
    assert not list(tmp_path.iterdir())


def test_the_credential_stands_before_the_file(tmp_path: Path) -> None:
    environment = {"CREDENTIALS_DIRECTORY": str(tmp_path), "STATE_DIRECTORY": "/state"}
    assert places(environment, root=True).key_file == Path("/state/gallery.key")
    (tmp_path / keyfile.CREDENTIAL).touch()
    assert places(environment, root=True).key_file == tmp_path / keyfile.CREDENTIAL
