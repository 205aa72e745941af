"""The JSON form: exact both ways, one form for each document, and nothing outside the grammar is read."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ir_strategies import documents

from lictor_ir import terms
from lictor_ir.contracts import Both, Contract, Empty, Relation
from lictor_ir.document import Atom, Document, Effect, Guarantee, Parameter
from lictor_ir.errors import DocumentError, FormError
from lictor_ir.json.document import document_hash, from_json, to_json
from lictor_ir.provenance import argument_labels
from lictor_ir.regexes import ReRepeat, ReText
from lictor_ir.terms import TRUE, Term, const, var
from lictor_ir.types import ANY, BOOL, INT, NONE, STR
from lictor_schema.core.canonical_json import canonical_json


def noting(what: Term, **changes: Any) -> Document:
    """A document that notes one value."""
    arguments = {"what": what}
    document = Document(
        program="p",
        source_hash=None,
        layer_hash=None,
        effects=(Effect("note", (Parameter("what", ANY),), NONE),),
        inputs=(Parameter("x", INT), Parameter("s", STR), Parameter("flag", BOOL)),
        atoms=(
            Atom("c1", "note", arguments, labels=argument_labels(arguments, ["x", "s", "flag"])),
        ),
    )
    return replace(document, **changes)


@given(documents())
def test_a_document_is_read_back_as_it_was(document: Document) -> None:
    data = to_json(document)
    again = from_json(data)
    assert again == document
    assert to_json(again) == data
    assert document_hash(again) == document_hash(document)


@given(documents())
def test_the_form_is_canonical_json(document: Document) -> None:
    data = to_json(document)
    assert canonical_json(json.loads(data)) == data


@given(documents())
def test_the_order_in_which_arguments_were_given_changes_nothing(document: Document) -> None:
    turned = replace(
        document,
        atoms=tuple(
            replace(atom, arguments=dict(reversed(list(atom.arguments.items()))))
            for atom in document.atoms
        ),
    )
    assert turned == document
    assert document_hash(turned) == document_hash(document)


def test_layout_and_the_order_of_keys_are_json_s_own_affair() -> None:
    document = noting(const(1))
    loose = json.dumps(dict(reversed(json.loads(to_json(document)).items())), indent=2)
    assert from_json(loose.encode()) == document


def test_constants_keep_every_bit() -> None:
    numbers = [2**53 + 1, -(10**5_000), 0.1, -0.0, math.inf, math.nan, Fraction(-1, 3), True, 1]
    strings = ["\ud83d\ude00", "😀", "\ud800", ""]
    for value in (*numbers, *strings, None):
        (atom,) = from_json(to_json(noting(const(value)))).atoms
        assert atom.arguments["what"] is const(value)


def test_a_term_ten_thousand_deep_is_read_back() -> None:
    deep: Term = var("x", INT)
    for number in range(10_000):
        deep = terms.ite(var("flag", BOOL), terms.apply("mul", deep, const(number)), deep)
    document = noting(deep)
    assert from_json(to_json(document)) == document


def test_unfolded_terms_stay_as_they_stand() -> None:
    odd = terms.application("and", (TRUE, var("flag", BOOL)), "", BOOL)
    (atom,) = from_json(to_json(noting(odd))).atoms
    assert atom.arguments["what"] is odd


# -- what is refused -------------------------------------------------------------------------------

GOOD = noting(terms.apply("add", var("x", INT), const(1)))


def spoiled(change: Callable[[Any], object], document: Document = GOOD) -> bytes:
    value = json.loads(to_json(document))
    change(value)
    return json.dumps(value).encode()


def set_at(*path: str | int) -> Callable[[Any], Callable[[Any], None]]:
    def to(new: Any) -> Callable[[Any], None]:
        def change(value: Any) -> None:
            for part in path[:-1]:
                value = value[part]
            value[path[-1]] = new

        return change

    return to


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (set_at("format")("lictor/effect-ir/v2"), "format: must be 'lictor/effect-ir/v1'"),
        (set_at("extra")(1), "the document: has keys that the format does not know: extra"),
        (lambda value: value.pop("inputs"), "the document: lacks inputs"),
        (set_at("terms", 3)({"op": "exec", "args": [1, 2]}), r"terms\[3\]: 'exec' is no operator"),
        (
            set_at("terms", 3)({"op": "add", "args": [0, 1]}),
            r"terms\[3\]: add takes operands of one",
        ),
        (set_at("terms", 3, "args", 0)(3), r"terms\[3\].args\[0\]: names term 3, which does not"),
        (set_at("terms", 3, "args", 0)(-1), r"terms\[3\].args\[0\]: names term -1, which does not"),
        (set_at("terms", 3, "args", 0)(1.0), r"terms\[3\].args\[0\]: must be an integer"),
        (set_at("terms", 3, "args", 0)(True), r"terms\[3\].args\[0\]: must be an integer"),
        (set_at("terms", 3, "param")(""), r"terms\[3\].param: is empty; leave it out"),
        (set_at("terms", 3)([]), r"terms\[3\]: is no term"),
        (set_at("terms", 1, "type")("integer"), r"terms\[1\].type: 'integer' is no type"),
        (set_at("terms", 1, "type")("list< int>"), r"terms\[1\].type: must be spelled 'list<int>'"),
        (set_at("terms", 2, "value")("01"), r"terms\[2\].value: '01' must be spelled '1'"),
        (set_at("terms", 2, "value")(1), r"terms\[2\].value: must be a string"),
        (set_at("terms", 2)({"const": "bool", "value": 1}), r"terms\[2\].value: is no bool"),
        (set_at("atoms", 0, "guard")(99), r"atoms\[0\].guard: names term 99"),
        (set_at("atoms", 0, "arguments")([]), r"atoms\[0\].arguments: must be an object"),
        (set_at("atoms", 0, "span")([1, 2]), r"atoms\[0\].span: must be line, column"),
        (set_at("guarantees")([{"name": "g"}]), r"guarantees\[0\]: lacks contract"),
        (lambda value: value["terms"].append(value["terms"][0]), r"terms: is not as the format"),
        (lambda value: value["terms"].append({"const": "int", "value": "9"}), "terms: is not as"),
    ],
)
def test_what_is_outside_the_grammar_is_refused_with_its_path(
    change: Callable[[Any], object], message: str
) -> None:
    with pytest.raises(FormError, match=f"^{message}"):
        from_json(spoiled(change))


def test_a_stated_type_is_not_believed() -> None:
    with pytest.raises(
        DocumentError, match=r"^atoms\[0\].arguments.what: reads x as str; it is int"
    ):
        from_json(
            spoiled(
                lambda value: value.update(
                    terms=[
                        {"const": "bool", "value": True},
                        {"var": "x", "type": "str"},
                        {"op": "concat", "args": [1, 1]},
                    ],
                    atoms=[value["atoms"][0] | {"arguments": {"what": 2}}],
                )
            )
        )


def test_a_match_of_a_known_string_is_refused_before_it_is_tried() -> None:
    regex = ReRepeat(ReText("a"), 0, None)
    document = noting(terms.matches(var("s", STR), regex))
    with pytest.raises(FormError, match=r"terms\[2\].matches: is a known string"):
        from_json(spoiled(set_at("terms", 1)({"const": "str", "value": "aaaa"}), document))


@pytest.mark.parametrize(
    "data", [b"", b"[]", b"\xff", b"{" * 5_000, b'{"format": 1, "format": 2}', b"null", b"\x00"]
)
def test_what_is_no_document_is_refused(data: bytes) -> None:
    with pytest.raises(FormError):
        from_json(data)


def test_types_that_would_be_exponentially_large_are_refused() -> None:
    rows: list[Any] = [{"const": "int", "value": "1"}]
    rows += [{"op": "tuple", "args": [number] * 100} for number in range(12)]
    with pytest.raises(FormError, match="type that is too"):
        from_json(spoiled(set_at("terms")(rows)))
    deep: list[Any] = [{"const": "int", "value": "1"}]
    deep += [{"op": "list", "args": [number]} for number in range(5_000)]
    with pytest.raises(FormError, match="type that is too deep"):
        from_json(spoiled(set_at("terms")(deep)))


def test_contracts_nested_without_end_are_refused() -> None:
    contract: Contract = Empty(Relation(("note",)))
    for _ in range(40):
        contract = Both((contract,))
    with pytest.raises(FormError, match="nested deeper than 16"):
        to_json(noting(const(1), guarantees=(Guarantee("g", contract),)))


@given(documents(), st.data())
def test_a_document_that_lost_a_part_is_refused_or_another_one(
    document: Document, data: st.DataObject
) -> None:
    value = json.loads(to_json(document))
    section = data.draw(
        st.sampled_from(sorted(key for key in value if isinstance(value[key], list)))
    )
    if not value[section]:
        return
    value[section].pop(data.draw(st.integers(0, len(value[section]) - 1)))
    try:
        other = from_json(json.dumps(value).encode())
    except (FormError, DocumentError):
        return
    assert document_hash(other) != document_hash(document)
