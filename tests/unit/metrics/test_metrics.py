"""What Prometheus reads: the pipeline's own figures, no person, and a server that goes away."""

from __future__ import annotations

import re
import shutil
import socket
import subprocess
import sys
import threading
import urllib.request
from dataclasses import replace
from pathlib import Path

import pytest
from door_rigs import ALWAYS, Rig, settings
from door_rigs import seen as decided
from idle_daemon import IdleDaemon
from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from edgefaced.config.sections import MetricsSection
from edgefaced.doors.attendant import Attendant
from edgefaced.errors import ConfigError, DependencyMissing, SensorError
from edgefaced.events import Trouble
from edgefaced.inference.serving import Register, Serving
from edgefaced.metrics.server import MetricsServer, registry_of
from edgefaced.pipeline.tray import PictureWish, Tray
from edgefaced.sensors.npu import NpuReading
from edgefaced.vitals import LedgerVitals

Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]


def page(daemon: IdleDaemon) -> str:
    return generate_latest(registry_of(daemon.vitals)).decode()


def samples(text: str) -> Samples:
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def value(of: Samples, name: str, **labels: str) -> float:
    return of[f"edgefaced_{name}", tuple(sorted(labels.items()))]


def test_a_network_that_fell_back_to_the_cpu_is_on_the_page() -> None:
    daemon = IdleDaemon()
    daemon.line.networks = register = Register()
    register.report(Serving("scrfd", 320, "rknn", "rk3588 core 0", "int8"))
    register.report(Serving("mbf", 112, "onnx", "cpu", "float32", fallback="old"))
    seen = samples(page(daemon))
    assert value(seen, "inference_fallback", network="scrfd-320") == 0
    assert value(seen, "inference_fallback", network="mbf-112") == 1


def test_a_motion_sensor_and_an_npu_are_on_the_page_where_they_are() -> None:
    npu = NpuReading({0: 0.37, 2: 0.0}, 1_000_000_000, "rknpu_ondemand", None)
    seen = samples(page(IdleDaemon(npu=npu, motion=True)))
    assert value(seen, "npu_load_ratio", core="0") == 0.37
    assert value(seen, "npu_load_ratio", core="2") == 0
    assert value(seen, "npu_frequency_hertz") == 1e9
    assert value(seen, "motion_sensor_up") == 0
    assert value(seen, "motions_total") == 0
    unread = page(IdleDaemon(npu=NpuReading(None, None, None, "load: Permission denied")))
    assert "npu" not in unread
    assert "motion" not in unread


def test_the_figures_of_the_pipeline_are_on_the_page() -> None:
    daemon = IdleDaemon()
    daemon.line.postbox.announce(Trouble("a", "b"))
    daemon.line.postbox.announce(Trouble("a", "c"))
    seen = samples(page(daemon))
    assert value(seen, "frames_total", result="looked_at") == 24
    assert value(seen, "frames_total", result="skipped") == 6
    assert value(seen, "frames_skipped_total", reason="idle") == 4
    assert value(seen, "looks_total", kind="close") == 20
    assert value(seen, "decisions_total", decision="known") == 2
    assert value(seen, "bytes_copied_total") == 12345
    assert value(seen, "events_dropped_total", sink="mqtt") == 1
    assert value(seen, "camera_up") == 1
    assert value(seen, "gallery_templates") == 7
    assert value(seen, "temperature_celsius", zone="scripted") == 51.5
    assert value(seen, "temperature_unreadable") == 0
    assert value(seen, "thermal_band", band="cool") == 1
    assert value(seen, "thermal_band", band="resting") == 0
    assert value(seen, "cpu_seconds_total", activity="active") == 0.25
    assert value(seen, "stage_cpu_seconds_total", stage="detect") == 0.18
    assert value(seen, "batches_stale_total") == 0
    assert value(seen, "activity_seconds_total", activity="active") == 1
    assert value(seen, "watchdog_age_seconds") >= 0


def test_the_ledger_is_on_the_page_where_there_is_one() -> None:
    daemon = IdleDaemon()
    assert "ledger" not in page(daemon)
    records = LedgerVitals(
        position=1234,
        recorded=30,
        unrecorded=7,
        lost=1,
        waiting=6,
        purged=5,
        fault="the disk is full",
        silent_seconds=2.5,
    )
    vitals = replace(daemon.vitals(), ledger=records)
    seen = samples(generate_latest(registry_of(lambda: vitals)).decode())
    assert value(seen, "ledger_up") == 0
    assert value(seen, "ledger_position") == 1234
    assert value(seen, "ledger_waiting") == 6
    assert value(seen, "ledger_silent_seconds") == 2.5
    assert value(seen, "events_recorded_total") == 30
    assert value(seen, "events_unrecorded_total") == 7
    assert value(seen, "events_lost_total") == 1
    assert value(seen, "records_purged_total") == 5
    assert value(seen, "sink_waiting", sink="mqtt") == 0


def test_the_histogram_is_that_of_the_stopwatch() -> None:
    seen = samples(page(IdleDaemon()))
    assert value(seen, "stage_seconds_bucket", stage="detect", le="0.001") == 0
    assert value(seen, "stage_seconds_bucket", stage="detect", le="0.005") == 2
    assert value(seen, "stage_seconds_bucket", stage="detect", le="1.0") == 3
    assert value(seen, "stage_seconds_bucket", stage="detect", le="+Inf") == 4
    assert value(seen, "stage_seconds_count", stage="detect") == 4
    assert value(seen, "stage_seconds_sum", stage="detect") == pytest.approx(2.014)
    assert value(seen, "stage_seconds_count", stage="embed") == 0


def test_an_unreadable_temperature_is_absent_and_said_to_be() -> None:
    seen = samples(page(IdleDaemon(SensorError("zone gone"))))
    assert "edgefaced_temperature_celsius" not in {name for name, _ in seen}
    assert value(seen, "temperature_unreadable") == 1
    assert value(seen, "thermal_band", band="warm") == 1


def with_a_door(folder: Path) -> IdleDaemon:
    """A door that has let Ann in, kept Bob out, was forced, opened by an operator and shut."""
    rig = Rig(settings(), folder / "doors.json")
    rig.house.contact_found("front", is_open=False)
    rig.house.contact("front", is_open=True)
    rig.ask()
    rig.rights = replace(ALWAYS, groups=("duress",))
    rig.ask(decided())
    rig.rights = None
    rig.ask(decided(track=2))
    rig.house.open(["front"], "by user 1000")
    rig.house.lockdown(["front"], "by user 1000")
    daemon = IdleDaemon()
    daemon.line.doors = Attendant(rig.house, folder / "unlocked.json", folder / "lines.json")
    return daemon


def test_doors_are_on_the_page_without_anybodys_name(tmp_path: Path) -> None:
    text = page(with_a_door(tmp_path))
    found = samples(text)
    front = {"door": "front"}
    assert value(found, "door_decisions_total", **front, result="granted", reason="allowed") == 2
    assert value(found, "door_decisions_total", **front, result="granted", reason="operator") == 1
    why = "rights cannot be read"
    assert value(found, "door_decisions_total", **front, result="refused", reason=why) == 1
    assert value(found, "door_pulses_total", **front) == 3
    assert value(found, "door_alarms_total", **front, alarm="forced") == 1
    assert value(found, "door_alarms_total", **front, alarm="strangers") == 0
    assert value(found, "door_open", **front) == 1
    assert value(found, "door_lockdown", **front) == 1
    assert value(found, "door_lock_ready", **front) == 1
    assert value(found, "door_held_open", **front) == 0
    assert not {"1000", "ann", "duress"} & set(re.split(r"\W+", text))
    assert "door_" not in page(IdleDaemon())


def test_pictures_are_on_the_page_where_they_are_kept() -> None:
    daemon = IdleDaemon()
    assert "picture" not in page(daemon)
    daemon.line.tray = Tray(PictureWish(whole=False, longest_px=64))
    daemon.line.tray.kept, daemon.line.tray.kept_bytes = 3, 4567
    found = samples(page(daemon))
    assert (value(found, "pictures"), value(found, "pictures_bytes")) == (3, 4567)
    assert value(found, "pictures_missed_total") == 0


def test_promtool_has_nothing_to_say(tmp_path: Path) -> None:
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("promtool is not installed: apt-get install prometheus")
    daemon = with_a_door(tmp_path)
    daemon.line.tray = Tray(PictureWish(whole=False, longest_px=64))
    done = subprocess.run(
        [promtool, "check", "metrics"],
        input=page(daemon),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_the_server_serves_and_goes_away() -> None:
    daemon = IdleDaemon()
    with MetricsServer(daemon.vitals, "127.0.0.1", 0) as server:
        url = f"http://127.0.0.1:{server.port}/metrics"
        with urllib.request.urlopen(url, timeout=30) as answer:
            first = samples(answer.read().decode())
        daemon.line.figures.bytes_copied += 1
        with urllib.request.urlopen(url, timeout=30) as answer:
            second = samples(answer.read().decode())
        assert value(second, "bytes_copied_total") - value(first, "bytes_copied_total") == 1
        with pytest.raises(ConfigError, match=f"metrics.port = {server.port}"):
            MetricsServer(daemon.vitals, "127.0.0.1", server.port)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", server.port), 30)


def test_a_reader_that_says_nothing_does_not_keep_the_server_from_ending() -> None:
    with MetricsServer(IdleDaemon().vitals, "127.0.0.1", 0) as server:
        silent = socket.create_connection(("127.0.0.1", server.port), 30)
        silent.sendall(b"GET /met")
    with silent:
        assert not [t for t in threading.enumerate() if t.name == "metrics"]


def test_without_the_package_the_hint_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "prometheus_client", None)
    with pytest.raises(DependencyMissing, match=r"edgefaced\[metrics\]"):
        MetricsServer(IdleDaemon().vitals, "127.0.0.1", 0)


@pytest.mark.parametrize("address", ["localhost", "", "1.2.3"])
def test_an_address_is_a_number_that_nobody_has_to_look_up(address: str) -> None:
    with pytest.raises(ValueError, match="address"):
        MetricsSection(address=address)
    assert MetricsSection(address="::1").address == "::1"
