"""What notices a person besides the camera itself."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from edgefaced.config.section import Section


class PresenceSection(Section):
    """A motion sensor at a GPIO line: with it, whoever comes is looked for at once."""

    motion_chip: Annotated[str, Field(min_length=1)] | None = None
    """Label or path of the GPIO chip; absent: there is no motion sensor."""
    motion_line: Annotated[str, Field(min_length=1)] | None = None
    """Name of the line, or its offset where the chip names none."""
    motion_active_low: bool = False
    """Whether a low voltage means motion."""
    motion_chip_kind: Literal["gpiochip", "file"] = "gpiochip"
    """"file": `motion_chip` is a folder with one small file a line, for trying out."""

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        if (self.motion_chip is None) is not (self.motion_line is None):
            raise ValueError("motion_chip and motion_line belong together")
        return self
