"""`report` and `probe`: where the operators of a network run."""

from __future__ import annotations

from pathlib import Path

import click

from edgefaced.cli.output import json_option, note, print_json, stdout
from edgefaced.models.prepare.graph import FREE
from edgefaced_convert.forms import float_form
from edgefaced_convert.operators import Network, read_network, with_size
from edgefaced_convert.packs import DETECTOR_SIZE_PX, open_pack, read_file
from edgefaced_convert.report import OperatorReport, report_on, show
from edgefaced_convert.report import as_json as body_of
from edgefaced_convert.toolchain import TARGETS


@click.command()
@click.argument("pack_or_file")
@click.option("--target", type=click.Choice([*TARGETS, "cpu"]), required=True)
@click.option("--size", default=DETECTOR_SIZE_PX, show_default=True, help="Side of the input.")
@click.option("--build", is_flag=True, help="Ask the toolkit as well: it compiles in fp16.")
@json_option
@click.pass_context
def report(
    ctx: click.Context, pack_or_file: str, target: str, size: int, build: bool, as_json: bool
) -> None:
    """Which operators of PACK_OR_FILE the target runs; exit code 1 where one falls back."""
    reports = [
        _asked(network, data, target, size if build else None)
        for network, data in _networks(pack_or_file, size)
    ]
    clean = all(one.clean for one in reports)
    if as_json:
        print_json({"reports": [body_of(one) for one in reports]}, ok=clean)
    else:
        for one in reports:
            show(one)
        stdout.print("no fall-back" if clean else "there are fall-backs")
    ctx.exit(0 if clean else 1)


def _networks(named: str, size: int) -> list[tuple[Network, bytes]]:
    path = Path(named)
    if path.suffix == ".onnx":
        data = read_file(path)
        network = read_network(data, path.name, None)
        free = FREE in network.input_shape
        fixed = read_network(data, path.name, (size, size)) if free else network
        return [(Network(fixed.name, fixed.opset, network.input_shape, fixed.operators), data)]
    opened = open_pack(named)
    roles = tuple(model.role for model in opened.manifest.model)
    found = []
    for one in opened.networks(roles, size):
        data = float_form(one)
        as_it_came = read_network(one.original, one.spec.id, None)
        fixed = read_network(data, f"{one.spec.id} @{one.size}", None)
        shape = as_it_came.input_shape
        found.append((Network(fixed.name, as_it_came.opset, shape, fixed.operators), data))
    return found


def _asked(network: Network, data: bytes, target: str, size: int | None) -> OperatorReport:
    if size is None or target == "cpu":
        return report_on(network, target)
    from edgefaced_convert.rknn_build import compile_float

    if read_network(data, network.name, None).input_shape.count(FREE):
        data = with_size(data, network.name, (size, size))
    compiled = compile_float(data, target)
    return report_on(network, target, compiled.layers, compiled.said)


@click.command()
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), required=True)
def probe(out: Path) -> None:
    """Measures anew, with the toolkit installed here, where each operator goes."""
    from edgefaced_convert.probe import as_toml, measure

    found = []
    for one in measure(TARGETS):
        note(f"{one.operator} {one.variant} {one.places}")
        found.append(one)
    out.write_text(as_toml(found))
