"""`edgefaced status`: how the running daemon is."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import click
from rich.table import Table

from edgefaced.cli.context import CliContext, pass_context
from edgefaced.cli.output import json_option, plain, print_json, stdout

SILENT_SECONDS = 5.0
"""A commit takes milliseconds."""


@click.command()
@json_option
@pass_context
def status(context: CliContext, *, as_json: bool) -> None:
    """How the running daemon is: camera, pace, what each stage takes, what was lost.

    Exit 0 when it runs, 1 when it does not or does not answer this user.
    """
    from edgefaced.control.client import connect

    with connect(context.places.control_sockets(context.settings())) as client:
        body = client.ask("status")["status"]
    if as_json:
        print_json({"status": body})
        return
    table = Table(show_header=False, box=None, pad_edge=False)
    for key, said in rows(body):
        table.add_row(plain(key), plain(said))
    stdout.print(table)


def rows(body: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The document in words, line by line."""
    camera, gives, pace, cpu = body["camera"], body["camera"]["gives"], body["pace"], body["cpu"]
    yield "running", f"{timedelta(seconds=int(body['uptime_seconds']))}, version {body['version']}"
    yield "pack", f"{body['pack']}, {body['gallery_templates']} templates in the gallery"
    state = "up" if camera["up"] else "DOWN"
    restarts = f", opened again {camera['restarts']} times" if camera["restarts"] else ""
    yield "camera", f"{camera['name']}: {state}{restarts}"
    if gives is not None:
        rate = gives["frames_per_second"]
        promised = "" if rate is None else f" at {rate:g} a second"
        yield "", f"{gives['width_px']}x{gives['height_px']} {gives['pixel_format']}{promised}"
        for difference in gives["differences"]:
            yield "", difference
    yield (
        "frames",
        f"{_number(body['frames_per_second'])} a second, "
        f"{_number(body['looks_per_second'])} looked at; {_counts(body['frames'])}",
    )
    if any(body["frames_lost"].values()):
        yield "", f"never left the camera: {_counts(body['frames_lost'])}"
    yield "faces", f"{body['faces_in_view']} in view; decided: {_counts(body['decisions'])}"
    if body["batches_displaced"] or body["batches_stale"]:
        displaced, stale = body["batches_displaced"], body["batches_stale"]
        yield "", f"not judged: {displaced} times newer ones had come, {stale} times too old"
    for stage, timing in body["stages"].items():
        if timing["count"]:
            yield (
                stage.replace("_", " "),
                f"median {timing['median_ms']:.1f} ms, p95 {timing['p95_ms']:.1f} ms, "
                f"n = {timing['count']}",
            )
    if body["bytes_copied_per_frame"] is not None:
        yield "copied", f"{body['bytes_copied_per_frame']} bytes a frame looked at"
    celsius = body["temperature_celsius"]
    heat = body["temperature_fault"] or (
        "no temperature is read" if celsius is None else f"{celsius:g} °C"
    )
    yield "pace", f"{pace['band']} ({pace['cause']}), {heat}"
    if body["motion_sensor"] is not None:
        yield "motion", _motion(body["motion_sensor"])
    for network in body["networks"]:
        yield "network", _network(network)
    if body["npu"] is not None:
        yield "npu", _npu(body["npu"])
    shares = (("", "share"), (" idle", "idle_share"), (" with a face in view", "active_share"))
    known = [f"{cpu[key]:.0%}{what}" for what, key in shares if cpu[key] is not None]
    yield "cpu", ", ".join(known or ["not known yet"]) + " of one core"
    if costs := [f"{stage} {ms:.2f}" for stage, ms in cpu["stages_ms_per_frame"].items() if ms]:
        yield "", f"{', '.join(costs)} ms of each frame"
    for name, sink in body["sinks"].items():
        yield (
            f"sink {name}",
            f"{sink['waiting']} waiting, {sink['dropped']} lost, {sink['failures']} refused"
            + (f": {sink['fault']}" if sink["fault"] else ""),
        )
    if body["ledger"] is not None:
        yield "ledger", _ledger(body["ledger"])
    for door in body["doors"]:
        yield f"door {door['name']}", _door(door)
    if body["pictures"] is not None:
        yield "pictures", _pictures(body["pictures"])


def _ledger(ledger: dict[str, Any]) -> str:
    said = f"at record {ledger['position']}, {ledger['recorded']} events recorded"
    if ledger["unrecorded"]:
        said += f", {ledger['unrecorded']} delivered before that"
    if ledger["waiting"] or ledger["lost"]:
        said += f", {ledger['waiting']} waiting in memory, {ledger['lost']} lost"
    if ledger["fault"]:
        said += f"; NOTHING IS RECORDED: {ledger['fault']}"
    if ledger["silent_seconds"] > SILENT_SECONDS:
        said += f"; NO ANSWER FROM THE DISK for {ledger['silent_seconds']:.0f} s"
    return said


def _door(door: dict[str, Any]) -> str:
    found = {None: [], True: ["open"], False: ["closed"]}[door["is_open"]]
    found += ["LOCKDOWN"] if door["lockdown"] else []
    found += ["unlocked"] if door["unlocked"] else []
    granted, refused = sum(door["granted"].values()), door["refused"]
    found.append(f"{granted} let in, {sum(refused.values())} not")
    said = ", ".join(found) + (f" ({_counts(refused)})" if refused else "")
    if door["alarms"]:
        said += f"; ALARMS: {_counts(door['alarms'])}"
    return said if door["lock"] in ("ready", "none") else f"{said}; LOCK: {door['lock']}"


def _pictures(pictures: dict[str, Any]) -> str:
    said = f"{pictures['kept']} kept, {pictures['kept_bytes'] / 1e6:.1f} MB"
    if pictures["missed"]:
        said += f", {pictures['missed']} missed"
    return said + (f"; NONE IS KEPT: {pictures['fault']}" if pictures["fault"] else "")


def _motion(motion: dict[str, Any]) -> str:
    state = {None: "not listened to yet", True: "listened to", False: "NOT LISTENED TO"}
    return f"{state[motion['up']]}, motion began {motion['motions']} times"


def _network(network: dict[str, Any]) -> str:
    said = f"{network['network']}: {network['where']}, {network['precision']}"
    if network["memory"] is not None:
        said += f", input: {network['memory']}"
    if network["remark"] is not None:
        said += f" ({network['remark']})"
    return said + (f"; FALLBACK: {network['fallback']}" if network["fallback"] else "")


def _npu(npu: dict[str, Any]) -> str:
    loads, hertz, governor = npu["loads"], npu["frequency_hertz"], npu["governor"]
    said = [] if loads is None else [f"core {core} {load:.0%}" for core, load in loads.items()]
    if hertz is not None:
        said.append(f"{hertz / 1e6:g} MHz" + ("" if governor is None else f" ({governor})"))
    return ", ".join([*said, *([npu["fault"]] if npu["fault"] else [])])


def _number(value: float | None) -> str:
    return "?" if value is None else f"{value:g}"


def _counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{n} {kind.replace('_', ' ')}" for kind, n in counts.items()) or "none"
