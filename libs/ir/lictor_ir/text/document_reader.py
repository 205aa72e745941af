"""The text form of a document, read: strictly, with line and column of what can't be read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeVar

from lictor_ir.document import (
    Assumption,
    Atom,
    Binder,
    Document,
    Effect,
    Enumeration,
    Event,
    Fact,
    FactKind,
    Fluent,
    Guarantee,
    Obligation,
    ObligationKind,
    Parameter,
    Performed,
    Schema,
    Span,
    Unknown,
    Update,
)
from lictor_ir.provenance import argument_labels
from lictor_ir.terms import TRUE, Term, var
from lictor_ir.text.contract_reader import ContractReader
from lictor_ir.text.keywords import HEADER
from lictor_ir.text.scanner import Scanner
from lictor_ir.text.term_reader import TermReader
from lictor_ir.types import INT
from lictor_ir.validation.document import validate

_T = TypeVar("_T")


def read(text: str) -> Document:
    """The document of a text; FormError with line and column, or DocumentError with the path of a broken rule."""
    document = _Reader(text).document()
    validate(document)
    return document


class _Reader:
    def __init__(self, text: str) -> None:
        self._scan = Scanner(text)
        self._terms = TermReader(self._scan)
        self._contracts = ContractReader(self._scan, self._terms)
        self._schemas: list[Schema] = []
        self._enums: list[Enumeration] = []
        self._inputs: list[Parameter] = []
        self._atoms: list[Atom] = []
        self._unknowns: list[Unknown] = []
        self._facts: list[Fact] = []
        self._assumptions: list[Assumption] = []
        self._obligations: list[Obligation] = []
        self._guarantees: list[Guarantee] = []

    def document(self) -> Document:
        scan = self._scan
        if not scan.source.startswith(HEADER, scan.token.start):
            raise scan.fail(f"a document begins with {HEADER!r}")
        for _ in range(4):
            scan.skip()  # effect, -, ir, v1
        scan.expect("program")
        program = scan.string()
        scan.expect("target")
        target = scan.name()
        source_hash = scan.string() if scan.takes("source") else None
        layer_hash = scan.string() if scan.takes("layer") else None
        statements: Mapping[str, Callable[[], None]] = {
            "schema": self._schema,
            "enum": self._enum,
            "trusted": self._trusted,
            "event": self._event,
            "fluent": self._fluent,
            "input": self._input,
            "let": self._let,
            "effect": self._atom,
            "unknown": self._unknown,
            "fact": self._fact,
            "assume": self._assumption,
            "oblige": self._obligation,
            "guarantee": self._guarantee,
        }
        while scan.token.kind != "end":
            statement = statements.get(scan.token.text) if scan.token.kind == "word" else None
            if statement is None:
                raise scan.fail(f"a statement is expected ({', '.join(statements)})")
            scan.skip()
            statement()
        return Document(
            program=program,
            source_hash=source_hash,
            layer_hash=layer_hash,
            target=target,
            effects=tuple(self._contracts.effects.values()),
            events=tuple(self._contracts.events),
            schemas=tuple(self._schemas),
            enums=tuple(self._enums),
            fluents=tuple(self._contracts.fluents.values()),
            inputs=tuple(self._inputs),
            atoms=tuple(self._atoms),
            unknowns=tuple(self._unknowns),
            facts=tuple(self._facts),
            assumptions=tuple(self._assumptions),
            obligations=tuple(self._obligations),
            guarantees=tuple(self._guarantees),
        )

    # -- declarations --------------------------------------------------------------------------

    def _schema(self) -> None:
        schema = Schema(self._scan.name(), self._parameters())
        self._schemas.append(schema)
        self._terms.columns[schema.name] = {each.name: each.type for each in schema.columns}

    def _enum(self) -> None:
        name = self._scan.name()
        self._enums.append(Enumeration(name, tuple(self._listed(self._scan.name))))

    def _trusted(self) -> None:
        at = self._scan.token
        name = self._scan.name()
        if name in self._contracts.effects:
            raise self._scan.fail(f"{name} is declared twice", at)
        parameters = self._parameters()
        self._scan.expect("->")
        effect = Effect(name, parameters, self._scan.type())
        if self._scan.takes("in"):
            effect = replace(effect, module=self._scan.string())
        if self._scan.takes("marked"):
            effect = replace(effect, markers=tuple(self._separated(self._scan.string)))
        self._contracts.effects[name] = effect

    def _event(self) -> None:
        name = self._scan.name()
        fields = self._parameters()
        kinds = self._separated(self._scan.name) if self._scan.takes("is") else []
        self._contracts.events.append(Event(name, (name, *kinds), fields))

    def _fluent(self) -> None:
        at = self._scan.token
        name = self._scan.name()
        if name in self._contracts.fluents:
            raise self._scan.fail(f"{name} is declared twice", at)
        self._scan.expect("[")
        key = self._scan.type()
        self._scan.expect("]")
        self._scan.expect(":")
        value = self._scan.type()
        self._scan.expect("=")
        self._contracts.fluents[name] = Fluent(name, key, value, self._terms.term())

    def _input(self) -> None:
        parameter = self._parameter()
        self._inputs.append(parameter)
        self._terms.inputs[parameter.name] = parameter.type

    def _let(self) -> None:
        token = self._scan.token
        if token.kind != "let" or token.text in self._terms.lets:
            raise self._scan.fail("a new name is expected: $1")
        self._scan.skip()
        self._scan.expect("=")
        self._terms.lets[token.text] = self._terms.term()

    def _parameters(self) -> tuple[Parameter, ...]:
        return tuple(self._listed(self._parameter))

    def _parameter(self) -> Parameter:
        name = self._scan.name()
        self._scan.expect(":")
        return Parameter(name, self._scan.type())

    def _listed(self, read_one: Callable[[], _T]) -> list[_T]:
        """What stands between parentheses and commas."""
        self._scan.expect("(")
        return self._terms.until(")", read_one)

    def _separated(self, read_one: Callable[[], _T]) -> list[_T]:
        """One or more, between commas."""
        found = [read_one()]
        while self._scan.takes(","):
            found.append(read_one())
        return found

    # -- the program ---------------------------------------------------------------------------

    def _atom(self) -> None:
        id_ = self._scan.name()
        self._scan.expect(":")
        at = self._scan.token
        effect = self._contracts.effects.get(self._scan.name())
        if effect is None:
            raise self._scan.fail("is not declared as trusted", at)
        arguments = self._given()
        fails = self._scan.takes("fails")
        binders, guard = self._where()
        span = self._span()
        performed: list[Performed] = []
        updates: list[Update] = []
        while self._scan.sees("performs"):
            self._scan.skip()
            performed.append(Performed(self._scan.name(), self._given()))
        while self._scan.sees("sets"):
            self._scan.skip()
            updates.append(self._update())
        self._terms.results[id_] = effect.result
        labels = argument_labels(arguments, self._terms.inputs)
        self._atoms.append(
            Atom(
                id=id_,
                effect=effect.name,
                arguments=arguments,
                guard=guard,
                binders=binders,
                events=tuple(performed),
                updates=tuple(updates),
                labels=labels,
                span=span,
                fails=fails,
            )
        )

    def _update(self) -> Update:
        fluent = self._scan.name()
        self._scan.expect("[")
        key = self._terms.term()
        self._scan.expect("]")
        self._scan.expect("=")
        return Update(fluent, key, self._terms.term())

    def _given(self) -> dict[str, Term]:
        found: dict[str, Term] = {}

        def one() -> None:
            at = self._scan.token
            name = self._scan.name()
            if name in found:
                raise self._scan.fail(f"{name} is given twice", at)
            self._scan.expect("=")
            found[name] = self._terms.term()

        self._listed(one)
        return {name: found[name] for name in sorted(found)}

    def _unknown(self) -> None:
        id_ = self._scan.name()
        self._scan.expect(":")
        type_ = self._scan.type()
        binders = self._loops()
        labels = self._separated(self._scan.string) if self._scan.takes("of") else []
        carried = self._separated(self._scan.string) if self._scan.takes("carrying") else []
        may_raise = self._scan.takes("raises")
        self._unknowns.append(
            Unknown(id_, type_, self._saying(), binders, tuple(labels), tuple(carried), may_raise)
        )
        self._terms.results[id_] = type_

    def _fact(self) -> None:
        about = self._scan.name()
        first = self._terms.term() if self._scan.takes("first") else None
        guard = self._terms.term() if self._scan.takes("when") else TRUE
        at = self._scan.skip()
        if at.text not in {kind.value for kind in FactKind}:
            raise self._scan.fail(f"one of {', '.join(FactKind)} is expected", at)
        self._facts.append(Fact(about, FactKind(at.text), self._terms.term(), guard, first))

    def _where(self) -> tuple[tuple[Binder, ...], Term]:
        binders = self._loops()
        return binders, self._terms.term() if self._scan.takes("when") else TRUE

    def _loops(self) -> tuple[Binder, ...]:
        return tuple(self._separated(self._binder)) if self._scan.takes("for") else ()

    def _binder(self) -> Binder:
        index = var(self._scan.name(), INT)
        self._scan.expect("in")
        return Binder(index, self._terms.term())

    def _span(self) -> Span | None:
        return Span(*self._scan.span()) if self._scan.takes("at") else None

    def _assumption(self) -> None:
        call = self._scan.name()
        binders, guard = self._where()
        self._scan.expect(":")
        formula = self._terms.term()
        self._assumptions.append(Assumption(call, formula, guard, binders, self._saying()))

    def _obligation(self) -> None:
        at = self._scan.skip()
        if at.text not in {kind.value for kind in ObligationKind}:
            raise self._scan.fail(f"one of {', '.join(ObligationKind)} is expected", at)
        call = self._scan.name() if self._scan.takes("of") else None
        binders, guard = self._where()
        self._scan.expect(":")
        formula = self._terms.term()
        text = self._saying()
        self._obligations.append(
            Obligation(ObligationKind(at.text), formula, text, guard, binders, call, self._span())
        )

    def _saying(self) -> str:
        return self._scan.string() if self._scan.takes("says") else ""

    # -- guarantees ----------------------------------------------------------------------------

    def _guarantee(self) -> None:
        name = self._scan.string()
        description = self._saying()
        required_by = ""
        if self._scan.takes("required"):
            self._scan.expect("by")
            required_by = self._scan.string()
        span = self._span()
        self._scan.expect(":")
        contract = self._contracts.contract()
        self._guarantees.append(Guarantee(name, contract, description, required_by, span))
