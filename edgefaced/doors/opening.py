"""The doors of a configuration, ready to be run and asked; nothing is opened yet."""

from __future__ import annotations

from edgefaced.config.places import Places
from edgefaced.config.settings import Settings
from edgefaced.doors.attendant import Attendant
from edgefaced.doors.book import Book
from edgefaced.doors.doorkeeper import Doorkeeper, GalleryRights
from edgefaced.doors.house import House
from edgefaced.doors.plan import plans_of
from edgefaced.events import read_boot_id
from edgefaced.protocols import Delivery, SinkPlan

SHARE_FOR_LEDGER = 0.6
"""Of the age at which a decision opens nothing any more."""


def attendant_of(settings: Settings, places: Places, book: Book | None = None) -> Attendant | None:
    """The stage of the configured doors, None where there are none. Raises ConfigError.

    `book` is the one that is in use already, of a daemon that reads its configuration again.
    """
    plans = plans_of(settings)
    if not plans.doors:
        return None
    house = House(plans, book or Book(places.doors_file), read_boot_id())
    return Attendant(house, places.unlocked_file, places.door_lines_file)


def doorkeeper_of(attendant: Attendant, places: Places) -> SinkPlan:
    """The sink that decides: once for every event, and never again for one of the past."""
    return SinkPlan(
        lambda: Doorkeeper(
            attendant.house, GalleryRights(places.gallery_file, places.key_file), attendant.end
        ),
        Delivery.MOMENTARY,
        announces=True,
        # The rest is for what lies between the picture and the decision: a door that opens without
        # a record must still find the decision fresh.
        patience_seconds=SHARE_FOR_LEDGER * attendant.house.plans.maximum_age_seconds,
    )
