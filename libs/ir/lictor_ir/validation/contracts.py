"""The rules for contracts: they name what is declared, and read only fields that everything they cover has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from lictor_ir import operators
from lictor_ir.contracts import (
    KEY_NAME,
    VALUE_NAME,
    All,
    Anything,
    AtEnd,
    Before,
    Both,
    Contract,
    Count,
    Distinct,
    Empty,
    NeverAfter,
    Relation,
    SharesValue,
    Sum,
)
from lictor_ir.covered_effects import shared_fields
from lictor_ir.document import Document
from lictor_ir.errors import TermError
from lictor_ir.json.strict_reading import Path
from lictor_ir.provenance import ORIGIN_OPERATORS
from lictor_ir.terms import App, Term, children
from lictor_ir.types import BOOL, INT, NUMBERS, Type, accepts
from lictor_ir.validation.terms import TermRules, refuse

MAX_DEPTH: Final = 16

Fields = Mapping[str, Type]


def check_contract(contract: Contract, path: Path, document: Document, rules: TermRules) -> None:
    """Raise a DocumentError for the first rule that a contract breaks."""
    _Contracts(document, rules).check(contract, path, 0)


class _Contracts:
    def __init__(self, document: Document, rules: TermRules) -> None:
        self._document = document
        self._rules = rules
        self._effects = {effect.name for effect in document.effects}
        self._kinds = {kind for event in document.events for kind in event.kinds}

    def check(self, contract: Contract, path: Path, depth: int) -> None:
        if depth > MAX_DEPTH:
            raise refuse(path, f"is nested deeper than {MAX_DEPTH}; flatten its conjunctions")
        match contract:
            case Anything():
                pass
            case Both(parts):
                for at, part in enumerate(parts):
                    self.check(part, (*path, "parts", at), depth + 1)
            case All(relation, holds):
                fields = self._relation(relation, (*path, "relation"))
                self._predicate(holds, (*path, "holds"), fields, origins=True)
            case Empty(relation):
                self._relation(relation, (*path, "relation"))
            case Distinct(relation, key):
                fields = self._relation(relation, (*path, "relation"))
                self._term(key, (*path, "key"), fields)
            case Count(relation, _, bound):
                self._relation(relation, (*path, "relation"))
                self._bound(bound, INT, (*path, "bound"))
            case Sum(relation, of, _, bound):
                fields = self._relation(relation, (*path, "relation"))
                self._term(of, (*path, "of"), fields)
                if of.type not in NUMBERS:
                    raise refuse((*path, "of"), f"must be a number, not {of.type}")
                self._bound(bound, of.type, (*path, "bound"))
            case SharesValue(left, right, key):
                one = self._relation(left, (*path, "left"))
                other = self._relation(right, (*path, "right"))
                both = {name: type_ for name, type_ in one.items() if other.get(name) == type_}
                self._term(key, (*path, "key"), both)
            case Before() | NeverAfter():
                self._ordered(contract, path)
            case AtEnd():
                self._at_end(contract, path)

    def _ordered(self, contract: Before | NeverAfter, path: Path) -> None:
        first = self._relation(contract.first, (*path, "first"))
        then = self._relation(contract.then, (*path, "then"))
        if isinstance(contract, NeverAfter):
            return
        if (contract.first_key is None) != (contract.then_key is None):
            raise refuse(path, "must have a key for both relations, or for none")
        if contract.first_key is not None and contract.then_key is not None:
            self._term(contract.first_key, (*path, "first_key"), first)
            self._term(contract.then_key, (*path, "then_key"), then)

    def _at_end(self, contract: AtEnd, path: Path) -> None:
        fluent = next(
            (each for each in self._document.fluents if each.name == contract.fluent), None
        )
        if fluent is None:
            raise refuse((*path, "fluent"), f"{contract.fluent} is not declared")
        fields = {KEY_NAME: fluent.key, VALUE_NAME: fluent.value}
        self._predicate(contract.holds, (*path, "holds"), fields)
        if contract.key is not None:
            self._term(contract.key, (*path, "key"), {})
            if not accepts(fluent.key, contract.key.type):
                raise refuse((*path, "key"), f"must be {fluent.key}, not {contract.key.type}")

    def _relation(self, relation: Relation, path: Path) -> Fields:
        """The fields that predicates over the relation may read."""
        if not relation.effects and not relation.events:
            raise refuse(path, "covers nothing; name the effects or events that it is about")
        for key, names, known in (
            ("effects", relation.effects, self._effects),
            ("events", relation.events, self._kinds),
        ):
            for at, name in enumerate(names):
                # A guarantee about an effect that is spelled wrong would hold of every program.
                if name not in known:
                    raise refuse((*path, key, at), f"{name} is not declared")
            if len(set(names)) != len(names):
                raise refuse((*path, key), "names something twice")
        shared = shared_fields(self._document, relation)
        fields = {each.name: each.type for each in shared.values()}
        if relation.where is not None:
            self._predicate(relation.where, (*path, "where"), fields)
        return fields

    def _bound(self, bound: Term, amount: Type, path: Path) -> None:
        self._term(bound, path, {})
        try:
            operators.result_type("le", (amount, bound.type), "")
        except TermError:
            raise refuse(path, f"is {bound.type}, which does not bound {amount}") from None

    def _predicate(self, term: Term, path: Path, fields: Fields, *, origins: bool = False) -> None:
        self._term(term, path, fields, origins=origins)
        if term.type != BOOL:
            raise refuse(path, f"must be a bool, not {term.type}")

    def _term(self, term: Term, path: Path, fields: Fields, *, origins: bool = False) -> None:
        self._rules.check_closed(term, path, fields)
        self._check_origins(term, path, stated=origins)

    def _check_origins(self, term: Term, path: Path, *, stated: bool) -> None:
        """Origin may be stated, never denied or asked about: it errs on the side that promises less."""
        seen: set[tuple[Term, bool]] = set()
        stack = [(term, stated)]
        while stack:
            part, positive = stack.pop()
            if (part, positive) in seen:
                continue
            seen.add((part, positive))
            if isinstance(part, App) and part.op in ORIGIN_OPERATORS and not positive:
                raise refuse(
                    path,
                    f"{part.op} may only be stated of every effect: not denied, not a condition",
                )
            for at, child in enumerate(children(part)):
                keeps = isinstance(part, App) and (
                    part.op in ("and", "or") or (part.op == "ite" and at > 0)
                )
                stack.append((child, positive and keeps))
