"""Envelopes, signals, situations and actions for the tests of contracts, fixed and drawn."""

from typing import Any

from hypothesis import strategies as st
from strategies import instances

from lictor_contracts.envelope.bounds import LIMITS, STAGES, BoundViolation, Envelope, Signals
from lictor_contracts.envelope.ladder import LadderInput
from lictor_schema.contracts.action import SafeActionContract
from lictor_schema.contracts.envelope import DTE, BlastRadius, DegradeStep
from lictor_schema.contracts.verification import VerificationResult
from lictor_schema.core.canonical_json import canonical_json

NOW = 1_700_000_000_000_000
MS = 1000

DTE_FIELDS: dict[str, Any] = {
    "decisionType": "refund",
    "version": "1.0.0",
    "deadlineMs": 120,
    "stageBudgetsMs": {"context": 40, "plan": 40, "act": 30, "verify": 10},
    "freshness": {"defaultTtlMs": 500, "featureTtls": {"priceFeed": 250}},
    "limits": {"maxHops": 3, "maxFanout": 4, "maxToolCalls": 10, "maxChainDepth": 5},
    "degradeLadder": [
        {"step": "cache_bundle", "maxExtraMs": 20},
        {"step": "small_model", "maxExtraMs": 15},
        {"step": "rules_only", "maxExtraMs": 5},
        {"step": "hitl"},
        {"step": "bypass", "approver": "head-of-ops"},
        {"step": "abstain"},
    ],
    "verification": {
        "requiredAboveBlastRadius": "small",
        "methods": ["read_after_write", "invariant_check"],
        "verifyTimeoutMs": 8,
    },
    "safeAction": {
        "requireIdempotency": True,
        "requireRollbackAbove": "small",
        "blastRadiusMax": "large",
        "allowedActionTypes": ["refund", "note"],
    },
}

ACTION_FIELDS: dict[str, Any] = {
    "actionId": "a-1",
    "actionType": "refund",
    "blastRadiusTier": "small",
    "targetRefs": [{"type": "order", "id": "o-1"}],
    "constraints": {},
    "authorization": {"mode": "auto"},
    "idempotencyKey": "k-1",
    "rollbackPlan": {"type": "compensate"},
}


def dte(**changes: Any) -> DTE:
    """The envelope of these tests with some fields, at the wire's names, changed."""
    return DTE.from_json(canonical_json({**DTE_FIELDS, **changes}))


def envelope(**changes: Any) -> Envelope:
    return Envelope.of(dte(**changes))


def action(**changes: Any) -> SafeActionContract:
    """The action of these tests with some fields, at the wire's names, changed."""
    return SafeActionContract.from_json(canonical_json({**ACTION_FIELDS, **changes}))


CLEAN = Signals(
    now_us=NOW,
    elapsed_ms=100,
    stage_ms={"context": 30, "plan": 30, "act": 30, "verify": 10},
    captured_at_us={"priceFeed": NOW - 100 * MS, "profile": NOW - 400 * MS},
    counts={"hops": 1, "fanout": 2, "tool_calls": 3, "chain_depth": 4},
)


def signals(**changes: Any) -> Signals:
    return CLEAN._replace(**changes)


UNUSABLE = [
    None,
    -1,
    -0.5,
    float("nan"),
    float("inf"),
    float("-inf"),
    True,
    False,
    "5",
    "",
    [],
    2**53,
    10**400,
]
"""What is no measure of anything."""

ENVELOPES = instances(DTE).map(Envelope.of)
ACTIONS = instances(SafeActionContract)
TIERS = st.sampled_from(BlastRadius)
PEOPLE = st.sampled_from(["ada", "bob", "cy", "Ada ", "agent-7", ""])

_AMOUNTS = st.integers(0, 2**53 - 1) | st.integers(0, 50) | st.floats(0, 1e6)
_ANYTHING = _AMOUNTS | st.sampled_from(UNUSABLE)


def _some(names: Any, values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    known = st.dictionaries(st.sampled_from(sorted(names)), values)
    return st.none() | known | st.dictionaries(st.text(max_size=8), values, max_size=3)


@st.composite
def any_signals(draw: st.DrawFn, of: Envelope) -> Signals:
    """Signals of any quality: good, late, missing, malformed."""
    names = {*of.dte.freshness.feature_ttls, "other"}
    return Signals(
        now_us=draw(st.just(NOW) | st.sampled_from(UNUSABLE)),  # type: ignore[arg-type]
        elapsed_ms=draw(_ANYTHING),
        stage_ms=draw(_some(STAGES, _ANYTHING)),
        captured_at_us=draw(
            _some(names, st.integers(NOW - 10**9, NOW + 10) | st.sampled_from(UNUSABLE))
        ),
        counts=draw(_some(LIMITS, st.integers(0, 50) | st.sampled_from(UNUSABLE))),
    )


@st.composite
def within(draw: st.DrawFn, of: Envelope) -> Signals:
    """Signals that hold every bound of an envelope."""
    told = of.dte.model_dump(by_alias=True)
    begun = draw(st.sets(st.sampled_from(STAGES)))
    names = {*of.dte.freshness.feature_ttls, *draw(st.sets(st.text(max_size=5), max_size=2))}
    default = of.dte.freshness.default_ttl_ms
    return Signals(
        now_us=NOW,
        elapsed_ms=draw(st.integers(0, of.dte.deadline_ms)),
        stage_ms={name: draw(st.integers(0, told["stageBudgetsMs"][name])) for name in begun},
        captured_at_us={
            name: NOW
            - draw(st.integers(0, min(NOW, of.dte.freshness.feature_ttls.get(name, default) * MS)))
            for name in sorted(names)
        },
        counts={
            name: draw(st.integers(0, told["limits"][field])) for name, field in LIMITS.items()
        },
    )


@st.composite
def situations(draw: st.DrawFn, of: Envelope) -> LadderInput:
    """Situations of any quality."""
    found: tuple[BoundViolation, ...] = ()
    if draw(st.booleans()):
        found = of.violations(draw(any_signals(of)), tier=draw(st.none() | TIERS))
    approvers = [rung.approver for rung in of.dte.degrade_ladder if rung.approver is not None]
    return LadderInput(
        violations=found,
        remaining_ms=draw(_ANYTHING),
        verification=draw(st.none() | st.sampled_from(VerificationResult)),
        p99_ms=draw(st.none() | _ANYTHING),
        jitter_ms=draw(st.none() | _ANYTHING),
        expected_extra_ms=draw(st.dictionaries(st.sampled_from(DegradeStep), _ANYTHING)),
        approved_by=draw(st.none() | st.sampled_from([*approvers, "nobody"])),
    )
