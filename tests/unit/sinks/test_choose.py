"""Which sinks a configuration gives, and what is said of one that is off: never a secret."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import get_args

import pytest
from certificates import Authority
from happenings import ANN, HAPPENINGS, decisions

from edgefaced.checkup import check
from edgefaced.cli.main import run
from edgefaced.config.places import Places
from edgefaced.config.settings import Settings
from edgefaced.config.sinks import ALL_KINDS, Kind, shown_url
from edgefaced.errors import ConfigError, SinkError
from edgefaced.events import Event, Trouble, Unknown
from edgefaced.protocols import Delivery
from edgefaced.sinks.choose import chosen_sinks, lacking, this_node
from edgefaced.sinks.shape import document

KEY = "whsec_" + "A" * 43 + "="
PASSWORD = "correct horse"  # noqa: S105 - the test's


@pytest.fixture
def places(tmp_path: Path) -> Places:
    return Places(tmp_path / "edgefaced.toml", tmp_path / "state", tmp_path / "models")


def settings(**sections: dict[str, object]) -> Settings:
    return Settings.model_validate(sections)


def private(path: Path, text: str) -> str:
    path.touch(0o600)
    path.write_text(text)
    return str(path)


def test_nothing_is_sent_anywhere_unless_it_is_configured(places: Places) -> None:
    assert chosen_sinks(Settings(), places, threading.Event()) == {}
    assert list(lacking(Settings(), places)) == []
    for section in (Settings().mqtt, Settings().webhook, Settings().command, Settings().lines):
        assert section.names is False
        assert section.kinds == ALL_KINDS
    assert not Settings().mqtt.commands


def test_every_kind_of_event_can_be_chosen() -> None:
    told = {document(Event(h, "door"))["type"] for h in HAPPENINGS if not isinstance(h, Unknown)}
    assert told == set(get_args(Kind))


def test_everything_at_once_is_in_order(places: Places, tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    certificate, key = authority.certify("door")
    whole = settings(
        mqtt={
            "host": "broker.example",
            "ca_file": str(authority.file),
            "certificate_file": str(certificate),
            "key_file": str(key),
            "username": "door",
            "password_file": private(tmp_path / "password", PASSWORD + "\n"),
        },
        webhook={
            "url": "https://example.org/hook",
            "key_file": private(tmp_path / "key", KEY),
            "ca_file": str(authority.file),
        },
        command={"argv": ["/bin/cat"]},
        lines={"path": str(tmp_path / "events.jsonl")},
    )
    plans = chosen_sinks(whole, places, threading.Event())
    assert {name: plan.delivery for name, plan in plans.items()} == dict.fromkeys(
        ("mqtt", "webhook", "command", "lines"), Delivery.LASTING
    )
    assert list(lacking(whole, places)) == []
    assert PASSWORD not in repr(whole)


def test_only_the_chosen_kinds_are_written(places: Places, tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    some = settings(lines={"path": str(path), "kinds": ["trouble"]})
    with closing(chosen_sinks(some, places, threading.Event())["lines"].open()) as sink:
        sink.emit(decisions(1)[0])
        sink.emit(Event(Trouble("disk", "full"), "door"))
        sink.emit(Event(Unknown("new", "{}"), "door"))
    assert [json.loads(line)["type"] for line in path.read_text().splitlines()] == ["trouble"]


def test_a_name_that_nobody_knows_is_no_fault(places: Places, tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    named = settings(lines={"path": str(path), "names": True})
    with closing(chosen_sinks(named, places, threading.Event())["lines"].open()) as sink:
        sink.emit(decisions(1)[0])
    body = json.loads(path.read_text())
    assert (body["id"], body["name"]) == (ANN, None)


def test_credentials_of_the_unit_are_taken(tmp_path: Path) -> None:
    credentials = tmp_path / "credentials"
    credentials.mkdir()
    places = Places(tmp_path / "c", tmp_path / "s", tmp_path / "m", credentials_dir=credentials)
    hook = settings(webhook={"url": "https://example.org/hook"})
    assert [name for name, _ in lacking(hook, places)] == ["webhook"]
    private(credentials / "edgefaced-webhook-key", KEY)
    assert list(lacking(hook, places)) == []


@pytest.mark.parametrize(
    ("sections", "words"),
    [
        ({"mqtt": {"host": "b", "tls": False, "ca_file": "/x"}}, ["mqtt.tls"]),
        ({"mqtt": {"host": "b", "key_file": "/x"}}, ["mqtt.certificate_file", "mqtt.key_file"]),
        ({"mqtt": {"host": "b", "password_file": "/x"}}, ["mqtt.password_file", "mqtt.username"]),
        ({"webhook": {"url": "http://example.org/s3cret"}}, ["webhook.url", "example.org"]),
        ({"lines": {"path": "events.jsonl"}}, ["lines.path", "absolute"]),
    ],
)
def test_values_that_do_not_fit_are_an_error(
    places: Places, sections: dict[str, dict[str, object]], words: list[str]
) -> None:
    with pytest.raises(ConfigError) as caught:
        chosen_sinks(settings(**sections), places, threading.Event())
    assert all(word in caught.value.message for word in words)
    assert "s3cret" not in str(caught.value)
    with pytest.raises(ConfigError):
        list(lacking(settings(**sections), places))


def absent(folder: Path) -> str:
    return str(folder / "absent")


def open_to_all(folder: Path) -> str:
    path = Path(private(folder / "open", KEY))
    path.chmod(0o644)
    return str(path)


def empty(folder: Path) -> str:
    return private(folder / "empty", " \n")


def binary(folder: Path) -> str:
    path = folder / "binary"
    path.touch(0o600)
    path.write_bytes(b"\xff\xfe")
    return str(path)


def a_folder(folder: Path) -> str:
    return str(folder)


def no_certificates(folder: Path) -> str:
    return private(folder / "none.pem", "-----BEGIN NOTHING-----\n")


@pytest.mark.parametrize("file", [absent, open_to_all, empty, binary, a_folder])
def test_a_secret_that_cannot_be_used_is_said_with_its_key(
    places: Places, tmp_path: Path, file: Callable[[Path], str]
) -> None:
    path = file(tmp_path)
    both = settings(
        mqtt={"host": "b", "username": "door", "password_file": path},
        webhook={"url": "https://example.org/hook", "key_file": path},
    )
    found = dict(lacking(both, places))
    assert "mqtt.password_file" in found["mqtt"].message
    assert "webhook.key_file" in found["webhook"].message
    assert all(path in error.message and "\n" not in str(error) for error in found.values())
    assert all(KEY not in str(error) for error in found.values())
    for plan in chosen_sinks(both, places, threading.Event()).values():
        with pytest.raises(ConfigError):
            plan.open()


@pytest.mark.parametrize("file", [absent, a_folder, no_certificates])
def test_certificates_that_cannot_be_used_are_said_with_their_key(
    places: Places, tmp_path: Path, file: Callable[[Path], str]
) -> None:
    authority = Authority(tmp_path / "authority")
    certificate, key = map(str, authority.certify("door"))
    path = file(tmp_path)
    for files in (
        {"ca_file": path},
        {"certificate_file": path, "key_file": key},
        {"certificate_file": certificate, "key_file": path},
    ):
        ((name, error),) = lacking(settings(mqtt={"host": "b", **files}), places)
        assert name == "mqtt"
        assert path in error.message or "mqtt.key_file" in error.message


def test_a_program_that_is_none_is_said(places: Places, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no program")
    for program in (tmp_path / "absent", tmp_path, tmp_path / "text"):
        ((name, error),) = lacking(settings(command={"argv": [str(program)]}), places)
        assert name == "command"
        assert str(program) in error.message


def test_a_place_for_lines_that_is_none_is_said(places: Places, tmp_path: Path) -> None:
    for path in (tmp_path / "absent" / "events.jsonl", tmp_path):
        ((name, error),) = lacking(settings(lines={"path": str(path)}), places)
        assert name == "lines"
        assert str(path) in error.message


@pytest.mark.parametrize(
    "text",
    [
        "[mqtt]\nhost = 'mqtt://broker'",
        "[mqtt]\nnode = 'a/b'",
        "[mqtt]\nnode = '#'",
        "[mqtt]\nprefix = '/'",
        "[mqtt]\nprefix = '$SYS'",
        "[mqtt]\nport = 0",
        "[mqtt]\nkinds = []",
        "[mqtt]\nkinds = ['faces']",
        "[command]\nargv = ['cat']",
        "[command]\nargv = ['/bin/cat', 'a\\u0000b']".replace("'", '"'),
        "[command]\nargv = 'cat'",
        "[command]\ntimeout_seconds = 60",
        "[webhook]\nurl = ''",
    ],
)
def test_bad_values_are_one_line(
    own_places: Path, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    (own_places / "edgefaced.toml").write_text(text)
    assert run(["config", "check"]) == 3
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    section, key = text.split("\n")[0].strip("[]"), text.split("\n")[1].split(" ")[0]
    assert f"{section}.{key}" in said.err


@pytest.mark.parametrize(
    "text",
    [
        "[mqtt]\nhost = 'b'\npassword = 's3cret'",
        "[webhook]\nkey = 's3cret'",
        "[webhook]\nurl = 'https://u:s3cret@example.org/'",
        "[webhook]\nurl = 'http://example.org/s3cret'",
    ],
)
def test_a_secret_in_the_wrong_place_is_not_repeated(
    own_places: Path, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    (own_places / "edgefaced.toml").write_text(text)
    assert run(["config", "check"]) == 3
    said = capsys.readouterr()
    assert "s3cret" not in said.out + said.err
    assert said.err.count("\n") == 1


def test_what_config_show_says_has_no_secret(
    own_places: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    password = private(own_places / "password", "s3cret")
    (own_places / "edgefaced.toml").write_text(
        f"[mqtt]\nhost = 'b'\nusername = 'door'\npassword_file = '{password}'\n"
        "[webhook]\nurl = 'https://example.org:8443/hooks/s3cret?token=s3cret'\n"
    )
    for words in (["config", "show"], ["config", "show", "--json"]):
        assert run(words) == 0
        said = capsys.readouterr()
        assert "s3cret" not in said.out + said.err
        assert "https://example.org:8443/" in said.out


def test_what_the_machine_lacks_is_a_caution_and_no_error(places: Places) -> None:
    hook = settings(webhook={"url": "https://example.org/hook"})
    assert "webhook" in {caution.key for caution in check(hook, places)}


@pytest.mark.parametrize("url", ["https://[::1]:8443/x", "https://[", "s3cret", "//s3cret:x/"])
def test_what_is_shown_of_an_address(url: str) -> None:
    assert shown_url(url).endswith("/…") or shown_url(url) == "…"
    assert "x" not in shown_url(url)


def test_this_host_is_a_level_of_a_topic() -> None:
    Settings.model_validate({"mqtt": {"node": this_node()}})


def test_errors_of_sinks_have_a_code_of_their_own() -> None:
    assert SinkError.exit_code == 15
