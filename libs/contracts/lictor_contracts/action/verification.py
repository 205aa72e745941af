"""Whether what an action did is what was expected: methods by name, expectations as data, results that can't flatter.

A method reads an expectation once and gives back the check it stands for; a check looks at a state that was observed
(data: the shell has read it back), and says whether it holds. To add a method, see
docs/how-to/add-a-verification-method.md; ``verification_plugins`` finds it.

An expectation that a state with nothing in it would meet is vacuous, whatever the method: it is refused when it is
read. An exception and a timeout are `inconclusive`, never a pass.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, cast

from pydantic import TypeAdapter, ValidationError

from lictor_contracts.action.preconditions import is_scalar, same, unmet
from lictor_contracts.envelope.bounds import Envelope, is_measure, told
from lictor_contracts.errors import ContractError, ExpectationRefused, MethodRefused
from lictor_policy.errors import nearest
from lictor_schema.contracts.action import Precondition
from lictor_schema.contracts.envelope import BlastRadius
from lictor_schema.contracts.verification import Verification, VerificationResult
from lictor_schema.core.base_model import Scalar
from lictor_schema.errors import describe_validation_error

MAX_EXPECTED = 256
"""How many fields or invariants one expectation may name."""
_MAX_TOLD: Final = 16
_LONGEST: Final = 500

State = Mapping[str, object]
"""What was observed, by the name of the field."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What a check saw: it holds when nothing differs."""

    differences: tuple[str, ...] = ()
    """What is not as expected, each as a sentence."""

    @property
    def holds(self) -> bool:
        """Whether the state is as expected."""
        return not self.differences


Check = Callable[[State], Finding]
Reader = Callable[[Mapping[str, object]], Check]


@dataclass(frozen=True, slots=True)
class Method:
    """A verifier: how its expectations are read."""

    name: str
    read: Reader


def method(name: str) -> Callable[[Reader], Method]:
    """Make a method of the function that reads its expectations."""
    return lambda read: Method(name, read)


class Methods:
    """The methods there are, by name; a value, so that nobody can change one under a running check."""

    __slots__ = ("_by_name",)

    def __init__(self, methods: Iterable[Method]) -> None:
        by_name: dict[str, Method] = {}
        for each in methods:
            if not each.name.strip():
                raise ContractError("a method has no name; give it one")
            if each.name in by_name:
                raise ContractError(f"there are two methods {each.name}; rename one of them")
            by_name[each.name] = each
        self._by_name = MappingProxyType(by_name)

    def plus(self, *methods: Method) -> "Methods":
        """These methods and more; none can take the place of another."""
        return Methods((*self._by_name.values(), *methods))

    @property
    def names(self) -> tuple[str, ...]:
        """Their names, in the order they were added."""
        return tuple(self._by_name)

    def reading(self, name: str, expectation: object) -> Check:
        """The check an expectation stands for; refuses one that says nothing."""
        found = self._by_name.get(name)
        if found is None:
            raise MethodRefused(f"there is no method {told(name)}; {nearest(name, self._by_name)}")
        if not isinstance(expectation, Mapping):
            raise ExpectationRefused(
                f"expectation: is {told(expectation)}, and must name what is expected"
            )
        try:
            check = found.read(cast("Mapping[str, object]", expectation))
        except ContractError:
            raise
        except Exception as error:
            # A reader of anybody's may raise anything.
            raise ExpectationRefused(
                f"expectation: {name} can't read it: {type(error).__name__}"
            ) from error
        try:
            vacuous = check({}).holds
        except Exception:  # noqa: BLE001 -- a check that stumbles over nothing does not pass it
            vacuous = False
        if vacuous:
            raise ExpectationRefused(
                "expectation: is vacuous, a state with nothing in it meets it; expect something"
            )
        return check


@method("read_after_write")
def read_after_write(expectation: Mapping[str, object]) -> Check:
    """Fields that must be there and hold exactly this, by name; other fields may hold anything."""
    _refuse_size(len(expectation), "expectation")
    for name, value in expectation.items():
        if not name:
            raise ExpectationRefused("expectation: names a field that has no name; name it")
        if not is_scalar(value):
            raise ExpectationRefused(
                f"expectation.{name}: is {told(value)}; expect text, a whole number, true, false or"
                " null"
            )
    expected = dict(expectation)

    def check(state: State) -> Finding:
        found: list[str] = []
        for name, value in expected.items():
            if name not in state:
                found.append(f"{name} is missing, expected {told(value)}")
            elif not same(state[name], value):
                found.append(f"{name} is {told(state[name])}, expected {told(value)}")
        return Finding(tuple(found))

    return check


_INVARIANTS: Final = TypeAdapter(tuple[Precondition, ...])


@method("invariant_check")
def invariant_check(expectation: Mapping[str, object]) -> Check:
    """Comparisons that must hold of the state, under `invariants`; written and judged like preconditions."""
    if set(expectation) != {"invariants"}:
        raise ExpectationRefused("expectation: must have exactly the field invariants; write it")
    given = expectation["invariants"]
    if not isinstance(given, list | tuple):
        raise ExpectationRefused(f"expectation.invariants: is {told(given)}; write a list")
    invariants = _read_invariants(cast("list[object]", given))
    _refuse_size(len(invariants), "expectation.invariants")

    def check(state: State) -> Finding:
        return Finding(tuple(each.why for each in unmet(invariants, state)))

    return check


METHODS: Final = Methods((read_after_write, invariant_check))
"""The methods that come with this library."""


def required(envelope: Envelope, tier: object) -> bool:
    """Whether an action of this tier must be verified: strictly above the threshold, or of no known tier."""
    threshold = envelope.dte.verification.required_above_blast_radius
    return not isinstance(tier, BlastRadius) or threshold.is_exceeded_by(tier)


def time_limit_ms(envelope: Envelope) -> int:
    """How long a verifier may run: `verifyTimeoutMs`, and the verify stage's budget where that is 0 (not set)."""
    dte = envelope.dte
    return dte.verification.verify_timeout_ms or dte.stage_budgets_ms.verify


def checking(methods: Methods, envelope: Envelope, *, method: str, expectation: object) -> Check:
    """The check to run, if the envelope lists the method and the expectation says something; else raises why not."""
    listed = envelope.dte.verification.methods
    if method not in listed:
        raise MethodRefused(
            f"verification.methods: {told(method)} is not listed; {nearest(str(method), listed)}"
        )
    return methods.reading(method, expectation)


def verify(
    check: Check,
    envelope: Envelope,
    *,
    tier: object,
    method: str,
    observed: object,
    took_ms: object,
) -> Verification:
    """The result of a check; `observed` is None when the state could not be read back.

    `took_ms` is how long reading back and checking took: over the limit it counts for nothing, whatever it found.
    """
    limit = time_limit_ms(envelope)

    def result(
        code: VerificationResult, explanation: str, details: Mapping[str, Scalar] | None = None
    ) -> Verification:
        return Verification(
            required=required(envelope, tier),
            result=code,
            method=method,
            details=None if details is None else dict(details),
            explanation=explanation,
        )

    open_result = VerificationResult.INCONCLUSIVE
    if not is_measure(took_ms):
        return result(open_result, f"took_ms is {told(took_ms)}, which is no time; measure it")
    if took_ms > limit:
        return result(
            open_result,
            f"the verifier took {took_ms} ms and may take {limit} ms",
            {"timed_out": True, "limit_ms": limit},
        )
    if not isinstance(observed, Mapping):
        return result(open_result, f"the state observed is {told(observed)}; read it back")
    try:
        finding = check(cast(State, observed))
        differences = finding.differences
    except Exception as error:  # noqa: BLE001 -- a verifier of anybody's may raise anything
        kind = type(error).__name__
        return result(open_result, f"the verifier failed: {kind}", {"error": kind})
    if not differences:
        return result(VerificationResult.PASS, "the state is as expected")
    details: dict[str, Scalar] = {"differences": len(differences)}
    for number, text in enumerate(differences[:_MAX_TOLD], 1):
        details[f"difference_{number}"] = _short(text)
    return result(
        VerificationResult.FAIL,
        f"{len(differences)} not as expected: {_short(differences[0])}",
        details,
    )


def not_verified(envelope: Envelope, tier: object) -> Verification:
    """The verification of a decision where no verifier ran."""
    return Verification(required=required(envelope, tier), result=VerificationResult.NA)


def _short(text: str) -> str:
    # Names come from anywhere: one that is too long, or half of a pair, must not hide that it failed.
    return text[:_LONGEST].encode("utf-8", "backslashreplace").decode()


def _refuse_size(size: int, where: str) -> None:
    if size == 0:
        raise ExpectationRefused(f"{where}: is empty, so vacuous; expect something")
    if size > MAX_EXPECTED:
        raise ExpectationRefused(f"{where}: has {size} members; at most {MAX_EXPECTED}")


def _read_invariants(given: Iterable[object]) -> tuple[Precondition, ...]:
    try:
        return _INVARIANTS.validate_python(tuple(given))
    except ValidationError as error:
        problem = describe_validation_error(error)[0]
        raise ExpectationRefused(
            f"expectation.invariants.{problem.path}: {problem.problem}"
        ) from None
