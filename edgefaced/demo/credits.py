"""Whose photographs the demo shows, and what was done to them: the licences ask for both."""

from __future__ import annotations

from edgefaced.demo.pictures import Album
from edgefaced.models.store import ModelStore

CHANGES = (
    "The people were cut out of their photographs, scaled, turned, blurred, darkened and put into "
    "a drawn hall; boxes and names were drawn on the result."
)


def credit_lines(album: Album) -> tuple[str, ...]:
    """One line for every photograph."""
    return tuple(spec.credit for spec in album.photographs)


def credits_page(album: Album, store: ModelStore) -> str:
    """The Markdown file beside the pictures: our list, then what came with the photographs."""
    listed = "\n".join(f"- {line}" for line in credit_lines(album))
    collected = (store.photograph(album.credits) or b"").decode()
    return (
        "# Credits of this contact sheet and video\n\n"
        f"Made by `edgefaced demo` from:\n\n{listed}\n\n{CHANGES} The licences of the photographs "
        "bind whoever passes these files on.\n\n"
        f"What their collector wrote follows unchanged.\n\n---\n\n{collected}"
    )
