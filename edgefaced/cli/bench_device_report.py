"""What `edgefaced bench --device` says, to be pasted where others read it: no names, no paths."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

from rich.table import Table

from edgefaced.benchmark.device import (
    NETWORKS_MS,
    REST_MS,
    Conditions,
    DeviceFigures,
    NetworkFigures,
    Window,
)
from edgefaced.benchmark.spread import Spread
from edgefaced.cli.bench_report import machine_body, noise_line

_FOLDERS = re.compile(r"/(?:[^/\s]+/)+")


def device_head(figures: DeviceFigures) -> str:
    """The NPU and what drives it, or that there is none."""
    npu = figures.npu
    if npu is None:
        return "no NPU: measured on the CPU"
    if not any(network.serving.backend == "rknn" for network in figures.networks):
        return f"{npu.chip}, {npu.cores} cores, is not used: measured on the CPU"
    return (
        f"{npu.chip}, {npu.cores} cores; librknnrt {npu.runtime or '?'}, driver "
        f"{npu.driver or '? (root may read it)'}, rknn-toolkit-lite2 {figures.lite or 'absent'}"
    )


def network_lines(figures: DeviceFigures) -> Iterator[str]:
    """Each network by itself, then both, one after the other."""
    for network in figures.networks:
        serving = network.serving
        memory = f", pictures: {serving.memory}" if serving.memory else ""
        by = f", compiled by {network.toolkit}" if network.toolkit else ""
        yield (
            f"{serving.network} @{serving.size} on {serving.where}, {serving.precision}{memory}{by}"
        )
        yield (
            f"  {_spread(network.alone)}; {network.bytes_in:,} bytes in, {network.bytes_out:,} out"
        )
        if serving.fallback:
            yield f"  AS A FALLBACK: {without_folders(serving.fallback)}"
        elif serving.remark:
            yield f"  {without_folders(serving.remark)}"
        if network.least_ms and network.macs is not None:
            boards = ", ".join(f"{board} {ms:.2f}" for board, ms in network.least_ms.items())
            yield f"  {network.macs / 1e6:.0f} million MACs; at least, in int8 on one core, ms:"
            yield f"    {boards}"
    yield f"both networks, one after the other: {_spread(figures.back_to_back)}"


def window_table(figures: DeviceFigures) -> Table:
    """The sustained part, window by window, after the board before it."""
    table = Table(box=None, pad_edge=False)
    headings = ("from s", "frames/s", "networks ms", "95 %", "rest ms", "95 %")
    for heading in (*headings, "°C", "NPU MHz", "NPU load", "W"):
        table.add_column(heading, justify="right")
    table.add_row("before", *[""] * 5, *_conditions(figures.before))
    begun = 0.0
    for window in figures.windows:
        table.add_row(
            f"{begun:.0f}",
            f"{window.frames_per_second:.1f}",
            f"{window.networks.p50_ms:.2f}",
            f"{window.networks.p95_ms:.2f}",
            f"{window.rest.p50_ms:.2f}",
            f"{window.rest.p95_ms:.2f}",
            *_conditions(window.at_end),
        )
        begun += window.seconds
    return table


def verdict_lines(figures: DeviceFigures) -> Iterator[str]:
    """Of the last window; the first beside it, for what the heat has done."""
    first, last = figures.windows[0], figures.windows[-1]
    minutes = sum(window.seconds for window in figures.windows) / 60
    where = "the NPU" if figures.networks[0].serving.backend == "rknn" else "the CPU"
    yield (
        f"after {minutes:.1f} minutes: {last.frames_per_second:.1f} frames a second, one after the "
        f"other ({first.frames_per_second:.1f} at first)"
    )
    for what, bar, spread, holds in (
        (f"detect + embed on {where}", NETWORKS_MS, last.networks, figures.networks_hold),
        ("everything else", REST_MS, last.rest, figures.rest_holds),
    ):
        verdict = "holds" if holds else "MISSED"
        yield f"{what}: {spread.p95_ms:.1f} ms for 95 % of frames, {bar:g} ms is the bar: {verdict}"
    for meter, joules in figures.joules_a_frame.items():
        yield f"{meter}: {1000 * joules:.0f} mJ a frame"
    yield noise_line(figures.noise)


def device_body(figures: DeviceFigures) -> dict[str, Any]:
    npu = figures.npu
    return {
        "machine": machine_body(),
        "npu": None
        if npu is None
        else {
            "chip": npu.chip,
            "cores": npu.cores,
            "runtime": npu.runtime,
            "driver": npu.driver,
        },
        "rknn_toolkit_lite2": figures.lite,
        "networks": [_network_body(network) for network in figures.networks],
        "back_to_back": asdict(figures.back_to_back),
        "before": _conditions_body(figures.before),
        "windows": [_window_body(window) for window in figures.windows],
        "verdict": {
            "networks_bar_ms": NETWORKS_MS,
            "networks_hold": figures.networks_hold,
            "rest_bar_ms": REST_MS,
            "rest_holds": figures.rest_holds,
            "joules_a_frame": figures.joules_a_frame,
        },
        "noise": asdict(figures.noise),
    }


def without_folders(text: str) -> str:
    """Paths say who somebody is: what is left of each is its last part."""
    return _FOLDERS.sub("", text)


def _network_body(network: NetworkFigures) -> dict[str, Any]:
    serving = asdict(network.serving)
    serving["remark"] = without_folders(network.serving.remark)
    serving["fallback"] = without_folders(network.serving.fallback)
    return {
        "role": str(network.role),
        **serving,
        "alone": asdict(network.alone),
        "bytes_in": network.bytes_in,
        "bytes_out": network.bytes_out,
        "toolkit": network.toolkit or None,
        "macs": network.macs,
        "least_ms": dict(network.least_ms),
    }


def _window_body(window: Window) -> dict[str, Any]:
    return {
        "seconds": window.seconds,
        "frames": window.frames,
        "frames_per_second": window.frames_per_second,
        "networks": asdict(window.networks),
        "rest": asdict(window.rest),
        "total": asdict(window.total),
        "at_end": _conditions_body(window.at_end),
    }


def _conditions_body(conditions: Conditions) -> dict[str, Any]:
    npu = conditions.npu
    loads = None if npu is None or npu.loads is None else _by_text(npu.loads)
    return {
        "celsius": conditions.celsius,
        "npu_loads": loads,
        "npu_hertz": None if npu is None else npu.hertz,
        "npu_governor": None if npu is None else npu.governor,
        "watts": dict(conditions.watts),
    }


def _by_text(loads: Mapping[int, float]) -> dict[str, float]:
    return {str(core): load for core, load in loads.items()}


def _conditions(conditions: Conditions) -> tuple[str, str, str, str]:
    npu = conditions.npu
    loads = (
        "" if npu is None or npu.loads is None else " ".join(f"{v:.0%}" for v in npu.loads.values())
    )
    return (
        "?" if conditions.celsius is None else f"{conditions.celsius:.0f}",
        "" if npu is None or npu.hertz is None else f"{npu.hertz / 1e6:g}",
        loads,
        " ".join(f"{watts:.2f}" for watts in conditions.watts.values()),
    )


def _spread(times: Spread) -> str:
    return f"median {times.p50_ms:.2f} ms, 95 % of {times.n} below {times.p95_ms:.2f} ms"
