"""A whole daemon in this process, with people of one colour before its camera."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

from coloured import PATIENCE_SECONDS, Cast, Watched

from edgefaced.assembly import parts_of
from edgefaced.config.places import Places
from edgefaced.config.settings import Settings
from edgefaced.daemon import STOP_SECONDS, Daemon, Ending
from edgefaced.errors import EdgefacedError
from edgefaced.pipeline.line import Parts
from edgefaced.pipeline.tap import FaceTap
from edgefaced.protocols import Delivery, SinkPlan, SinkPlans
from edgefaced.sensors.thermal import ScriptedSensor


class Heard:
    """A service manager that remembers what it was told."""

    def __init__(self) -> None:
        self.words: list[str] = []
        self._more = threading.Condition()

    def ready(self) -> None:
        """Once, until a reload, as the real ones do."""
        spoken = [word for word in self.words if word in {"READY", "RELOADING"}]
        if not spoken or spoken[-1] == "RELOADING":
            self._say("READY")

    def alive(self) -> None:
        self._say("WATCHDOG")

    def status(self, line: str) -> None:
        self._say(f"STATUS {line}")

    def reloading(self) -> None:
        self._say("RELOADING")

    def stopping(self) -> None:
        self._say("STOPPING")

    def until(self, word: str, count: int = 1) -> None:
        """Waits until a word was said so often."""
        with self._more:
            assert self._more.wait_for(lambda: self.said(word) >= count, PATIENCE_SECONDS), (
                f"{word} in {self.words}"
            )

    def said(self, word: str) -> int:
        return sum(said.startswith(word) for said in self.words)

    def _say(self, word: str) -> None:
        with self._more:
            self.words.append(word)
            self._more.notify_all()


class Staged:
    """A daemon whose settings and cast a test may change while it runs."""

    def __init__(
        self,
        folder: Path,
        cast: Callable[[Settings], Cast] | None = None,
        *,
        places: Places | None = None,
        settings: Settings | None = None,
        stop_seconds: float = STOP_SECONDS,
    ) -> None:
        """`cast` makes the parts of every line anew; without it they are the real ones."""
        self.places = places or Places(
            folder / "edgefaced.toml", folder / "state", folder / "models"
        )
        self.settings: Settings | EdgefacedError = settings or Settings()
        self.sink, self.heard = Watched(), Heard()
        self._cast = cast
        self.daemon = Daemon(
            self._read,
            self.places,
            {"watched": SinkPlan(lambda: self.sink, Delivery.MOMENTARY)},
            lambda settings: ScriptedSensor((40.0,)),
            self.heard,
            parts_of if cast is None else self._parts,
            tick_seconds=0.1,
            stop_seconds=stop_seconds,
        )

    def play(self, scenario: Callable[[], None]) -> Ending:
        """Runs it while the scenario plays in a thread of its own, and until it stops."""
        failed: list[BaseException] = []

        def direct() -> None:
            try:
                scenario()
            except BaseException as error:
                failed.append(error)
                raise
            finally:
                self.daemon.stop()

        director = threading.Thread(target=direct, name="director")
        director.start()
        ending = self.daemon.run()
        director.join()
        if failed:
            raise failed[0]
        return ending

    def reload(self, settings: Settings | EdgefacedError) -> None:
        self.settings = settings
        self.daemon.reload()

    def _read(self) -> Settings:
        if isinstance(self.settings, EdgefacedError):
            raise self.settings
        return self.settings

    def _parts(self, settings: Settings, places: Places, sinks: SinkPlans, tap: FaceTap) -> Parts:
        assert self._cast is not None
        cast = self._cast(settings)
        cast.sinks = sinks
        return cast.parts(tap)
