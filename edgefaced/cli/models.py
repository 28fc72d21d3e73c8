"""`edgefaced models`: which packs there are, getting them, checking them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from edgefaced.cli.context import CliContext, pass_context
from edgefaced.cli.models_report import (
    imported_body,
    imported_line,
    pack_body,
    pack_lines,
    pack_table,
    pulled_body,
    pulled_line,
    terms,
)
from edgefaced.cli.output import json_option, note, plain, print_json, stdout
from edgefaced.cli.transfers import transfers
from edgefaced.models.bring_in import bring_in
from edgefaced.models.catalogue import catalogue, find_pack
from edgefaced.models.fetch.pip_config import pip_config_of_this_process
from edgefaced.models.hand_out import hand_out
from edgefaced.models.manifest import PackManifest
from edgefaced.models.pull import pull
from edgefaced.models.removal import remove
from edgefaced.models.state import installed_packs, outdated
from edgefaced.models.store import ModelStore
from edgefaced.models.verification import verify

if TYPE_CHECKING:
    from edgefaced.models.preparing import Workshop

names_argument = click.argument("names", metavar="[NAME]...", nargs=-1)


@click.group()
def models() -> None:
    """Model packs: what there is, getting it, checking it."""


@models.command("list")
@json_option
@pass_context
def list_packs(context: CliContext, *, as_json: bool) -> None:
    """Every pack: installed or not, its size, and whether it may be used commercially."""
    store = store_of(context)
    packs = list(catalogue((store.layout.packs,)).values())
    configured = context.settings().models.pack
    if as_json:
        bodies = [{**pack_body(p, store), "configured": p.name == configured} for p in packs]
        say_outdated(packs, store)
        print_json({"models_dir": str(store.folder), "packs": bodies})
        return
    stdout.print(pack_table(packs, store, configured))
    for pack in packs:
        if pack.notice:
            stdout.print(plain(f"{pack.name}: {pack.notice}"))
    say_outdated(packs, store)


@models.command()
@click.argument("name")
@json_option
@pass_context
def show(context: CliContext, name: str, *, as_json: bool) -> None:
    """All that is known of one pack: terms, sources, tensors, how it was prepared."""
    store = store_of(context)
    pack = find_pack(name, (store.layout.packs,))
    if as_json:
        manifest = pack.model_dump(mode="json", exclude_none=True)
        print_json({"pack": pack_body(pack, store), "manifest": manifest})
        return
    for line in pack_lines(pack, store):
        stdout.print(plain(line))


@models.command("pull")
@names_argument
@json_option
@pass_context
def pull_packs(context: CliContext, names: tuple[str, ...], *, as_json: bool) -> None:
    """Download, verify and prepare packs; without a NAME, the configured one."""
    store = store_of(context)
    packs = chosen(names or (context.settings().models.pack,), store)
    say_terms(packs)
    with transfers() as progress:
        workshop = workshop_of(context)
        results = pull(packs, store, workshop, pip_config_of_this_process, progress)
    for result in results:
        for file in result.missing_photographs:
            note(f"{result.manifest.name}: the photograph {file} could not be fetched")
    if as_json:
        print_json({"packs": [pulled_body(result) for result in results]})
        return
    for result in results:
        stdout.print(plain(pulled_line(result)))


@models.command("import")
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--pack", help="Only this pack instead of every pack that PATH has files of.")
@json_option
@pass_context
def import_packs(context: CliContext, path: Path, pack: str | None, *, as_json: bool) -> None:
    """Install packs from a folder or an archive, without a network. Files are known by hash.

    Networks that a converter has compiled for a board's NPU come the same way. Exit 1 where no pack
    is complete and nothing compiled was found.
    """
    store = store_of(context)
    with transfers() as progress:
        results = bring_in(path, pack, store, workshop_of(context), progress)
    say_terms(result.manifest for result in results if not result.missing)
    complete = any(result.compiled or not result.missing for result in results)
    if as_json:
        print_json({"packs": [imported_body(result) for result in results]}, ok=complete)
    else:
        for result in results:
            stdout.print(plain(imported_line(result)))
    click.get_current_context().exit(0 if complete else 1)


@models.command("export")
@click.argument("name")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@json_option
@pass_context
def export_pack(context: CliContext, name: str, file: Path, *, as_json: bool) -> None:
    """Write an installed pack into one tar file, for `models import` on another machine.

    What was compiled for boards goes with it.
    """
    store = store_of(context)
    pack = find_pack(name, (store.layout.packs,))
    members = hand_out(pack, store, file)
    if as_json:
        print_json({"name": pack.name, "file": str(file), "members": list(members)})
        return
    stdout.print(plain(f"{pack.name}: {len(members)} files written to {file}"))


@models.command("verify")
@names_argument
@json_option
@pass_context
def verify_packs(context: CliContext, names: tuple[str, ...], *, as_json: bool) -> None:
    """Hash every file of packs; without a NAME, of the installed and the configured ones.

    Exit 1 where something is missing or damaged.
    """
    store = store_of(context)
    usual = installed_packs(store.layout) | {context.settings().models.pack}
    packs = chosen(names or sorted(usual), store)
    results = {pack.name: verify(pack, store) for pack in packs}
    faulty = [name for name, result in results.items() if result.faults]
    if as_json:
        bodies = [
            {"name": name, "files": result.files, "faults": list(result.faults)}
            for name, result in results.items()
        ]
        print_json({"packs": bodies}, ok=not faulty)
    else:
        for name, result in results.items():
            for fault in result.faults:
                stdout.print(plain(f"{name}: {fault}"))
            if not result.faults:
                stdout.print(plain(f"{name}: {result.files} files are as they should be"))
        for name in faulty:
            note(f"to repair: edgefaced models pull {name}")
    say_outdated((pack for pack in packs if pack.name not in faulty), store)
    click.get_current_context().exit(1 if faulty else 0)


@models.command("remove")
@click.argument("name")
@json_option
@pass_context
def remove_pack(context: CliContext, name: str, *, as_json: bool) -> None:
    """Delete a pack's files, but those that another installed pack uses."""
    store = store_of(context)
    pack = find_pack(name, (store.layout.packs,))
    with transfers() as progress:
        removed = remove(pack, store, progress)
    if as_json:
        print_json({"name": name, "deleted": list(removed.deleted), "shared": list(removed.shared)})
        return
    stays = f"; other packs use {', '.join(removed.shared)}" if removed.shared else ""
    stdout.print(plain(f"{name}: removed, {len(removed.deleted)} files deleted{stays}"))


def store_of(context: CliContext) -> ModelStore:
    return ModelStore(context.places.models_dir)


def chosen(names: Iterable[str], store: ModelStore) -> list[PackManifest]:
    """The packs of these names, each once."""
    return [find_pack(name, (store.layout.packs,)) for name in dict.fromkeys(names)]


def say_outdated(packs: Iterable[PackManifest], store: ModelStore) -> None:
    """On stderr: what works, and would work better prepared again."""
    for pack in packs:
        if line := outdated(pack, store):
            note(line)


def say_terms(packs: Iterable[PackManifest]) -> None:
    """On stderr, so that they are read also where stdout is a document for a program."""
    for pack in packs:
        for line in terms(pack):
            note(line)


def workshop_of(context: CliContext) -> Workshop:
    """How networks are prepared on this machine; onnxruntime is loaded here, not before."""
    from edgefaced.inference.threads import default_threads
    from edgefaced.models.prepare import prepare_model
    from edgefaced.models.preparing import Workshop
    from edgefaced.models.runtime import runtime_of_this_process

    threads = context.settings().inference.threads or default_threads()
    return Workshop(prepare_model, runtime_of_this_process(), threads)
