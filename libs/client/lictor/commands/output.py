"""What commands write: plain lines, JSON lines, or rich text where a person looks at a terminal."""

import json
import logging
import os
import shlex
import sys
from argparse import ArgumentParser
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any


def common_arguments(parser: ArgumentParser, *, connects: bool = True) -> None:
    """The options that commands share."""
    parser.add_argument("--json", action="store_true", help="print JSON, one object a line")
    if connects:
        parser.add_argument(
            "--url",
            metavar="URL",
            help="the NATS server (default: LICTOR_NATS_URL, or the nearest running `lictor up`)",
        )


def at_terminal() -> bool:
    """Whether a person reads what we write."""
    return sys.stdout.isatty()


def say(text: str = "") -> None:
    """Write a line to stdout now, so that a pipe sees it when it happens."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def warn(text: str) -> None:
    """Write a line to stderr."""
    sys.stderr.write(f"lictor: {text}\n")
    sys.stderr.flush()


def say_json(value: Any) -> None:
    """Write one JSON object as a line."""
    say(json.dumps(value, ensure_ascii=False))


def printable(text: str, limit: int | None = None) -> str:
    """Text of unknown origin as one harmless line: nothing in it can steer a terminal."""
    shown = "".join(char if char.isprintable() else " " for char in text)
    shown = " ".join(shown.split())
    return shown if limit is None or len(shown) <= limit else shown[: limit - 1] + "…"


def command_line(*arguments: str | Path) -> str:
    """A `lictor` command to copy into the shell: by the path of this one, where that is below."""
    here = Path.cwd()
    program = Path(sys.argv[0])
    runs = program.is_file() and os.access(program, os.X_OK) and _from(here, program)
    if runs and os.sep not in runs:
        runs = f"./{runs}"
    words = (
        _from(here, word) or str(word) if isinstance(word, Path) else word for word in arguments
    )
    return shlex.join([runs or "lictor", *words])


def _from(here: Path, path: Path) -> str | None:
    """The path as seen from a directory that it is below; never the look of an option."""
    relative = os.path.relpath(path, here)
    if relative.startswith(os.pardir):
        return None
    return f"./{relative}" if relative.startswith("-") else relative


def say_table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """A table: rich at a terminal, else columns with two spaces between them."""
    cells = [[printable(cell) for cell in row] for row in rows]
    if at_terminal():
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text

        table = Table(*titles, box=None, header_style="bold", pad_edge=False)
        for row in cells:
            table.add_row(*map(Text, row))
        Console().print(table)
        return
    widths = [max(map(len, column)) for column in zip(titles, *cells, strict=True)]
    for row in [list(titles), *cells]:
        padded = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        say("  ".join(padded).rstrip())


class _ToStderr(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        warn(record.getMessage())


def quiet_logs() -> None:
    """Show what the client says about its connection; the rest of our logs is for services."""
    lictor = logging.getLogger("lictor")
    if lictor.handlers:
        return
    lictor.addHandler(logging.NullHandler())
    lictor.propagate = False
    logging.getLogger("lictor.client").addHandler(_ToStderr(logging.WARNING))
