"""What is halted: the log of operators' orders about sessions, and the kill-switch of governed decisions."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from nats.aio.client import Client

from lictor_bus.ledger import WholeLedger
from lictor_bus.logs.decision_log import DecisionLog
from lictor_bus.logs.entry_logs import read_log
from lictor_bus.names import streams, subjects
from lictor_schema.contracts.decision_log import SwitchEngaged
from lictor_schema.sessions.halt import HaltEntry, HaltTarget

_Key = tuple[str | None, ...]


def _key(target: HaltTarget) -> _Key:
    return target.scope, target.runtime, target.session_id, target.definition


@dataclass(frozen=True, slots=True)
class OrderedHalts:
    """What is halted by order, each with the order that counts."""

    _in_force: Mapping[_Key, HaltEntry] = field(default_factory=dict[_Key, HaltEntry])

    def after(self, entry: HaltEntry) -> "OrderedHalts":
        """The same after one more order."""
        target = _key(entry.target)
        others = {key: each for key, each in self._in_force.items() if key != target}
        return OrderedHalts({**others, target: entry} if entry.kind == "halted" else others)

    @property
    def orders(self) -> tuple[HaltEntry, ...]:
        """All of them."""
        return tuple(self._in_force.values())

    def halts(self, target: HaltTarget) -> bool:
        """Whether an order halts exactly this, not counting what else it is part of."""
        return _key(target) in self._in_force

    def of_session(
        self, runtime: str | None, session_id: str | None, definition: str | None
    ) -> tuple[HaltEntry, ...]:
        """The orders that halt a session of an agent definition; without a session, every one of the definition."""
        if not self._in_force:
            return ()
        keys: tuple[_Key, ...] = (
            ("session", runtime, session_id, None),
            ("agent", None, None, definition),
            ("all", None, None, None),
        )
        return tuple(self._in_force[key] for key in keys if key in self._in_force)


@dataclass(frozen=True, slots=True)
class HaltsInForce:
    """Everything that halts sessions."""

    ordered: OrderedHalts = OrderedHalts()
    switch: SwitchEngaged | None = None
    """The kill-switch, while it is engaged."""

    def of_session(
        self, runtime: str | None, session_id: str | None, definition: str | None
    ) -> tuple[HaltEntry | SwitchEngaged, ...]:
        """What halts a session; nothing, almost always."""
        found = self.ordered.of_session(runtime, session_id, definition)
        return found if self.switch is None else (*found, self.switch)


def fold_halts(entries: Iterable[HaltEntry]) -> OrderedHalts:
    """What is halted after these orders."""
    halts = OrderedHalts()
    for entry in entries:
        halts = halts.after(entry)
    return halts


HALTS = WholeLedger[HaltEntry, OrderedHalts](
    "halts",
    streams.SESSIONS,
    parse=HaltEntry.from_json,
    fold=fold_halts,
    subject_of=lambda _: subjects.HALTS,
    too_large="give a shorter reason",
)


async def ordered_halts(client: Client) -> tuple[OrderedHalts, int]:
    """What is halted by order, and the sequence of whatever is last in that log."""
    found = await read_log(
        client, streams.SESSIONS, subjects.HALTS, HaltEntry.from_json, HALTS.subject_of
    )
    return fold_halts(entry for _, entry in found.entries), found.last


async def engaged_switch(client: Client) -> tuple[SwitchEngaged | None, int]:
    """The kill-switch while it is engaged, and the sequence of whatever is last in its log."""
    log = DecisionLog(client)
    last = await log.last(subjects.SWITCH_KEY)
    engaged: SwitchEngaged | None = None
    for _, entry in await log.read(subjects.SWITCH_KEY, 0, last):
        if entry is not None:
            engaged = (engaged or entry) if isinstance(entry, SwitchEngaged) else None
    return engaged, last


async def halts_in_force(client: Client) -> HaltsInForce:
    """Everything that halts sessions now."""
    ordered, _ = await ordered_halts(client)
    switch, _ = await engaged_switch(client)
    return HaltsInForce(ordered, switch)
