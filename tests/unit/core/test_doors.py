"""Contacts, anti-passback, strangers and Wiegand frames: values in, values out."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgefaced.core.contact import ContactNews, DoorContact
from edgefaced.core.passback import Passage, Passback, Route
from edgefaced.core.strangers import StrangerWatch
from edgefaced.core.wiegand import LARGEST_CARD, WiegandFormat, frame

IN, OUT = Route("lab", "in", 60), Route("lab", "out", 60)


def text(bits: tuple[bool, ...]) -> str:
    return "".join("1" if bit else "0" for bit in bits)


@pytest.mark.parametrize(
    ("bits", "facility", "card", "expected"),
    [
        # Facility 1, card 1: one 1 in each half.
        (WiegandFormat.BITS_26, 1, 1, "10000000100000000000000010"),
        (WiegandFormat.BITS_26, 0, 0, "00000000000000000000000001"),
        (WiegandFormat.BITS_26, 255, 65535, "01111111111111111111111111"),
        # 01111011 1011 has nine ones: a tenth before it; 001001101110 six: a seventh behind it.
        (WiegandFormat.BITS_26, 123, 45678, "10111101110110010011011101"),
        (WiegandFormat.BITS_34, 258, 3, "0000000010000001000000000000000111"),
    ],
)
def test_frames_worked_out_by_hand(
    bits: WiegandFormat, facility: int, card: int, expected: str
) -> None:
    assert text(frame(bits, facility, card)) == expected


@given(st.sampled_from(WiegandFormat), st.integers(0, 255), st.integers(0, LARGEST_CARD))
def test_both_parities_hold_and_the_numbers_come_back(
    bits: WiegandFormat, facility: int, card: int
) -> None:
    sent = frame(bits, facility, card)
    assert len(sent) == bits
    half = bits // 2
    assert sum(sent[:half]) % 2 == 0
    assert sum(sent[half:]) % 2 == 1
    number = int(text(sent[1:-1]), 2)
    assert divmod(number, 1 << 16) == (facility, card)


@pytest.mark.parametrize(("facility", "card"), [(256, 1), (-1, 1), (1, 65536), (1, -1)])
def test_numbers_that_do_not_fit_are_refused(facility: int, card: int) -> None:
    with pytest.raises(ValueError, match=r"0 to"):
        frame(WiegandFormat.BITS_26, facility, card)


def test_who_went_in_comes_out_first() -> None:
    book = Passback()
    assert not book.refuses(IN, "ann", 0)
    book.passed(IN, "ann", 0)
    assert book.refuses(IN, "ann", 10)
    assert not book.refuses(OUT, "ann", 10)
    assert not book.refuses(IN, "bea", 10)
    assert not book.refuses(replace(IN, area="store"), "ann", 10)
    book.passed(OUT, "ann", 20)
    assert not book.refuses(IN, "ann", 30)
    assert book.refuses(OUT, "ann", 30)


def test_after_the_reset_time_everybody_may_pass() -> None:
    book = Passback()
    book.passed(IN, "ann", 0)
    assert book.refuses(IN, "ann", 59.9)
    assert not book.refuses(IN, "ann", 60)
    book.passed(IN, "bea", 100)
    assert book.refuses(IN, "bea", 101)


def test_passages_of_before_count_by_their_age_and_doubt_refuses() -> None:
    book = Passback()
    book.passed(IN, "dora", 5)
    before = [
        Passage("in", "ann", 50),
        Passage("in", "bea", 50),
        Passage("out", "bea", 20),
        Passage("in", "carl", None),
        Passage("out", "dora", 1),
        Passage("in", "eve", -1000),
        Passage("in", "fay", 70),
        Passage("elsewhere", "gus", 1),
    ]
    book.recall(before, {"in": IN, "out": OUT}, 10)

    def refused(route: Route, now: float) -> set[str]:
        people = ("ann", "bea", "carl", "dora", "eve", "fay", "gus")
        return {person for person in people if book.refuses(route, person, now)}

    assert refused(IN, 10) == {"ann", "carl", "dora", "eve"}, "what was noted since is newer"
    assert refused(OUT, 10) == {"bea"}
    assert refused(IN, 21) == {"carl", "dora", "eve"}, "60 s after she went in"
    assert refused(IN, 69) == {"carl", "eve"}, "nobody knows when: 60 s from now on"
    assert refused(IN, 70) == set()


def test_several_strangers_in_a_short_time_are_told_once() -> None:
    watch = StrangerWatch(limit=3, window_seconds=60)
    assert [watch.seen(track, track) for track in (1, 2, 3, 4)] == [False, False, True, False]


def test_one_stranger_who_is_judged_again_and_again_is_one() -> None:
    watch = StrangerWatch(limit=2, window_seconds=60)
    assert not any(watch.seen(7, second) for second in range(50))
    assert watch.seen(8, 50)


def test_strangers_of_long_ago_do_not_count() -> None:
    watch = StrangerWatch(limit=2, window_seconds=60)
    assert not watch.seen(1, 0)
    assert not watch.seen(2, 60)
    assert watch.seen(3, 61)


def test_an_opening_while_unlocked_or_just_after_is_no_force() -> None:
    contact = DoorContact(held_open_seconds=30, grace_seconds=2)
    contact.start(is_open=False, now=0)
    contact.unlocked(13)
    assert contact.change(is_open=True, now=14.9) is ContactNews.OPENED
    assert contact.is_open
    assert contact.change(is_open=True, now=15) is None
    assert contact.change(is_open=False, now=16) is ContactNews.CLOSED
    assert contact.change(is_open=False, now=17) is None
    assert contact.change(is_open=True, now=18) is ContactNews.FORCED


def test_a_lock_that_closes_early_ends_the_time_to_open() -> None:
    contact = DoorContact(held_open_seconds=30, grace_seconds=2)
    contact.unlocked(100)
    contact.locked(10)
    assert contact.change(is_open=True, now=12.1) is ContactNews.FORCED


def test_a_door_left_open_is_told_once_until_it_is_closed() -> None:
    contact = DoorContact(held_open_seconds=30)
    contact.unlocked(5)
    contact.change(is_open=True, now=1)
    told = [contact.tick(now) for now in (10, 34.9, 35, 36)]
    assert told == [None, None, ContactNews.HELD_OPEN, None]
    contact.change(is_open=False, now=40)
    assert contact.tick(100) is None
    contact.change(is_open=True, now=200)
    assert contact.tick(230) is ContactNews.HELD_OPEN


def test_a_door_that_is_found_open_is_not_forced_but_left_open() -> None:
    contact = DoorContact(held_open_seconds=30)
    contact.start(is_open=True, now=0)
    assert contact.tick(29) is None
    assert contact.tick(30) is ContactNews.HELD_OPEN
