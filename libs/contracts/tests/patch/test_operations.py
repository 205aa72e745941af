"""A patch fits the document it was made for, or changes nothing; its text keeps what it does not touch."""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lictor_contracts.patch.document import (
    PatchDocumentError,
    document_of,
    edited,
    read_document,
    unified_diff,
)
from lictor_contracts.patch.operations import PatchConflict, changed, pointer, pointer_parts, same
from lictor_schema.contracts.envelope import DTE
from lictor_schema.contracts.patch import PatchOperation
from lictor_schema.core.canonical_json import canonical_json

TEXT = """\
# Refunds, agreed with finance.
decisionType: refund
version: 1.2.0
deadlineMs: 100  # what a customer waits for
stageBudgetsMs: {context: 10, plan: 20, act: 30, verify: 40}
freshness:
  defaultTtlMs: 500
  # prices move faster
  featureTtls:
    price: 250
    stock: 400
limits:
  maxHops: 3
  maxFanout: 4
  maxToolCalls: 20
  maxChainDepth: 5
degradeLadder:
  - step: cache_bundle
    maxExtraMs: 20
  # a clerk looks at it
  - step: hitl
  - step: abstain
verification:
  requiredAboveBlastRadius: small
  methods: [read_after_write]
safeAction:
  requireIdempotency: true
  requireRollbackAbove: small
  blastRadiusMax: medium
"""
REFUND = read_document("dte", "refund.yaml", TEXT)

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=8,
)


def op(kind: Any, path: str, **values: Any) -> PatchOperation:
    """An operation."""
    return PatchOperation(op=kind, path=path, **values)


def places(value: Any, at: tuple[str | int, ...] = ()) -> list[tuple[tuple[str | int, ...], Any]]:
    """Every place of a document with what stands there, but not the document itself."""
    found: list[tuple[tuple[str | int, ...], Any]] = []
    if not isinstance(value, dict | list):
        return found
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
        found += [((*at, key), inner), *places(inner, (*at, key))]
    return found


@given(st.lists(st.text(max_size=5), min_size=1, max_size=4))
def test_a_pointer_reads_back_as_its_parts(parts: list[str]) -> None:
    assert pointer_parts(pointer(*parts)) == tuple(parts)


@given(st.data(), st.dictionaries(st.text(max_size=3), VALUES, min_size=1, max_size=4))
def test_set_and_set_back_gives_the_document_again(data: st.DataObject, document: Any) -> None:
    before = copy.deepcopy(document)
    path, old = data.draw(st.sampled_from(places(document)))
    new = data.draw(VALUES)
    forth = op("set", pointer(*path), old=old, new=new)
    back = op("set", pointer(*path), old=new, new=old)
    assert same(changed(document, [forth, back]), before)
    assert document == before


@given(st.data(), st.dictionaries(st.text(max_size=3), VALUES, min_size=1, max_size=4))
def test_remove_and_insert_gives_the_document_again(data: st.DataObject, document: Any) -> None:
    path, old = data.draw(st.sampled_from(places(document)))
    out = op("remove", pointer(*path), old=old)
    again = op("insert", pointer(*path), new=old)
    assert same(changed(document, [out, again]), document)


@given(st.data(), st.dictionaries(st.text(max_size=3), VALUES, min_size=1, max_size=4), VALUES)
def test_another_value_than_expected_is_a_conflict_that_names_the_place(
    data: st.DataObject, document: Any, other: Any
) -> None:
    path, old = data.draw(st.sampled_from(places(document)))
    if same(old, other):
        return
    for kind in ("set", "remove"):
        with pytest.raises(PatchConflict, match="moved on") as caught:
            changed(document, [op(kind, pointer(*path), old=other)])
        assert pointer(*path) in str(caught.value)


@pytest.mark.parametrize(
    ("operation", "words"),
    [
        (op("set", "/missing", old=None, new=1), "no 'missing'"),
        (op("remove", "/missing/deeper", old=None), "no 'missing'"),
        (op("insert", "/a", new=1), "already"),
        (op("set", "/a/b", old=1, new=2), "nothing below 1"),
        (op("set", "/list/2", old=1, new=2), "no place '2'"),
        (op("set", "/list/-", old=1, new=2), "no place '-'"),
        (op("set", "/list/01", old=1, new=2), "no place '01'"),
        (op("set", "/list/+1", old=1, new=2), "no place"),
        (op("set", "/list/\u0661", old=1, new=2), "no place"),
        (op("insert", "/list/3", new=2), "no place '3'"),
        (op("set", "/a", old=True, new=2), "instead of True"),
    ],
)
def test_what_does_not_fit_is_refused(operation: PatchOperation, words: str) -> None:
    with pytest.raises(PatchConflict, match=words.replace("+", r"\+")):
        changed({"a": 1, "list": [1, 2]}, [operation])


def test_an_operation_that_fails_leaves_no_half_of_the_others() -> None:
    document = {"a": 1, "b": 2}
    with pytest.raises(PatchConflict):
        changed(document, [op("set", "/a", old=1, new=9), op("set", "/b", old=1, new=9)])
    assert document == {"a": 1, "b": 2}


def test_a_changed_value_is_the_only_line_of_the_diff_and_comments_stay() -> None:
    after = edited(REFUND, [op("set", "/deadlineMs", old=100, new=90)])
    lines = [line for line in unified_diff(REFUND, after).splitlines()[2:] if line[0] in "+-"]
    assert lines == [
        "-deadlineMs: 100  # what a customer waits for",
        "+deadlineMs: 90  # what a customer waits for",
    ]


@pytest.mark.parametrize(
    ("operation", "lines"),
    [
        (op("remove", "/freshness/featureTtls/price", old=250), ["-    price: 250"]),
        (op("insert", "/freshness/featureTtls/risk", new=90), ["+    risk: 90"]),
        (op("set", "/stageBudgetsMs/plan", old=20, new=5), None),
        (
            op("remove", "/degradeLadder/0", old={"step": "cache_bundle", "maxExtraMs": 20}),
            ["-  - step: cache_bundle", "-    maxExtraMs: 20"],
        ),
        (
            op("insert", "/degradeLadder/-", new={"step": "rules_only"}),
            ['+  - {"step": "rules_only"}'],
        ),
        (
            op("insert", "/degradeLadder/1", new={"step": "rules_only"}),
            ['+  - {"step": "rules_only"}'],
        ),
        (op("insert", "/safeAction/allowedActionTypes", new=["a"]), None),
        (op("set", "/freshness/featureTtls", old={"price": 250, "stock": 400}, new={}), None),
    ],
)
def test_changes_are_spliced_into_the_text(
    operation: PatchOperation, lines: list[str] | None
) -> None:
    after = edited(REFUND, [operation])
    assert same(read_document("dte", "refund.yaml", after.text).data, after.data)
    assert "# Refunds, agreed with finance." in after.text
    if lines is not None:
        diff = unified_diff(REFUND, after).splitlines()[2:]
        assert [line for line in diff if line[0] in "+-"] == lines


@given(st.data())
def test_the_text_always_holds_the_changed_data(data: st.DataObject) -> None:
    path, old = data.draw(st.sampled_from(places(REFUND.data)))
    kind = data.draw(st.sampled_from(["set", "remove"]))
    new = data.draw(VALUES) if kind == "set" else None
    after = edited(REFUND, [op(kind, pointer(*path), old=old, new=new)])
    assert same(read_document("dte", "refund.yaml", after.text).data, after.data)
    assert same(after.data, changed(REFUND.data, [op(kind, pointer(*path), old=old, new=new)]))


@pytest.mark.parametrize(
    "sign", ["\x85", "\u2028", "\u2029", "\ufeff", "\x7f", "\x00", "\U0001f600"]
)
def test_signs_that_yaml_takes_for_something_else_are_kept(sign: str) -> None:
    operation = op("set", "/decisionType", old="refund", new=f"a{sign} b")
    after = edited(REFUND, [operation])
    assert read_document("dte", "refund.yaml", after.text).data["decisionType"] == f"a{sign} b"
    assert "# Refunds, agreed with finance." in after.text
    whole = edited(after, [op("remove", "/degradeLadder", old=REFUND.data["degradeLadder"])])
    assert read_document("dte", "refund.yaml", whole.text).data == whole.data


def test_json_documents_are_written_as_json() -> None:
    document = document_of(DTE.from_json(canonical_json(REFUND.data)), "refund.json")
    after = edited(document, [op("set", "/deadlineMs", old=100, new=90)])
    assert '-  "deadlineMs": 100,\n+  "deadlineMs": 90,' in unified_diff(document, after)


@pytest.mark.parametrize(
    ("name", "text"),
    [("a.yaml", "a: &x 1\nb: *x"), ("a.json", '{"a": 1, "a": 2}'), ("a.yaml", "a: [")],
)
def test_a_text_with_surprises_is_no_document(name: str, text: str) -> None:
    with pytest.raises(PatchDocumentError, match=name):
        read_document("dte", name, text)
