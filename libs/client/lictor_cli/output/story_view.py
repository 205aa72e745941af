"""How the story of `lictor demo` is shown: at a terminal row by row, with what happens now below, else as lines."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Protocol

from lictor.history.stored_decisions import AnyDecision
from lictor_cli.decision.line import line, say_decision, what
from lictor_cli.output.terminal import at_terminal, say


class StoryView(Protocol):
    """Something that shows a story as it unfolds."""

    def narrate(self, text: str) -> None:
        """What the agent does."""
        ...

    def see(self, record: AnyDecision) -> None:
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
        with _live_rows() as view:
            yield view


class _Silence:
    def narrate(self, text: str) -> None:
        pass

    def see(self, record: AnyDecision) -> None:
        pass


class _Lines:
    def narrate(self, text: str) -> None:
        say(f"* {text}")

    def see(self, record: AnyDecision) -> None:
        say(f"    {line(record, with_task=False)}")


@contextmanager
def _live_rows() -> Generator[StoryView, None, None]:
    from rich.console import Console
    from rich.text import Text

    # Only what happens now is redrawn: a table that grows past the screen would hide its newest rows.
    console = Console()
    status = console.status("")

    class View:
        told = ""

        def narrate(self, text: str) -> None:
            self.told = text
            status.update(Text(text))
            status.start()

        def see(self, record: AnyDecision) -> None:
            status.stop()
            # A decision that nothing was told about is on an event of the broker's timers.
            say_decision(record, self.told or what(record))
            say()
            self.told = ""

    with status:
        yield View()
