"""The documents say what the program does: commands, options, exit codes and configuration keys."""

from __future__ import annotations

import re
import shlex
import tomllib
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from edgefaced import errors
from edgefaced.cli.main import cli
from edgefaced.config.settings import Settings

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()
DOCUMENTS = [
    "README.md",
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "models/README.md",
    "systemd/README.md",
]
DOCUMENTS += [f"deploy/{guide.name}" for guide in sorted(ROOT.glob("deploy/*.md"))]


def commands(
    command: click.Command, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Every command that does something, with the words that call it."""
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            sub = command.get_command(context, name)
            assert sub is not None
            yield from commands(sub, (*path, name))
    else:
        yield path, command


COMMANDS = dict(commands(cli))


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_every_command_is_in_the_readme(path: tuple[str, ...]) -> None:
    assert re.search(rf"`edgefaced {re.escape(' '.join(path))}\b", README)


def code_blocks(text: str) -> str:
    return "\n".join(re.findall(r"^```(?:console|sh)\n(.*?)^```", text, re.MULTILINE | re.DOTALL))


def invocations() -> list[str]:
    """Every call of edgefaced in the README's code blocks, without the shell around it."""
    lines = code_blocks(README).replace("\\\n", " ").splitlines()
    found = []
    for line in lines:
        for part in re.split(r"&&|\||;", line.removeprefix("$ ").split(" #")[0]):
            words = part.strip()
            if re.match(r"(sudo )?(\S*/)?edgefaced( |$)", words):
                found.append(words)
    return found


def test_the_readme_shows_how_to_call() -> None:
    assert len(invocations()) >= 8


@pytest.mark.parametrize("line", invocations())
def test_every_call_in_the_readme_is_understood(line: str) -> None:
    words = shlex.split(line.removeprefix("sudo "))[1:]
    command: click.Command = cli
    context = click.Context(cli, info_name="edgefaced")
    while isinstance(command, click.Group) and words:
        if words[0].startswith("-"):  # an option of the group itself
            assert any(words[0] in p.opts for p in command.params), words[0]
            takes_value = next(p for p in command.params if words[0] in p.opts)
            words = words[1:] if getattr(takes_value, "is_flag", False) else words[2:]
            continue
        sub = command.get_command(context, words[0])
        assert sub is not None, f"no command {words[0]!r}"
        command, words = sub, words[1:]
    for word in words:
        if word.startswith("--"):
            name = word.split("=")[0]
            known = {opt for p in command.params for opt in (*p.opts, *p.secondary_opts)}
            assert name in known | {"--help"}, f"{command.name} has no {name}"


def error_classes(kind: type[errors.EdgefacedError]) -> Iterator[type[errors.EdgefacedError]]:
    """All below `kind`; the converter beside us, whose tests may be loaded too, has its own."""
    for sub in kind.__subclasses__():
        if sub.__module__.startswith("edgefaced."):
            yield sub
            yield from error_classes(sub)


def test_the_readme_names_every_exit_code() -> None:
    rows = dict(re.findall(r"^\| (\d+) \| (.+?) \|$", README, re.MULTILINE))
    used = {str(c.exit_code) for c in error_classes(errors.EdgefacedError)} | {"0", "130"}
    assert used <= set(rows)


def test_the_error_tree_in_the_docstring_is_the_real_one() -> None:
    drawn = set(re.findall(r"\|- (\w+)", errors.__doc__ or ""))
    assert drawn == {c.__name__ for c in error_classes(errors.EdgefacedError)}


def test_the_sample_configuration_has_every_key_with_its_default() -> None:
    text = (ROOT / "deploy" / "edgefaced.toml").read_text()
    uncommented = re.sub(r"^# (\w+ = )", r"\1", text, flags=re.MULTILINE)
    sample = tomllib.loads(uncommented)
    shipped = Settings.model_validate(tomllib.loads(text))
    assert shipped == Settings(), "as shipped it changes nothing"
    Settings.model_validate(sample)
    for section, keys in Settings().model_dump(mode="json").items():
        assert list(sample[section]) == list(keys)
        for key, default in keys.items():
            if default is not None:
                assert sample[section][key] == default, f"{section}.{key}"


@pytest.mark.parametrize("name", DOCUMENTS)
def test_links_between_documents_lead_somewhere(name: str) -> None:
    document = ROOT / name
    for target in re.findall(r"\]\(([^)#\s]+)", document.read_text()):
        if "://" not in target:
            assert (document.parent / target).exists(), target


@pytest.mark.parametrize("name", DOCUMENTS)
def test_files_named_in_documents_exist(name: str) -> None:
    text = (ROOT / name).read_text()
    for target in re.findall(r"`((?:edgefaced|tests|deploy|systemd)/[\w./-]+)`", text):
        assert (ROOT / target).exists(), target
