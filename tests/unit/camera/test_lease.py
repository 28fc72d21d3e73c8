"""Leases come back exactly once, whichever thread brings them."""

from __future__ import annotations

import threading
import weakref

import numpy as np
import pytest

from edgefaced.camera.lease import FrameLease, LeaseBook
from edgefaced.errors import FrameDamaged, LeaseError
from edgefaced.types import Frame, PixelFormat


def frame(sequence: int = 0) -> Frame:
    return Frame(sequence, 0, np.zeros((2, 2, 3), np.uint8), PixelFormat.BGR)


def test_a_lease_is_given_back_once() -> None:
    book, back = LeaseBook("cam"), list[int]()
    lease = book.lend(frame(7), lambda: back.append(7))
    assert book.outstanding == 1
    assert lease.frame.sequence == 7
    assert lease.small is lease.frame
    assert lease.copied_bytes == 0
    lease.release()
    assert (back, book.outstanding) == ([7], 0)
    with pytest.raises(LeaseError, match="frame 7 was released twice"):
        lease.release()
    assert back == [7]


def test_leaving_the_block_releases() -> None:
    book, back = LeaseBook("cam"), list[int]()
    with book.lend(frame(), lambda: back.append(1)):
        assert book.outstanding == 1
    assert (back, book.outstanding) == ([1], 0)


def test_a_released_frame_is_not_handed_out() -> None:
    lease = LeaseBook("cam").lend(frame(), lambda: None, small=frame())
    lease.release()
    with pytest.raises(LeaseError, match="may hold another one"):
        _ = lease.frame
    with pytest.raises(LeaseError, match="may hold another one"):
        _ = lease.small


def test_closing_takes_back_what_is_out_and_says_how_many() -> None:
    book, back = LeaseBook("cam"), list[int]()
    first = book.lend(frame(1), lambda: back.append(1))
    second = book.lend(frame(2), lambda: back.append(2))
    first.release()
    assert book.close() == 1
    assert back == [1, 2]
    assert book.close() == 0
    second.release()  # whoever has it still releases it, once, and nothing more happens
    assert back == [1, 2]
    with pytest.raises(LeaseError, match="released twice"):
        second.release()
    with pytest.raises(LeaseError, match="closed"):
        book.lend(frame(), lambda: None)


def test_of_many_threads_one_releases() -> None:
    book, back, errors = LeaseBook("cam"), list[int](), list[LeaseError]()
    lease = book.lend(frame(), lambda: back.append(1))
    start = threading.Barrier(8)

    def release() -> None:
        start.wait()
        try:
            lease.release()
        except LeaseError as error:
            errors.append(error)

    threads = [threading.Thread(target=release) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(back), len(errors)) == (1, 7)


def test_waiting_for_room() -> None:
    book = LeaseBook("cam")
    leases = [book.lend(frame(n), lambda: None) for n in range(2)]
    assert book.wait_below(3, 0.0)
    assert not book.wait_below(2, 0.0)
    entered = threading.Event()

    def bring_back(lease: FrameLease) -> None:
        entered.wait()
        lease.release()

    helper = threading.Thread(target=bring_back, args=(leases[0],))
    helper.start()
    entered.set()
    assert book.wait_below(2, 60.0)
    helper.join()
    leases[1].release()


def test_what_is_compressed_is_decoded_when_it_is_first_read_and_counted_then() -> None:
    book, back, decoded = LeaseBook("cam"), list[int](), list[int]()

    def decode(part: int) -> Frame:
        decoded.append(part)
        return frame(7)

    lease = book.lend_compressed(7, decode, lambda: back.append(7), copied_bytes=100)
    assert (lease.copied_bytes, decoded) == (100, [])
    assert lease.frame is lease.small is lease.frame
    assert lease.copied_bytes == 100 + frame(7).pixels.nbytes
    assert decoded == [1]
    assert lease.glance is lease.frame, "which is there already"
    lease.release()
    untouched = book.lend_compressed(8, decode, lambda: back.append(8), copied_bytes=100)
    untouched.release()
    assert (back, decoded) == ([7, 8], [1])
    with pytest.raises(LeaseError, match="may hold another one"):
        _ = untouched.small


def test_a_frame_that_cannot_be_decoded_says_so_each_time_and_is_given_back_as_any() -> None:
    book = LeaseBook("cam")

    def decode(part: int) -> Frame:
        raise FrameDamaged("cam: a frame cannot be decoded")

    lease = book.lend_compressed(1, decode, lambda: None, copied_bytes=100)
    for _ in range(2):
        with pytest.raises(FrameDamaged):
            _ = lease.frame
    assert lease.copied_bytes == 100
    lease.release()
    assert book.outstanding == 0


def test_a_glance_at_what_is_compressed_is_an_eighth_and_decodes_no_more() -> None:
    book, decoded = LeaseBook("cam"), list[int]()

    def decode(part: int) -> Frame:
        decoded.append(part)
        return frame(1)

    lease = book.lend_compressed(1, decode, lambda: None, copied_bytes=0)
    assert lease.glance is lease.glance
    assert decoded == [8]
    assert lease.frame is lease.small
    assert decoded == [8, 1]
    lease.release()
    plain = book.lend(frame(2), lambda: None)
    assert plain.glance is plain.frame
    plain.release()


def test_a_released_lease_does_not_keep_the_frames_memory() -> None:
    """The book's own note is gone; whoever still holds the lease object holds nothing with it."""
    seen = frame()
    lease = LeaseBook("cam").lend(seen, lambda: None)
    assert lease.glance is seen
    lease.release()
    known = weakref.ref(seen.pixels)
    del seen
    assert known() is None
