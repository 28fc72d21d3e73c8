"""Models and photographs of the demo: are they here, what would it take, and getting them."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from edgefaced.demo.pictures import Album
from edgefaced.errors import DownloadError
from edgefaced.models.fetch.pip_config import PipConfig
from edgefaced.models.manifest import ModelSpec, PackManifest, PictureSpec
from edgefaced.models.preparing import Workshop
from edgefaced.models.progress import Progress
from edgefaced.models.pull import is_here, pull
from edgefaced.models.state import PackState, pack_state
from edgefaced.models.store import ModelStore

WAY_OUT = (
    "the demo needs the package index once, by pip's own configuration; "
    "without a network, a folder with the source distributions in PIP_FIND_LINKS will do"
)


def is_installed(manifest: PackManifest, album: Album, store: ModelStore) -> bool:
    """Can the demo run without a network?"""
    ready = pack_state(manifest, store) is PackState.INSTALLED
    return ready and not any(_is_missing(spec, store) for spec in album.files)


def missing_bytes(manifest: PackManifest, album: Album, store: ModelStore) -> int:
    """What a download would take: each archive once, from everybody's first source."""
    archives: dict[str, int] = {}
    wanted: Iterable[ModelSpec | PictureSpec] = (
        *manifest.model,
        *with_album(manifest, album).proof,
    )
    for spec in wanted:
        if _is_missing(spec, store):
            source = spec.source[0]
            archives[source.sha256 or spec.sha256] = source.size_bytes or spec.size_bytes
    return sum(archives.values())


def install(
    manifest: PackManifest,
    album: Album,
    store: ModelStore,
    workshop: Workshop,
    pip_config: Callable[[], PipConfig],
    progress: Progress,
) -> None:
    """Pulls the pack and the photographs. Raises what `pull` raises."""
    try:
        pull([with_album(manifest, album)], store, workshop, pip_config, progress)
    except DownloadError as error:
        raise DownloadError(error.message, WAY_OUT) from error
    absent = [spec.file for spec in album.files if _is_missing(spec, store)]
    if absent:
        raise DownloadError(f"no source had {', '.join(absent)} of the photographs", WAY_OUT)


def with_album(manifest: PackManifest, album: Album) -> PackManifest:
    """The pack with the album's files among its photographs: one pull brings both.

    They share archives, each of which is then fetched once.
    """
    held = {spec.sha256 for spec in manifest.proof}
    more = tuple(spec for spec in album.files if spec.sha256 not in held)
    return manifest.model_copy(update={"proof": (*manifest.proof, *more)})


def _is_missing(spec: ModelSpec | PictureSpec, store: ModelStore) -> bool:
    layout = store.layout
    place = layout.original(spec) if isinstance(spec, ModelSpec) else layout.photograph(spec)
    return not is_here(spec, place)
