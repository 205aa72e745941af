"""The text form: exact both ways, readable, and strict about what it reads."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ir_strategies import documents, input_terms

from lictor_ir import terms
from lictor_ir.contracts import All, Relation
from lictor_ir.document import Atom, Document, Effect, Guarantee, Parameter
from lictor_ir.errors import DocumentError, FormError
from lictor_ir.json.document import document_hash
from lictor_ir.provenance import argument_labels
from lictor_ir.terms import Term, const, var
from lictor_ir.text import read, write
from lictor_ir.types import ANY, BOOL, INT, NONE, STR

EXAMPLE = """\
effect-ir v1
program "mail.py" target main
source "sha256:0000000000000000000000000000000000000000000000000000000000000000"

schema User(email: str, age: int)
enum Colour(RED, GREEN)
trusted users(limit: int) -> list<row<User>> in "tools.mail" marked "read"
trusted find(schema: str) -> list<any>
trusted send_email(addr: str, msg: str) -> none
trusted withdraw(amount: int) -> int marked "net", "money"
trusted paint(colour: enum<Colour>) -> none
event Write(path: str) is Touch
fluent locked[str]: bool = true

input x: int
input flag: bool
input when: str

effect c1: users(limit = 10) at 3:5-3:20
effect c2: send_email(addr = result(c1)[i].email, msg = when) for i in result(c1) when result(c1)[i].age < 18 or flag
    performs Write(path = when)
    sets locked["door"] = not flag
let $1 = not flag and x <= 5 and 0 < x
effect c3: withdraw(amount = (if flag then x // 2 else -3)) when $1
effect c4: find(schema = "User")
effect c5: send_email(addr = concat("to ", (result(c4) as list<row<User>>)[0].email))
effect c6: paint(colour = Colour::RED) when when matches seq("a", rep("0".."9", 1, 3)) at 9:1-9:2

assume c1 : len(result(c1)) <= 10 says "at most ten"

oblige precondition of c3 when $1 : 0 < x says "positive" at 5:1-5:9
oblige no_error : 0 < len((result(c4) as list<row<User>>))

guarantee "only()" says "Only Bob." : forall e in send_email : e.addr in ["bob@example.com"]
guarantee "from()" required by "mail" at 1:1-1:9 : forall e in send_email : from(e.addr: User.email)
guarantee "cap()" : (sum e in withdraw : e.amount) <= 5
guarantee "few()" : (count e in event Touch where (contains(e.path, "x"))) == 0
guarantee "more()" : all {anything; no e in paint; distinct e in withdraw : e.amount; shared e in send_email and \
e in send_email : e.addr; finally s in locked : s.value or s.key == "door"; finally s in locked["door"] : s.value; \
first e in users before e in send_email; first e in withdraw by e.amount before e in withdraw by e.amount + 1; \
never e in users after e in send_email | withdraw}
"""


def test_the_example_is_read_and_written_as_it_stands() -> None:
    assert write(read(EXAMPLE)) == EXAMPLE


@given(documents())
def test_a_document_is_read_back_as_it_was(document: Document) -> None:
    text = write(document)
    again = read(text)
    assert again == document
    assert write(again) == text
    assert document_hash(again) == document_hash(document)


def noting(what: Term) -> Document:
    arguments = {"what": what}
    inputs = (*(Parameter(each, INT) for each in ("x", "count", "e")), Parameter("s", STR))
    names = [each.name for each in inputs] + ["flag", "f", "q", "colour"]
    return Document(
        program="p",
        source_hash=None,
        layer_hash=None,
        effects=(Effect("note", (Parameter("what", ANY),), NONE),),
        inputs=(*inputs, Parameter("flag", BOOL)),
        atoms=(Atom("c1", "note", arguments, labels=argument_labels(arguments, names)),),
    )


SMALL = st.sampled_from([BOOL, INT, STR]).flatmap(input_terms)


@given(SMALL)
def test_terms_are_read_back_as_the_same_objects(term: Term) -> None:
    if not {part.name for part in terms.variables(term)} <= {"x", "s", "flag"}:
        return
    try:
        text = write(noting(term))
    except DocumentError:  # it speaks of an enum that this document does not have
        return
    assert read(text).atoms[0].arguments["what"] is term


X, S, FLAG = var("x", INT), var("s", STR), var("flag", BOOL)


@pytest.mark.parametrize(
    ("term", "text"),
    [
        (terms.application("and", (FLAG,), "", BOOL), "and(flag)"),
        (terms.application("add", (X, X, X), "", INT), "x + x + x"),
        (terms.application("sub", (terms.apply("sub", X, const(1)), X), "", INT), "(x - 1) - x"),
        (terms.apply("sub", X, const(-1)), "x - -1"),
        (terms.apply("neg", X), "neg(x)"),
        (terms.apply("mul", terms.apply("add", X, const(2)), const(3)), "(x + 2) * 3"),
        (terms.not_(terms.or_(FLAG, terms.eq(X, const(1)))), "not (flag or x == 1)"),
        (terms.apply("eq", terms.not_(FLAG), X), "(not flag) == x"),
        (terms.ite(FLAG, X, const(0)), "(if flag then x else 0)"),
        (terms.apply("list"), "[]"),
        (terms.apply("dict", S, X), "{`s`: x}"),
        (terms.apply("tuple", S), "tuple(`s`)"),
        (const(1e-07), "1e-07"),
        (const(float("-inf")), "-inf"),
        (const('"\\\n\u200b\ud800é'), '"\\"\\\\\\n\\u{200b}\\u{d800}é"'),
        (terms.apply("real_of_int", const(3)), "3/1"),
        (var("count", INT), "count"),
        (terms.apply("add", var("e", INT), X), "`e` + x"),
    ],
)
def test_terms_are_written_as_people_write_them(term: Term, text: str) -> None:
    written = write(noting(term))
    assert f"effect c1: note(what = {text})\n" in written
    assert read(written) == noting(term)


def test_deep_and_shared_terms_are_named() -> None:
    deep: Term = X
    for number in range(5_000):
        deep = terms.apply("mul", terms.apply("add", deep, const(1)), const(number + 2))
    document = noting(deep)
    text = write(document)
    assert max(map(len, text.splitlines())) < 200
    assert read(text) == document


def test_fields_in_lets_carry_their_types() -> None:
    field = terms.var("e.what", INT)
    deep: Term = field
    effects = (Effect("note", (Parameter("what", INT),), NONE),)
    for _ in range(15):
        deep = terms.apply("mul", deep, field)
    contract = All(Relation(("note",)), terms.apply("le", deep, field))
    document = replace(noting(const(1)), effects=effects, guarantees=(Guarantee("g", contract),))
    text = write(document)
    assert "(e.what as int)" in text
    assert text.endswith("<= e.what\n")
    assert read(text) == document


def test_comments_and_layout_are_free() -> None:
    loose = EXAMPLE.replace("\n\n", "\n# a comment\n\n").replace(", ", ",\n  ")
    assert read(loose) == read(EXAMPLE)


HEAD = (
    'effect-ir v1\nprogram "p" target main\ninput x: int\ninput t: str\ntrusted f(a: any) -> int\n'
)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1, column 1: a document begins with 'effect-ir v1'"),
        ("effect-ir v2", "line 1, column 1: a document begins"),
        ("effect-ir v1\nprogram p", "line 2, column 9: a string is expected, not 'p'"),
        (HEAD + "while x", "line 6, column 1: a statement is expected"),
        (HEAD + "effect c1: g()", "line 6, column 12: is not declared as trusted"),
        (HEAD + "effect c1: f(a = )", "line 6, column 18: a term is expected, not ')'"),
        (HEAD + "effect c1: f(a = x", "line 6, column 19: ',' is expected, not the end"),
        (HEAD + "effect c1: f(a = x, a = x)", "line 6, column 21: a is given twice"),
        (HEAD + "effect c1: f(a = x + t)", "line 6, column 18: add takes operands of one type"),
        (HEAD + "effect c1: f(a = 1 - 2 - 3)", "line 6, column 24: '-' stands beside its like"),
        (HEAD + "effect c1: f(a = 1 + 2 - 3)", "line 6, column 24: '-' stands beside its like"),
        (HEAD + "effect c1: f(a = 1 == not x)", "line 6, column 23: 'not' needs parentheses"),
        (HEAD + "effect c1: f(a = $1)", "line 6, column 18: $1 is not defined before"),
        (HEAD + "effect c1: f(a = x.y)", "line 6, column 20: int has no column y"),
        (HEAD + "effect c1: f(a = result(c1))", "line 6, column 25: c1 is no call before this"),
        (HEAD + "effect c1: f(a = 01)", "line 6, column 18: '01' must be spelled '1'"),
        (HEAD + "effect c1: f(a = 1e999)", "line 6, column 18: 1e999 is too large for a float"),
        (HEAD + 'effect c1: f(a = "\\q")', "line 6, column 18: '\\\\q\"' is no escape"),
        (HEAD + 'effect c1: f(a = "\\u{41")', "line 6, column 18: '\\\\u{4' is no escape"),
        (HEAD + 'effect c1: f(a = "abc)', "line 6, column 18: '\"' can't stand here"),
        (
            HEAD + 'effect c1: f(a = "a" matches any)',
            "line 6, column 18: a match of a known string",
        ),
        (HEAD + "effect c1: f(a = t matches [])", "line 6, column 28: a regular expression"),
        (HEAD + 'effect c1: f(a = t matches "b".."a")', "line 6, column 28: a range needs two"),
        (
            HEAD + "effect c1: f(a = t matches rep(any, 2, 1))",
            "line 6, column 28: rep: must repeat",
        ),
        (HEAD + "effect c1: f() at 0:1-1:1", "line 6, column 19: a place is expected"),
        (HEAD + "let $1 = 1\nlet $1 = 2", "line 7, column 5: a new name is expected"),
        (HEAD + "input y: lists<int>", "line 6, column 10: 'lists<int>' is no type"),
        (HEAD + "trusted f() -> int", "line 6, column 9: f is declared twice"),
        (HEAD + 'guarantee "g" : some e in f', "line 6, column 17: a contract is expected"),
        (HEAD + 'guarantee "g" : forall e in f : e.b == 1', "line 6, column 35: e.b can't be read"),
        (HEAD + 'guarantee "g" : forall e in f : x == 1', "line 6, column 33: x is no field"),
        (HEAD + 'guarantee "g" : (count e in f) != 1', "line 6, column 32: '!' can't stand here"),
        (HEAD + 'guarantee "g" : finally s in f : true', "line 6, column 30: is not declared as a"),
        (HEAD + "effect c1: f(a = §)", "line 6, column 18: '§' can't stand here"),
        (HEAD + "effect c1: f(a = \x00)", "line 6, column 18: '\\x00' can't stand here"),
    ],
)
def test_what_can_t_be_read_is_told_with_line_and_column(text: str, message: str) -> None:
    with pytest.raises(FormError) as caught:
        read(text)
    assert str(caught.value).startswith(message), str(caught.value)


def test_a_text_that_breaks_a_rule_is_refused_with_the_path() -> None:
    with pytest.raises(DocumentError, match=r"^atoms\[0\].guard: must be bool, not int"):
        read(HEAD + "effect c1: f() when x")


@pytest.mark.parametrize(
    "term",
    ["(" * 100_000, "[" * 100_000, "not " * 100_000, "(if " * 50_000, "f(" * 50_000, "{" * 9_999],
)
def test_nesting_without_end_is_refused(term: str) -> None:
    with pytest.raises(FormError, match=r"deeper than 64|expected"):
        read(HEAD + "effect c1: f(a = " + term)


@given(documents(), st.data())
def test_a_spoiled_text_is_refused_or_another_document(
    document: Document, data: st.DataObject
) -> None:
    text = write(document)
    at = data.draw(st.integers(0, len(text) - 1))
    spoiled = (
        text[:at]
        + data.draw(st.sampled_from(["", "x", " ", "(", '"', "0", "\n", "$"]))
        + text[at + 1 :]
    )
    try:
        read(spoiled)
    except (FormError, DocumentError):
        return
