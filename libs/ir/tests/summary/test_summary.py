"""Summaries of documents: what is told first, how, and that nobody is misled."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from lictor_ir.document import Atom, Document, Unknown
from lictor_ir.errors import DocumentError
from lictor_ir.goals import Strength
from lictor_ir.spelling.literals import spell_int
from lictor_ir.summary import LEAST_LIMIT, LEAST_LINES, LIMIT, display, summarize
from lictor_ir.terms import const
from lictor_ir.text import read
from lictor_ir.types import INT

HEAD = 'effect-ir v1\nprogram "p" target main\n'
OPENINGS = (
    "- ",
    "PROGRAM ",
    "INPUTS",
    "DOES NOTHING",
    "NOTHING IS GUARANTEED",
    "NO GUARANTEE ",
    "LIMITED ONLY",
    "SOME GUARANTEE",
    "GUARANTEES",
    "MAY DO",
    "HOW OFTEN",
    "STOPS UNLESS",
    "RELIES ON",
    "THE REST",
    "IR ",
)


def test_what_a_reader_does_not_mind_does_not_change_the_content() -> None:
    source = f"""{HEAD}trusted f(a: int) -> none
    effect c1: f(a = 1)
    guarantee "g()" : (count e in f) <= 1"""
    document = read(source)
    (atom,), (stated,) = document.atoms, document.guarantees
    other = replace(
        document,
        source_hash="sha256:" + "0" * 64,
        atoms=(replace(atom, span=None),),
        guarantees=(replace(stated, description="Only ever once."),),
    )
    assert summarize(document).content() == summarize(other).content()
    assert summarize(document).text() != summarize(other).text()


# -- limits ---------------------------------------------------------------------------------------


def large(width: int, calls: int) -> Document:
    """Everything at once, with long names."""

    def name(what: str, at: int) -> str:
        return f"{what}{at}_" + what * (width // len(what))

    kinds = range(40)
    parts = [
        HEAD.replace('"p" target main', f'"{"p" * width}" target {name("target", 0)}'),
        f'layer "sha256:{"0" * 64}"\n',
        *(f"trusted {name('effect', at)}({name('arg', at)}: str) -> none\n" for at in kinds),
        *(f"event {name('event', at)}({name('field', at)}: str)\n" for at in kinds),
        *(f"input {name('input', at)}: str\n" for at in kinds),
        *(
            f"effect {name('call', at)}: {name('effect', at % 40)}({name('arg', at % 40)} = {name('input', 1)})\n"
            f"    performs {name('event', at % 40)}({name('field', at % 40)} = {name('input', 1)})\n"
            for at in range(calls)
        ),
        *(
            f"oblige assertion of {name('call', at)} : {name('input', 1)} == {name('input', 2)}\n"
            f"assume {name('call', at)} : {name('input', 1)} == {name('input', 2)}\n"
            for at in range(calls)
        ),
        *(f'guarantee "{"g" * width}" : no e in {name("effect", at)}\n' for at in range(10)),
        *(
            f'guarantee "g" : no e in {name("effect", at)} where (e.{name("arg", at)} == "{"v" * width}")\n'
            for at in range(10, 20)
        ),
        *(f'guarantee "g" : (count e in {name("effect", at)}) == 1\n' for at in range(20, 30)),
    ]
    return read("".join(parts))


@pytest.mark.parametrize("width", [1, 30, 200])
def test_large_documents_keep_the_least_limits(width: int) -> None:
    summary = summarize(large(width, 120))
    least = summary.text(LEAST_LIMIT, lines=LEAST_LINES)
    assert len(least) <= LEAST_LIMIT
    assert least.count("\n") <= LEAST_LINES
    assert "120 calls" in least
    assert len(summary.text()) <= LIMIT
    with pytest.raises(ValueError, match="needs"):
        summary.text(LEAST_LIMIT - 1)
    with pytest.raises(ValueError, match="needs"):
        summary.text(lines=LEAST_LINES - 1)


def test_what_has_no_room_is_told_in_numbers() -> None:
    calls = "".join(f'effect c{at}: send(addr = "{at}")\n' for at in range(100))
    text = summarize(read(f"{HEAD}trusted send(addr: str) -> none\n{calls}")).text()
    (rest,) = re.findall(r"^- (\d+) more calls: (\d+) of send \(sha256 [0-9a-f]{16}\)", text, re.M)
    shown_calls = len(re.findall(r"^- c\d+: send", text, re.M))
    assert int(rest[0]) == int(rest[1]) == 100 - shown_calls


def test_a_deep_and_shared_term_is_told_quickly() -> None:
    lets = "".join(f"let ${at + 1} = ${at} + ${at} * x\n" for at in range(1, 3_000))
    source = f"{HEAD}trusted f(a: int) -> none\ninput x: int\nlet $1 = x + 1\n{lets}"
    summary = summarize(read(f"{source}effect c1: f(a = $3000)\n"))
    assert "a long formula of input x; sha256" in summary.text()


def test_numbers_of_any_size_are_told() -> None:
    source = f"{HEAD}trusted f(a: int) -> none\neffect c1: f(a = %s)\n"
    numbers = [7**6_000, 7**6_000 + 1, -(7**6_000), 10**30, 10**30 + 1]
    told = {summarize(read(source % spell_int(each))).may_do[0].text for each in numbers}
    assert len(told) == len(numbers)
    assert max(map(len, told)) < 100


# -- nobody is misled ------------------------------------------------------------------------------

EVIL = 'x"\n- there is no call of pay\nGUARANTEES, if proved:\n\r\x1b[2J\u202e`) -- '


def test_text_of_an_agent_can_not_pass_for_lines_of_the_summary() -> None:
    document = read(
        f"""{HEAD}trusted pay(to: str) -> none
        effect c1: pay(to = "a")
        oblige assertion of c1 : true
        guarantee "g" : no e in pay where (e.to == "b")"""
    )
    (atom,), (stated,) = document.atoms, document.guarantees
    faked = replace(
        document,
        program=EVIL,
        effects=tuple(replace(each, module=EVIL, markers=(EVIL,)) for each in document.effects),
        atoms=(replace(atom, arguments={"to": const(EVIL)}),),
        obligations=(replace(document.obligations[0], text=EVIL),),
        guarantees=(replace(stated, name=EVIL, description=EVIL, required_by=EVIL),),
    )
    honest, told = summarize(document).text(), summarize(faked).text()
    assert told.count("\n") == honest.count("\n")
    assert told.isascii()
    assert "\n- there is no call of pay\n" not in told
    for line in told.splitlines():
        assert line.startswith(OPENINGS)
        assert line.isprintable()


def test_names_that_are_words_of_ours_stand_between_backquotes() -> None:
    assert display.name("and") == "`and`"
    assert display.name("\u0430nd") == "`\\u{430}nd`"
    assert display.name("addr") == "addr"


# -- what no guarantee limits ----------------------------------------------------------------------


def first_lines(source: str) -> tuple[str, ...]:
    return summarize(read(HEAD + source)).unconstrained


MAIL = """trusted send(addr: str, msg: str) -> none
trusted pay(amount: int) -> none
event Write(path: str) is Touch
fluent locked[str]: bool = true
input t: str
input x: int
"""
FREE = "NO GUARANTEE LIMITS: calls of send; calls of pay"
UNREAD = "NO GUARANTEE READS these arguments, which are not written out: "
SEND_PAY = "effect c1: send(addr = t, msg = t)\neffect c2: pay(amount = x)\n"


@pytest.mark.parametrize(
    ("source", "told"),
    [
        (SEND_PAY, ("NOTHING IS GUARANTEED about what it does.", FREE)),
        (
            SEND_PAY + 'guarantee "g" : anything',
            ("NOTHING IS GUARANTEED about what it does.", FREE),
        ),
        (SEND_PAY + 'guarantee "g" : (count e in send | pay) <= 1', (f"{UNREAD}send.addr, send.msg, pay.amount",)),
        (SEND_PAY + 'guarantee "g" : (count e in send | pay) >= 1', (FREE,)),
        (SEND_PAY + 'guarantee "g" : forall e in send | pay : true', (FREE,)),
        (
            SEND_PAY + 'guarantee "g" : first e in send before e in pay',
            ("NO GUARANTEE LIMITS: calls of send", f"{UNREAD}pay.amount"),
        ),
        (
            SEND_PAY
            + 'guarantee "g" : no e in send where (e.addr == "eve" or e.msg == "")\n'
            + 'guarantee "h" : no e in pay',
            ("LIMITED ONLY IN PART: calls of send",),
        ),
        (
            SEND_PAY + 'guarantee "g" : all {forall e in send : e.addr == e.msg; forall e in pay : e.amount < 5}',
            ("SOME GUARANTEE LIMITS every kind of call that it makes.",),
        ),
        (
            'effect c1: send(addr = t, msg = "hi")\n    performs Write(path = t)\n    sets locked["a"] = false\n'
            'guarantee "g" : forall e in event Touch : e.path == "a"',
            ("NO GUARANTEE LIMITS: state locked",),
        ),
        (
            'effect c1: send(addr = t, msg = "hi")\n    performs Write(path = t)\n    sets locked["a"] = false\n'
            'guarantee "g" : forall e in send : e.addr == "a"\nguarantee "h" : finally s in locked["a"] : s.value',
            ("NO GUARANTEE LIMITS: events Write", "LIMITED ONLY IN PART: state locked"),
        ),
    ],
)  # fmt: skip
def test_what_no_guarantee_limits_is_told_first(source: str, told: tuple[str, ...]) -> None:
    assert first_lines(MAIL + source) == told
    text = summarize(read(HEAD + MAIL + source)).text().splitlines()
    assert tuple(text[2 : 2 + len(told)]) == told


@pytest.mark.parametrize(
    ("calls", "told"),
    [
        ("effect c1: f()", "once"),
        ("effect c1: f() when x", "at most once"),
        ("effect c1: f()\neffect c2: f() when x", "at most 2 times, at least once"),
        ("effect c1: f() for i in 3", "3 times"),
        ("effect c1: f() for i in 3, j in 4 when x", "at most 12 times"),
        ("effect c1: f() for i in n", "any number of times"),
        ("effect c1: f() for i in n\neffect c2: f()", "once or more"),
        ("effect c1: f() for i in 0", "never"),
        ("effect c1: f() for i in -1", "never"),
        ("effect c1: f() for i in 0, j in n", "never"),
        ("effect c1: f() when false", "never"),
        ("effect c1: f() for i in [1, 2]", "2 times"),
    ],
)
def test_how_often_is_told_from_the_structure(calls: str, told: str) -> None:
    source = f"{HEAD}trusted f() -> none\ninput x: bool\ninput n: int\n{calls}\n"
    (often,) = summarize(read(source)).how_often
    assert often.text == f"f: {told}"


@pytest.mark.parametrize(
    ("contract", "limit"),
    [
        ("(count e in f) <= 5", "at most 5 times"),
        ("(count e in f) < 2", "at most once"),
        ("(count e in f | h) <= 5", "at most 5 times"),
        ("no e in f", "never"),
        ("(count e in f) == 3", "3 times if the run completes"),
        ("(count e in f | h) == 3", "at most 3 times"),
        ("(count e in f | event Told) == 3", "at most 3 times"),
        # What limits only some of the calls, or nothing at all, leaves the loops to tell.
        ("(count e in f where (1 < e.a)) <= 5", None),
        ("(count e in f) >= 1", None),
        ("(count e in h) <= 5", None),
    ],
)
def test_how_often_does_not_contradict_a_guarantee(contract: str, limit: str | None) -> None:
    document = read(
        f"{HEAD}trusted f(a: int) -> none\ntrusted h(a: int) -> none\nevent Told(a: int)\ninput n: int\n"
        f'effect c1: f(a = 1) for i in n\nguarantee "g" : {contract}\n'
    )
    loops = "f: any number of times"
    (stated,) = summarize(document).how_often
    (proved,) = summarize(document, [[Strength.EVERY_PREFIX]]).how_often
    assert stated.text == (f'{loops}; if "g" is proved, {limit}' if limit else loops)
    assert proved.text == (f'f: {limit}, by "g"' if limit else loops)


def test_what_is_proved_is_told_so_and_for_the_runs_that_were_found() -> None:
    document = read(
        f"{HEAD}trusted pay(amount: int) -> none\neffect c1: pay(amount = 2)\n"
        'guarantee "g" : all { anything; (sum e in pay : e.amount) <= 5; no e in pay where (e.amount < 0) }\n'
    )
    by_itself = summarize(document).text()
    assert "GUARANTEES, if proved, for runs that complete:\n- the sum" in by_itself
    # The sum only grows, so a proof finds that it holds of every beginning of a run too.
    held = [[Strength.EVERY_PREFIX, Strength.EVERY_PREFIX]]
    told = summarize(document, held).text()
    assert "if proved" not in told
    assert "runs that complete" not in told
    assert "GUARANTEES, proved, not rehearsed, however early the run ends:\n- nothing: " in told
    rehearsed = replace(summarize(document, held), is_rehearsed=True).text()
    assert "GUARANTEES, proved, however early the run ends:\n- nothing: " in rehearsed


def test_an_unknown_that_may_raise_ends_a_run_in_which_no_trusted_call_fails() -> None:
    document = read(
        f"{HEAD}trusted pay() -> none\ntrusted log() -> none\neffect c1: pay()\neffect c2: log()\n"
        'guarantee "logged" : (count e in log) >= 1\n'
    )
    raising = replace(document, unknowns=(Unknown("u1", INT, "a sort", may_raise=True),))
    told = summarize(raising, [[Strength.ON_COMPLETION]]).text()
    assert "HOW OFTEN, or less if the run ends early:" in told
    assert (
        "proved, not rehearsed, for runs that complete:\n- there is at least 1 call of log" in told
    )
    assert "trusted call fails" not in told


# -- sentences -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("contract", "told"),
    [
        ("anything", "nothing: this guarantee promises nothing"),
        ("all {}", "nothing: this guarantee promises nothing"),
        ('forall e in send : e.addr == "bob"', 'every call of send, if any: its addr equals "bob"'),
        ("no e in send", "there is no call of send"),
        ("no e in send | pay", "there is no call of send or pay"),
        ("no e in send | event Touch", "there is no call of send or event Touch"),
        ("distinct e in send : e.addr", "no two calls of send are alike in: its addr"),
        ("(count e in send) <= 1", "there is at most 1 call of send"),
        ("(count e in send) < 2", "there are less than 2 calls of send"),
        (
            "(sum e in pay where (e.amount < 5) : e.amount) >= 7",
            "the sum of its amount over all calls of pay [only where its amount is less than 5]"
            " (0 if none) is at least 7",
        ),
        (
            "shared e in send and e in send : e.msg",
            "some call of send and some call of send are alike in: its msg",
        ),
        (
            'finally s in locked["a"] : not s.value',
            'at the end, for key "a" of state locked (true where nothing set it): the value is false',
        ),
        (
            "first e in pay before e in send",
            "before every call of send, if any, there is a call of pay",
        ),
        ("never e in pay after e in send", "after a call of send, there is no call of pay"),
        (
            "forall e in send : len(e.addr) <= 5 and not contains(e.msg, e.addr)",
            "every call of send, if any: (length of its addr is at most 5)"
            " and (its msg does not contain its addr)",
        ),
    ],
)
def test_contracts_are_told_as_they_are(contract: str, told: str) -> None:
    (promise,) = summarize(read(f'{HEAD}{MAIL}guarantee "g" : {contract}')).guaranteed
    assert promise.text == f'{told} -- stated as "g"'


def test_an_invalid_document_is_refused() -> None:
    document = replace(read(f"{HEAD}trusted f() -> none"), atoms=(Atom("c1", "g", {}),))
    with pytest.raises(DocumentError, match="g is not declared"):
        summarize(document)
