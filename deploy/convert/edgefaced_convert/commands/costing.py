"""`cost`: what a pack's networks cost, and the least time boards need for them."""

from __future__ import annotations

from pathlib import Path

import click
from rich.table import Table

from edgefaced.cli.output import json_option, plain, print_json, stdout
from edgefaced.types import Role
from edgefaced_convert.cost import LayerCost, costs_of
from edgefaced_convert.forms import float_form
from edgefaced_convert.operators import read_network
from edgefaced_convert.packs import DETECTOR_SIZE_PX, open_pack, read_file
from edgefaced_convert.roofline import BOARDS, USABLE, seconds_on


@click.command()
@click.argument("pack_or_file")
@click.option("--size", default=DETECTOR_SIZE_PX, show_default=True, help="Side of the input.")
@json_option
def cost(pack_or_file: str, size: int, as_json: bool) -> None:
    """MACs, parameters and bytes of PACK_OR_FILE in int8, and each board's roofline."""
    networks = _costs(pack_or_file, size)
    rows = []
    for name, layers in networks:
        milliseconds = {b.name: round(1000 * seconds_on(b, layers), 3) for b in BOARDS}
        rows.append(
            {
                "network": name,
                "macs": sum(layer.macs for layer in layers),
                "parameters": sum(layer.parameters for layer in layers),
                "moved_bytes": sum(layer.moved_bytes for layer in layers),
                "least_ms": milliseconds,
            }
        )
    if as_json:
        boards = {b.name: {"tops_a_core": b.tops, "bus": b.bus} for b in BOARDS}
        print_json({"networks": rows, "boards": boards, "usable_bandwidth": USABLE})
        return
    table = Table(box=None, pad_edge=False)
    for title in ("network", "MMACs", "M parameters", "MB moved", *(b.name for b in BOARDS)):
        table.add_column(title, justify="left" if title == "network" else "right")
    for name, layers in networks:
        cells = (sum(layer.macs for layer in layers), sum(layer.parameters for layer in layers))
        moved = sum(layer.moved_bytes for layer in layers)
        table.add_row(
            plain(name),
            f"{cells[0] / 1e6:.1f}",
            f"{cells[1] / 1e6:.2f}",
            f"{moved / 1e6:.2f}",
            *(f"{1000 * seconds_on(board, layers):.2f} ms" for board in BOARDS),
        )
    stdout.print(table)
    stdout.print(
        f"least time on one core in int8, with {USABLE:.0%} of the memory bus: a bound, no forecast"
    )


def _costs(named: str, size: int) -> list[tuple[str, list[LayerCost]]]:
    path = Path(named)
    if path.suffix == ".onnx":
        data = read_file(path)
        network = read_network(data, path.name, None)
        if -1 in network.input_shape:
            network = read_network(data, path.name, (size, size))
        return [(path.name, costs_of(network))]
    found = []
    for one in open_pack(named).networks((Role.DETECTOR, Role.EMBEDDER), size):
        network = read_network(float_form(one), f"{one.spec.id} @{one.size}", None)
        found.append((network.name, costs_of(network)))
    return found
