"""Networks for `edgefaced setup`: downloaded, or from a folder, an archive or a stick."""

from __future__ import annotations

from pathlib import Path

from edgefaced.cli.context import CliContext
from edgefaced.cli.output import complain
from edgefaced.errors import (
    DependencyMissing,
    DownloadError,
    ModelError,
    ModelMissing,
    StorageError,
)
from edgefaced.setup.answers import Answers, Source
from edgefaced.setup.asking import Asker

OFFLINE = "no network here? --from PATH takes a folder, archive or stick; --no-pull goes on without"


def bring(context: CliContext, asker: Asker, answers: Answers) -> Source | Path:
    """The networks, if they come now; from where in the end.

    Raises what kept them away where nobody can be asked again.
    """
    from edgefaced.setup.questions_pack import ask_again

    source = answers.source
    while source not in (Source.HERE, Source.LATER):
        try:
            _fetch(context, answers.pack, source)
        except (ModelError, DependencyMissing, StorageError) as error:
            if not asker.present and isinstance(error, DownloadError):
                raise DownloadError(error.message, OFFLINE) from error
            if not asker.present:
                raise
            complain(str(error))
            source = ask_again(asker)
        else:
            break
    return source


def _fetch(context: CliContext, name: str, source: Source | Path) -> None:
    """Raises ModelError, DependencyMissing or StorageError."""
    from edgefaced.cli.models import say_terms, store_of, workshop_of
    from edgefaced.cli.transfers import transfers
    from edgefaced.models.bring_in import bring_in
    from edgefaced.models.catalogue import find_pack
    from edgefaced.models.fetch.pip_config import pip_config_of_this_process
    from edgefaced.models.pull import pull
    from edgefaced.models.state import PackState, pack_state

    store = store_of(context)
    with transfers() as progress:
        if source == Source.NETWORK:
            pack = find_pack(name, (store.layout.packs,))
            say_terms([pack])
            pull([pack], store, workshop_of(context), pip_config_of_this_process, progress)
        else:
            bring_in(Path(source), name, store, workshop_of(context), progress)
            pack = find_pack(name, (store.layout.packs,))
            say_terms([pack])
    if (state := pack_state(pack, store)) is not PackState.INSTALLED:
        raise ModelMissing(f"{name} is {state}: {source} lacks a network of it")
