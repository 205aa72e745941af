"""Contracts read from text: the algebra of `lictor_ir.contracts` over effects, events and fluents that are declared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from lictor_ir.contracts import (
    KEY_NAME,
    VALUE_NAME,
    All,
    Anything,
    AtEnd,
    Before,
    Both,
    Comparison,
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
from lictor_ir.document import Document, Effect, Event, Fluent
from lictor_ir.terms import Term, var
from lictor_ir.text.keywords import COMPARISON_LEVEL
from lictor_ir.text.scanner import Scanner
from lictor_ir.text.term_reader import TermReader

MAX_CONTRACT_DEPTH: Final = 16


class ContractReader:
    """Reads contracts; what they may speak of is told to it as it is declared."""

    def __init__(self, scanner: Scanner, terms: TermReader) -> None:
        self._scan = scanner
        self._terms = terms
        self.effects: dict[str, Effect] = {}
        self.events: list[Event] = []
        self.fluents: dict[str, Fluent] = {}

    def contract(self) -> Contract:
        """Pass a contract."""
        return self._contract(0)

    def _contract(self, depth: int) -> Contract:
        scan = self._scan
        if depth > MAX_CONTRACT_DEPTH:
            raise scan.fail(f"contracts are nested deeper than {MAX_CONTRACT_DEPTH}")
        start = scan.skip()
        match start.text if start.kind in ("word", "mark") else "":
            case "anything":
                return Anything()
            case "forall":
                relation = self._relation()
                return All(relation, self._after_colon(relation))
            case "no":
                return Empty(self._relation())
            case "distinct":
                relation = self._relation()
                return Distinct(relation, self._after_colon(relation))
            case "(":
                return self._aggregate()
            case "shared":
                left = self._relation()
                scan.expect("and")
                right = self._relation()
                return SharesValue(left, right, self._after_colon(left, right))
            case "finally":
                return self._at_end()
            case "first":
                first = self._relation()
                first_key = self._by(first)
                scan.expect("before")
                then = self._relation()
                return Before(first, then, first_key, self._by(then))
            case "never":
                then = self._relation()
                scan.expect("after")
                return NeverAfter(self._relation(), then)
            case "all":
                return Both(tuple(self._parts(depth)))
            case _:
                raise scan.fail("a contract is expected", start)

    def _parts(self, depth: int) -> list[Contract]:
        self._scan.expect("{")
        parts: list[Contract] = []
        while not self._scan.takes("}"):
            if parts:
                self._scan.expect(";")
            parts.append(self._contract(depth + 1))
        return parts

    def _aggregate(self) -> Contract:
        scan = self._scan
        if scan.takes("count"):
            relation = self._relation()
            scan.expect(")")
            return Count(relation, self._comparison(), self._bound())
        scan.expect("sum")
        relation = self._relation()
        of = self._after_colon(relation)
        scan.expect(")")
        return Sum(relation, of, self._comparison(), self._bound())

    def _comparison(self) -> Comparison:
        if self._scan.token.text not in {each.value for each in Comparison}:
            raise self._scan.fail(f"one of {' '.join(Comparison)} is expected")
        return Comparison(self._scan.skip().text)

    def _bound(self) -> Term:
        return self._in_contract({}, "e", COMPARISON_LEVEL + 1)

    def _relation(self) -> Relation:
        scan = self._scan
        scan.expect("e")
        scan.expect("in")
        effects: list[str] = []
        events: list[str] = []
        while True:
            (events if scan.takes("event") else effects).append(scan.name())
            if not scan.takes("|"):
                break
        relation = Relation(tuple(effects), tuple(events))
        if not scan.takes("where"):
            return relation
        scan.expect("(")
        where = self._in_contract(self._fields(relation), "e")
        scan.expect(")")
        return replace(relation, where=where)

    def _fields(self, *relations: Relation) -> Mapping[str, Term]:
        declared = Document(
            "", None, None, effects=tuple(self.effects.values()), events=tuple(self.events)
        )
        first, *others = (shared_fields(declared, relation) for relation in relations)
        return {
            name: found
            for name, found in first.items()
            if all(other.get(name) is found for other in others)
        }

    def _after_colon(self, *relations: Relation) -> Term:
        self._scan.expect(":")
        return self._in_contract(self._fields(*relations), "e")

    def _by(self, relation: Relation) -> Term | None:
        return self._in_contract(self._fields(relation), "e") if self._scan.takes("by") else None

    def _at_end(self) -> Contract:
        scan = self._scan
        scan.expect("s")
        scan.expect("in")
        at = scan.token
        fluent = self.fluents.get(scan.name())
        if fluent is None:
            raise scan.fail("is not declared as a fluent", at)
        key = None
        if scan.takes("["):
            key = self._in_contract({}, "s")
            scan.expect("]")
        scan.expect(":")
        fields = {
            KEY_NAME: var(KEY_NAME, fluent.key),
            VALUE_NAME: var(VALUE_NAME, fluent.value),
        }
        return AtEnd(fluent.name, self._in_contract(fields, "s"), key)

    def _in_contract(self, fields: Mapping[str, Term], owner: str, least: int = 0) -> Term:
        self._terms.fields, self._terms.owner = fields, owner
        term = self._terms.term(least)
        self._terms.fields = None
        return term
