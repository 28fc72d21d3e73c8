"""Another process on the same gallery: does what it is told on stdin, a JSON line each way."""

from __future__ import annotations

import json
import resource
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from edgefaced.errors import EdgefacedError
from edgefaced.gallery.index import LiveIndex, open_index
from edgefaced.gallery.records import NewTemplate
from edgefaced.gallery.store import Gallery
from edgefaced.types import Embedding

MODEL, DIMENSION = "sface", 128


def embedding(seed: int) -> Embedding:
    numbers = np.random.default_rng(seed).standard_normal(DIMENSION)
    return Embedding((numbers / np.linalg.norm(numbers)).astype(np.float32), MODEL)


class Peer:
    """One open gallery and its index."""

    def __init__(self) -> None:
        self.stack = ExitStack()
        self.gallery: Gallery | None = None
        self.index: LiveIndex | None = None

    def answer(self, order: dict[str, Any]) -> Any:
        match order["do"]:
            case "open":
                self.stack.close()
                folder = Path(order["folder"])
                opened = Gallery.open(folder / "gallery.db", folder / "gallery.key", create=True)
                self.gallery = self.stack.enter_context(opened)
                return None
            case "index":
                assert self.gallery is not None
                self.index = open_index(self.gallery, MODEL, order["kind"])
                return self.index.size
            case "refresh":
                assert self.index is not None
                changed = self.index.refresh()
                return [changed, self.index.size]
            case "search":
                assert self.index is not None
                match = self.index.search(embedding(order["seed"]))
                return None if match is None else [match.best.person_id, match.best.score]
            case "enrol":
                assert self.gallery is not None
                picture = bytes(order.get("picture_bytes", 0)) or None
                new = [NewTemplate(embedding(seed), picture) for seed in order["seeds"]]
                return self.gallery.enrol(order["name"], new).id
            case "remove":
                assert self.gallery is not None
                return self.gallery.remove(order["id"]).scrubbed
            case "hold":  # a read transaction that stays open, as a process that was stopped has it
                assert self.gallery is not None
                db = self.gallery.database.connection
                db.execute("BEGIN")
                return db.execute("SELECT count(*) FROM people").fetchone()[0]
            case "release":
                assert self.gallery is not None
                self.gallery.database.connection.execute("COMMIT")
                return None
            case "limit":  # no file of this process may grow beyond it
                _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
                resource.setrlimit(resource.RLIMIT_FSIZE, (order["bytes"], hard))
                return None
            case "close":
                self.stack.close()
                return None
        raise ValueError(order)


def main() -> None:
    peer = Peer()
    with peer.stack:
        for line in sys.stdin:
            try:
                reply = {"answer": peer.answer(json.loads(line))}
            except EdgefacedError as error:
                reply = {"error": error.code}
            sys.stdout.write(json.dumps(reply) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
