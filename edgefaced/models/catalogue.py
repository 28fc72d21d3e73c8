"""Which packs there are: the shipped manifests, then the person's own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from edgefaced.errors import ManifestError, ModelMissing, StorageError
from edgefaced.models.manifest import PackManifest, read_manifest


def shipped_folder() -> Path:
    """Folder of the manifests that travel with the program: in a wheel, or in a checkout."""
    installed = Path(__file__).with_name("packs")
    return installed if installed.is_dir() else Path(__file__).parents[2] / "models"


def catalogue(folders: Sequence[Path] = ()) -> dict[str, PackManifest]:
    """Every pack by name; a shipped one stands before one of the same name in `folders`.

    Raises ManifestError for a file that is not a manifest or not named after its pack.
    """
    files = manifest_files(folders)
    return {name: _read(files[name]) for name in files}


def find_pack(name: str, folders: Sequence[Path] = ()) -> PackManifest:
    """One pack, whatever state the other manifests are in.

    Raises ModelMissing, ManifestError, and StorageError where it may be in a folder that cannot be
    read.
    """
    shipped = manifest_files()
    files = shipped if name in shipped else manifest_files(folders)
    if name not in files:
        raise ModelMissing(f"no model pack {name!r}", f"there are: {', '.join(sorted(files))}")
    return _read(files[name])


def manifest_files(folders: Sequence[Path] = ()) -> dict[str, Path]:
    """File of every pack, none of them opened. Raises StorageError."""
    files: dict[str, Path] = {}
    for folder in (shipped_folder(), *folders):
        for path in files_in(folder, ".toml"):
            files.setdefault(path.stem, path)
    return files


def files_in(folder: Path, suffix: str) -> list[Path]:
    """Files whose names end so, sorted; none where there is no folder.

    Raises StorageError for a folder that cannot be read: it is not taken for an empty one.
    """
    try:
        return sorted(path for path in folder.iterdir() if path.suffix == suffix)
    except FileNotFoundError:
        return []
    except OSError as error:
        raise StorageError(
            f"{folder}: {error.strerror or error}", "it must be a folder that may be read"
        ) from error


def _read(path: Path) -> PackManifest:
    manifest = read_manifest(path)
    if manifest.name != path.stem:
        raise ManifestError(
            f"{path}: name = {manifest.name!r}", f"a pack's file bears its name: {path.stem!r}"
        )
    return manifest
