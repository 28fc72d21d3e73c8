"""Root outside the unit uses the key that the service uses."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from edgefaced.config.credential import NAME, service_credential, service_key
from edgefaced.config.places import Places, places
from edgefaced.errors import KeyMissing
from edgefaced.gallery.store import Gallery
from edgefaced.storage.keyfile import CREDENTIAL

SHIPPED = Path(__file__).resolve().parents[3] / "systemd" / "edgefaced.service"
KEY = bytes(range(32))


def put(path: Path, content: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    path.chmod(0o600)
    return path


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """A tree with the service installed."""
    put(tmp_path / "etc/systemd/system/edgefaced.service", SHIPPED.read_text())
    return tmp_path


def drop_in(machine: Path, name: str, *lines: str, folder: str = "etc") -> None:
    place = machine / folder / "systemd/system/edgefaced.service.d" / name
    put(place, "[Service]\n" + "\n".join(lines) + "\n")


def test_the_names_are_one() -> None:
    assert NAME == CREDENTIAL


def test_a_machine_without_credential_or_service_has_none(machine: Path, tmp_path: Path) -> None:
    assert service_key(machine) is None
    assert service_key(tmp_path / "elsewhere") is None


def test_the_plain_credential_that_the_shipped_unit_loads(machine: Path) -> None:
    key = put(machine / "etc/credstore" / NAME, KEY)
    assert service_key(machine) == key


def test_the_running_services_credential_comes_first(machine: Path) -> None:
    put(machine / "etc/credstore" / NAME, b"already another")
    running = put(machine / "run/credentials/edgefaced.service" / NAME, KEY)
    assert service_key(machine) == running


def test_a_path_of_a_drop_in(machine: Path) -> None:
    key = put(machine / "root/our.key", KEY)
    drop_in(machine, "10-key.conf", f"LoadCredential = {NAME}:/root/our.key")
    drop_in(machine, "20-other.conf", "LoadCredential=mqtt-password:/root/mqtt")
    assert service_key(machine) == key
    drop_in(machine, "30-store.conf", f"LoadCredential={NAME}:second", folder="run")
    stored = put(machine / "run/credstore/second", KEY)
    assert service_key(machine) == stored, "the last word counts"
    drop_in(machine, "40-none.conf", "LoadCredential=")
    assert service_key(machine) is None


def test_a_drop_in_of_the_same_name_in_etc_hides_the_one_in_run(machine: Path) -> None:
    key = put(machine / "root/etc.key", KEY)
    put(machine / "root/run.key", KEY)
    drop_in(machine, "key.conf", f"LoadCredential={NAME}:/root/run.key", folder="run")
    drop_in(machine, "key.conf", f"LoadCredential={NAME}:/root/etc.key")
    assert service_key(machine) == key


def test_an_encrypted_one_is_awaited_and_nothing_takes_its_place(machine: Path) -> None:
    drop_in(
        machine,
        "tpm.conf",
        "LoadCredential=",
        f"LoadCredentialEncrypted={NAME}:/etc/credstore.encrypted/{NAME}",
    )
    awaited = service_key(machine)
    assert awaited == machine / "run/credentials/edgefaced.service" / NAME
    with pytest.raises(KeyMissing) as caught:
        Gallery.open(machine / "var/gallery.db", awaited, create=True)
    assert "systemctl start edgefaced" in caught.value.hint
    assert not (machine / "var/gallery.db").exists(), "no gallery with another key is begun"


def test_only_root_outside_the_unit_at_the_services_gallery_looks_there() -> None:
    assert places({}, root=True).of_service
    assert not places({"CREDENTIALS_DIRECTORY": "/run/credentials/x"}, root=True).of_service
    assert not places({"EDGEFACED_STATE_DIR": "/moved"}, root=True).of_service
    assert not places({"HOME": "/home/ann"}, root=False).of_service


def test_a_key_that_is_named_comes_before_all(tmp_path: Path) -> None:
    put(tmp_path / NAME, KEY)
    environment = {"CREDENTIALS_DIRECTORY": str(tmp_path), "EDGEFACED_KEY_FILE": "/k/door.key"}
    assert places(environment, root=True).key_file == Path("/k/door.key")


def test_a_list_with_a_named_key(tmp_path: Path) -> None:
    own = Places(tmp_path / "c", tmp_path / "state", tmp_path / "m")
    key = put(tmp_path / "elsewhere.key", KEY)
    Gallery.open(own.gallery_file, key, create=True).close()
    environment = {**os.environ, "EDGEFACED_STATE_DIR": str(own.state_dir)}
    program = [sys.executable, "-m", "edgefaced", "list"]
    missing = subprocess.run(program, env=environment, capture_output=True, text=True, check=False)
    assert missing.returncode == 6
    assert "EDGEFACED_KEY_FILE" in missing.stderr
    environment["EDGEFACED_KEY_FILE"] = str(key)
    found = subprocess.run(program, env=environment, capture_output=True, text=True, check=False)
    assert found.returncode == 0
    assert "nobody is enrolled" in found.stderr


def test_another_credential_is_where_the_unit_has_it_or_in_a_store(tmp_path: Path) -> None:
    name = "edgefaced-mqtt-password"
    assert service_credential(name, tmp_path) is None
    stored = tmp_path / "etc/credstore" / name
    running = tmp_path / "run/credentials/edgefaced.service" / name
    for path in (stored, running):
        path.parent.mkdir(parents=True)
        path.write_text("geheim\n")
        assert service_credential(name, tmp_path) == path


def test_a_place_that_cannot_be_looked_at_has_none(tmp_path: Path) -> None:
    """As /etc/credstore by anybody but root; a name that no folder can hold fails for root, too."""
    (tmp_path / "etc/credstore").mkdir(parents=True)
    assert service_credential("x" * 300, tmp_path) is None
