"""Documents that somebody hands in: nothing in them can speak for the layer."""

import dataclasses
from pathlib import Path

import pytest

from lictor_ir.contracts import Anything
from lictor_ir.document import Document, Fact, FactKind, Parameter
from lictor_ir.errors import IrError
from lictor_ir.json.document import from_json, to_json
from lictor_ir.terms import FALSE, const
from lictor_ir.text import write
from lictor_ir.types import INT, STR
from lictor_prove.errors import Rejected
from lictor_prove.layer_model import Layer
from lictor_prove.layers import discover_trusted_roots, load_layer
from lictor_prove.proof.prover import document_of, prove_document
from lictor_prove.proof.submitted_documents import (
    bound_to,
    prove_alone,
    prove_bound,
    read_document,
)
from lictor_schema.proofs.proof import ProofVerdict

EXAMPLES = Path(__file__).parents[4] / "examples"
SENDS = """\
from tools.mail.trusted import contracts as mail
from tools.mail.trusted.effects import list_contacts, send_mail
from lictor_layer import guarantee


@guarantee(mail.at_most(5))
def main() -> None:
    send_mail({address!r}, "Ada", "hello")
"""


@pytest.fixture(scope="module")
def layer() -> Layer:
    root = EXAMPLES / "layers"
    return load_layer(discover_trusted_roots([root]), [root])


@pytest.fixture
def newsletter(layer: Layer) -> Document:
    source = (EXAMPLES / "programs/newsletter.py").read_text("utf-8")
    return document_of(source, name="newsletter.py", layer=layer)


def test_a_document_of_a_program_is_proved_like_the_program(layer, newsletter):
    proof = prove_bound(from_json(to_json(newsletter)), layer)
    assert proof.verdict is ProofVerdict.PROVED
    assert proof.layer_hash == layer.hash


def test_what_the_layer_says_of_calls_is_what_the_front_end_says(layer, newsletter):
    bound = bound_to(newsletter, layer)
    assert bound.atoms == newsletter.atoms
    assert bound.assumptions == newsletter.assumptions


def test_demands_that_a_document_leaves_out_are_demanded_all_the_same(layer):
    honest = document_of(SENDS.format(address="no address"), name="p", layer=layer)
    silent = dataclasses.replace(honest, obligations=())
    assert prove_document(silent).verdict is ProofVerdict.PROVED
    assert prove_bound(silent, layer).verdict is ProofVerdict.REFUTED


def test_promises_that_a_document_makes_up_are_not_relied_on(layer, newsletter):
    lie = dataclasses.replace(
        newsletter,
        assumptions=tuple(
            dataclasses.replace(each, formula=FALSE) for each in newsletter.assumptions
        ),
        guarantees=(),
    )
    bound = bound_to(lie, layer)
    assert FALSE not in [each.formula for each in bound.assumptions]


def test_facts_that_a_document_makes_up_are_refused(layer):
    source = SENDS.replace(
        "    send_mail", "    for each in list_contacts('newsletter'):\n        send_mail"
    )
    honest = document_of(source.replace("{address!r}", "each.email.title()"), name="p", layer=layer)
    (value,) = (each for each in honest.unknowns if each.type == STR)
    lie = dataclasses.replace(honest, facts=(Fact(value.id, FactKind.HOLDS, FALSE),))
    assert prove_bound(honest, layer).verdict is not ProofVerdict.PROVED
    for proof in (prove_bound(lie, layer), prove_alone(lie)):
        assert proof.verdict is ProofVerdict.REJECTED
        assert [each.code for each in proof.reasons] == ["ir.facts"]


def test_contracts_that_the_layer_requires_are_proved_too(layer):
    honest = document_of(SENDS.format(address="a@b"), name="p", layer=layer)
    (atom,) = honest.atoms
    long = dataclasses.replace(
        honest,
        atoms=(dataclasses.replace(atom, arguments={**atom.arguments, "text": const("x" * 501)}),),
        guarantees=(),
    )
    proof = prove_bound(long, layer)
    assert proof.verdict is ProofVerdict.REFUTED
    assert [(each.name, each.required_by) for each in proof.guarantees] == [
        ("short_texts()", "mail")
    ]


def test_declarations_other_than_the_layers_are_refused(layer, newsletter):
    first, *others = newsletter.effects
    wider = dataclasses.replace(first, parameters=(*first.parameters, Parameter("more", INT)))
    unknown = dataclasses.replace(first, name="shred")
    schema = dataclasses.replace(newsletter.schemas[0], columns=newsletter.schemas[0].columns[1:])
    for changed in (
        {"effects": (wider, *others)},
        {"effects": (unknown, *newsletter.effects)},
        {"schemas": (schema,), "guarantees": ()},
        {"layer_hash": "sha256:" + "0" * 64},
    ):
        with pytest.raises(Rejected) as refused:
            bound_to(dataclasses.replace(newsletter, **changed), layer)
        assert refused.value.reasons[0].code == "ir.layer"


def test_a_contract_is_named_by_what_it_says_and_not_by_what_it_is_called(layer, newsletter):
    *_, required = newsletter.guarantees
    weak = dataclasses.replace(required, contract=Anything())
    flattering = dataclasses.replace(weak, required_by="", name="only_to(['bob@example.com'])")
    bound = bound_to(
        dataclasses.replace(newsletter, guarantees=(flattering, weak, newsletter.guarantees[0])),
        layer,
    )
    assert [each.name for each in bound.guarantees] == [
        "anything",
        'forall e in list_contacts : e.mailing_list == "newsletter"',
    ]


def test_both_forms_of_a_document_are_read_and_nothing_else(newsletter):
    assert read_document(to_json(newsletter)) == newsletter
    assert read_document(write(newsletter).encode()) == newsletter
    for other in (b"", b"\xff", b"{", b"def main(): pass", b"{}"):
        with pytest.raises(IrError):
            read_document(other)
