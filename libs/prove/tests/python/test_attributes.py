"""Attributes, methods and formats: whatever the front-end says of one, Python does; the rest it refuses."""

from __future__ import annotations

import re
from collections import Counter, defaultdict

import pytest

from libs.prove.tests.python.test_differential import INPUTS, PARAMETERS
from libs.prove.tests.python_front_end import (
    ACCEPTED,
    LAYER,
    concrete,
    outcome_of,
    plain,
    predicted,
    program,
    read,
)
from lictor_prove.errors import Rejected
from lictor_prove.python import read_program
from lictor_prove.python.attributes import ATTRIBUTES, Value
from lictor_prove.python.kinds import Kind
from lictor_prove.python.library.signatures import OF_OBJECTS

SAMPLES = {
    Kind.NONE: "None",
    Kind.BOOL: "True",
    Kind.INT: "7",
    Kind.FLOAT: "1.5",
    Kind.STR: "'ab'",
    Kind.TUPLE: "(1, 'a')",
    Kind.LIST: "['ann']",
    Kind.DICT: "{'k': 1}",
    Kind.DEFAULTDICT: "defaultdict(int)",
    Kind.COUNTER: "Counter()",
    Kind.SET: "{1}",
    Kind.RANGE: "range(3)",
    Kind.PATTERN: "re.compile('a+')",
    Kind.MATCH: "re.fullmatch('a+', 'aa')",
}
UNKNOWN = {
    Kind.BOOL: "p",
    Kind.INT: "a",
    Kind.FLOAT: "f",
    Kind.STR: "s",
    Kind.LIST: "names()",
}
READ = {"re": re, "Counter": Counter, "defaultdict": defaultdict}
OBJECTS = {kind: eval(sample, READ) for kind, sample in SAMPLES.items()}  # noqa: S307 -- the table above
IMPORTS = "from collections import Counter, defaultdict\n"
NAMES = sorted(
    {
        name
        for held in OBJECTS.values()
        for name in (*dir(held), "nothing")
        if not name.startswith("__")
    }
)


def reading(body: str) -> str:
    """`exact` for a body that is read, or the code of the refusal."""
    try:
        read_program(program(body, PARAMETERS, IMPORTS), name="test.py", layer=LAYER)
    except Rejected as refused:
        return refused.reasons[0].code
    return "exact"


def verdict(body: str) -> str:
    """`exact` where the document predicts every run, or the code of the refusal; fails where a run is different."""
    source = program(body, PARAMETERS, IMPORTS)
    try:
        document = read(source)
    except Rejected as refused:
        code = refused.reasons[0].code
        if code == "error.certain":
            for inputs in INPUTS:
                assert concrete(source, inputs)[1] is not None, (body, inputs)
        return code
    for inputs in INPUTS:
        calls, error = concrete(source, inputs)
        steps, failed = predicted(document, inputs)
        told = f"{body}: {inputs}: {calls} {error!r}, predicted {steps}"
        assert failed == (error is not None), told
        if error is not None:
            steps = steps[: len(calls)]
        assert plain([list(each) for each in calls]) == plain([list(each) for each in steps]), told
    return "exact"


READING = ("copy", "count", "index")
"""Methods that don't change a list."""


@pytest.mark.parametrize("kind", SAMPLES)
def test_an_attribute_that_python_does_not_have_is_an_error_also_when_nobody_calls_it(
    kind: Kind,
) -> None:
    for name in NAMES:
        for sample in {SAMPLES[kind], UNKNOWN.get(kind, SAMPLES[kind])}:
            body = f"x = {sample}\nx.{name}\nnote(1)"
            missing = not hasattr(OBJECTS[kind], name)
            code = reading(body)
            if missing and (kind, name) != (Kind.INT, "is_integer"):
                assert code in ("error.certain", "attribute.unsupported"), body
            elif f"{kind}.{name}" in OF_OBJECTS or (
                (kind, name) in ATTRIBUTES and (sample != "names()" or name in READING)
            ):
                assert code == "exact", body
            else:
                assert code in ("attribute.unsupported", "list.symbolic"), body


@pytest.mark.parametrize("kind", SAMPLES)
def test_an_attribute_that_python_does_not_have_is_an_obligation_where_the_kind_depends_on_the_path(
    kind: Kind,
) -> None:
    for name in NAMES:
        if (kind, name) not in ATTRIBUTES or hasattr(None, name):
            continue
        assert verdict(f"x = {SAMPLES[kind]} if p else None\nx.{name}\nnote(1)") == "exact"


def test_the_table_holds_what_python_has() -> None:
    objects = {**OBJECTS, Kind.FROZENSET: frozenset()}
    for (kind, name), held in ATTRIBUTES.items():
        assert callable(getattr(objects[kind], name)) != isinstance(held, Value), (kind, name)


EXACT = r"""
note(re.compile("a+").pattern == "a+")
note(re.compile("a+").pattern)
note(re.compile("a+").match(s) is None)
note(re.fullmatch("[ab]+", s).group(0) if re.fullmatch("[ab]+", s) else None)
note(re.fullmatch("[ab]+", s).group(False) if re.fullmatch("[ab]+", s) else None)
note("{!s:3}".format(7))
note("{!s:>5}|{!r:<6}|{:^7}".format(True, "x", "y"))
note("{!s:}".format(a))
note("{0!s:3}".format(1.5))
note("{!r}".format(None))
note("{!s:5}".format([1, "a"]))
note("{:{}}|{:{}}".format(7, 3, "x", 4))
note("{0:{1}}|{1}".format(7, 3))
note("{:{w}.{p}f}".format(3.14159, w=8, p=2))
note("{a}{{}}{b}".format(a=s, b=a))
note("{{{}}}".format(a))
note("{:d}".format(True))
note("{:5}|{:<5}|{:05}".format(True, 3, -3))
note("{:,}|{:_}|{:x}|{:#b}|{:+}|{:e}|{:%}".format(12345, 12345, 255, 5, 5, 1.5, 0.25))
note("{:c}".format(65))
note(format(True, "d"))
note(format(1.5, "08.3f"))
note(format("x", "*^5"))
note(format(a))
note(format(None))
note(f"{True:d}{3!s:5}|{'x'!r:>6}|{1.5:.3f}")
note(f"{7:{3}}|{7:{2 + 1}d}")
note(f"{s}{a}{p}{{}}")
note(f"{a=}")
note("\u00e9\u00df\u017f".upper() + "\u0130".lower())
note(repr("\u00e9\u4f60\x00\n"))
note("\U0001f9e0".strip() + str("\U0001f9e0"))
note(len(str(10**4299)))
note(str(10**4300))
note(f"{[1]}{[1].append(2)}")
note("".format())
note("{}".format(a) if p else "{}{}".format(a, s))
x = 7 if p else "ab"; note("{!s}|{:4}".format(x, x))
x = None if p else 5; note("{:3}".format(x))
note("abc".find("c", None))
note(s.find("b", None))
note(s.find("b", 1, None))
note(s.find(t, a, b))
note(s.find("", a, b))
note(s.find("b", -2, -1))
note(s.find("", 5))
note(s.find(t, p))
note(s.index("b", None, None) if "b" in s else -1)
note(s.count(""))
note(s.count(t))
note("abcabc".count("", 2, 4))
note("abc".startswith("", 4))
note("abc".startswith(("x", "b"), 1))
note("abc".endswith(("x", "b"), 0, 2))
note("abc".startswith("b", None))
note(s.startswith(("a", t)))
note(s.startswith(()))
note(" a ".strip(None))
note("a b  c".split(None))
note("a,b,c".split(",", 1))
note("a b c".rsplit(None, 1))
note("aaa".replace("a", "b", 2))
note("aaa".replace("", "-"))
note(s.replace("b", t))
note("a\nb".splitlines(True))
note("abc".partition("b"))
note(s.removeprefix(""))
note(s.removesuffix(t))
note("x".center(5, "*"))
note("-7".zfill(5))
note("a\tb".expandtabs(4))
note(s.find("b" if p else None))
note(s.find("b", 0 if p else None))
note(s.replace("b", "x" if p else t))
note("-".join([s, "x" if p else t]))
note("-".join(["a", None if p else "b"]))
note(",".join([] if p else [1]))
note("-".join({"k": 1, "l": 2}))
f1 = [1].append; note(f1(2) is None)
xs = [1]; add = xs.append; add(2); note(xs)
xs = [1]; ys = xs; ys.extend((2, 3)); note(xs)
xs = [1]; xs.extend(xs); note(xs)
xs = [1, 2]; note(xs.pop(0)); note(xs)
xs = [1, 2, 1]; note(xs.index(1)); note(xs.count(1)); note(xs.count(True))
xs = [1, 2]; note(xs.insert(-1, 9)); note(xs)
xs = [1]; note(xs.copy() == xs); note(xs.reverse()); note(xs.clear()); note(xs)
d = {"k": 1}; note(d.get("k")); note(d.get("x")); note(d.get(s, 5)); note(d.pop("k", None)); note(d)
d = {"k": 1}; note(d.setdefault("k", 2)); note(d.setdefault("l", 3)); note(d.update({"m": 4})); note(d)
d = {"k": 1}; note(list(d.keys())); note(list(d.values())); note(list(d.items()))
u = {1}; note(u.add(2)); note(u.discard(1)); note(u == {2}); note(u.union([3]) == {2, 3})
u = {1, 2}; note(u.issubset([1, 2, 3])); note(u.issuperset((1,))); note(u.isdisjoint([3]))
u = {1}; u.update([2]); u.difference_update([1]); note(u == {2})
note((1, 2, 1).count(1)); note((1, 2).index(2))
note([1].append == None); note([1].append != 3); note(not [1].append)
m = [1].append if p else None; note(m is None)
"""


@pytest.mark.parametrize("body", EXACT.strip().splitlines())
def test_what_is_modelled_is_what_python_does(body: str) -> None:
    assert verdict(body.replace("; ", "\n")) == "exact"


RAISES = r"""
["ann"].add
["ann"].add(boom())
note({}.append)
x = {1}; x.append(2)
x = (1,); x.append(2)
x = "a"; x.append(2)
None.append
note("{0}{}".format(1, 2))
note("{}{0}".format(1, 2))
note("{:{0}}".format(1, 2))
note("{}".format())
note("{2}".format(1, 2))
note("{x}".format(y=1))
note("{".format())
note("}".format())
note("{!x}".format(1))
note("{:{:{}}}".format(1, 2, 3))
note("{:d}".format("x"))
note("{:s}".format(1))
note("{:.2d}".format(1))
note("{:3}".format(None))
note("{:3}".format([1]))
note(format(None, "3"))
note(format({}, "d"))
note(f"{(1,):3}")
note(format(1114112, "c"))
note("abc".startswith(["a"]))
note("a".split(""))
note("a".center(3, "xy"))
note("a".find("a", 1.0))
note(s.find(None))
note(s.find(s, 1.0))
note(s.count(1))
note(s.removeprefix(None))
note("-".join([1]))
note("-".join(None))
[1].remove(2)
[].pop()
{}.pop("k")
[1].extend(None)
[1].insert(10**30, 2)
[1].pop(10**30)
{1}.remove(2)
{1}.add([])
{1}.update([[]])
re.fullmatch("a", None)
math.isnan("x")
"""


@pytest.mark.parametrize("body", RAISES.strip().splitlines())
def test_what_certainly_raises_is_rejected_as_such(body: str) -> None:
    body = body.replace("; ", "\n")
    if "boom" in body:
        # The attribute is read before the argument is evaluated.
        body = f"def boom():\n    note(2)\n    return 1\n{body}"
    code = verdict(body)
    assert code in ("error.certain", "exact")
    if code == "exact":
        source = program(body, PARAMETERS, IMPORTS)
        assert all(concrete(source, inputs)[1] is not None for inputs in INPUTS)


REFUSED = {
    "re.compile('a').flags": "attribute.unsupported",
    "re.compile('a').groups": "attribute.unsupported",
    "re.compile('a').subn('b', s)": "attribute.unsupported",
    "re.compile('a').match(s, 1)": "method.arguments",
    "re.fullmatch('a', 'a').string": "attribute.unsupported",
    "re.fullmatch('a', 'a').re": "attribute.unsupported",
    "re.fullmatch('a', 'a').span()": "attribute.unsupported",
    "re.fullmatch('a', 'a').start": "attribute.unsupported",
    "re.fullmatch('a', 'a').pos": "attribute.unsupported",
    "re.fullmatch('(a)', 'a').group(1)": "regex.group",
    "re.fullmatch('a', 'a').group('0')": "regex.group",
    "re.fullmatch('a', 'a').group(0, 0)": "method.arguments",
    "re.match('a', 'ab').group()": "regex.group",
    "[1].append == [1].append": "operator.equality",
    "[1].append is [1].append": "operator.is",
    "re.compile('a') == re.compile('a')": "operator.equality",
    "[1].append in [1]": None,
    "{[1].append: 1}": "container.key",
    "str([1].append)": "string.conversion",
    "note([1].append)": "argument.value",
    "[3, 1].sort()": ACCEPTED,
    "{1}.pop()": "attribute.unsupported",
    "{'a': 1}.popitem()": "attribute.unsupported",
    "dict.fromkeys([1])": "value.opaque",
    "str.upper('a')": "value.opaque",
    "{'a': 1}.keys().isdisjoint([1])": "value.opaque",
    "names().count('a')": ACCEPTED,
    "names().append('a')": "list.symbolic",
    "names().get": "error.certain",
    "'{0.x}'.format(a)": "string.format",
    "'{0[0]}'.format([a])": "string.format",
    "'{!a}'.format(a)": "string.format",
    "'{:5}'.format(s)": ACCEPTED,
    "'{:n}'.format(5)": "string.format",
    "'{:z}'.format(5.0)": "string.format",
    "'{:1000}'.format(5)": "string.format",
    "s.format(a)": "string.format",
    "f'{a:{b}}'": ACCEPTED,
    "f'{s!s:{len([1])}}'": "string.format",
    "s.startswith(('a', None))": "method.string",
    "s.startswith('a', 1)": ACCEPTED,
    "s.count('a', 1)": ACCEPTED,
    "s.replace('a', 'b', 1)": ACCEPTED,
    "s.strip(None)": ACCEPTED,
    "'a b'.split(sep=None)": "method.keywords",
    "[1].sort(reverse=True)": ACCEPTED,
    "{1}.discard({1})": "set.items",
    "{1}.isdisjoint([1, []])": "set.items",
    "{1}.union()": "method.arguments",
    "{}.pop([], 1)": "dict.pop",
    "{'a': 1}.update([('b', 2)])": "dict.update",
    "{'a': 1}.update(b=2)": "method.keywords",
    "'\\u0cf3'.isalpha()": ACCEPTED,
    "'a\\u019b'.upper()": ACCEPTED,
    "'\\u200d'.isidentifier()": ACCEPTED,
    "repr('\\u0cf3')": ACCEPTED,
    "str(['\\u0cf3'])": ACCEPTED,
    "opaque().x": "call.result",
    "[1].pop(a)": ACCEPTED,
    "'{!s:4}'.format(7 if p else 'ab')": ACCEPTED,
    "(7).bit_length()": "attribute.unsupported",
    "(7).real": "attribute.unsupported",
    "(1.5).is_integer()": "attribute.unsupported",
    "a.is_integer": "attribute.unsupported",
    "p.is_integer": "attribute.unsupported",
    "f.bit_length": "attribute.unsupported",
}


@pytest.mark.parametrize("expression", REFUSED)
def test_what_is_not_modelled_is_refused_or_unknown(expression: str) -> None:
    body = f"x = {expression}"
    if REFUSED[expression] is None:
        assert verdict(body) in ("exact", "operator.equality")
    else:
        assert outcome_of(body, PARAMETERS) == REFUSED[expression]
