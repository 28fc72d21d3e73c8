"""What a run leaves behind: a video, a contact sheet and the credits, in one folder."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from edgefaced.demo.drawing import captioned, drawn
from edgefaced.demo.player import Scored
from edgefaced.demo.results import SceneResult
from edgefaced.demo.script import FRAMES_PER_SECOND, SCENES, Scene
from edgefaced.demo.sheet import CELL_WIDTH_PX, Row, contact_sheet
from edgefaced.demo.studio import shots_of
from edgefaced.errors import StorageError
from edgefaced.pictures.video import VideoWriter
from edgefaced.pictures.write import write_picture
from edgefaced.types import U8

SHEET_FILE, VIDEO_FILE, CREDITS_FILE = "contact-sheet.jpg", "camera.mp4", "CREDITS.md"
VIDEO_WIDTH_PX, VIDEO_HEIGHT_PX = 960, 540


def open_folder(folder: Path) -> Path:
    """The folder as an absolute path, made and proven writable. Raises StorageError."""
    absolute = folder.absolute()
    trial = absolute / f".{os.getpid()}.trial"
    try:
        absolute.mkdir(parents=True, exist_ok=True)
        trial.touch()
        trial.unlink()
    except OSError as error:
        raise StorageError(
            f"cannot write to {absolute}: {error.strerror or error}",
            "name another folder with --output",
        ) from error
    return absolute


@dataclass(frozen=True, slots=True)
class Kept:
    """The files of a run, as absolute paths."""

    contact_sheet: Path
    video: Path
    credits: Path


class Recording:
    """Draws every shot into a video and some into a contact sheet."""

    def __init__(self, folder: Path, *, stride: int) -> None:
        """Raises StorageError."""
        self._folder = folder
        self._pictures: dict[str, list[U8]] = {scene.name: [] for scene in SCENES}
        self._wanted = {scene.name: moments_of(scene, stride) for scene in SCENES}
        self._video = VideoWriter(
            folder / VIDEO_FILE,
            width=VIDEO_WIDTH_PX,
            height=VIDEO_HEIGHT_PX,
            frames_per_second=FRAMES_PER_SECOND / stride,
        )

    def add(self, scored: Scored) -> None:
        self._video.write(captioned(drawn(scored, VIDEO_WIDTH_PX), scored))
        scene = scored.shot.scene.name
        if scored.shot.index in self._wanted[scene]:
            self._pictures[scene].append(drawn(scored, CELL_WIDTH_PX))

    def finish(
        self, results: Sequence[SceneResult], title: str, lines: Sequence[str], credits_text: str
    ) -> Kept:
        """Closes the video and writes the rest. Raises StorageError."""
        self._video.close()
        sheet, credits_file = self._folder / SHEET_FILE, self._folder / CREDITS_FILE
        rows = [Row(result, self._pictures[result.scene.name]) for result in results]
        write_picture(sheet, contact_sheet(rows, title, lines))
        try:
            credits_file.write_text(credits_text, encoding="utf-8")
        except OSError as error:
            raise StorageError(f"{credits_file}: {error.strerror or error}") from error
        return Kept(sheet, self._video.path, credits_file)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._video.__exit__(kind, error, traceback)


def moments_of(scene: Scene, stride: int) -> frozenset[int]:
    """Indices of the shots that the contact sheet shows."""
    last = shots_of(scene, stride) - 1
    return frozenset(round(moment * last) for moment in scene.moments)
