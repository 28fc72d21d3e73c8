"""LFW's View 2: `pairs.txt`, ten folds of 300 genuine and 300 impostor pairs.

First line: folds and pairs of either kind a fold. Then for each fold its genuine pairs
(NAME, number, number) and its impostor pairs (NAME, number, NAME, number), fields by tabs.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from edgefaced.errors import PictureError, UsageError
from edgefaced.evaluation.people import Pictures, people_root

PAIRS_FILE = "pairs.txt"
DIGITS = 4


@dataclass(frozen=True, slots=True)
class Pair:
    """Two pictures (indices), and whether they show one person."""

    first: int
    second: int
    same: bool
    fold: int


@dataclass(frozen=True, slots=True)
class PairList:
    """The pictures that the pairs name, and the pairs."""

    pictures: Pictures
    pairs: tuple[Pair, ...]


def read_pairs(folder: Path) -> PairList:
    """Pairs and pictures of a folder with `pairs.txt` and `NAME/NAME_0001.jpg`.

    Raises UsageError for an absent or wrong pairs.txt and PictureError for absent pictures.
    """
    root = people_root(folder)
    file = folder / PAIRS_FILE
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        raise UsageError(
            f"{folder} has no {PAIRS_FILE}", "`edgefaced evaluate folder` needs none"
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{file}: {error}", "it is a text file") from error
    folds, per_kind = _header(file, lines)
    wanted = folds * per_kind * 2
    body = lines[1:]
    while body and not body[-1].strip():
        body.pop()
    if len(body) != wanted:
        raise UsageError(
            f"{file}: {len(body)} pairs after the first line",
            f"{folds} folds of twice {per_kind} pairs are {wanted}",
        )
    index: dict[tuple[str, int], int] = {}
    pairs: list[Pair] = []
    for at, line in enumerate(body):
        fold, place = divmod(at, 2 * per_kind)
        same = place < per_kind
        one, other = _pair(f"{file}, line {at + 2}", line, same=same)
        first, second = (index.setdefault(picture, len(index)) for picture in (one, other))
        pairs.append(Pair(first, second, same, fold))
    return PairList(_located(root, list(index)), tuple(pairs))


def _header(file: Path, lines: list[str]) -> tuple[int, int]:
    fields = lines[0].split() if lines else []
    if len(fields) != 2 or not all(f.isdecimal() and int(f) > 0 for f in fields):
        raise UsageError(
            f"{file}, line 1: {lines[0] if lines else ''!r}",
            "folds and pairs of either kind a fold, as in LFW: 10 and 300",
        )
    folds, per_kind = int(fields[0]), int(fields[1])
    if folds < 2:
        raise UsageError(f"{file}, line 1: {folds} folds", "a threshold needs another fold")
    return folds, per_kind


def _pair(where: str, line: str, *, same: bool) -> tuple[tuple[str, int], tuple[str, int]]:
    fields = line.split("\t") if "\t" in line else line.split()
    wanted = 3 if same else 4
    numbers = fields[1:] if same else fields[1::2]
    names = fields[:1] if same else fields[::2]
    sound = len(fields) == wanted and all(n.isdecimal() for n in numbers)
    # A name is one folder's name: it never leads out of the folder.
    if not sound or any(not n or n in {".", ".."} or "/" in n or "\0" in n for n in names):
        kind = "NAME, number, number" if same else "NAME, number, NAME, number"
        raise UsageError(f"{where}: {line!r}", f"here a line is {kind}")
    if same:
        return (fields[0], int(fields[1])), (fields[0], int(fields[2]))
    return (fields[0], int(fields[1])), (fields[2], int(fields[3]))


def _located(root: Path, named: list[tuple[str, int]]) -> Pictures:
    paths = [root / name / f"{name}_{number:0{DIGITS}d}.jpg" for name, number in named]
    missing = [path for path in paths if not path.is_file()]
    if missing:
        raise PictureError(
            f"{len(missing)} of {len(paths)} pictures that {PAIRS_FILE} names are missing: "
            f"{missing[0]}",
            "unpack the pictures as NAME/NAME_0001.jpg",
        )
    names = {name: number for number, name in enumerate(sorted({name for name, _ in named}))}
    return Pictures(tuple(paths), tuple(names[name] for name, _ in named), tuple(names))
