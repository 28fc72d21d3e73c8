"""A process that works on a gallery until it is killed; forks one worker for each line it is told.

Line in:  {"folder": …, "fifo": …, "seed": …, "people": {name: [seed, …]}}
The worker writes each operation to the fifo before it begins and "done" after it was committed.
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from nursery import fork_for_each_line

from edgefaced.gallery.records import NewTemplate
from edgefaced.gallery.rekey import rotate_key
from edgefaced.gallery.store import Gallery
from edgefaced.types import F32, Embedding

MODEL, DIMENSION = "sface", 128
MOST_PEOPLE = 24


def vector(seed: int) -> F32:
    numbers = np.random.default_rng(seed).standard_normal(DIMENSION)
    unit: F32 = (numbers / np.linalg.norm(numbers)).astype(np.float32)
    return unit


def templates(seeds: list[int]) -> list[NewTemplate]:
    # Some with a picture, of a few pages, so that a transaction is larger than a page.
    return [
        NewTemplate(
            Embedding(vector(s), MODEL), bytes(s % 256 for _ in range(20_000)) if s % 3 else None
        )
        for s in seeds
    ]


def operations(people: dict[str, list[int]], rng: random.Random) -> Iterator[dict[str, Any]]:
    """Endless operations that are possible in the state of the moment, which they change."""
    while True:
        kind = rng.choices(["enrol", "extend", "rename", "remove", "rotate"], [40, 15, 20, 20, 5])[
            0
        ]
        number = rng.randrange(10**9)
        seeds = [number + n for n in range(rng.randint(1, 4))]
        name = rng.choice(sorted(people)) if people else ""
        if kind == "enrol" and len(people) < MOST_PEOPLE:
            yield {"kind": kind, "name": f"N{number}", "seeds": seeds}
        elif kind == "extend" and people:
            yield {"kind": kind, "name": name, "seeds": seeds}
        elif kind == "rename" and people:
            yield {"kind": kind, "name": name, "new": f"R{number}"}
        elif kind == "remove" and people:
            names = rng.sample(sorted(people), rng.randint(1, min(3, len(people))))
            yield {"kind": kind, "names": names}
        elif kind == "rotate":
            yield {"kind": kind}


def applied(people: dict[str, list[int]], operation: dict[str, Any]) -> dict[str, list[int]]:
    """The state after an operation."""
    after = {name: list(seeds) for name, seeds in people.items()}
    match operation["kind"]:
        case "enrol":
            after[operation["name"]] = operation["seeds"]
        case "extend":
            after[operation["name"]] += operation["seeds"]
        case "rename":
            after[operation["new"]] = after.pop(operation["name"])
        case "remove":
            for name in operation["names"]:
                del after[name]
    return after


def carry_out(gallery: Gallery, operation: dict[str, Any]) -> None:
    match operation["kind"]:
        case "enrol":
            gallery.enrol(operation["name"], templates(operation["seeds"]), consent="agreed")
        case "extend":
            gallery.enrol(operation["name"], templates(operation["seeds"]), extend=True)
        case "rename":
            person_id = gallery.id_of(operation["name"])
            assert person_id is not None
            gallery.rename(person_id, operation["new"])
        case "remove":
            ids = [gallery.id_of(name) for name in operation["names"]]
            gallery.remove(*(i for i in ids if i is not None))
        case "rotate":
            rotate_key(gallery)


def work(order: dict[str, Any]) -> None:
    fifo = os.open(order["fifo"], os.O_WRONLY)
    folder = Path(order["folder"])
    rng = random.Random(order["seed"])
    people: dict[str, list[int]] = order["people"]

    def say(what: object) -> None:
        os.write(fifo, json.dumps(what).encode() + b"\n")

    say("opening")
    with Gallery.open(folder / "gallery.db", folder / "gallery.key", create=True) as gallery:
        say("opened")
        for operation in operations(people, rng):
            say(operation)
            carry_out(gallery, operation)
            say("done")
            changed = applied(people, operation)
            people.clear()
            people.update(changed)


if __name__ == "__main__":
    fork_for_each_line(work)
