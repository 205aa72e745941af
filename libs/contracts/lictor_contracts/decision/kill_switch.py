"""The kill-switch as a log of its own: who engaged it, who released it, and why."""

import uuid
from dataclasses import dataclass

from lictor_contracts.action.judgement import is_somebody
from lictor_contracts.decision.question_stamp import POLICY
from lictor_contracts.decision.state import Switch
from lictor_schema.contracts.decision_log import SwitchEngaged, SwitchReleased
from lictor_schema.contracts.decision_questions import ContractAnswer
from lictor_schema.core.canonical_json import canonical_json

# Random once, fixed for ever: changing it makes entries that are stored twice look like two.
_ENTRY = uuid.UUID("8e2b6f0a-54c1-4a8e-b6f3-90d7c51e3a26")


@dataclass(frozen=True, slots=True)
class Switched:
    """What comes of an order: an entry, if it changes anything, and the answer."""

    entry: SwitchEngaged | SwitchReleased | None
    answer: ContractAnswer


def halt(
    switch: Switch, *, request_id: str, by: str, reason: str, now_us: int, after: int
) -> Switched:
    """Engage the switch; engaged again, whatever was resumed or begun since is frozen too."""
    said = _unsaid(switch, "switch_engaged", request_id, by, reason)
    if said is not None:
        return said
    entry = SwitchEngaged(
        kind="switch_engaged",
        entry_id=_id("switch_engaged", request_id, after),
        at_us=max(now_us, switch.at_us, 1),
        request_id=request_id,
        by=by,
        reason=reason,
    )
    return Switched(entry, _done(request_id, "everything halts: active decisions are frozen"))


def release(
    switch: Switch, *, request_id: str, by: str, reason: str, now_us: int, after: int
) -> Switched:
    """Let decisions begin again; none of the frozen is resumed by it."""
    said = _unsaid(switch, "switch_released", request_id, by, reason)
    if said is not None:
        return said
    if switch.halted is None:
        return _refused(request_id, "the kill-switch is not engaged", "there is nothing to release")
    entry = SwitchReleased(
        kind="switch_released",
        entry_id=_id("switch_released", request_id, after),
        at_us=max(now_us, switch.at_us, 1),
        request_id=request_id,
        by=by,
        reason=reason,
    )
    told = "decisions may begin again; frozen ones are resumed one by one"
    return Switched(entry, _done(request_id, told))


def _unsaid(switch: Switch, kind: str, request_id: str, by: str, reason: str) -> Switched | None:
    before = switch.seen.get(request_id)
    if before not in (None, kind):
        told = f"{request_id} was used for another order ({before})"
        return _refused(request_id, told, "give every order an id of its own")
    if before is not None:
        return Switched(None, _done(request_id, "it was done before", duplicate=True))
    if not is_somebody(by):
        return _refused(request_id, "nobody stands for it", "say who orders it")
    if not reason.strip():
        return _refused(request_id, "no reason is given", "say why")
    return None


def _id(kind: str, request_id: str, after: int) -> str:
    return str(uuid.uuid5(_ENTRY, canonical_json([kind, request_id, after]).decode()))


def _done(request_id: str, reason: str, *, duplicate: bool = False) -> ContractAnswer:
    return ContractAnswer(request_id=request_id, ok=True, reason=reason, duplicate=duplicate)


def _refused(request_id: str, reason: str, remedy: str) -> Switched:
    answer = ContractAnswer(
        request_id=request_id,
        ok=False,
        reason=reason,
        remedy=remedy,
        policy_id=f"{POLICY}.switch",
    )
    return Switched(None, answer)
