"""What may be concluded of values that a document declares unknown: what holds of every value, and nothing else."""

from __future__ import annotations

import pytest

from lictor_ir.certificate.check import check
from lictor_ir.certificate.format import FrontEnd, Level
from lictor_ir.document import Document
from lictor_ir.text.document_reader import read
from lictor_prove.certificate.creation import certified
from lictor_prove.proof.prover import prove_document
from lictor_schema.proofs.proof import ProofVerdict

HEAD = """effect-ir v1
program "unknown.py" target main

schema User(email: str, age: int)
trusted users() -> list<row<User>>
trusted ask(what: str) -> int
trusted send(addr: str, msg: str) -> none
trusted pay(cents: int) -> none
"""


def _document(body: str) -> Document:
    return read(f"{HEAD}\n{body}\n")


SENT = """
effect c1: users()
unknown u1: str of "c1.age" says "str.title is not modelled"
effect c2: send(addr = "bob", msg = result(u1))
"""
LOOP = """
effect c1: users()
unknown u1: list<str> of "c1.email" says "sorted is not modelled"
effect c2: send(addr = result(u1)[i], msg = "a") for i in result(u1)
"""
BRANCH = """
unknown u1: bool says "any is not modelled"
effect c1: pay(cents = 1) when result(u1)
effect c2: pay(cents = 2) when not result(u1)
"""
CASES = [
    # What does not read it is decided as ever.
    (SENT, 'forall e in send : e.addr == "bob"', ProofVerdict.PROVED),
    (SENT, 'forall e in send : e.addr == "ann"', ProofVerdict.REFUTED),
    (SENT, "(count e in send) <= 1", ProofVerdict.PROVED),
    (SENT, "not_from(e.msg: User.email)", ProofVerdict.PROVED),
    (SENT, "not_from(e.msg: User.age)", ProofVerdict.REFUTED),
    # What holds of every value is proved; what some value would break is not refuted: nobody saw Python make it.
    (SENT, "forall e in send : 0 <= len(e.msg)", ProofVerdict.PROVED),
    (SENT, 'forall e in send : e.msg == ""', ProofVerdict.UNKNOWN),
    (SENT, 'forall e in send : not e.msg == "x"', ProofVerdict.UNKNOWN),
    (LOOP, 'forall e in send : e.msg == "a"', ProofVerdict.PROVED),
    (LOOP, 'forall e in send : e.addr == "a"', ProofVerdict.UNKNOWN),
    (LOOP, "(count e in send) <= 1", ProofVerdict.UNKNOWN),
    (LOOP, "from(e.addr: User.email)", ProofVerdict.UNKNOWN),
    (LOOP, "not_from(e.addr: User.email)", ProofVerdict.UNKNOWN),
    # It is one value: of two branches on it, one is taken.
    (BRANCH, "(count e in pay) <= 1", ProofVerdict.PROVED),
    (BRANCH, "(sum e in pay : e.cents) <= 2", ProofVerdict.PROVED),
    (BRANCH, "(sum e in pay : e.cents) <= 1", ProofVerdict.UNKNOWN),
    (BRANCH, "no e in pay", ProofVerdict.UNKNOWN),
]


@pytest.mark.parametrize(("body", "contract", "verdict"), CASES)
def test_what_is_proved_holds_of_every_value(
    body: str, contract: str, verdict: ProofVerdict
) -> None:
    if contract.startswith(("from", "not_from")):
        contract = f"forall e in send : {contract}"
    proof = prove_document(_document(f'{body}\nguarantee "g" : {contract}'))
    assert proof.guarantees[0].verdict is verdict, proof.reasons


def test_another_iteration_is_another_value_and_the_same_iteration_the_same() -> None:
    body = """
effect c1: users()
unknown u1: int for i in result(c1) of "c1" says "x"
effect c2: pay(cents = result(u1, i)) for i in result(c1)
effect c3: pay(cents = 1) for k in result(c1) when result(u1, k) < result(u1, k)
"""
    distinct = 'guarantee "distinct" : distinct e in pay : e.cents'
    never = 'guarantee "never" : (count e in pay where (e.cents == 1 and not e.cents == 1)) <= 0'
    proof = prove_document(_document(f"{body}\n{distinct}\n{never}"))
    assert [each.verdict for each in proof.guarantees] == [
        ProofVerdict.UNKNOWN,
        ProofVerdict.PROVED,
    ]


def test_an_error_that_some_value_would_cause_is_neither_excluded_nor_found() -> None:
    body = """
unknown u1: int says "x"
effect c1: pay(cents = 1)
oblige no_error : not result(u1) == 0 says "division by zero"
guarantee "once" : (count e in pay) <= 1
"""
    proof = prove_document(_document(body))
    assert proof.verdict is ProofVerdict.UNKNOWN
    assert proof.obligations[0].verdict is ProofVerdict.UNKNOWN
    assert proof.obligations[0].counterexample is None


def test_a_certificate_is_about_the_unknowns_too() -> None:
    body = f'{BRANCH}\nguarantee "g" : (sum e in pay : e.cents) <= 2'
    proof = certified(prove_document(_document(body)), FrontEnd.DOCUMENT)
    assert proof.certificate is not None
    report = check(proof.certificate.data)
    assert report.level is Level.C
    assert report.document.unknowns == _document(body).unknowns


def test_what_is_not_decided_names_the_values_that_nobody_knows() -> None:
    document = _document(SENT + 'guarantee "g" : forall e in send : e.msg == ""')
    (guarantee,) = prove_document(document).guarantees
    assert guarantee.reason.endswith("it reads what is not known: str.title is not modelled")


DISTINCT = """
effect c1: users()
unknown u1: str for i in 3 of "c1" says "a key of a dict"
effect c2: send(addr = result(u1, i), msg = "a") for i in 3
"""
FACTS = [
    ("", "distinct e in send : e.addr", ProofVerdict.UNKNOWN),
    ("fact u1 distinct result(u1, i)", "distinct e in send : e.addr", ProofVerdict.PROVED),
    (
        "fact u1 when false distinct result(u1, i)",
        "distinct e in send : e.addr",
        ProofVerdict.UNKNOWN,
    ),
    (
        'fact u1 holds contains(result(u1, i), "@")',
        'forall e in send : contains(e.addr, "@")',
        ProofVerdict.PROVED,
    ),
    (
        'fact u1 holds contains(result(u1, i), "@")',
        "distinct e in send : e.addr",
        ProofVerdict.UNKNOWN,
    ),
]


@pytest.mark.parametrize(("fact", "contract", "verdict"), FACTS)
def test_facts_about_them_are_relied_on(fact: str, contract: str, verdict: ProofVerdict) -> None:
    document = _document(f'{DISTINCT}\n{fact}\nguarantee "g" : {contract}')
    assert prove_document(document).guarantees[0].verdict is verdict
