"""Acknowledgements whose numbers come again."""

from __future__ import annotations

import threading

from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.reasoncodes import ReasonCode

from edgefaced.sinks.mqtt.receipts import Receipts

WELL = ReasonCode(PacketTypes.PUBACK, "Success")


def test_an_answer_is_there_once_for_whoever_asks() -> None:
    receipts = Receipts(threading.Condition())
    assert not receipts.has(1)
    receipts.came(1, WELL)
    assert receipts.has(1)
    assert receipts.fetch(1) is WELL
    assert receipts.fetch(1) is None


def test_what_nobody_asked_for_is_no_answer_to_a_later_message_of_that_number() -> None:
    receipts = Receipts(threading.Condition())
    receipts.ignore(1)
    receipts.came(1, WELL)
    assert not receipts.has(1), "an event that gets the number 1 again is not taken yet"
    receipts.came(1, WELL)
    assert receipts.fetch(1) is WELL
