"""ZEN (GoRules), through zen-engine's compiled expressions: a hundred times as fast here as its decision graphs."""

from itertools import compress

import zen

from lictor_schema.events.event_types import EventType
from peers.grammar import Grammar
from peers.questions import Context, Question, Questions, Scalar, Untranslatable


class ZenExpressions:
    """One expression per event type: the list of what each rule answers."""

    name = "zen-engine"

    def __init__(self, questions: Questions) -> None:
        self._questions = questions
        self._compiled = {
            event_type: zen.compile_expression(
                "[" + ", ".join(_GRAMMAR.spell(each.expression) for each in asked) + "]"
            )
            for event_type, asked in questions.items()
        }

    def matched(self, event_type: EventType, context: Context) -> list[Question]:
        """The rules that fire, in pack order."""
        compiled = self._compiled.get(event_type)
        if compiled is None:
            return []
        return list(compress(self._questions[event_type], compiled.evaluate(context)))


def _literal(value: Scalar) -> str:
    if not isinstance(value, str):
        return str(value).lower()
    # The language has no escapes in its strings, only two kinds of quotes.
    for quote in "\"'":
        if quote not in value:
            return f"{quote}{value}{quote}"
    raise Untranslatable(f"ZEN can't spell {value!r}: it has both kinds of quotes")


def _contains(name: str, text: str) -> str:
    return f"contains({name}, {_literal(text)})"


_GRAMMAR = Grammar(
    every="and",
    some="or",
    never="not ",
    one_of="({name} in [{members}])",
    contains=_contains,
    literal=_literal,
)
