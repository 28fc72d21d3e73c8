"""The pace in force, set by the main thread and read by the stages."""

from __future__ import annotations

from edgefaced.core.thermal import BANDS, Band, Cause, Pace


class PaceBoard:
    """One value that is replaced as a whole; readers see the old or the new one."""

    def __init__(self, band: Band = BANDS[0]) -> None:
        self.current = Pace(band, 0, Cause.START, stepped=False)
