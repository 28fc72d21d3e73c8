"""Clock, storage, temperature and permissions of the machine."""

from __future__ import annotations

import grp
import os
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from edgefaced.config.places import Places
from edgefaced.doctor.finding import Finding, failed, fault, warning, well
from edgefaced.errors import SensorError
from edgefaced.sensors.thermal import ThermalSensor

EARLIEST = datetime(2026, 1, 1, tzinfo=UTC)
"""This program is younger than any clock that shows less."""

LITTLE_BYTES, NOTHING_BYTES = 200_000_000, 20_000_000
FEW_FILES = 1000
HOT_CELSIUS = 80.0

DEVICES = ("video*", "media*", "dri/renderD*", "rknpu", "dma_heap/*", "gpiochip*")


def clock(synchronised: Callable[[], bool], now: datetime) -> Iterator[Finding]:
    """Whether dates can be believed."""
    if now < EARLIEST:
        yield fault(
            "clock",
            f"it is not {now:%Y-%m-%d}",
            "`sudo timedatectl set-ntp true`; has it a battery?",
        )
    elif synchronised():
        yield well("clock", f"kept by a time source; {now:%Y-%m-%d %H:%M} UTC")
    else:
        yield warning(
            "clock",
            f"no time source keeps it; it says {now:%Y-%m-%d %H:%M} UTC",
            "`sudo timedatectl set-ntp true`; records of attendance carry its word",
        )


def storage(places: Places) -> Iterator[Finding]:
    """Room for the gallery, the ledger and the models, and whether it may be written."""
    folders = {"state": places.state_dir, "models": places.models_dir}
    for name, folder in folders.items():
        yield _folder(f"storage {name}", folder)


def _folder(area: str, folder: Path) -> Finding:
    try:
        # What is not made yet will lie where its parent is.
        here = next(place for place in (folder, *folder.parents) if place.exists())
        room = os.statvfs(here)
    except OSError as error:
        return fault(area, f"{folder}: {error.strerror or error}", "may this user look there?")
    free = room.f_bavail * room.f_frsize
    said = f"{folder}: {free / 1e6:,.0f} MB free"
    if room.f_flag & os.ST_RDONLY:
        return fault(area, f"{folder} is read-only", "`sudo mount -o remount,rw` and `dmesg` why")
    if free < NOTHING_BYTES:
        return fault(area, said, "nothing more can be recorded: free some space")
    if not os.access(here, os.W_OK):
        return warning(area, f"{said}; this user may not write there", "ask as the daemon's user")
    if free < LITTLE_BYTES:
        return warning(area, said, "the ledger alone may take [ledger] maximum_megabytes")
    if room.f_files and room.f_favail < FEW_FILES:
        return warning(area, f"{said}, but room for {room.f_favail} files only", "delete some")
    return well(area, said)


def thermal(sensor: ThermalSensor) -> Iterator[Finding]:
    """A sensor that cannot be read counts as hot, and the daemon then rests."""
    try:
        celsius = sensor.read()
    except SensorError as error:
        yield failed("thermal", error)
        return
    if celsius is None:
        yield warning("thermal", "no temperature is read", "thermal.zones is empty")
    elif celsius > HOT_CELSIUS:
        yield warning("thermal", f"{celsius:g} °C", "give it air: the daemon slows down")
    else:
        yield well("thermal", f"{celsius:g} °C")


def permissions(dev: Path, patterns: Sequence[str] = DEVICES) -> Iterator[Finding]:
    """Devices that are here and that this user may not use, and whose group may."""
    shut: dict[str, list[str]] = {}
    seen = 0
    for pattern in patterns:
        for node in sorted(dev.glob(pattern)):
            seen += 1
            if not os.access(node, os.R_OK | os.W_OK):
                shut.setdefault(_group_of(node), []).append(str(node))
    for group, nodes in shut.items():
        yield warning(
            "permissions",
            f"this user may not use {', '.join(nodes)}",
            f"`sudo usermod -aG {group} USER` and log in again; the service has its own groups",
        )
    if not shut:
        yield well("permissions", f"{seen} devices may be used, none is shut")


def _group_of(node: Path) -> str:
    try:
        gid = node.stat().st_gid
    except OSError:
        return "root"
    try:
        return grp.getgrgid(gid).gr_name
    except KeyError:
        return str(gid)
