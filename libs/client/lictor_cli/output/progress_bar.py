"""A bar on stderr while much is read; nothing where nobody looks."""

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager


@contextmanager
def counting(what: str, total: int, *, quiet: bool = False) -> Generator[Callable[[], None]]:
    """Gives what to call for each of them."""
    if quiet or not sys.stderr.isatty():
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
    from rich.progress import TimeRemainingColumn as Remaining

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), Remaining())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=total)
        yield lambda: bar.advance(task)
