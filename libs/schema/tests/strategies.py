"""Hypothesis strategies for every canonical model, derived from the models themselves.

`instances(Model)` draws valid instances. Only rules between fields are spelled out, in `_RULES`.
"""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, cast, get_args, get_origin

from hypothesis import strategies as st
from pydantic import BaseModel, JsonValue

from lictor_schema.approvals.approval import (
    ApprovalDecision,
    ApprovalEntry,
    ApprovalRequest,
    ApprovalState,
    guarantees_hash,
)
from lictor_schema.approvals.approval_policy import (
    ApprovalPolicy,
    PolicyConditions,
    PolicyRule,
    ValueCondition,
)
from lictor_schema.approvals.call_approval import (
    CallApprovalRequest,
    asks_hash,
    params_hash,
    resources_hash,
)
from lictor_schema.contracts.action import Precondition
from lictor_schema.contracts.cerpa_cycle import (
    CerpaApplyResult,
    CerpaCycle,
    CerpaPatch,
    CerpaReview,
    CycleStatus,
    PatchAction,
    Verdict,
)
from lictor_schema.contracts.coherence_report import (
    CoherenceAnswer,
    CoherenceReport,
    Share,
    SloName,
    SloResult,
    SloVerdict,
)
from lictor_schema.contracts.drift import DriftSeverity, TriageEntry, TriageState
from lictor_schema.contracts.envelope import DTE, DegradeRung, DegradeStep
from lictor_schema.contracts.patch import (
    ApprovalRule,
    PatchEntry,
    PatchOperation,
    PatchProposal,
    PatchState,
)
from lictor_schema.contracts.verification import Verification, VerificationResult
from lictor_schema.core.base_model import MAX_SAFE_INTEGER, Model
from lictor_schema.core.canonical_json import content_hash
from lictor_schema.core.ids import approval_request_id, call_request_id
from lictor_schema.decisions.adapter_capabilities import Capability, CapabilityLevel
from lictor_schema.decisions.decision import Disposition
from lictor_schema.decisions.receipt import (
    ALLOWED_DELIVERY_STATES,
    DeliveryReceipt,
    DeliveryState,
    ReceiptAnswer,
    ReceiptReport,
    ReceiptStatus,
)
from lictor_schema.events.event import TaskEvidenceAttached
from lictor_schema.events.operator_context import EvidenceRef
from lictor_schema.gates.gate import GateAnswer
from lictor_schema.gates.history import HistoryAnswer
from lictor_schema.packs.overlay import MAX_WINDOW, WindowSpec
from lictor_schema.packs.pack import LICTOR_V1, Condition, PolicyPack, Spec, Triggers
from lictor_schema.packs.temporal_conditions import (
    Before,
    CountOf,
    Moment,
    Previous,
    SinceLast,
    TotalOf,
)
from lictor_schema.proofs.inputs import Inputs, written_inputs
from lictor_schema.proofs.proof import ProofResult, ProofVerdict
from lictor_schema.seals.correction import CorrectionAnswer
from lictor_schema.seals.episode import DecisionEpisode, OutcomeCode, Telemetry
from lictor_schema.seals.episode_sources import Correction
from lictor_schema.seals.seal import Seal, SealedEpisode
from lictor_schema.services.desk_answer import DeskAnswer
from lictor_schema.sessions.session_questions import Resource, RestoreRequest, ToolGateAnswer

M = TypeVar("M", bound=Model)
Fields = dict[str, Any]

_MAX_DRAWN_ITEMS = 2
_MAX_DRAWN_TEXT = 12

# Lone surrogates are no text; everything else is.
CHARACTERS = st.characters(exclude_categories=["Cs"])

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-MAX_SAFE_INTEGER, MAX_SAFE_INTEGER)
    | st.text(CHARACTERS, max_size=_MAX_DRAWN_TEXT)
)

TIMES = st.builds(
    lambda moment, minutes: moment.replace(tzinfo=timezone(timedelta(minutes=minutes))),
    st.datetimes(datetime(1971, 1, 1), datetime(2998, 12, 31)),  # noqa: DTZ001 -- zoned above
    st.integers(-14 * 60, 14 * 60),
)

UTC_TIMES = st.datetimes(
    datetime(1971, 1, 1),  # noqa: DTZ001 -- hypothesis wants naive bounds
    datetime(2998, 12, 31),  # noqa: DTZ001
    timezones=st.just(UTC),
)

DOUBLES = st.floats(allow_nan=False, allow_infinity=False).filter(
    lambda number: (
        not 2**53 - 1 < abs(number) < 1e21
    )  # refused: they would be written as unsafe integers
)
FINITE_JSON = st.recursive(
    SCALARS | DOUBLES,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(CHARACTERS, max_size=_MAX_DRAWN_TEXT), inner, max_size=4)
    ),
    max_leaves=20,
)
"""JSON values that have a canonical form."""


GIVEN = st.dictionaries(
    st.text(CHARACTERS, min_size=1, max_size=_MAX_DRAWN_TEXT),
    st.booleans()
    | st.integers(-(2**60), 2**60)
    | st.floats()
    | st.text(st.characters(max_codepoint=0x2FFFF, exclude_categories=["Cs"]), max_size=12),
    min_size=1,
    max_size=_MAX_DRAWN_ITEMS,
).map(written_inputs)
"""Values of a program's parameters."""


def instances(model: type[M]) -> st.SearchStrategy[M]:
    """Valid instances of a model."""
    if issubclass(model, Condition):
        return cast("st.SearchStrategy[M]", CONDITIONS)
    return _cached_fields(model).map(lambda drawn: model(**drawn))


def fields(model: type[Model]) -> st.SearchStrategy[Fields]:
    """Keyword arguments that make a valid instance of a model."""
    drawn = st.fixed_dictionaries(
        {
            name: _annotated(field.annotation, tuple(field.metadata))
            for name, field in model.model_fields.items()
        }
    )
    rule = next((_RULES[base] for base in model.__mro__ if base in _RULES), None)
    return drawn.map(rule) if rule else drawn


# Building a strategy costs far more than drawing from it.
_cached_fields = cache(fields)


def _of(annotation: Any, constraints: Fields | None = None) -> st.SearchStrategy[Any]:
    if annotation == Inputs:
        return GIVEN
    limits = constraints or {}
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _annotated(arguments[0], arguments[1:])
    if annotation is JsonValue:
        return FINITE_JSON
    if annotation is Any:
        return SCALARS
    if origin in (Union, UnionType):
        return st.one_of(*(_of(member) for member in arguments))
    if origin is Literal:
        return st.sampled_from(arguments)
    if origin is tuple and arguments[-1] is not ...:
        return st.tuples(*(_of(each) for each in arguments))
    if origin is tuple:
        least = limits.get("min_length") or 0
        items = st.lists(_of(arguments[0]), min_size=least, max_size=max(least, _MAX_DRAWN_ITEMS))
        return items.map(tuple)
    if origin is dict:
        least = limits.get("min_length") or 0
        return st.dictionaries(
            _of(arguments[0]), _of(arguments[1]), min_size=least, max_size=_MAX_DRAWN_ITEMS
        )
    if annotation is str:
        return _texts(limits)
    if annotation is bool:
        return st.booleans()
    if annotation is int:
        return st.integers(limits.get("ge", -MAX_SAFE_INTEGER), limits.get("le", MAX_SAFE_INTEGER))
    if annotation is float:
        return st.floats(limits.get("ge"), limits.get("le"), allow_nan=False, allow_infinity=False)
    if annotation is NoneType:
        return st.none()
    if issubclass(annotation, Enum):
        return st.sampled_from(annotation)
    if issubclass(annotation, Model):
        # Some models hold others of their own kind.
        return st.deferred(lambda: instances(annotation))
    raise NotImplementedError(f"no strategy for {annotation}")


def _annotated(annotation: Any, marks: tuple[Any, ...]) -> st.SearchStrategy[Any]:
    kinds = {type(mark).__name__ for mark in marks}
    if "_Rfc3339" in kinds:
        return TIMES
    if "_ScalarSchema" in kinds:
        return SCALARS
    limits: Fields = {}
    for mark in marks:
        # FieldInfo keeps its constraints one level down.
        for source in (mark, *getattr(mark, "metadata", ())):
            for name in ("min_length", "max_length", "pattern", "ge", "le"):
                value = getattr(source, name, None)
                if value is not None:
                    limits[name] = value
    return _of(annotation, limits)


def _texts(limits: Fields) -> st.SearchStrategy[str]:
    pattern = limits.get("pattern")
    if pattern is not None:
        # Drawn as a time: the pattern alone would also match a 31st of February.
        if "T(" in pattern:
            return UTC_TIMES.map(
                lambda t: t.strftime("%Y-%m-%dT%H:%M:%S.") + f"{t.microsecond // 1000:03d}Z"
            )
        longest = limits.get("max_length") or MAX_SAFE_INTEGER
        return st.from_regex(pattern.removesuffix("$") + r"\Z").filter(
            lambda text: len(text) <= longest
        )
    return st.text(
        CHARACTERS,
        min_size=limits.get("min_length") or 0,
        max_size=min(limits.get("max_length") or _MAX_DRAWN_TEXT, _MAX_DRAWN_TEXT),
    )


def _receipt(drawn: Fields) -> Fields:
    allowed = ALLOWED_DELIVERY_STATES[drawn["status"]]
    state = drawn["delivery_state"] if drawn["delivery_state"] in allowed else allowed[0]
    if state is DeliveryState.PARTIAL and not (
        drawn["blocked_actions"] and drawn["enforcement_intent"]
    ):
        state = next(other for other in reversed(allowed) if other is not DeliveryState.PARTIAL)
    return {**drawn, "delivery_state": state}


def _receipt_report(drawn: Fields) -> Fields:
    receipt = drawn["receipt"]
    if receipt.status is not ReceiptStatus.ACKED:
        return drawn
    proof = drawn["proof"] or EvidenceRef(kind="message", ref="m1")
    receipt = receipt.model_copy(update={"blocked_actions": ()})
    return {
        **drawn,
        "receipt": receipt,
        "proof": proof,
        "message_sent": drawn["message_sent"] or "told",
    }


def _receipt_answer(drawn: Fields) -> Fields:
    if drawn["outcome"] == "refused":
        field, reason = drawn["field"] or "receipt", drawn["reason"] or "no"
        return {**drawn, "sequence": None, "field": field, "reason": reason}
    return {**drawn, "sequence": drawn["sequence"] or 1, "field": None, "reason": None}


def _history_answer(drawn: Fields) -> Fields:
    if drawn["policy_id"] is None:
        return {**drawn, "reason": None, "remedy": None}
    told = {name: drawn[name] or "so" for name in ("reason", "remedy")}
    return {**drawn, **told, "messages": ()}


def _capability(drawn: Fields) -> Fields:
    return {**drawn, "supported": drawn["level"] is not CapabilityLevel.NONE}


def _rung(drawn: Fields) -> Fields:
    bypass = drawn["step"] is DegradeStep.BYPASS
    return {**drawn, "approver": drawn["approver"] or "lead"} if bypass else drawn


def _dte(drawn: Fields) -> Fields:
    rungs = {rung.step: rung for rung in drawn["degrade_ladder"]}
    rungs.setdefault(DegradeStep.ABSTAIN, DegradeRung(step=DegradeStep.ABSTAIN))
    budgets = drawn["stage_budgets_ms"]
    if budgets.total > drawn["deadline_ms"]:
        budgets = type(budgets)(context=0, plan=0, act=drawn["deadline_ms"], verify=0)
    return {**drawn, "degrade_ladder": tuple(rungs.values()), "stage_budgets_ms": budgets}


def _precondition(drawn: Fields) -> Fields:
    return {**drawn, "values": (drawn["values"] or (1,)) if drawn["operator"] == "in" else None}


def _verification(drawn: Fields) -> Fields:
    needs_method = drawn["result"] is not VerificationResult.NA
    return {**drawn, "method": drawn["method"] or "read_after_write"} if needs_method else drawn


def _telemetry(drawn: Fields) -> Fields:
    return {**drawn, "fallback_used": drawn["fallback_step"] is not None}


def _episode(drawn: Fields) -> Fields:
    code, verification = drawn["outcome"].code, drawn["verification"]
    if drawn["degrade"].step is DegradeStep.ABSTAIN:
        code = OutcomeCode.ABSTAIN
    elif verification.required and verification.result is not VerificationResult.PASS:
        code = OutcomeCode.FAIL
    elif drawn["refused_actions"] and code is OutcomeCode.SUCCESS:
        code = OutcomeCode.PARTIAL
    first, last = sorted((drawn["started_at"], drawn["ended_at"]))
    outcome = drawn["outcome"].model_copy(update={"code": code})
    return {**drawn, "outcome": outcome, "started_at": first, "ended_at": last}


def _sealed(drawn: Fields) -> Fields:
    if drawn["seal"].version == 1:
        return {**_episode(drawn), "correction": None}
    correction = drawn["correction"] or Correction(
        request_id="6f1c1f3e-0000-5000-8000-000000000001",
        by="ops",
        reason="a receipt came late",
        ordered_at="2026-01-31T12:00:00.000Z",
        late=1,
    )
    return {**_episode(drawn), "correction": correction}


def _seal(drawn: Fields) -> Fields:
    return {**drawn, "version": 1 if drawn["previous_hash"] is None else max(2, drawn["version"])}


def _review(drawn: Fields) -> Fields:
    aligned = drawn["verdict"] is Verdict.ALIGNED
    severity = None if aligned else drawn["severity"] or DriftSeverity.RED
    return {**drawn, "drift_detected": not aligned, "severity": severity}


def _apply_result(drawn: Fields) -> Fields:
    return {**drawn, "reason": drawn["reason"] or "the pack was locked"}


def _patch(drawn: Fields) -> Fields:
    proposal = drawn["proposal"]
    if proposal is None:
        return drawn
    return {**drawn, "diff": proposal.diff, "loosens_safety": bool(proposal.loosens)}


def _operation(drawn: Fields) -> Fields:
    absent = {"insert": "old", "remove": "new"}.get(drawn["op"])
    return drawn if absent is None else {**drawn, absent: None}


def _proposal(drawn: Fields) -> Fields:
    return {**drawn, "approval": ApprovalRule.HUMAN} if drawn["loosens"] else drawn


def _patch_entry(drawn: Fields) -> Fields:
    reason = drawn["reason"] or "so it was"
    if drawn["request"] is not None or drawn["proposal"] is not None:
        return {**drawn, "state": PatchState.PROPOSED, "approval": None, "applied": None}
    if drawn["applied"] is not None:
        return {**drawn, "state": PatchState.APPLIED, "approval": None}
    if drawn["approval"] is not None:
        return {**drawn, "state": PatchState(drawn["approval"].decision), "reason": reason}
    return {**drawn, "state": PatchState.FAILED, "reason": reason}


def _triage_entry(drawn: Fields) -> Fields:
    event = drawn["event"]
    if event is not None:
        return {**drawn, "state": TriageState.NEW, "drift_id": event.drift_id}
    new = drawn["state"] is TriageState.NEW
    return {**drawn, "state": TriageState.TRIAGED} if new else drawn


def _coherence_answer(drawn: Fields) -> Fields:
    if drawn["report"] is not None:
        return {**drawn, "problem": None}
    return {**drawn, "problem": drawn["problem"] or "the streams are away"}


def _desk_answer(drawn: Fields) -> Fields:
    if drawn["outcome"] == "done":
        return {**drawn, "reason": None, "remedy": None}
    return {**drawn, "reason": drawn["reason"] or "no", "remedy": drawn["remedy"] or "ask again"}


def _cycle(drawn: Fields) -> Fields:
    if drawn["review"].verdict is Verdict.ALIGNED:
        return {**drawn, "patch": None, "apply_result": None, "status": CycleStatus.ALIGNED}
    if drawn["patch"] is None:
        return {**drawn, "apply_result": None, "status": CycleStatus.MISMATCHED}
    result = drawn["apply_result"]
    if result is not None and drawn["review"].severity is DriftSeverity.RED:
        # A new form of the claim alone settles nothing that is red.
        by_claim = result.settled_by == "claim"
        how = "second_person" if by_claim else result.settled_by
        result = result.model_copy(update={"settled_by": how})
        drawn = {**drawn, "apply_result": result}
    if result is not None and result.success:
        return {**drawn, "status": CycleStatus.APPLIED}
    escalates = drawn["patch"].action is PatchAction.ESCALATE
    return {**drawn, "status": CycleStatus.ESCALATED if escalates else CycleStatus.PATCHED}


def _share(drawn: Fields) -> Fields:
    part, whole = sorted((drawn["part"], drawn["whole"]))
    return {"part": part, "whole": whole}


def _slo(drawn: Fields) -> Fields:
    if drawn["verdict"] is SloVerdict.NOT_MEASURED:
        return {**drawn, "share": None, "worst_ms": None}
    return {**drawn, "worst_ms": drawn["worst_ms"] or 0}


def _coherence(drawn: Fields) -> Fields:
    first, last = sorted((drawn["measured_from"], drawn["measured_to"]))
    results = zip(SloName, drawn["slos"], strict=True)
    slos = tuple(each.model_copy(update={"slo": name}) for name, each in results)
    return {**drawn, "measured_from": first, "measured_to": last, "slos": slos}


def _proof(drawn: Fields) -> Fields:
    drawn = {**drawn, "executable": drawn["executable"] and drawn["cannot_run"] is None}
    if drawn["reasons"]:
        drawn = {**drawn, "certificate_hash": None, "certificate_level": None, "rehearsal": None}
        failed = drawn["verdict"] is not ProofVerdict.PROVED
        return drawn if failed else {**drawn, "verdict": ProofVerdict.UNKNOWN}
    level = None if drawn["certificate_hash"] is None else drawn["certificate_level"] or "c"
    return {
        **drawn,
        "verdict": ProofVerdict.PROVED,
        "guarantees": (),
        "certificate_level": level,
    }


def _value_condition(drawn: Fields) -> Fields:
    named = tuple(each for each in drawn["one_of"] or () if each is not None) or None
    drawn = {**drawn, "one_of": named}
    others = [drawn[name] for name in ("one_of", "at_least", "at_most")]
    return {**drawn, "any": True if all(each is None for each in others) else None}


def _policy_rule(drawn: Fields) -> Fields:
    return {**drawn, "decision": "ask"}


def _approval_policy(drawn: Fields) -> Fields:
    return {**drawn, "rules": drawn["rules"][:1]}


def _policy_conditions(drawn: Fields) -> Fields:
    return {**drawn, "certificate": True}


def _approval_request(drawn: Fields) -> Fields:
    proved = tuple(
        each.model_copy(update={"verdict": ProofVerdict.PROVED}) for each in drawn["guarantees"]
    )
    binding = drawn["binding"].model_copy(
        update={
            "guarantees_hash": guarantees_hash(proved),
            "coverage_hash": content_hash(drawn["coverage"]),
        }
    )
    return {
        **drawn,
        "guarantees": proved,
        "request_id": approval_request_id(binding.submission_id, content_hash(binding)),
        "binding": binding,
        "binding_hash": content_hash(binding),
    }


def _call_approval_request(drawn: Fields) -> Fields:
    binding = drawn["binding"].model_copy(
        update={
            "params_hash": params_hash(drawn["params"]),
            "resources_hash": resources_hash(drawn["resources"]),
            "asks_hash": asks_hash(drawn["asks"]),
        }
    )
    binding_hash = content_hash(binding)
    bound = {"binding": binding, "binding_hash": binding_hash}
    return {**drawn, **bound, "request_id": call_request_id(binding_hash)}


def _approval_decision(drawn: Fields) -> Fields:
    what, terms = drawn["decision"], ("scope", "params", "may_ask_again", "delegate")
    said = {
        **drawn,
        **dict.fromkeys(terms),
        "reason": drawn["reason"] or "so it was",
        "decided_at": "2026-01-31T12:00:00.000Z",
        "expires_at": "2026-01-31T12:10:00.000Z",
    }
    if what == "delegate":
        return {**said, "delegate": drawn["delegate"] or "bob"}
    if what == "reject":
        return {**said, "may_ask_again": drawn["may_ask_again"]}
    term = "scope" if drawn["scope"] is not None else "params"
    return {**said, term: drawn[term]}


def _approval_entry(drawn: Fields) -> Fields:
    said = {**drawn, "request": None, "signed": None, "execution": None}
    said["reason"] = drawn["reason"] or "so it was"
    if drawn["request"] is not None:
        named = drawn["request"].request_id
        asked = {"state": ApprovalState.REQUESTED, "request": drawn["request"]}
        runtime = drawn["request"].binding.runtime
        return {**said, **asked, "request_id": named, "runtime": runtime}
    if drawn["signed"] is not None:
        signed = drawn["state"] in (ApprovalState.ENDORSED, ApprovalState.DELEGATED)
        state = drawn["state"] if signed else ApprovalState.APPROVED
        return {**said, "state": state, "signed": drawn["signed"]}
    if drawn["execution"] is not None:
        call = drawn["state"] in (ApprovalState.CALLING, ApprovalState.CALL_FAILED)
        state = drawn["state"] if call else ApprovalState.FAILED
        return {**said, "state": state, "execution": drawn["execution"]}
    return {**said, "state": ApprovalState.STALE}


def _answer(drawn: Fields) -> Fields:
    message = (drawn["message"] or "") if drawn["decision"] == "rewrite" else None
    return {**drawn, "message": message, "remedy": drawn["remedy"] or "attach evidence"}


def _tool_answer(drawn: Fields) -> Fields:
    asks = drawn["decision"] == "ask" and drawn["approval"] is None
    return _answer({**drawn, "decision": "deny"} if asks else drawn)


def _evidence_event(drawn: Fields) -> Fields:
    items = tuple(
        item.model_copy(update={"task_id": drawn["task_id"]}) for item in drawn["payload"].items
    )
    return {**drawn, "payload": type(drawn["payload"])(items=items)}


def _resource(drawn: Fields) -> Fields:
    resolved = drawn["key"] is not None
    return {**drawn, "problem": None if resolved else drawn["problem"] or "it leads nowhere"}


def _restore(drawn: Fields) -> Fields:
    if drawn["document"] is not None:
        return {**drawn, "snapshot_id": None}
    return {**drawn, "snapshot_id": drawn["snapshot_id"] or "before"}


VALUES = st.booleans() | st.integers(-100, 100) | st.text(CHARACTERS, max_size=_MAX_DRAWN_TEXT)
CONDITIONS = st.recursive(
    st.builds(
        lambda fact, comparator, value: Condition(fact=fact, **{comparator: value}),
        st.text(CHARACTERS, min_size=1, max_size=_MAX_DRAWN_TEXT),
        st.sampled_from(["equals", "not_equals", "greater_than", "less_than", "contains"]),
        VALUES,
    )
    | st.sampled_from(
        [
            Condition(count=CountOf(event="task_started", within="10m"), greater_than=2),
            Condition(since=SinceLast(decision=Disposition.BLOCK), less_than="1h"),
            Condition(total=TotalOf(of="evidence_items"), equals=3),
            Condition(
                before=Before(
                    first="task_started",
                    then=Moment(event="task_checkpoint_sent", where={"operator_visible": True}),
                )
            ),
            Condition(previous=Previous(event="silence_timeout")),
        ]
    )
    | st.builds(
        lambda values: Condition(fact="task.mode", one_of=tuple(values)),
        st.lists(VALUES, min_size=1, max_size=_MAX_DRAWN_ITEMS),
    ),
    lambda inner: (
        inner.map(lambda part: Condition(negated=part))
        | st.lists(inner, min_size=1, max_size=3).map(lambda parts: Condition(all_of=tuple(parts)))
        | st.lists(inner, min_size=1, max_size=3).map(lambda parts: Condition(any_of=tuple(parts)))
    ),
    max_leaves=4,
)


def _triggers(drawn: Fields) -> Fields:
    return {**drawn, "derived_signals": drawn["derived_signals"] or ("checkpoint_overdue",)}


def _spec(drawn: Fields) -> Fields:
    return {**drawn, "extends": drawn["extends"] or (() if drawn["rules"] else ("base",))}


def _pack(drawn: Fields) -> Fields:
    return {**drawn, "api_version": LICTOR_V1}


def _window(drawn: Fields) -> Fields:
    starts = drawn["starts_at"]
    return {**drawn, "ends_at": starts + MAX_WINDOW, "rules": drawn["rules"] or ("a.rule",)}


_RULES: dict[type[BaseModel], Callable[[Fields], Fields]] = {
    CerpaApplyResult: _apply_result,
    CerpaCycle: _cycle,
    CerpaPatch: _patch,
    CerpaReview: _review,
    Capability: _capability,
    CoherenceAnswer: _coherence_answer,
    CoherenceReport: _coherence,
    DTE: _dte,
    DecisionEpisode: _episode,
    DegradeRung: _rung,
    DeliveryReceipt: _receipt,
    CorrectionAnswer: _desk_answer,
    DeskAnswer: _desk_answer,
    GateAnswer: _answer,
    CallApprovalRequest: _call_approval_request,
    ToolGateAnswer: _tool_answer,
    ApprovalDecision: _approval_decision,
    ApprovalEntry: _approval_entry,
    ApprovalPolicy: _approval_policy,
    ApprovalRequest: _approval_request,
    PolicyConditions: _policy_conditions,
    PolicyRule: _policy_rule,
    PatchEntry: _patch_entry,
    PatchOperation: _operation,
    PatchProposal: _proposal,
    PolicyPack: _pack,
    Precondition: _precondition,
    ProofResult: _proof,
    ValueCondition: _value_condition,
    HistoryAnswer: _history_answer,
    ReceiptAnswer: _receipt_answer,
    ReceiptReport: _receipt_report,
    Resource: _resource,
    RestoreRequest: _restore,
    Seal: _seal,
    SealedEpisode: _sealed,
    Share: _share,
    SloResult: _slo,
    Spec: _spec,
    TaskEvidenceAttached: _evidence_event,
    Telemetry: _telemetry,
    TriageEntry: _triage_entry,
    Triggers: _triggers,
    Verification: _verification,
    WindowSpec: _window,
}
