"""How the story of `lictor demo` is shown: a live table at a terminal, else lines."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Protocol

from lictor.commands.decision_text import STYLES, cells, line
from lictor.commands.output import at_terminal, say
from lictor_schema import DecisionRecord


class StoryView(Protocol):
    """Something that shows a story as it unfolds."""

    def narrate(self, text: str) -> None:
        """What the agent does."""
        ...

    def see(self, record: DecisionRecord) -> None:
        """What was decided."""
        ...


@contextmanager
def story_view(*, silent: bool) -> Generator[StoryView, None, None]:
    """The view that fits where the output goes."""
    if silent:
        yield _Silence()
    elif not at_terminal():
        yield _Lines()
    else:
        with _live_table() as view:
            yield view


class _Silence:
    def narrate(self, text: str) -> None:
        pass

    def see(self, record: DecisionRecord) -> None:
        pass


class _Lines:
    def narrate(self, text: str) -> None:
        say(f"* {text}")

    def see(self, record: DecisionRecord) -> None:
        say(f"    {line(record, with_task=False)}")


@contextmanager
def _live_table() -> Generator[StoryView, None, None]:
    from rich.console import Group
    from rich.live import Live
    from rich.spinner import Spinner
    from rich.table import Column, Table
    from rich.text import Text

    table = Table(
        "time",
        "the agent",
        "decision",
        Column("why", overflow="fold"),
        box=None,
        header_style="bold",
        padding=(0, 2, 1, 0),
    )

    class View:
        told = ""

        def narrate(self, text: str) -> None:
            self.told = text
            live.update(Group(table, Spinner("dots", Text(text))), refresh=True)

        def see(self, record: DecisionRecord) -> None:
            time, disposition, event, rule, reason = cells(record)
            table.add_row(
                Text(time, style="dim"),
                # A decision that nothing was told about is on an event of the broker's timers.
                Text(self.told or event),
                Text(disposition, style=STYLES[record.decision.decision]),
                Text.assemble(reason, "\n", (rule, "dim")),
            )
            self.told = ""
            live.refresh()

    with Live(table, refresh_per_second=8) as live:
        yield View()
        live.update(table, refresh=True)
