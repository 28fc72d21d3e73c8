"""One process at a time delivers to a sink: two would break the order in which it gets events."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from edgefaced.errors import LedgerBusy
from edgefaced.ledger.schema import ERRORS
from edgefaced.storage import files


@contextmanager
def sole_reader(path: Path, sink: str) -> Iterator[None]:
    """Holds a sink's place in the ledger at `path`; the kernel gives it free with the process.

    Raises LedgerBusy while another one has it.
    """
    place = path.with_name(f"{path.name}.{sink}.lock")
    try:
        descriptor = os.open(place, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise ERRORS.system(str(place), error) from error
    try:
        try:
            files.adopt(place, path.parent)
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            hint = "this one will when that ends"
            raise LedgerBusy(f"another process delivers to {sink}", hint) from None
        except OSError as error:
            raise ERRORS.system(str(place), error) from error
        yield
    finally:
        os.close(descriptor)
