"""Pictures of events: none, unless somebody writes down of what."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from edgefaced.config.section import Section

Occasion = Literal["known", "unknown", "spoof", "too-poor", "granted", "refused", "duress"]


class PicturesSection(Section):
    """Which events have a picture, and for how long. They are encrypted with the gallery's key."""

    of: tuple[Occasion, ...] = ()
    """Decisions about a face, and of a door about somebody. Empty: no picture is made."""
    what: Literal["face", "frame"] = "face"
    """The face alone, or all that the camera saw, which may show other people."""
    longest_side_px: Annotated[int, Field(ge=64, le=1280)] = 256
    jpeg_quality: Annotated[int, Field(ge=30, le=95)] = 80
    keep_days: Annotated[float, Field(gt=0, le=366)] = 7.0
    """No picture is kept for ever."""
    keep_pictures: Annotated[int, Field(ge=1, le=10_000)] = 500
    maximum_megabytes: Annotated[int, Field(ge=1, le=4096)] = 64
