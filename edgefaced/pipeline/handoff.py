"""The hand-offs between threads: newest wins, and no producer ever waits."""

from __future__ import annotations

import threading
from collections import deque
from typing import Generic, TypeVar

Item = TypeVar("Item")


class Closed(Exception):
    """The other side has stopped."""


class LatestSlot(Generic[Item]):
    """One place between two threads. The newest item wins; whoever displaces one gets it back.

    With three leases this is double buffering: one is being written by the camera, one waits
    here, one is being read.
    """

    def __init__(self, *, lossless: bool = False) -> None:
        """`lossless` makes `put` wait for the place to be empty: for replays, which have time."""
        self._changed = threading.Condition()
        self._lossless = lossless
        self._item: Item | None = None
        self._closed = False
        self.displaced = 0
        """Items that were never taken because a newer one came; for metrics."""

    def put(self, item: Item) -> Item | None:
        """Never blocks unless lossless. Returns what must now be released: what it displaced, or,
        once closed, the item itself.
        """
        with self._changed:
            if self._lossless:
                self._changed.wait_for(lambda: self._item is None or self._closed)
            if self._closed:
                return item
            displaced, self._item = self._item, item
            if displaced is not None:
                self.displaced += 1
            self._changed.notify_all()
            return displaced

    def take(self, timeout: float) -> Item | None:
        """The newest item, or None after `timeout` seconds. Raises Closed when there is no more."""
        with self._changed:
            self._changed.wait_for(lambda: self._item is not None or self._closed, timeout)
            if self._item is None and self._closed:
                raise Closed
            item, self._item = self._item, None
            self._changed.notify_all()
            return item

    def withdraw(self) -> Item | None:
        """Takes back an item that nobody has taken yet, without waiting."""
        with self._changed:
            item, self._item = self._item, None
            return item

    def close(self, *, keep: bool = False) -> Item | None:
        """Wakes the taker. Returns an item that nobody will take any more; it must be released.

        With `keep` the taker still gets it.
        """
        with self._changed:
            self._closed = True
            item = None
            if not keep:
                item, self._item = self._item, None
            self._changed.notify_all()
            return item


class Outbox(Generic[Item]):
    """A bounded queue to the sinks: a slow sink costs the oldest items, never the producer's time.

    What must survive a power cut is written down before it is put here.
    """

    def __init__(self, capacity: int) -> None:
        if capacity < 1:
            raise ValueError(f"an outbox holds one item at least, not {capacity}")
        self._changed = threading.Condition()
        self._items: deque[Item] = deque()
        self._capacity = capacity
        self._closed = False
        self.dropped = 0
        """Items lost because the sinks were too slow; for metrics."""

    def put(self, item: Item) -> Item | None:
        """Never blocks. Returns the item that was lost for it, or, once closed, the item itself."""
        with self._changed:
            if self._closed:
                return item
            lost = self._items.popleft() if len(self._items) == self._capacity else None
            if lost is not None:
                self.dropped += 1
            self._items.append(item)
            self._changed.notify()
            return lost

    def take(self, timeout: float) -> Item | None:
        """The oldest item, or None after `timeout` seconds.

        Raises Closed once the outbox is closed and empty: what was put before closing is drained.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._items or self._closed, timeout)
            if self._items:
                return self._items.popleft()
            if self._closed:
                raise Closed
            return None

    def close(self) -> None:
        """Nothing more is accepted; what is inside may still be taken."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    @property
    def closed(self) -> bool:
        return self._closed

    def __len__(self) -> int:
        with self._changed:
            return len(self._items)
