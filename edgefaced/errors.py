"""Every error a person can meet, as one tree.

    EdgefacedError                     message + hint, an exit code, a stable code for machines
    |- UsageError              2       the command line is off
    |- ConfigError             3       a key of the configuration is off
    |- PictureError            4       a file is not a picture, is cut off, too large, unreadable
    |- ModelError              5
    |  |- ManifestError                a pack's manifest breaks the manifest format
    |  |- ModelMissing                 the pack is not installed on this machine
    |  |- ModelDamaged                 bytes on disk or from a source do not have the pinned hash
    |  |- ModelContractError           the network does not have the tensors its manifest promises
    |  |- DownloadError                no source could deliver (retryable)
    |- GalleryError            6
    |  |- GalleryMissing               nobody was ever enrolled here
    |  |- KeyMissing                   the gallery exists and its key does not
    |  |- KeyWrong                     the key does not open this gallery
    |  |- GalleryDamaged               the database or a record fails its integrity check
    |  |  |- RecordDamaged             one record only: the others can be used
    |  |- GalleryBusy                  another process holds the lock for too long (retryable)
    |  |- GalleryTooNew                written by a newer schema
    |  |- ModelMismatch                an embedding of another model
    |- EmbeddingError          7       NaN, zero, wrong size: never a match
    |- DependencyMissing       8       an optional package is needed for this
    |- StorageError            9       a folder cannot be written, the disk is full
    |- CameraError            10       a camera cannot be used as asked
    |  |- CameraBusy                   another process has the camera (retryable)
    |  |- CameraLost                   the camera is not there, or not there any more (retryable)
    |  |- CameraEnded                  a replay has shown its last frame
    |  |- FrameDamaged                 one frame cannot be decoded: the next one may
    |  |- LeaseError                   a frame was released twice or never, or read afterwards
    |- SensorError            11       a sensor cannot be read
    |- ServiceError           12       the system service cannot be set up or taken away
    |- GpioError               14      a GPIO line cannot be used as asked
    |  |- GpioBusy                     another program holds the line (retryable)
    |  |- GpioLost                     the chip or the line is not there (retryable)
    |- LedgerError            13       the ledger of events cannot be used
    |  |- LedgerMissing                nothing was ever recorded here
    |  |- LedgerFull                   the disk has no room for another record (retryable)
    |  |- LedgerBusy                   another process holds the lock for too long (retryable)
    |  |- LedgerDamaged                the database or a record is not what was written
    |  |- LedgerTooNew                 written by a newer schema
    |- SinkError              15       an event could not be given to its receiver
    |  |- SinkAway                     not now: it is away, busy or set up wrongly (retryable)
    |  |- EventRefused                 it will never take this very event
    |- Refused                 1       the answer is "no": not enrolled, no match, a gate failed
    |  |- NotRunning                   no daemon answers at the control socket
    |  |- Forbidden                    this user may not ask the daemon for that
    |  |- ControlBusy                  the daemon serves enough others at the moment (retryable)
    |  |- Waiting                      the service is up and lacks what it needs (retryable)

The number is the exit code of the command line; subclasses share their parent's.
"""

from __future__ import annotations

import shlex
import sys
from typing import ClassVar


class EdgefacedError(Exception):
    """An error with one line for a person (`message`), a way out (`hint`) and an exit code."""

    exit_code: ClassVar[int] = 70
    code: ClassVar[str] = "internal"
    retryable: ClassVar[bool] = False

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} ({self.hint})" if self.hint else self.message


class UsageError(EdgefacedError):
    """The command line is off."""

    exit_code = 2
    code = "usage"


class ConfigError(EdgefacedError):
    """A configuration key is off; the message names the key path, the value and what is allowed."""

    exit_code = 3
    code = "config"


class PictureError(EdgefacedError):
    """A file cannot be used as a picture or a video."""

    exit_code = 4
    code = "picture"


class ModelError(EdgefacedError):
    """A model pack cannot be used."""

    exit_code = 5
    code = "model"


class ManifestError(ModelError):
    """A pack's manifest breaks the manifest format."""

    code = "model-manifest"


class ModelMissing(ModelError):
    """The pack is not installed (or not prepared) on this machine."""

    code = "model-missing"


class ModelDamaged(ModelError):
    """Bytes do not have the hash that was pinned for them."""

    code = "model-damaged"


class ModelContractError(ModelError):
    """The network does not have the tensors that its manifest promises."""

    code = "model-contract"


class DownloadError(ModelError):
    """No source could deliver the file."""

    code = "download"
    retryable = True


class GalleryError(EdgefacedError):
    """The gallery cannot be used."""

    exit_code = 6
    code = "gallery"


class GalleryMissing(GalleryError):
    """There is no gallery file: nobody was ever enrolled."""

    code = "gallery-missing"


class KeyMissing(GalleryError):
    """The gallery exists and its key does not."""

    code = "gallery-key-missing"


class KeyWrong(GalleryError):
    """The key does not open this gallery."""

    code = "gallery-key-wrong"


class GalleryDamaged(GalleryError):
    """The database or one of its records fails its integrity check."""

    code = "gallery-damaged"


class RecordDamaged(GalleryDamaged):
    """One record fails its integrity check: whoever it is of is concerned, and nobody else."""


class GalleryBusy(GalleryError):
    """Another process has held the lock for too long."""

    code = "gallery-busy"
    retryable = True


class GalleryTooNew(GalleryError):
    """The gallery was written by a newer schema."""

    code = "gallery-too-new"


class ModelMismatch(GalleryError):
    """An embedding of another model than the gallery's templates."""

    code = "gallery-model-mismatch"


class EmbeddingError(EdgefacedError):
    """An embedding with NaN, no length or the wrong size: an error, never a match."""

    exit_code = 7
    code = "embedding"


class DependencyMissing(EdgefacedError):
    """An optional package is needed for this."""

    exit_code = 8
    code = "dependency"


def extra(name: str) -> str:
    """The command that brings an extra into the environment that runs us, for a hint.

    A bare `pip` is the system's where no environment is active, and Debian's refuses.
    """
    return f"{shlex.quote(sys.executable)} -m pip install 'edgefaced[{name}]'"


class StorageError(EdgefacedError):
    """A folder cannot be written or the disk is full."""

    exit_code = 9
    code = "storage"


class CameraError(EdgefacedError):
    """A camera cannot be used as asked."""

    exit_code = 10
    code = "camera"


class CameraBusy(CameraError):
    """Another process has the camera."""

    code = "camera-busy"
    retryable = True


class CameraLost(CameraError):
    """The camera is not there, or not there any more."""

    code = "camera-lost"
    retryable = True


class CameraEnded(CameraError):
    """A replay that does not loop has shown its last frame."""

    code = "camera-ended"


class FrameDamaged(CameraError):
    """A frame that was lent turns out to be none when it is decoded."""

    code = "camera-frame-damaged"
    retryable = True


class LeaseError(CameraError):
    """A frame was released twice, read after its release, or never released."""

    code = "camera-lease"


class SensorError(EdgefacedError):
    """A sensor cannot be read; a temperature then counts as hot."""

    exit_code = 11
    code = "sensor"


class ServiceError(EdgefacedError):
    """The system service cannot be set up or taken away."""

    exit_code = 12
    code = "service"


class GpioError(EdgefacedError):
    """A GPIO line cannot be used as asked."""

    exit_code = 14
    code = "gpio"


class GpioBusy(GpioError):
    """Another program holds the line."""

    code = "gpio-busy"
    retryable = True


class GpioLost(GpioError):
    """The chip or the line is not there, or not there any more."""

    code = "gpio-lost"
    retryable = True


class LedgerError(EdgefacedError):
    """The ledger of events cannot be used."""

    exit_code = 13
    code = "ledger"


class LedgerMissing(LedgerError):
    """There is no ledger file: nothing was ever recorded."""

    code = "ledger-missing"


class LedgerFull(LedgerError):
    """The disk has no room for another record."""

    code = "ledger-full"
    retryable = True


class LedgerBusy(LedgerError):
    """Another process has held the lock for too long."""

    code = "ledger-busy"
    retryable = True


class LedgerDamaged(LedgerError):
    """The database or one of its records is not what was written."""

    code = "ledger-damaged"


class LedgerTooNew(LedgerError):
    """The ledger was written by a newer schema."""

    code = "ledger-too-new"


class SinkError(EdgefacedError):
    """An event could not be given to its receiver."""

    exit_code = 15
    code = "sink"


class SinkAway(SinkError):
    """The receiver is away, busy or set up wrongly: the event is for later."""

    code = "sink-away"
    retryable = True


class EventRefused(SinkError):
    """The receiver will never take this very event: it must not hold up those behind it."""

    code = "event-refused"


class Refused(EdgefacedError):
    """The answer is no: not enrolled, no match, a gate failed."""

    exit_code = 1
    code = "refused"


class NotRunning(Refused):
    """No daemon answers at the control socket."""

    code = "not-running"


class Forbidden(Refused):
    """This user may not ask the daemon for that."""

    code = "forbidden"


class ControlBusy(Refused):
    """The daemon serves enough others at the moment."""

    code = "busy"
    retryable = True


class Waiting(Refused):
    """The service is up and lacks what it needs to begin."""

    code = "waiting"
    retryable = True
