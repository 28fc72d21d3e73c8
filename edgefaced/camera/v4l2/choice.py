"""Which of a camera's formats to ask for: arithmetic on what it offers and what is wished."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from edgefaced.errors import CameraError
from edgefaced.protocols import CameraWish
from edgefaced.types import PixelFormat


@dataclass(frozen=True, slots=True)
class Wire:
    """A format as the kernel names it, and what frames of it are; `split` in memory: two pieces."""

    name: str
    pixel_format: PixelFormat
    compressed: bool = False
    split: bool = False


WIRES = {
    "NV12": Wire("NV12", PixelFormat.NV12),
    "NM12": Wire("NV12", PixelFormat.NV12, split=True),
    "YU12": Wire("I420", PixelFormat.I420),
    "YUYV": Wire("YUYV", PixelFormat.YUYV),
    "BGR3": Wire("BGR", PixelFormat.BGR),
    "RGB3": Wire("RGB", PixelFormat.RGB),
    "MJPG": Wire("MJPEG", PixelFormat.BGR, compressed=True),
    "JPEG": Wire("MJPEG", PixelFormat.BGR, compressed=True),
}
"""By four-character code, those that need least work first: 1.5 bytes a pixel, 2, 3, decoding."""

FAST_ENOUGH = 0.95
"""Of the wished rate: 29.97 is 30."""


@dataclass(frozen=True, slots=True)
class SizeRange:
    """Sizes from the smallest to the largest in steps; a single size has both equal."""

    smallest: tuple[int, int]
    largest: tuple[int, int]
    step: tuple[int, int] = (1, 1)

    def nearest(self, width: int, height: int) -> tuple[int, int]:
        """The size of the range next to a wished one, with even sides where it can choose."""

        def side(axis: int, wished: int) -> int:
            low, high, step = self.smallest[axis], self.largest[axis], max(self.step[axis], 1)
            steps = (min(max(wished, low), high) - low) // step
            found = low + steps * step
            odd = found % 2 and step % 2 and found - step >= low
            return found - step if odd else found

        return side(0, width), side(1, height)


@dataclass(frozen=True, slots=True)
class Offer:
    """One size of one format; `rates` are the frames per second it names, none where it is mute."""

    fourcc: str
    width: int
    height: int
    rates: tuple[float, ...] = ()

    def rate_for(self, wished: float | None) -> float | None:
        """The slowest rate that is fast enough, else the fastest."""
        if not self.rates or wished is None:
            return max(self.rates, default=wished)
        enough = [rate for rate in self.rates if rate >= FAST_ENOUGH * wished]
        return min(enough, default=max(self.rates))


@dataclass(frozen=True, slots=True)
class Choice:
    """What is asked of the driver."""

    fourcc: str
    width: int
    height: int
    rate: float | None


def choose(offers: Sequence[Offer], wish: CameraWish) -> Choice:
    """The offer nearest to the wish: size first, then rate, then the format with least work.

    Raises CameraError where no offer has a format we read, or the one that is insisted on.
    """
    usable = [
        offer
        for offer in offers
        if offer.fourcc in WIRES and wish.pixel_format in (None, WIRES[offer.fourcc].name)
    ]
    if not usable:
        offered = ", ".join(sorted({o.fourcc for o in offers})) or "nothing"
        raise CameraError(
            f"the camera gives no {wish.pixel_format or 'picture that can be read'}",
            f"it offers {offered}",
        )
    best = min(usable, key=lambda offer: _distance(offer, wish))
    return Choice(best.fourcc, best.width, best.height, best.rate_for(wish.frames_per_second))


def _distance(offer: Offer, wish: CameraWish) -> tuple[float, float, int]:
    width, height = wish.size()
    # A side that falls short costs detail; one that is too long costs only time.
    size = sum(
        2.0 * (wanted - given) / wanted if given < wanted else (given - wanted) / wanted
        for given, wanted in ((offer.width, width), (offer.height, height))
    )
    shortfall = 0.0
    if wish.frames_per_second is not None and offer.rates:
        reached = max(offer.rates) / wish.frames_per_second
        shortfall = 0.0 if reached >= FAST_ENOUGH else 1.0 - reached
    return size, shortfall, list(WIRES).index(offer.fourcc)
