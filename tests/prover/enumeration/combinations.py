"""What is tried on what: attributes, methods, operators, builtins, formats and members of modules, on every kind."""

from __future__ import annotations

import builtins
import itertools
import math
import re
import string
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence

from enumeration.comparison import Combination
from enumeration.operands import OPERANDS, VAST_RANGE, Operand, arguments, fewer, names_of
from enumeration.spellings import (
    BOUNDS,
    CALLED,
    FORMATTED,
    HASHED,
    ITERATED,
    KEYWORDS,
    MATCHED,
    MATCHERS,
    MATCHES,
    METHODS,
    ORDERED,
    PAIRED,
    PASSED,
    PATTERNS,
    SPECS,
    STATEMENTS,
    STEPS,
    TEXTS,
    UNARY,
    UNCOUNTED,
)

BINARY = ("+", "-", "*", "/", "//", "%", "**", "@", "<<", ">>", "&", "|", "^")
COMPARISONS = ("==", "!=", "<", "<=", ">", ">=", "is", "is not", "in", "not in", "and", "or")


def everything() -> Iterator[Combination]:
    """All combinations, section by section."""
    for section, make in SECTIONS.items():
        for body in make():
            yield Combination(section, tuple(body))


Bodies = Iterator[Sequence[str]]


def _with(made: str, operands: Sequence[tuple[str, Operand]], shown: str = "") -> list[str]:
    """Binds operands, computes, and shows the outcome and what became of the operands."""
    after = [
        f"observe({each.read(name)})" for name, each in operands if each.passable and name == shown
    ]
    return [*(line for name, each in operands for line in each.bound(name)), made, *after]


def _attributes() -> Bodies:
    for x in OPERANDS:
        for name in names_of():
            given = [("x", x)]
            yield _with(f"observe(x.{name})", given)
            yield [*_with(f"y = x.{name}", given), "observe(0)"]
            if name.startswith("__"):
                continue
            yield _with(f"observe(x.{name} == x.{name})", given)
            yield _with(f"observe(1 if x.{name} else 2)", given)
            yield _with(f"observe(x.{name}())", given)


def _methods() -> Bodies:
    for x in OPERANDS:
        for name in (name for name in dir(x.type) if not name.startswith("_")):
            yield [*x.bound("x"), f"x.{name}()", "observe(0)"]
            yield [*x.bound("x"), f"observe(1 if x.{name}() else 2)"]
            for count in range(4):
                for given in itertools.product(_taken(count), repeat=count):
                    named = list(zip("abc", given, strict=False))
                    call = f"x.{name}({', '.join(n for n, _ in named)})"
                    operands = [("x", x), *named]
                    yield _with(f"observe({call})", operands, "x")
                    if count < 2:
                        yield _with(f"observe(list({call}))", operands)


def _taken(count: int) -> Sequence[Operand]:
    return ((), arguments(), fewer(), fewer()[:4])[count]


def _methods_by_name() -> Bodies:
    """Methods with keywords, and what needs arguments of its own."""
    for x in OPERANDS:
        for type_, texts in METHODS.items():
            if x.type is not type_ and (x.type, type_) != (defaultdict, dict):
                continue
            for text in texts:
                given = [("x", x)]
                yield _with(f"observe(x.{text})", given, "x")
                yield [*_with(f"y = x.{text}", given), "z = x", "observe(0)"]
                yield [*_with(f"y = x.{text}", given), "observe(y)", "observe(y is x)"]
                yield [*_with(f"y = x.{text}", given, "x"), "observe(1 if y else 2)"]
                yield _with(f"observe(list(x.{text}))", given)


def _operators() -> Bodies:
    right, left = itertools.product(OPERANDS, arguments()), itertools.product(arguments(), OPERANDS)
    for x, y in dict.fromkeys((*right, *left)):
        for operator in (*BINARY, *COMPARISONS):
            yield _with(f"observe(x {operator} y)", [("x", x), ("y", y)])


def _same_object() -> Bodies:
    for x in OPERANDS:
        for operator in (*BINARY, *COMPARISONS):
            yield [*x.bound("x"), "y = x", f"observe(x {operator} y)"]
            yield [*x.bound("x"), f"observe([x] {operator} [x])"]
            yield [*x.bound("x"), f"observe((x, 1) {operator} (x, 2))"]


def _augmented() -> Bodies:
    for x, y in itertools.product(OPERANDS, arguments()):
        for operator in BINARY:
            body = [
                *x.bound("x"),
                *y.bound("y"),
                "z = x",
                f"z {operator}= y",
                f"observe({x.read('z')})",
            ]
            yield [*body, f"observe({x.read('x')})"] if x.passable else body


def _unary() -> Bodies:
    for x in OPERANDS:
        given = [("x", x)]
        for text in UNARY:
            yield _with(f"observe({text})", given)
        yield [*x.bound("x"), "if x:", "    observe(1)", "else:", "    observe(2)"]
        yield [*x.bound("x"), "assert x", "observe(1)"]
        yield [*x.bound("x"), "assert not x", "observe(1)"]
        yield [*x.bound("x"), "observe(1 if x else 2)", "observe(1 if not x else 2)"]
    for text in UNCOUNTED:
        yield _with(f"observe({text})", [("x", VAST_RANGE)])


def _subscripts() -> Bodies:
    for x, y in itertools.product(OPERANDS, OPERANDS):
        yield _with("observe(x[y])", [("x", x), ("y", y)])
    for x, y in itertools.product(OPERANDS, arguments()):
        bound, shown = [*x.bound("x"), *y.bound("y")], f"observe({x.read('x')})"
        yield [*bound, "x[y] = 5", shown]
        yield [*bound, "x[y] += 1", shown]
        yield [*bound, "z = x[y]", "observe(0)"]
        yield [*bound, "z = x[y]", shown]
        yield [*bound, "x[0] = y", shown]
        yield [*bound, 'x["a"] = y', shown]


def _slices() -> Bodies:
    sliced = [
        x
        for x in OPERANDS
        if x.kind
        in ("str", "list", "tuple", "range", "either", "dict", "defaultdict", "Counter", "none")
    ]
    for x, low, high in itertools.product(sliced, BOUNDS, BOUNDS):
        for step in STEPS:
            spelled = f"{low}:{high}" + (f":{step}" if step else "")
            yield _with(f"observe(x[{spelled}])", [("x", x)])
    for x, low, high in itertools.product(sliced, BOUNDS, BOUNDS):
        if x.kind == "range":
            yield _with(f"observe(list(x[{low}:{high}]))", [("x", x)])


def _iteration() -> Bodies:
    for x in OPERANDS:
        for text in ITERATED:
            yield _with(f"observe({text})", [("x", x)])
        for lines in STATEMENTS:
            yield [*x.bound("x"), *lines]


def _hashing() -> Bodies:
    for x in OPERANDS:
        for text in HASHED:
            yield _with(f"observe({text})", [("x", x)])
    for x, y in itertools.product(OPERANDS, arguments()[::2]):
        for text in PAIRED:
            yield _with(f"observe({text})", [("x", x), ("y", y)])


def _builtins() -> Bodies:
    for name in dir(builtins):
        yield [f"observe({name}())"]
        yield [f"x = {name}", "observe(0)"]
        held = getattr(builtins, name)
        if name.startswith("_") or not callable(held):
            continue
        raised = isinstance(held, type) and issubclass(held, BaseException)
        for count in (1,) if raised else (1, 2, 3):
            taken = OPERANDS if count == 1 else _taken(count)
            for given in itertools.product(taken, repeat=count):
                named = list(zip("xyz", given, strict=False))
                call = f"{name}({', '.join(n for n, _ in named)})"
                yield _with(f"observe({call})", named, "x")
                if count < 3:
                    yield _with(f"observe(list({call}))", named)
                if count == 1:
                    yield [*_with(call, named), "observe(0)"]
                    yield _with(f"observe(1 if {call} else 2)", named)
                    yield _with(f"observe({call} == {call})", named)


def _keywords() -> Bodies:
    for x, y in itertools.product(OPERANDS, fewer()):
        for text in KEYWORDS:
            if "y" in text.replace("type", "").replace("key", "") or y is fewer()[0]:
                yield _with(f"observe({text})", [("x", x), ("y", y)])


def _formats() -> Bodies:
    for x in OPERANDS:
        for conversion, spec in itertools.product(("", "!s", "!r", "!a"), SPECS):
            inside = f"x{conversion}" + (f":{spec}" if spec else "")
            if spec != "{":
                yield [*x.bound("x"), f"observe(f'{{{inside}}}')"]
            field = f"{conversion}" + (f":{spec}" if spec else "")
            yield [*x.bound("x"), f"observe('{{{field}}}'.format(x))"]
        for spec in SPECS:
            yield [*x.bound("x"), f"observe(format(x, '{spec}'))"]
        for text in FORMATTED:
            bound = [*x.bound("x"), *(("y = 5",) if "{y}" in text else ())]
            yield [*bound, f"observe({text})"]
            yield [*bound, f"z = {text}", "observe(0)"]


def _modules() -> Bodies:
    for module in (math, re, string):
        for name in dir(module):
            full = f"{module.__name__}.{name}"
            yield [f"observe({full})"]
            yield [f"x = {full}", "observe(0)"]
            yield [f"observe({full} == {full})"]
            yield [f"observe(1 if {full} else 2)"]
            yield [f"observe({full}())"]
            if name.startswith("_"):
                continue
            for x in OPERANDS:
                yield _with(f"observe({full}(x))", [("x", x)])
                yield [*_with(f"y = {full}(x)", [("x", x)]), "observe(0)"]
                yield _with(f"observe({full} == x)", [("x", x)])
            for x, y in itertools.product(fewer(), fewer()):
                yield _with(f"observe({full}(x, y))", [("x", x), ("y", y)])
                yield _with(f"observe({full}(x, y) is None)", [("x", x), ("y", y)])


def _regexes() -> Bodies:
    for pattern, text, matcher in itertools.product(PATTERNS, TEXTS, MATCHERS):
        made = matcher.replace("PATTERN", repr(pattern))
        for shown in MATCHED:
            yield [f"x = {text}", f"m = {made}", f"observe({shown})"]
        for shown in MATCHES:
            yield [f"x = {text}", f"m = {made}", "if m:", f"    observe({shown})"]
    for pattern in PATTERNS:
        for name in (*(n for n in dir(re.Pattern) if not n.startswith("_")), "nonsense"):
            yield [f"p = re.compile({pattern!r})", f"observe(p.{name})"]
            yield [f"p = re.compile({pattern!r})", f"observe(p.{name} == {pattern!r})"]
            yield [f"p = re.compile({pattern!r})", f"if p.{name}:", "    observe(1)"]
        yield [f"observe(re.compile({pattern!r}) == re.compile({pattern!r}))"]
        yield [f"p = re.compile({pattern!r})", "observe(p == p)"]


def _calls() -> Bodies:
    """Values that are called, or passed in ways that calls know."""
    for x in OPERANDS:
        for text in CALLED:
            yield _with(f"observe({text})", [("x", x)])
            yield [*_with(text, [("x", x)]), "observe(0)"]
        for text in PASSED:
            yield _with(f"observe({text})", [("x", x)])
            yield [*_with(text, [("x", x)]), "observe(0)"]
        for text in (f"raise {name}(x)" for name in ("ValueError", "KeyError", "Exception")):
            yield [*x.bound("x"), "if a_bool():", f"    {text}", "observe(0)"]
        yield [*x.bound("x"), "raise x"]
        yield [*x.bound("x"), "x.text = 1", "observe(0)"]
        yield [*x.bound("x"), "del x[0]", f"observe({x.read('x')})"]


def _order() -> Bodies:
    yield from ORDERED
    calls = ("an_int()", "a_str()", "a_bool()", "a_float()", "ints()", "a_row()")
    for one, other in itertools.permutations(calls, 2):
        for operator in (*BINARY, *COMPARISONS):
            yield [f"observe({one} {operator} {other})"]
        yield [f"observe({one}[{other}])"]
        yield [f"x = {one}", f"x += {other}", "observe(x)"]


SECTIONS: Mapping[str, Callable[[], Bodies]] = {
    "attributes": _attributes,
    "methods": _methods,
    "methods by name": _methods_by_name,
    "operators": _operators,
    "same object": _same_object,
    "augmented": _augmented,
    "unary and truth": _unary,
    "subscripts": _subscripts,
    "slices": _slices,
    "iteration": _iteration,
    "hashing": _hashing,
    "builtins": _builtins,
    "keywords": _keywords,
    "formats": _formats,
    "modules": _modules,
    "regexes": _regexes,
    "calls": _calls,
    "order": _order,
}
