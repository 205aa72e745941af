"""The rules of the format that its grammar alone does not hold.

Whoever reads a document validates it once; goals, lowering and evaluation trust it from there on. Documents never
change, so one that was found right is not looked at again: each run of it would. The first rule that is broken raises a
DocumentError whose message begins with the path of the part that breaks it: `atoms[3].arguments.addr: …`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Final
from weakref import WeakValueDictionary

from lictor_ir.document import (
    Assumption,
    Atom,
    Binder,
    Document,
    FactKind,
    Obligation,
    ObligationKind,
    Parameter,
    Span,
)
from lictor_ir.json.strict_reading import Path
from lictor_ir.provenance import argument_labels, made_of
from lictor_ir.terms import TRUE, Term
from lictor_ir.types import (
    BOOL,
    INT,
    EnumOf,
    ListOf,
    MapOf,
    OptionalOf,
    RowOf,
    SetOf,
    TupleOf,
    Type,
    accepts,
)
from lictor_ir.validation.contracts import check_contract
from lictor_ir.validation.terms import TermRules, TermScope, refuse

MAX_BINDERS: Final = 16
"""How deep loops may be nested."""

_HASH: Final = re.compile(r"sha256:[0-9a-f]{64}")
_VALID: Final[WeakValueDictionary[int, Document]] = WeakValueDictionary()
"""Documents that were found right, by their ids: comparing them would take longer than validating."""
MOST_DECLARED: Final = 16
_DECLARATIONS: Final = ("effects", "events", "schemas", "enums", "fluents")
_DECLARED: Final[dict[tuple[int, ...], tuple[object, ...]]] = {}
"""Declarations that were found right, by the ids of what is kept here: all traces of a signature share them."""
_TYPE_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*")


def validate(document: Document) -> None:
    """Raise a DocumentError that begins with the path of the part that breaks a rule."""
    if _VALID.get(id(document)) is document:
        return
    for key, found in (("source_hash", document.source_hash), ("layer_hash", document.layer_hash)):
        if found is not None and not _HASH.fullmatch(found):
            raise refuse((key,), "must be sha256: and 64 hex digits, or nothing")
    _check_dotted(document.target, ("target",))
    types = _Types(document)
    _check_declarations(document, types)
    _check_parameters(document.inputs, ("inputs",), types)
    rules = TermRules(document)
    for number, fluent in enumerate(document.fluents):
        path = ("fluents", number, "initial")
        rules.check_closed(fluent.initial, path)
        _check_type(fluent.initial, fluent.value, path)
    _Atoms(document, rules).check()
    stated = _Stated(document, rules)
    stated.check_unknowns(types)
    stated.check_facts()
    stated.check()
    for number, guarantee in enumerate(document.guarantees):
        _check_span(guarantee.span, ("guarantees", number, "span"))
        check_contract(guarantee.contract, ("guarantees", number, "contract"), document, rules)
    _VALID[id(document)] = document


def assume_valid(document: Document) -> None:
    """For a document that holds to the rules by the way it was made, and that nothing but an analysis rests on."""
    _VALID[id(document)] = document


# -- declarations ----------------------------------------------------------------------------------


def _check_declarations(document: Document, types: _Types) -> None:
    declared = (
        document.effects,
        document.events,
        document.schemas,
        document.enums,
        document.fluents,
    )
    key = tuple(map(id, declared))
    if key in _DECLARED:
        return
    for number, effect in enumerate(document.effects):
        path = ("effects", number)
        _check_dotted(effect.name, (*path, "name"))
        _check_parameters(effect.parameters, (*path, "parameters"), types)
        types.check(effect.result, (*path, "result"))
        _check_unique(effect.markers, (*path, "markers"))
    for number, event in enumerate(document.events):
        path = ("events", number)
        _check_dotted(event.name, (*path, "name"))
        if event.kinds[:1] != (event.name,):
            raise refuse((*path, "kinds"), "must begin with the event itself")
        _check_unique(event.kinds, (*path, "kinds"))
        _check_parameters(event.fields, (*path, "fields"), types)
    for number, schema in enumerate(document.schemas):
        path = ("schemas", number)
        _check_type_name(schema.name, (*path, "name"))
        _check_parameters(schema.columns, (*path, "columns"), types)
    for number, enum in enumerate(document.enums):
        path = ("enums", number)
        _check_type_name(enum.name, (*path, "name"))
        if not enum.members:
            raise refuse((*path, "members"), f"must not be empty: nothing could be a {enum.name}")
        _check_unique(enum.members, (*path, "members"))
        for at, member in enumerate(enum.members):
            _check_name(member, (*path, "members", at))
    for number, fluent in enumerate(document.fluents):
        path = ("fluents", number)
        _check_dotted(fluent.name, (*path, "name"))
        types.check(fluent.key, (*path, "key"))
        types.check(fluent.value, (*path, "value"))
    for section, named in zip(_DECLARATIONS, declared, strict=True):
        _check_unique([each.name for each in named], (section,))
    # Other threads do so meanwhile: there may be more already, and one may be gone.
    for oldest in list(_DECLARED)[: max(0, len(_DECLARED) - MOST_DECLARED + 1)]:
        _DECLARED.pop(oldest, None)
    _DECLARED[key] = declared


class _Types:
    """Whether types name only what is declared."""

    def __init__(self, document: Document) -> None:
        self._schemas = {schema.name for schema in document.schemas}
        self._enums = {enum.name for enum in document.enums}

    def check(self, type_: Type, path: Path) -> None:
        """Types are shallow, so this may recurse."""
        match type_:
            case RowOf(schema):
                if schema not in self._schemas:
                    raise refuse(path, f"speaks of rows of {schema}, which is not declared")
            case EnumOf(name):
                if name not in self._enums:
                    raise refuse(path, f"speaks of the enum {name}, which is not declared")
            case ListOf(item) | SetOf(item) | OptionalOf(item):
                self.check(item, path)
            case TupleOf(items):
                for item in items:
                    self.check(item, path)
            case MapOf(key, value):
                self.check(key, path)
                self.check(value, path)
            case _:
                pass


def _check_parameters(parameters: Sequence[Parameter], path: Path, types: _Types) -> None:
    _check_unique([parameter.name for parameter in parameters], path)
    for at, parameter in enumerate(parameters):
        _check_name(parameter.name, (*path, at, "name"))
        types.check(parameter.type, (*path, at, "type"))


def _check_name(name: str, path: Path) -> None:
    if not name.isidentifier():
        raise refuse(path, f"{name!r} is no name")


def _check_dotted(name: str, path: Path) -> None:
    if not all(part.isidentifier() for part in name.split(".")):
        raise refuse(path, f"{name!r} is no name")


def _check_type_name(name: str, path: Path) -> None:
    if not _TYPE_NAME.fullmatch(name):
        raise refuse(path, f"{name!r} is no name of a type: use ASCII letters, digits, _ and .")


def _check_unique(names: Collection[str], path: Path) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise refuse(path, f"{name} stands there twice")
        seen.add(name)


def _check_span(span: Span | None, path: Path) -> None:
    if span is not None and not (
        min(span.line, span.column, span.end_column) >= 1
        and (span.line, span.column) <= (span.end_line, span.end_column)
    ):
        raise refuse(path, "must count from 1, and not end before it begins")


def _check_type(term: Term, declared: Type, path: Path) -> None:
    if not accepts(declared, term.type):
        raise refuse(path, f"must be {declared}, not {term.type}")


# -- atoms -----------------------------------------------------------------------------------------


class _Atoms:
    def __init__(self, document: Document, rules: TermRules) -> None:
        self._document = document
        self._rules = rules
        self._effects = {effect.name: effect for effect in document.effects}
        self._events = {event.name: event for event in document.events}
        self._fluents = {fluent.name: fluent for fluent in document.fluents}
        self._inputs = {parameter.name for parameter in document.inputs}

    def check(self) -> None:
        _check_unique([atom.id for atom in self._document.atoms], ("atoms",))
        self._check_loops(self._document.atoms, 0, set())
        for number, atom in enumerate(self._document.atoms):
            self._check_atom(atom, ("atoms", number), number)

    def _check_loops(self, atoms: Sequence[Atom], depth: int, closed: set[str]) -> None:
        """Each index belongs to one loop, whose atoms stand together; how deep loops are is checked with each atom."""
        for binder, group in groupby(
            atoms, lambda atom: atom.binders[depth] if depth < len(atom.binders) else None
        ):
            body = list(group)
            if binder is None or depth > MAX_BINDERS:
                continue
            if binder.index.name in closed:
                at = next(at for at, atom in enumerate(self._document.atoms) if atom is body[0])
                raise refuse(
                    ("atoms", at, "binders", depth, "index"),
                    f"{binder.index.name} is the index of another loop; the atoms of a loop stand together",
                )
            closed.add(binder.index.name)
            self._check_loops(body, depth + 1, closed)

    def _check_atom(self, atom: Atom, path: Path, position: int) -> None:
        _check_name(atom.id, (*path, "id"))
        effect = self._effects.get(atom.effect)
        if effect is None:
            raise refuse((*path, "effect"), f"{atom.effect} is not declared")
        around = TermScope((), position)
        _check_binders(atom.binders, (*path, "binders"), around, self._inputs, self._rules)
        scope = TermScope(atom.binders, position)
        self._check_named(
            atom.arguments, effect.parameters, (*path, "arguments"), effect.name, scope
        )
        self._rules.check(atom.guard, (*path, "guard"), scope)
        _check_type(atom.guard, BOOL, (*path, "guard"))
        for at, performed in enumerate(atom.events):
            here = (*path, "events", at)
            event = self._events.get(performed.event)
            if event is None:
                raise refuse((*here, "event"), f"{performed.event} is not declared")
            self._check_named(performed.fields, event.fields, (*here, "fields"), event.name, scope)
        for at, update in enumerate(atom.updates):
            here = (*path, "updates", at)
            fluent = self._fluents.get(update.fluent)
            if fluent is None:
                raise refuse((*here, "fluent"), f"{update.fluent} is not declared")
            for key, term, type_ in (
                ("key", update.key, fluent.key),
                ("value", update.value, fluent.value),
            ):
                self._rules.check(term, (*here, key), scope)
                _check_type(term, type_, (*here, key))
        computed = argument_labels(atom.arguments, self._inputs)
        if dict(atom.labels) != computed:
            odd = min(
                name
                for name in {*atom.labels, *computed}
                if atom.labels.get(name) != computed.get(name)
            )
            raise refuse(
                (*path, "labels", odd),
                f"must be what the argument shows: {', '.join(computed.get(odd, ())) or 'no label'}",
            )
        _check_span(atom.span, (*path, "span"))

    def _check_named(
        self,
        terms: Mapping[str, Term],
        declared: Sequence[Parameter],
        path: Path,
        owner: str,
        scope: TermScope,
    ) -> None:
        types = {parameter.name: parameter.type for parameter in declared}
        for name, term in terms.items():
            if name not in types:
                raise refuse((*path, name), f"{owner} has no {name}")
            self._rules.check(term, (*path, name), scope)
            _check_type(term, types[name], (*path, name))


def _check_binders(
    binders: Sequence[Binder],
    path: Path,
    around: TermScope,
    inputs: Collection[str],
    rules: TermRules,
) -> None:
    """The rules for the loops around something that may read what is in scope."""
    if len(binders) > MAX_BINDERS:
        raise refuse(path, f"must not be more than {MAX_BINDERS}")
    _check_unique([binder.index.name for binder in binders], path)
    for at, binder in enumerate(binders):
        here = (*path, at)
        _check_name(binder.index.name, (*here, "index"))
        if binder.index.type != INT:
            raise refuse((*here, "index"), "must be an int")
        if binder.index.name in inputs:
            raise refuse((*here, "index"), f"{binder.index.name} is an input")
        scope = replace(around, binders=tuple(binders[:at]), counts_rounds=True)
        rules.check(binder.over, (*here, "over"), scope)
        if not (isinstance(binder.over.type, ListOf) or binder.over.type == INT):
            raise refuse((*here, "over"), f"must be a list or a count, not {binder.over.type}")


# -- assumptions and obligations -------------------------------------------------------------------


class _Stated:
    def __init__(self, document: Document, rules: TermRules) -> None:
        self._document = document
        self._rules = rules
        self._position = {atom.id: number for number, atom in enumerate(document.atoms)}
        self._inputs = {parameter.name for parameter in document.inputs}
        self._loops = {
            binder.index.name: atom.binders[: at + 1]
            for atom in document.atoms
            for at, binder in enumerate(atom.binders)
        }

    def check_unknowns(self, types: _Types) -> None:
        """Each has a name and a type of its own, and is made of calls and inputs."""
        unknowns = self._document.unknowns
        _check_unique([*self._position, *(each.id for each in unknowns)], ("unknowns",))
        for number, unknown in enumerate(unknowns):
            path = ("unknowns", number)
            _check_name(unknown.id, (*path, "id"))
            types.check(unknown.type, (*path, "type"))
            scope = TermScope((), math.inf, number)
            _check_binders(unknown.binders, (*path, "binders"), scope, self._inputs, self._rules)
            self._check_loops(unknown.binders, path)
            for key, labels in (("labels", unknown.labels), ("carried", unknown.carried)):
                if list(labels) != sorted(set(labels)):
                    raise refuse((*path, key), "must be sorted, each once")
            for at, label in enumerate(unknown.labels):
                source = label.partition(".")[0]
                kind, _, name = source.rpartition(":")
                known = self._inputs if kind == "input" else self._position if not kind else ()
                if name not in known:
                    raise refuse((*path, "labels", at), f"{label} names no call and no input")
            for at, label in enumerate(unknown.carried):
                if label.partition(".")[0] not in self._position:
                    raise refuse((*path, "carried", at), f"{label} names no call")

    def check_facts(self) -> None:
        """Each speaks of an unknown, in its loops; what it is made of is what the unknown is made of."""
        unknowns = {each.id: (at, each) for at, each in enumerate(self._document.unknowns)}
        following: list[str] = []
        for number, fact in enumerate(self._document.facts):
            path = ("facts", number)
            if fact.about not in unknowns:
                raise refuse((*path, "about"), f"{fact.about} is no unknown")
            at, unknown = unknowns[fact.about]
            if not unknown.binders and fact.kind is not FactKind.HOLDS:
                raise refuse((*path, "about"), f"{fact.about} stands in no loop")
            if (fact.first is None) is (fact.kind is FactKind.NEXT):
                raise refuse((*path, "first"), "stands where it says what is next, and only there")
            scope = TermScope(unknown.binders, math.inf)
            self._rules.check(fact.guard, (*path, "guard"), scope)
            _check_type(fact.guard, BOOL, (*path, "guard"))
            self._rules.check(fact.term, (*path, "term"), scope)
            if fact.kind is FactKind.HOLDS:
                _check_type(fact.term, BOOL, (*path, "term"))
            if fact.first is None:
                continue
            following.append(fact.about)
            if fact.guard is not TRUE:
                raise refuse((*path, "guard"), "must be true: there is always something next")
            self._rules.check(
                fact.first, (*path, "first"), TermScope(unknown.binders[:-1], math.inf, at)
            )
            for key, term in (("first", fact.first), ("term", fact.term)):
                if term.type != unknown.type:
                    raise refuse((*path, key), f"must be {unknown.type}, not {term.type}")
            made = set(made_of([fact.first, fact.term], self._inputs, self._document.unknowns))
            known = {*unknown.labels, *unknown.carried}
            odd = sorted(made - known - {each for each in made if each.partition(".")[0] in known})
            if odd:
                raise refuse(path, f"{fact.about} is not said to be made of {odd[0]}")
        _check_unique(following, ("facts",))

    def check(self) -> None:
        for number, assumption in enumerate(self._document.assumptions):
            path = ("assumptions", number)
            position = self._known(assumption.call, (*path, "call"))
            if self._document.atoms[position].fails:
                raise refuse((*path, "call"), f"{assumption.call} fails, so it promises nothing")
            around = self._document.atoms[position].binders
            if assumption.binders[: len(around)] != around:
                raise refuse((*path, "binders"), f"must begin with those of {assumption.call}")
            # What a call returns is there once it happened.
            self._check_formula(assumption, path, position + 1)
        for number, obligation in enumerate(self._document.obligations):
            path = ("obligations", number)
            position: float = math.inf
            if obligation.call is not None:
                position = self._known(obligation.call, (*path, "call"))
            elif obligation.kind == ObligationKind.PRECONDITION:
                raise refuse((*path, "call"), "must name the call whose precondition it is")
            self._check_formula(obligation, path, position)
            _check_span(obligation.span, (*path, "span"))

    def _known(self, call: str, path: Path) -> int:
        if call not in self._position:
            raise refuse(path, f"{call} is no atom")
        return self._position[call]

    def _check_formula(self, stated: Assumption | Obligation, path: Path, position: float) -> None:
        _check_binders(
            stated.binders,
            (*path, "binders"),
            TermScope((), position),
            self._inputs,
            self._rules,
        )
        self._check_loops(stated.binders, path)
        scope = TermScope(stated.binders, position)
        for key, term in (("guard", stated.guard), ("formula", stated.formula)):
            self._rules.check(term, (*path, key), scope)
            _check_type(term, BOOL, (*path, key))

    def _check_loops(self, binders: tuple[Binder, ...], path: Path) -> None:
        for at, binder in enumerate(binders):
            loop = binders[: at + 1]
            if self._loops.setdefault(binder.index.name, loop) != loop:
                raise refuse(
                    (*path, "binders", at, "index"),
                    f"{binder.index.name} is the index of another loop",
                )
