"""Promises about every item of a list that a trusted call returns: relied on, shown to be possible, and rehearsed.

Each program hands what it finds in a list to a call that demands as much. Beside them stand programs that nothing is
promised to, or that no result could keep its promises for.
"""

from __future__ import annotations

import dataclasses

import pytest

from lictor_ir.certificate.check import check
from lictor_ir.certificate.format import FrontEnd, Level
from lictor_ir.goals import GoalKind
from lictor_prove.certificate.creation import certified
from lictor_prove.layer_model import Layer
from lictor_prove.layers import load_layer
from lictor_prove.proof.prover import document_of, prove
from lictor_prove.proof.result import Proof
from lictor_prove.proof.settings import ProofSettings
from lictor_prove.proof.submitted_documents import prove_bound
from lictor_prove.rehearsal.plan import FIRST
from lictor_schema.proofs.proof import ProofVerdict

EFFECTS = """\
from lictor_layer import Row, Spec, contract, effect, ensures, has_no_parent_segments, requires, trusted


class Product(Row):
    sku: str
    email: str
    stock: int
    price: float


def is_sound(p):
    return p.stock > 0 and "@" in p.email


@requires(lambda n: n > 0)
@trusted
def order(sku: str, n: int) -> None: ...


@requires(lambda to: "@" in to)
@trusted
def mail(to: str) -> None: ...


@requires(lambda p: p.stock > 0)
@trusted
def pack(p: Product) -> None: ...


@trusted
def ask() -> int: ...


@ensures(lambda result: all("@" in p.email and p.stock > 0 for p in result))
@ensures(lambda result: len(result) <= 50)
@trusted
def products() -> list[Product]: ...


@ensures(lambda sku, result: result.sku == sku and result.stock > 0)
@trusted
def product(sku: str) -> Product: ...


@ensures(lambda result: all(is_sound(p) for p in result) and len(result) == 3)
@trusted
def three() -> list[Product]: ...


@ensures(lambda low, result: len(result) == 2 and all(p.stock > low for p in result))
@trusted
def above(low: int) -> list[Product]: ...


@ensures(lambda low, high, result: all(low < p.stock and p.stock < high for p in result))
@ensures(lambda result: result)
@trusted
def between(low: int, high: int) -> list[Product]: ...


@ensures(lambda sku, result: not any(p.sku != sku or p.stock <= 0 for p in result))
@trusted
def called(sku: str) -> list[Product]: ...


@ensures(lambda result: all(x > 0 for row in result for x in row))
@ensures(lambda result: all(len(row) == 2 for row in result) and len(result) == 2)
@trusted
def grid() -> list[list[int]]: ...


@ensures(lambda folder, result: all(p.startswith(folder + "/") for p in result))
@ensures(lambda result: all(has_no_parent_segments(p) for p in result) and len(result) == 1)
@trusted
def files(folder: str) -> list[str]: ...


@ensures(lambda n, result: len(result) == n)
@ensures(
    lambda result: all(
        p.stock > 0 and p.sku.startswith("a-") and p.email.endswith(".com") and "@" in p.email
        for p in result
    )
)
@requires(lambda n: n >= 0)
@trusted
def some(n: int) -> list[Product]: ...


@ensures(lambda cheap, result: all(p.stock > 0 for p in result) if cheap else len(result) == 0)
@trusted
def maybe(cheap: bool) -> list[Product]: ...


@ensures(lambda result: all(p.stock > 0 for p in result if p.sku != ""))
@trusted
def named() -> list[Product]: ...


@ensures(lambda result: any(p.stock > 0 for p in result))
@trusted
def with_stock() -> list[Product]: ...


@ensures(lambda result: [p.sku for p in result] == sorted(p.sku for p in result))
@trusted
def in_order() -> list[Product]: ...


@ensures(lambda result: all(p.stock > 0 and p.stock < 1 for p in result) and len(result) == 1)
@trusted
def impossible() -> list[Product]: ...


@contract
def something() -> Spec:
    return effect(order).all(lambda e: e.n > 0)
"""
NAMES = (
    "order, mail, pack, ask, products, product, three, above, between, called, grid, files, some, maybe,"
    " named, with_stock, in_order, impossible, something"
)
HEAD = f"""\
from lictor_layer import guarantee
from tools.shop.trusted.effects import {NAMES}


@guarantee(something())
def main() -> None:
"""


@pytest.fixture(scope="module")
def layer(tmp_path_factory: pytest.TempPathFactory) -> Layer:
    base = tmp_path_factory.mktemp("layers")
    root = base / "tools" / "shop" / "trusted"
    root.mkdir(parents=True)
    (root / "effects.py").write_text(EFFECTS, "utf-8")
    return load_layer([root], [base])


def program(body: str) -> str:
    return HEAD + "".join(f"    {line}\n" for line in body.strip().splitlines())


def proof_of(layer: Layer, body: str) -> Proof:
    settings = ProofSettings(rehearsal_ms=5_000)
    return prove(program(body), name="p.py", layer=layer, settings=settings, seed="07" * 16)


PROVED = {
    "in a loop": "for p in products():\n    order(p.sku, p.stock)\n    mail(p.email)",
    "of a row": "order('a', product('a').stock)\nassert product('b').sku == 'b'",
    "a row that is passed on": "for p in products():\n    pack(p)",
    "by an index": "ps = products()\nif len(ps) > 2:\n    order('x', ps[1].stock + ps[2].stock)",
    "of more than ten": "ps = products()\nif len(ps) > 10:\n    order('x', ps[9].stock)",
    "by an index that the length allows": "order('x', three()[2].stock)",
    "by helper and length": "for p in three():\n    order(p.sku, p.stock)\n    mail(p.email)",
    "in a comprehension": (
        "xs = [p.stock for p in products() if p.sku]\nfor x in xs:\n    order('a', x)"
    ),
    "with an argument": "for p in above(4):\n    order(p.sku, p.stock)",
    "with an argument that is not known": (
        "n = ask()\nif n > 0:\n    for p in above(n):\n        order(p.sku, p.stock)"
    ),
    "between two": "n = ask()\nfor p in between(n, n + 2):\n    assert p.stock == n + 1",
    "in a loop in a loop": (
        "for p in products():\n    for q in called(p.sku):\n"
        "        assert q.sku == p.sku\n        order(q.sku, q.stock)"
    ),
    "of lists in a list": "for row in grid():\n    for x in row:\n        order('a', x)",
    "of texts": "for p in files('/tmp'):\n    assert p.startswith('/tmp/')",
    "of a list of any length": (
        "n = ask()\nif n >= 0:\n    for p in some(n):\n        order(p.sku, p.stock)"
        "\n        assert p.sku != ''"
    ),
    "by an argument": "for p in maybe(True):\n    order(p.sku, p.stock)",
    "of some of them": "for p in named():\n    if p.sku != '':\n        order(p.sku, p.stock)",
}


@pytest.mark.parametrize("body", PROVED.values(), ids=PROVED)
def test_what_is_promised_of_every_item_is_relied_on(layer: Layer, body: str) -> None:
    proof = proof_of(layer, body)
    assert proof.verdict is ProofVerdict.PROVED, proof.reasons
    certificate = certified(proof, FrontEnd.PYTHON).certificate
    assert certificate is not None
    report = check(certificate.data)
    assert report.level is Level.C, report.goals
    assert any(goal.kind is GoalKind.PROMISE for goal in report.derived)


@pytest.mark.parametrize("name", ["in a loop in a loop", "of lists in a list", "by an argument"])
def test_a_document_that_is_handed_in_gets_the_promises_of_the_layer(
    layer: Layer, name: str
) -> None:
    document = document_of(program(PROVED[name]), name="p.py", layer=layer)
    without = dataclasses.replace(document, assumptions=())
    assert prove_bound(without, layer).verdict is ProofVerdict.PROVED
    doubted = document_of(program(UNREAD["that one of them is"]), name="p.py", layer=layer)
    proof = prove_bound(doubted, layer)
    assert proof.verdict is ProofVerdict.UNKNOWN
    assert "promise.unread" in {each.code for each in proof.reasons}


def test_a_promise_may_leave_no_item(layer: Layer) -> None:
    proof = proof_of(layer, "for p in maybe(False):\n    order(p.sku, p.stock)")
    assert proof.verdict is ProofVerdict.PROVED, proof.reasons


@pytest.mark.parametrize("body", PROVED.values(), ids=PROVED)
def test_planned_answers_keep_what_is_promised_of_every_item(layer: Layer, body: str) -> None:
    plan = proof_of(layer, body).plan
    assert plan is not None
    assert not plan.too_few
    assert not plan.contradiction
    sites = set(range(len(plan.sites))) - plan.sites_unreachable
    assert sites <= set().union(*(each.sites for each in plan.predicted))
    # All of them that are tried first: none is dropped because an answer breaks a promise.
    assert len({str(run.answers) for run in plan.order.runs if run.fails_at is None}) >= 3


def test_answers_differ_where_promises_leave_them_free(layer: Layer) -> None:
    plan = proof_of(layer, PROVED["by helper and length"]).plan
    assert plan is not None
    rows = [str(run.answers[0].result) for run in plan.order.runs if run.answers]
    assert len(set(rows)) >= 5


def test_long_lists_keep_what_is_promised_of_each_item(layer: Layer) -> None:
    """Items that are alike are changed together: one after the other takes more changes than there may be."""
    body = (
        "for at, p in enumerate(some(45)):\n"
        "    if p.email.title() and (at + 1) % 40 == 0:\n"
        "        order(p.sku, p.stock)"
    )
    plan = proof_of(layer, body).plan
    assert plan is not None
    lists = [run.answers[0].result for run in plan.order.runs if run.fails_at is None]
    assert {len(rows) for rows in lists} == {45}
    assert len(set(map(str, lists))) >= FIRST


REFUTED = {
    "of another column": "for p in products():\n    mail(p.sku)",
    "of the items that are left out": "for p in named():\n    order(p.sku, p.stock)",
    "that there is one": "ps = products()\nassert len(ps) > 0",
    "of items that the goal does not read": (
        "ps = products()\nif len(ps) > 10:\n    order('x', 0 - len(ps))"
    ),
    "of an item too little": "for p in above(0 - 2):\n    order(p.sku, p.stock)",
}


@pytest.mark.parametrize("body", REFUTED.values(), ids=REFUTED)
def test_what_is_not_promised_is_refuted_by_a_run_that_keeps_its_promises(
    layer: Layer, body: str
) -> None:
    proof = proof_of(layer, body)
    assert proof.verdict is ProofVerdict.REFUTED
    assert "promise.unread" not in {each.code for each in proof.reasons}


UNREAD = {
    "that one of them is": "for p in with_stock():\n    order(p.sku, p.stock)",
    "their order": "for p in in_order():\n    order(p.sku, p.stock)",
}


@pytest.mark.parametrize("body", UNREAD.values(), ids=UNREAD)
def test_a_promise_that_can_not_be_read_is_named_and_refutes_nothing(
    layer: Layer, body: str
) -> None:
    proof = proof_of(layer, body)
    assert proof.verdict is ProofVerdict.UNKNOWN
    (unread,) = [each for each in proof.reasons if each.code == "promise.unread"]
    assert unread.line is not None
    assert "is not relied on" in unread.message


def test_where_nothing_depends_on_it_an_unread_promise_does_no_harm(layer: Layer) -> None:
    proof = proof_of(layer, "for p in with_stock():\n    if p.stock > 0:\n        pack(p)")
    assert proof.verdict is ProofVerdict.PROVED
    assert proof.reasons == ()


@pytest.mark.parametrize(
    "body",
    [
        "for p in impossible():\n    order(p.sku, 0 - 1)",
        "for p in between(4, 5):\n    order(p.sku, 0 - 1)",
        "n = ask()\nfor p in between(n, 5):\n    if p.stock < n:\n        order(p.sku, 1)",
    ],
)
def test_what_no_item_can_keep_proves_nothing(layer: Layer, body: str) -> None:
    proof = proof_of(layer, body)
    assert proof.verdict is not ProofVerdict.PROVED
    assert "vacuous" in {each.code for each in proof.reasons}
