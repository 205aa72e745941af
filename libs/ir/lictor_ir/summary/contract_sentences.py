"""Contracts in sentences: what the contract says, and never more. "Every call, if any" holds of none too."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from lictor_ir.contracts import (
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
    leaves,
)
from lictor_ir.document import Document, Guarantee
from lictor_ir.goals.contract_strength import strength
from lictor_ir.goals.goal import Strength
from lictor_ir.json.contracts import contract_terms
from lictor_ir.summary import display
from lictor_ir.summary.term_words import TermWords
from lictor_ir.terms import Const
from lictor_ir.types import INT

_BOUNDS: Final = {
    Comparison.AT_MOST: "at most",
    Comparison.LESS: "less than",
    Comparison.AT_LEAST: "at least",
    Comparison.MORE: "more than",
    Comparison.EXACTLY: "exactly",
}
NOTHING: Final = "nothing"


class Promises:
    """Tells the guarantees of a document."""

    def __init__(self, document: Document) -> None:
        self._initial = {fluent.name: fluent.initial for fluent in document.fluents}
        self.words = TermWords(
            [
                *(term for each in document.guarantees for term in contract_terms(each.contract)),
                *self._initial.values(),
            ],
            of_contracts=True,
        )

    def of(
        self, guarantee: Guarantee, held: Sequence[Strength] | None = None
    ) -> Iterator[tuple[str, Strength]]:
        """A sentence for each part of the guarantee, and for which runs: as was found, or as far as the part tells."""
        parts = list(leaves(guarantee.contract)) or [Anything()]
        found = iter(held or ())
        for part in parts:
            # What promises nothing has no goal, and nothing was found about it.
            by_itself = held is None or isinstance(part, Anything)
            runs = strength(part) if by_itself else next(found)
            yield f"{self.sentence(part)} {_stated(guarantee)}", runs

    def sentence(self, contract: Contract) -> str:
        """What a contract that is no conjunction promises."""
        words = self.words
        match contract:
            case Anything():
                return f"{NOTHING}: this guarantee promises nothing"
            case All(relation, holds):
                return f"every {self._one(relation)}, if any: {words.statement(holds)}"
            case Empty(relation):
                return f"there is no {self._one(relation)}"
            case Distinct(relation, key):
                return f"no two {self._many(relation)} are alike in: {words.text(key)}"
            case Count(relation, comparison, bound):
                told = f"{_BOUNDS[comparison]} {words.operand(bound)}"
                if isinstance(bound, Const) and bound.type == INT and bound.value == 1:
                    return f"there is {told} {self._one(relation)}"
                return f"there are {told} {self._many(relation)}"
            case Sum(relation, of, comparison, bound):
                added = f"the sum of {words.operand(of)} over all {self._many(relation)}"
                return f"{added} (0 if none) is {_BOUNDS[comparison]} {words.operand(bound)}"
            case SharesValue(left, right, key):
                both = f"some {self._one(left)} and some {self._one(right)}"
                return f"{both} are alike in: {words.text(key)}"
            case AtEnd():
                return self._at_end(contract)
            case Before():
                return self._before(contract)
            case NeverAfter(first, then):
                return f"after a {self._one(first)}, there is no {self._one(then)}"
            case Both():
                raise AssertionError("a conjunction is told part by part")

    def _at_end(self, contract: AtEnd) -> str:
        state = f"state {display.name(contract.fluent)}"
        initial = f"{self.words.operand(self._initial[contract.fluent])} where nothing set it"
        keys = (
            "every key of" if contract.key is None else f"key {self.words.operand(contract.key)} of"
        )
        return f"at the end, for {keys} {state} ({initial}): {self.words.statement(contract.holds)}"

    def _before(self, contract: Before) -> str:
        text = f"before every {self._one(contract.then)}, if any, there is a {self._one(contract.first)}"
        if contract.first_key is None or contract.then_key is None:
            return text
        first, then = map(self.words.operand, (contract.first_key, contract.then_key))
        return f"{text}, where {first} in the earlier one equals {then} in the later one"

    def _one(self, relation: Relation) -> str:
        return self._covered(relation, "call of", "event", " or ")

    def _many(self, relation: Relation) -> str:
        return self._covered(relation, "calls of", "events", " and ")

    def _covered(self, relation: Relation, calls: str, events: str, between: str) -> str:
        text = between.join(
            [
                *_named(calls, relation.effects, between),
                *_named(events, relation.events, between),
            ]
        )
        if relation.where is None:
            return text
        return f"{text} [only where {self.words.statement(relation.where)}]"


def _named(what: str, names: Sequence[str], between: str) -> Iterator[str]:
    if names:
        yield f"{what} {display.listed([*map(display.name, names)], 120, between=between)}"


def _stated(guarantee: Guarantee) -> str:
    if guarantee.required_by:
        return f"-- required by {display.string(guarantee.required_by)} as {display.string(guarantee.name)}"
    return f"-- stated as {display.string(guarantee.name)}"
