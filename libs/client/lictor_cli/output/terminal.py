"""What commands write: plain lines, JSON lines, or rich text where a person looks at a terminal."""

import json
import logging
import os
import shlex
import sys
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.table import Column
    from rich.text import Text

    from lictor_schema.core.base_model import Model


from lictor.errors import LictorError
from lictor_cli.output.shown_text import harmless_json as harmless_json
from lictor_cli.output.shown_text import printable as printable
from lictor_cli.output.shown_text import spelled_out as spelled_out

# Fewer characters than this beside something else are hard to read.
_READABLE = 32


def common_arguments(parser: ArgumentParser, *, connects: bool = True) -> None:
    """The options that commands share."""
    parser.add_argument("--json", action="store_true", help="print JSON, one object a line")
    if connects:
        parser.add_argument(
            "--url",
            metavar="URL",
            help="the NATS server (default: LICTOR_NATS_URL, or the nearest running `lictor up`)",
        )


def port_number(text: str) -> int:
    """A port as an option's value."""
    if not text.isdecimal() or int(text) > 65_535:
        raise ArgumentTypeError(f"{text!r} is not a port from 0 to 65535")
    return int(text)


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
    say(harmless_json(json.dumps(value, ensure_ascii=False)))


def say_stored(model: "Model") -> None:
    """Write a stored message as a line of JSON."""
    say(harmless_json(model.to_json().decode()))


def counted(number: int, what: str) -> str:
    """`1 pack`, `2 packs`."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


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


def say_table(
    titles: Sequence[str], rows: Iterable[Sequence[str]], *, exact: Collection[str] = ()
) -> None:
    """A table: rich at a terminal, else columns with two spaces between them; those named `exact` keep each blank."""
    shown = [spelled_out if title in exact else printable for title in titles]
    cells = [[show(cell) for show, cell in zip(shown, row, strict=True)] for row in rows]
    widths = [max(map(len, column)) for column in zip(titles, *cells, strict=True)]
    if at_terminal():
        _say_fitted(titles, cells, widths)
        return
    for row in [list(titles), *cells]:
        padded = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        say("  ".join(padded).rstrip())


def _say_fitted(titles: Sequence[str], rows: list[list[str]], widths: list[int]) -> None:
    """As columns beside each other; what finds no room goes to lines below, the titles as the cells."""
    from rich.console import Console
    from rich.padding import Padding
    from rich.table import Column, Table
    from rich.text import Text

    console = Console()
    lines = _lines_of_columns(widths, console.width)
    if len(lines) > 1:
        for number, row in enumerate([list(titles), *rows]):
            for indent, columns in zip((0, *[4] * len(lines)), lines, strict=False):
                cells = "  ".join(row[at].ljust(widths[at]) for at in columns).rstrip()
                told = Text(cells, "" if number else "bold")
                console.print(Padding(told, (0, 0, 0, indent), expand=False), overflow="fold")
        return
    columns = [*(Column(title, no_wrap=True) for title in titles[:-1]), _folding(titles[-1])]
    table = Table(*columns, box=None, header_style="bold", padding=(0, 2, 0, 0), pad_edge=False)
    for row in rows:
        table.add_row(*map(Text, row))
    console.print(table)


def _lines_of_columns(widths: Sequence[int], room: int) -> list[list[int]]:
    """Which columns stand beside each other; the last of all may wrap, if a readable width is left for it."""
    lines: list[list[int]] = [[]]
    left = room
    for number, width in enumerate(widths):
        least = min(width, _READABLE) if number == len(widths) - 1 else width
        if lines[-1] and least > left:
            lines.append([])
            left = room - 4
        lines[-1].append(number)
        left -= width + 2
    return lines


def say_beside(head: "Text", body: "Text") -> None:
    """At a terminal: the body in a column beside the head, or below it where that would be too narrow.

    Lines break between words; a word is broken only when it is longer than its line.
    """
    from rich.console import Console
    from rich.padding import Padding
    from rich.table import Column, Table

    console = Console()
    if console.width - head.cell_len < _READABLE:
        console.print(head, overflow="fold")
        console.print(Padding(body, (0, 0, 0, 4)), overflow="fold")
        return
    row = Table.grid(Column(no_wrap=True), _folding(""), pad_edge=False)
    row.add_row(head, body)
    console.print(row)


def _folding(title: str) -> "Column":
    from rich.table import Column

    return Column(title, overflow="fold")


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


def need_terminal(instead: str) -> None:
    """Raises unless somebody is there to confirm; says what to do instead."""
    if not sys.stdin.isatty():
        raise LictorError(f"nobody is at a terminal to confirm; {instead}.")


def confirmed(word: str, what: str) -> bool:
    """Whether the person typed the word."""
    sys.stdout.write(f"\nType `{word}` to {word} {what}: ")
    sys.stdout.flush()
    return sys.stdin.readline().strip() == word
