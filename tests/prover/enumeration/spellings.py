"""Expressions that are tried on every kind: x and y are values of some kind, m is a match or None."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping

UNARY = (
    "-x", "+x", "~x", "not x", "x if x else 1", "1 if x else 2", "bool(x)", "not not x",
)  # fmt: skip

SPECS = (
    "", "3", ">3", "<3", "^5", "=5", "03", "d", "+d", "5d", "05d", ",", "_", "x", "#x", "b", "c", "n", "s",
    "5s", ".1", ".0f", ".2f", "f", "e", "g", "%", "+.1f", "z.1f", "*^7", "r", "{", "é>3", "1.5",
)  # fmt: skip

PATTERNS = (
    "", "a", "a+", "a*", "^a", "a$", "a\\Z", "a|b", "(a)", "(a)(b)?", "[a-c]+", "[^a]", ".", ".+", "\\d",
    "\\d+", "\\s", "\\w", "\\D", "a{2}", "a{1,2}", "a+?", "(?:a)", "(?P<n>a)", "a.b", "é", "\\.", "(?i)a",
    "(?=a)", "a(?!b)", "(a)\\1", "^", "$", "^$", "(", "[", "a{2", "a**", "\\A", "|a", "(?s).",
)  # fmt: skip

TEXTS = (
    '""', '"a"', '"ab"', '"aab\\n"', '"1"', '"é"', '"B"', "a_str()", "strs()[0]", "None", "1",
)  # fmt: skip

ITERATED = (
    "[i for i in x]", "{i for i in x}", "{i: 1 for i in x}", "[*x]", "(*x,)", "{*x}", "{**x}",
    "[1 for i in x]", "[(i, j) for i in x for j in x]", "[i for i in x if i]", "sum(1 for i in x)",
    "any(i for i in x)", "all(i for i in x)", "[i for i, j in x]", "[i[0] for i in x]", "list(x)",
    "list(x) + list(x)", "max(i for i in x)", "len([i for i in x])", "[i for i in [x]][0]",
    "[i == x for i in x]", "sorted(x)", "tuple(x)", "set(x)", "dict(x)", "list(zip(x, x))",
    "list(enumerate(x))", "list(reversed(x))", '"".join(x)', '"".join([i for i in x])', "helper(*x)",
    "max(*x)", "max(x)", "min(x)", "sum(x)", "any(x)", "all(x)", "dict.fromkeys(x)", "len(x)",
    "list(map(str, x))", "list(filter(None, x))", "list(iter(x))", "next(iter(x))", "next(x)",
)  # fmt: skip

HASHED = (
    "{x: 1}", "{x}", "{1: 0, x: 1}", "{True: 0, x: 2}", "{1.0: 0, x: 2}", '{"a": 0, x: 2}', "len({x, 1})",
    "{x: 1}[x]", "{x: 1}.get(x)", "x in {x}", "x in [x]", "x in (x,)", "{(x, 1): 2}", "{x: 1} == {x: 1}",
    "{x} == {x}", "[x].index(x)", "[x].count(x)", "hash(x)", "{1: 1, x: 2}[1]", "[x] == [x]", "{1, x}",
    "[x, x]", "(x, x) == (x, x)", "{x} | {1}", "{x} & {1}", "{1} & {x}", "{x} - {1}", "{x} ^ {1}",
    '{"a": x} == {"a": x}', "{x: 1} | {1: 2}", "{1: 2} | {x: 1}", "[x] * 2", "(x,) * 2", "[x] + [x]",
)  # fmt: skip

PAIRED = (
    "{x: 1, y: 2}", "{x, y}", "len({x, y})", "x in {y}", "x in [y]", "x in (y,)", "{y: 1}.get(x)",
    "{y: 1}[x]", "[x] == [y]", "(x,) == (y,)", "[x] < [y]", "(x, 1) <= (y, 0)", "{x} == {y}",
    '{"k": x} == {"k": y}', "max(x, y)", "min(x, y)", "max([x, y])", "sorted([x, y])", "[x, y].count(x)",
    "[x, y].index(y)", "x == y == x", "x < y < x", "{x} <= {y}", "{x} | {y}", "{x} & {y}", "(x or y)",
    "[y, x].index(x)", "list({x: 1, y: 2})", "sum([x, y])", "sum([x], y)", "x if y else y",
    "[x, y] == [y, x]", "sorted([x, y], reverse=True)",
)  # fmt: skip

KEYWORDS = (
    "max(x, default=5)", "max(x, key=len)", "max(x, key=None)", "min(x, default=None)",
    "max(x, y, key=abs)", "min(x, y, key=lambda v: 0)", "max(x, key=lambda v: 0)", "max(default=1)",
    "sorted(x, reverse=True)", "sorted(x, key=len)", "sorted(x, key=lambda v: 0)",
    "sorted(x, key=lambda v: 0, reverse=True)", "sorted(x, reverse=y)", "sorted(x, key=str)",
    "sum(x, start=y)", "sum(x, y)", "list(enumerate(x, start=y))", "list(enumerate(x, y))",
    "list(zip(x, y, strict=True))", "list(zip(x, y))", "list(zip(x, y, strict=False))", "int(x, base=10)",
    "int(x, 16)", "int(x, y)", "round(x, ndigits=y)", "round(x, None)", "round(x, -1)", "round(x, 1)",
    "pow(x, y)", "pow(x, y, 7)", "pow(base=x, exp=2)", "pow(x, -1)", "pow(x, 2)", "pow(x, 0.5)",
    "str(object=x)", "dict(x, a=1)", "dict(a=x)", "dict([(x, y)])", "list(x, y)", "isinstance(x, int)",
    "isinstance(x, (int, str))", "isinstance(x, int | str)", "isinstance(x, bool)", "isinstance(x, float)",
    "isinstance(x, str)", "isinstance(x, list)", "isinstance(x, tuple)", "isinstance(x, dict)",
    "isinstance(x, set)", "isinstance(x, PairRow)", "isinstance(x, range)", "isinstance(x, ())",
    "isinstance(x, None)", "isinstance(x, y)", "isinstance(x, object)", "isinstance(x, type(None))",
    "issubclass(bool, int)", "list(range(x, y))[:3]", "range(x) == range(y)", "len(range(x, y))",
    "x in range(y)", "list(reversed(range(x)))[:2]", "divmod(x, y)", 'print(x, sep="")', "print(x, end=y)",
    "print(x, file=y)", "print(x, flush=True)", "str(x) == str(y)", "repr(x) == str(x)", "int(str(x))",
    "float(str(x))", "bool(int(x))", "chr(ord(x))", "ord(chr(x))", "int(float(x))", "float(int(x))",
    "list(str(x))", "str(x)[0]", "int(x) == x", "float(x) == x", "len(str(x))", "all([x, y])",
    "any([x, y])", "abs(x) == x", "callable(x)", "type(x)", "type(x) == type(y)", "id(x) == id(x)",
)  # fmt: skip

FORMATTED = (
    "'{0}{0}'.format(x)", "'{0}{}'.format(x, 1)", "'{}{1}'.format(x, 1)", "'{a}'.format(a=x)",
    "'{}'.format()", "'{1}'.format(x)", "'{{}}'.format(x)", "'{0.real}'.format(x)", "'{0[0]}'.format(x)",
    "'{0[a]}'.format(x)", "'{:{}}'.format(x, 5)", "'{:{w}}'.format(x, w=5)", "'{!x}'.format(x)",
    "'{!s:3}'.format(x)", "'{'.format(x)", "'}'.format(x)", "'{0!r:>5}'.format(x)", "'{0.text}'.format(x)",
    "'{:}'.format(x)", "'%s' % x", "'%d' % x", "'%r' % x", "'%5s' % x", "'%.2f' % x", "'%s %s' % x",
    "'%%' % x", "'%(a)s' % x", "'%s' % (x,)", "'%c' % x", "'%x' % x", "'a' % x", "f'{x}{x}'", "f'{x=}'",
    "f'{x!s:>{5}}'", "f'{x:>{y}}'", 'f\'{x:{"3"}}\'', "f'{{x}}'", "f'a{x}b' == 'a' + str(x) + 'b'",
    "f'{x}' + 'a'", "str(x)", "repr(x)", "ascii(x)", "bytes(x)", "format(x)", "'{}'.format(*x)",
    "'{a}'.format(**x)", "'{:>{}}'.format(x, x)", "'{:%Y}'.format(x)", "'{0!s}'.format(x, x)",
)  # fmt: skip

UNCOUNTED = (
    "bool(x)", "len(x)", "x[0]", "x[-1]", "5 in x", "x == x", "x == range(3)", "not x", "-1 in x", "x[5]",
    "x[2 ** 64]", "2 ** 63 in x", "x[0:0]", "len(x) + 1", "x == 5",
)  # fmt: skip
"""What Python answers about a vast range without counting."""

MATCHED = (
    "m is None", "1 if m else 2", "not m", "m", "m == None",
)  # fmt: skip

MATCHES = (
    "m.group()", "m.group(0)", "m[0]", "m.group(1)", "m.span()", "m.string", "m.groups()", "m.pos",
    "m.re.pattern", "m.start()", "m.end", "m.lastindex",
)  # fmt: skip

CALLED = (
    "x()", "x(1)", 'x("a")', "x(a=1)", "x(*[1])", "x(**{})", 'x(text="a")', "x(1, 2)", "x(x)",
)  # fmt: skip

PASSED = (
    "helper(x)", "helper(x, x)", "helper(a=x)", "observe(x, x)", "observe(value=x)", "observe(x=1)",
    "observe()", "observe(*x)", "observe(**x)", "(lambda v: v)(x)", "(lambda v=x: v)()", "an_int(x)",
    "(lambda *v: v)(*x)", "(lambda v: v)(*x)", "(lambda a: a)(**x)",
)  # fmt: skip

BOUNDS = (
    "", "0", "1", "-1", "2", "-9", "2 ** 53 + 1", "None", "True", '"a"', "1.5", "an_int()", "a_bool()",
)  # fmt: skip
STEPS = ("", "1", "2", "-1", "0", "None", "an_int()", "2 ** 64", '"a"')

MATCHERS = (
    "re.match(PATTERN, x)", "re.fullmatch(PATTERN, x)", "re.search(PATTERN, x)", "re.compile(PATTERN).match(x)",
    "re.compile(PATTERN).fullmatch(x)", "re.compile(PATTERN).search(x)", "re.match(PATTERN, x, re.I)",
    "re.fullmatch(PATTERN, x, flags=2)", "re.findall(PATTERN, x)", 're.sub(PATTERN, "z", x)', "re.split(PATTERN, x)",
)  # fmt: skip

METHODS: Mapping[type, tuple[str, ...]] = {
    str: (
        'split(" ")', 'split(sep=" ")', "split(maxsplit=1)", "split(None, 1)", 'rsplit("a", 1)',
        "splitlines(True)", "splitlines(keepends=True)", 'replace("a", "b", 1)', 'replace("a", "b", count=1)',
        'replace("", "-")', 'find("a", None)', 'find("a", 1, None)', 'find("", 5)', 'find("a", -1)',
        'count("")', 'count("a", 1)', 'count("", 1, 0)', 'startswith(("a", "b"))', 'startswith("a", 1)',
        'startswith(("a", 1))', 'startswith("", 9)', 'endswith("a", None, 1)', 'strip("a")', "strip(None)",
        'lstrip("ab")', 'center(5, "é")', "zfill(True)", 'ljust(3, "ab")', 'join(["a", "b"])', "join(strs())",
        'join("ab")', "join([1])", 'join({"a": 1})', 'join(("a",))', "join(range(0))", 'partition("a")',
        'partition("")', 'rpartition("a")', "expandtabs(2)", "expandtabs(tabsize=2)", "encode()",
        'encode("ascii")', 'translate({97: "b"})', 'translate({"a": "b"})', "format(1)", "format(*[1])",
        "format(a=1)", 'format_map({"a": 1})', 'removeprefix("a")', 'index("a")', 'index("a", 1)',
        'rindex("a")', 'rfind("a")', 'rfind("")', 'rfind("a", 1)', "isidentifier()",
    ),
    list: (
        "sort()", "sort(reverse=True)", "sort(key=len)", "sort(key=lambda v: 0)", "sort(key=None)", "index(1)",
        "index(1, 1)", 'index("a", -1)', "insert(0, 5)", "insert(-1, 5)", "insert(9, 5)", "pop(0)", "pop(-1)",
        "pop(True)", "extend((1, 2))", "extend({})", 'extend("ab")', "copy()", "extend(x)", "append(x)",
        "remove(1)", "remove(True)", "count(True)", "reverse()", "clear()",
    ),
    dict: (
        'get("a")', 'get("a", 5)', 'get("a", default=5)', 'pop("a")', 'pop("z", 5)', "popitem()",
        'setdefault("a")', 'setdefault("z")', 'setdefault("z", [])', 'update({"z": 1})', "update(z=1)",
        'update([("z", 1)])', "update()", "update(x)", "keys()", "values()", "items()", "copy()", "clear()",
        'fromkeys(["z"])', 'fromkeys("ab", 1)', "get(1)", "get(True)", "get(1.0)", "get([])", "pop([])",
        "setdefault(True, 9)", "update({True: 9})",
    ),
    Counter: (
        "most_common()", "most_common(1)", "most_common(0)", "most_common(-1)", "most_common(None)", "most_common(9)",
        "most_common(an_int())", "most_common(True)", 'most_common("a")', "most_common(n=1)", "total()", "elements()",
        'update(["a"])', 'update({"a": 1})', 'subtract(["a"])', 'get("a")', 'get("z", 0)', "items()", "keys()",
        "values()", "copy()", "clear()", 'pop("a")', 'setdefault("z")', "popitem()",
    ),
    set: (
        "add(1)", "add(True)", "add([])", "discard(1)", "remove(1)", 'remove("z")', "pop()", "update([1, 2])",
        "update()", "update([1], [2])", "union([5])", "union()", "copy()", "intersection([1])",
        "difference({1})", "symmetric_difference([1])", "issubset([1, 2])", "issuperset([])", "isdisjoint([1])",
        "intersection_update([1])", "difference_update([1])", "symmetric_difference_update([1])", "clear()",
        "update(x)", "difference_update(x)",
    ),
    tuple: (
        "index(1)", "count(1)", 'index("z")', "index(1, 0)", "count(True)",
    ),
    range: (
        "index(1)", "count(1)", "index(True)", 'index("a")', "count(1.0)",
    ),
    re.Pattern: (
        'match("a")', 'fullmatch("a")', 'search("ba")', 'match("ba", 1)', 'match(string="a")',
        'match("a").group()', 'findall("aba")', 'sub("b", "aa")', 'split("bab")', "match(a_str())",
        "fullmatch(a_str())", "search(a_str())", "search(a_str(), 1)", "match(None)", "match(1)",
    ),
    re.Match: (
        "group()", "group(0)", "group(1)", "group(True)", 'group("n")', "group(0, 0)", "groups()",
        "groupdict()", "start()", "end()", "span()", "start(0)", "end(1)", 'expand("a")',
    ),
}  # fmt: skip
"""Methods with keywords, and with arguments that they are about."""

STATEMENTS: tuple[tuple[str, ...], ...] = (
    ("p, q = x", "observe(p)", "observe(q)"),
    ("p, = x", "observe(p)"),
    ("[p, q] = x", "observe(q)"),
    ("p, q, r = x", "observe(0)"),
    ("(p, q), r = x", "observe(q)"),
    ("p, *q = x", "observe(q)"),
    ("() = x", "observe(0)"),
    ("for p in x:", "    observe(p)"),
    ("for p, q in x:", "    observe(q)"),
    ("for p in x:", "    observe(0)", "observe(1)"),
    ("for p in x:", "    pass", "observe(1)"),
    ("for p in x:", "    observe(p)", "for p in x:", "    observe(p)"),
    ("for p in x:", "    break", "else:", "    observe(1)"),
    ("for p in x:", "    observe(1 if p else 2)"),
    ("for p in x:", "    observe(p is x)"),
    ("for p in x:", "    if p == p:", "        observe(p)"),
    ("for p in x:", "    q = p", "observe(q)"),
    ("n = 0", "for p in x:", "    n += 1", "observe(n)"),
    ("for p in [x, x]:", "    observe(p)"),
    ("for i, p in enumerate(x):", "    observe(i)", "    observe(p)"),
    ("for p in reversed(x):", "    observe(p)"),
    ("for p in x[1:]:", "    observe(p)"),
    ("for p in [i for i in x]:", "    observe(p)"),
    ("for p in (i for i in x):", "    observe(p)"),
)

ORDERED: tuple[tuple[str, ...], ...] = (
    ("observe([an_int(), a_str(), a_bool()])",),
    ("observe((a_str(), an_int()))",),
    ("observe({a_str(): an_int(), a_bool(): a_float()})",),
    ("observe({an_int(): a_str() for i in range(2)})",),
    ("observe([a_bool() for i in range(3)])",),
    ("observe([an_int() for i in range(2) if a_bool()])",),
    ("observe([an_int() for i in strs() if a_bool()])",),
    ("observe([(an_int(), a_bool()) for i in strs() for j in ints()])",),
    ("observe(any(a_bool() for i in range(3)))",),
    ("observe(all(a_bool() for i in range(3)))",),
    ("observe(any([a_bool(), a_bool()]))",),
    ("observe(any(a_bool() for i in strs()))",),
    ("observe(sum(an_int() for i in range(2)))",),
    ("observe(an_int() if a_bool() else a_str())",),
    ("observe(a_bool() and an_int())",),
    ("observe(a_bool() or an_int())",),
    ("observe(an_int() and a_str() or a_bool())",),
    ("observe(not a_bool() and an_int())",),
    ("observe(a_count() < an_int() < a_vast())",),
    ("observe(a_count() == an_int() != a_vast() == 1)",),
    ("observe(an_int() in [a_count(), a_vast()])",),
    ("observe(a_str()[a_count():an_int()])",),
    ("observe(a_str()[an_int()])",),
    ("observe(max(an_int(), a_count(), a_vast()))",),
    ("observe(f'{an_int()}{a_str()}')",),
    ("observe('{1}{0}'.format(an_int(), a_str()))",),
    ("observe(a_str().replace('a', a_str()))",),
    ("observe((lambda a, b: (a, b))(b=an_int(), a=a_str()))",),
    ("observe(PairRow(size=a_float(), text=a_str(), count=an_int(), flag=a_bool()))",),
    ("observe(dict(b=an_int(), a=a_str()))",),
    ("x = Warm(count=an_int(), text=a_str())", "observe(x.text)", "observe(x.count)"),
    ("x = Warm('a')", "x.count, x.text = an_int(), a_str()", "observe(x.text)", "observe(x.count)"),
    ("x = Warm('a', 2)", "x.count += an_int()", "observe(x.count)"),
    ("x = Warm('a')", "y = x", "y.count = 5", "observe(x.count)", "observe(x is y)"),
    ("x = Warm('a')", "y = [x]", "y[0].text += 'b'", "observe(x.text)", "observe(x in y)"),
    ("x = Warm('a')", "y = Warm('a')", "x.count = 2", "observe(x == y)", "observe(y.count)"),
    ("x = Warm('a')", "y = x if a_bool() else Warm('b')", "y.count = 9", "observe(x.count)"),
    ("x = Warm([1])", "y = Warm(x.text)", "y.text.append(2)", "observe(x.text)"),
    ("x = Warm([1])", "x.text += [2]", "observe(x.text)"),
    ("x = Warm('a')", "x.text = x", "observe(x.text is x)"),
    ("x = Cold([1])", "y = Cold(x.text)", "y.text.append(2)", "observe(x.text)"),
    ("x = Cold('a')", "x.count = 2", "observe(1)"),
    ("x = Cold([1])", "x.text += [2]", "observe(1)"),
    ("x = [Warm(s) for s in strs()]", "for y in x:", "    y.count = 2", "    observe(y.count)"),
    ("x = [Cold(s) for s in strs()]", "for y in x:", "    observe(y.text)"),
    ("x = [[s] for s in strs()]", "for y in x:", "    y.append('z')", "    observe(y)"),
    ("x = Warm('a')", "for x.count in [1, 2]:", "    observe(x.count)"),
    ("f = Warm", "x = f(a_str())", "observe(x.text)", "observe(isinstance(x, f))"),
    ("observe({Cold('a'): 1, Cold('a', True): 2}[Cold('a', 1)])",),
    ("observe(Cold('a') == Warm('a'))", "observe(Cold('a') == ('a', 1))"),
    ("observe({'b': an_int(), **{'a': a_str()}, 'b': a_bool()})",),
    ("observe([*[an_int()], a_str(), *[a_bool()]])",),
    ("p, q = an_int(), a_str()", "observe(q)", "observe(p)"),
    ("p = q = an_int()", "observe(p)", "observe(q)"),
    ("p = [1, 2, 3]", "p[a_count()] = an_int()", "observe(p)"),
    ("p = [1, 2, 3]", "p[a_count()] += an_int()", "observe(p)"),
    ("p = [1, 2, 3]", "p[0], p[1] = an_int(), a_count()", "observe(p)"),
    ("p = 0", "p, q = 1, p", "observe((p, q))"),
    ("p = [5, 6]", "i = 0", "i, p[i] = 1, 9", "observe(p)"),
    ("observe((p := an_int()) + p)",),
    ("observe([p := an_int(), p])",),
    ("assert a_bool(), a_str()", "observe(1)"),
    ("if a_bool() or a_count():", "    observe(1)", "elif a_bool():", "    observe(2)"),
    ("for i in range(a_count()):", "    observe(an_int())"),
    ("for i in range(3):", "    if a_bool():", "        continue", "    observe(i)"),
    (
        "for i in range(3):",
        "    if a_bool():",
        "        break",
        "    observe(i)",
        "else:",
        "    observe(9)",
    ),
    ("for i in range(3):", "    if a_bool():", "        return", "    observe(i)", "observe(9)"),
    ("for i in strs():", "    if a_bool():", "        continue", "    observe(i)"),
    ("f = lambda: p", "p = 1", "observe(f())", "p = 2", "observe(f())"),
    ("f = [lambda: i for i in range(3)]", "observe(f[0]())"),
    ("f = [lambda i=i: i for i in range(3)]", "observe(f[0]())"),
    ("observe(print(an_int(), a_str()))",),
    ("observe(sorted(ints(), reverse=a_bool()))",),
    ("observe(ints()[0])", "observe(strs()[0])", "observe(1)"),
    ("observe(1)", "observe(1 // an_int())", "observe(2)"),
    ("observe(min(strs()))", "observe(an_int())"),
    ("observe(1 / a_float())", "observe(a_str())"),
    ("x = [1]", "y = x", "y.append(2)", "observe(x)", "observe(x is y)"),
    ("x = [1]", "y = x", "y += [2]", "observe(x)"),
    ("x = [1]", "y = x", "y = y + [2]", "observe(x)"),
    ("x = [[1]] * 2", "x[0].append(2)", "observe(x)"),
    ("x = [[1] for i in range(2)]", "x[0].append(2)", "observe(x)"),
    ("x = ([1], 2)", "x[0].append(3)", "observe(x)"),
    ("x = ([1], 2)", "x[0] += [3]", "observe(x)"),
    ("x = {'a': [1]}", "y = x.copy()", "y['a'].append(2)", "y['b'] = []", "observe(x)"),
    ("x = {'a': [1]}", "y = dict(x)", "y['a'] += [2]", "observe(x)"),
    ("x = [1]", "x.append(x)", "observe(len(x))"),
    ("x = [1]", "x += x", "observe(x)"),
    ("x = [1]", "x.extend(x)", "observe(x)"),
    ("x = [3, 1]", "y = sorted(x)", "y.append(0)", "observe(x)"),
    ("x = [3, 1]", "y = x[:]", "y.append(0)", "observe(x)"),
    ("x = [3, 1]", "y = x.sort()", "observe(y)", "observe(x)"),
    ("x = {1}", "y = x", "y |= {2}", "observe(x)"),
    ("x = {1}", "y = x | {2}", "observe(x)"),
    ("x = [1]", "y = [2]", "z = x if a_bool() else y", "z.append(3)", "observe(x)", "observe(y)"),
    ("x = [1]", "if a_bool():", "    y = x", "else:", "    y = [2]", "y.append(3)", "observe(x)"),
    ("x = {'a': 1}", "for k in x:", "    x[k] = 2", "observe(x)"),
    ("x = {'a': 1}", "for k in x:", "    x[k + 'b'] = 2", "observe(x)"),
    ("x = {'a': 1}", "for k in x:", "    x.pop(k)", "observe(x)"),
    ("x = {'a': 1, 'b': 2}", "for k in list(x):", "    x.pop(k)", "observe(x)"),
    ("x = {1}", "for k in x:", "    x.add(k + 1)", "observe(x)"),
    ("x = [1, 2, 3]", "for k in x:", "    x.remove(k)", "observe(x)"),
    (
        "x = [1, 2, 3]",
        "for k in x:",
        "    x.append(k)",
        "    if len(x) > 5:",
        "        break",
        "observe(x)",
    ),
    ("x = [1, 2, 3]", "for k in x:", "    x = []", "    observe(k)", "observe(x)"),
    ("x = [1, 2]", "y = reversed(x)", "x.append(3)", "observe(list(y))"),
    ("x = [1, 2]", "y = enumerate(x)", "x.append(3)", "observe(list(y))"),
    ("x = [1, 2]", "y = zip(x, x)", "observe(list(y))", "observe(list(y))"),
    ("x = {'a': 1}", "y = x.items()", "x['b'] = 2", "observe(list(y))"),
    ("x = strs()", "y = x", "x.append('z')", "observe(y)"),
    ("x = strs()", "x += ['z']", "observe(x)"),
    ("x = strs()", "x.sort()", "observe(x)"),
    ("x = strs()", "x[0] = 'z'", "observe(x)"),
    ("x = strs()", "observe(x)", "y = x.copy()", "observe(x is y)", "observe(x == y)"),
    ("x = rows()", "for p in x:", "    observe(p.text)", "    observe(p is x[0])"),
    ("if a_bool():", "    p = 1", "observe(p)"),
    ("for p in strs():", "    pass", "observe(p)"),
    ("for p in []:", "    pass", "observe(p)"),
    ("x = 1", "f = lambda: x", "x = 'a'", "observe(f())"),
    ("x = [i for i in range(3)]", "i = 9", "y = [i for i in x]", "observe(i)"),
)
"""What is evaluated when, and what shares an object with what."""
