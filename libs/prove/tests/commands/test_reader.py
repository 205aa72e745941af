"""Programs in commands: what can't be written is refused, with its place and what to write instead."""

from __future__ import annotations

import pytest

from libs.prove.tests.python_front_end import LAYER
from lictor_ir.document import ObligationKind
from lictor_ir.text import write
from lictor_prove.commands import HEADER, lowered, read_commands
from lictor_prove.errors import Reason, Rejected
from lictor_prove.proof.prover import prove
from lictor_schema.proofs.proof import ProofVerdict


def refusal(source: str) -> Reason:
    """Why a program is refused."""
    with pytest.raises(Rejected) as refused:
        lowered(read_commands(source, layer=LAYER), name="p")
    (reason,) = refused.value.reasons
    assert reason.message
    assert reason.remedy
    return reason


def body(*lines: str) -> str:
    return "\n".join([HEADER, *lines])


def document(*lines: str) -> str:
    return write(lowered(read_commands(body(*lines), layer=LAYER), name="p"))


DOUBLED = [f"let a{n + 1} = concat(a{n}, a{n})" for n in range(60)]


@pytest.mark.parametrize(
    ("source", "place", "says"),
    [
        ("", (1, 1), "begins with 'lictor-commands v1'"),
        ("lictor-commands v2", (1, 1), "begins with"),
        ("lictor-commands v12", (1, 1), "begins with"),
        ("def main(): pass", (1, 1), "begins with"),
        # what only a layer, or only a document, can say
        (body("trusted send(addr: str) -> none"), (2, 1), "begins no command"),
        (body("assume c1 : true"), (2, 1), "begins no command"),
        (body("oblige no_error : true"), (2, 1), "begins no command"),
        (body('effect c1: send(addr = "a", msg = "b")'), (2, 1), "begins no command"),
        (body("schema S(a: int)"), (2, 1), "begins no command"),
        (body("let x = result(c1)"), (2, 9), "documents alone"),
        (body("let x = $1"), (2, 9), "documents alone"),
        (body("let x = (e.addr as str)"), (2, 10), "documents alone"),
        (body('let x = from("a": UserRow.email)'), (2, 9), "documents alone"),
        (body("let x = A::B"), (2, 9), "documents alone"),
        # names
        (body("let x = 1", "let x = 2"), (3, 5), "bound once"),
        (body("input x: int", "input x: int"), (3, 7), "bound once"),
        (body("input x: int", "let x = 2"), (3, 5), "bound once"),
        (body("let x = 1", "x = 2"), (3, 1), "bound once"),
        (body("let x = 1", "x = call number()"), (3, 1), "bound once"),
        (body("let x = 1", "when true { let x = 2 }"), (3, 17), "bound once"),
        (body("let x = 1", "for x in 0..3 { }"), (3, 5), "bound once"),
        (body("for i in 0..3 { for i in 0..3 { } }"), (2, 21), "bound once"),
        (body("when true { let x = 1 }", "assert x == 1"), (3, 8), "no value here"),
        (body("for i in 0..3 { let x = i }", "assert x == 1"), (3, 8), "no value here"),
        (body("for i in 0..3 { }", "assert i == 1"), (3, 8), "no value here"),
        (body("when true { } else { let x = 1 }", "assert x == 1"), (3, 8), "no value here"),
        (body("assert x == 1", "let x = 1"), (2, 8), "no value here"),
        (body("let x = x"), (2, 9), "no value here"),
        (body("let send = send"), (2, 12), "no value here"),
        (body("let when = 1"), (2, 5), "can't be bound"),
        (body("let `e` = 1"), (2, 5), "can't be bound"),
        (body("let `\uff58` = 1"), (2, 5), "can't be bound"),
        (body("let é = 1"), (2, 5), "can't stand here"),
        (body("let __class__ = 1"), (2, 5), "can't be bound"),
        # calls
        (body("call shred()"), (2, 6), "no trusted function"),
        (body('call `s\u0435nd`(addr = "a", msg = "b")'), (2, 6), "did you mean send"),
        (body('call snd(addr = "a", msg = "b")'), (2, 6), "did you mean send"),
        (body('call send(addr = "a")'), (2, 6), "is not given msg"),
        (body('call send("a", "b")'), (2, 11), "a name is expected"),
        (body('call send(addr = "a", addr = "a", msg = "b")'), (2, 23), "given twice"),
        (body('call send(addr = "a", msg = "b", cc = "c")'), (2, 34), "no parameter cc"),
        (body('call send(addr = 1, msg = "b")'), (2, 18), "is str, and is given int"),
        (body("call pay_float(amount = 5)"), (2, 25), "write 5.0"),
        (body("call pay(amount = true)"), (2, 19), "is int, and is given bool"),
        (body('x = call send(addr = "a", msg = "b")'), (2, 1), "returns nothing"),
        (body("call opaque()"), (2, 6), "no model"),
        (body('x = call rows_of(schema = UserRow, table = "t")'), (2, 10), "no model"),
        (body("let x = 1 + call number()"), (2, 13), "no value here"),
        (body("let x = number()"), (2, 9), "no value here"),
        (body("when false { call shred() }"), (2, 19), "no trusted function"),
        (body("stop", "call shred()"), (3, 6), "no trusted function"),
        # terms
        (body("input x: int", "assert x != 1"), (3, 10), "can't stand here"),
        (body("input x: int", "assert x > 1"), (3, 10), "can't stand here"),
        (body("let x = 'a'"), (2, 9), "can't stand here"),
        (body("assert True"), (2, 8), "no value here"),
        (body("assert 1"), (2, 8), "a condition is a bool"),
        (body("let x = 1 + true"), (2, 9), "operands of one type"),
        (body("let x = 3/4"), (2, 9), "real numbers"),
        (body(r'let x = "\u{d800}"'), (2, 9), "surrogate"),
        (body(r'let x = "\u{10ffff}"'), (2, 9), "above U+2FF00"),
        (body("let x = [nan] == [nan]"), (2, 9), "depends on identity"),
        (body("let x = nan in [1.0]"), (2, 9), "depends on identity"),
        (body("let x = set([1])"), (2, 9), "can't be in a set"),
        (body("let x = set(1.0)"), (2, 9), "can't be in a set"),
        (body("let x = row UserRow(age = 1)"), (2, 9), "its columns, once each"),
        (body('let x = row UserRow(age = 1, active = true, email = 1)'), (2, 9), "is str, not int"),
        (body("let x = row Other(age = 1)"), (2, 9), "no row class Other"),
        # commands
        (body("if true { }"), (2, 1), "a name is expected"),
        (body("while true { }"), (2, 1), "begins no command"),
        (body("for x in [1] { }"), (2, 10), "counts from 0"),
        (body("for each x in 3 { }"), (2, 15), "over a list"),
        (body("for each x in [] { }"), (2, 15), "never runs"),
        (body("for i in 0..1.5 { }"), (2, 13), "up to an int"),
        (body("when true {"), (2, 12), "'}' is expected"),
        (body("}"), (2, 1), "closes nothing"),
        (body("let x = 1", "input y: int"), (3, 1), "before the first command"),
        (body("let x = 1", "guarantee anything"), (3, 1), "before the first command"),
        (body("input x: list<int>"), (2, 10), "bool, int, float or str"),
        # guarantees
        (body("guarantee nothing_at_all()"), (2, 11), "no contract of the layer"),
        (body("guarantee send()"), (2, 11), "no contract of the layer"),
        (body("guarantee tools.desk.trusted.effects.send()"), (2, 11), "no contract"),
        (body("input x: int", "guarantee at_most(x)"), (3, 19), "arguments are written out"),
        (body("guarantee at_most(1 + 1)"), (2, 21), "',' is expected"),
        (body('guarantee only("a")'), (2, 11), "takes a list"),
        (body("guarantee forall e in shred : true"), (2, 11), "not declared"),
        (body("guarantee forall e in send : e.cc == 1"), (2, 32), "can't be read here"),
        (body("input x: int", "guarantee (count e in send) <= x"), (3, 32), "is no field"),
        # sizes
        (body("when true {" * 10_000), (2, 715), "nested deeper than 64"),
        (body("let x = " + "(" * 10_000), (2, 73), "nested deeper than 64"),
        (body("let x = " + "not " * 10_000), (2, 265), "nested deeper than 64"),
        (body("guarantee only(" + "[" * 10_000), (2, 33), "nested deeper than 16"),
    ],
)  # fmt: skip
def test_what_is_outside_the_grammar_is_refused_with_its_place(
    source: str, place: tuple[int, int], says: str
) -> None:
    reason = refusal(source)
    assert reason.code == "commands.syntax"
    assert says in reason.message
    assert (reason.line, reason.column) == place


@pytest.mark.parametrize(
    ("source", "code"),
    [
        ("effect-ir v1\nprogram \"p\" target main\n", "program.descriptive"),
        ("# a comment before it\neffect-ir v1", "program.descriptive"),
        ('{"format": "lictor/effect-ir/v1"}', "program.descriptive"),
        (body("#" + "a" * 1_000_000), "limits.source"),
        (body("let x = \x00"), "source.hidden"),
        (body('let x = "\x00"'), "source.hidden"),
        (body("# \u202e is read from right to left"), "source.hidden"),
        ("\ufeff" + HEADER, "source.hidden"),
        (body('let x = "soft\u00adhyphen"'), "source.hidden"),
        (body("# \U000e0061 is a tag"), "source.hidden"),
        (body("let\u00a0x = 1"), "source.hidden"),
        (body("for i in 0..100000000 { assert true }"), "limits.iterations"),
        (body("input a0: str", *DOUBLED), "limits.parts"),
        (body(*(f"input a{n}: int" for n in range(101))), "limits.parameters"),
        (body(f"input {'a' * 257}: int"), "limits.name"),
        (body("x = call names()", "for each n in x { stop }"), "loop.stop"),
        (body("x = call names()", *(f"for each n{i} in x {{" for i in range(14)), "}" * 14), "limits.loops"),
    ],
)  # fmt: skip
def test_what_is_no_program_or_too_large_is_refused(source: str, code: str) -> None:
    assert refusal(source).code == code


def test_loops_in_loops_are_unrolled_so_far_and_no_further(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lictor_prove.python.machine.machine_state.MAX_STEPS", 1_000)
    loops = body("for i in 0..9999 { for j in 0..9999 { assert true } }")
    assert refusal(loops).code == "limits.steps"


def test_half_a_surrogate_pair_in_the_source_is_refused() -> None:
    assert refusal(body("# \ud800")).code == "source.encoding"


def test_another_target_than_main_is_refused() -> None:
    with pytest.raises(Rejected) as refused:
        lowered(read_commands(HEADER, layer=LAYER), name="p", target="other")
    assert refused.value.reasons[0].code == "target.unknown"


def test_the_nearest_spelling_is_told() -> None:
    assert "`not (a == b)`" in refusal(body("assert 1 != 2")).remedy
    assert "`b < a`" in refusal(body("assert 1 > 2")).remedy
    assert "`when condition" in refusal(body("if true { }")).remedy
    assert "x = call f(…)" in refusal(body("let x = call number()")).remedy
    assert "double quotes" in refusal(body("let x = 'a'")).remedy
    assert "Only the layer declares" in refusal(body("trusted shred() -> none")).remedy


def test_comments_and_lines_mean_nothing() -> None:
    plain = document('call send(addr = "a", msg = "# b")', "stop")
    other = document("# call pay(amount = 1)", "call send( # to", 'addr="a",', 'msg="# b") stop')
    effects = [
        line.partition(" at ")[0] for line in plain.splitlines() if line.startswith("effect c")
    ]
    assert effects == ['effect c1: send(addr = "a", msg = "# b")']
    assert effects == [
        line.partition(" at ")[0] for line in other.splitlines() if line.startswith("effect c")
    ]


def test_sibling_blocks_may_use_a_name_again_and_each_means_its_own() -> None:
    text = document(
        'when true { let x = "a" call send(addr = x, msg = "1") }',
        'for i in 0..2 { let x = str_of_int(i) call send(addr = x, msg = "2") }',
    )
    assert [line.split('"')[1] for line in text.splitlines() if line.startswith("effect c")] == [
        "a",
        "0",
        "1",
    ]


def test_every_operation_that_may_fail_is_an_obligation_where_it_is_needed() -> None:
    read = read_commands(
        body(
            "input x: int",
            "xs = call names()",
            'when 0 < x and 10 // x == 3 or xs[x] == "a" { stop }',
            "let f = fdiv(1.0, float_of_int(x))",
        ),
        layer=LAYER,
    )
    found = lowered(read, name="p").obligations
    assert {each.kind for each in found} == {ObligationKind.NO_ERROR}
    assert [each.text.partition("(")[2] for each in found] == [
        "ZeroDivisionError)",
        "IndexError)",
        "OverflowError)",
        "ZeroDivisionError)",
    ]
    division, index, *_ = found
    assert "x" in repr(division.guard)
    assert "10" in repr(index.guard)


def test_guarantees_are_stated_by_name_or_written_out() -> None:
    text = document(
        'guarantee only(["a", "b"])',
        "guarantee tools.desk.trusted.contracts.at_most(3)",
        "guarantee at_most(n = 4)",
        'guarantee comes_from(UserRow, "email")',
        'guarantee exactly(FilePath("notes/a.md"))',
        "guarantee nothing()",
        "guarantee (count e in send) <= 2",
        "guarantee never e in send after e in event Locked",
        "guarantee finally s in locked : not s.value",
        "guarantee all { no e in pay; anything }",
    )
    named = [line.split('"')[1] for line in text.splitlines() if line.startswith("guarantee")]
    assert named == [
        "only(['a', 'b'])",
        "at_most(3)",
        "at_most(n=4)",
        "comes_from(UserRow, 'email')",
        "exactly(FilePath('notes/a.md'))",
        "nothing()",
        "(count e in send) <= 2",
        "never e in send after e in event Locked",
        "finally s in locked : not s.value",
        "all {no e in pay; anything}",
    ]


def test_what_a_contract_is_called_is_what_it_says() -> None:
    proof = prove(
        body('guarantee forall e in send : e.addr == "a"', 'call send(addr = "b", msg = "c")'),
        name="p",
        layer=LAYER,
        language="commands",
    )
    assert proof.verdict is ProofVerdict.REFUTED
    assert proof.guarantees[0].name == 'forall e in send : e.addr == "a"'


def test_demands_and_promises_come_from_the_layer() -> None:
    text = document(
        "found = call users()",
        "assert len(found) <= 3",
        "call pay(amount = -1)",
        "call pay(amount = -1, dry_run = false)",
        'call lock(door = "front")',
    )
    assert "assume c1 : len(result(c1)) <= 3" in text
    assert "oblige precondition of c3" in text
    assert "oblige precondition of c2" not in text
    assert 'performs Locked(where = "front")' in text
    assert 'sets locked["front"] = true' in text
