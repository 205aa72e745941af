"""An Effect IR document as an OWL 2 ontology, for explanation.

    print(serialize(document, "turtle"))

A run is an individual of `Run`; what happens in it are individuals of `Call` and `Event`. Effects, events and the calls
of the program are classes, arguments and fields are data properties, guarantees are axioms about them where description
logic can say them. What it can't say (sums, order, conditions, loops, origin) stands in annotations, in words: nothing
is approximated by an axiom.

OWL is open-world and the Effect IR is closed-world. Closure is written out where an axiom can say it, and the caveat
stands on the ontology and on every axiom that rests on it. The rendering explains; it never proves anything.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final
from typing import Literal as OneOf
from urllib.parse import quote

from rdflib import OWL, RDF, RDFS, XSD, Graph, Literal, Namespace, URIRef
from rdflib.term import Node

from lictor_ir.contracts import (
    All,
    Anything,
    AtEnd,
    Before,
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
from lictor_ir.document import Document, Guarantee, Parameter
from lictor_ir.goals.contract_strength import strength
from lictor_ir.goals.goal import Strength
from lictor_ir.json.document import document_hash
from lictor_ir.owl.class_expressions import DATATYPES, Expressions, Unsayable
from lictor_ir.summary.call_sentences import CallSentences
from lictor_ir.summary.contract_sentences import Promises
from lictor_ir.terms import TRUE, Const, Term, Var, var
from lictor_ir.types import BOOL, INT, STR, Type
from lictor_ir.validation.document import validate

__all__ = ["FORMATS", "VOCABULARY", "graph", "serialize"]

Format = OneOf["turtle", "nt", "xml"]
FORMATS: Final[tuple[Format, ...]] = ("turtle", "nt", "xml")

VOCABULARY: Final = Namespace("urn:lictor:effect-ir:v1#")
"""What every rendering speaks of: runs, calls, events, guarantees."""

CAVEAT: Final = (
    "An explanation, never a proof. The Effect IR is closed-world: an effect that is not among its calls does not"
    " happen. OWL is open-world: what is not said may still be. A reasoner that finds this ontology consistent, or an"
    " axiom entailed, has shown nothing about the program; only a proof of the Effect IR document does."
)
CLOSED: Final = (
    "Closed world: this axiom holds because the Effect IR lists every trusted call of the program. OWL alone would"
    " leave open that there are others."
)
UNPROVED: Final = (
    "A guarantee that is stated, and holds if the Effect IR document is proved. It is read with the closed world: about"
    " the calls that are listed here, and no others. Individuals with different names are taken to be different."
)
TOLD_ONLY: Final = (
    "Description logic can't say this; it is told in words only, and no axiom stands for it: "
)


def graph(document: Document) -> Graph:
    """The ontology of a document; DocumentError for one that breaks a rule of the format."""
    validate(document)
    return _Rendering(document).graph


def serialize(document: Document, format: Format = "turtle") -> str:  # noqa: A002 -- as rdflib calls it
    """The ontology as text: the same bytes for the same document."""
    made = graph(document)
    if format == "nt":
        # Not `splitlines`: it would also cut at U+0085 or U+2028 within a string.
        return "".join(sorted(re.findall(r"[^\n]*\n", made.serialize(format="nt"))))
    return made.serialize(format={"turtle": "longturtle", "xml": "xml"}[format])


class _Ordered(Graph):
    """A graph that is walked in one order: serializers follow it, and sets would bring in the process's own."""

    def triples(self, triple: Any) -> Any:
        found: list[tuple[Node, Node, Node]] = list(super().triples(triple))  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType] -- rdflib's overloads
        return iter(sorted(found, key=lambda each: tuple(term.n3() for term in each)))


class _Rendering:
    def __init__(self, document: Document) -> None:
        self.graph = _Ordered(bind_namespaces="none")
        self._document = document
        self._hash = document_hash(document).removeprefix("sha256:")
        self._ontology = URIRef(f"urn:lictor:ir:sha256:{self._hash}")
        self._promises = Promises(document)
        self._expressions = Expressions(
            self.graph, self._hash[:12], self._iri, self._promises.words.text
        )
        for prefix, namespace in (
            ("owl", OWL),
            ("rdf", RDF),
            ("rdfs", RDFS),
            ("xsd", XSD),
            ("ir", VOCABULARY),
            ("", Namespace(f"{self._ontology}#")),
        ):
            self.graph.bind(prefix, namespace)
        self._vocabulary()
        self._declarations()
        self._calls()
        for number, guarantee in enumerate(document.guarantees, 1):
            for part, contract in enumerate(leaves(guarantee.contract), 1):
                self._guarantee(f"{number}.{part}", guarantee, contract)

    def _iri(self, kind: str, name: str) -> URIRef:
        return URIRef(f"{self._ontology}#{kind}-{quote(name, safe='', errors='surrogatepass')}")

    def _say(self, subject: Node, *about: tuple[URIRef, str]) -> None:
        for property_, text in about:
            self.graph.add((subject, property_, Literal(text)))

    def _class(self, node: URIRef, *parents: Node) -> None:
        self.graph.add((node, RDF.type, OWL.Class))
        for parent in parents:
            self.graph.add((node, RDFS.subClassOf, parent))

    def _axiom(
        self, source: Node, property_: URIRef, target: Node, *about: tuple[URIRef, str]
    ) -> None:
        """A triple with annotations of its own."""
        self.graph.add((source, property_, target))
        node = self._expressions.node()
        self.graph.add((node, RDF.type, OWL.Axiom))
        self.graph.add((node, OWL.annotatedSource, source))
        self.graph.add((node, OWL.annotatedProperty, property_))
        self.graph.add((node, OWL.annotatedTarget, target))
        self._say(node, *about)

    # -- what there is -----------------------------------------------------------------------------

    def _vocabulary(self) -> None:
        self.graph.add((self._ontology, RDF.type, OWL.Ontology))
        self._say(
            self._ontology,
            (RDFS.label, f"{_plain(self._document.program)}, {_plain(self._document.target)}"),
            (RDFS.comment, CAVEAT),
            (
                OWL.versionInfo,
                f"lictor/effect-ir/v1 sha256:{self._hash}: an explanation, not a proof",
            ),
        )
        voc = VOCABULARY
        for name in ("order", "statedAs", "requiredBy", "strength", "notInOwl", "marked"):
            self.graph.add((voc[name], RDF.type, OWL.AnnotationProperty))
        self._class(voc.Run)
        self._class(voc.CompletedRun, voc.Run)
        self._class(voc.Happening)
        self._class(voc.Call, voc.Happening)
        self._class(voc.Event, voc.Happening)
        self._class(voc.Guarantee)
        self.graph.add((voc.Call, OWL.disjointWith, voc.Event))
        self._say(voc.Run, (RDFS.comment, "A run of the program, however early it ends."))
        self._say(voc.CompletedRun, (RDFS.comment, "A run in which no trusted call failed."))
        for name, domain, range_, comment in (
            (
                "happens",
                voc.Run,
                voc.Happening,
                "A call, or an event that a call performs, of the run.",
            ),
            ("performs", voc.Call, voc.Event, "An event that the call performs."),
        ):
            self.graph.add((voc[name], RDF.type, OWL.ObjectProperty))
            self.graph.add((voc[name], RDFS.domain, domain))
            self.graph.add((voc[name], RDFS.range, range_))
            self._say(voc[name], (RDFS.comment, comment))
        for name, inverse in (("happensIn", voc.happens), ("performedBy", voc.performs)):
            self.graph.add((voc[name], RDF.type, OWL.ObjectProperty))
            self.graph.add((voc[name], RDF.type, OWL.FunctionalProperty))
            self.graph.add((voc[name], OWL.inverseOf, inverse))

    def _declarations(self) -> None:
        for effect in self._document.effects:
            node = self._iri("effect", effect.name)
            self._class(node, VOCABULARY.Call)
            self._say(node, (RDFS.label, effect.name))
            self._say(node, *((VOCABULARY.marked, _plain(marker)) for marker in effect.markers))
            self._fields(node, effect.parameters)
            sites = [
                self._iri("call", atom.id)
                for atom in self._document.atoms
                if atom.effect == effect.name
            ]
            closed = self._expressions.union(sites)
            self._axiom(node, RDFS.subClassOf, closed, (RDFS.comment, CLOSED))
        for event in self._document.events:
            node = self._iri("event", event.name)
            for kind in event.kinds[1:]:
                self.graph.add((node, RDFS.subClassOf, self._iri("event", kind)))
            self._fields(node, event.fields)
        for kind in dict.fromkeys(kind for event in self._document.events for kind in event.kinds):
            self._kind(kind)

    def _kind(self, kind: str) -> None:
        """A class of events: performed by the calls that perform an event of it, and by no others."""
        node = self._iri("event", kind)
        self._class(node, VOCABULARY.Event)
        self._say(node, (RDFS.label, _plain(kind)))
        of_kind = {event.name for event in self._document.events if kind in event.kinds}
        sites = [
            self._iri("call", atom.id)
            for atom in self._document.atoms
            if any(each.event in of_kind for each in atom.events)
        ]
        make = self._expressions
        closed = make.some(VOCABULARY.performedBy, make.union(sites)) if sites else OWL.Nothing
        self._axiom(node, RDFS.subClassOf, closed, (RDFS.comment, CLOSED))

    def _fields(self, owner: URIRef, parameters: Sequence[Parameter]) -> None:
        for parameter in parameters:
            try:
                node = self._expressions.property(parameter.name, parameter.type)
            except Unsayable as why:
                self._say(owner, (VOCABULARY.notInOwl, f"{TOLD_ONLY}{why}"))
                continue
            self.graph.add((node, RDF.type, OWL.DatatypeProperty))
            self.graph.add((node, RDF.type, OWL.FunctionalProperty))
            self.graph.add((node, RDFS.range, DATATYPES[parameter.type]))
            self._say(node, (RDFS.label, parameter.name))

    def _calls(self) -> None:
        words = CallSentences(self._document)
        types = {
            (effect.name, each.name): each.type
            for effect in self._document.effects
            for each in effect.parameters
        }
        for number, atom in enumerate(self._document.atoms, 1):
            node = self._iri("call", atom.id)
            self._class(node, self._iri("effect", atom.effect))
            self.graph.add((node, VOCABULARY.order, Literal(str(number), datatype=XSD.integer)))
            self._say(node, (RDFS.label, atom.id), (RDFS.comment, words.call(atom)))
            if atom.guard is not TRUE or atom.binders:
                why = "when the call happens, and how often, is in its comment"
                self._say(node, (VOCABULARY.notInOwl, TOLD_ONLY + why))
            if atom.updates:
                self._say(node, (VOCABULARY.notInOwl, TOLD_ONLY + "the state that it sets"))
            for performed in atom.events:
                event = self._iri("event", performed.event)
                self.graph.add(
                    (node, RDFS.subClassOf, self._expressions.some(VOCABULARY.performs, event))
                )
            for name in sorted(atom.arguments):
                self._argument(node, name, types[atom.effect, name], atom.arguments[name])

    def _argument(self, call: URIRef, name: str, type_: Type, term: Term) -> None:
        try:
            if not isinstance(term, Const):
                raise Unsayable(f"{name} is computed; its comment says from what")
            known = term
            value = self._expressions.attempt(
                lambda: self._expressions.equal(var(name, type_), known)
            )
        except Unsayable as why:
            self._say(call, (VOCABULARY.notInOwl, f"{TOLD_ONLY}{why}"))
        else:
            self.graph.add((call, RDFS.subClassOf, value))

    # -- guarantees --------------------------------------------------------------------------------

    def _guarantee(self, number: str, guarantee: Guarantee, contract: Contract) -> None:
        node = self._iri("guarantee", number)
        self.graph.add((node, RDF.type, OWL.NamedIndividual))
        self.graph.add((node, RDF.type, VOCABULARY.Guarantee))
        sentence = self._promises.sentence(contract)
        self._say(
            node,
            (RDFS.label, sentence),
            (RDFS.comment, UNPROVED),
            (VOCABULARY.statedAs, _plain(guarantee.name)),
            (VOCABULARY.strength, strength(contract).value),
        )
        if guarantee.required_by:
            self._say(node, (VOCABULARY.requiredBy, _plain(guarantee.required_by)))
        try:
            source, property_, target = self._expressions.attempt(lambda: self._stated(contract))
        except Unsayable as why:
            self._say(node, (VOCABULARY.notInOwl, f"{TOLD_ONLY}{why}"))
            return
        self._axiom(source, property_, target, (RDFS.label, sentence), (RDFS.comment, UNPROVED))

    def _stated(self, contract: Contract) -> tuple[Node, URIRef, Node]:
        """The axiom that says what the contract says."""
        make = self._expressions
        match contract:
            case All(relation, holds):
                promised = make.predicate(holds, OWL.allValuesFrom)
                return make.relation(relation), RDFS.subClassOf, promised
            case Empty(relation):
                return make.relation(relation), RDFS.subClassOf, OWL.Nothing
            case Count():
                return self._counted(contract)
            case Distinct(relation, key):
                return self._distinct(relation, key)
            case _:
                raise Unsayable(_WHY[type(contract)])

    def _counted(self, contract: Count) -> tuple[Node, URIRef, Node]:
        bound = contract.bound
        if not (isinstance(bound, Const) and isinstance(bound.value, int) and bound.type == INT):
            raise Unsayable("its bound is no whole number")
        cardinality, shift = _CARDINALITY[contract.comparison]
        number = bound.value + shift
        if number < 0:
            raise Unsayable("its bound is no cardinality")
        rows = self._expressions.relation(contract.relation)
        ends = strength(contract) is Strength.ON_COMPLETION
        run = VOCABULARY.CompletedRun if ends else VOCABULARY.Run
        counted = self._expressions.counted(cardinality, number, VOCABULARY.happens, rows)
        return run, RDFS.subClassOf, counted

    def _distinct(self, relation: Relation, key: Term) -> tuple[Node, URIRef, Node]:
        if not (isinstance(key, Var) and key.type in (BOOL, INT, STR)):
            raise Unsayable(
                "its key is not one field of a datatype that OWL compares as the IR does"
            )
        rows = self._expressions.relation(relation)
        keys = self._expressions.keys([VOCABULARY.happensIn, self._expressions.field(key)])
        return rows, OWL.hasKey, keys


_CARDINALITY: Final = {
    Comparison.AT_MOST: (OWL.maxQualifiedCardinality, 0),
    Comparison.LESS: (OWL.maxQualifiedCardinality, -1),
    Comparison.AT_LEAST: (OWL.minQualifiedCardinality, 0),
    Comparison.MORE: (OWL.minQualifiedCardinality, 1),
    Comparison.EXACTLY: (OWL.qualifiedCardinality, 0),
}
_WHY: Final[dict[type[Contract], str]] = {
    Anything: "nothing is promised",
    Sum: "it adds values up",
    SharesValue: "it compares values of two rows",
    AtEnd: "it speaks of state at the end of a run",
    Before: "it speaks of order",
    NeverAfter: "it speaks of order",
}


def _plain(text: str) -> str:
    """Text that RDF can hold: what is no character of XML is told by its code point."""
    return "".join(
        char if char.isprintable() and not "\ud800" <= char <= "\udfff" else f"\\u{{{ord(char):x}}}"
        for char in text
    )
