"""Which networks, under which terms, and where they come from."""

from __future__ import annotations

from pathlib import Path

from edgefaced.errors import UsageError
from edgefaced.models.manifest import PackManifest
from edgefaced.setup.answers import Source
from edgefaced.setup.asking import Asker, Choice, Question
from edgefaced.setup.here import Here
from edgefaced.setup.wishes import Standing, Wishes, choice

FOR_PRODUCTS = "commercial"
"""What is proposed where nothing stands: allowed everywhere."""

PACK = Question("Which model pack?", "the networks that find and recognise faces", "--pack")
SOURCE = Question(
    "Where do its networks come from?",
    "the network, or a folder, archive or USB stick: type its path",
    "--from",
)


def ask_pack(
    asker: Asker, wishes: Wishes, standing: Standing, here: Here
) -> tuple[str, Source | Path]:
    """A pack whose terms were agreed to, and its source. Raises UsageError."""
    stands = standing.settings.models.pack if standing.says("models", "pack") else None
    wished = wishes.pack
    while True:
        if wished is None and not asker.present:
            wished = stands or FOR_PRODUCTS
        choices = [Choice(pack.name, _in_short(pack.manifest)) for pack in here.packs]
        # Those that may go into a product first.
        choices.sort(key=lambda c: c.name != FOR_PRODUCTS)
        default, only = stands or FOR_PRODUCTS, wishes.source is None
        name = choice(asker, PACK, wished, choices, default, closed=only)
        known = here.pack(name)
        if known is None:
            _accept_unseen(name, wishes, here)
            return name, wishes.source or Source.NETWORK
        agreed = known.ready and name == stands
        if agreed or known.manifest.commercial_use or name in wishes.accepted:
            break
        if _agrees(asker, known.manifest):
            break
        if not asker.present:
            raise UsageError(
                f"{name} may not be used commercially: {'; '.join(terms(known.manifest))}",
                f"--accept-licence {name} where you keep to that, or --pack {FOR_PRODUCTS}",
            )
        wished = None
    return name, _source(asker, wishes, ready=known.ready)


def terms(manifest: PackManifest) -> list[str]:
    """The licence of each network, and the maker's own word."""
    lines = [f"{spec.id}: {spec.licence}" for spec in manifest.model]
    return [*lines, manifest.notice] if manifest.notice else lines


def _accept_unseen(name: str, wishes: Wishes, here: Here) -> None:
    """A pack of somebody's own, which comes with its manifest."""
    if wishes.source is None:
        names = ", ".join(pack.name for pack in here.packs)
        raise UsageError(f"no model pack {name!r}", f"there are: {names}; --from brings others")
    if name not in wishes.accepted:
        raise UsageError(
            f"the licence of {name} is not known here",
            f"read it, then say --accept-licence {name}",
        )


def _in_short(manifest: PackManifest) -> str:
    allowed = "may be used in products" if manifest.commercial_use else "NOT for commercial use"
    return f"{manifest.summary}; {allowed}"


def _agrees(asker: Asker, manifest: PackManifest) -> bool:
    for line in terms(manifest):
        asker.say(line)
    return asker.agree(
        Question(
            f"Do you keep to this licence of {manifest.name}?",
            "it does not allow commercial use",
            f"--accept-licence {manifest.name}",
        ),
        default=False,
    )


def _source(asker: Asker, wishes: Wishes, *, ready: bool) -> Source | Path:
    if wishes.source is not None:
        return wishes.source
    if ready:
        return Source.HERE
    if wishes.no_pull:
        return Source.LATER
    return _from(asker, Source.NETWORK)


def ask_again(asker: Asker) -> Source | Path:
    """After a source has failed."""
    return _from(asker, None)


def _from(asker: Asker, default: Source | None) -> Source | Path:
    choices = (
        Choice(Source.NETWORK, "downloaded from the package index, some 20 MB"),
        Choice(Source.LATER, "not now: nobody is recognised before they are here"),
    )
    answer = asker.choose(SOURCE, choices, default)
    return Source(answer) if answer in set(Source) else Path(answer).expanduser()
