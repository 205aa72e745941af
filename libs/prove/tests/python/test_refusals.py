"""What is outside the subset is rejected: with a code, where it stands, and what to write instead."""

from __future__ import annotations

import pytest

from libs.prove.tests.python_front_end import (
    ACCEPTED,
    HEAD,
    code_of,
    outcome_of,
    program,
    read,
    rejection,
)

FIRST = HEAD.count("\n") + 4
"""The first line of main's body."""

BODIES = {
    "while p:\n    pass": ACCEPTED,
    "try:\n    pass\nexcept ValueError:\n    pass": ACCEPTED,
    "try:\n    pass\nexcept* ValueError:\n    pass": "unsupported.try",
    "try:\n    pass\nexcept UserRow:\n    pass": "try.class",
    "try:\n    pass\nexcept (ValueError, number()):\n    pass": "try.class",
    "ValueError = 1\ntry:\n    pass\nexcept ValueError:\n    pass": "try.class",
    "try:\n    pass\nexcept SystemExit:\n    pass": "try.class",
    "try:\n    pass\nexcept KeyError as e:\n    pass\nnote(e)": "try.name",
    "e = 1\ntry:\n    pass\nexcept KeyError as e:\n    pass": "try.name",
    "try:\n    number()\nexcept KeyError as e:\n    f = lambda: note(str(e))\n    f()": "try.name",
    "try:\n    number()\nexcept KeyError as e:\n    note(e)": "argument.value",
    "try:\n    number()\nexcept KeyError as e:\n    note(str(e))": ACCEPTED,
    "try:\n    number()\nexcept KeyError as e:\n    note(e.args)": "value.opaque",
    "try:\n    number()\nexcept KeyError as e:\n    x = [e]\n    note(x)": "argument.value",
    "try:\n    number()\nfinally:\n    return": "try.finally",
    "for x in [1]:\n    try:\n        number()\n    finally:\n        break": "try.finally",
    "try:\n    number()\nfinally:\n    raise": "raise.again",
    "raise": "raise.again",
    "try:\n    note([text() for u in users(3)])\nexcept ValueError:\n    pass": "try.comprehension",
    "with p:\n    pass": "unsupported.with",
    "match a:\n    case 1:\n        pass": ACCEPTED,
    "match a:\n    case {}:\n        pass": "unsupported.match",
    "match a:\n    case int(real=1):\n        pass": "unsupported.match",
    "match a:\n    case int(__class__=x):\n        pass": "unsupported.match",
    "match a:\n    case note():\n        pass": "match.class",
    "match range(2):\n    case [x]:\n        pass": "match.sequence",
    "del a": ACCEPTED,
    "del a\nnote(a)": "name.unbound",
    "del zzz": "name.unbound",
    "x = [1]\ndel x[:]": "delete.target",
    "del s[0]": "delete.item",
    "global a": "unsupported.global",
    "def f():\n    nonlocal a": "unsupported.nonlocal",
    "yield 1": "unsupported.generator",
    "await a": "unsupported.async",
    "async def f():\n    pass": "unsupported.async",
    "class X:\n    pass": "unsupported.class",
    "import os": "import.nested",
    "note(*[s])": ACCEPTED,
    "note(**{})": "unsupported.starred",
    "def f(*xs):\n    pass": "unsupported.starred",
    "x, *y = [1, 2]": ACCEPTED,
    "x, *y = []": "error.certain",
    "z = [1] if p else [2]\nx, *y = z": "assign.unpack",
    "d = {**{}}": "unsupported.starred",
    "note(b'x')": "unsupported.constant",
    "note(1j)": "unsupported.constant",
    "note(...)": "unsupported.constant",
    "note(a @ b)": "unsupported.operator",
    "[x := 1 for y in [1]]": "unsupported.walrus",
    "g = (x for x in [1])": "unsupported.generator",
    "note(s.__class__)": "attribute.dunder",
    "note(__name__)": "name.dunder",
    "eval('1')": "builtin.dangerous",
    "exec('1')": "builtin.dangerous",
    "getattr(note, 'x')": "builtin.dangerous",
    "globals()": "builtin.dangerous",
    "open('x')": "builtin.dangerous",
    "type(a)": "builtin.dangerous",
    "map(note, [1])": "builtin.unsupported",
    "nowhere(1)": "name.unknown",
    "note(zzz)": "name.unknown",
    "opaque()": "call.result",
    "note(send)": "argument.value",
    "note(lambda: 1)": "argument.value",
    "pay('x')": "argument.type",
    "pay(1.5)": "argument.type",
    "pay(p)": "argument.type",
    "pay_float(a)": "argument.type",
    "send(s)": "error.certain",
    "send(s, t, 1)": "error.certain",
    "send(s, msg=t, addr=s)": "error.certain",
    "send(s, t, x=1)": "error.certain",
    "rows_of('UserRow', 'x')": "argument.schema",
    "c.only([])": "contract.called",
    "UserRow(email=s)": "error.certain",
    "UserRow(email=s, age=s, active=p)": "error.certain",
    "note(UserRow.email)": "attribute.column",
    "users()[0].nothing": "error.certain",
    "users().append(1)": "list.symbolic",
    "r = users()[0]\nr.email = 'x'": "assign.target",
    "xs = [1, 2]\nxs[0:1] = []": "assign.slice",
    "note('a' + 1)": "error.certain",
    "note(None + 1)": "error.certain",
    "note(a < s)": "error.certain",
    "note([1] < 2)": "error.certain",
    "note(len(a))": "error.certain",
    "note({}['x'])": "error.certain",
    "note([1][5])": "error.certain",
    "note({[]: 1})": "error.certain",
    "for x in a:\n    pass": "error.certain",
    "a()": "error.certain",
    "x, y = 1, 2, 3": "error.certain",
    "note(f % 2.0)": ACCEPTED,
    "note(a & b)": ACCEPTED,
    "note(2 ** a)": "operator.power",
    "note(f ** 2)": "operator.numbers",
    "note('%s' % s)": ACCEPTED,
    "note(s * a)": ACCEPTED,
    "note(s.upper())": ACCEPTED,
    "note(s.split(','))": ACCEPTED,
    "note(s.maketrans())": "attribute.unsupported",
    "note(s.replace(t, 'x'))": ACCEPTED,
    "note(str(f))": ACCEPTED,
    "note(f'{a:05d}')": ACCEPTED,
    "note('{0.x}'.format(a))": "string.format",
    "note(int(s))": ACCEPTED,
    "note(sum([f, 1.0]))": ACCEPTED,
    "note(sorted([a, b]))": ACCEPTED,
    "note(sorted([1], key=note))": "builtin.key",
    "note(re.match(s, t))": "regex.constant",
    "note(bool(re.match('(?i)a', s)))": "regex.unsupported",
    "note(bool(re.match(r'\\w+', s)))": "regex.unsupported",
    "note(bool(re.match(r'a\\b', s)))": "regex.unsupported",
    "note(bool(re.match('(?=a)', s)))": "regex.unsupported",
    "note(bool(re.match(r'(a)\\1', s)))": "regex.unsupported",
    "note(bool(re.match('a(^b)', s)))": "regex.unsupported",
    "note(math.cbrt(f))": "import.unmodelled",
    "note(f in [f])": ACCEPTED,
    "note([f] == [f])": ACCEPTED,
    "note(a is b)": "operator.is",
    "note(send == pay)": "operator.equality",
    "for x in {1, 2}:\n    note(x)": "loop.set",
    "for ch in s:\n    note(ch)": ACCEPTED,
    "xs = [1]\nfor x in xs:\n    xs.append(x)": "loop.mutation",
    "d = {'a': 1}\nfor k in d:\n    d.pop(k)": "loop.mutation",
    "xs = [3, 1]\nxs.sort(key=lambda x: xs[0])": "list.sorted",
    "xs = [u.age for u in users()]\nxs.sort(key=lambda x: 10 // len(xs))": "list.sorted",
    "xs = [u.age for u in users()]\nys = sorted(xs, key=lambda x: len(xs))\nys.sort(key=lambda x: len(xs))": ACCEPTED,
    "xs = [u.age for u in users()]\nxs.extend(zip(xs, [number(), 1, 2]))": "loop.mutation",
    "xs = [u.age for u in users()]\nxs += enumerate(xs)": "loop.mutation",
    "xs = {u.age for u in users()}\nxs.update(zip(xs))": "loop.mutation",
    "d = {u.age: 'a' for u in users()}\nd[True] = 'b'": "dict.keys",
    "d = {u.age: 'a' for u in users()}\nd.update({u.active: 'b' for u in users()})": "dict.keys",
    "d = {(u.age, 'x'): 1 for u in users()}\nd[p, 'x'] = 2": "dict.keys",
    "d = dict([(u.age, 'a') for u in users()] + [(1.0, 'b')])": "dict.keys",
    "d = {1: 'a'}\nfor u in users():\n    d[u.active] = 'b'": "dict.keys",
    "d = {u.age: 'a' for u in users()}\nd['x'] = 'b'\nd[None] = 'c'\nd[1] = 'd'": ACCEPTED,
    "xs = [1]\nnote([x for x in xs if xs.append(2)])": "loop.mutation",
    "xs = [1]\nnote(any(xs.append(2) for x in xs))": "loop.mutation",
    "d = {'a': 1}\nnote(sorted(d.keys(), reverse=bool(d.update({'b': 2}))))": "loop.mutation",
    "note(sum(['a'], ''))": "error.certain",
    "note('{} {0}'.format(a))": "error.certain",
    "note([1].index(1, 0))": "method.arguments",
    "xs = []\nxs.append(xs)\nnote(xs)": "limits.depth",
    "it = zip([1], [2])": "iterator.kept",
    "it = enumerate([1])": "iterator.kept",
    "ks = {'a': 1}.keys()": "iterator.kept",
    "for i in range(20000):\n    pass": "limits.iterations",
    "{1, 2}.pop()": "attribute.unsupported",
    "def f(x=[]):\n    pass": "default.literal",
    "def f(x=number()):\n    pass": "default.literal",
    "f = lambda x=number(): x": "default.literal",
    "def f():\n    f()\nf()": "call.recursion",
    "def f():\n    g()\ndef g():\n    f()\nf()": "call.recursion",
    "@note\ndef f():\n    pass": "decorator.unknown",
    "raise s": "raise.class",
    # Python makes a FileNotFoundError of it, and a TypeError of the next.
    "try:\n    raise OSError(2, s)\nexcept FileNotFoundError:\n    note(s)\nexcept OSError:\n    pass": "raise.class",
    "try:\n    raise ValueError(s) from 3\nexcept ValueError:\n    pass\nexcept TypeError:\n    note(s)": "raise.cause",
    "try:\n    note(s)\nexcept ValueError as e:\n    raise OSError(s) from e": ACCEPTED,
    "def f(x: note(1)):\n    pass": "annotation.expression",
    "x: note(1) = 1": "annotation.expression",
    "x = 'x' * 10 ** 9": "limits.term",
    "x = 2 ** 10 ** 9": "limits.term",
    "x = [0] * 10 ** 9": "limits.items",
    "x = 1 << 10 ** 9": "limits.term",
    "note('\\ud800')": "string.character",
    "note('\\U00030000')": "string.character",
    "note(x)\nx = 1": "name.unbound",
}


@pytest.mark.parametrize("body", BODIES)
def test_body_is_rejected_with_a_code(body: str) -> None:
    assert outcome_of(body, "a: int, b: int, s: str, t: str, p: bool, f: float") == BODIES[body]


LOOPS = {
    "n = 0\nfor row in users():\n    n = n + 1": ACCEPTED,
    "n = 0\nfor row in users():\n    n += row.age": ACCEPTED,
    "x = 1\nfor row in users():\n    note(x)\n    x = 2": ACCEPTED,
    "x = 1\nfor row in users():\n    x = row.age\nnote(x)": ACCEPTED,
    "for row in users():\n    pass\nnote(row.age)": ACCEPTED,
    "for row in users():\n    if row.active:\n        y = 1\n    note(y)": ACCEPTED,
    "xs = []\nfor row in users():\n    xs.append(row.age)": ACCEPTED,
    "d = {}\nfor row in users():\n    d[row.email] = 1": ACCEPTED,
    "xs = []\ndef add(x):\n    xs.append(x)\nfor row in users():\n    add(1)": ACCEPTED,
    "for row in users():\n    break": ACCEPTED,
    "for row in users():\n    return": ACCEPTED,
    "for row in users():\n    row = 1": ACCEPTED,
    "for row in users():\n    for row in users():\n        pass": ACCEPTED,
    "x = 1\ndef show():\n    note(x)\nfor row in users():\n    show()\n    x = 2": ACCEPTED,
    "for row in users():\n    if row.active:\n        continue\n    x = 1\n    note(x)\nnote(x)": ACCEPTED,
    "xs = [[r.age] for r in users()]": ACCEPTED,
    "xs = list([r.age] for r in users())": ACCEPTED,
    "xs = [(lambda: r.age) for r in users()]": "comprehension.item",
    "xs = {r.age for r in users()}": ACCEPTED,
    "xs = [x for r in users() for x in [1]]": "comprehension.symbolic",
    "note(sum([r.age for r in users()]))": ACCEPTED,
    "note(any(r.active for r in users()))": ACCEPTED,
    "note(len([r for r in users() if r.active]))": ACCEPTED,
    "note([r.age for r in users() if r.active][0])": ACCEPTED,
    "note([r.age for r in users()])": ACCEPTED,
    "for n in names() + ['x']:\n    pass": ACCEPTED,
}


@pytest.mark.parametrize("body", LOOPS)
def test_loop_over_a_list_of_unknown_length_is_read_or_rejected_with_a_code(body: str) -> None:
    assert outcome_of(body) == LOOPS[body]


FILES = {
    "import os\n": "import.unknown",
    "import os.path.posixpath\n": "import.unknown",
    "from subprocess import run\n": "import.unknown",
    "from tools.desk.trusted.effects import *\n": "import.star",
    "from . import x\n": "import.relative",
    "from tools.desk.trusted.effects import nobody\n": "import.missing",
    "from tools.desk.trusted.effects import _private\n": "import.object",
    "from tools.desk import untrusted\n": "import.missing",
    "from math import cbrt\n": "import.unmodelled",
    "from lictor_layer import trusted\n": "agent.declares",
    "from lictor_layer import contract\n": "agent.declares",
    "from clauz3.policy import domain_policy\n": "agent.declares",
    "import clauz3.spec\n": "agent.declares",
    "from deal import pre\n": "agent.declares",
    "send = 1\n": "module.rebound",
    "c = 1\n": "module.rebound",
    "lictor_layer = 1\n": "module.rebound",
    "def send(addr, msg):\n    pass\n": "module.rebound",
    "X = 1\nX = 2\n": "module.rebound",
    "X = number()\n": "module.literal",
    "X = [send]\n": "module.literal",
    "X = lambda: 1\n": "module.literal",
    "send('a', 'b')\n": "module.statement",
    "if True:\n    pass\n": "module.statement",
    "for x in [1]:\n    pass\n": "module.statement",
    "assert True\n": "module.statement",
    'if __name__ == "__main__":\n    main()\n': "module.statement",
    "X, Y = 1, 2\n": "module.statement",
    "def f(x=number()):\n    pass\n": "default.literal",
    "@note\ndef f():\n    pass\n": "decorator.unknown",
    "@c.only([])\ndef f():\n    pass\n": "decorator.unknown",
    "@lictor_layer.guarantee(c.only([]))\ndef f():\n    pass\n": "decorator.unknown",
    "def f() -> send('a', 'b'):\n    pass\n": "annotation.expression",
    "class X:\n    pass\n": "unsupported.class",
    "class X(dict):\n    pass\n": "unsupported.class",
    "class X(lictor_layer.Row):\n    a: list\n": "row.column",
    "class X(lictor_layer.Row):\n    a: int = 1\n": "row.column",
    "class X(lictor_layer.Row):\n    def f(self):\n        pass\n": "row.column",
    "class X(lictor_layer.Row):\n    note(1)\n": "row.column",
    "class X(lictor_layer.Row):\n    _a: int\n": "row.column",
    "class X(lictor_layer.Row):\n    (a): int\n": "row.column",
    "class X(lictor_layer.Row, metaclass=note):\n    pass\n": "unsupported.class",
    "def f():\n    import os\n": "import.nested",
    "def f():\n    while True:\n        pass\n": ACCEPTED,
    "def main():\n    pass\n": "module.rebound",
    "def unused():\n    eval\n    x.__dict__\n": "attribute.dunder",
}


@pytest.mark.parametrize("before", FILES)
def test_file_is_rejected_with_a_code(before: str) -> None:
    assert outcome_of("pass", before=before) == FILES[before]


GUARANTEES = {
    "@lictor_layer.guarantee": "guarantee.grammar",
    "@lictor_layer.guarantee()": "guarantee.grammar",
    "@lictor_layer.guarantee(c.only)": "guarantee.grammar",
    "@lictor_layer.guarantee(c.only([]), c.only([]))": "guarantee.grammar",
    "@lictor_layer.guarantee(spec=c.only([]))": "guarantee.grammar",
    "@lictor_layer.guarantee('only')": "guarantee.grammar",
    "@lictor_layer.guarantee(True)": "guarantee.grammar",
    "@lictor_layer.guarantee(lambda: True)": "guarantee.grammar",
    "@lictor_layer.guarantee(c.only(X))": "guarantee.grammar",
    "@lictor_layer.guarantee(c.only(['a' + 'b']))": "guarantee.grammar",
    "@lictor_layer.guarantee(c.only([number()]))": "guarantee.grammar",
    "@lictor_layer.guarantee(send('a', 'b'))": "guarantee.grammar",
    "@lictor_layer.guarantee(helper())": "guarantee.grammar",
    "@lictor_layer.guarantee(c.only([]) if True else c.nothing())": "guarantee.grammar",
    "@lictor_layer.guarantee(c.nobody())": "import.missing",
    "@lictor_layer.guarantee(c.only('bob'))": "guarantee.arguments",
    "@lictor_layer.guarantee(c.only())": "guarantee.arguments",
    "@lictor_layer.guarantee(c.exactly(lictor_layer.FilePath('../x')))": "guarantee.literal",
    "@note": "decorator.unknown",
    "@c.only([])": "decorator.unknown",
    "@lictor_layer.trusted": "agent.declares",
}


@pytest.mark.parametrize("stated", GUARANTEES)
def test_guarantee_is_a_contract_with_literals(stated: str) -> None:
    source = program("pass", before="X = ['a']\ndef helper():\n    pass\n", guarantee=stated)
    assert rejection(source).code == GUARANTEES[stated]


TARGETS = {
    "": "target.missing",
    "def other():\n    pass\n": "target.missing",
    "if True:\n    def main():\n        pass\n": "module.statement",
    "def outer():\n    def main():\n        pass\n": "target.missing",
    "main = lambda: None\n": "module.literal",
    "async def main():\n    pass\n": "unsupported.async",
    "def main():\n    yield\n": "unsupported.generator",
    "def main(x):\n    pass\n": "input.type",
    "def main(x: list):\n    pass\n": "input.type",
    "def main(x: int = 1):\n    pass\n": "input.default",
    "def main(*xs):\n    pass\n": "unsupported.starred",
    "def main():\n    main()\n": "value.opaque",
}


SCRIPTS = {
    'if __name__ == "__main__":\n    main()\n': ACCEPTED,
    'if "__main__" == __name__:\n    main()\n': "name.dunder",
    'if __name__ != "__main__":\n    main()\n': "name.dunder",
    'if __name__ == "program":\n    main()\n': "name.dunder",
    'if __name__ == "__main__":\n    main()\n    main()\n': "name.dunder",
    'if __name__ == "__main__":\n    main()\nelse:\n    main()\n': "name.dunder",
    'if __name__ == "__main__":\n    helper()\n': "module.statement",
    'if __name__ == "__main__":\n    note("x")\n': "name.dunder",
    'if __name__ == "__main__":\n    main(1)\n': "name.dunder",
}


@pytest.mark.parametrize("after", SCRIPTS)
def test_as_a_script_a_program_only_calls_its_target(after: str) -> None:
    source = program("note('x')", before="def helper():\n    pass\n") + after
    if SCRIPTS[after] == ACCEPTED:
        assert [atom.effect for atom in read(source).atoms] == ["note"]
    else:
        assert rejection(source).code == SCRIPTS[after]


@pytest.mark.parametrize("source", TARGETS)
def test_target_is_one_plain_function(source: str) -> None:
    assert rejection(source).code == TARGETS[source]


BAD = {
    "def main(:": "source.syntax",
    "def main():\n    break\n": "source.syntax",
    "def main(x: int, x: int):\n    pass\n": "source.syntax",
    "def main():\n    pass\0\n": "source.syntax",
    "x = '\ud800'\n": "source.encoding",
    "x = 1\n" * 100_000: "limits.source",
    "x = " + "(" * 10_000 + "1" + ")" * 10_000: "source.syntax",
    "x = " + "[" * 150 + "]" * 150: "limits.depth",
    "x = " + "-" * 5_000 + "1": "limits.depth",
    "def main():\n    x = a" + ".b" * 5_000: "limits.depth",
}


@pytest.mark.parametrize("number", range(len(BAD)))
def test_source_that_cannot_be_read_is_rejected(number: int) -> None:
    source, code = list(BAD.items())[number]
    found = rejection(source).code
    assert found == code or found == "limits.depth"


def test_only_annotations_come_from_the_future() -> None:
    assert rejection("from __future__ import division\n").code == "import.future"


def test_rejection_tells_line_and_column() -> None:
    reason = rejection(program("note(1)\nnote(2 + x)"))
    assert (reason.line, reason.column) == (FIRST + 1, 14)


def test_column_counts_characters() -> None:
    reason = rejection(program("note('é' + x)"))
    assert (reason.line, reason.column) == (FIRST, 16)


def test_error_in_a_helper_is_told_where_it_stands() -> None:
    reason = rejection(program("f(1)", before="def f(x):\n    return x + 'a'\n"))
    assert reason.line == HEAD.count("\n") + 2


def test_ten_thousand_calls_are_the_limit() -> None:
    assert (
        code_of("for i in range(101):\n    for j in range(100):\n        note(i)") == "limits.atoms"
    )


def test_many_alternatives_are_refused() -> None:
    lines = "\n".join(f"if a == {n}:\n    x = {'[' + '1,' * n + ']'}" for n in range(40))
    assert code_of(f"x = None\n{lines}\nnote(x)", "a: int") == "limits.alternatives"


def test_as_many_parameters_are_taken_as_values_can_be_given_to() -> None:
    """What a result can't tell of, or nobody can ever submit, gets a reason and no verdict."""

    def many(count: int) -> str:
        return ", ".join(f"a{n}: int" for n in range(count))

    assert len(read(program("pass", many(100))).inputs) == 100
    assert code_of("pass", many(101)) == code_of("pass", many(1001)) == "limits.parameters"
    assert len(read(program("pass", f"{'p' * 256}: int")).inputs) == 1
    assert code_of("pass", f"{'p' * 257}: int") == "limits.name"


def test_deep_calls_are_refused() -> None:
    helpers = (
        "".join(f"def f{n}():\n    f{n + 1}()\n" for n in range(40)) + "def f40():\n    pass\n"
    )
    assert code_of("f0()", before=helpers) == "limits.calls"


def test_doubling_is_stopped() -> None:
    assert code_of("x = s\n" + "x = x + x\n" * 64 + "note(x)", "s: str") == "limits.term"
    assert code_of("x = a\n" + "x = x + x\n" * 64 + "note(x)", "a: int") == "limits.term"
    assert code_of("x = [s]\n" + "x = x + x\n" * 64 + "note(x)", "s: str") == "limits.items"
