"""The canonical JSON of a document: what its name, the SHA-256, is taken over.

A document has one JSON value, and equal documents have the same one: nothing is left out because it is empty, terms
stand in one flat table in the order in which the document comes upon them (`lictor_ir.json.terms`), and reading refuses
every other way to say the same. White space and the order of keys are JSON's own affair.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, cast

from lictor_ir.document import (
    FORMAT,
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
from lictor_ir.errors import FormError
from lictor_ir.json.contracts import contract_json, contract_terms, read_contract
from lictor_ir.json.strict_reading import (
    Path,
    fail,
    integer,
    list_of,
    mapping_of,
    name,
    object_of,
    text,
    text_or_none,
    tuple_of,
)
from lictor_ir.json.terms import TermWriter, read_ref, read_terms, read_type
from lictor_ir.terms import Term, Var
from lictor_ir.validation.document import validate
from lictor_schema.core.canonical_json import CanonicalError, canonical_json, hash_bytes, parse_json

MAX_BYTES: Final = 64 * 1024 * 1024

Json = Any


def to_json(document: Document) -> bytes:
    """The canonical bytes of a document."""
    try:
        return canonical_json(_document_json(document))
    except CanonicalError as error:
        raise FormError(str(error)) from None


def document_hash(document: Document) -> str:
    """The document's name: `sha256:` and the digest of its canonical JSON."""
    return hash_bytes(to_json(document))


def from_json(data: bytes) -> Document:
    """The document, with every term type-checked anew and every rule of the format held."""
    if len(data) > MAX_BYTES:
        raise FormError(f"the document has {len(data)} bytes; at most {MAX_BYTES} are read")
    try:
        value = parse_json(data)
    except CanonicalError as error:
        raise FormError(str(error)) from None
    document = _read_document(value)
    _refuse_another_form(value, _document_json(document), ())
    validate(document)
    return document


# -- writing ---------------------------------------------------------------------------------------


def document_terms(document: Document) -> Iterator[Term]:
    """The terms of a document, where they stand, in the order of the form."""
    for fluent in document.fluents:
        yield fluent.initial
    for atom in document.atoms:
        yield from _binder_terms(atom.binders)
        yield atom.guard
        yield from _sorted_values(atom.arguments)
        for performed in atom.events:
            yield from _sorted_values(performed.fields)
        for update in atom.updates:
            yield update.key
            yield update.value
    for unknown in document.unknowns:
        yield from _binder_terms(unknown.binders)
    for fact in document.facts:
        yield from fact.terms()
    for stated in (*document.assumptions, *document.obligations):
        yield from _binder_terms(stated.binders)
        yield stated.guard
        yield stated.formula
    for guarantee in document.guarantees:
        yield from contract_terms(guarantee.contract)


def _binder_terms(binders: Sequence[Binder]) -> Iterator[Term]:
    for binder in binders:
        yield binder.over
        yield binder.index


def _sorted_values(terms: Mapping[str, Term]) -> Iterator[Term]:
    # Equal mappings may hold their members in different order.
    return (terms[key] for key in sorted(terms))


def _document_json(document: Document) -> Json:
    table = TermWriter(document_terms(document))
    return {
        "format": FORMAT,
        "program": document.program,
        "source_hash": document.source_hash,
        "layer_hash": document.layer_hash,
        "target": document.target,
        "effects": [
            {
                "name": effect.name,
                "parameters": _parameters_json(effect.parameters),
                "result": str(effect.result),
                "markers": list(effect.markers),
                "module": effect.module,
            }
            for effect in document.effects
        ],
        "events": [
            {
                "name": event.name,
                "kinds": list(event.kinds),
                "fields": _parameters_json(event.fields),
            }
            for event in document.events
        ],
        "schemas": [
            {"name": schema.name, "columns": _parameters_json(schema.columns)}
            for schema in document.schemas
        ],
        "enums": [{"name": enum.name, "members": list(enum.members)} for enum in document.enums],
        "fluents": [
            {
                "name": fluent.name,
                "key": str(fluent.key),
                "value": str(fluent.value),
                "initial": table.ref(fluent.initial),
            }
            for fluent in document.fluents
        ],
        "inputs": _parameters_json(document.inputs),
        "terms": table.rows,
        "atoms": [_atom_json(atom, table) for atom in document.atoms],
        # Documents without them have the bytes, and the names, that they had before there were any.
        **({"unknowns": _unknowns_json(document.unknowns, table)} if document.unknowns else {}),
        **({"facts": _facts_json(document.facts, table)} if document.facts else {}),
        "assumptions": [
            {
                "call": assumption.call,
                "formula": table.ref(assumption.formula),
                "guard": table.ref(assumption.guard),
                "binders": _binders_json(assumption.binders, table),
                "text": assumption.text,
            }
            for assumption in document.assumptions
        ],
        "obligations": [
            {
                "kind": obligation.kind.value,
                "formula": table.ref(obligation.formula),
                "text": obligation.text,
                "guard": table.ref(obligation.guard),
                "binders": _binders_json(obligation.binders, table),
                "call": obligation.call,
                "span": _span_json(obligation.span),
            }
            for obligation in document.obligations
        ],
        "guarantees": [
            {
                "name": guarantee.name,
                "contract": contract_json(guarantee.contract, table.ref),
                "description": guarantee.description,
                "required_by": guarantee.required_by,
                "span": _span_json(guarantee.span),
            }
            for guarantee in document.guarantees
        ],
    }


def _atom_json(atom: Atom, table: TermWriter) -> Json:
    return {
        "id": atom.id,
        "effect": atom.effect,
        "arguments": _refs_json(atom.arguments, table),
        "guard": table.ref(atom.guard),
        "binders": _binders_json(atom.binders, table),
        "events": [
            {"event": performed.event, "fields": _refs_json(performed.fields, table)}
            for performed in atom.events
        ],
        "updates": [
            {
                "fluent": update.fluent,
                "key": table.ref(update.key),
                "value": table.ref(update.value),
            }
            for update in atom.updates
        ],
        "labels": {argument: list(labels) for argument, labels in atom.labels.items()},
        "span": _span_json(atom.span),
        # As with unknowns: what was said before there were such calls is said in the same bytes.
        **({"fails": True} if atom.fails else {}),
    }


def _unknowns_json(unknowns: Sequence[Unknown], table: TermWriter) -> Json:
    return [
        {
            "id": unknown.id,
            "type": str(unknown.type),
            "text": unknown.text,
            "binders": _binders_json(unknown.binders, table),
            "labels": list(unknown.labels),
            "carried": list(unknown.carried),
            "may_raise": unknown.may_raise,
        }
        for unknown in unknowns
    ]


def _facts_json(facts: Sequence[Fact], table: TermWriter) -> Json:
    return [
        {
            "about": fact.about,
            "kind": fact.kind.value,
            "first": None if fact.first is None else table.ref(fact.first),
            "guard": table.ref(fact.guard),
            "term": table.ref(fact.term),
        }
        for fact in facts
    ]


def _refs_json(terms: Mapping[str, Term], table: TermWriter) -> Json:
    return {key: table.ref(term) for key, term in terms.items()}


def _binders_json(binders: Sequence[Binder], table: TermWriter) -> Json:
    return [
        {"index": table.ref(binder.index), "over": table.ref(binder.over)} for binder in binders
    ]


def _parameters_json(parameters: Sequence[Parameter]) -> Json:
    return [{"name": parameter.name, "type": str(parameter.type)} for parameter in parameters]


def _span_json(span: Span | None) -> Json:
    return span and [span.line, span.column, span.end_line, span.end_column]


# -- reading ---------------------------------------------------------------------------------------


def _read_document(value: Json) -> Document:
    if not isinstance(value, dict) or value.get("format") != FORMAT:  # pyright: ignore[reportUnknownMemberType]
        raise FormError(f"format: must be {FORMAT!r}; nothing else is read here")
    fields = object_of(
        value,
        (),
        *("format", "program", "source_hash", "layer_hash", "target"),
        *("effects", "events", "schemas", "enums", "fluents", "inputs"),
        *("terms", "atoms", "assumptions", "obligations", "guarantees"),
        optional=("unknowns", "facts"),
    )
    reader = _Reader(read_terms(fields["terms"], ("terms",)))
    return Document(
        program=text(fields["program"], ("program",)),
        source_hash=text_or_none(fields["source_hash"], ("source_hash",)),
        layer_hash=text_or_none(fields["layer_hash"], ("layer_hash",)),
        target=name(fields["target"], ("target",)),
        effects=tuple_of(fields["effects"], ("effects",), _read_effect),
        events=tuple_of(fields["events"], ("events",), _read_event),
        schemas=tuple_of(fields["schemas"], ("schemas",), _read_schema),
        enums=tuple_of(fields["enums"], ("enums",), _read_enum),
        fluents=tuple_of(fields["fluents"], ("fluents",), reader.fluent),
        inputs=tuple_of(fields["inputs"], ("inputs",), _read_parameter),
        atoms=tuple_of(fields["atoms"], ("atoms",), reader.atom),
        unknowns=tuple_of(fields.get("unknowns", []), ("unknowns",), reader.unknown),
        facts=tuple_of(fields.get("facts", []), ("facts",), reader.fact),
        assumptions=tuple_of(fields["assumptions"], ("assumptions",), reader.assumption),
        obligations=tuple_of(fields["obligations"], ("obligations",), reader.obligation),
        guarantees=tuple_of(fields["guarantees"], ("guarantees",), reader.guarantee),
    )


def _read_parameter(value: Json, path: Path) -> Parameter:
    fields = object_of(value, path, "name", "type")
    return Parameter(
        name(fields["name"], (*path, "name")), read_type(fields["type"], (*path, "type"))
    )


def _read_effect(value: Json, path: Path) -> Effect:
    fields = object_of(value, path, "name", "parameters", "result", "markers", "module")
    return Effect(
        name=name(fields["name"], (*path, "name")),
        parameters=tuple_of(fields["parameters"], (*path, "parameters"), _read_parameter),
        result=read_type(fields["result"], (*path, "result")),
        markers=tuple_of(fields["markers"], (*path, "markers"), name),
        module=text(fields["module"], (*path, "module")),
    )


def _read_event(value: Json, path: Path) -> Event:
    fields = object_of(value, path, "name", "kinds", "fields")
    return Event(
        name=name(fields["name"], (*path, "name")),
        kinds=tuple_of(fields["kinds"], (*path, "kinds"), name),
        fields=tuple_of(fields["fields"], (*path, "fields"), _read_parameter),
    )


def _read_schema(value: Json, path: Path) -> Schema:
    fields = object_of(value, path, "name", "columns")
    return Schema(
        name=name(fields["name"], (*path, "name")),
        columns=tuple_of(fields["columns"], (*path, "columns"), _read_parameter),
    )


def _read_enum(value: Json, path: Path) -> Enumeration:
    fields = object_of(value, path, "name", "members")
    return Enumeration(
        name=name(fields["name"], (*path, "name")),
        members=tuple_of(fields["members"], (*path, "members"), name),
    )


def _read_span(value: Json, path: Path) -> Span | None:
    if value is None:
        return None
    numbers = list_of(value, path, integer)
    if len(numbers) != 4:
        raise fail(path, "must be line, column, end line, end column; or null")
    return Span(*numbers)


class _Reader:
    """Reads what refers to terms."""

    def __init__(self, known: Sequence[Term]) -> None:
        self._known = known

    def ref(self, value: Json, path: Path) -> Term:
        return read_ref(value, path, self._known)

    def binder(self, value: Json, path: Path) -> Binder:
        fields = object_of(value, path, "index", "over")
        index = self.ref(fields["index"], (*path, "index"))
        if not isinstance(index, Var):
            raise fail((*path, "index"), "must be a variable")
        return Binder(index, self.ref(fields["over"], (*path, "over")))

    def fluent(self, value: Json, path: Path) -> Fluent:
        fields = object_of(value, path, "name", "key", "value", "initial")
        return Fluent(
            name=name(fields["name"], (*path, "name")),
            key=read_type(fields["key"], (*path, "key")),
            value=read_type(fields["value"], (*path, "value")),
            initial=self.ref(fields["initial"], (*path, "initial")),
        )

    def performed(self, value: Json, path: Path) -> Performed:
        fields = object_of(value, path, "event", "fields")
        return Performed(
            event=name(fields["event"], (*path, "event")),
            fields=mapping_of(fields["fields"], (*path, "fields"), self.ref),
        )

    def update(self, value: Json, path: Path) -> Update:
        fields = object_of(value, path, "fluent", "key", "value")
        return Update(
            fluent=name(fields["fluent"], (*path, "fluent")),
            key=self.ref(fields["key"], (*path, "key")),
            value=self.ref(fields["value"], (*path, "value")),
        )

    def atom(self, value: Json, path: Path) -> Atom:
        fields = object_of(
            value,
            path,
            *("id", "effect", "arguments", "guard", "binders"),
            *("events", "updates", "labels", "span"),
            optional=("fails",),
        )
        if fields.get("fails", True) is not True:
            raise fail((*path, "fails"), "must be true, or left out")
        return Atom(
            id=name(fields["id"], (*path, "id")),
            effect=name(fields["effect"], (*path, "effect")),
            arguments=mapping_of(fields["arguments"], (*path, "arguments"), self.ref),
            guard=self.ref(fields["guard"], (*path, "guard")),
            binders=tuple_of(fields["binders"], (*path, "binders"), self.binder),
            events=tuple_of(fields["events"], (*path, "events"), self.performed),
            updates=tuple_of(fields["updates"], (*path, "updates"), self.update),
            labels=mapping_of(
                fields["labels"], (*path, "labels"), lambda each, here: tuple_of(each, here, name)
            ),
            span=_read_span(fields["span"], (*path, "span")),
            fails="fails" in fields,
        )

    def unknown(self, value: Json, path: Path) -> Unknown:
        fields = object_of(
            value, path, "id", "type", "text", "binders", "labels", "carried", "may_raise"
        )
        if not isinstance(fields["may_raise"], bool):
            raise fail((*path, "may_raise"), "must be true or false")
        return Unknown(
            id=name(fields["id"], (*path, "id")),
            type=read_type(fields["type"], (*path, "type")),
            text=text(fields["text"], (*path, "text")),
            binders=tuple_of(fields["binders"], (*path, "binders"), self.binder),
            labels=tuple_of(fields["labels"], (*path, "labels"), name),
            carried=tuple_of(fields["carried"], (*path, "carried"), name),
            may_raise=fields["may_raise"],
        )

    def fact(self, value: Json, path: Path) -> Fact:
        fields = object_of(value, path, "about", "kind", "first", "guard", "term")
        kind = text(fields["kind"], (*path, "kind"))
        if kind not in {known.value for known in FactKind}:
            raise fail((*path, "kind"), f"must be one of {', '.join(FactKind)}")
        first = fields["first"]
        return Fact(
            about=name(fields["about"], (*path, "about")),
            kind=FactKind(kind),
            term=self.ref(fields["term"], (*path, "term")),
            guard=self.ref(fields["guard"], (*path, "guard")),
            first=None if first is None else self.ref(first, (*path, "first")),
        )

    def assumption(self, value: Json, path: Path) -> Assumption:
        fields = object_of(value, path, "call", "formula", "guard", "binders", "text")
        return Assumption(
            call=name(fields["call"], (*path, "call")),
            formula=self.ref(fields["formula"], (*path, "formula")),
            guard=self.ref(fields["guard"], (*path, "guard")),
            binders=tuple_of(fields["binders"], (*path, "binders"), self.binder),
            text=text(fields["text"], (*path, "text")),
        )

    def obligation(self, value: Json, path: Path) -> Obligation:
        fields = object_of(
            value, path, "kind", "formula", "text", "guard", "binders", "call", "span"
        )
        kind = text(fields["kind"], (*path, "kind"))
        if kind not in {known.value for known in ObligationKind}:
            raise fail((*path, "kind"), f"must be one of {', '.join(ObligationKind)}")
        return Obligation(
            kind=ObligationKind(kind),
            formula=self.ref(fields["formula"], (*path, "formula")),
            text=text(fields["text"], (*path, "text")),
            guard=self.ref(fields["guard"], (*path, "guard")),
            binders=tuple_of(fields["binders"], (*path, "binders"), self.binder),
            call=text_or_none(fields["call"], (*path, "call")),
            span=_read_span(fields["span"], (*path, "span")),
        )

    def guarantee(self, value: Json, path: Path) -> Guarantee:
        fields = object_of(value, path, "name", "contract", "description", "required_by", "span")
        return Guarantee(
            name=text(fields["name"], (*path, "name")),
            contract=read_contract(fields["contract"], (*path, "contract"), self.ref),
            description=text(fields["description"], (*path, "description")),
            required_by=text(fields["required_by"], (*path, "required_by")),
            span=_read_span(fields["span"], (*path, "span")),
        )


def _refuse_another_form(given: Json, canonical: Json, path: Path) -> None:
    """Refuse what reads as this document and is not its form: terms twice, unused, or in another order."""
    if given == canonical:
        return
    if isinstance(given, dict) and isinstance(canonical, dict):
        one, other = cast(dict[str, Json], given), cast(dict[str, Json], canonical)
        for key in sorted(one.keys() & other.keys()):
            _refuse_another_form(one[key], other[key], (*path, key))
    elif isinstance(given, list) and isinstance(canonical, list):
        pairs = zip(cast(list[Json], given), cast(list[Json], canonical), strict=False)
        for at, (one, other) in enumerate(pairs):
            _refuse_another_form(one, other, (*path, at))
    raise fail(path, "is not as the format writes it: terms stand once each, where they are needed")
