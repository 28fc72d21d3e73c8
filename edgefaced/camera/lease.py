"""Lending frames: who has one, and that it comes back exactly once."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import TracebackType

from edgefaced.errors import LeaseError
from edgefaced.protocols import FrameLease
from edgefaced.types import Frame

__all__ = ["FrameLease", "LeaseBook"]

GLANCE = 8
"""What a compressed frame's sides are divided by for a glance, which costs a fifth to a half."""


class LeaseBook:
    """What a camera has lent and not got back; any thread may return a lease."""

    def __init__(self, camera: str) -> None:
        self._camera = camera
        self._changed = threading.Condition()
        self._out: set[_Loan] = set()
        self._closed = False

    @property
    def outstanding(self) -> int:
        """Leases that nobody has released yet."""
        with self._changed:
            return len(self._out)

    def lend(
        self,
        frame: Frame,
        give_back: Callable[[], None],
        *,
        small: Frame | None = None,
        copied_bytes: int = 0,
    ) -> FrameLease:
        """A lease of `frame`; `give_back` is called once, by its release or by `close`.

        `give_back` runs under the book's lock, so that it never meets a closed device.
        """
        return self._note(
            _Loan(
                self,
                frame.sequence,
                lambda part: frame,
                small or frame,
                copied_bytes,
                give_back,
            )
        )

    def lend_compressed(
        self,
        sequence: int,
        decode: Callable[[int], Frame],
        give_back: Callable[[], None],
        *,
        copied_bytes: int,
    ) -> FrameLease:
        """A lease of a frame that is decoded, and what it writes counted, when it is first read.

        `decode` takes what the sides are to be divided by, 1 or GLANCE, and may raise FrameDamaged;
        it is then asked each time.
        """

        def counted(part: int) -> Frame:
            frame = decode(part)
            loan.copied_bytes += frame.pixels.nbytes
            return frame

        loan = _Loan(self, sequence, counted, None, copied_bytes, give_back)
        return self._note(loan)

    def wait_below(self, limit: int, timeout: float) -> bool:
        """Whether fewer than `limit` leases are out, now or within `timeout` seconds."""
        with self._changed:
            return self._changed.wait_for(lambda: len(self._out) < limit, timeout)

    def close(self) -> int:
        """Takes back what is still out and says how many that were; the second time, none."""
        with self._changed:
            left, self._out = self._out, set()
            self._closed = True
            for loan in left:
                loan.give_back()
            return len(left)

    def _note(self, loan: _Loan) -> FrameLease:
        with self._changed:
            if self._closed:
                raise LeaseError(f"{self._camera}: lends nothing once it is closed")
            self._out.add(loan)
        return loan

    def settle(self, loan: _Loan) -> None:
        """For the lease itself: notes its return. Raises LeaseError for a second one."""
        with self._changed:
            if loan.returned:
                raise LeaseError(
                    f"{self._camera}: frame {loan.sequence} was released twice",
                    "a lease is released once, by whoever took it last",
                )
            loan.returned = True
            if loan in self._out:  # else the camera was closed, and took it back itself
                self._out.remove(loan)
                self._changed.notify_all()
                loan.give_back()


def left_out(camera: str, leases: int) -> LeaseError:
    """What closing a camera reports while frames of it are on loan."""
    return LeaseError(
        f"{camera}: closed while {leases} {'frame was' if leases == 1 else 'frames were'} on loan",
        "every lease is released before its camera is closed",
    )


class _Loan:
    """One frame on loan."""

    __slots__ = (
        "_book",
        "_frame",
        "_glance",
        "_read",
        "_small",
        "copied_bytes",
        "give_back",
        "returned",
        "sequence",
    )

    def __init__(
        self,
        book: LeaseBook,
        sequence: int,
        read: Callable[[int], Frame],
        small: Frame | None,
        copied_bytes: int,
        give_back: Callable[[], None],
    ) -> None:
        self._book = book
        self.sequence = sequence
        self._read = read
        self._frame: Frame | None = None
        self._small = self._glance = small
        self.copied_bytes = copied_bytes
        self.give_back = give_back
        self.returned = False

    @property
    def frame(self) -> Frame:
        self._check()
        if self._frame is None:
            self._frame = self._read(1)
        return self._frame

    @property
    def small(self) -> Frame:
        self._check()
        return self._small or self.frame

    @property
    def glance(self) -> Frame:
        self._check()
        if self._glance is None:
            self._glance = self._frame or self._read(GLANCE)
        return self._glance

    def release(self) -> None:
        self._book.settle(self)
        # Whoever still knows the lease no longer keeps the frame's memory by it.
        self._frame = self._small = self._glance = None
        del self._read

    def __enter__(self) -> FrameLease:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.release()

    def _check(self) -> None:
        if self.returned:
            raise LeaseError(
                f"frame {self.sequence} was released, its memory may hold another one by now",
                "keep the lease for as long as the frame is read",
            )
