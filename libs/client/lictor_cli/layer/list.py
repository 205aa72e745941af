"""`lictor layer list`: the layers there are, and how much each offers."""

from argparse import ArgumentParser, Namespace
from pathlib import Path

from lictor.errors import LayerUnusable
from lictor_cli.layer.sources import layer_at, named_layers
from lictor_cli.main import LAYER, OK
from lictor_cli.output.terminal import (
    common_arguments,
    printable,
    quiet_logs,
    say_json,
    say_table,
)

HELP = """\
List trusted layers with their hash, which proofs and approvals name, and how many functions, rows and contracts each
offers. A layer that can't be used is listed with the reason; then the exit code is 5.
"""


def arguments(parser: ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument(
        "directories",
        metavar="DIR",
        nargs="*",
        type=Path,
        help="directories that hold tools/<domain>/trusted (default: those of LICTOR_LAYERS)",
    )
    parser.add_argument(
        "--import-root",
        metavar="DIR",
        action="append",
        type=Path,
        default=[],
        help="the same as DIR, as other commands name it",
    )
    common_arguments(parser, connects=False)


def run(options: Namespace) -> int:
    """List them."""
    quiet_logs()
    rows: list[dict[str, object]] = []
    for directory in named_layers([*options.directories, *options.import_root]):
        try:
            rows.append({"directory": str(directory), **_figures(directory), "problem": None})
        except LayerUnusable as error:
            rows.append({"directory": str(directory), "problem": str(error)})
    if options.json:
        for row in rows:
            say_json(row)
    else:
        heads = ("directory", "hash", "functions", "rows", "contracts", "problem")
        say_table(heads, (tuple(_cell(row.get(head)) for head in heads) for row in rows))
    return LAYER if any(row["problem"] for row in rows) else OK


def _cell(held: object) -> str:
    return "-" if held is None else printable(str(held))


def _figures(directory: Path) -> dict[str, object]:
    layer = layer_at(directory)
    from lictor_prove.layers.offer import offered

    offer = offered(layer)
    return {
        "hash": layer.hash,
        **{each: len(offer[each]) for each in ("functions", "rows", "contracts")},
    }
