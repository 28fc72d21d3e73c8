"""Gallery and ledger: whether they open and are what was written."""

from __future__ import annotations

from collections.abc import Iterator

from edgefaced.config.places import Places
from edgefaced.doctor.finding import Finding, failed, fault, well
from edgefaced.errors import GalleryError, LedgerError, StorageError
from edgefaced.gallery.check import check_gallery
from edgefaced.gallery.store import Gallery
from edgefaced.ledger.store import Ledger
from edgefaced.ledger.verify import verify


def gallery(places: Places) -> Iterator[Finding]:
    """Every record is opened with the key."""
    if not places.gallery_file.exists():
        yield well("gallery", "nobody is enrolled yet")
        return
    try:
        with Gallery.open(places.gallery_file, places.key_file) as opened:
            report = check_gallery(opened)
    except (GalleryError, StorageError) as error:
        yield failed("gallery", error)
        return
    if report.faults:
        first = report.faults[0]
        yield fault(
            "gallery",
            f"{len(report.faults)} records are damaged: {first.what}",
            "`edgefaced gallery check` lists them; restore a backup",
        )
    else:
        yield well("gallery", f"{places.gallery_file}: every record opens")


def ledger(places: Places) -> Iterator[Finding]:
    """Every record, and the chain between them."""
    if not places.events_file.exists():
        yield well("ledger", "nothing is recorded yet")
        return
    try:
        with Ledger.open(places.events_file) as opened:
            verdict = verify(opened)
    except (LedgerError, StorageError) as error:
        yield failed("ledger", error)
        return
    if verdict.clean:
        yield well("ledger", f"records: {verdict.records}; chain and end as written")
    else:
        said = f"{len(verdict.faults)} faults: {verdict.faults[0].what}"
        yield fault("ledger", said, "`edgefaced events verify` lists them")
