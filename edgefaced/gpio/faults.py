"""What the kernel's error numbers mean for a GPIO chip, and the way out."""

from __future__ import annotations

import errno
import grp
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from edgefaced.errors import GpioBusy, GpioError, GpioLost

CONSUMER = "edgefaced"
"""What the kernel names as the user of our lines."""

_GONE = {errno.ENODEV, errno.ENXIO, errno.ENOENT, errno.ESTALE}
_FORBIDDEN = {errno.EACCES, errno.EPERM}
_NO_CHIP = {errno.ENOTTY, errno.EISDIR}


def nobody() -> str:
    """For lines that nobody else can have."""
    return ""


@contextmanager
def spoken(place: str, doing: str, holder: Callable[[], str] = nobody) -> Iterator[None]:
    """Turns the kernel's refusal into a GpioError that says what was being done and to what."""
    try:
        yield
    except OSError as error:
        raise gpio_error(error, place, doing, holder) from error


def gpio_error(error: OSError, place: str, doing: str, holder: Callable[[], str]) -> GpioError:
    """The error of our own for one of the kernel's."""
    what = f"{place}: {doing}: {error.strerror or error}"
    if error.errno == errno.EBUSY:
        try:
            who = holder()
        except OSError:  # gone meanwhile
            who = ""
        return GpioBusy(what, f"held by {who}" if who else "another program holds the line")
    if error.errno in _GONE:
        return GpioLost(what, "is the chip there? `gpiodetect` lists what is")
    if error.errno in _FORBIDDEN:
        return GpioError(what, f"only {who_may(Path(place))} may")
    if error.errno in _NO_CHIP:
        return GpioError(what, "this is no GPIO chip")
    return GpioError(what)


def who_may(node: Path) -> str:
    """Whom a node's owner and group let in, and how to become one of them."""
    try:
        group = grp.getgrgid(node.stat().st_gid).gr_name
    except (OSError, KeyError):
        return "root"
    if group == "root":
        return "root and, after `edgefaced install-service`, the service"
    return f"root and the group {group} (`sudo usermod -aG {group} USER`)"


def listed(names: Iterable[str], *, most: int = 40) -> str:
    """Names for a message, cut off where they are too many to read."""
    known = list(names)
    more = f" and {len(known) - most} more" if len(known) > most else ""
    return (", ".join(known[:most]) + more) or "none"
