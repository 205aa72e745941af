"""What `up` and `demo` show while things start, die, come back and stop."""

from types import TracebackType
from typing import TYPE_CHECKING, Self

from lictor_cli.output.terminal import at_terminal, say, say_json
from lictor_local.stack import StackEvent

if TYPE_CHECKING:
    from rich.status import Status


class StackProgress:
    """Lines as things happen; at a terminal also a spinner until `done`."""

    def __init__(self, *, as_json: bool, quiet: bool = False) -> None:
        self._as_json = as_json
        self._quiet = quiet
        self._status: Status | None = None
        if at_terminal() and not as_json:
            from rich.console import Console

            self._status = Console().status("starting")

    def __enter__(self) -> Self:
        if self._status is not None:
            self._status.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.done()

    def done(self) -> None:
        """Nothing is awaited any more."""
        if self._status is not None:
            self._status.stop()
            self._status = None

    def tell(self, happening: StackEvent) -> None:
        """Show one happening."""
        if self._as_json:
            if not self._quiet:
                say_json(
                    {
                        "what": happening.what,
                        "name": happening.name,
                        "detail": happening.detail,
                    }
                )
            return
        if self._status is not None and happening.what == "starting":
            self._status.update(f"starting {happening.name}")
            return
        if self._quiet and happening.what == "starting":
            return
        say(f"{happening.what:<9}  {happening.name:<16}  {happening.detail}".rstrip())
