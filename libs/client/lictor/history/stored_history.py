"""What is stored, as an agent or an operator reads it back: the same questions, two ways to ask them."""

from collections.abc import AsyncGenerator
from typing import Protocol

from pydantic import ValidationError

from lictor.errors import LictorError
from lictor_bus.gates.history import HistoryKind, PublishedKind
from lictor_bus.wire.delivery import Delivery
from lictor_schema.errors import describe_validation_error
from lictor_schema.gates.history import HistoryFilter, PublishedAnswer

EVERYTHING = HistoryFilter()


def messages_of(
    *, id_: str | None = None, task_id: str | None = None, with_gates: bool = False
) -> HistoryFilter:
    """Which messages; LictorError for an id that nothing can have, before anybody waits for it."""
    try:
        return HistoryFilter(id=id_, task_id=task_id, with_gates=with_gates)
    except ValidationError as error:
        told = "; ".join(f"{p.path} {p.problem}" for p in describe_validation_error(error))
        raise LictorError(f"nothing can be found: {told}.") from None


class StoredHistory(Protocol):
    """Reads what is stored."""

    def follow(
        self, kind: HistoryKind, only: HistoryFilter = EVERYTHING, *, from_start: bool
    ) -> AsyncGenerator[Delivery, None]:
        """Every message once and in order, for ever: all that are stored, or those stored from now on."""
        ...

    def read(
        self, kind: HistoryKind, only: HistoryFilter = EVERYTHING, *, after: int = 0
    ) -> AsyncGenerator[Delivery, None]:
        """Every message behind a sequence that is stored now; raises Unreachable when nobody says."""
        ...

    async def published(self, kind: PublishedKind, sequence: int) -> PublishedAnswer:
        """What became of a published message; raises Unreachable when nobody says."""
        ...
