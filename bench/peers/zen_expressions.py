"""ZEN (GoRules), through zen-engine's compiled expressions: a hundred times as fast here as its decision graphs."""

from itertools import compress

import zen

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
    Untranslatable,
    identifier,
)

_SIGNS = {"equals": "==", "not_equals": "!=", "greater_than": ">", "less_than": "<"}


class ZenExpressions:
    """One expression per event type: the list of what each rule answers."""

    name = "zen-engine"

    def __init__(self, questions: Questions) -> None:
        self._questions = questions
        self._compiled = {
            event_type: zen.compile_expression(
                "[" + ", ".join(spell(each.expression) for each in asked) + "]"
            )
            for event_type, asked in questions.items()
        }

    def matched(self, event_type: EventType, context: Context) -> list[Question]:
        """The rules that fire, in pack order."""
        compiled = self._compiled.get(event_type)
        if compiled is None:
            return []
        return list(compress(self._questions[event_type], compiled.evaluate(context)))


def spell(expression: Expression) -> str:
    """The expression in ZEN."""
    match expression:
        case Every(parts):
            return "(" + " and ".join(map(spell, parts)) + ")"
        case Some(parts):
            return "(" + " or ".join(map(spell, parts)) + ")"
        case Never(part):
            return f"not ({spell(part)})"
        case Test(name, "in", tuple(members)):
            return f"({identifier(name)} in [{', '.join(map(_literal, members))}])"
        case Test(name, "contains", str(text)):
            return f"contains({identifier(name)}, {_literal(text)})"
        case Test(name, comparator, operand):
            assert not isinstance(operand, tuple)
            return f"({identifier(name)} {_SIGNS[comparator]} {_literal(operand)})"


def _literal(value: Scalar) -> str:
    if not isinstance(value, str):
        return str(value).lower()
    # The language has no escapes in its strings, only two kinds of quotes.
    for quote in "\"'":
        if quote not in value:
            return f"{quote}{value}{quote}"
    raise Untranslatable(f"ZEN can't spell {value!r}: it has both kinds of quotes")
