"""The sections of the recognising daemon, one class each."""

from __future__ import annotations

from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, field_validator

from edgefaced.config.section import Section
from edgefaced.core.gates import QualityLimits
from edgefaced.core.policy import PolicyLimits
from edgefaced.core.thermal import BANDS, Band, check_bands
from edgefaced.errors import ConfigError


class CameraSection(Section):
    """Where frames come from."""

    kind: Literal["v4l2", "picamera2", "replay"] = "v4l2"
    device: Annotated[str, Field(min_length=1)] | None = None
    """v4l2: a node, a name of /dev/v4l/by-id or by-path, or a part of the camera's label;
    picamera2: a part of the camera's id or model. Absent: the first camera."""
    width_px: Annotated[int, Field(ge=64, le=8192, multiple_of=2)] | None = None
    """Absent: 1280; a replay's own."""
    height_px: Annotated[int, Field(ge=64, le=8192, multiple_of=2)] | None = None
    """Absent: 720; a replay's own."""
    frames_per_second: Annotated[float, Field(gt=0, le=240)] = 30.0
    """A replayed video has its own."""
    pixel_format: Literal["NV12", "I420", "YUYV", "RGB", "BGR", "MJPEG"] | None = None
    """Absent: what the camera has that needs least work."""
    buffers: Annotated[int, Field(ge=4, le=32)] = 4
    """Three frames are on their way at most; the camera writes into the others."""
    replay_paths: tuple[Path, ...] = ()
    """Pictures, folders of pictures and videos, one after another."""
    replay_pace: Literal["real", "fast"] = "real"
    """"real": late readers lose frames; "fast": every frame comes, as soon as it is asked for."""
    replay_loop: bool = False
    replay_picture_seconds: Annotated[float, Field(ge=0, le=3600)] = 1.0
    """How long a picture is shown; 0 shows it for one frame."""

    @property
    def name(self) -> str:
        """What events call it."""
        return self.device or self.kind


class ModelsSection(Section):
    """Which networks."""

    pack: str = "reference"


Provider = Literal["openvino", "openvino-gpu", "qnn", "tensorrt", "cuda", "coreml", "vsinpu"]


class InferenceSection(Section):
    """What networks are run on."""

    backend: Literal["auto", "onnx", "rknn"] = "auto"
    """"auto": this board's NPU where networks were compiled for it, else the CPU."""
    fallback: Literal["refuse", "cpu"] = "refuse"
    """When the NPU or a provider that is to be used cannot be: not to serve, or the CPU."""
    threads: Annotated[int, Field(ge=1, le=64)] | None = None
    """Threads per network on a CPU; absent: the cores this process may use, four at most."""
    precision: Literal["auto", "float"] = "auto"
    """"auto" runs quantised networks on the CPU where they were imported; "float" never does."""
    providers: tuple[Provider, ...] = ()
    """Execution providers of onnxruntime, best first, instead of its CPU one alone."""
    detector_cores: tuple[Annotated[int, Field(ge=0, le=2)], ...] | None = None
    """Cores of the NPU by number; absent: core 0, and 1 for the embedder where there is one."""
    embedder_cores: tuple[Annotated[int, Field(ge=0, le=2)], ...] | None = None
    zero_copy: Literal["auto", "off"] = "auto"
    """"auto": pictures are drawn into the NPU's memory, or read where the camera left them."""


class DetectionSection(Section):
    """Finding faces."""

    input_size_px: Annotated[int, Field(ge=32, le=2048, multiple_of=32)] = 320
    """Side of the detector's square input; one of the sizes that the pack prepares."""
    score_threshold: Annotated[float, Field(gt=0, lt=1)] | None = None
    """Absent: the pack's."""


class RecognitionSection(Section):
    """When a face is a person."""

    target_fpir: Annotated[float, Field(ge=1e-6, le=0.5)] = 1e-3
    """How often a stranger may be taken for anybody enrolled, per attempt, for this gallery."""
    fixed_threshold: Annotated[float, Field(ge=-1, le=1)] | None = None
    """A plain score instead of the calibrated threshold; absent: calibrated."""
    minimum_margin: Annotated[float, Field(ge=0, le=1)] = 0.05
    """How far the best person must lie above the second."""


class QualitySection(Section):
    """Gates of enrolment; a probe that fails them is "too poor"."""

    minimum_interocular_px: Annotated[float, Field(ge=0)] = 24.0
    minimum_sharpness: Annotated[float, Field(ge=0)] = 16.0
    minimum_brightness: Annotated[float, Field(ge=0, le=255)] = 25.0
    maximum_brightness: Annotated[float, Field(ge=0, le=255)] = 215.0
    minimum_contrast: Annotated[float, Field(ge=0)] = 8.0
    maximum_clipped: Annotated[float, Field(ge=0, le=1)] = 0.25
    maximum_yaw: Annotated[float, Field(gt=0, le=1)] = 0.9
    maximum_pitch: Annotated[float, Field(gt=0, le=1)] = 0.7
    maximum_roll_degrees: Annotated[float, Field(gt=0, le=180)] = 35.0
    minimum_inside: Annotated[float, Field(ge=0, le=1)] = 0.9
    minimum_symmetry: Annotated[float, Field(ge=-1, le=1)] = -0.5

    def limits(self) -> QualityLimits:
        """The same as the core's value."""
        return QualityLimits(**self.model_dump())


class GallerySection(Section):
    """The enrolled people."""

    index: Literal["auto", "exact", "faiss"] = "auto"
    keep_pictures: bool = False
    """Keep the (encrypted) aligned pictures of enrolment, so that `gallery re-embed` can work."""


class PolicySection(Section):
    """When the frames of a face in front of the camera become one decision."""

    agreeing_frames: Annotated[int, Field(ge=2, le=30)] = 3
    """Good frames that must agree on a person; never one alone."""
    window_frames: Annotated[int, Field(ge=2, le=60)] = 5
    """Of so many good frames, the last ones."""
    patience_seconds: Annotated[float, Field(gt=0)] = 2.0
    """How long a face may be too poor to judge before that is the decision."""
    recheck_seconds: Annotated[float, Field(gt=0)] = 5.0
    """When a face that was recognised is looked at again."""
    retry_seconds: Annotated[float, Field(gt=0)] = 1.0
    """When a face that was not is looked at again; one that was too poor is as soon as it is good.
    """
    cool_down_seconds: Annotated[float, Field(ge=0)] = 10.0
    """For how long after being last seen a person is not announced again."""

    def limits(self, minimum_margin: float) -> PolicyLimits:
        """The same as the core's value. Raises ConfigError where the two counts do not fit."""
        if self.agreeing_frames > self.window_frames:
            raise ConfigError(
                f"policy.agreeing_frames = {self.agreeing_frames}: more than policy.window_frames "
                f"= {self.window_frames}",
                "a person is known when so many of the last frames agree",
            )
        return PolicyLimits(
            agreeing_frames=self.agreeing_frames,
            window_frames=self.window_frames,
            minimum_margin=minimum_margin,
            patience=self.patience_seconds,
            recheck_after=self.recheck_seconds,
            retry_after=self.retry_seconds,
            cool_down=self.cool_down_seconds,
        )


class BandSection(Section):
    """One step of the thermal ladder."""

    name: str
    leave_above_celsius: float | None = None
    """Absent in the last band."""
    leave_below_celsius: float | None = None
    """Absent in the first band."""
    frame_stride: Annotated[int, Field(ge=1, le=1000)]
    key_frame_interval: Annotated[int, Field(ge=1, le=1000)]
    rest: bool = False

    def band(self) -> Band:
        """The same as the core's value."""
        above, below = self.leave_above_celsius, self.leave_below_celsius
        return Band(
            name=self.name,
            leave_above_celsius=float("inf") if above is None else above,
            leave_below_celsius=float("-inf") if below is None else below,
            frame_stride=self.frame_stride,
            key_frame_interval=self.key_frame_interval,
            rest=self.rest,
        )


class ThermalSection(Section):
    """How the daemon keeps a board cool."""

    zones: tuple[str, ...] = ("*",)
    """Types of the kernel's thermal zones to watch; empty: no temperature is read."""
    latency_budget_ms: Annotated[float, Field(gt=0)] = 100.0
    """Above this (95th percentile of one look) the pipeline slows down as if it were hot."""
    bands: tuple[BandSection, ...] = ()
    """Instead of the built-in ladder; limits must overlap."""

    def ladder(self) -> tuple[Band, ...]:
        """The bands in force. Raises ConfigError where they are no ladder."""
        if not self.bands:
            return BANDS
        bands = tuple(section.band() for section in self.bands)
        try:
            check_bands(bands)
        except ValueError as error:
            raise ConfigError(f"thermal.bands: {error}", "see deploy/edgefaced.toml") from error
        return bands


class MetricsSection(Section):
    """Metrics for Prometheus; needs the extra "metrics"."""

    port: Annotated[int, Field(ge=1, le=65535)] | None = None
    """Absent: no metrics."""
    address: str = "127.0.0.1"
    """Where to listen; another one than the loopback's shows them to the network."""

    @field_validator("address")
    @classmethod
    def _is_an_address(cls, value: str) -> str:
        return str(ip_address(value))


class ControlSection(Section):
    """The socket by which `edgefaced status`, `watch` and `enroll --camera` reach the daemon."""

    socket: Path | None = None
    """Absent: control.sock in the runtime folder."""
    group_access: Literal["none", "read", "full"] = "read"
    """What members of the daemon's group may do; root and its own user may do everything."""
    allow_snapshots: bool = False
    """Whether who may do everything may have a picture of the camera; each is an event."""
