"""Methods of strings, and turning values into strings.

On known strings Python itself computes them. On others there are those that the format can say.
"""

from __future__ import annotations

import re
import string
from collections.abc import Mapping, Sequence
from typing import Any, Final

from lictor_ir.terms import FALSE, Const, Term, apply, const, ite, or_
from lictor_ir.types import BOOL, INT, STR
from lictor_prove.python.machine.machine_state import Machine
from lictor_prove.python.machine.symbolic_values import (
    Sym,
    SymbolicValue,
    TupleV,
    boolean,
    described,
    known,
)
from lictor_prove.python.operations import container_contents
from lictor_prove.python.operations.arithmetic import clamp_index, concat
from lictor_prove.python.operations.comparisons import whole
from lictor_prove.python.operations.containers import union_of
from lictor_prove.python.operations.iterables import known_items
from lictor_prove.python.refusals import MAX_TEXT, Raises, refuse

PURE: Final = frozenset(
    [
        "capitalize",
        "casefold",
        "center",
        "count",
        "endswith",
        "expandtabs",
        "find",
        "index",
        "isalnum",
        "isalpha",
        "isascii",
        "isdecimal",
        "isdigit",
        "isidentifier",
        "islower",
        "isnumeric",
        "isprintable",
        "isspace",
        "istitle",
        "isupper",
        "ljust",
        "lower",
        "lstrip",
        "partition",
        "removeprefix",
        "removesuffix",
        "replace",
        "rfind",
        "rindex",
        "rjust",
        "rpartition",
        "rsplit",
        "rstrip",
        "split",
        "splitlines",
        "startswith",
        "strip",
        "swapcase",
        "title",
        "upper",
        "zfill",
    ]
)
"""Methods that Python computes when everything is known."""

_NEAREST: Final = {
    "upper": "Compare with the spellings that you expect, or let the trusted function do it.",
    "lower": "Compare with the spellings that you expect, or let the trusted function do it.",
    "strip": "Use removeprefix/removesuffix, or let the trusted function do it.",
    "split": "Use find and slices: s[: s.find(',')].",
    "rfind": "Use find.",
    "rindex": "Use index.",
    "isdigit": "Use re.fullmatch(r'[0-9]+', s).",
    "isdecimal": "Use re.fullmatch(r'\\d+', s).",
    "isalpha": "Use re.fullmatch(r'[A-Za-z]+', s).",
    "isalnum": "Use re.fullmatch(r'[A-Za-z0-9]+', s).",
    "partition": "Use find and slices.",
}
_LONG: Final = frozenset({"center", "ljust", "rjust", "zfill", "expandtabs"})


def method(machine: Machine, text: Term, name: str, args: Sequence[SymbolicValue]) -> SymbolicValue:
    """`text.name(*args)`."""
    if name == "join":
        return _join(machine, text, args)
    if name not in PURE:
        refuse(
            "method.string",
            f"the string method {name!r} is outside the subset",
            "See docs/python-subset.md for the methods there are.",
        )
    held = [container_contents.known_value(machine, arg) for arg in args]
    if isinstance(text, Const) and container_contents.UNKNOWN not in held:
        return _by_python(machine, str(text.value), name, held)
    supported = _SYMBOLIC.get(name)
    if supported is None:
        refuse(
            "method.string",
            f"{name!r} of a string that is not known is not supported",
            _NEAREST.get(name, "Use startswith, endswith, find, in, replace, slices or len."),
        )
    if not args:
        return supported(machine, text, args)
    return machine.each(args[0], lambda first: supported(machine, text, [first, *args[1:]]))


def _by_python(machine: Machine, text: str, name: str, args: Sequence[Any]) -> SymbolicValue:
    widths = [arg for arg in args if isinstance(arg, int)]
    if (name in _LONG and any(width > MAX_TEXT for width in widths)) or (
        name == "replace" and len(args) > 1 and (len(text) + 1) * (len(str(args[1])) + 1) > MAX_TEXT
    ):
        refuse("limits.term", "a string here grows beyond what is read", "Make it shorter.")
    try:
        return container_contents.lift(machine, getattr(text, name)(*args))
    except (ValueError, OverflowError) as error:
        machine.require(FALSE, f"no {type(error).__name__}: {error}")
        return known(0) if name in ("index", "rindex") else known("")
    except TypeError as error:
        raise Raises("TypeError", str(error)) from error


# -- on strings that are not known -----------------------------------------------------------------


def _text(machine: Machine, value: SymbolicValue) -> Term:
    cases = machine.cases(value)
    if len(cases) == 1 and isinstance(cases[0][1], Sym) and cases[0][1].type == STR:
        return cases[0][1].term
    raise Raises("TypeError", f"a string is needed here, not {described(value)}")


def _ends(op: str) -> Any:
    def of(machine: Machine, text: Term, args: Sequence[SymbolicValue]) -> SymbolicValue:
        _takes(op, args, 1, 1)
        wanted = args[0]
        options = wanted.items if isinstance(wanted, TupleV) else (wanted,)
        return boolean(or_(*(apply(op, text, _text(machine, option)) for option in options)))

    return of


def _find(machine: Machine, text: Term, args: Sequence[SymbolicValue]) -> SymbolicValue:
    _takes("find", args, 1, 2)
    part = _text(machine, args[0])
    start: Term = const(0)
    if len(args) > 1:
        given = args[1]
        if not isinstance(given, Sym) or given.type not in (INT, BOOL):
            raise Raises("TypeError", "the start of a search is an int")
        start = clamp_index(whole(given.term), apply("len", text))
    return Sym(apply("find", text, part, start))


def _index(machine: Machine, text: Term, args: Sequence[SymbolicValue]) -> SymbolicValue:
    found = _find(machine, text, args)
    assert isinstance(found, Sym)
    machine.require(
        apply("le", const(0), found.term), "the text that is looked for is there (ValueError)"
    )
    return found


def _count(machine: Machine, text: Term, args: Sequence[SymbolicValue]) -> SymbolicValue:
    _takes("count", args, 1, 1)
    return Sym(apply("count", text, _text(machine, args[0])))


def _replace(machine: Machine, text: Term, args: Sequence[SymbolicValue]) -> SymbolicValue:
    _takes("replace", args, 2, 2)
    old, new = _text(machine, args[0]), _text(machine, args[1])
    if not isinstance(old, Const) or not old.value:
        refuse(
            "method.replace",
            "replace is supported for a known, non-empty text",
            "Write out what is replaced.",
        )
    return Sym(apply("replace", text, old, new))


def _removeprefix(machine: Machine, text: Term, args: Sequence[SymbolicValue]) -> SymbolicValue:
    _takes("removeprefix", args, 1, 1)
    part = _text(machine, args[0])
    size = apply("len", part)
    rest = apply("substring", text, size, apply("sub", apply("len", text), size))
    return Sym(ite(apply("startswith", text, part), rest, text))


def _removesuffix(machine: Machine, text: Term, args: Sequence[SymbolicValue]) -> SymbolicValue:
    _takes("removesuffix", args, 1, 1)
    part = _text(machine, args[0])
    rest = apply("substring", text, const(0), apply("sub", apply("len", text), apply("len", part)))
    return Sym(ite(apply("endswith", text, part), rest, text))


def _takes(name: str, args: Sequence[SymbolicValue], least: int, most: int) -> None:
    if not least <= len(args) <= most:
        refuse(
            "method.arguments",
            f"{name} is supported with {least if least == most else f'{least} to {most}'} arguments here",
            "Slice the string first instead of passing bounds.",
        )


_SYMBOLIC: Final = {
    "startswith": _ends("startswith"),
    "endswith": _ends("endswith"),
    "find": _find,
    "index": _index,
    "count": _count,
    "replace": _replace,
    "removeprefix": _removeprefix,
    "removesuffix": _removesuffix,
}


def _join(machine: Machine, separator: Term, args: Sequence[SymbolicValue]) -> SymbolicValue:
    _takes("join", args, 1, 1)
    options = known_items(machine, args[0], "join")
    found: list[tuple[Term, SymbolicValue]] = []
    for guard, items in options:
        parts: list[Term] = []
        for item in items:
            if parts:
                parts.append(separator)
            parts.append(_text(machine, item))
        found.append((guard, concat(*parts) if parts else known("")))
    return union_of(found)


# -- turning values into strings -------------------------------------------------------------------


def text_of(machine: Machine, value: SymbolicValue, *, quoted: bool = False) -> Sym:
    """`str(value)`, or `repr(value)`."""
    found = machine.each(value, lambda one: _text_of(machine, one, quoted=quoted))
    assert isinstance(found, Sym)
    return found


def _text_of(machine: Machine, value: SymbolicValue, *, quoted: bool) -> SymbolicValue:
    held: Any = container_contents.known_value(machine, value)
    if held is not container_contents.UNKNOWN and not container_contents.unordered(held):
        if isinstance(held, int) and held.bit_length() > 14_000:
            machine.require(FALSE, "the int has no more digits than Python converts (ValueError)")
            return known("0")
        try:
            return known(repr(held) if quoted else str(held))
        except ValueError as error:
            # A container holds such an int.
            machine.require(FALSE, f"no ValueError: {error}")
            return known("")
    if isinstance(value, Sym) and not quoted and value.type == STR:
        return value
    if isinstance(value, Sym) and value.type == INT:
        return Sym(apply("str_of_int", value.term))
    if isinstance(value, Sym) and value.type == BOOL:
        return Sym(ite(value.term, const("True"), const("False")))
    refuse(
        "string.conversion",
        f"{described(value)} can't be turned into a string here",
        "Convert strings, ints and bools; format known values only.",
    )


def formatted(machine: Machine, value: SymbolicValue, spec: str) -> Sym:
    """`format(value, spec)`."""
    if not spec:
        return text_of(machine, value)

    def of(one: SymbolicValue) -> SymbolicValue:
        held = container_contents.known_value(machine, one)
        if held is container_contents.UNKNOWN or not isinstance(held, bool | int | float | str):
            refuse(
                "string.format",
                f"the format {spec!r} is supported for known values only",
                "Leave the format out: f'{x}'.",
            )
        if any(int(number) > 1_000 for number in re.findall(r"[0-9]{1,6}", spec)) or len(spec) > 40:
            refuse(
                "limits.term", f"the format {spec!r} makes a very long text", "Use a small width."
            )
        if "n" in spec:
            refuse("string.format", "the format 'n' depends on the machine", "Use 'd' or 'f'.")
        try:
            return known(format(held, spec))
        except ValueError as error:
            raise Raises("ValueError", str(error)) from error

    found = machine.each(value, of)
    assert isinstance(found, Sym)
    return found


def template(
    machine: Machine,
    text: Term,
    args: Sequence[SymbolicValue],
    keywords: Mapping[str, SymbolicValue],
) -> SymbolicValue:
    """`text.format(*args, **keywords)`."""
    if not isinstance(text, Const) or not isinstance(text.value, str):
        refuse("string.format", "format is supported on known strings", "Use an f-string.")
    parts: list[Term] = []
    automatic, numbered = 0, False
    try:
        pieces = list(string.Formatter().parse(text.value))
    except ValueError as error:
        raise Raises("ValueError", str(error)) from error
    for literal, field, spec, conversion in pieces:
        parts.append(const(literal))
        if field is None:
            continue
        name = field
        numbered = numbered or name.isdecimal()
        if not name:
            name, automatic = str(automatic), automatic + 1
        if numbered and automatic:
            raise Raises("ValueError", "a format numbers all of its fields, or none")
        if name.isdecimal() and int(name) < len(args):
            value = args[int(name)]
        elif name in keywords:
            value = keywords[name]
        else:
            refuse(
                "string.format",
                f"the field {field!r} is none of the arguments",
                "Use an f-string: attributes and items in fields are not supported.",
            )
        if conversion not in (None, "s", "r") or (spec and "{" in spec):
            refuse("string.format", "this field is not supported", "Use an f-string.")
        shown = text_of(machine, value, quoted=True) if conversion == "r" else value
        parts.append(formatted(machine, shown, spec or "").term)
    return concat(*parts) if parts else known("")


def is_text(value: SymbolicValue) -> bool:
    """Whether it is a string."""
    return isinstance(value, Sym) and value.type == STR
