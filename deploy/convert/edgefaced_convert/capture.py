"""What a library's compiled code prints, kept for us instead of shown."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(slots=True)
class Printed:
    """What was printed, once the block has ended."""

    text: str = ""


@contextmanager
def captured() -> Iterator[Printed]:
    """Takes descriptors 1 and 2 away while the block runs: C++ knows no `sys.stdout`."""
    printed = Printed()
    sys.stdout.flush()
    sys.stderr.flush()
    kept = os.dup(1), os.dup(2)
    with tempfile.TemporaryFile() as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
        try:
            yield printed
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            for number, copy in zip((1, 2), kept, strict=True):
                os.dup2(copy, number)
                os.close(copy)
            file.seek(0)
            printed.text = file.read().decode(errors="replace")
