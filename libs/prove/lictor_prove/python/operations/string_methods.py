"""Methods of strings.

On known strings Python itself computes them. On others there are those that the format can say.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from lictor_ir.terms import FALSE, Const, Term, apply, const, ite, or_
from lictor_ir.types import BOOL, INT, STR
from lictor_prove.python.kinds import Kind, kind_of, undefined
from lictor_prove.python.machine.machine_state import Machine
from lictor_prove.python.machine.symbolic_values import (
    Poison,
    Sym,
    SymbolicValue,
    TupleV,
    Unbound,
    UnionV,
    boolean,
    described,
    is_none,
    known,
)
from lictor_prove.python.operations import container_contents
from lictor_prove.python.operations.arithmetic import clamp_index, concat
from lictor_prove.python.operations.comparisons import whole
from lictor_prove.python.operations.iterables import known_items
from lictor_prove.python.operations.unknown import iterables as unknown_iterables
from lictor_prove.python.operations.unknown.results import modelled
from lictor_prove.python.refusals import MAX_TEXT, Raises, Unmodelled, refuse, unmodelled

Args = Sequence[SymbolicValue]
Function = Callable[[Machine, SymbolicValue, Args], SymbolicValue]
OnTerm = Callable[[Machine, Term, Args], SymbolicValue]

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
_BY_UNICODE: Final = frozenset(
    [
        *("capitalize", "casefold", "lower", "swapcase", "title", "upper"),
        *("isalnum", "isalpha", "isdecimal", "isdigit", "isidentifier", "islower"),
        *("isnumeric", "isprintable", "istitle", "isupper"),
    ]
)
"""Methods that look into the tables of Unicode, which grow and change with the version of Python."""
_SETTLED: Final = "\u0180"
"""Below it, in Latin up to Extended-A, no version of Python from 3.11 on answers differently."""


def computed(name: str, otherwise: OnTerm | None = None) -> Function:
    """A method that Python computes where everything is known; else this, if there is such a thing."""

    def of(machine: Machine, owner: SymbolicValue, args: Args) -> SymbolicValue:
        assert isinstance(owner, Sym)
        held = [container_contents.known_value(machine, arg) for arg in args]
        if isinstance(owner.term, Const) and container_contents.UNKNOWN not in held:
            return _by_python(machine, str(owner.term.value), name, held)
        if otherwise is None:
            unmodelled(
                "method.string",
                f"{name!r} of a string that is not known is not supported",
                _NEAREST.get(name, "Use startswith, endswith, find, in, replace, slices or len."),
            )
        return otherwise(machine, owner.term, args)

    return lambda machine, owner, args: _on_each(
        machine,
        args,
        lambda given: modelled(
            machine, f"str.{name}", [owner, *given], lambda: of(machine, owner, given)
        ),
    )


def _on_each(
    machine: Machine, args: Args, function: Callable[[Args], SymbolicValue]
) -> SymbolicValue:
    """The function of whatever the arguments are."""
    several = [at for at, arg in enumerate(args) if isinstance(arg, UnionV | Unbound | Poison)]
    if not several:
        return function(args)
    before, arg, after = args[: several[0]], args[several[0]], args[several[0] + 1 :]
    return machine.each(arg, lambda one: _on_each(machine, [*before, one, *after], function))


def _by_python(machine: Machine, text: str, name: str, args: Sequence[Any]) -> SymbolicValue:
    numbers = [arg for arg in args if isinstance(arg, int)]
    grown = {
        "center": max(numbers, default=0),
        "ljust": max(numbers, default=0),
        "rjust": max(numbers, default=0),
        "zfill": max(numbers, default=0),
        "expandtabs": len(text) * max(numbers, default=8),
        "replace": (len(text) + 1) * (len(str(args[1])) + 1) if name == "replace" else 0,
    }
    if grown.get(name, 0) > MAX_TEXT:
        unmodelled("limits.term", "a string here grows beyond what is read", "Make it shorter.")
    if name in _BY_UNICODE and any(char >= _SETTLED for char in text):
        unmodelled(
            "string.unicode",
            f"what {name} does to {text[:40]!r} depends on the version of Python",
            "Write out what you expect.",
        )
    try:
        return container_contents.lift(machine, getattr(text, name)(*args))
    except (ValueError, OverflowError) as error:
        machine.require(FALSE, f"no {type(error).__name__}: {error}", error=type(error).__name__)
        return known(0) if name in ("index", "rindex") else known("")
    except TypeError as error:
        raise Raises("TypeError", str(error)) from error


# -- on strings that are not known -----------------------------------------------------------------


def _text(machine: Machine, value: SymbolicValue) -> Term:
    if isinstance(value, Sym) and value.type == STR:
        return value.term
    undefined(machine, "a method of strings", value)


def ends(op: str) -> OnTerm:
    """`text.startswith(…)` or `text.endswith(…)`, of a string or a tuple of them."""

    def of(machine: Machine, text: Term, args: Args) -> SymbolicValue:
        wanted = _unbounded(op, args, 1)[0]
        if kind_of(machine, wanted) != Kind.TUPLE:
            return boolean(apply(op, text, _text(machine, wanted)))
        options = wanted.items if isinstance(wanted, TupleV) else (wanted,)
        found: list[Term] = []
        for option in options:
            # Python stops at the first that fits, so whether it comes to one that is no string depends on the text.
            if not isinstance(option, Sym) or option.type != STR:
                refuse(
                    "method.string",
                    f"{op} is supported with strings, not with {described(option)} among them",
                    "Write the strings out.",
                )
            found.append(apply(op, text, option.term))
        return boolean(or_(*found))

    return of


def find(machine: Machine, text: Term, args: Args) -> SymbolicValue:
    """`text.find(part, start, end)`."""
    part = _text(machine, args[0])
    start, end = (_bound(machine, text, arg) for arg in (*args[1:], *([None] * (3 - len(args)))))
    if end is not None:
        # What lies behind the end is not there.
        text = apply("substring", text, const(0), end)
    return Sym(apply("find", text, part, const(0) if start is None else start))


def _bound(machine: Machine, text: Term, value: SymbolicValue | None) -> Term | None:
    """Where a search begins or ends, if that is said."""
    if value is None or is_none(value):
        return None
    if isinstance(value, Sym) and value.type in (INT, BOOL):
        return clamp_index(whole(value.term), apply("len", text))
    undefined(machine, "a bound of a search", value)


def index(machine: Machine, text: Term, args: Args) -> SymbolicValue:
    """`text.index(part, start, end)`."""
    found = find(machine, text, args)
    assert isinstance(found, Sym)
    machine.require(
        apply("le", const(0), found.term),
        "the text that is looked for is there (ValueError)",
        error="ValueError",
    )
    return found


def count(machine: Machine, text: Term, args: Args) -> SymbolicValue:
    """`text.count(part)`."""
    return Sym(apply("count", text, _text(machine, _unbounded("count", args, 1)[0])))


def replace(machine: Machine, text: Term, args: Args) -> SymbolicValue:
    """`text.replace(old, new)`."""
    old, new = (_text(machine, arg) for arg in _unbounded("replace", args, 2))
    if not isinstance(old, Const) or not old.value:
        unmodelled(
            "method.replace",
            "replace is supported for a known, non-empty text",
            "Write out what is replaced.",
        )
    return Sym(apply("replace", text, old, new))


def removeprefix(machine: Machine, text: Term, args: Args) -> SymbolicValue:
    """`text.removeprefix(part)`."""
    part = _text(machine, args[0])
    size = apply("len", part)
    rest = apply("substring", text, size, apply("sub", apply("len", text), size))
    return Sym(ite(apply("startswith", text, part), rest, text))


def removesuffix(machine: Machine, text: Term, args: Args) -> SymbolicValue:
    """`text.removesuffix(part)`."""
    part = _text(machine, args[0])
    rest = apply("substring", text, const(0), apply("sub", apply("len", text), apply("len", part)))
    return Sym(ite(apply("endswith", text, part), rest, text))


def _unbounded(name: str, args: Args, wanted: int) -> Args:
    """The arguments, where no bounds are given: Python may find an empty text in a slice, and not within bounds."""
    if len(args) > wanted:
        unmodelled(
            "method.arguments",
            f"{name} of a string that is not known is supported with {wanted} arguments",
            "Slice the string first instead of passing bounds.",
        )
    return args


def join(machine: Machine, owner: SymbolicValue, args: Args) -> SymbolicValue:
    """`owner.join(items)`."""
    assert isinstance(owner, Sym)
    separator = owner.term

    def of(items: Args) -> SymbolicValue:
        parts: list[Term] = []
        for item in items:
            if parts:
                parts.append(separator)
            text = _on_each(machine, [item], lambda given: Sym(_text(machine, given[0])))
            assert isinstance(text, Sym)
            parts.append(text.term)
        return concat(*parts) if parts else known("")

    mark = machine.mark()
    try:
        return machine.under(known_items(machine, args[0], "join"), of)
    except Unmodelled:
        if not machine.declares_unknowns:
            raise
        machine.go_back(mark)
        return unknown_iterables.joined_text(machine, owner, args[0])
