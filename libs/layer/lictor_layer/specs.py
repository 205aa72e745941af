"""What a contract says: relations over effects, and specs over relations.

    Send = effect(send_email)
    Send.all(lambda e: e.addr in addresses) & (Send.count() <= 3)

Nothing here runs a predicate: the prover reads the lambdas. A spec is a description, made of frozen values.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from lictor_layer.declarations import declaration
from lictor_layer.errors import DeclarationError

if TYPE_CHECKING:
    from lictor_layer.fluents import Fluent

Predicate = Callable[[Any], object]


@dataclass(frozen=True)
class Spec:
    """What a contract demands. `one & other` demands both."""

    def __and__(self, other: Spec) -> ConjunctionSpec:
        return all_of(self, other)

    def __bool__(self) -> bool:
        raise DeclarationError("a spec is neither true nor false; join specs with & or all_of(...)")


@dataclass(frozen=True, eq=False)
class Relation:
    """Effects: calls of trusted functions, or the events that calls perform."""

    effects: tuple[str, ...] = ()
    events: tuple[type, ...] = ()
    functions: tuple[Callable[..., object], ...] = ()
    """The trusted functions themselves, where they were given so."""
    conditions: tuple[Predicate, ...] = ()
    every: bool = False
    """All trusted calls of the layer."""

    def where(self, predicate: Predicate) -> Relation:
        """Only those of which the predicate holds."""
        return replace(self, conditions=(*self.conditions, _callable(predicate)))

    def all(self, predicate: Predicate) -> AllSpec:
        """The predicate holds of each."""
        return AllSpec(self, _callable(predicate))

    def empty(self) -> EmptySpec:
        """There is none."""
        return EmptySpec(self)

    def distinct(self, key: Predicate) -> DistinctSpec:
        """No two have equal keys."""
        return DistinctSpec(self, _callable(key))

    def count(self) -> Aggregate:
        """How many there are; compare it with a number."""
        return Aggregate(self, None)

    def sum(self, of: Predicate) -> Aggregate:
        """The sum of a number over them; compare it with a number."""
        return Aggregate(self, _callable(of))

    def shares_value(self, other: Relation, key: Predicate) -> SharesValueSpec:
        """Some effect here and some effect there have equal keys."""
        return SharesValueSpec(self, _relation(other), _callable(key))

    def before(
        self, then: Relation | type, key: Predicate | None = None, then_key: Predicate | None = None
    ) -> BeforeSpec:
        """Each effect of `then` has one of these before it, with an equal key where a key is given."""
        if then_key is not None and key is None:
            raise DeclarationError(
                "before: then_key says which key of `then` equals key; give both"
            )
        return BeforeSpec(self, _relation(then), key, then_key or key)

    def never_after(self, first: Relation | type) -> NeverAfterSpec:
        """None of these happens once an effect of `first` has happened."""
        return NeverAfterSpec(_relation(first), self)


def _callable(predicate: Predicate) -> Predicate:
    if not callable(predicate):
        raise DeclarationError(f"a predicate is a lambda over one effect, not {predicate!r}")
    return predicate


def _relation(given: Relation | type) -> Relation:
    relation = given if isinstance(given, Relation) else getattr(given, "__lictor_relation__", None)
    if not isinstance(relation, Relation):
        raise DeclarationError(f"{given!r} is no relation; make one with effect(...)")
    return relation


def effect(*targets: str | Callable[..., object]) -> Relation:
    """Calls of these trusted functions, given themselves or by name; without any, all trusted calls."""
    functions: list[Callable[..., object]] = []
    names: list[str] = []
    for target in targets:
        if isinstance(target, str):
            names.append(target)
            continue
        declared = declaration(target)
        if declared is None or not declared.trusted:
            raise DeclarationError(f"effect: {target!r} is no trusted function")
        functions.append(target)
        names.append(target.__name__)
    return Relation(tuple(names), functions=tuple(functions), every=not targets)


@dataclass(frozen=True, eq=False)
class Aggregate:
    """A number over a relation; comparing it with a number gives a spec."""

    relation: Relation
    of: Predicate | None

    def _bounded(self, comparison: str, bound: object) -> BoundSpec:
        if type(bound) not in (int, float):
            raise DeclarationError(f"a count or sum is compared with a number, not {bound!r}")
        return BoundSpec(self.relation, self.of, comparison, cast(float, bound))

    def __le__(self, bound: float) -> BoundSpec:
        return self._bounded("<=", bound)

    def __lt__(self, bound: float) -> BoundSpec:
        return self._bounded("<", bound)

    def __ge__(self, bound: float) -> BoundSpec:
        return self._bounded(">=", bound)

    def __gt__(self, bound: float) -> BoundSpec:
        return self._bounded(">", bound)

    def __eq__(self, bound: object) -> BoundSpec:  # type: ignore[override]
        return self._bounded("==", bound)

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True)
class NothingSpec(Spec):
    """Nothing is promised, and that is said."""


@dataclass(frozen=True)
class AllSpec(Spec):
    relation: Relation
    predicate: Predicate


@dataclass(frozen=True)
class EmptySpec(Spec):
    relation: Relation


@dataclass(frozen=True)
class DistinctSpec(Spec):
    relation: Relation
    key: Predicate


@dataclass(frozen=True)
class BoundSpec(Spec):
    """A count (`of` is None) or a sum against a bound."""

    relation: Relation
    of: Predicate | None
    comparison: str
    bound: int | float


@dataclass(frozen=True)
class SharesValueSpec(Spec):
    left: Relation
    right: Relation
    key: Predicate


@dataclass(frozen=True)
class BeforeSpec(Spec):
    first: Relation
    then: Relation
    key: Predicate | None
    then_key: Predicate | None


@dataclass(frozen=True)
class NeverAfterSpec(Spec):
    first: Relation
    then: Relation


@dataclass(frozen=True)
class FinalSpec(Spec):
    """The predicate over key and value holds for every key of a fluent at the end."""

    fluent: Fluent
    predicate: Predicate


@dataclass(frozen=True)
class FinalValueSpec(Spec):
    """One key of a fluent has, or has not, a value at the end."""

    fluent: Fluent
    key: str | int | bool
    value: object
    equal: bool


@dataclass(frozen=True)
class ConjunctionSpec(Spec):
    """All of the parts."""

    parts: tuple[Spec, ...] = ()

    def __post_init__(self) -> None:
        if not all(isinstance(part, Spec) for part in list[object](self.parts)):
            raise DeclarationError("all_of joins specs; a part is something else")


def all_of(*specs: Spec) -> ConjunctionSpec:
    """Every one of the specs."""
    return ConjunctionSpec(specs)


def no_guarantees() -> NothingSpec:
    """The spec that promises nothing: weakness that is stated."""
    return NothingSpec()
