"""Documents predict what programs do: every construct, over inputs that nobody knew when the program was read."""

from __future__ import annotations

from typing import Any

import pytest
from .python_front_end import concrete, plain, predicted, program, read

PARAMETERS = "a: int, b: int, s: str, t: str, p: bool, q: bool, f: float"
INPUTS: list[dict[str, Any]] = [
    dict(zip("abstpqf", values, strict=True))
    for values in (
        (0, 0, "", "", False, False, 0.0),
        (1, 2, "ab", "b", True, False, 1.5),
        (-7, 2, "bob@example.com", "@", False, True, -0.0),
        (7, -2, "a,b,,c", ",", True, True, float("nan")),
        (-3, -3, "x", "xyz", False, True, float("inf")),
        (5, 3, "hello\n", "l", True, False, 2.0),
        (2, 0, "42", "4", False, False, -2.5),
        (10**30, 7, "éé", "é", True, True, 1e300),
        (3, 1, "aaaa", "aa", True, False, 0.1),
        (4, 4, "/tmp/x", "/tmp/", False, True, 3.0),
    )
]

PROGRAMS = {
    # numbers
    "arithmetic": "note(a + b - 3)\nnote(a * b)\nnote(-a)\nnote(+p)\nnote(~a)\nnote(abs(a - b))",
    "floor division and modulo": "if b != 0:\n    note(a // b)\n    note(a % b)\n    note(divmod(a, b))",
    "division that may fail": "note(a // b)\nnote('after')",
    "true division": "if b != 0 and abs(a) < 100:\n    note(a / b)",
    "powers": "note(a ** 3)\nnote(a ** 0)\nnote(2 ** 10)\nnote(2 ** -1)\nnote(pow(a, 2))",
    "bools are numbers": "note(p + q)\nnote(p * 3)\nnote(p & q)\nnote(p | q)\nnote(p ^ q)\nnote(-p)\nnote(True + True)",
    "mixed with floats": "if abs(a) < 10:\n    note(a + f)\n    note(a * f)\n    note(f - p)",
    "float division": "if f != 0:\n    note(a / 2 / f if abs(a) < 99 else 0)",
    "comparisons": "note(a < b)\nnote(a <= b < 5)\nnote(a == b == 0)\nnote(p < q)\nnote(a < f)\nnote(f == a)\nnote(f != f)\nnote(p == 1)\nnote(p == f)",
    "chained comparison evaluates once": "note(0 <= number() < 5)\nnote(1 < number() < number())",
    "clamps": "note(min(a, 5))\nnote(max(a, b, 3))\nnote(min(f, 1.0))\nnote(max(1.0, f))\nnote(min(s, t))\nnote(min([a, b]))\nnote(max(a, f))",
    "sums": "note(sum([a, b, 3]))\nnote(sum([], 4))\nnote(sum([p, q]))\nnote(sum(x * 2 for x in [a, b]))",
    "bit operations on known numbers": "note(6 & 3)\nnote(6 | 1)\nnote(6 ^ 3)\nnote(1 << 4)\nnote(-8 >> 1)",
    "rounding of known numbers": "note(round(2.5))\nnote(round(3.5))\nnote(round(2.675, 2))\nnote(int(-2.7))\nnote(math.floor(-2.5))",
    "conversions": "note(int(p))\nnote(bool(a))\nnote(bool(s))\nnote(bool(f))\nnote(str(a))\nnote(str(p))\nnote(float(2))\nnote(int('12'))\nnote(int(' -7 '))\nnote(str(None))\nnote(repr('x'))",
    "int of a float input fails for nan": "if abs(a) < 10:\n    note(float(a))",
    "math": "note(math.isnan(f))\nnote(math.isinf(f))\nnote(math.isfinite(f))\nnote(math.fabs(f))\nnote(math.floor(a))",
    # strings
    "concatenation": "note(s + t)\nnote(s + '-' + t + '!')\nnote('ab' * 3)\nnote(s * 2)\nnote(3 * 'x' + s)",
    "f-strings": "note(f'{s}-{a}-{p}')\nnote(f'{s!s}|{None}|{1.5}|{3:03d}|{\"x\":>4}')\nnote(f'{{}}{s}')",
    "format": "note('{}-{}'.format(s, a))\nnote('{1}{0}'.format(s, t))\nnote('{x!s}'.format(x=p))",
    "starts and ends": "note(s.startswith(t))\nnote(s.endswith(t))\nnote(s.startswith(('a', 'b')))\nnote(s.endswith(''))",
    "find": "note(s.find(t))\nnote(s.find('b'))\nnote(s.find('a', 1))\nnote(s.find(t, a % 5))\nnote(s.find('a', -2))\nnote(t in s)\nnote(t not in s)\nnote('' in s)",
    "index of a string": "note(s.index(t))",
    "count and replace": "note(s.count('a'))\nnote(s.count(','))\nnote(s.replace('a', t))\nnote(s.replace('aa', 'b'))",
    "prefixes": "note(s.removeprefix('/tmp/'))\nnote(s.removesuffix('\\n'))\nnote(s.removesuffix(''))\nnote(s.removeprefix(t))",
    "length": "note(len(s))\nnote(len(s) > 3)\nnote(len(s + t))",
    "slices": "note(s[1:])\nnote(s[:2])\nnote(s[-2:])\nnote(s[:-1])\nnote(s[1:3])\nnote(s[5:2])\nnote(s[-100:100])\nnote(s[:])",
    "slices by numbers": "if abs(a) < 50 and abs(b) < 50:\n    note(s[a:])\n    note(s[:b])\n    note(s[a:b])",
    "index of a character": "note(s[0])\nnote(s[-1])",
    "index by a number": "if 0 <= a < len(s):\n    note(s[a])\nif -len(s) <= b < 0:\n    note(s[b])",
    "comparison of strings": "note(s < t)\nnote(s <= t)\nnote(s == t)\nnote('a' <= s < 'c')\nnote(s == 1)\nnote(s != None)",
    "known strings": "note('Ab'.upper() + ' x '.strip())\nnote('a,b'.split(','))\nnote('-'.join(['a', s, t]))\nnote('abc'[::-1])\nnote('x'.center(5, '*'))\nnote('a\\nb'.splitlines())\nnote('A1'.isalnum())",
    "join of what may be missing": "xs = ['a']\nif p:\n    xs.append(s)\nnote(','.join(xs))",
    "regular expressions": "note(bool(re.match('a+', s)))\nnote(re.fullmatch(r'[a-z]+', s) is not None)\nnote(bool(re.search(r'\\d', s)))\nif re.fullmatch(r'(a|b)*', s):\n    note('ab')\nnote(re.match('hello$', s) is None)\nnote(re.fullmatch('hello$', s) is None)\nnote(re.search(r'o\\Z', s) is None)",
    "compiled expressions": "shape = re.compile(r'.*@.*')\nm = shape.fullmatch(s)\nif m is not None:\n    note(m.group())\nnote(bool(shape.search(t)))",
    # truth and short circuit
    "truth": "note(not a)\nnote(not s)\nnote(not f)\nnote(not [])\nnote(not None)\nnote(a and b)\nnote(a or b)\nnote(s or t)\nnote(s and a)\nnote(p or None)",
    "short circuit": "p and note('p')\nq or note('q')\nif p and ask('one') or ask('two'):\n    note('yes')\nnote(ask('x') and number())",
    "ternary": "note(a if p else s)\nnote((number() if p else 0) + 1)\nnote(1 if a > b else 2.0 if q else None)",
    "conditions": "if a > b:\n    note('gt')\nelif a == b:\n    note('eq')\nelif p:\n    note('p')\nelse:\n    note('else')\nnote('end')",
    "nested conditions": "if p:\n    if q:\n        note(1)\n    else:\n        a = 5\n        note(2)\n    note(a)\nelse:\n    b = a\nnote(a + b)",
    "none": "x = None\nif p:\n    x = s\nif x is not None:\n    note(x + '!')\nelse:\n    note('none')\nnote(x)\nnote(x is None)\nif x:\n    note(len(x))",
    "values of different types": "x = 1\nif p:\n    x = 'one'\nelif q:\n    x = [1]\nnote(x)\nnote(x == 1)\nnote(x == 'one')\nnote(x == [1.0])\nnote(isinstance(x, str))\nnote(bool(x))",
    "is with constants": "note(p is True)\nnote(a is True)\nnote((s or None) is None)",
    "walrus": "if (n := number()) > 0:\n    note(n)\nnote(n)",
    # assignment
    "augmented": "a += 1\na *= 2\ns += 'x'\na -= b\nnote(a)\nnote(s)\nxs = [1]\nys = xs\nxs += [a]\nnote(ys)\nxs[0] += 5\nnote(xs)",
    "unpacking": "x, y = a, b\nx, y = y, x\nnote(x - y)\n(u, v), w = (1, s), p\nnote([u, v, w])\n[m, n] = [3, 4]\nnote(m * n)\nfor k, v in [(1, s), (2, t)]:\n    note(k)\n    note(v)",
    "chained": "x = y = [a]\nx.append(1)\nnote(y)",
    "annotated": "x: int = a\ny: 'list[int]' = [x]\nnote(y)",
    "unbound on one path": "if p:\n    x = 1\nnote(x)",
    # containers
    "lists": "xs = [a, 1]\nxs.append(b)\nxs.insert(0, 9)\nnote(xs)\nnote(xs.pop())\nnote(xs.pop(0))\nxs.extend((4, 5))\nxs.reverse()\nnote(xs)\nnote(xs + [7])\nnote(xs * 2)\nnote(xs[1:])\nnote(xs[::-1])\nxs.remove(5)\nnote(xs)\nnote(xs.copy() == xs)\nxs.clear()\nnote(xs)",
    "list searches": "xs = [1, a, 2]\nnote(1 in xs)\nnote(a in xs)\nnote(b in xs)\nnote(xs.count(a))\nnote(xs.count(True))\nnote(xs.index(a))\nnote(True in [1, 2])\nnote(1.0 in [1])\nnote((1,) == [1])\nnote([1, True] == [True, 1.0])",
    "list index by a number": "xs = [10, 20, 30]\nif -3 <= a < 3:\n    note(xs[a])\n    xs[a] = 5\n    note(xs)",
    "list index that may fail": "xs = [10, 20]\nnote(xs[a])",
    "guarded lists": "xs = []\nif p:\n    xs.append(s)\nif q:\n    xs.append('q')\nxs.append('end')\nfor x in xs:\n    note(x)\nnote(len(xs))\nnote(xs)\nnote('q' in xs)\nnote(xs[0])\nnote(xs == ['end'])\nnote([x + '!' for x in xs if x != 'q'])\nfor i, x in enumerate(xs):\n    note(i)\nnote(list(xs))",
    "lists changed on one path": "xs = [1, 2, 3]\nys = xs\nif p:\n    xs[0] = a\nelse:\n    xs = [9]\nnote(xs)\nnote(ys)\nif q:\n    ys.clear()\nnote(ys)\nnote(len(ys))",
    "aliases chosen by path": "xs, ys = [1], [2]\nzs = xs if p else ys\nzs.append(a)\nnote(xs)\nnote(ys)\nnote(zs)",
    "dicts": "d = {'a': a, 'b': 2}\nd['c'] = b\nd['a'] = 0\nnote(d)\nnote(d.get('x'))\nnote(d.get('a', 5))\nnote(d.pop('b'))\nnote('b' in d)\nfor k in d:\n    note(k)\nfor k, v in d.items():\n    note((k, v))\nnote(list(d.values()))\nd.update({'z': 1})\nnote(d | {'a': 7})\nnote(d.setdefault('a', 9))\nnote(len(d))\nnote(d == {'z': 1, 'a': 0, 'c': b})",
    "dicts with unknown keys": "d = {s: 1, 'ab': 2}\nd[t] = 3\nnote(d)\nnote(d.get(s))\nnote(s in d)\nnote(len(d))\nnote(d['ab'])\nd.pop(t)\nnote(d)\nfor k in d:\n    note(k)",
    "dict keys that are equal numbers": "d = {1: 'i', True: 'b'}\nnote(d)\nd[a] = 'a'\nnote(d[1.0])\nnote(d)",
    "dict changed on one path": "d = {'k': 1}\nif p:\n    d['n'] = a\nif q:\n    d['k'] = 5\nnote(d)\nnote(d.get('n', 0))\nfor k, v in d.items():\n    note(v)",
    "dict key that may be missing": "d = {s: 1}\nnote(d[t])",
    "sets": "u = {1, a, 2}\nu.add(b)\nnote(u)\nnote(a in u)\nnote(len(u))\nu.discard(1)\nnote(u)\nnote({1, 2} | {2, 3})\nnote({1, 2} & {a})\nnote({1, 2, 3} - {b})\nnote({1, 2} ^ {2, 5})\nnote({1} <= {1, 2})\nnote(sorted({3, 1, 2}))\nnote(u.issubset({0, 1, 2, a, b}))\nnote({1, 2} == {2, True})\nnote(set([1, 1, 2]))",
    "set remove that may fail": "u = {1, 2}\nu.remove(a)\nnote(u)",
    "tuples": "x = (a, s)\nnote(x)\nnote(x[0])\nnote(x + (1,))\nnote(len(x))\nnote((1, 2) < (1, 3))\nnote(x == (a, s))\nnote((a,) * 2)\nnote(s in x)\nnote((1, 2).index(2))",
    "nested containers": "xs = [[1], [a]]\nys = xs[0]\nys.append(b)\nnote(xs)\nd = {'k': xs}\nd['k'][1].append(3)\nnote(xs)\nnote(d)\nzs = [ys] * 2\nzs[0].append(0)\nnote(zs)",
    # loops
    "range": "for i in range(3):\n    note(i + a)\nfor i in range(5, 0, -2):\n    note(i)\nfor i in range(2, 4):\n    pass\nnote(i)\nnote(list(range(3)))\nnote(3 in range(5))\nnote(a in range(2, 6))",
    "range of an unknown number": "for i in range(a % 5):\n    note(i * 2)\nfor i in range(a % 4 - 2, b % 5):\n    note(i)",
    "accumulators": "total = 0\nfor x in [a, b, 3]:\n    total += x\n    if total > 5:\n        note(total)\nnote(total)",
    "break and continue": "for i in range(5):\n    if i == a:\n        continue\n    if i > b:\n        break\n    note(i)\nelse:\n    note('all')\nnote('end')",
    "break carries state": "x = 0\nfor i in [1, 2, 3]:\n    x += i\n    if a == i:\n        x = 100\n        break\n    if b == i:\n        x += 10\n        continue\n    x += 1\nnote(x)",
    "nested loops": "for i in range(3):\n    for j in range(3):\n        if j == a:\n            break\n        if i == b:\n            continue\n        note((i, j))\n    else:\n        note('row')",
    "return in a loop": "for i in range(4):\n    if i == a:\n        return\n    note(i)\nnote('end')",
    "zip, enumerate, reversed": "for x, y in zip([1, 2], [a, b, 3]):\n    note(x * y)\nfor i, x in enumerate(['u', s], 1):\n    note(f'{i}{x}')\nfor x in reversed([a, b]):\n    note(x)\nfor ch in 'xy':\n    note(ch + s)",
    "comprehensions": "note([x * a for x in range(4) if x != b])\nnote({x % 3 for x in range(5)})\nnote({k: v for k, v in [('x', a), (s, b)]})\nnote([x + y for x in (1, 2) for y in (a, b) if x < y])\nx = 5\n[note(x) for x in [1, 2]]\nnote(x)",
    "any and all": "note(any(x > a for x in [1, 5]))\nnote(all([p, q]))\nif any(ask(q2) for q2 in ['x', 'y', 'z']):\n    note('some')\nif all(ask(q3) and p for q3 in ['u', 'v']):\n    note('every')\nnote(any([]))\nnote(all(x for x in [a, b] if x > 1))",
    "loop over rows": "for row in users():\n    note(row.email)\n    if row.active:\n        note(row.age + a)\n        continue\n    note('idle')\nnote('end')",
    "nested loops over rows": "for row in users():\n    for name in names():\n        note(name + row.email)\n    note(row.age)",
    "calls in a loop over rows": "for row in users():\n    if ask(row.email):\n        n = number()\n        note(n)\n    else:\n        n = 0\n    note(n + 1)",
    "rows": "rows = users()\nnote(len(rows))\nif rows:\n    note(rows[0].email)\n    note(rows[-1].age)\nfor i, row in enumerate(rows):\n    note((i, row.email))\nfor row in reversed(rows):\n    note(row.age)\nfor row in rows[1:]:\n    note(row.email)\nemails = [r.email for r in rows if r.age > 0]\nfor e in emails:\n    note(e)\nages = [r.age * 2 for r in rows]\nnote(len(ages))\nif ages:\n    note(ages[0])",
    "rows by index in a loop": "rows = users()\nfor i in range(len(rows)):\n    note(rows[i].email)",
    "effects in a comprehension over rows": "xs = [number() + r.age for r in users()]\nfor x in xs:\n    note(x)\nfor x in xs:\n    note(-x)",
    "results of names": "for name in names():\n    send(name, s)\nxs = names()\nnote('bob' in xs)\nfor name in xs if p else ['k']:\n    note(name)",
    "rows made by the program": "u = UserRow(email=s, age=a, active=p)\nnote(u.email)\nnote(u.age + 1)\nnote(u)",
    "rows chosen by path": "rows = users()\nif len(rows) > 1:\n    row = rows[0] if p else rows[1]\n    note(row.email)",
    # functions
    "helpers": "def twice(x, y=1):\n    note(x)\n    return x * 2 + y\nnote(twice(a))\nnote(twice(x=b, y=0))\nnote(twice(twice(1), 2))",
    "early returns": "def sign(n):\n    if n < 0:\n        note('neg')\n        return -1\n    if n == 0:\n        return 0\n    note('pos')\n    return 1\nnote(sign(a) + sign(b))",
    "helper that gives nothing": "def f(x):\n    if x > 0:\n        return x\nnote(f(a))\nif f(b) is None:\n    note('nothing')",
    "helper that changes its argument": "def grow(xs):\n    if p:\n        xs.append(1)\n        return\n    xs.append(2)\nxs = []\ngrow(xs)\ngrow(xs)\nnote(xs)",
    "closures": "x = 1\ndef show():\n    note(x)\nx = a\nshow()\nfs = [lambda: x, lambda y: x + y]\nx += 1\nnote(fs[0]())\nnote(fs[1](10))\ngs = [lambda: i for i in range(3)]\nnote([g() for g in gs])\nhs = []\nfor i in range(3):\n    hs.append(lambda: i)\nnote([h() for h in hs])",
    "functions as values": "def one():\n    note(1)\ndef two():\n    note(2)\nf = one if p else two\nf()\nd = {'x': one, 'y': two}\nd['y']()\n(send if q else lambda x, y: note(x))('u', 'v')",
    "factories": "def make(n):\n    def inner(x):\n        return x + n\n    return inner\nadd = make(a)\nnote(add(1))\nnote(make(2)(b))",
    "returns in loops of helpers": "def first(xs):\n    for x in xs:\n        if x > a:\n            note('found')\n            return x\n    return None\nnote(first([1, 5, 9]))\nnote(first([]))",
    "nested functions share their frame": "def outer():\n    k = 1\n    def inner():\n        return k + 1\n    k = 5\n    return inner()\nnote(outer())",
    "shadowed builtins": "len = lambda x: 42\nnote(len(s))\ndef max(x):\n    return x\nnote(max(a))",
    "results": "n = number()\nif n > 0:\n    note(n)\nx = text()\nnote(x + s)\nnote(x == 'bob')\nr = rate()\nnote(r < 1.0)\nnote(r * 2)\nnote(ask(x))",
    # errors
    "assertions": "note(1)\nassert a > 0\nnote(2)\nassert p, note('message')\nnote(3)",
    "raises": "note(1)\nif a < 0:\n    raise ValueError(f'bad {a}')\nnote(2)\nif p:\n    raise RuntimeError\nnote(3)",
    "raise in a helper": "def check(x):\n    if x > 3:\n        raise ValueError('big')\n    return x\nnote(check(a))\nnote(check(b))",
    "errors in one of several values": "x = s if p else None\nnote(len(x))\nnote(x + 'y')",
    "keys and values of several types": "k = 'x' if p else 1\nd = {k: a}\nnote(d)\nnote(d.get('x'))\nnote(1 in d)",
    "attributes of modules": "note(math.pi)\nnote(math.inf > f)",
}

BEYOND = {
    "int of a float input fails for nan",
    "float division",
    "true division",
}
"""Programs whose documents may demand more than Python does."""


@pytest.mark.parametrize("name", PROGRAMS)
def test_document_predicts_the_run(name: str) -> None:
    source = program(PROGRAMS[name], PARAMETERS)
    document = read(source)
    for inputs in INPUTS:
        calls, error = concrete(source, inputs)
        steps, failed = predicted(document, inputs)
        told = f"{inputs}: {calls} {error!r}, predicted {steps}"
        if error is not None:
            assert failed, told
            steps = steps[: len(calls)]
        elif name not in BEYOND:
            assert not failed, told
        assert plain([list(each) for each in calls]) == plain([list(each) for each in steps]), told
