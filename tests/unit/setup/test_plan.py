"""What is written at the end, and that it is nothing where nothing changes."""

from __future__ import annotations

import os
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from edgefaced.errors import ConfigError
from edgefaced.service import units
from edgefaced.service.place import Accounts, Place
from edgefaced.service.steps import Link, Run, Step, WriteFile, perform
from edgefaced.setup.answers import Answers, MqttAnswer
from edgefaced.setup.plan import Draft, draft_of, service_steps, standing_at, with_news
from edgefaced.sinks.signing import keys_in

BROKER = MqttAnswer("broker", None, True, None, "door", "geheim")
EXECUTABLE = Path("/usr/bin/edgefaced")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "etc" / "edgefaced.toml"


def draft(path: Path, answers: Answers, root: Path | None = None) -> Draft:
    return draft_of(path, standing_at(path), answers, Place(root))


def files(steps: tuple[Step, ...]) -> dict[str, WriteFile]:
    return {s.action.path.name: s.action for s in steps if isinstance(s.action, WriteFile)}


def do(steps: tuple[Step, ...]) -> None:
    for step in steps:
        if step.needed:
            perform(step.action, Accounts())


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_first_configuration_then_the_same_then_another(path: Path) -> None:
    first = draft(path, Answers("commercial"))
    assert first.changed
    assert not path.parent.exists(), "planning writes nothing"
    do(first.files)
    assert path.read_text() == first.text
    assert mode(path) == (0o640 if os.geteuid() == 0 else 0o600)
    assert not first.backup.exists()
    again = draft(path, Answers("commercial"))
    assert not again.changed
    assert not any(step.needed for step in again.files)
    path.write_text(first.text + "# by hand\n")
    path.chmod(0o604)
    do(draft(path, Answers("commercial")).files)
    assert path.read_text().endswith("# by hand\n"), "no change, so nothing is written"
    other = draft(path, Answers("reference"))
    do(other.files)
    assert 'pack = "reference"' in path.read_text()
    assert other.backup.read_text() == first.text + "# by hand\n"
    assert (mode(path), mode(other.backup)) == (0o604, 0o604)


def test_where_to_read_on_stands_at_the_beginning(path: Path) -> None:
    head = draft(path, Answers("commercial")).text.split("\n\n")[0]
    assert str(units.sample_file()) in head
    assert "`edgefaced config show`" in head


def test_answers_that_do_not_fit_are_refused_before_anything_is_written(path: Path) -> None:
    with pytest.raises(ConfigError, match=r"mqtt\.host"):
        draft(path, Answers("commercial", mqtt=replace(BROKER, host="a broker")))
    assert not path.parent.exists()


def test_secrets_of_a_person_are_files_of_their_own_beside_the_configuration(path: Path) -> None:
    answers = Answers("commercial", mqtt=BROKER, webhook="https://example.org/x")
    made = draft(path, answers)
    do(made.files)
    password, key = path.with_name("mqtt.password"), path.with_name("webhook.key")
    assert made.settings.mqtt.password_file == password
    assert made.settings.webhook.key_file == key
    assert password.read_text() == "geheim\n"
    assert (mode(password), mode(key)) == (0o600, 0o600)
    assert len(keys_in(key.read_text(), "key")[0]) == 32
    assert "geheim" not in path.read_text() + repr(made)
    before = key.read_text()
    do(draft(path, replace(answers, mqtt=replace(BROKER, password=None))).files)
    assert (password.read_text(), key.read_text()) == ("geheim\n", before), "both stay"


def test_secrets_of_the_service_are_credentials_of_the_unit(path: Path, tmp_path: Path) -> None:
    answers = Answers("commercial", mqtt=BROKER, webhook="https://example.org/x", service=True)
    made = draft(path, answers, tmp_path)
    written = files(made.files)
    store = tmp_path / "etc/credstore"
    for name in ("edgefaced-mqtt-password", "edgefaced-webhook-key"):
        assert (written[name].path, written[name].mode) == (store / name, 0o600)
    assert made.settings.mqtt.password_file is None
    assert made.settings.webhook.key_file is None


def test_the_service_reads_what_was_written_and_gets_the_network_it_needs(tmp_path: Path) -> None:
    place = Place(tmp_path)
    path = place.files.config_file
    answers = Answers("commercial", mqtt=BROKER, service=True)
    made = draft(path, answers, tmp_path)
    planned = service_steps(place, EXECUTABLE, made, active=False)
    assert path.name not in files(tuple(planned)), "no sample is written in its place"
    assert "50-edgefaced-reach.conf" in files(tuple(planned))
    path.parent.mkdir(parents=True)
    path.write_text(made.text)
    shared = service_steps(place, EXECUTABLE, made, active=False)
    assert files(tuple(shared))[path.name].text == made.text
    assert isinstance(shared[-1].action, Link)


def test_a_running_service_is_started_anew_for_what_is_new(path: Path, tmp_path: Path) -> None:
    idle = Step("restart", "", Run(("systemctl", "restart", "edgefaced.service")), needed=False)
    new = draft(path, Answers("commercial", service=True), tmp_path)
    assert with_news([idle], new)[0].needed
    do(new.files)
    same = draft(path, Answers("commercial", service=True), tmp_path)
    assert with_news([idle], same) == [idle]
