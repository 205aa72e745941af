"""The OWL rendering: valid RDF, the same bytes every time, axioms only for what they say exactly, caveats on them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ir_strategies import CHARACTERS, documents
from rdflib import OWL, RDF, RDFS, XSD, BNode, Graph, Literal, URIRef
from rdflib.collection import Collection
from rdflib.compare import isomorphic
from rdflib.term import Node

from lictor_ir.contracts import Contract
from lictor_ir.document import Document
from lictor_ir.json.document import from_json, to_json
from lictor_ir.owl import CAVEAT, CLOSED, FORMATS, UNPROVED, VOCABULARY, graph, serialize
from lictor_ir.owl.class_expressions import xsd_pattern
from lictor_ir.text import read

HEAD = """effect-ir v1
program "p" target main
trusted send(addr: str, msg: str) -> none
trusted pay(amount: int, to: str, fast: bool) -> none
trusted weigh(kilos: float, tags: list<str>) -> none
event Write(path: str) is Touch
event Read(path: str) is Touch
fluent locked[str]: bool = true
input t: str
"""


def rendered(source: str) -> tuple[Graph, URIRef]:
    document = graph(read(HEAD + source))
    (ontology,) = document.subjects(RDF.type, OWL.Ontology)
    assert isinstance(ontology, URIRef)
    return document, ontology


def stated(contract: str) -> tuple[Graph, URIRef, tuple[Node, Node, Node] | None]:
    """The graph of a guarantee, its name, and the axiom that says it."""
    made, ontology = rendered(f'guarantee "g" : {contract}')
    said = list(made.subjects(RDFS.comment, Literal(UNPROVED)))
    axioms = [node for node in said if (node, RDF.type, OWL.Axiom) in made]
    if not axioms:
        return made, ontology, None
    (axiom,) = axioms
    source = made.value(axiom, OWL.annotatedSource)
    property_ = made.value(axiom, OWL.annotatedProperty)
    target = made.value(axiom, OWL.annotatedTarget)
    assert source is not None
    assert property_ is not None
    assert target is not None
    assert (source, property_, target) in made
    return made, ontology, (source, property_, target)


def told(made: Graph, node: Node | None) -> str:
    """A class expression or data range on one line, by local names."""
    if isinstance(node, URIRef):
        return str(node).rpartition("#")[2]
    if isinstance(node, Literal):
        return repr(str(node))
    assert node is not None
    for how in (OWL.unionOf, OWL.intersectionOf, OWL.oneOf, OWL.withRestrictions):
        head = made.value(node, how)
        if head is not None:
            parts = [told(made, each) for each in Collection(made, head)]
            base = made.value(node, OWL.onDatatype)
            name = str(how).rpartition("#")[2]
            return f"{name}({', '.join(parts)})" + (f" of {told(made, base)}" if base else "")
    complement = made.value(node, OWL.datatypeComplementOf)
    if complement is not None:
        return f"complement({told(made, complement)})"
    property_ = made.value(node, OWL.onProperty)
    if property_ is None:
        ((_, facet, value),) = made.triples((node, None, None))
        return f"{told(made, facet)} {value}"
    for how in (OWL.allValuesFrom, OWL.someValuesFrom):
        range_ = made.value(node, how)
        if range_ is not None:
            name = str(how).rpartition("#")[2].removesuffix("ValuesFrom")
            return f"{name} {told(made, property_)} {told(made, range_)}"
    for how in (OWL.maxQualifiedCardinality, OWL.minQualifiedCardinality, OWL.qualifiedCardinality):
        number = made.value(node, how)
        if number is not None:
            name = str(how).rpartition("#")[2].removesuffix("ualifiedCardinality")
            return f"{name} {number} {told(made, property_)} {told(made, made.value(node, OWL.onClass))}"
    raise AssertionError(list(made.predicate_objects(node)))


# -- any document ----------------------------------------------------------------------------------


@given(documents())
def test_every_document_has_a_rendering_that_reads_back_as_itself(document: Document) -> None:
    made = graph(document)
    assert serialize(document, "nt") == serialize(from_json(to_json(document)), "nt")
    assert isomorphic(made, Graph().parse(data=serialize(document, "nt"), format="nt"))
    for node in made.all_nodes():
        if isinstance(node, BNode):
            used = any(made.triples((None, None, node)))
            assert (
                used
                or (node, RDF.type, OWL.Axiom) in made
                or (node, RDFS.subClassOf, None) in made
                or ((node, OWL.hasKey, None) in made)
            )


@pytest.mark.parametrize("end", ["85", "2028", "2029", "b", "c", "1c"])
def test_what_python_takes_for_the_end_of_a_line_ends_no_line_of_n_triples(end: str) -> None:
    document = read(HEAD + f'effect c1: send(addr = "b\\u{{{end}}}a", msg = t)\n')
    assert isomorphic(graph(document), Graph().parse(data=serialize(document, "nt"), format="nt"))


@pytest.mark.parametrize("form", FORMATS)
def test_every_format_reads_back_and_is_the_same_in_every_process(form: str) -> None:
    source = HEAD + (
        'effect c1: send(addr = "a", msg = t)\n    performs Write(path = "x<&>y")\n'
        'guarantee "g" : all {forall e in send | pay : true; (count e in send where (e.addr in ["a", "b"])) <= 1}\n'
    )
    document = read(source)
    text = serialize(document, form)  # pyright: ignore[reportArgumentType]
    parsed = Graph().parse(data=text, format="turtle" if form == "turtle" else form)
    assert isomorphic(parsed, graph(document))
    script = (
        "import sys; from lictor_ir.owl import serialize; from lictor_ir.text import read\n"
        "sys.stdout.write(serialize(read(sys.stdin.read()), sys.argv[1]))"
    )
    for seed in ("0", "4242"):
        said = subprocess.run(
            [sys.executable, "-c", script, form],
            input=source,
            capture_output=True,
            check=True,
            text=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        )
        assert said.stdout == text


def test_only_this_rendering_needs_its_library() -> None:
    script = (
        "import sys, lictor_ir.summary; sys.exit('rdflib' in sys.modules or 'z3' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


def test_the_caveat_stands_on_the_ontology_and_on_every_closed_axiom() -> None:
    made, ontology = rendered('effect c1: send(addr = "a", msg = t)\n')
    assert (ontology, RDFS.comment, Literal(CAVEAT)) in made
    assert "not a proof" in str(made.value(ontology, OWL.versionInfo))
    closed = {
        told(made, made.value(axiom, OWL.annotatedSource)): told(
            made, made.value(axiom, OWL.annotatedTarget)
        )
        for axiom in made.subjects(RDFS.comment, Literal(CLOSED))
    }
    assert closed == {
        "effect-send": "call-c1",
        "effect-pay": "Nothing",
        "effect-weigh": "Nothing",
        "event-Write": "Nothing",
        "event-Read": "Nothing",
        "event-Touch": "Nothing",
    }


def test_calls_are_classes_with_what_is_written_out_and_words_for_the_rest() -> None:
    made, ontology = rendered(
        'effect c1: send(addr = "a", msg = t) when t == "x"\n    performs Write(path = t)\n'
    )
    call = URIRef(f"{ontology}#call-c1")
    parents = {told(made, each) for each in made.objects(call, RDFS.subClassOf)}
    assert parents == {
        "effect-send",
        "all field-addr.str oneOf('a')",
        "some performs event-Write",
    }
    words = " ".join(map(str, made.objects(call, VOCABULARY.notInOwl)))
    assert "msg is computed" in words
    assert "when the call happens" in words
    assert 'if input t equals "x"' in str(made.value(call, RDFS.comment))
    assert (
        URIRef(f"{ontology}#event-Write"),
        RDFS.subClassOf,
        URIRef(f"{ontology}#event-Touch"),
    ) in made


# -- guarantees ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("contract", "source", "target"),
    [
        ("no e in send", "effect-send", "Nothing"),
        ("no e in send | event Touch", "unionOf(effect-send, event-Touch)", "Nothing"),
        ('forall e in send : e.addr == "bob"', "effect-send", "all field-addr.str oneOf('bob')"),
        (
            'forall e in send : not e.addr in ["a", "b"]',
            "effect-send",
            "all field-addr.str complement(oneOf('a', 'b'))",
        ),
        (
            "forall e in pay : e.amount <= 5 and 0 < e.amount",
            "effect-pay",
            "intersectionOf(all field-amount.int withRestrictions(maxInclusive 5) of integer,"
            " all field-amount.int withRestrictions(minExclusive 0) of integer)",
        ),
        (
            "forall e in pay : not (e.amount < 5 or e.fast)",
            "effect-pay",
            "intersectionOf(all field-amount.int complement(withRestrictions(maxExclusive 5) of integer),"
            " all field-fast.bool complement(oneOf('true')))",
        ),
        (
            "forall e in send : len(e.msg) < 5",
            "effect-send",
            "all field-msg.str withRestrictions(maxLength 4) of string",
        ),
        (
            "forall e in send : 5 < len(e.msg)",
            "effect-send",
            "all field-msg.str withRestrictions(minLength 6) of string",
        ),
        (
            "forall e in send : len(e.msg) == 5",
            "effect-send",
            "all field-msg.str withRestrictions(length 5) of string",
        ),
        (
            'forall e in send : startswith(e.msg, "a.b")',
            "effect-send",
            r"all field-msg.str withRestrictions(pattern a\.b[\s\S]*) of string",
        ),
        ("forall e in send : false", "effect-send", "Nothing"),
        ("forall e in send : true", "effect-send", "Thing"),
        (
            'no e in send where (not e.addr == "bob")',
            "intersectionOf(effect-send, some field-addr.str complement(oneOf('bob')))",
            "Nothing",
        ),
        ("(count e in send) <= 3", "Run", "maxQ 3 happens effect-send"),
        ("(count e in send) < 3", "Run", "maxQ 2 happens effect-send"),
        ("(count e in send) >= 3", "CompletedRun", "minQ 3 happens effect-send"),
        ("(count e in send) > 3", "CompletedRun", "minQ 4 happens effect-send"),
        ("(count e in send) == 3", "CompletedRun", "q 3 happens effect-send"),
    ],
)  # fmt: skip
def test_guarantees_are_axioms_where_description_logic_can_say_them(
    contract: str, source: str, target: str
) -> None:
    made, _, axiom = stated(contract)
    assert axiom is not None
    assert axiom[1] == RDFS.subClassOf
    assert (told(made, axiom[0]), told(made, axiom[2])) == (source, target)


def test_what_is_distinct_has_a_key_within_each_run() -> None:
    made, _, axiom = stated("distinct e in send : e.addr")
    assert axiom is not None
    assert told(made, axiom[0]) == "effect-send"
    assert axiom[1] == OWL.hasKey
    assert [told(made, each) for each in Collection(made, axiom[2])] == [
        "happensIn",
        "field-addr.str",
    ]


@pytest.mark.parametrize(
    ("contract", "why"),
    [
        ("anything", "nothing is promised"),
        ("(sum e in pay : e.amount) <= 5", "adds values up"),
        ("shared e in send and e in send : e.addr", "two rows"),
        ("finally s in locked : s.value", "state at the end"),
        ("first e in send before e in pay", "order"),
        ("never e in send after e in pay", "order"),
        ("forall e in send : e.addr == e.msg", "no data range says: its addr equals its msg"),
        ('forall e in send : e.addr < "b"', "no data range says"),
        ('forall e in send : e.addr == "\\u{0}"', "XML Schema has no place"),
        ("forall e in send : e.addr in []", "no values"),
        ("forall e in pay : e.amount == 1.0", "does not compare"),
        ("forall e in pay : e.amount == true", "does not compare"),
        ("forall e in pay : e.amount < 1.5", "no data range says"),
        ("forall e in weigh : e.kilos == 0.0", "does not compare"),
        ('forall e in weigh : "a" in e.tags', "no data range says"),
        ("forall e in send : len(e.msg) < 0", "no data range says"),
        ('forall e in send : e.addr == "a" and e.msg < "b"', "no data range says"),
        ("(count e in send) < 0", "no cardinality"),
        ("(count e in send) <= 1.5", "no whole number"),
        ("(count e in send where (e.addr == e.msg)) <= 1", "no data range says"),
        ("distinct e in send : concat(e.addr, e.msg)", "not one field"),
        ("distinct e in weigh : e.kilos", "not one field"),
    ],
)  # fmt: skip
def test_what_owl_can_not_say_is_told_in_words_and_by_no_axiom(contract: str, why: str) -> None:
    made, ontology, axiom = stated(contract)
    assert axiom is None
    guarantee = URIRef(f"{ontology}#guarantee-1.1")
    assert why in str(made.value(guarantee, VOCABULARY.notInOwl))
    # Nothing of the attempt is left behind: without the guarantee, the same nodes are there.
    bare, _ = rendered("")
    assert sum(isinstance(each, BNode) for each in made.all_nodes()) == sum(
        isinstance(each, BNode) for each in bare.all_nodes()
    )


def test_a_predicate_that_would_grow_without_end_is_told_in_words() -> None:
    lets = ['let $1 = (e.addr as str) == "a"\n'] + [
        f'let ${at + 1} = ${at} and (${at} or (e.msg as str) == "{at}")\n' for at in range(1, 60)
    ]
    made, ontology = rendered("".join(lets) + 'guarantee "g" : forall e in send : $60\n')
    why = str(made.value(URIRef(f"{ontology}#guarantee-1.1"), VOCABULARY.notInOwl))
    assert "too large" in why or "too deeply" in why


@given(st.text(CHARACTERS, max_size=5), st.text(CHARACTERS, max_size=8))
def test_patterns_mean_what_the_operators_mean(part: str, whole: str) -> None:
    """XML Schema's patterns, read by Python's `re`, where `$` needs an escape of its own."""
    for op, holds in (
        ("startswith", whole.startswith(part)),
        ("endswith", whole.endswith(part)),
        ("contains", part in whole),
    ):
        pattern = xsd_pattern(op, part).replace("$", r"\$")
        assert bool(re.fullmatch(pattern, whole)) == holds
        assert re.fullmatch(pattern, part)


def test_every_kind_of_contract_is_thought_of() -> None:
    kinds = {
        "All": 'forall e in send : e.addr == "a"',
        "Anything": "anything",
        "AtEnd": "finally s in locked : s.value",
        "Before": "first e in send before e in pay",
        "Count": "(count e in send) <= 1",
        "Distinct": "distinct e in send : e.addr",
        "Empty": "no e in send",
        "NeverAfter": "never e in send after e in pay",
        "SharesValue": "shared e in send and e in send : e.addr",
        "Sum": "(sum e in pay : e.amount) <= 5",
        "Both": "all {no e in send; no e in pay}",
    }
    assert set(kinds) == {each.__name__ for each in get_args(Contract)}
    for contract in kinds.values():
        made, _ = rendered(f'guarantee "g" : {contract}')
        assert list(made.subjects(RDF.type, VOCABULARY.Guarantee))


def test_numbers_are_integers_of_any_size() -> None:
    made, _, axiom = stated(f"forall e in pay : e.amount == {10**30}")
    assert axiom is not None
    assert (None, RDF.first, Literal(str(10**30), datatype=XSD.integer)) in made
