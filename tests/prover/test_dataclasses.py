"""Dataclasses of programs: documents say what Python does with them, and nothing false is proved through them.

Each program of `SAME` is run with many answers, and followed by its document. The pairs of `PAIRS` state something that
a run breaks, and something like it that holds.
"""

from __future__ import annotations

import textwrap

import pytest
from differential import Differential, desk

from lictor_prove.layer_model import Layer
from lictor_prove.proof.prover import prove
from lictor_schema.proofs.proof import ProofVerdict

IMPORTS = "import dataclasses\nfrom dataclasses import asdict, dataclass, field, replace\n"
CLASSES = '''
@dataclass
class Line:
    """Its fields are assigned in some programs."""

    name: str
    amount: int = 0
    tags: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Key:
    name: str
    at: int = 1


@dataclass
class Other:
    name: str
    amount: int = 0
    tags: list[str] = field(default_factory=list)


@dataclass(kw_only=True)
class Named:
    one: int = 1
    two: int


@dataclass
class Mixed:
    one: int = field(default=2, kw_only=True)
    two: int
    three: int = field(default=3)


@dataclass
class Tally:
    total: int = 0
    log: list[int] = field(default_factory=list)

    def add(self, more: int = 1) -> "Tally":
        self.total += more
        self.log.append(more)
        return self

    def twice(self):
        return self.total * 2


@dataclass
class Pair:
    left: float
    right: "Pair | None" = None


def bump(line):
    line.amount += 1
    line = Line("new")
    line.amount = 100
    return line


def reset(line):
    line.amount = 100
    return 1
'''
"""What programs declare; a class is one of values in those that assign to none of its fields."""

SAME = {
    "lists that a factory makes are not shared": """
        a, b = Line("a"), Line("b")
        a.tags.append("x")
        pay("a", len(b.tags))
        a.amount = 3
        pay("b", b.amount)
    """,
    "a list that is passed is shared": """
        xs = ["q"]
        a = Line("a", tags=xs)
        xs.append("r")
        a.tags.append("s")
        pay("a", len(xs) + len(a.tags))
    """,
    "an item of a list is the instance": """
        a = Line("a")
        some = [a, a]
        some[0].amount += 2
        pay("a", a.amount + some[1].amount)
        b = some[0]
        b.name = "zz"
        pay(a.name, 1)
        pay(str(a is b), 1)
        pay(str(a is Line("zz", 2)), 1)
    """,
    "a helper changes what it is given": """
        a = Line("a")
        b = bump(a)
        pay("a", a.amount)
        pay("b", b.amount)
    """,
    "equality is of fields, in one class": """
        a = Line("a")
        pay(str(a == Line("a")), 1)
        pay(str(a == Other("a")), 2)
        pay(str(a != Other("a")), 3)
        pay(str(Key("a") == ("a", 1)), 4)
        pay(str(Key("a", True) == Key("a", 1)), 5)
        a.amount = 1
        pay(str(a == Line("a")), 6)
        pay(str(Line("a") in [a, Line("b")]), 7)
        pay(str([Line("a"), 1].index(1)), 8)
        pay(str(a == None), 9)
    """,
    "annotations say nothing of what is held": """
        a = Line(5, "text")
        a.amount += "x"
        pay(a.amount, a.name)
        pay(str(Pair("a") == Pair("a")), 1)
    """,
    "arguments are evaluated as they stand": """
        a = Line(tags=names(), amount=number(), name=lookup("a"))
        b = Line(lookup("b"), number(), names())
        b.amount = number()
        b.amount += number()
        b.tags, b.name = names(), lookup("c")
        pay(b.name, len(a.tags))
    """,
    "replace shares what the fields hold": """
        a = Line("a")
        b = replace(a, name="b")
        b.tags.append("x")
        b.amount = 5
        pay(a.name, len(a.tags) + a.amount)
        pay(b.name, len(b.tags) + b.amount)
        key = dataclasses.replace(Key("x"), at=7)
        pay(key.name, key.at)
    """,
    "asdict copies": """
        a = Line("a", 1, ["x"])
        d = asdict(a)
        d["tags"].append("y")
        d["amount"] = 9
        pay(str(d["name"]), len(a.tags))
        pay(str(a.amount), d["amount"])
        pay(", ".join(d), len(d["tags"]))
        deep = asdict(Pair(1, Pair(2)))
        pay(str(deep["right"]["left"]), deep["left"])
    """,
    "frozen ones are keys": """
        d = {Key("a"): 1, Key("a", 1): 2, Key("b"): 3, Key("a", True): 4}
        pay("a", len(d))
        pay("b", d[Key("a")])
        pay("c", len({Key("a"), Key("a"), Key(lookup("c"))}))
        pay(str([each.at for each in d]), 1)
    """,
    "texts": """
        a = Line("a'b", 2, ["x"])
        pay(str(a), 1)
        pay(f"{Key('a')!r:>30}", 1)
        pay("%s %r" % (Key("é"), Key("a")), 1)
        a.tags.append("w")
        pay(f"{a} {[a]} {Key('a', number())}", 1)
        pay("{} {}".format(a, Key(lookup("a"))), 1)
    """,
    "fields by name only": """
        a, b, c = Named(two=4), Mixed(5), Mixed(6, 7, one=8)
        pay("a", a.one * 10 + a.two)
        pay("b", b.one * 100 + b.two * 10 + b.three)
        pay("c", c.one * 100 + c.two * 10 + c.three)
        pay(str(a) + str(c), 1)
    """,
    "a branch changes one of two": """
        a = Line("a")
        if is_allowed("x"):
            a.amount = 1
            b = Line("b")
            b.amount = 10
        else:
            b = a
        b.amount += 5
        pay("a", a.amount)
        pay("b", b.amount)
        pay(str(a is b), 1)
    """,
    "loops of unknown length make, keep and change": """
        some, book, last = [], {}, None
        for user in everybody():
            line = Line(user.name)
            some.append(line)
            book.setdefault(user.name, line).amount += user.age
            line.tags.append(user.email)
            if last is not None:
                last.amount += 1
            last = line
        for line in some:
            pay(line.name, line.amount)
            send_copies(line.name, line.tags)
        for name, line in book.items():
            pay(name, line.amount)
        if some:
            last.name = "changed"
            pay(some[-1].name, 1)
    """,
    "loops of unknown length inside each other": """
        totals = []
        for user in users():
            total = Line(user.name)
            for order in orders("a"):
                part = Line(order.stock)
                part.amount += order.shares
                total.tags.append(part.name)
                total.amount += part.amount
                totals.append(part)
            totals.append(total)
        for total in totals:
            pay(total.name, total.amount)
            total.amount = 0
        for total in totals:
            send_copies(str(total.amount), total.tags)
    """,
    "comprehensions make instances": """
        some = [Line(user.name, user.age) for user in users()]
        for line in some:
            line.amount += 1
            line.tags.append(line.name)
        for line in some:
            pay(line.name, line.amount)
            send_copies(line.name, line.tags)
        for name, line in {user.name: Line(user.email) for user in users()}.items():
            pay(line.name, len(name))
        pay("a", len(some))
    """,
    "comprehensions change an instance": """
        a = Tally()
        found = [a.add(user.age).total for user in users() if user.active]
        for total in found:
            pay("a", total)
        pay("b", a.total)
        pay("c", len(a.log))
        totals = {user.name: a.twice() for user in users()}
        for name, total in totals.items():
            pay(name, total)
    """,
    "comprehensions make lists": """
        some = [[user.name] for user in users()]
        for each in some:
            each.append("x")
        for each in some:
            send_copies("a", each)
        pay("a", len(some))
    """,
    "comprehensions inside each other": """
        some = [[Line(name) for name in names()] for user in users() if user.active]
        for lines in some:
            for line in lines:
                line.amount += 1
        for lines in some:
            for line in lines:
                pay(line.name, line.amount)
        book = {user.name: [Line(user.email)] for user in users()}
        for name, lines in book.items():
            lines[0].tags.append(name)
            lines.append(Line("last"))
        for lines in book.values():
            send_copies(lines[0].name, lines[0].tags)
        pay("a", sum(len(lines) for lines in book.values()))
        found = list(Line(user.name, user.age) for user in users() if user.age > 0)
        for line in sorted(found, key=lambda line: line.amount):
            line.amount = -1
            pay(line.name, len(found))
    """,
    "instances that hold their like": """
        first = Pair(0.5)
        chain = first
        for user in users():
            chain = Pair(1.5, chain)
        while chain is not None:
            pay("a", 1 if chain.left > 1 else 2)
            chain.left = 0.25
            chain = chain.right
        pay("b", 1 if first.left < 1 else 2)
        first.right = first
        pay("c", 1 if first.right.right is first else 2)
    """,
    "comprehensions take the same instance": """
        a = Line("a")
        for line in [a for user in users()]:
            line.amount += 1
        pay("a", a.amount)
        some = [Line("n") if user.active else a for user in users()]
        for line in some:
            line.amount += 2
        pay("b", a.amount)
        for line in some:
            pay(line.name, line.amount)
    """,
    "methods": """
        a = Tally()
        a.add(2).add().add(more=4)
        kept = a.add
        kept(10)
        pay("a", a.twice())
        pay("b", len(a.log))
        for user in users():
            a.add(user.age)
        pay("c", a.total)
        pay("d", sum(a.log))
    """,
    "targets": """
        a = Line("a")
        a.name, a.amount = "b", 3
        pay(a.name, a.amount)
        for a.amount in [4, 5]:
            pay(a.name, a.amount)
        for a.amount in range(len(users())):
            pass
        pay(a.name, a.amount)
        (a.name, *a.tags) = ["x", "y", "z"]
        pay(a.name, len(a.tags))
    """,
    "closures": """
        a = Line("a")
        def more():
            a.amount += 1
            return a
        for user in users():
            more()
        pay("a", more().amount)
        name = lambda: a.name
        a.name = "q"
        pay(name(), 1)
    """,
    "a call that fails between two assignments": """
        a = Line("a")
        try:
            a.amount = 1
            lookup("x")
            a.amount = 2
        except Exception:
            a.name = "failed"
        pay(a.name, a.amount)
    """,
    "sorted, max": """
        some = sorted([Line("b", 2), Line("a", 1)], key=lambda line: line.amount)
        pay(some[0].name, 1)
        most = max(some, key=lambda line: line.amount)
        most.amount = 9
        pay(most.name, some[1].amount)
    """,
    "`+=` reads before it computes": """
        a = Line("a")
        a.amount += reset(a)
        pay("a", a.amount)
        a.tags += ["x"]
        kept = a.tags
        a.tags += ["y"]
        pay("b", len(kept))
    """,
    "isinstance and match": """
        x = Line("a") if is_allowed("b") else Key("k")
        if isinstance(x, Line):
            pay(x.name, x.amount)
        else:
            pay(x.name, x.at)
        match x:
            case Line():
                pay("line", 1)
            case [a, b]:
                pay("list", 1)
            case Key():
                pay("key", 2)
    """,
    "while": """
        a = Line("a")
        while a.amount < 3:
            a.amount += 1
        pay("a", a.amount)
        while is_allowed("x"):
            a.amount += 1
            a.tags.append("q")
            if a.amount > 6:
                break
        pay("a", min(a.amount, 9))
        pay("b", min(len(a.tags), 9))
    """,
    "floats": """
        a = Pair(rate())
        pay(str(a == a), 1)
        pay(str(Pair(1.5) == Pair(1.5)), 1)
        pay(str(a in [a]), 1)
        pay(str(a == Pair(rate())), 1)
    """,
}


@pytest.fixture(scope="module")
def layer() -> Layer:
    return desk()


def _main(body: str) -> str:
    inside = textwrap.indent(textwrap.dedent(body).strip("\n"), "    ")
    return f"{IMPORTS}{CLASSES}\n\ndef main() -> None:\n{inside}\n"


@pytest.mark.parametrize("name", SAME)
def test_documents_say_what_python_does(name: str, layer: Layer) -> None:
    differential = Differential(layer)
    program = _main(SAME[name])
    source = differential.source(program, [])
    differential.source_lines, differential.program_lines = (
        source.splitlines(),
        program.splitlines(),
    )
    document = differential.read(source)
    runs = differential.runs(program, range(40))
    assert runs
    for done in runs:
        differential.predict(document, done, [])


PAIRS = {
    "another name": (
        "each_at_most(5)",
        'a = Line("a", 1)\nb = a\nb.amount = {}\npay("a", a.amount)',
        ("9", "5"),
    ),
    "a default that is a shared list": (
        "pays_at_most(0)",
        'a, b = Line("a"), Line("b")\na.tags.append("x")\nfor tag in {}.tags:\n    pay("a", 1)',
        ("a", "b"),
    ),
    "an item of a list that a loop fills": (
        "each_at_most(5)",
        "some = []\nfor user in users():\n    some.append(Line(user.name, 3))\nfor line in some:\n"
        "    line.amount = {}\nfor line in some:\n    pay(line.name, line.amount)",
        ("line.amount + 3", "min(line.amount, 5)"),
    ),
    "a value of a dict that a loop fills": (
        "to_users()",
        "book = {{}}\nfor user in users():\n    book.setdefault(user.name, Line(user.email)).tags.append({})\n"
        "for line in book.values():\n    for tag in line.tags:\n        send_email(tag, 'x')",
        ("user.name", "user.email"),
    ),
    "the last round's instance": (
        "each_at_most(5)",
        "last = Line('a', 5)\nfor user in users():\n    last = Line('b', 4)\n    last.amount += {}\n"
        "pay('a', last.amount)",
        ("2", "1"),
    ),
    "an instance from before the loop": (
        "pays_at_most(0)",
        "a = Line('a')\nfor user in users():\n    a.amount += {}\nif a.amount < 0:\n    pay('a', 1)",
        ("user.age", "1"),
    ),
    "where a field comes from": (
        "to_users()",
        "for line in [Line(user.email, tags=[user.name]) for user in users()]:\n"
        "    line.amount = 1\n    send_email({}, 'x')",
        ("line.tags[0]", "line.name"),
    ),
    "a field that another one is assigned to": (
        "to_users()",
        "some = []\nfor user in users():\n    some.append(Line(user.email, tags=[user.name]))\n"
        "for line in some:\n    line.amount = 1\n    line.name = {}\nfor line in some:\n    send_email(line.name, 'x')",
        ("line.tags[0]", "some[0].name"),
    ),
    "frozen ones of other fields": (
        "pays_at_most(0)",
        "if Key('a', {}) == Key('a', 1):\n    pay('a', 1)",
        ("True", "2"),
    ),
    "how many instances a loop makes": (
        "pays_at_most({})",
        "some = []\nfor user in users():\n    some.append(Line(user.name))\nfor line in some:\n    line.amount = 1\n"
        "    pay(line.name, 1)",
        ("2", "3"),
    ),
}


@pytest.mark.parametrize("name", PAIRS)
def test_what_is_false_is_not_proved_and_what_holds_is(name: str, layer: Layer) -> None:
    contract, body, choices = PAIRS[name]
    for choice, holds in zip(choices, (False, True), strict=True):
        stated = contract.format(choice) if "{" in contract else contract
        program = _main(body if "{" in contract else body.format(choice))
        source = (
            Differential(layer)
            .source(program, [])
            .replace("def main(", f"@lictor_layer.guarantee(c.{stated})\ndef main(")
        )
        proof = prove(source, name="program.py", layer=layer)
        assert (proof.verdict is ProofVerdict.PROVED) == holds, (choice, proof.reasons, proof)
        if not holds:
            assert proof.verdict is not ProofVerdict.REJECTED, proof.reasons
