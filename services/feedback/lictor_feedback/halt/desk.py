"""The desk where operators halt sessions and let them go on."""

from nats.aio.client import Client

from lictor_bus.logs.definitions import last_definition
from lictor_bus.logs.halts import HALTS, HaltsInForce, OrderedHalts
from lictor_bus.names import subjects
from lictor_bus.wire.appends import Appends
from lictor_feedback.halt.watch import HaltWatch
from lictor_feedback.session.engine import Engine, SessionOperation
from lictor_feedback.session.questions import Sessions
from lictor_feedback.session.store import StoreAway
from lictor_guard.errors import DefinitionError
from lictor_guard.session.halts import whom
from lictor_schema.contracts.decision_log import SwitchEngaged
from lictor_schema.sessions.halt import (
    HaltAnswer,
    HaltEntry,
    HaltNews,
    HaltNewsAnswer,
    HaltOrder,
    HaltTarget,
)


class HaltDesk:
    """Stores an order, sees to it that every gate holds to it, and notes it in the session's own log."""

    def __init__(
        self, client: Client, engine: Engine, sessions: Sessions, watch: HaltWatch
    ) -> None:
        self._client = client
        self._appends = Appends(client)
        self._engine = engine
        self._sessions = sessions
        self._watch = watch

    async def order(self, order: HaltOrder) -> HaltAnswer:
        """Halt something, or let it go on; asked again, an order is completed and changes nothing else."""
        unknown = await self._unknown(order)
        if unknown is not None:
            return HaltAnswer.refused(order.request_id, *unknown)

        def judge(halts: OrderedHalts) -> HaltEntry | None:
            entry = _entry(order, self._engine.now_us(), halts)
            return entry if order.order == "halted" or halts.halts(order.target) else None

        log = HALTS.log(self._client, subjects.HALTS)
        changed = await HALTS.change(self._appends, log, judge, entry_id=order.request_id)
        entry = changed.entry
        if entry is None:
            return HaltAnswer.refused(
                order.request_id,
                f"no order halts {_target(order)}",
                "see what is halted with `lictor session list`",
                "running",
            )
        if not _is_of(order, entry):
            return HaltAnswer.refused(
                order.request_id,
                f"{order.request_id} was used for another order ({entry.kind})",
                "give every order an id of its own",
            )
        await self._watch.announce()
        if order.target.scope == "session":
            await self._note(entry)
        halts = await self._watch.as_logged()
        is_halted = halts.ordered.halts(order.target)
        return HaltAnswer(
            request_id=order.request_id,
            outcome="done",
            state="halted" if is_halted else "running",
            sequence=changed.sequence,
            still=await self._still(order.target, halts),
        )

    async def news(self, news: HaltNews) -> HaltNewsAnswer:
        """The kill-switch was turned: no instance allows another call without having looked."""
        await self._watch.announce()
        return HaltNewsAnswer(request_id=news.request_id, known=True)

    async def _unknown(self, order: HaltOrder) -> tuple[str, str] | None:
        """Why there is nothing to halt: who mistypes a name must not believe that somebody was stopped."""
        if order.order == "resumed":
            return None
        if order.target.scope == "session":
            if await self._engine.log.begun(_key(order.target)) is not None:
                return None
            return f"{_target(order)} never began", "see which there are with `lictor session list`"
        if order.target.definition is None:
            return None
        if await last_definition(self._client, order.target.definition) is not None:
            return None
        return (
            f"no agent definition is called {order.target.definition!r}",
            "see which there are with `lictor agent list`",
        )

    async def _note(self, entry: HaltEntry) -> None:
        """In the log of the session, with which it is sealed; the store need not be there for it."""
        key = _key(entry.target)
        operation = SessionOperation[None](
            lambda session: session.names_for_halt_order(),
            lambda session, facts, now_us: session.note_halt(entry, facts, now_us),
        )
        try:
            await self._engine.change(key, operation)
        except StoreAway:
            await self._engine.append_blindly(key, operation)
        except DefinitionError:
            await self._engine.append_blindly(key, operation, self._sessions.stand_in())

    async def _still(self, target: HaltTarget, halts: HaltsInForce) -> tuple[str, ...]:
        """What else halts the same, in words."""
        definition = target.definition
        if target.scope == "session":
            found = await self._engine.log.begun(_key(target))
            definition = None if found is None else found[1].definition
        others = halts.of_session(target.runtime, target.session_id, definition)
        return tuple(
            f"{each.by} halted {whom(each)}: {each.reason}"
            for each in others
            if isinstance(each, SwitchEngaged) or each.target != target
        )


def _key(target: HaltTarget) -> str:
    return subjects.session_key(target.runtime or "", target.session_id or "")


def _entry(order: HaltOrder, now_us: int, halts: OrderedHalts) -> HaltEntry:
    before = (each.at_us for each in halts.orders)
    return HaltEntry(
        entry_id=order.request_id,
        kind=order.order,
        at_us=max((now_us, 1, *before)),
        target=order.target,
        by=order.by,
        reason=order.reason,
    )


def _is_of(order: HaltOrder, entry: HaltEntry) -> bool:
    """Whether it is the entry of this order, and of no other with its id."""
    return (order.order, order.target) == (entry.kind, entry.target)


def _target(order: HaltOrder) -> str:
    match order.target.scope:
        case "session":
            return f"session {order.target.session_id} of {order.target.runtime}"
        case "agent":
            return f"the sessions of agent {order.target.definition}"
        case "all":
            return "everything"
