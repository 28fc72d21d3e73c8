"""Tries to get out of a sandbox and says as one JSON document which attempts went through.

Runs in the machine, in the service's sandbox and, to show that the attempts are real, without one.
"""

import ctypes
import json
import mmap
import os
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path


def write(path: str) -> None:
    with Path(path).open("ab"):
        pass


def open_device(path: str) -> None:
    os.close(os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_NOCTTY))


def make_code_in_memory() -> None:
    mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC).close()


def enter_namespace() -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(0x10000000) != 0:  # CLONE_NEWUSER
        raise OSError(ctypes.get_errno(), "unshare")


def set_clock() -> None:
    time.clock_settime(time.CLOCK_REALTIME, time.time())


def make_privileged_file() -> None:
    file = Path("/var/lib/edgefaced/privileged")
    file.write_bytes(b"")
    try:
        file.chmod(0o4755)
    finally:
        file.unlink()


FORBIDDEN: dict[str, Callable[[], object]] = {
    # Files and devices that everybody may write in this machine: what refuses is the sandbox.
    "write into /etc": lambda: write("/etc/open-to-all/x"),
    "write into /usr": lambda: write("/usr/open-to-all/x"),
    "change a model": lambda: write("/var/lib/edgefaced/models/x"),
    "look into a home": lambda: list(Path("/home/ann").iterdir()),
    "open the disk": lambda: open_device("/dev/open-disk"),
    "open a terminal": lambda: open_device("/dev/open-terminal"),
    "open an inet socket": lambda: socket.socket(socket.AF_INET).close(),
    "open an inet6 socket": lambda: socket.socket(socket.AF_INET6).close(),
    "open a packet socket": lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW).close(),
    "make code in memory": make_code_in_memory,
    "enter a namespace of users": enter_namespace,
    "make a set-user-id file": make_privileged_file,
    "see another process": lambda: Path("/proc/1/stat").read_text(),
}
NEEDED: dict[str, Callable[[], object]] = {
    "write its state": lambda: write("/var/lib/edgefaced/escape"),
    "open the GPIO chip": lambda: open_device("/dev/gpiochip0"),
    "open a unix socket": lambda: socket.socket(socket.AF_UNIX).close(),
    "read the temperature": lambda: Path("/sys/class/thermal/thermal_zone0/temp").read_text(),
}
PRIVILEGED: dict[str, Callable[[], object]] = {"set the clock": set_clock}


def outcome(attempt: Callable[[], object]) -> str:
    """Empty where the attempt went through, else the kernel's word for why not."""
    try:
        attempt()
    except OSError as error:
        return os.strerror(error.errno) if error.errno else str(error)
    return ""


attempts = {"forbidden": FORBIDDEN, "needed": NEEDED, "privileged": PRIVILEGED}
said = {kind: {name: outcome(do) for name, do in of.items()} for kind, of in attempts.items()}
Path(sys.argv[1]).write_text(json.dumps(said))
