"""Layers with conditions and contracts of every kind, and programs that call them in branches and loops.

A layer's lambdas are written from the same grammar wherever they stand: comparisons, arithmetic, string methods,
regexes, comprehensions, captured constants, helpers with statements, closures, defaults, `:=`, lambdas in lambdas.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from hypothesis import strategies as st

INT, STR, BOOL, INTS, STRS = "int", "str", "bool", "list[int]", "list[str]"
VALUES = {
    INT: (0, 1, 2, 3, -1, -7, 7, 10, 100, 2**70),
    STR: ("", "a", "b", "ab", "A", "bob@example.com", "eve@evil.com", "x y", "é", "a\n", "7"),
    BOOL: (True, False),
    INTS: ([], [0], [1], [1, 2], [3, -1], [7, 7, 2], [10, 0, 1, 5]),
    STRS: ([], ["a"], ["b", "a"], ["ab", ""], ["bob@example.com", "a", "a"]),
}
"""What trusted functions are given and answer, where a promise allows it."""
ITEMS = {INTS: INT, STRS: STR}
CHOSEN = {
    "order": ("<", "<=", ">", ">=", "==", "!="),
    "in": ("in", "not in"),
    "sum": ("+", "-", "*", "//", "%"),
    "every": ("all", "any"),
    "joined": ("and", "or", "==", "!="),
    "how": ("match", "fullmatch", "search"),
    "matched": ("", " is not None", " is None"),
    "pattern": (
        "a+",
        "[a-z]+",
        "b?a",
        r"[^@]+@example\.com",
        r"\d",
        "a$",
        r"\w*",
        "(a|b)*",
        "a|b",
        "^b",
    ),
    "bound": ("HIGH", "5", "n", "LIMIT"),
    "small": ("0", "1", "2", "-1"),
    "ends": ("startswith", "endswith"),
    "is": ("isdigit", "islower", "isalpha"),
    "own": ("n", "y", "x"),
}
"""What stands in a form between < and >, where it is no expression."""
FLAT = {
    "number": [
        "<int>",
        "<int>",
        "1",
        "0",
        "-1",
        "3",
        "LIMIT",
        "n",
        "HIGH",
        "len(<str>)",
        "<str>.count('a')",
        "<str>.find('a')",
        "TABLE.get(<str>, 4)",
        "TABLE[<str>]",
        "len(<str>.split('@'))",
        "len(<list[int]>)",
        "len(<list[str]>)",
        "sum(<list[int]>)",
        "<list[int]>[0]",
        "<list[int]>[-1]",
        "max(<list[int]>, default=0)",
        "min(<list[int]>)",
        "sum(k for k in <list[int]> if k > 0)",
        "<list[int]>.count(1)",
        "int(<str>)",
    ],
    "text": [
        "<str>",
        "<str>",
        "'a'",
        "''",
        "x",
        "'b'",
        "''.join(<list[str]>)",
        "<list[str]>[0]",
        "'-'.join(<list[str]>)",
    ],
    "test": [
        "<int> <order> <bound>",
        "<int>",
        "<str>",
        "<list[int]>",
        "<list[str]>",
        "<str> == 'a'",
        "<str> != x",
        "<int> <in> ALLOWED",
        "<int> <in> (1, LIMIT)",
        "<int> <in> range(5)",
        "<int> <in> [n, 0]",
        "<str>.<ends>('a')",
        "<str>.<ends>(x)",
        "<str>.<ends>('@example.com')",
        "<str>.<ends>(('a', 'b'))",
        "<str> <in> WORDS",
        "<str> <in> TABLE",
        "<str> <in> (x, str(n))",
        "<str> <in> x",
        "<str>.<is>()",
        "re.<how>(r'<pattern>', <str>)<matched>",
        "bool(WORD.<how>(<str>))",
        "WORD.<how>(<str>)<matched>",
        "'a' <in> <list[str]>",
        "1 <in> <list[int]>",
        "<list[int]> == [1, 2]",
        "<list[str]> != WORDS",
        "<list[int]> != []",
        "len(set(<list[str]>)) == len(<list[str]>)",
        "len(<list[int]>) <order> 2",
        "<small> <order> <small>",
    ],
}
DEEP = {
    "number": [
        "(<number> <sum> <number>)",
        "(<number> <sum> <number>)",
        "abs(<number>)",
        "min(<number>, <number>)",
        "(<number> if <test> else <number>)",
        "int(bool(<test>))",
        "(lambda q, n=<small>: q + n)(<number>)",
        "(<test> or <number>)",
        "(<number> and <number>)",
        "-<number>",
        "(lambda x: x - n)(<number>)",
        "sum([1 for k in <list[int]> if <test of k>])",
        "TABLE.get(<text>, n)",
        "len([w for w in WORDS if <test of w>])",
    ],
    "text": [
        "<text>.lower()",
        "<text>.strip()",
        "<text>[0]",
        "<text>[1:]",
        "<text>[:-1]",
        "(<text> + <text>)",
        "str(<number>)",
        "f'{<number>}a'",
        "<text>.replace('a', 'b')",
        "<text>.upper()",
        "<text>.removeprefix('a')",
        "<text>.partition('@')[2]",
        "(<text> or 'b')",
        "(<text> if <test> else 'a')",
        "<text>.split('@')[-1]",
        "<text> * 2",
    ],
    "test": [
        "<number> <order> <number>",
        "<number> <order> <number>",
        "<text> == <text>",
        "<text> != <text>",
        "<text> < <text>",
        "<text> <in> <text>",
        "<number> < <number> <order> <bound>",
        "<number> <= <number> != <small> < <bound>",
        "not <test>",
        "(<test>) <joined> (<test>)",
        "(<test>) <joined> (<test>)",
        "(<test> if <test> else <test>)",
        "(<own> := <number>) <order> <number> and <own> != 2",
        "(<test>) and (y := <text>) != 'a' and len(y) < 3",
        "(x := <text>) != '' and x[0] != 'b'",
        "<every>(<test of k> for k in <list[int]>)",
        "<every>(<test of w> for w in <list[str]>)",
        "<every>([<test of k> for k in <list[int]> if k > <small>])",
        "<every>(<str> == w and m for w, m in PAIRS)",
        "<every>(<str> != w for w in WORDS if <test of w>)",
        "(<str>, <number>) <in> PAIRS",
        "<every>(w in <str> for w in WORDS)",
        "<every>(<int> <order> k for k in ALLOWED)",
        "<every>(<int> <order> k + m for k in range(3) for m in (1, LOW))",
        "(lambda n: n <order> <number>)(<number>)",
        "(lambda x, *, n=LOW: <number> <order> n)(<text>)",
        "len([k for k in <list[int]> if <test of k>]) <order> <small>",
        "[k for k in <list[int]> if <test of k>] == [<small>]",
        "{w: len(w) for w in <list[str]>} != {}",
        "sorted(<list[int]>) == <list[int]>",
        "<number> <in> [k + 1 for k in <list[int]>]",
        "<text> <in> [w for w in <list[str]> if <test of w>]",
        "<every>((lambda q: q <order> k)(<number>) for k in <list[int]>)",
    ],
}
"""Forms of expressions: what stands between < and > is chosen, or a name of that type."""
_HOLE = re.compile(r"<([a-z][a-z ]*(?:\[[a-z]+\])?)>")
CONSTANTS = """
LIMIT = 3
n = 10
x = "a"
LOW, HIGH = -1, 7
WORDS = ["a", "bob@example.com", ""]
ALLOWED = {1, 2, 7}
TABLE = {"a": 1, "b": 0}
PAIRS = (("a", 2), ("b", -1))
WORD = re.compile("[a-z]+")
"""
ASKS = {"ask_int": INT, "ask_str": STR, "ask_ints": INTS, "ask_strs": STRS}
ACTS = {
    "act_int": {"v": INT},
    "act_str": {"t": STR},
    "act_both": {"v": INT, "t": STR},
    "act_ints": {"vs": INTS},
    "act_strs": {"ts": STRS},
}


@dataclass(frozen=True)
class Case:
    """A layer, and a program that calls it."""

    effects: str
    contracts: str
    guarantees: tuple[str, ...]
    main: str
    """Without imports and guarantees."""

    @property
    def program(self) -> str:
        """The program as a file."""
        stated = "".join(f"@lictor_layer.guarantee(contracts.{g}())\n" for g in self.guarantees)
        names = ", ".join((*ASKS, *ACTS))
        return (
            "import lictor_layer\nfrom tools.made.trusted import contracts\n"
            f"from tools.made.trusted.effects import {names}\n\n\n{stated}{self.main}"
        )


def cases() -> st.SearchStrategy[Case]:
    """Layers and programs."""
    return st.binary(min_size=60, max_size=400).map(lambda made: _Writer(made).case())


Names = dict[str, str]


class _Writer:
    """Writes a case; a byte decides each choice, and the first option where there are no more."""

    def __init__(self, choices: bytes) -> None:
        self._choices = iter(choices)
        self._count = 0
        self._helpers: list[tuple[str, str]] = []
        """Name and type of what it takes; all give bools."""
        self._conditions: list[tuple[str, str]] = []
        """Type and body, over the name `_`: what was demanded or promised before."""

    def pick(self, *options: str) -> str:
        return options[next(self._choices, 0) % len(options)]

    def fresh(self, kind: str) -> str:
        self._count += 1
        return f"{kind}{self._count}"

    # -- expressions -------------------------------------------------------------------------------

    def of(self, names: Names, *kinds: str) -> str | None:
        found = [name for name, kind in names.items() if kind in kinds]
        return self.pick(*found) if found else None

    def number(self, names: Names, depth: int) -> str:
        return self.written("number", names, depth)

    def test(self, names: Names, depth: int) -> str:
        return self.written("test", names, depth)

    def written(self, what: str, names: Names, depth: int) -> str:
        """One of the forms, with everything in it chosen; flat ones where it is deep enough."""
        held = set(names.values())
        forms = [*FLAT[what], *(DEEP[what] if depth > 0 else ())]
        if what == "test":
            forms += [f"{name}(<{kind}>)" for name, kind in self._helpers for _ in range(3)]
        fitting = [
            form
            for form in forms
            if set(re.findall(r"<(int|str|list.int.|list.str.)>", form)) <= held
        ]
        form = self.pick(*fitting)
        return _HOLE.sub(lambda hole: self._filled(hole[1], names, depth), form)

    def _filled(self, hole: str, names: Names, depth: int) -> str:
        if hole in CHOSEN:
            return self.pick(*CHOSEN[hole])
        if hole in ("number", "text", "test"):
            return self.written(hole, names, depth - 1)
        if hole in ("test of k", "test of w"):
            more = {"k": INT} if hole.endswith("k") else {"w": STR}
            return self.written("test", {**names, **more}, depth - 1)
        found = self.of(names, hole)
        assert found is not None
        return found

    # -- the layer ---------------------------------------------------------------------------------

    def helper(self) -> str:
        name, kind = self.fresh("ok"), self.pick(INT, STR, INTS, STRS)
        names: Names = {"v": kind}
        lines = {
            "plain": [f"return {self.test(names, 2)}"],
            "branches": [
                f"if {self.test(names, 1)}:",
                f"    return {self.test(names, 1)}",
                f"n = {self.number(names, 1)}",
                f"return {self.test({**names, 'n': INT}, 1)}",
            ],
            "loop": [
                "found = 0",
                f"for k in {self.pick('(1, 2, 3)', 'range(LIMIT)', 'WORDS')}:",
                f"    if {self.test(names, 1)}:",
                f"        {self.pick('found += 1', 'return True', 'continue', 'break')}",
                f"    found = found + {self.pick('1', '2')}",
                f"return found {self.pick('<', '==', '>')} 2",
            ],
            "inner": [
                f"def inner(q, m={self.pick('1', '-2')}):",
                f"    return {self.test({**names, 'm': INT}, 1)}",
                f"return inner({self.pick('0', 'v')}{self.pick('', ', 3', ', m=0')})",
            ],
            "falls off": [f"if {self.test(names, 1)}:", "    return True"],
        }
        body = lines[self.pick(*lines)]
        default = self.pick("", ", n=2", ", *, x='b'", ", n=len(WORDS)")
        self._helpers.append((name, kind))
        made = "".join(f"    {line}\n" for line in body)
        if self.pick("def", "def", "closure") == "def":
            return f"def {name}(v{default}):\n{made}\n"
        bound = self.pick("5", "1")
        return (
            f"def make_{name}(n, x='b'):\n    def inner_{name}(v):\n{_indented(made)}"
            f"    return inner_{name}\n{name} = make_{name}({bound})\n\n"
        )

    def condition(self, names: Names) -> str:
        """A test; often one that was demanded or promised before."""
        alike = [(k, b) for k, b in self._conditions if self.of(names, k)]
        if alike and self.pick("again", "new") == "again":
            kind, body = alike[next(self._choices, 0) % len(alike)]
            name = self.of(names, kind)
            again = f"(lambda v_: {body})({name})"
            return (
                again
                if self.pick("as it is", "weaker") == "as it is"
                else f"{again} or {self.test(names, 1)}"
            )
        kind = next(iter(names.values()))
        body = self.test({"v_": kind}, 2)
        self._conditions.append((kind, body))
        return (
            f"(lambda v_: {body})({next(iter(names))})"
            if self.pick("direct", "called") == "called"
            else self.test(names, 2)
        )

    def of_every_item(self, kind: str) -> str:
        """A promise about the items of a result; often what is demanded of an argument of their kind."""
        item = self.fresh("i")
        names = {item: ITEMS[kind]}
        every = self.pick("all", "all", "all", "not any", "any")
        body = self.condition(names)
        if every == "not any":
            body = f"not ({body})"
        only = f" if {self.test(names, 1)}" if self.pick("each", "each", "some") == "some" else ""
        said = f"{every}({body} for {item} in result{only})"
        return self.pick(
            said,
            said,
            f"len(result) <= 3 and {said}",
            f"{said} and {self.test({'result': kind}, 1)}",
            f"{self.test({'result': kind}, 1)} or {said}",
            f"({said} if len(result) > 1 else len(result) == 1)",
        )

    def effects(self) -> str:
        parts = ["import re\nfrom lictor_layer import ensures, requires, trusted\n", CONSTANTS]
        parts.append(
            "\n\ndef outside(effect, **given):\n    raise NotImplementedError(effect)\n\n\n"
        )
        parts += [self.helper() for _ in range(int(self.pick("1", "2", "0", "3")))]
        for name, kind in ASKS.items():
            if self.pick("promise", "promise", "nothing") == "promise":
                own = self.pick("result", "r", "n")
                parts.append(f"@ensures(lambda {own}: {self.condition({own: kind})})\n")
            if kind in ITEMS and self.pick("items", "nothing") == "items":
                parts.append(f"@ensures(lambda result: {self.of_every_item(kind)})\n")
            parts.append(f"@trusted\ndef {name}() -> {kind}:\n    return outside({name!r})\n\n")
        for name, parameters in ACTS.items():
            read = list(parameters)[int(self.pick("0", "0", "1")) :] or list(parameters)
            taken = {each: parameters[each] for each in read}
            for _ in range(int(self.pick("1", "1", "0", "2"))):
                parts.append(f"@requires(lambda {', '.join(taken)}: {self.condition(taken)})\n")
            typed = ", ".join(f"{each}: {kind}" for each, kind in parameters.items())
            given = ", ".join(f"{each}={each}" for each in parameters)
            parts.append(
                f"@trusted\ndef {name}({typed}) -> None:\n    outside({name!r}, {given})\n\n"
            )
        return "".join(parts)

    def contracts(self, count: int) -> str:
        helpers = ", ".join(name for name, _ in self._helpers)
        parts = [
            "import re\nfrom lictor_layer import Spec, contract, effect\n",
            f"from .effects import {', '.join(ACTS)}\n",
            f"from .effects import {helpers}\n" if helpers else "",
            CONSTANTS,
        ]
        for each in range(count):
            name = self.pick(*ACTS)
            names = {f"e.{field}": kind for field, kind in ACTS[name].items()}
            relation = f"effect({name})"
            if self.pick("all", "some") == "some":
                relation += f".where(lambda e: bool({self.condition(names)}))"
            number = self.pick("0", "1", "2", "3")
            spec = self.pick(
                f"{relation}.all(lambda e: bool({self.condition(names)}))",
                f"{relation}.all(lambda e: bool({self.condition(names)}))",
                f"{relation}.count() <= {number}",
                f"{relation}.empty()",
                f"{relation}.sum(lambda e: {self.number(names, 1)}) <= {number}",
                f"{relation}.distinct(lambda e: {self.number(names, 1)})",
            )
            parts.append(f"\n\n@contract\ndef c{each}() -> Spec:\n    return {spec}\n")
        return "".join(parts)

    # -- the program -------------------------------------------------------------------------------

    def statement(self, names: Names, depth: int, lines: list[str], indent: str) -> None:
        form = self.pick("act", "act", "ask", "if", "for", "promised")
        if form == "ask":
            asked = self.pick(*ASKS)
            made = self.fresh("a")
            lines.append(f"{indent}{made} = {asked}()")
            names[made] = ASKS[asked]
        elif form == "promised":
            name = self.pick(
                "act_int(ask_int())",
                "act_str(ask_str())",
                "act_ints(ask_ints())",
                "act_strs(ask_strs())",
                "for each in ask_ints(): act_int(each)",
                "for each in ask_strs(): act_str(each)",
            )
            lines.append(f"{indent}{name}")
        elif form == "if" and depth > 0:
            # Without what only the layer knows.
            held = self.of(names, INT, STR)
            test = self.pick(
                "len(ask_strs()) > 0",
                f"{held} == {'1' if names.get(held or '') == INT else repr('a')}",
            )
            lines.append(f"{indent}if {test if held else 'ask_int() > 2'}:")
            self.block(dict(names), depth - 1, lines, indent + "    ")
            if self.pick("", "else"):
                lines.append(f"{indent}else:")
                self.block(dict(names), depth - 1, lines, indent + "    ")
        elif form == "for" and depth > 0:
            made = self.fresh("k")
            over = self.of(names, INTS, STRS)
            source, kind = (
                (over, names[over]) if over else (self.pick("ask_ints()", "[1, 2]"), INTS)
            )
            lines.append(f"{indent}for {made} in {source}:")
            inner = {**names, made: INT if kind == INTS else STR}
            self.block(inner, depth - 1, lines, indent + "    ")
        else:
            act = self.pick(*ACTS)
            given = [self.argument(names, kind) for kind in ACTS[act].values()]
            lines.append(f"{indent}{act}({', '.join(given)})")

    def argument(self, names: Names, kind: str) -> str:
        held = self.of(names, kind)
        known = [repr(value) for value in VALUES[kind][:-1]]
        return self.pick(held or known[0], held or known[1], *known)

    def block(self, names: Names, depth: int, lines: list[str], indent: str) -> None:
        for _ in range(int(self.pick("1", "2", "1"))):
            self.statement(names, depth, lines, indent)

    def case(self) -> Case:
        effects = self.effects()
        count = int(self.pick("2", "1"))
        contracts = self.contracts(count)
        lines = ["def main() -> None:"]
        names: Names = {}
        for _ in range(int(self.pick("2", "1", "3", "4"))):
            self.statement(names, 2, lines, "    ")
        main = "\n".join(lines) + "\n"
        return Case(effects, contracts, tuple(f"c{each}" for each in range(count)), main)


def _indented(text: str) -> str:
    return "".join(f"    {line}\n" for line in text.splitlines())
