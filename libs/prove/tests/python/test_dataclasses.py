"""What a dataclass may be, and what is refused about it: what Python would do otherwise, or raise."""

from __future__ import annotations

import pytest

from libs.prove.tests.python_front_end import ACCEPTED, concrete, outcome_of, program, rejection

IMPORT = "import collections\nfrom dataclasses import asdict, dataclass, field, replace\n"
LINE = "@dataclass\nclass Line:\n    name: str\n    amount: int = 0\n"

DECLARATIONS = {
    LINE: ACCEPTED,
    "@dataclass()\nclass A:\n    'Nothing.'\n": ACCEPTED,
    "@dataclass(frozen=True, slots=True, kw_only=True, eq=True, order=False)\nclass A:\n    n: int": ACCEPTED,
    "@dataclass\nclass A:\n    row: UserRow | None = None\n    lines: 'list[A]' = field(default_factory=list)": (
        ACCEPTED
    ),
    "@dataclass\nclass A:\n    n: tuple[int, ...] = (1, -2)\n    x: float = math.pi": ACCEPTED,
    "LIMIT = 3\n@dataclass\nclass A:\n    n: int = LIMIT\n    m: int = field(default=LIMIT)": ACCEPTED,
    "@dataclass\nclass A:\n    date: dict[str, int]\n    def total(self, n: int = 1) -> int:\n        return n": (
        ACCEPTED
    ),
    "class A:\n    n: int": "unsupported.class",
    "@dataclass\nclass A(UserRow):\n    n: int": "dataclass.bases",
    "@dataclass\nclass A(metaclass=type):\n    n: int": "dataclass.bases",
    "@dataclass\n@dataclass\nclass A:\n    n: int": "dataclass.decorator",
    "@dataclass(order=True)\nclass A:\n    n: int": "dataclass.option",
    "@dataclass(eq=False)\nclass A:\n    n: int": "dataclass.option",
    "@dataclass(unsafe_hash=True)\nclass A:\n    n: int": "dataclass.option",
    "@dataclass(frozen=1)\nclass A:\n    n: int": "dataclass.option",
    "@dataclass(None)\nclass A:\n    n: int": "dataclass.option",
    "@dataclass\nclass A:\n    n = 1": "dataclass.body",
    "@dataclass\nclass A:\n    n: int\n    number()": "dataclass.body",
    "@dataclass\nclass A:\n    class B:\n        pass": "unsupported.class",
    "@dataclass\nclass A:\n    n: int\n    def __post_init__(self):\n        pass": "dataclass.special",
    "@dataclass\nclass A:\n    n: int\n    def __eq__(self, other):\n        return True": "dataclass.special",
    "@dataclass\nclass A:\n    n: int\n    @property\n    def m(self):\n        return 1": "dataclass.decorator",
    "@dataclass\nclass A:\n    n: int\n    @staticmethod\n    def m():\n        return 1": "dataclass.decorator",
    "from typing import ClassVar\n@dataclass\nclass A:\n    n: ClassVar[int] = 1": "dataclass.class-variable",
    "from typing import ClassVar as V\n@dataclass\nclass A:\n    n: 'V' = 1": "dataclass.class-variable",
    "import typing as t\n@dataclass\nclass A:\n    n: 't.ClassVar[int]' = 1": "dataclass.class-variable",
    "@dataclass\nclass A:\n    n: 'int['": "annotation.expression",
    "from dataclasses import InitVar": "import.unmodelled",
    "from dataclasses import KW_ONLY": "import.unmodelled",
    "@dataclass\nclass A:\n    xs: list[int] = []": "dataclass.default",
    "@dataclass\nclass A:\n    n: int = number()": "dataclass.default",
    "@dataclass\nclass A:\n    n: int = 1 + 1": "default.literal",
    "@dataclass\nclass A:\n    n: int = field(default_factory=lambda: 1)": "dataclass.field",
    "@dataclass\nclass A:\n    n: int = field(default_factory=number)": "dataclass.field",
    "@dataclass\nclass A:\n    n: int = field(default=1, default_factory=list)": "dataclass.field",
    "@dataclass\nclass A:\n    n: int = field(init=False)": "dataclass.field",
    "@dataclass\nclass A:\n    n: int = field(compare=False)": "dataclass.field",
    "@dataclass\nclass A:\n    n: int = 1\n    m: int": "dataclass.order",
    "@dataclass\nclass A:\n    n: int\n    n: str": "dataclass.name",
    "@dataclass\nclass A:\n    n: int\n    def n(self):\n        pass": "dataclass.name",
    "@dataclass\nclass A:\n    _n: int": "dataclass.name",
    "@dataclass\nclass A:\n    é: int": "dataclass.name",
    "@dataclass\nclass A:\n    n: int\n    def m(self):\n        return __x": "dataclass.name",
    "def hash(x):\n    return 1\n@dataclass(frozen=True)\nclass A:\n    n: int": "dataclass.name",
    "@dataclass\nclass A:\n    list: int = 1\n    xs: list[int] = field(default_factory=list)": "dataclass.shadow",
    "@dataclass\nclass A:\n    str: str | None = None": "dataclass.shadow",
    "@dataclass\nclass A:\n    def int(self):\n        return 1\n    def m(self) -> int:\n        return 1": (
        "dataclass.shadow"
    ),
    "@dataclass\nclass A:\n    next: A | None = None": "annotation.raises",
    "@dataclass\nclass A:\n    n: nothing": "annotation.raises",
    "@dataclass\nclass A:\n    def m(self) -> nothing:\n        return 1": "annotation.raises",
    "@dataclass\nclass A:\n    def m(self, *more):\n        return 1": "unsupported.starred",
    "@dataclass\nclass A:\n    n: int\n@dataclass\nclass A:\n    m: int": "module.rebound",
    "x = field(default=1)": "module.literal",
}

BODIES = {
    "x = Line()": "error.certain",
    "x = Line('a', 1, 2)": "error.certain",
    "x = Line('a', name='b')": "error.certain",
    "x = Line('a', size=1)": "error.certain",
    "x = Line('a').size": "error.certain",
    "x = Line('a')\nx.size = 1": "assign.target",
    "x = Line('a')\nx.amount: int = 1": "assign.target",
    "x = Line('a')\ndel x.amount": "delete.target",
    "x = Line('a')\nx.__dict__['amount'] = 1": "attribute.dunder",
    "x = Key(1)\nx.n = 2": "error.certain",
    "x = Key(1)\nx.n += 2": "error.certain",
    "x = 1\nx.n = 2": "error.certain",
    "x = number\nx.n = 2": "assign.target",
    "x = {Line('a'): 1}": "error.certain",
    "x = {Line('a')}": "error.certain",
    "x = {Key([1])}": "error.certain",
    "x = {Key((1, 'a')): 1}": ACCEPTED,
    "x = Line('a') < Line('b')": "error.certain",
    "x = sorted([Line('a'), Line('b')])": "builtin.key",
    "x = sorted([Line('a'), Line('b')], key=lambda line: line.amount)": ACCEPTED,
    "note(Line('a'))": "argument.value",
    "note([Line(each) for each in names()])": "argument.value",
    "note(asdict(Line('a')))": ACCEPTED,
    "x = asdict(Line({'a': [1, {'b'}]}))": ACCEPTED,
    "x = asdict(Line(collections.defaultdict(list)))": "dataclass.asdict",
    "x = asdict(Line(number))": "dataclass.asdict",
    "note(Line.amount)": "value.opaque",
    "note(Line.name)": "value.opaque",
    "x = Line == Line": "operator.equality",
    "x = field(default=1)": "language.called",
    "x = dataclass(Line)": "language.called",
    "x = replace(Line('a'), size=1)": "error.certain",
    "x = replace({}, size=1)": "dataclass.instance",
    "x = asdict(Line)": "dataclass.instance",
    "x = Line('a') is Line('a')": "operator.is",
    "x = Line(enumerate([1]))": "iterator.kept",
    "x = Line('a')\nx.name = enumerate([1])": "iterator.kept",
    "x = len(Line('a'))": "error.certain",
    "x = [each for each in Line('a')]": "error.certain",
    "x = f'{Line(1):>9}'": "error.certain",
    "x = Key(1).plus(self=1)": "error.certain",
    "x = Key(1).again()": "call.recursion",
    "match Line('a'):\n    case Line('a'):\n        pass": "match.class",
    "match Line('a'):\n    case Line(name='a'):\n        pass": "unsupported.match",
    "x = Line('a')\nys = [x.plus(each) for each in names()]": "error.certain",
    "x = Tally()\nys = [x.add(1) for each in names()]": ACCEPTED,
    "x = Tally()\nfor each in names():\n    x.add(1)": ACCEPTED,
}
KEY = """
@dataclass(frozen=True)
class Key:
    n: int
    def plus(self, m):
        return self.n + m
    def again(self):
        return self.again()
@dataclass
class Tally:
    total: int = 0
    def add(self, m):
        self.total += m
"""


@pytest.mark.parametrize("declared", DECLARATIONS)
def test_a_declaration_is_read_or_rejected_with_a_code(declared: str) -> None:
    assert outcome_of("pass", before=f"{IMPORT}{declared}\n") == DECLARATIONS[declared]


@pytest.mark.parametrize("body", BODIES)
def test_a_use_is_read_or_rejected_with_a_code(body: str) -> None:
    assert outcome_of(body, before=f"{IMPORT}{LINE}{KEY}") == BODIES[body]


@pytest.mark.parametrize("body", [each for each, code in BODIES.items() if code == "error.certain"])
def test_what_is_called_an_error_is_one_in_python(body: str) -> None:
    _, error = concrete(program(body, before=f"{IMPORT}{LINE}{KEY}"), {})
    assert error is not None


@pytest.mark.parametrize(
    "declared",
    [
        each
        for each, code in DECLARATIONS.items()
        if code in ("dataclass.order", "dataclass.shadow", "annotation.raises")
    ],
)
def test_what_python_would_not_load_is_no_dataclass(declared: str) -> None:
    code = compile(f"{IMPORT}{declared}\n", "<test>", "exec", dont_inherit=True)
    if "def int" in declared:
        # It means something else there, and raises nothing.
        return
    with pytest.raises((TypeError, NameError)):
        exec(code, {"__name__": __name__})  # noqa: S102 -- written above


def test_a_refusal_says_what_to_write() -> None:
    told = rejection(
        program("pass", before=f"{IMPORT}@dataclass(order=True)\nclass A:\n    n: int\n")
    )
    assert "key=" in told.remedy
    told = rejection(program("Key(1).n = 2", before=f"{IMPORT}{KEY}"))
    assert "replace" in told.remedy
