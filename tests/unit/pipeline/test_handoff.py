"""Newest wins, producers never wait, every item is accounted for exactly once."""

from __future__ import annotations

import threading

import pytest

from edgefaced.pipeline.handoff import Closed, LatestSlot, Outbox


def test_the_newest_item_wins_and_the_old_one_comes_back() -> None:
    slot: LatestSlot[int] = LatestSlot()
    assert slot.put(1) is None
    assert slot.put(2) == 1
    assert slot.take(0) == 2
    assert slot.take(0) is None
    assert slot.displaced == 1


def test_closing_gives_back_what_waits_and_wakes_the_taker() -> None:
    slot: LatestSlot[int] = LatestSlot()
    slot.put(1)
    assert slot.close() == 1
    assert slot.close() is None
    assert slot.put(2) == 2
    with pytest.raises(Closed):
        slot.take(10)


def test_what_waits_may_be_left_to_the_taker() -> None:
    slot: LatestSlot[int] = LatestSlot()
    slot.put(1)
    assert slot.close(keep=True) is None
    assert slot.put(2) == 2
    assert slot.take(10) == 1
    with pytest.raises(Closed):
        slot.take(10)


def test_a_waiting_taker_is_woken_by_an_item_and_by_the_end() -> None:
    slot: LatestSlot[int] = LatestSlot()
    seen: list[int] = []

    def take() -> None:
        try:
            while (item := slot.take(60)) is not None:
                seen.append(item)
                taken.set()
        except Closed:
            seen.append(-1)

    taken = threading.Event()
    thread = threading.Thread(target=take)
    thread.start()
    slot.put(7)
    assert taken.wait(60)
    slot.close()
    thread.join(60)
    assert seen == [7, -1]
    assert not thread.is_alive()


def test_under_load_no_item_is_lost_or_seen_twice() -> None:
    slot: LatestSlot[int] = LatestSlot()
    taken: list[int] = []
    returned: list[int] = []

    def consume() -> None:
        while True:
            try:
                item = slot.take(60)
            except Closed:
                return
            if item is not None:
                taken.append(item)

    consumer = threading.Thread(target=consume)
    consumer.start()
    for number in range(20_000):
        displaced = slot.put(number)
        if displaced is not None:
            returned.append(displaced)
    last = slot.close()
    consumer.join(60)
    returned += [last] if last is not None else []
    assert sorted(taken + returned) == list(range(20_000))
    assert taken == sorted(taken)


def test_a_lossless_slot_waits_for_its_place_and_for_nothing_once_closed() -> None:
    slot: LatestSlot[int] = LatestSlot(lossless=True)
    answers: list[int | None] = []

    def produce() -> None:
        answers.extend(slot.put(number) for number in range(500))

    producer = threading.Thread(target=produce)
    producer.start()
    taken = [slot.take(60) for _ in range(400)]
    assert taken == list(range(400))
    last = slot.close()
    producer.join(60)
    assert answers[:400] == [None] * 400
    assert sum(answer is None for answer in answers[400:]) == (last is not None)
    assert slot.displaced == 0


def test_what_nobody_took_can_be_withdrawn() -> None:
    slot: LatestSlot[int] = LatestSlot()
    slot.put(1)
    assert slot.withdraw() == 1
    assert slot.withdraw() is None
    assert slot.take(0) is None


def test_an_outbox_drops_the_oldest_and_counts_it() -> None:
    outbox: Outbox[int] = Outbox(2)
    assert [outbox.put(n) for n in range(4)] == [None, None, 0, 1]
    assert (len(outbox), outbox.dropped) == (2, 2)
    outbox.close()
    assert outbox.put(9) == 9
    assert [outbox.take(0), outbox.take(0)] == [2, 3]
    with pytest.raises(Closed):
        outbox.take(60)


def test_an_empty_outbox_gives_nothing_in_time() -> None:
    assert Outbox[int](1).take(0.01) is None
    with pytest.raises(ValueError, match="not 0"):
        Outbox[int](0)
