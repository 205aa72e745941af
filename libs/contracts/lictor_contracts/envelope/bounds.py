"""The Decision Timing Envelope held against what was measured: deadline, stages, freshness, limits.

Comparisons are strict: what equals its limit passes. No clock skew is tolerated, because no field of the envelope
allows any: something captured a microsecond after the moment of the check comes from the future, which is a hard
violation. A signal that is missing, negative, NaN, infinite, a boolean or no number is one too.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from math import ceil
from typing import Final, NamedTuple, TypeGuard, cast

from lictor_schema.contracts.envelope import DTE, BlastRadius
from lictor_schema.core.base_model import MAX_SAFE_INTEGER
from lictor_schema.core.canonical_json import content_hash

US_PER_MS: Final = 1000
STAGES: Final = ("context", "plan", "act", "verify")
LIMITS: Final = {
    "hops": "maxHops",
    "fanout": "maxFanout",
    "tool_calls": "maxToolCalls",
    "chain_depth": "maxChainDepth",
}
FEATURE: Final = "freshness.featureTtls."
"""How the bound of a feature begins; its name follows."""
_LONGEST_TOLD: Final = 80


class EnvelopeBound(StrEnum):
    """What is looked at, in the order in which it is."""

    DEADLINE = "deadline"
    STAGE_BUDGET = "stage_budget"
    FEATURE_TTL = "feature_ttl"
    LIMITS = "limits"


class BoundSeverity(StrEnum):
    """`hard`: the decision must not go on; `soft`: it must degrade."""

    HARD = "hard"
    SOFT = "soft"


@dataclass(frozen=True, slots=True)
class BoundViolation:
    """One bound of an envelope that does not hold."""

    gate: EnvelopeBound
    field: str
    """The bound as the envelope spells it: `stageBudgetsMs.plan`, `limits.maxHops`."""
    limit: int | float | None
    """What was allowed; none where the signal could not be compared at all."""
    actual: int | float | str | None
    """What was measured; its beginning as text when it is no measure, none when it is missing."""
    severity: BoundSeverity
    message: str
    stale_since_us: int | None = None
    """Since when a feature is too old; None for everything else, also for one that nobody captured."""

    @property
    def is_stale(self) -> bool:
        """Whether it is a feature that was captured, and is too old by now."""
        return self.stale_since_us is not None

    @property
    def is_hard(self) -> bool:
        """Whether the decision must not go on."""
        return self.severity is BoundSeverity.HARD


class Signals(NamedTuple):
    """What was measured of a decision; what is None was not.

    A tuple, because one is made for every check: making a frozen dataclass takes half as long as the check itself.
    """

    now_us: int | None
    """The moment of the check, in microseconds since 1970."""
    elapsed_ms: float | None
    """Time since the decision began."""
    stage_ms: Mapping[str, float] | None
    """Time by stage, of those that have begun."""
    captured_at_us: Mapping[str, int] | None
    """When each feature that is used now was captured."""
    counts: Mapping[str, int] | None
    """`hops`, `fanout`, `tool_calls` and `chain_depth`: all four."""

    def at(self, now_us: int) -> "Signals":
        """The same decision at another moment: more time has passed, and everything is older.

        A moment before the measurement makes no time come back: it is left as it is, and features captured since
        then turn out to come from the future. Where nobody says when it was measured, nobody knows how much time has
        passed since: what was measured is gone.
        """
        elapsed = self.elapsed_ms
        if not is_count(self.now_us):
            elapsed = None
        elif is_count(now_us) and is_measure(elapsed):
            elapsed += max(0, ceil((now_us - self.now_us) / US_PER_MS))
        return self._replace(now_us=now_us, elapsed_ms=elapsed)


def is_measure(value: object) -> TypeGuard[float]:
    """Whether it is a finite number from zero on; a boolean is no number, nor is one beyond 2**53 - 1."""
    return (type(value) is int or type(value) is float) and 0 <= value <= MAX_SAFE_INTEGER


def is_count(value: object) -> TypeGuard[int]:
    """Whether it is a whole number from zero to 2**53 - 1; a boolean is no number."""
    return type(value) is int and 0 <= value <= MAX_SAFE_INTEGER


@dataclass(frozen=True, slots=True)
class Envelope:
    """An envelope made ready to be checked many times."""

    dte: DTE
    dte_hash: str
    _deadline_ms: int
    _budgets_ms: Mapping[str, int]
    _default_ttl_us: int
    _ttls_us: Mapping[str, int]
    _limits: tuple[tuple[str, int], ...]

    @classmethod
    def of(cls, dte: DTE) -> "Envelope":
        """Compile an envelope."""
        told = dte.model_dump(by_alias=True)
        ttls = dte.freshness.feature_ttls.items()
        return cls(
            dte,
            content_hash(dte),
            dte.deadline_ms,
            {stage: told["stageBudgetsMs"][stage] for stage in STAGES},
            dte.freshness.default_ttl_ms * US_PER_MS,
            {name: ttl * US_PER_MS for name, ttl in ttls},
            tuple((name, told["limits"][field]) for name, field in LIMITS.items()),
        )

    def violations(
        self, signals: Signals, *, tier: BlastRadius | None = None
    ) -> tuple[BoundViolation, ...]:
        """Every bound that does not hold, in the order deadline, stages, features, limits.

        The deadline, the limits and unusable signals are hard, a stage over its budget is soft. A feature past its TTL
        is hard, and soft exactly when the envelope says `allowStaleIfSafe` and the tier of the action is known and
        safe: not above `verification.requiredAboveBlastRadius`, so such that nobody has to verify it. Every feature
        with a TTL of its own must have been captured.
        """
        if self._plainly_holds(signals):
            return ()
        return (
            *_deadline(signals.elapsed_ms, self._deadline_ms),
            *self._stages(signals.stage_ms),
            *self._features(signals.now_us, signals.captured_at_us, tier),
            *self._counts(signals.counts),
        )

    def before_stage(self, stage: str, *, elapsed_ms: float | None) -> tuple[BoundViolation, ...]:
        """Whether what remains of the deadline is enough for the whole budget of a stage that has not begun."""
        late = tuple(_deadline(elapsed_ms, self._deadline_ms))
        if stage not in self._budgets_ms:
            return (*late, _unknown_stage(stage))
        budget = self._budgets_ms[stage]
        if late or elapsed_ms is None or self._deadline_ms - elapsed_ms >= budget:
            return late
        remaining = self._deadline_ms - elapsed_ms
        message = (
            f"{remaining} ms remain of the deadline, and the stage {stage} may take {budget} ms;"
            " degrade before it begins"
        )
        return (
            _soft(
                EnvelopeBound.STAGE_BUDGET, f"stageBudgetsMs.{stage}", remaining, budget, message
            ),
        )

    def _plainly_holds(self, signals: Signals) -> bool:
        """Whether all is there, made of whole numbers and within its bounds; if not, the careful way says what is."""
        now, elapsed, stage_ms, captured_at, counts = signals
        if (
            type(now) is not int
            or type(elapsed) is not int
            or stage_ms is None
            or captured_at is None
            or counts is None
            or not 0 <= elapsed <= self._deadline_ms
            or not 0 <= now <= MAX_SAFE_INTEGER
        ):
            return False
        budgets, ttls, limits = self._budgets_ms, self._ttls_us, self._limits
        missing = len(ttls)
        try:
            for stage, spent in stage_ms.items():
                if type(spent) is not int or not 0 <= spent <= budgets[stage]:
                    return False
            for name, captured in captured_at.items():
                if name in ttls:
                    missing -= 1
                    ttl = ttls[name]
                else:
                    ttl = self._default_ttl_us
                if type(captured) is not int or not 0 <= captured <= now <= captured + ttl:
                    return False
            for name, limit in limits:
                count = counts[name]
                if type(count) is not int or not 0 <= count <= limit:
                    return False
        # A name that is not known, or missing, or what is no mapping at all.
        except (AttributeError, KeyError, TypeError):
            return False
        return missing == 0 and len(counts) == len(limits)

    def _stages(self, stage_ms: object) -> Iterator[BoundViolation]:
        gate = EnvelopeBound.STAGE_BUDGET
        given = _mapping(stage_ms)
        if given is None:
            yield _unusable(gate, "stageBudgetsMs", None, stage_ms, "time by stage")
            return
        for stage, budget in self._budgets_ms.items():
            spent, field = given.get(stage, 0), f"stageBudgetsMs.{stage}"
            if not is_measure(spent):
                yield _unusable(gate, field, budget, spent, f"the time of the stage {stage}")
            elif spent > budget:
                message = f"the stage {stage} took {spent} ms and may take {budget} ms; degrade"
                yield _soft(gate, field, budget, spent, message)
        yield from (_unknown_stage(stage) for stage in given if stage not in self._budgets_ms)

    def _features(
        self, now: object, captured_at: object, tier: BlastRadius | None
    ) -> Iterator[BoundViolation]:
        gate, field = EnvelopeBound.FEATURE_TTL, "freshness"
        if not is_count(now):
            yield _unusable(gate, field, None, now, "the moment of the check")
        given = _mapping(captured_at)
        if given is None:
            what = "the time each feature was captured"
            yield _unusable(gate, field, None, captured_at, what)
            return
        for name, captured in given.items():
            yield from self._feature(name, captured, now, tier)
        for name, ttl in self._ttls_us.items():
            if name not in given:
                message = f"{name} was not captured; capture it before it is decided"
                yield _hard(gate, _feature_field(name), ttl // US_PER_MS, None, message)

    def _counts(self, counts: object) -> Iterator[BoundViolation]:
        gate = EnvelopeBound.LIMITS
        given = _mapping(counts)
        if given is None:
            yield _unusable(gate, "limits", None, counts, "what is counted")
            return
        for name, limit in self._limits:
            count, field = given.get(name), f"limits.{LIMITS[name]}"
            if not is_count(count):
                yield _unusable(gate, field, limit, count, f"the number of {name}")
            elif count > limit:
                message = f"{name} is {count} and at most {limit} is allowed; stop here"
                yield _hard(gate, field, limit, count, message)
        for name in given:
            if name not in LIMITS:
                message = f"{told(name)} is not counted; known are {', '.join(LIMITS)}"
                yield _hard(gate, "limits", None, told(name), message)

    def _feature(
        self, name: object, captured: object, now: object, tier: BlastRadius | None
    ) -> Iterator[BoundViolation]:
        gate, field = EnvelopeBound.FEATURE_TTL, _feature_field(name)
        ttl_us = self._ttls_us.get(cast(str, name), self._default_ttl_us)
        limit = ttl_us // US_PER_MS
        if not is_count(captured):
            yield _unusable(gate, field, limit, captured, f"the capture time of {name}")
        elif not is_count(now):
            return  # that is reported once, and there is nothing to hold the capture against
        elif captured > now:
            message = (
                f"{name} was captured {captured - now} us after this moment; correct the clock"
                " that said so, or capture it again"
            )
            yield _hard(gate, field, limit, (now - captured) / US_PER_MS, message)
        elif now - captured > ttl_us:
            # Rounded up, so that the reported value is above the limit too.
            age = -((captured - now) // US_PER_MS)
            message = f"{name} is {age} ms old and counts as fresh for {limit} ms; capture it again"
            severity = BoundSeverity.SOFT if self._stale_is_safe(tier) else BoundSeverity.HARD
            yield BoundViolation(gate, field, limit, age, severity, message, captured + ttl_us)

    def _stale_is_safe(self, tier: object) -> bool:
        threshold = self.dte.verification.required_above_blast_radius
        return (
            self.dte.freshness.allow_stale_if_safe
            and isinstance(tier, BlastRadius)
            and not threshold.is_exceeded_by(tier)
        )


def told(value: object) -> str:
    """The beginning of anything, for a message."""
    try:
        text = repr(value)
    except ValueError:  # a whole number too long to be written out
        text = f"a value of type {type(value).__name__}"
    return text if len(text) <= _LONGEST_TOLD else f"{text[: _LONGEST_TOLD - 1]}…"


def _deadline(elapsed: object, deadline: int) -> Iterator[BoundViolation]:
    gate, field = EnvelopeBound.DEADLINE, "deadlineMs"
    if not is_measure(elapsed):
        yield _unusable(gate, field, deadline, elapsed, "the time since the decision began")
    elif elapsed > deadline:
        message = f"{elapsed} ms have passed and the deadline is {deadline} ms; abstain"
        yield _hard(gate, field, deadline, elapsed, message)


def _unknown_stage(stage: object) -> BoundViolation:
    message = f"{told(stage)} is no stage; known are {', '.join(STAGES)}"
    return _hard(EnvelopeBound.STAGE_BUDGET, "stageBudgetsMs", None, told(stage), message)


def _feature_field(name: object) -> str:
    return f"{FEATURE}{name}"


def _mapping(given: object) -> dict[object, object] | None:
    if not isinstance(given, Mapping):
        return None
    return dict(cast("Mapping[object, object]", given))


def _unusable(
    gate: EnvelopeBound, field: str, limit: int | None, actual: object, what: str
) -> BoundViolation:
    if actual is None:
        return _hard(gate, field, limit, None, f"{what} is missing; measure it")
    text = told(actual)
    return _hard(gate, field, limit, text, f"{what} is {text}, which is no measure; correct it")


def _hard(
    gate: EnvelopeBound, field: str, limit: float | None, actual: float | str | None, message: str
) -> BoundViolation:
    return BoundViolation(gate, field, limit, actual, BoundSeverity.HARD, message)


def _soft(
    gate: EnvelopeBound, field: str, limit: float, actual: float, message: str
) -> BoundViolation:
    return BoundViolation(gate, field, limit, actual, BoundSeverity.SOFT, message)
