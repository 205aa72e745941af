"""Done once: the same key and body get the first result, the same key and another body a conflict.

The body is everything of a contract but its action id, so a second try may carry an id of its own. Ids are never used
again for another body. A `Ledger` may hold all there is, or only the rows that one contract touches: its key's and its
action id's. The shell loads those two, asks, and stores what changed.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from types import MappingProxyType

from lictor_contracts.errors import ResultConflict
from lictor_schema.contracts.action import SafeActionContract
from lictor_schema.core.canonical_json import content_hash


class KeyState(StrEnum):
    """What is known of an action when it is asked for."""

    FIRST = "first"
    IN_FLIGHT = "in_flight"
    DONE = "done"
    CONFLICT = "conflict"


@dataclass(frozen=True, slots=True)
class KeyUse:
    """What is known of a key: the first action that used it, and its result once there is one."""

    action_id: str
    body_hash: str
    result: str | None = None


@dataclass(frozen=True, slots=True)
class KnownKeys:
    """What was asked for up to now."""

    claims: Mapping[str, KeyUse] = field(default_factory=dict[str, KeyUse])
    """By idempotency key."""
    bodies: Mapping[str, str] = field(default_factory=dict[str, str])
    """The body each action id stands for."""


@dataclass(frozen=True, slots=True)
class KeyAnswer:
    """What to do with the action: only `first` is carried out."""

    standing: KeyState
    result: str | None = None
    """The first result, exactly for `done`."""
    message: str | None = None
    """What is in the way and what to do, exactly for `conflict`."""


def key_of(contract: SafeActionContract) -> str:
    """What all tries of an action have in common: its key, or its own id where the envelope demands no key."""
    key = contract.idempotency_key
    # No key that anybody would give begins so; one that does stands for another body, which is a conflict.
    return f"\0{contract.action_id}" if key is None else key


def body_hash(contract: SafeActionContract) -> str:
    """The name of what a contract does, whatever its action id."""
    told = contract.model_dump(mode="json", by_alias=True)
    del told["actionId"]
    return content_hash(told)


def ask(ledger: KnownKeys, contract: SafeActionContract) -> tuple[KnownKeys, KeyAnswer]:
    """Ask to carry out an action; a conflict changes nothing."""
    body, key, action_id = body_hash(contract), key_of(contract), contract.action_id
    if ledger.bodies.get(action_id, body) != body:
        return ledger, _conflict(
            f"actionId: {action_id} stands for another action; give this one an id of its own"
        )
    known = ledger.claims.get(key)
    if known is not None and known.body_hash != body:
        return ledger, _conflict(
            f"idempotencyKey: {key} was used for another action ({known.action_id}); give this one"
            " a key of its own, or ask for exactly that one"
        )
    bodies = MappingProxyType({**ledger.bodies, action_id: body})
    if known is None:
        claims = MappingProxyType({**ledger.claims, key: KeyUse(action_id, body)})
        return KnownKeys(claims, bodies), KeyAnswer(KeyState.FIRST)
    ledger = replace(ledger, bodies=bodies)
    if known.result is None:
        return ledger, KeyAnswer(KeyState.IN_FLIGHT)
    return ledger, KeyAnswer(KeyState.DONE, known.result)


def finish(ledger: KnownKeys, contract: SafeActionContract, result: str) -> KnownKeys:
    """Note the result of an action; telling it again is fine, telling another is refused."""
    key, body = key_of(contract), body_hash(contract)
    known = ledger.claims.get(key)
    if known is None or known.body_hash != body:
        raise ResultConflict(
            f"idempotencyKey: {key} was not asked for with this action; ask before it is done"
        )
    if known.result is not None and known.result != result:
        raise ResultConflict(f"idempotencyKey: {key} has another result; the first one stays")
    claims = MappingProxyType({**ledger.claims, key: replace(known, result=result)})
    return replace(ledger, claims=claims)


def _conflict(message: str) -> KeyAnswer:
    return KeyAnswer(KeyState.CONFLICT, message=message)
