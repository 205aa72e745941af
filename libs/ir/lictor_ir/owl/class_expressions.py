"""Relations and predicates of contracts as class expressions of OWL 2, as far as they can be said there.

What can't be said exactly raises `Unsayable` with the reason. A predicate becomes a restriction of data properties: on
the side that is promised `allValuesFrom`, on the side that chooses rows `someValuesFrom`, so that neither claims more
than the contract does of a row whose field is not known.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from rdflib import OWL, RDF, RDFS, XSD, BNode, Graph, Literal, URIRef
from rdflib.term import Node

from lictor_ir.contracts import FIELD_PREFIX, Relation
from lictor_ir.terms import App, Const, Term, Var
from lictor_ir.types import BOOL, FLOAT, INT, STR, Type

DATATYPES: Final[dict[Type, URIRef]] = {
    BOOL: XSD.boolean,
    INT: XSD.integer,
    FLOAT: XSD.double,
    STR: XSD.string,
}
MAX_NODES: Final = 20_000
MAX_DEPTH: Final = 64

_T = TypeVar("_T")
_NO_XML: Final = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_REGEX_SIGNS: Final = re.compile(r"[\\|.?*+(){}\[\]^-]")
_ANYTHING: Final = r"[\s\S]*"

Test = tuple[Var, Node]
"""A field, and the data range that its value is in."""


class Unsayable(Exception):
    """OWL has no words for it; the message says for what."""


class Expressions:
    """Makes class expressions in one graph. Their nodes are blank, as OWL 2 wants them, with names of their own."""

    def __init__(
        self,
        graph: Graph,
        mark: str,
        iri: Callable[[str, str], URIRef],
        words: Callable[[Term], str],
    ) -> None:
        self._graph = graph
        self._mark = mark
        self._iri = iri
        self._words = words
        self._made = 0
        self._most = 0

    def attempt(self, make: Callable[[], _T]) -> _T:
        """What `make` makes, all of it in the graph, or nothing of it where it is Unsayable."""
        kept, self._graph = self._graph, Graph(bind_namespaces="none")
        self._most = self._made + MAX_NODES
        try:
            made = make()
            for triple in self._graph:
                kept.add(triple)
            return made
        finally:
            self._graph = kept

    def node(self) -> BNode:
        """A new blank node; the same in every rendering of the same document."""
        self._made += 1
        if self._made == self._most:
            raise Unsayable("it is too large to be written out")
        return BNode(f"x{self._mark}n{self._made:05}")

    # -- classes ---------------------------------------------------------------------------------

    def relation(self, relation: Relation) -> Node:
        """The class of the rows of a relation."""
        names = [
            *(self._iri("effect", name) for name in relation.effects),
            *(self._iri("event", name) for name in relation.events),
        ]
        rows = self.union(names)
        if relation.where is None:
            return rows
        return self.intersection([rows, self.predicate(relation.where, OWL.someValuesFrom)])

    def union(self, classes: Sequence[Node]) -> Node:
        """What is in one of the classes."""
        return self._joined(OWL.unionOf, classes, OWL.Nothing)

    def intersection(self, classes: Sequence[Node]) -> Node:
        """What is in all of the classes."""
        return self._joined(OWL.intersectionOf, classes, OWL.Thing)

    def counted(self, cardinality: URIRef, number: int, property_: URIRef, of: Node) -> Node:
        """What has so many things of a class."""
        node = self.restriction(property_)
        self._graph.add((node, cardinality, Literal(str(number), datatype=XSD.nonNegativeInteger)))
        self._graph.add((node, OWL.onClass, of))
        return node

    def some(self, property_: URIRef, of: Node) -> Node:
        """What has a thing of a class."""
        node = self.restriction(property_)
        self._graph.add((node, OWL.someValuesFrom, of))
        return node

    def restriction(self, property_: URIRef) -> BNode:
        """A restriction of the property, to be completed."""
        node = self.node()
        self._graph.add((node, RDF.type, OWL.Restriction))
        self._graph.add((node, OWL.onProperty, property_))
        return node

    def keys(self, properties: Sequence[URIRef]) -> Node:
        """A list of properties."""
        return self._list(properties)

    def _joined(self, how: URIRef, classes: Sequence[Node], none: URIRef) -> Node:
        if len(classes) < 2:
            return classes[0] if classes else none
        node = self.node()
        self._graph.add((node, RDF.type, OWL.Class))
        self._graph.add((node, how, self._list(classes)))
        return node

    def _list(self, items: Sequence[Node]) -> Node:
        head: Node = RDF.nil
        for item in reversed(items):
            node = self.node()
            self._graph.add((node, RDF.first, item))
            self._graph.add((node, RDF.rest, head))
            head = node
        return head

    # -- predicates ------------------------------------------------------------------------------

    def field(self, variable: Var) -> URIRef:
        """The data property of a field."""
        return self.property(variable.name.removeprefix(FIELD_PREFIX), variable.type)

    def property(self, name: str, type_: Type) -> URIRef:
        """The data property of fields of this name and type."""
        if type_ not in DATATYPES:
            raise Unsayable(f"{name} is {type_}, which is no datatype of OWL")
        return self._iri("field", f"{name}.{type_}")

    def predicate(
        self, term: Term, quantifier: URIRef, *, positive: bool = True, depth: int = 0
    ) -> Node:
        """The rows of which the term holds, or does not."""
        if depth > MAX_DEPTH:
            raise Unsayable("it is nested too deeply")
        inside = depth + 1
        if isinstance(term, Const):
            return OWL.Thing if (term.value is True) is positive else OWL.Nothing
        if isinstance(term, App) and term.op == "not":
            return self.predicate(term.args[0], quantifier, positive=not positive, depth=inside)
        if isinstance(term, App) and term.op in ("and", "or"):
            parts = [
                self.predicate(arg, quantifier, positive=positive, depth=inside)
                for arg in term.args
            ]
            all_of = (term.op == "and") is positive
            return self.intersection(parts) if all_of else self.union(parts)
        variable, range_ = self._test(term)
        node = self.restriction(self.field(variable))
        self._graph.add((node, quantifier, range_ if positive else self._complement(range_)))
        return node

    def equal(self, variable: Var, value: Const) -> Node:
        """The rows whose field has this value."""
        node = self.restriction(self.field(variable))
        self._graph.add((node, OWL.allValuesFrom, self._one_of(variable.type, [value])))
        return node

    def _test(self, term: Term) -> Test:
        match term:
            case Var(type=type_) if type_ == BOOL:
                return term, self._one_of(BOOL, [True])
            case (
                App(op="eq", args=(Var() as field, Const() as value))
                | App(op="eq", args=(Const() as value, Var() as field))
            ):
                return field, self._one_of(field.type, [value])
            case App(op="in", args=(Var() as field, App(op="list" | "tuple" | "set") as items)):
                return field, self._one_of(field.type, items.args)
            case App(op="lt" | "le" | "eq", args=(left, right)):
                return self._bounded(term.op, left, right) or self._unsayable(term)
            case App(
                op="startswith" | "endswith" | "contains",
                args=(Var() as field, Const(value=str() as text)),
            ):
                return field, self._pattern(term.op, text)
            case _:
                return self._unsayable(term)

    def _unsayable(self, term: Term) -> Test:
        raise Unsayable(f"no data range says: {self._words(term)}")

    def _bounded(self, op: str, left: Term, right: Term) -> Test | None:
        match left, right:
            case Var(type=type_), Const(value=int() as number) if type_ == INT == right.type:
                facet = {"lt": XSD.maxExclusive, "le": XSD.maxInclusive}.get(op)
                return (left, self._facet(XSD.integer, facet, number)) if facet else None
            case Const(value=int() as number), Var(type=type_) if type_ == INT == left.type:
                facet = {"lt": XSD.minExclusive, "le": XSD.minInclusive}.get(op)
                return (right, self._facet(XSD.integer, facet, number)) if facet else None
            case App(op="len", args=(Var() as text,)), Const(value=int() as number):
                return self._length(text, number, {"lt": -1, "le": 0}.get(op), XSD.maxLength)
            case Const(value=int() as number), App(op="len", args=(Var() as text,)):
                return self._length(text, number, {"lt": 1, "le": 0}.get(op), XSD.minLength)
            case _:
                return None

    def _length(self, text: Var, number: int, shift: int | None, facet: URIRef) -> Test | None:
        """Lengths of strings; `shift` makes a strict bound one that is not, None asks for exactly so many."""
        number, facet = (number, XSD.length) if shift is None else (number + shift, facet)
        if text.type != STR or number < 0:
            return None
        return text, self._facet(XSD.string, facet, number)

    # -- data ranges -----------------------------------------------------------------------------

    def _one_of(self, type_: Type, values: Sequence[Const | Term | bool]) -> Node:
        literals = [
            literal(value.value if isinstance(value, Const) else value, type_) for value in values
        ]
        if not literals:
            raise Unsayable("a data range of no values can't be written out")
        return self._datatype(OWL.oneOf, self._list(literals))

    def _facet(self, base: URIRef, facet: URIRef, value: int | str) -> Node:
        node = self.node()
        if isinstance(value, str):
            limit = Literal(value, datatype=XSD.string)
        else:
            kind = XSD.integer if base == XSD.integer else XSD.nonNegativeInteger
            limit = Literal(str(value), datatype=kind)
        self._graph.add((node, facet, limit))
        range_ = self._datatype(OWL.withRestrictions, self._list([node]))
        self._graph.add((range_, OWL.onDatatype, base))
        return range_

    def _pattern(self, op: str, text: str) -> Node:
        literal(text, STR)
        return self._facet(XSD.string, XSD.pattern, xsd_pattern(op, text))

    def _complement(self, range_: Node) -> Node:
        return self._datatype(OWL.datatypeComplementOf, range_)

    def _datatype(self, how: URIRef, what: Node) -> BNode:
        node = self.node()
        self._graph.add((node, RDF.type, RDFS.Datatype))
        self._graph.add((node, how, what))
        return node


def xsd_pattern(op: str, text: str) -> str:
    """The pattern of XML Schema for what `startswith`, `endswith` or `contains` says of a string."""
    escaped = _REGEX_SIGNS.sub(lambda found: f"\\{found[0]}", text)
    before = "" if op == "startswith" else _ANYTHING
    after = "" if op == "endswith" else _ANYTHING
    return f"{before}{escaped}{after}"


def literal(value: object, type_: Type) -> Literal:
    """A value of a field as a literal of its datatype."""
    match value:
        case bool() if type_ == BOOL:
            return Literal("true" if value else "false", datatype=XSD.boolean)
        case int() if type_ == INT and not isinstance(value, bool):
            return Literal(_decimal(value), datatype=XSD.integer)
        case str() if type_ == STR:
            if _NO_XML.search(value):
                raise Unsayable("a string holds characters that XML Schema has no place for")
            return Literal(value, datatype=XSD.string)
        case _:
            raise Unsayable(f"OWL does not compare values of {type_} with this one as the IR does")


def _decimal(value: int) -> str:
    if value.bit_length() > 8_192:
        raise Unsayable("a number of more than 8192 bits is not written out")
    return str(value)
