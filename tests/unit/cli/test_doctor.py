"""`edgefaced doctor`: a line for everything, and each fault with what mends it."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from compiled_pack import Compiled, Conversion, compiled_detector, compiled_embedder
from fake_rknnlite import Board, Network, install
from installation import Installation
from npu_rigs import npu
from tiny_pack import TinyPack

from edgefaced.checkup import Machine
from edgefaced.cli.main import run
from edgefaced.config.places import Places, places_of_this_process
from edgefaced.config.sections import InferenceSection
from edgefaced.config.settings import Settings, read_settings
from edgefaced.doctor import board as board_checks
from edgefaced.doctor.examine import Surroundings, examine
from edgefaced.doctor.finding import Finding, Level
from edgefaced.doctor.networks import Trial, try_network
from edgefaced.errors import SensorError
from edgefaced.events import Event, Trouble
from edgefaced.gallery.store import Gallery
from edgefaced.inference.rockchip import Npu
from edgefaced.ledger.store import Ledger
from edgefaced.models.bring_in import bring_in
from edgefaced.models.manifest import parse_manifest
from edgefaced.recognition.choose import Means, open_network
from edgefaced.recognition.detector import NetworkDetector
from edgefaced.sensors.npu import NpuReading
from edgefaced.sensors.thermal import ScriptedSensor
from edgefaced.service.place import Place
from edgefaced.types import Frame, PixelFormat, Role

CONFIG = """
[camera]
kind = "replay"
replay_paths = ["{pictures}"]
[models]
pack = "tiny"
[detection]
input_size_px = 32
[recognition]
fixed_threshold = 0.5
[inference]
zero_copy = "off"
threads = 1
"""

BUSY = NpuReading({0: 0.4, 1: 0.0, 2: 0.0}, 10**9, "rknpu_ondemand", None)
IDLE = NpuReading({0: 0.0, 1: 0.0, 2: 0.0}, 10**9, "rknpu_ondemand", None)
SHUT = NpuReading(None, 10**9, "rknpu_ondemand", "load: Permission denied")


@pytest.fixture
def places(own_places: Path) -> Places:
    """A machine on which all is well."""
    pictures = own_places / "pictures"
    pictures.mkdir()
    (pictures / "a.png").write_bytes(b"")
    (own_places / "edgefaced.toml").write_text(CONFIG.format(pictures=pictures))
    here = Installation(own_places)
    here.pull(here.know(TinyPack()))
    return places_of_this_process()


@pytest.fixture
def around(own_places: Path) -> Surroundings:
    zone = own_places / "zones" / "thermal_zone0"
    zone.mkdir(parents=True)
    (zone / "type").write_text("soc-thermal\n")
    (zone / "temp").write_text("51500\n")
    (own_places / "dev").mkdir()
    return Surroundings(
        machine=Machine(dev=own_places / "dev", zones=own_places / "zones"),
        service=Place(own_places / "tree"),
        find_npu=lambda: None,
        read_load=lambda: None,
        synchronised=lambda: True,
        now=lambda: datetime(2026, 12, 1, 8, 30, tzinfo=UTC),
        unit_state=lambda: "active",
        load_seconds=0.0,
    )


def findings(places: Places, around: Surroundings) -> list[Finding]:
    file = places.config_file
    return list(examine(lambda: read_settings(file), file, places, around))


def faults(found: list[Finding], level: Level = Level.FAULT) -> list[Finding]:
    return [finding for finding in found if finding.level is level]


def only(found: list[Finding], area: str) -> Finding:
    (finding,) = [f for f in found if f.area == area]
    return finding


def test_a_machine_on_which_all_is_well(places: Places, around: Surroundings) -> None:
    found = findings(places, around)
    assert [f for f in found if f.level is not Level.OK] == []
    areas = {f.area for f in found}
    assert areas >= {
        *("configuration", "camera", "models", "npu", "versions", "network detector"),
        *("network embedder", "permissions", "clock", "storage state", "storage models"),
        *("thermal", "gallery", "ledger", "service", "daemon"),
    }
    assert "no NPU of Rockchip's" in only(found, "npu").message
    assert "tiny-detector on cpu, float32" in only(found, "network detector").message


def wrong_configuration(places: Places, around: Surroundings) -> Surroundings:
    places.config_file.write_text("[policy]\nagreeing_frames = 1\n[models]\npack = 'tiny'\n")
    return around


def wrong_clock(places: Places, around: Surroundings) -> Surroundings:
    return replace(around, now=lambda: datetime(1970, 1, 1, tzinfo=UTC))


def no_thermal_zone(places: Places, around: Surroundings) -> Surroundings:
    shutil.rmtree(around.machine.zones)
    return around


def no_camera(places: Places, around: Surroundings) -> Surroundings:
    places.config_file.write_text(
        places.config_file.read_text().replace('kind = "replay"', 'kind = "v4l2"')
    )
    return around


def damaged_network(places: Places, around: Surroundings) -> Surroundings:
    for file in places.models_dir.glob("prepared/*/*/*.onnx"):
        file.write_bytes(b"x" * file.stat().st_size)
    return around


def damaged_gallery(places: Places, around: Surroundings) -> Surroundings:
    places.gallery_file.parent.mkdir(exist_ok=True)
    places.gallery_file.write_bytes(b"no database" * 1000)
    return around


def gallery_without_key(places: Places, around: Surroundings) -> Surroundings:
    Gallery.open(places.gallery_file, places.key_file, create=True).close()
    places.key_file.unlink()
    return around


def edited_ledger(places: Places, around: Surroundings) -> Surroundings:
    with Ledger.open(places.events_file, create=True) as ledger:
        ledger.append([Event(Trouble("disk", "full"), "door") for _ in range(3)])
    with sqlite3.connect(places.events_file) as db:
        db.execute("UPDATE records SET body = CAST('edited' AS BLOB) WHERE position = 2")
    db.close()
    return around


def dead_service(places: Places, around: Surroundings) -> Surroundings:
    around.service.unit.parent.mkdir(parents=True)
    around.service.unit.write_text("[Service]\n")
    return replace(around, unit_state=lambda: "failed")


def no_library(places: Places, around: Surroundings) -> Surroundings:
    return replace(around, find_npu=lambda: npu(None))


@pytest.mark.parametrize(
    ("harm", "area", "said", "mend"),
    [
        (wrong_configuration, "configuration", "policy.agreeing_frames = 1", "config show"),
        (wrong_clock, "clock", "1970-01-01", "timedatectl"),
        (no_thermal_zone, "thermal", "no thermal zone", "thermal.zones"),
        (no_camera, "camera", "no camera found", "plugged in"),
        (damaged_network, "network detector", "does not have its pinned sha256", "models pull"),
        (damaged_gallery, "gallery", "", "restore"),
        (gallery_without_key, "gallery", "key", ""),
        (edited_ledger, "ledger", "was edited", "events verify"),
        (dead_service, "service", "failed", "journalctl"),
        (dead_service, "daemon", "edgefaced is not running", "control.sock"),
        (no_library, "npu", "there is no librknnrt.so", "/usr/lib"),
    ],
)
def test_each_fault_is_found_and_has_its_mending(
    places: Places,
    around: Surroundings,
    harm: Callable[[Places, Surroundings], Surroundings],
    area: str,
    said: str,
    mend: str,
) -> None:
    found = faults(findings(places, harm(places, around)))
    assert any(f.area == area and said in f.message and mend in f.hint for f in found), found


def test_a_clock_that_nobody_keeps_is_a_warning(places: Places, around: Surroundings) -> None:
    found = findings(places, replace(around, synchronised=lambda: False))
    assert [f.area for f in faults(found, Level.WARNING)] == ["clock"]


@pytest.mark.parametrize(
    ("reading", "level"),
    [
        (51.5, Level.OK),
        (85.0, Level.WARNING),
        (SensorError("temp: Input/output error"), Level.FAULT),
    ],
)
def test_heat(reading: float | SensorError, level: Level) -> None:
    (finding,) = board_checks.thermal(ScriptedSensor([reading]))
    assert finding.level is level


# The NPU


@pytest.fixture
def rock(
    places: Places, around: Surroundings, own_places: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Surroundings]:
    """A board with a compiled pack; `now` is what its load counter shows after a run."""
    tiny = TinyPack()
    networks = (compiled_detector(tiny), compiled_embedder(tiny))
    here = Installation(own_places)
    stick = Conversion(networks).write(own_places / "stick")
    bring_in(stick, None, here.store, here.workshop, here.told)
    install(monkeypatch, Board({n.data: giving(n) for n in networks}))
    library = own_places / "librknnrt.so"
    library.write_bytes(b"")

    def made(now: NpuReading | None, **more: str) -> Surroundings:
        found: Npu = npu(library, **more)
        return replace(around, find_npu=lambda: found, read_load=lambda: now)

    return made


def giving(network: Compiled) -> Network:
    answer = list(network.outputs.values())
    return lambda image: answer


def test_an_npu_that_works_is_proved(places: Places, rock: Callable[..., Surroundings]) -> None:
    found = findings(places, rock(BUSY, runtime="2.3.0", driver="0.9.8"))
    assert faults(found) == []
    assert "rk3588, 3 cores, librknnrt 2.3.0, driver 0.9.8" in only(found, "npu").message
    said = [f.message for f in found if f.area == "network detector"]
    assert "tiny-detector on rk3588 core 0, int8, self-test 1.0000" in said[0]
    assert "input: copied (inference.zero_copy is off)" in said[0]
    assert said[1] == ("the NPU's load counter moved from 40% to 40% at 1000 MHz (rknpu_ondemand)")
    assert " ms on the NPU, " in said[2]


@pytest.mark.usefixtures("places")
def test_a_network_that_is_wider_than_high_is_tried_as_it_is(
    own_places: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny = TinyPack()
    wide = compiled_detector(tiny, 64, 32)
    here = Installation(own_places)
    bring_in(
        Conversion((wide,)).write(own_places / "x"), None, here.store, here.workshop, here.told
    )
    install(monkeypatch, Board({wide.data: giving(wide)}))
    library = own_places / "librknnrt.so"
    library.write_bytes(b"")
    means = Means(InferenceSection(zero_copy="off"), npu(library), lambda serving: None)
    spec = parse_manifest(tiny.manifest.encode(), "tiny").of_role(Role.DETECTOR)
    found = [*try_network(Trial(here.store, means, 1, lambda: BUSY, 0.0), spec, 64)]
    assert faults(found) == []
    assert "tiny-detector on rk3588 core 0, int8, self-test 1.0000" in found[0].message
    network = open_network(here.store, spec, 64, 1, means)
    detector = NetworkDetector(network, spec, size=64)
    assert (detector.input_width, detector.input_height) == (64, 32)
    pixels = np.zeros((180, 320, 3), np.uint8)
    detector.detect(Frame(0, 0, pixels, PixelFormat.BGR))
    network.close()


def test_an_npu_whose_counter_does_not_move_is_a_fault(
    places: Places, rock: Callable[..., Surroundings]
) -> None:
    found = faults(findings(places, rock(IDLE)))
    assert {f.area for f in found} == {"network detector", "network embedder"}
    assert "stayed at 0 % at 1000 MHz" in found[0].message


@pytest.mark.parametrize("reading", [SHUT, None])
def test_a_counter_that_cannot_be_read_is_a_warning(
    places: Places, rock: Callable[..., Surroundings], reading: NpuReading | None
) -> None:
    found = faults(findings(places, rock(reading)), Level.WARNING)
    unseen = [f for f in found if "whether the NPU worked cannot be seen" in f.message]
    assert len(unseen) == 2
    assert "sudo edgefaced doctor" in unseen[0].hint


def test_versions_that_do_not_fit_are_named(
    places: Places, rock: Callable[..., Surroundings]
) -> None:
    found = faults(findings(places, rock(BUSY, runtime="1.6.0")))
    assert {f.area for f in found} == {"versions", "network detector", "network embedder"}
    assert "librknnrt 1.6.0 is older than tiny-detector needs: 2.3.0" in found[0].message


def test_an_npu_that_is_asked_for_and_absent_is_a_fault(
    places: Places, around: Surroundings
) -> None:
    text = places.config_file.read_text()
    places.config_file.write_text(text.replace("[inference]", '[inference]\nbackend = "rknn"'))
    found = faults(findings(places, around))
    assert {f.area for f in found} == {"npu", "network detector", "network embedder"}
    places.config_file.write_text(
        text.replace("[inference]", '[inference]\nbackend = "rknn"\nfallback = "cpu"')
    )
    found = findings(places, around)
    fallen = [f for f in faults(found, Level.WARNING) if "AS A FALLBACK" in f.message]
    assert [f.area for f in fallen] == ["network detector", "network embedder"]
    assert "no NPU of Rockchip's" in fallen[0].hint


def test_the_command_prints_lines_or_one_document(
    places: Places, capsys: pytest.CaptureFixture[str]
) -> None:
    code = run(["doctor", "--json"])
    document = json.loads(capsys.readouterr().out)
    levels = {finding["level"] for finding in document["findings"]}
    assert code == (1 if "fault" in levels else 0)
    assert document["ok"] is (code == 0)
    assert run(["doctor"]) == code
    printed = capsys.readouterr().out
    assert "network detector: tiny-detector on cpu" in printed
    assert printed.splitlines()[-1].endswith("ok")


def test_settings_that_cannot_be_read_do_not_end_the_examination(
    places: Places, around: Surroundings
) -> None:
    places.config_file.write_text("[models\n")
    found = findings(places, around)
    assert found[0].area == "configuration"
    assert {"clock", "ledger", "daemon"} <= {f.area for f in found}
    assert Settings().models.pack == "reference"
