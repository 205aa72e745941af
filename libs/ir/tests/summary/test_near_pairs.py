r"""Documents that a reader could take for each other never have the same summary, whatever their fingerprints say.

Each pair differs in one thing.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from itertools import combinations

import pytest

from lictor_ir.json.document import document_hash
from lictor_ir.summary import summarize
from lictor_ir.text import read

WORLD = """effect-ir v1
program "p.py" target main
schema User(email: str, name: str, age: int)
schema Admin(email: str, name: str, age: int)
enum Colour(RED, GREEN)
trusted users(limit: int) -> list<row<User>>
trusted admins(limit: int) -> list<row<Admin>>
trusted find(what: str) -> list<any>
trusted count() -> int
trusted send(addr: str, msg: str) -> none
trusted send2(addr: str, msg: str) -> none
trusted pay(amount: int, to: str) -> none
trusted weigh(kilos: float, share: real) -> none
trusted note(what: any) -> none
event Write(path: str, size: int) is Touch
event Read(path: str) is Touch
event Peek(path: str) is Touch
fluent locked[str]: bool = true
fluent opened[str]: bool = true
input x: int
input y: int
input t: str
input flag: bool
"""
CALLS = """effect c1: users(limit = 10)
effect c2: send(addr = result(c1)[i].email, msg = t) for i in result(c1)
effect c3: pay(amount = x, to = "bob")
"""


def guarantee(contract: str, name: str = "g()") -> str:
    return f'{CALLS}guarantee "{name}" : {contract}\n'


def sent(addr: str = '"bob"', rest: str = "") -> str:
    return f"effect c1: send(addr = {addr}, msg = t){rest}\n"


def both(*parts: str) -> str:
    return guarantee("all {" + "; ".join(parts) + "}")


PAIRS: dict[str, tuple[str, str]] = {
    # numbers and comparisons
    "at most, less": (
        guarantee("(sum e in pay : e.amount) <= 5"),
        guarantee("(sum e in pay : e.amount) < 5"),
    ),
    "at least, more": (
        guarantee("(sum e in pay : e.amount) >= 5"),
        guarantee("(sum e in pay : e.amount) > 5"),
    ),
    "at most, at least": (
        guarantee("(count e in pay) <= 5"),
        guarantee("(count e in pay) >= 5"),
    ),
    "at most, exactly": (guarantee("(count e in pay) <= 5"), guarantee("(count e in pay) == 5")),
    "once, twice": (guarantee("(count e in pay) <= 1"), guarantee("(count e in pay) <= 2")),
    "once, less than two": (guarantee("(count e in pay) <= 1"), guarantee("(count e in pay) < 2")),
    "not at all, once": (guarantee("(count e in pay) <= 0"), guarantee("(count e in pay) <= 1")),
    "5 and 50": (
        guarantee("(sum e in pay : e.amount) <= 5"),
        guarantee("(sum e in pay : e.amount) <= 50"),
    ),
    "5 and -5": (
        guarantee("(sum e in pay : e.amount) <= 5"),
        guarantee("(sum e in pay : e.amount) <= -5"),
    ),
    "sum and count": (
        guarantee("(sum e in pay : e.amount) <= 5"),
        guarantee("(count e in pay) <= 5"),
    ),
    "sum of another number": (
        guarantee("(sum e in pay : e.amount) <= 5"),
        guarantee("(sum e in pay : len(e.to)) <= 5"),
    ),
    "sum of the double": (
        guarantee("(sum e in pay : e.amount) <= 5"),
        guarantee("(sum e in pay : 2 * e.amount) <= 5"),
    ),
    "less in a predicate": (
        guarantee("forall e in pay : e.amount <= 5"),
        guarantee("forall e in pay : e.amount < 5"),
    ),
    "sides of a comparison": (
        guarantee("forall e in pay : e.amount <= 5"),
        guarantee("forall e in pay : 5 <= e.amount"),
    ),
    "strictly, the other way": (
        guarantee("forall e in pay : 5 < e.amount"),
        guarantee("forall e in pay : 5 <= e.amount"),
    ),
    "strings sort": (
        guarantee('forall e in send : e.addr < "bob"'),
        guarantee('forall e in send : e.addr <= "bob"'),
    ),
    "a digit more": (
        guarantee(f"forall e in pay : e.amount <= {10**60}"),
        guarantee(f"forall e in pay : e.amount <= {10**60 + 1}"),
    ),
    # who and what
    "bob and bob2": (
        guarantee('forall e in send : e.addr == "bob"'),
        guarantee('forall e in send : e.addr == "bob2"'),
    ),
    "bob and bob2, in a list": (
        guarantee('forall e in send : e.addr in ["bob", "eve"]'),
        guarantee('forall e in send : e.addr in ["bob2", "eve"]'),
    ),
    "one more in a list": (
        guarantee('forall e in send : e.addr in ["bob"]'),
        guarantee('forall e in send : e.addr in ["bob", "eve"]'),
    ),
    "the last of many": (
        guarantee(f"forall e in send : e.addr in {[*map(str, range(200)), 'bob']}").replace("'", '"'),
        guarantee(f"forall e in send : e.addr in {[*map(str, range(200)), 'eve']}").replace("'", '"'),
    ),
    "all and none": (guarantee("forall e in send : false"), guarantee("forall e in send : true")),
    "all and empty": (
        guarantee('forall e in send : e.addr == "bob"'),
        guarantee('no e in send where (e.addr == "bob")'),
    ),
    "all and some": (
        guarantee('forall e in send : e.addr == "bob"'),
        guarantee('(count e in send where (e.addr == "bob")) >= 1'),
    ),
    "and, or": (
        guarantee('forall e in send : e.addr == "bob" and e.msg == "hi"'),
        guarantee('forall e in send : e.addr == "bob" or e.msg == "hi"'),
    ),
    "and over or": (
        guarantee("forall e in pay : e.amount < 1 and (e.amount < 2 or e.amount < 3)"),
        guarantee("forall e in pay : (e.amount < 1 and e.amount < 2) or e.amount < 3"),
    ),
    "another field": (
        guarantee('forall e in send : e.addr == "bob"'),
        guarantee('forall e in send : e.msg == "bob"'),
    ),
    "another effect": (guarantee("no e in send"), guarantee("no e in send2")),
    "two effects": (guarantee("no e in send"), guarantee("no e in send | send2")),
    "an effect and an event": (guarantee("no e in send"), guarantee("no e in event Write")),
    "an event and its class": (guarantee("no e in event Write"), guarantee("no e in event Touch")),
    "where": (guarantee("no e in pay"), guarantee("no e in pay where (e.amount < 5)")),
    "where not": (
        guarantee("no e in pay where (e.amount < 5)"),
        guarantee("no e in pay where (not (e.amount < 5))"),
    ),
    "where, of equality": (
        guarantee('(count e in pay where (e.to == "bob")) <= 1'),
        guarantee('(count e in pay where (not e.to == "bob")) <= 1'),
    ),
    "in and not in": (
        guarantee('forall e in send : e.addr in ["bob"]'),
        guarantee('forall e in send : not e.addr in ["bob"]'),
    ),
    "begins and ends": (
        guarantee('forall e in send : startswith(e.addr, "bob")'),
        guarantee('forall e in send : endswith(e.addr, "bob")'),
    ),
    "contains and equals": (
        guarantee('forall e in send : contains(e.addr, "bob")'),
        guarantee('forall e in send : e.addr == "bob"'),
    ),
    "who contains whom": (
        guarantee("forall e in send : contains(e.addr, e.msg)"),
        guarantee("forall e in send : contains(e.msg, e.addr)"),
    ),
    "a pattern": (
        guarantee('forall e in send : e.addr matches seq(rep("a".."z", 1), "@x")'),
        guarantee('forall e in send : e.addr matches seq(rep("a".."z", 0), "@x")'),
    ),
    "distinct by another field": (
        guarantee("distinct e in send : e.addr"),
        guarantee("distinct e in send : e.msg"),
    ),
    "distinct and shared": (
        guarantee("distinct e in send : e.addr"),
        guarantee("shared e in send and e in send : e.addr"),
    ),
    "shared by others": (
        guarantee("shared e in send and e in send2 : e.addr"),
        guarantee("shared e in send and e in send : e.addr"),
    ),
    # order and ends
    "order": (guarantee("first e in send before e in pay"), guarantee("first e in pay before e in send")),
    "never after, the other way": (
        guarantee("never e in send after e in pay"),
        guarantee("never e in pay after e in send"),
    ),
    "before and never after": (
        guarantee("first e in send before e in pay"),
        guarantee("never e in send after e in pay"),
    ),
    "before with a key": (
        guarantee("first e in send before e in pay"),
        guarantee("first e in send by e.addr before e in pay by e.to"),
    ),
    "keys of before": (
        guarantee("first e in send by e.addr before e in pay by e.to"),
        guarantee("first e in send by e.msg before e in pay by e.to"),
    ),
    "at the end, for a key": (
        guarantee("finally s in locked : s.value"),
        guarantee('finally s in locked["door"] : s.value'),
    ),
    "at the end, for another key": (
        guarantee('finally s in locked["door"] : s.value'),
        guarantee('finally s in locked["gate"] : s.value'),
    ),
    "at the end, not": (
        guarantee("finally s in locked : s.value"),
        guarantee("finally s in locked : not s.value"),
    ),
    "another state": (
        guarantee("finally s in locked : s.value"),
        guarantee("finally s in opened : s.value"),
    ),
    "one part less": (
        both("no e in send2", "(count e in pay) <= 1"),
        guarantee("no e in send2"),
    ),
    "nothing promised": (guarantee("anything"), guarantee("no e in send2")),
    "promised by whom": (
        f'{CALLS}guarantee "g" : no e in send2\n',
        f'{CALLS}guarantee "g" required by "mail" : no e in send2\n',
    ),
    # origin
    "another column": (
        guarantee("forall e in send : from(e.addr: User.email)"),
        guarantee("forall e in send : from(e.addr: User.name)"),
    ),
    "another table": (
        guarantee("forall e in send : from(e.addr: User.email)"),
        guarantee("forall e in send : from(e.addr: Admin.email)"),
    ),
    "from and not from": (
        guarantee("forall e in send : from(e.addr: User.email)"),
        guarantee("forall e in send : not_from(e.addr: User.email)"),
    ),
    "the same row and any": (
        guarantee("forall e in send : from(e.addr: User.email, e.msg: User.name)"),
        guarantee("forall e in send : same_row(e.addr: User.email, e.msg: User.name)"),
    ),
    "columns of a call": (
        f"{CALLS}effect c4: send(addr = result(c1)[0].email, msg = t)\n",
        f"{CALLS}effect c4: send(addr = result(c1)[0].name, msg = t)\n",
    ),
    "rows of a call": (
        f"{CALLS}effect c4: send(addr = result(c1)[0].email, msg = t)\n",
        f"{CALLS}effect c4: send(addr = result(c1)[1].email, msg = t)\n",
    ),
    "rows of another call": (
        "effect c1: users(limit = 1)\neffect c2: users(limit = 1)\n"
        "effect c3: send(addr = result(c1)[0].email, msg = t)\n",
        "effect c1: users(limit = 1)\neffect c2: users(limit = 1)\n"
        "effect c3: send(addr = result(c2)[0].email, msg = t)\n",
    ),
    "rows of another list, by the same index": (
        "effect c1: users(limit = 1)\neffect c2: users(limit = 1)\n"
        "effect c3: send(addr = result(c1)[i].email, msg = t) for i in result(c1)\n",
        "effect c1: users(limit = 1)\neffect c2: users(limit = 1)\n"
        "effect c3: send(addr = result(c2)[i].email, msg = t) for i in result(c1)\n",
    ),
    "results of other rounds": (
        "effect c1: count() for i in 3\neffect c2: pay(amount = result(c1, 0))\n",
        "effect c1: count() for i in 3\neffect c2: pay(amount = result(c1, 1))\n",
    ),
    "read as rows, or as they come": (
        'effect c1: find(what = "a")\neffect c2: note(what = (result(c1) as list<row<User>>))\n',
        'effect c1: find(what = "a")\neffect c2: note(what = result(c1))\n',
    ),
    "read as rows of another table": (
        'effect c1: find(what = "a")\n'
        "effect c2: send(addr = (result(c1) as list<row<User>>)[0].email, msg = t)\n",
        'effect c1: find(what = "a")\n'
        "effect c2: send(addr = (result(c1) as list<row<Admin>>)[0].email, msg = t)\n",
    ),
    # calls
    "a guard": (sent(rest=" when flag"), sent()),
    "a guard negated": (sent(rest=" when flag"), sent(rest=" when not flag")),
    "a comparison negated": (sent(rest=" when x < 5"), sent(rest=" when not (x < 5)")),
    "equality negated": (sent(rest=" when x == 5"), sent(rest=" when not x == 5")),
    "another input": (sent(rest=" when x < 5"), sent(rest=" when y < 5")),
    "written out or given": (sent('"t"'), sent("t")),
    "once and in a loop": (sent(), sent(rest=" for i in 3")),
    "rounds of a loop": (sent(rest=" for i in 3"), sent(rest=" for i in x")),
    "one loop or two": (
        sent(rest=" for i in 3") + "effect c2: pay(amount = 1) for i in 3\n",
        sent(rest=" for i in 3") + "effect c2: pay(amount = 1) for j in 3\n",
    ),
    "a loop in a loop": (
        sent(rest=" for i in 3, j in 4"),
        sent(rest=" for i in 4, j in 3"),
    ),
    "swapped calls": (
        "effect c1: count()\neffect c2: send(addr = t, msg = t)\n",
        "effect c2: send(addr = t, msg = t)\neffect c1: count()\n",
    ),
    "swapped arguments": (
        'effect c1: send(addr = "a", msg = "b")\n',
        'effect c1: send(addr = "b", msg = "a")\n',
    ),
    "an argument left out": (
        'effect c1: send(addr = "a", msg = "")\n',
        'effect c1: send(addr = "a")\n',
    ),
    "a call twice": (sent(), sent() + 'effect c2: send(addr = "bob", msg = t)\n'),
    "an event": (sent(), sent(rest='\n    performs Write(path = "a")')),
    "another event": (
        sent(rest='\n    performs Read(path = "a")'),
        sent(rest='\n    performs Write(path = "a")'),
    ),
    "events of one kind": (
        sent(rest='\n    performs Read(path = "a")') + 'guarantee "g" : (count e in event Touch) <= 1\n',
        sent(rest='\n    performs Peek(path = "a")') + 'guarantee "g" : (count e in event Touch) <= 1\n',
    ),
    "fields of an event": (
        sent(rest='\n    performs Read(path = "a")'),
        sent(rest='\n    performs Read(path = "b")'),
    ),
    "what is set": (
        sent(rest='\n    sets locked["door"] = false'),
        sent(rest='\n    sets locked["door"] = true'),
    ),
    "where it is set": (
        sent(rest='\n    sets locked["door"] = false'),
        sent(rest='\n    sets locked["gate"] = false'),
    ),
    "alternatives": (
        sent('(if flag then "a" else "b")'),
        sent('(if flag then "b" else "a")'),
    ),
    "minus, the other way": (
        "effect c1: pay(amount = x - y)\n",
        "effect c1: pay(amount = y - x)\n",
    ),
    "plus and times": ("effect c1: pay(amount = x + y)\n", "effect c1: pay(amount = x * y)\n"),
    "groups of minus": (
        "effect c1: pay(amount = x - (y - 1))\n",
        "effect c1: pay(amount = (x - y) - 1)\n",
    ),
    "the order of a text": (sent("concat(t, \"a\")"), sent("concat(\"a\", t)")),
    "lists and sets": ("effect c1: note(what = [1, 2])\n", "effect c1: note(what = set(1, 2))\n"),
    "lists and tuples": (
        "effect c1: note(what = [1, 2])\n",
        "effect c1: note(what = tuple(1, 2))\n",
    ),
    "a list in a list": ("effect c1: note(what = [1])\n", "effect c1: note(what = [[1]])\n"),
    # scalars that look alike
    '"1" and 1': ('effect c1: note(what = "1")\n', "effect c1: note(what = 1)\n"),
    "true and 1": ("effect c1: note(what = true)\n", "effect c1: note(what = 1)\n"),
    '"true" and true': ('effect c1: note(what = "true")\n', "effect c1: note(what = true)\n"),
    "none and false": ("effect c1: note(what = none)\n", "effect c1: note(what = false)\n"),
    "1 and 1.0": ("effect c1: note(what = 1)\n", "effect c1: note(what = 1.0)\n"),
    "1.0 and 1/1": ("effect c1: note(what = 1.0)\n", "effect c1: note(what = 1/1)\n"),
    "0.0 and -0.0": ("effect c1: weigh(kilos = 0.0)\n", "effect c1: weigh(kilos = -0.0)\n"),
    "nan and inf": ("effect c1: weigh(kilos = nan)\n", "effect c1: weigh(kilos = inf)\n"),
    '"nan" and nan': ('effect c1: note(what = "nan")\n', "effect c1: note(what = nan)\n"),
    "floats next to each other": (
        "effect c1: weigh(kilos = 0.1)\n",
        "effect c1: weigh(kilos = 0.10000000000000002)\n",
    ),
    "members": (
        "effect c1: note(what = Colour::RED)\n",
        "effect c1: note(what = Colour::GREEN)\n",
    ),
    # strings that look alike
    "a space at the end": (sent('"bob"'), sent('"bob "')),
    "two spaces": (sent('"bob smith"'), sent('"bob  smith"')),
    "a no-break space": (sent('"bob smith"'), sent('"bob\\u{a0}smith"')),
    "empty and a space": (sent('""'), sent('" "')),
    "empty and nothing": ('effect c1: note(what = "")\n', "effect c1: note()\n"),
    "a Cyrillic letter": (sent('"bob"'), sent('"b\\u{43e}b"')),
    "an accent of its own": (sent('"caf\\u{e9}"'), sent('"cafe\\u{301}"')),
    "a joiner inside": (sent('"bob"'), sent('"bo\\u{200d}b"')),
    "turned around": (sent('"bob"'), sent('"\\u{202e}bob"')),
    "an escape and its spelling": (sent('"\\u{200b}"'), sent('"\\\\u{200b}"')),
    "a line break and its spelling": (sent('"a\\nb"'), sent('"a\\\\nb"')),
    "a quote that ends too early": (sent('"a\\", msg = \\"b"'), sent('"a"')),
    "the middle of a long string": (sent(f'"{"a" * 200}"'), sent(f'"{"a" * 100}b{"a" * 99}"')),
    "long strings of other lengths": (sent(f'"{"a" * 200}"'), sent(f'"{"a" * 201}"')),
    # what it rests on
    "a promise": (
        f"{CALLS}assume c1 : len(result(c1)) <= 10\n",
        f"{CALLS}assume c1 : len(result(c1)) < 10\n",
    ),
    "no promise": (f"{CALLS}assume c1 : len(result(c1)) <= 10\n", CALLS),
    "a demand": (
        f"{CALLS}oblige precondition of c3 : 0 < x\n",
        f"{CALLS}oblige precondition of c3 : 0 <= x\n",
    ),
    "a demand of another call": (
        f"{CALLS}oblige precondition of c3 : flag\n",
        f"{CALLS}oblige precondition of c1 : flag\n",
    ),
    "kinds of demands": (
        f"{CALLS}oblige no_error of c3 : flag\n",
        f"{CALLS}oblige assertion of c3 : flag\n",
    ),
    "a demand with a condition": (
        f"{CALLS}oblige assertion : 0 < x\n",
        f"{CALLS}oblige assertion when flag : 0 < x\n",
    ),
    # many things
    "the last of many calls": (
        "".join(f'effect c{n}: send(addr = "{n}", msg = t)\n' for n in range(300))
        + "effect d: send(addr = t, msg = t)\n",
        "".join(f'effect c{n}: send(addr = "{n}", msg = t)\n' for n in range(300))
        + 'effect d: send(addr = t, msg = "s")\n',
    ),
    "the last of many guarantees": (
        CALLS
        + "".join(f'guarantee "g{n}" : (count e in pay) <= {n}\n' for n in range(60))
        + 'guarantee "z" : no e in send\n',
        CALLS
        + "".join(f'guarantee "g{n}" : (count e in pay) <= {n}\n' for n in range(60))
        + 'guarantee "z" : no e in send2\n',
    ),
    "deep inside": (
        f"effect c1: pay(amount = {'x + 2 * (' * 15}x{')' * 15})\n",
        f"effect c1: pay(amount = {'x + 2 * (' * 15}y{')' * 15})\n",
    ),
    "a number deep inside": (
        f"effect c1: pay(amount = {'x + 2 * (' * 15}x * 3{')' * 15})\n",
        f"effect c1: pay(amount = {'x + 2 * (' * 15}x * 4{')' * 15})\n",
    ),
}  # fmt: skip

DECLARED: dict[str, tuple[str, str, str]] = {
    "markers": ("trusted ship() -> none", ' marked "net"', ' marked "net", "money"'),
    "no marker": ("trusted ship() -> none", "", ' marked "net"'),
    "a module": ("trusted ship() -> none", ' in "tools.mail"', ' in "tools.mai1"'),
}


@pytest.mark.parametrize("name", PAIRS)
def test_near_documents_are_told_apart(name: str) -> None:
    one, other = (summarize(read(WORLD + part)) for part in PAIRS[name])
    assert one.content() != other.content()
    assert one.content(None, lines=None) != other.content(None, lines=None)


@pytest.mark.parametrize("name", DECLARED)
def test_calls_that_are_declared_otherwise_are_told_apart(name: str) -> None:
    declared, *endings = DECLARED[name]
    one, other = (
        summarize(read(f"{WORLD}{declared}{ending}\neffect c1: ship()\n")) for ending in endings
    )
    assert one.content() != other.content()


def test_programs_layers_and_targets_are_told_apart() -> None:
    heads = [
        'program "a" target main\n',
        'program "a " target main\n',
        'program "b" target main\n',
        'program "a" target other\n',
        f'program "a" target main\nlayer "sha256:{"0" * 64}"\n',
        f'program "a" target main\nlayer "sha256:{"1" * 64}"\n',
    ]
    told = [tuple(summarize(read(f"effect-ir v1\n{head}")).content()) for head in heads]
    assert len(set(told)) == len(heads)


def test_initial_values_of_state_are_told_apart() -> None:
    one, other = (
        summarize(
            read(
                'effect-ir v1\nprogram "p" target main\n'
                f'fluent locked[str]: bool = {initial}\nguarantee "g" : finally s in locked : s.value\n'
            )
        )
        for initial in ("true", "false")
    )
    assert one.content() != other.content()


def test_no_two_documents_of_the_whole_catalogue_are_told_alike() -> None:
    every = {
        document_hash(document): tuple(summarize(document).content())
        for pair in PAIRS.values()
        for document in (read(WORLD + part) for part in pair)
    }
    alike = [
        (one, other)
        for (one, text), (other, again) in combinations(every.items(), 2)
        if text == again
    ]
    assert alike == []


def test_every_process_says_the_same() -> None:
    sources = [WORLD + part for pair in PAIRS.values() for part in pair]
    told = "".join(summarize(read(source)).text() for source in sources)
    script = (
        "import json, sys; from lictor_ir.summary import summarize; from lictor_ir.text import read\n"
        "for source in json.load(sys.stdin): sys.stdout.write(summarize(read(source)).text())"
    )
    for seed in ("0", "4242"):
        said = subprocess.run(
            [sys.executable, "-c", script],
            input=json.dumps(sources),
            capture_output=True,
            check=True,
            text=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        )
        assert said.stdout == told


def test_the_catalogue_is_long_enough() -> None:
    assert len(PAIRS) + len(DECLARED) >= 100
