"""The capturing thread goes before the others, where the system allows it."""

from __future__ import annotations

import os
import threading

STEPS = 5
"""Of niceness; the service's unit allows as many."""


def go_first() -> bool:
    """Raises the calling thread above the others of its process; False where that is refused.

    The others stay as they are: lowered instead, which needs nobody's leave, they lost a third of
    their looks to other programs on a busy machine, and capture gained nothing, for it waits for
    Python's lock like everybody, and who holds it must not wait for a core.
    """
    thread = threading.get_native_id()
    try:
        # To Linux a thread is a process of its own here.
        os.setpriority(os.PRIO_PROCESS, thread, os.getpriority(os.PRIO_PROCESS, thread) - STEPS)
    except PermissionError:
        return False
    return True
