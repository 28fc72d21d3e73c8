"""Frames of the Wiegand interface: facility code and card number between two parity bits.

26 bits: even parity over the first half, 8 bits of facility, 16 of card, odd parity over the second
half (the open format, H10301). 34 bits: the same with 16 bits of facility.
"""

from __future__ import annotations

from enum import IntEnum

CARD_BITS = 16
LARGEST_CARD = (1 << CARD_BITS) - 1


class WiegandFormat(IntEnum):
    """Number of bits of a frame."""

    BITS_26 = 26
    BITS_34 = 34

    @property
    def facility_bits(self) -> int:
        return self - 2 - CARD_BITS


def frame(bits: WiegandFormat, facility: int, card: int) -> tuple[bool, ...]:
    """The bits in the order of sending. Raises ValueError for a number that does not fit."""
    facility_bits = bits.facility_bits
    if not 0 <= facility < 1 << facility_bits:
        raise ValueError(f"facility code {facility}: 0 to {(1 << facility_bits) - 1}")
    if not 0 <= card <= LARGEST_CARD:
        raise ValueError(f"card number {card}: 0 to {LARGEST_CARD}")
    number = facility << CARD_BITS | card
    payload = tuple(bool(number >> place & 1) for place in reversed(range(bits - 2)))
    half = len(payload) // 2
    even = sum(payload[:half]) % 2 == 1
    odd = sum(payload[half:]) % 2 == 0
    return (even, *payload, odd)
