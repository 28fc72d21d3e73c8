"""What keeps a daemon from starting is recorded, once in a row."""

from __future__ import annotations

from pathlib import Path

from edgefaced.config.places import Places
from edgefaced.events import Trouble
from edgefaced.ledger.store import Ledger
from edgefaced.outlets import record_trouble


def recorded(places: Places) -> list[object]:
    with Ledger.open(places.events_file) as ledger:
        return [record.event.happening for record in ledger.after(0)]


def test_the_same_trouble_again_and_again_is_one_record(tmp_path: Path) -> None:
    places = Places(tmp_path / "c.toml", tmp_path / "state", tmp_path / "models")
    for _ in range(3):
        record_trouble(places, "start", "no model")
    record_trouble(places, "start", "no camera")
    record_trouble(places, "start", "no model")
    assert recorded(places) == [
        Trouble("start", "no model"),
        Trouble("start", "no camera"),
        Trouble("start", "no model"),
    ]


def test_where_there_can_be_no_ledger_the_error_goes_on(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file where the folder should be")
    places = Places(tmp_path / "c.toml", tmp_path / "state", tmp_path / "models")
    record_trouble(places, "start", "no model")
