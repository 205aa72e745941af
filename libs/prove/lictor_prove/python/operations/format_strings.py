"""Values as texts: `str`, `repr`, `format`, f-strings and `str.format`, with one reading of formats for all of them."""

from __future__ import annotations

import re
import string
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from lictor_ir.provenance import made_of
from lictor_ir.terms import FALSE, Term, apply, const, ite
from lictor_ir.types import BOOL, INT, STR
from lictor_prove.python.kinds import KEYED, SETS, Kind, kind_of
from lictor_prove.python.machine.machine_state import Machine
from lictor_prove.python.machine.symbolic_values import (
    ErrorV,
    InstanceRef,
    InstanceV,
    ObjectV,
    Sym,
    SymbolicValue,
    described,
    known,
)
from lictor_prove.python.machine.unknown_values import flows, maybe_raised
from lictor_prove.python.operations import container_contents, instances
from lictor_prove.python.operations.arithmetic import concat
from lictor_prove.python.operations.containers import known_text
from lictor_prove.python.operations.unknown.results import fresh, modelled
from lictor_prove.python.refusals import Raises, refuse, unmodelled

_SPEC: Final = re.compile(
    r"(?:.?[<>=^])?[-+ ]?#?0?[0-9]{0,3}[,_]?(?:\.[0-9]{1,3})?[bcdeEfFgGosxX%]?", re.DOTALL
)
"""The formats of numbers and strings that mean the same on every machine and in every version of Python."""
_TOO_LONG: Final = 10**4_300
"""Python converts no int of more digits."""
_ESCAPED: Final = re.compile(r"\\[uU]")
_NUMBER: Final = re.compile("[0-9]{1,9}")
_PLAIN: Final = frozenset(
    {
        *(Kind.NONE, Kind.LIST, Kind.TUPLE, *KEYED, *SETS, Kind.RANGE, Kind.PATTERN, Kind.MATCH),
        Kind.INSTANCE,
    }
)
"""Kinds that take no format but the empty one."""


def limit_of_digits(machine: Machine, value: SymbolicValue) -> None:
    """Python makes no text of an int of more than 4 300 digits: a program that handles ValueErrors may see that."""
    labels = made_of(flows(machine, value), machine.inputs, machine.unknowns)
    maybe_raised(machine, sorted(labels), frozenset({"ValueError"}))


def text_of(machine: Machine, value: SymbolicValue, *, quoted: bool = False) -> Sym:
    """`str(value)`, or `repr(value)`."""
    name = "repr()" if quoted else "str()"
    found = machine.each(
        value,
        lambda one: modelled(machine, name, [one], lambda: _text_of(machine, one, quoted=quoted)),
    )
    assert isinstance(found, Sym)
    return found


def _text_of(machine: Machine, value: SymbolicValue, *, quoted: bool) -> SymbolicValue:
    if isinstance(value, ErrorV):
        # It may hold an int of too many digits; and nobody knows what a layer raises.
        maybe_raised(machine, made_of(flows(machine, value.text), machine.inputs, machine.unknowns))
        return value.text if not quoted else fresh(machine, STR, "repr() of an error", [value.text])
    if isinstance(value, ObjectV) and machine.declares_unknowns:
        return fresh(machine, STR, f"the text of {described(value)} has no model", [value])
    if isinstance(value, InstanceV | InstanceRef):
        return _text_of_instance(machine, value)
    held: Any = container_contents.known_value(machine, value)
    if held is not container_contents.UNKNOWN and not container_contents.unordered(held):
        if isinstance(held, int) and abs(held) >= _TOO_LONG:
            machine.require(FALSE, "the int has no more digits than Python converts (ValueError)")
            return known("0")
        try:
            shown = repr(held) if quoted else str(held)
        except ValueError as error:
            # A container holds such an int.
            machine.require(FALSE, f"no ValueError: {error}")
            return known("")
        if (quoted or not isinstance(held, str)) and not _settled(shown):
            unmodelled(
                "string.unicode",
                "which characters of this text are escaped depends on the version of Python",
                "Leave out characters that are new, or can't be printed.",
            )
        return known(shown)
    if isinstance(value, Sym) and not quoted and value.type == STR:
        return value
    if isinstance(value, Sym) and value.type == INT:
        limit_of_digits(machine, value)
        return Sym(apply("str_of_int", value.term))
    if isinstance(value, Sym) and value.type == BOOL:
        return Sym(ite(value.term, const("True"), const("False")))
    unmodelled(
        "string.conversion",
        f"{described(value)} can't be turned into a string here",
        "Convert strings, ints and bools; format known values only.",
    )


def _text_of_instance(machine: Machine, instance: InstanceV | InstanceRef) -> SymbolicValue:
    """`Line(name='a', amount=1)`."""
    machine.step()
    parts: list[Term] = [const(f"{instance.made.name}(")]
    for at, each in enumerate(instance.made.fields):
        shown = text_of(machine, instances.read(machine, instance, each.name), quoted=True)
        parts += [const(f"{', ' if at else ''}{each.name}="), shown.term]
    return concat(*parts, const(")"))


def _settled(quoted: str) -> bool:
    """Whether every version of Python quotes so: it escapes what its version of Unicode has no character for."""
    return not _ESCAPED.search(quoted) and all(
        char.isascii() or unicodedata.ucd_3_2_0.category(char) != "Cn" for char in quoted
    )


def converted(machine: Machine, value: SymbolicValue, conversion: str | None) -> SymbolicValue:
    """What `!s` or `!r` makes of the value: a string, and formatted as one."""
    match conversion:
        case None:
            return value
        case "s" | "r":
            return text_of(machine, value, quoted=conversion == "r")
        case "a":
            refuse("string.format", "`!a` is outside the subset", "Use `!r`.")
        case _:
            raise Raises("ValueError", f"there is no conversion !{conversion}")


def formatted(machine: Machine, value: SymbolicValue, format_: SymbolicValue) -> Sym:
    """`format(value, spec)`."""
    spec = known_text(format_)
    if spec is None:
        return _of_any_format(machine, value, format_)
    if not spec:
        return text_of(machine, value)

    def of(one: SymbolicValue) -> SymbolicValue:
        if kind_of(machine, one) in _PLAIN:
            raise Raises("TypeError", f"{described(one)} takes no format such as {spec!r}")
        held = container_contents.known_value(machine, one)
        if type(held) not in (bool, int, float, str) or not _SPEC.fullmatch(spec):
            return _of_known_format(machine, one, spec)
        try:
            return known(format(held, spec))
        except (ValueError, OverflowError) as error:
            raise Raises(type(error).__name__, str(error)) from error

    found = machine.each(value, of)
    assert isinstance(found, Sym)
    return found


def _of_known_format(machine: Machine, value: SymbolicValue, spec: str) -> SymbolicValue:
    """A text that nobody models. Whether there is one depends on the kind, which an example has too."""
    if isinstance(value, ObjectV) and machine.declares_unknowns:
        why = f"the format {spec!r} of {described(value)} has no model"
        return fresh(machine, STR, why, [value], may_raise=True)
    example = _EXAMPLES.get(kind_of(machine, value))
    if example is None or not _SPEC.fullmatch(spec) or not machine.declares_unknowns:
        refuse(
            "string.format",
            f"the format {spec!r} of {described(value)} is not supported",
            "Format known values, or leave the format out: f'{x}'.",
        )
    try:
        format(example, spec)
    except ValueError as error:
        raise Raises("ValueError", str(error)) from error
    if isinstance(value, Sym) and value.type == INT and spec[-1:] not in _OTHER_DIGITS:
        limit_of_digits(machine, value)
    # A float format of an int that is larger than any float; a character that there is not.
    may_raise = isinstance(example, int) and spec[-1:] in _OF_FLOATS | {"c"}
    return fresh(
        machine, STR, f"the format {spec!r} has no exact model", [value], may_raise=may_raise
    )


def _of_any_format(machine: Machine, value: SymbolicValue, format_: SymbolicValue) -> Sym:
    cases = machine.cases(value)
    if not machine.declares_unknowns or any(
        kind_of(machine, one) not in _EXAMPLES for _, one in cases
    ):
        refuse("string.format", "the format of this value is not known", "Write the format out.")
    made = fresh(
        machine, STR, "the format of this value is not known", [value, format_], may_raise=True
    )
    assert isinstance(made, Sym)
    return made


_EXAMPLES: Final[dict[Kind, bool | int | float | str]] = {
    Kind.BOOL: True,
    Kind.INT: 1,
    Kind.FLOAT: 1.5,
    Kind.STR: "a",
}
_OF_FLOATS: Final = frozenset("eEfFgG%")
_OTHER_DIGITS: Final = ("b", "o", "x", "X")
"""Formats whose digits are not limited: they are no decimal ones."""


# -- str.format ------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Arguments:
    """What fields name, and how far those without a name have counted."""

    positional: Sequence[SymbolicValue]
    named: Mapping[str, SymbolicValue]
    numbering: set[str] = field(default_factory=set[str])
    counted: int = 0

    def get(self, name: str) -> SymbolicValue:
        """The value of a field."""
        if name.isidentifier():
            if name not in self.named:
                raise Raises("KeyError", f"the format has a field {name!r}, and no such argument")
            return self.named[name]
        if name and not _NUMBER.fullmatch(name):
            refuse(
                "string.format",
                f"the field {name!r} is not supported",
                "Use an f-string: attributes and items in fields are not supported.",
            )
        self.numbering.add("by hand" if name else "automatic")
        if len(self.numbering) > 1:
            raise Raises("ValueError", "a format numbers all of its fields, or none")
        at = int(name) if name else self.counted
        self.counted += 1
        if at >= len(self.positional):
            raise Raises("IndexError", f"the format has a field {at}, and no such argument")
        return self.positional[at]


def template(
    machine: Machine,
    owner: SymbolicValue,
    args: Sequence[SymbolicValue],
    keywords: Mapping[str, SymbolicValue],
) -> SymbolicValue:
    """`owner.format(*args, **keywords)`."""
    text = known_text(owner)
    if text is None:
        refuse("string.format", "format is supported on known strings", "Use an f-string.")
    return _filled(machine, text, _Arguments(args, keywords), inner=False)


def _filled(machine: Machine, text: str, arguments: _Arguments, *, inner: bool) -> Sym:
    parts: list[Term] = []
    try:
        fields = list(string.Formatter().parse(text))
    except ValueError as error:
        raise Raises("ValueError", str(error)) from error
    for literal, name, spec, conversion in fields:
        parts.append(known(literal).term)
        if name is None:
            continue
        value = converted(machine, arguments.get(name), conversion)
        if spec and "{" in spec:
            if inner:
                raise Raises("ValueError", "a format inside a format holds another one")
            format_: SymbolicValue = _filled(machine, spec, arguments, inner=True)
        else:
            format_ = known(spec or "")
        parts.append(formatted(machine, value, format_).term)
    return concat(*parts) if parts else known("")
