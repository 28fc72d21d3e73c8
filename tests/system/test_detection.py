"""The shipped detectors at their shipped thresholds, on real pictures with known faces."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from edgefaced.cli.main import run
from edgefaced.errors import DownloadError
from edgefaced.models.catalogue import find_pack
from edgefaced.models.state import installed_packs
from edgefaced.models.store import ModelStore
from edgefaced.pictures.decode import frame_of, read_picture
from edgefaced.recognition.recogniser import open_recogniser
from edgefaced.types import Box, FaceDetection

pytestmark = pytest.mark.slow

PACKS = ("mobilefacenet", "reference", "commercial")
DOGS = {"dlib_dog.jpg", "dlib_dogs.jpg"}
"""Faces, though not of people: all three detectors take one of them for one somewhere."""

Detected = dict[str, list[FaceDetection]]
Detect = Callable[[str, int, Iterable[Path]], Detected]


@pytest.fixture(scope="session")
def models_dir(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A models folder with the packs, those that could be got."""
    folder = tmp_path_factory.mktemp("detectors")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EDGEFACED_MODELS_DIR", str(folder))
        wanted = ["models", "import", str(shared_data / "models"), "--pack", "mobilefacenet"]
        assert run([*wanted, "--json"]) == 0
        pulled = run(["models", "pull", "reference", "commercial", "--json"])
    assert pulled in {0, DownloadError.exit_code}
    return folder


@pytest.fixture
def detect(models_dir: Path) -> Detect:
    """Faces of pictures by their names, with a pack's detector as it is shipped."""

    def faces(pack: str, size: int, pictures: Iterable[Path]) -> Detected:
        manifest, store = find_pack(pack), ModelStore(models_dir)
        if pack not in installed_packs(store.layout):
            pytest.skip(f"{pack} is not here and no package index is")
        with open_recogniser(store, manifest, detector_size=size, threads=1) as recogniser:
            return {p.name: recogniser.detect(frame_of(read_picture(p))) for p in pictures}

    return faces


def overlap(one: Box, other: Box) -> float:
    """Intersection over union."""
    width = min(one.right, other.right) - max(one.left, other.left)
    height = min(one.bottom, other.bottom) - max(one.top, other.top)
    both = max(width, 0.0) * max(height, 0.0)
    return both / (one.area + other.area - both)


def labelled(folder: Path) -> dict[str, list[Box]]:
    """The boxes that dlib's files give its pictures."""
    truth: dict[str, list[Box]] = {}
    for name in ("training.xml", "testing.xml"):
        for image in ET.parse(folder / name).iter("image"):  # noqa: S314 - pinned by its hash
            sides = [
                [int(box.attrib[key]) for key in ("left", "top", "width", "height")]
                for box in image.iter("box")
            ]
            truth[image.attrib["file"]] = [Box(x, y, x + w, y + h) for x, y, w, h in sides]
    return truth


def hits(found: list[FaceDetection], truth: list[Box]) -> int:
    """Labelled faces that a detection of their own covers by half or more, best score first."""
    free = list(truth)
    for face in sorted(found, key=lambda face: -face.score):
        best = max(free, key=lambda box: overlap(face.box, box), default=None)
        if best is not None and overlap(face.box, best) >= 0.5:
            free.remove(best)
    return len(truth) - len(free)


@pytest.mark.parametrize("pack", PACKS)
def test_every_labelled_face_is_found_at_320(detect: Detect, shared_data: Path, pack: str) -> None:
    folder = shared_data / "detect" / "dlib"
    truth = labelled(folder)
    found = detect(pack, 320, [folder / name for name in truth])
    right = sum(hits(found[name], truth[name]) for name in truth)
    assert right == sum(map(len, truth.values()))
    assert right / sum(map(len, found.values())) >= 0.97


@pytest.mark.parametrize("pack", PACKS)
@pytest.mark.parametrize("size", [320, 640])
def test_where_nobody_is_nobody_is_found(
    detect: Detect, shared_data: Path, pack: str, size: int
) -> None:
    found = detect(pack, size, sorted((shared_data / "detect" / "negative").iterdir()))
    assert len(found) >= 13
    assert {name for name, faces in found.items() if faces} <= DOGS


def test_faces_are_counted_at_640(detect: Detect, shared_data: Path) -> None:
    folder = shared_data / "detect"
    counts = json.loads((folder / "counts.json").read_text("utf-8"))
    counted = {
        folder / name: entry["faces"]
        for name, entry in counts.items()
        if not name.startswith(("_", "negative/")) and (folder / name).is_file() and entry["faces"]
    }
    assert len(counted) >= 16
    found = detect("mobilefacenet", 640, counted)
    assert {name: len(faces) for name, faces in found.items()} == {
        path.name: count for path, count in counted.items()
    }


@pytest.mark.parametrize("pack", PACKS)
def test_the_solvay_conference_had_29_guests(detect: Detect, shared_data: Path, pack: str) -> None:
    picture = shared_data / "detect" / "solvay_conference_1927.png"
    assert len(detect(pack, 640, [picture])[picture.name]) == 29
