"""CEL (Google), through the PyPI distribution common-expression-language, whose module is `cel`."""

import cel

from lictor_schema.event_types import EventType
from peers.questions import (
    Context,
    Every,
    Expression,
    Never,
    Question,
    Questions,
    Scalar,
    Some,
    Test,
    identifier,
)

_SIGNS = {"equals": "==", "not_equals": "!=", "greater_than": ">", "less_than": "<"}


class CommonExpressions:
    """One program per rule, over one context per event; that is faster than one list of all rules."""

    name = "cel"

    def __init__(self, questions: Questions) -> None:
        self._programs = {
            event_type: [(cel.compile(spell(each.expression)), each) for each in asked]
            for event_type, asked in questions.items()
        }

    def matched(self, event_type: EventType, context: Context) -> list[Question]:
        """The rules that fire, in pack order."""
        programs = self._programs.get(event_type)
        if programs is None:
            return []
        known = cel.Context(context)
        return [question for program, question in programs if program.execute(known)]


def spell(expression: Expression) -> str:
    """The expression in CEL."""
    match expression:
        case Every(parts):
            return "(" + " && ".join(map(spell, parts)) + ")"
        case Some(parts):
            return "(" + " || ".join(map(spell, parts)) + ")"
        case Never(part):
            return f"!({spell(part)})"
        case Test(name, "in", tuple(members)):
            return f"{identifier(name)} in [{', '.join(map(_literal, members))}]"
        case Test(name, "contains", str(text)):
            return f"{identifier(name)}.contains({_literal(text)})"
        case Test(name, comparator, operand):
            assert not isinstance(operand, tuple)
            return f"{identifier(name)} {_SIGNS[comparator]} {_literal(operand)}"


def _literal(value: Scalar) -> str:
    if isinstance(value, str):
        return '"' + "".join(map(_escaped, value)) + '"'
    return str(value).lower()


def _escaped(each: str) -> str:
    return each if each.isalnum() or each in " _-" else f"\\U{ord(each):08x}"
