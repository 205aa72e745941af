"""The text form of a document, written: one spelling for each document, to be read by people and read back exactly."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from lictor_ir.contracts import (
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
from lictor_ir.document import (
    Assumption,
    Atom,
    Binder,
    Document,
    Guarantee,
    Obligation,
    Parameter,
    Span,
    Unknown,
)
from lictor_ir.json.contracts import contract_terms
from lictor_ir.json.document import document_terms
from lictor_ir.spelling.literals import quote
from lictor_ir.terms import TRUE, Term, results
from lictor_ir.text.keywords import COMPARISON_LEVEL, HEADER, spell_name
from lictor_ir.text.term_writer import TermText
from lictor_ir.validation.document import validate


def write(document: Document) -> str:
    """The text of a document; raises DocumentError for one that breaks a rule of the format."""
    validate(document)
    return "\n".join(_Writer(document).lines()) + "\n"


def write_contract(document: Document, contract: Contract) -> str:
    """A contract over the document's effects, on one line, as the text form says it."""
    alone = replace(
        document,
        inputs=(),
        atoms=(),
        unknowns=(),
        facts=(),
        assumptions=(),
        obligations=(),
        guarantees=(Guarantee("", contract),),
    )
    *lets, line = _Writer(alone).guarantees()
    return "; ".join([*lets, line.partition(" : ")[2]])


class _Writer:
    def __init__(self, document: Document) -> None:
        self._document = document
        declared = {effect.name: effect.result for effect in document.effects}
        read = {atom.id: declared[atom.effect] for atom in document.atoms}
        read |= {unknown.id: unknown.type for unknown in document.unknowns}
        promised = sum(1 for each in document.guarantees for _ in contract_terms(each.contract))
        every = list(document_terms(document))
        self._terms = TermText(every[: len(every) - promised], read)
        self._promised = every[len(every) - promised :]
        self._parameters = {effect.name: effect.parameters for effect in document.effects}
        self._fields = {event.name: event.fields for event in document.events}

    def lines(self) -> Iterator[str]:
        document = self._document
        yield HEADER
        yield f"program {quote(document.program)} target {spell_name(document.target)}"
        if document.source_hash is not None:
            yield f"source {quote(document.source_hash)}"
        if document.layer_hash is not None:
            yield f"layer {quote(document.layer_hash)}"
        for section in (
            self._declarations(),
            self._inputs(),
            self._atoms(),
            self._facts(),
            self._assumptions(),
            self._obligations(),
            self.guarantees(),
        ):
            found = list(section)
            if found:
                yield ""
                yield from found

    # -- declarations --------------------------------------------------------------------------

    def _declarations(self) -> Iterator[str]:
        document = self._document
        for schema in document.schemas:
            yield f"schema {spell_name(schema.name)}({_declared(schema.columns)})"
        for enum in document.enums:
            yield f"enum {spell_name(enum.name)}({', '.join(map(spell_name, enum.members))})"
        for effect in document.effects:
            line = f"trusted {spell_name(effect.name)}({_declared(effect.parameters)}) -> {effect.result}"
            if effect.module:
                line += f" in {quote(effect.module)}"
            if effect.markers:
                line += f" marked {', '.join(map(quote, effect.markers))}"
            yield line
        for event in document.events:
            line = f"event {spell_name(event.name)}({_declared(event.fields)})"
            if event.kinds[1:]:
                line += f" is {', '.join(map(spell_name, event.kinds[1:]))}"
            yield line
        for fluent in document.fluents:
            yield from self._terms.lets(fluent.initial)
            yield (
                f"fluent {spell_name(fluent.name)}[{fluent.key}]: {fluent.value}"
                f" = {self._terms.text(fluent.initial)}"
            )

    def _inputs(self) -> Iterator[str]:
        for parameter in self._document.inputs:
            yield f"input {_declared([parameter])}"

    # -- the program ---------------------------------------------------------------------------

    def _atoms(self) -> Iterator[str]:
        """Each atom; an unknown stands before the first that reads it, and those that no atom reads at the end."""
        left = list(self._document.unknowns)
        for atom in self._document.atoms:
            while any(_reads(_atom_terms(atom), unknown.id) for unknown in left):
                # Those before it too: an unknown reads earlier ones only, and they keep their order.
                yield from self._unknown(left.pop(0))
            yield from self._terms.lets(*_atom_terms(atom))
            call = f"{spell_name(atom.effect)}({self._given(atom.arguments, self._parameters[atom.effect])})"
            fails = " fails" if atom.fails else ""
            yield f"effect {spell_name(atom.id)}: {call}{fails}{self._where(atom)}{_at(atom.span)}"
            for performed in atom.events:
                fields = self._given(performed.fields, self._fields[performed.event])
                yield f"    performs {spell_name(performed.event)}({fields})"
            for update in atom.updates:
                key, value = self._terms.text(update.key), self._terms.text(update.value)
                yield f"    sets {spell_name(update.fluent)}[{key}] = {value}"
        for unknown in left:
            yield from self._unknown(unknown)

    def _unknown(self, unknown: Unknown) -> Iterator[str]:
        yield from self._terms.lets(*(binder.over for binder in unknown.binders))
        line = f"unknown {spell_name(unknown.id)}: {unknown.type}{self._loops(unknown.binders)}"
        if unknown.labels:
            line += f" of {', '.join(map(quote, unknown.labels))}"
        if unknown.carried:
            line += f" carrying {', '.join(map(quote, unknown.carried))}"
        if unknown.may_raise:
            line += " raises"
        yield line + (f" says {quote(unknown.text)}" if unknown.text else "")

    def _facts(self) -> Iterator[str]:
        for fact in self._document.facts:
            yield from self._terms.lets(*fact.terms())
            line = f"fact {spell_name(fact.about)}"
            if fact.first is not None:
                line += f" first {self._terms.text(fact.first)}"
            if fact.guard is not TRUE:
                line += f" when {self._terms.text(fact.guard)}"
            yield f"{line} {fact.kind.value} {self._terms.text(fact.term)}"

    def _assumptions(self) -> Iterator[str]:
        for assumption in self._document.assumptions:
            yield from self._terms.lets(*_stated_terms(assumption))
            line = f"assume {spell_name(assumption.call)}{self._where(assumption)}"
            line += f" : {self._terms.text(assumption.formula)}"
            yield line + (f" says {quote(assumption.text)}" if assumption.text else "")

    def _obligations(self) -> Iterator[str]:
        for obligation in self._document.obligations:
            yield from self._terms.lets(*_stated_terms(obligation))
            line = f"oblige {obligation.kind.value}"
            if obligation.call is not None:
                line += f" of {spell_name(obligation.call)}"
            line += f"{self._where(obligation)} : {self._terms.text(obligation.formula)}"
            if obligation.text:
                line += f" says {quote(obligation.text)}"
            yield line + _at(obligation.span)

    def _where(self, stated: Atom | Assumption | Obligation) -> str:
        """Loops and guard of something."""
        text = self._loops(stated.binders)
        if stated.guard is not TRUE:
            text += f" when {self._terms.text(stated.guard)}"
        return text

    def _loops(self, binders: Sequence[Binder]) -> str:
        return f" for {', '.join(map(self._binder, binders))}" if binders else ""

    def _binder(self, binder: Binder) -> str:
        return f"{spell_name(binder.index.name)} in {self._terms.text(binder.over)}"

    def _given(self, terms: Mapping[str, Term], order: Sequence[Parameter]) -> str:
        return ", ".join(
            f"{spell_name(each.name)} = {self._terms.text(terms[each.name])}"
            for each in order
            if each.name in terms
        )

    # -- guarantees ----------------------------------------------------------------------------

    def guarantees(self) -> Iterator[str]:
        """A line for each, after the terms that several of them share."""
        # Fields of contracts are variables of their own, so their lets are.
        self._terms = TermText(
            self._promised, {}, first_let=self._terms.next_let, of_contracts=True
        )
        for guarantee in self._document.guarantees:
            yield from self._terms.lets(*contract_terms(guarantee.contract))
            line = f"guarantee {quote(guarantee.name)}"
            if guarantee.description:
                line += f" says {quote(guarantee.description)}"
            if guarantee.required_by:
                line += f" required by {quote(guarantee.required_by)}"
            yield f"{line}{_at(guarantee.span)} : {self._contract(guarantee.contract)}"

    def _contract(self, contract: Contract) -> str:
        text = self._terms.text
        match contract:
            case Anything():
                return "anything"
            case All(relation, holds):
                return f"forall {self._relation(relation)} : {text(holds)}"
            case Empty(relation):
                return f"no {self._relation(relation)}"
            case Distinct(relation, key):
                return f"distinct {self._relation(relation)} : {text(key)}"
            case Count(relation, comparison, bound):
                return f"(count {self._relation(relation)}) {comparison} {self._bound(bound)}"
            case Sum(relation, of, comparison, bound):
                counted = f"(sum {self._relation(relation)} : {text(of)})"
                return f"{counted} {comparison} {self._bound(bound)}"
            case SharesValue(left, right, key):
                both = f"{self._relation(left)} and {self._relation(right)}"
                return f"shared {both} : {text(key)}"
            case AtEnd(fluent, holds, key):
                place = spell_name(fluent) + (f"[{text(key)}]" if key is not None else "")
                return f"finally s in {place} : {text(holds)}"
            case Before(first, then, first_key, then_key):
                return (
                    f"first {self._relation(first)}{self._by(first_key)}"
                    f" before {self._relation(then)}{self._by(then_key)}"
                )
            case NeverAfter(first, then):
                return f"never {self._relation(then)} after {self._relation(first)}"
            case Both(parts):
                return "all {" + "; ".join(map(self._contract, parts)) + "}"

    def _relation(self, relation: Relation) -> str:
        names = [
            *map(spell_name, relation.effects),
            *(f"event {spell_name(name)}" for name in relation.events),
        ]
        where = "" if relation.where is None else f" where ({self._terms.text(relation.where)})"
        return f"e in {' | '.join(names)}{where}"

    def _bound(self, bound: Term) -> str:
        return self._terms.guarded(bound, COMPARISON_LEVEL + 1)

    def _by(self, key: Term | None) -> str:
        return "" if key is None else f" by {self._terms.text(key)}"


def _declared(parameters: Sequence[Parameter]) -> str:
    return ", ".join(f"{spell_name(each.name)}: {each.type}" for each in parameters)


def _at(span: Span | None) -> str:
    if span is None:
        return ""
    return f" at {span.line}:{span.column}-{span.end_line}:{span.end_column}"


def _atom_terms(atom: Atom) -> Iterator[Term]:
    yield from (binder.over for binder in atom.binders)
    yield atom.guard
    yield from (atom.arguments[name] for name in sorted(atom.arguments))
    for performed in atom.events:
        yield from (performed.fields[name] for name in sorted(performed.fields))
    for update in atom.updates:
        yield from (update.key, update.value)


def _reads(terms: Iterator[Term], unknown: str) -> bool:
    return any(each.call == unknown for each in results(*terms))


def _stated_terms(stated: Assumption | Obligation) -> Iterator[Term]:
    yield from (binder.over for binder in stated.binders)
    yield from (stated.guard, stated.formula)
