"""CEL (Google), through the PyPI distribution common-expression-language, whose module is `cel`."""

import cel

from lictor_schema.events.event_types import EventType
from peers.grammar import Grammar
from peers.questions import Context, Question, Questions, Scalar


class CommonExpressions:
    """One program per rule, over one context per event; that is faster than one list of all rules."""

    name = "cel"

    def __init__(self, questions: Questions) -> None:
        self._programs = {
            event_type: [(cel.compile(_GRAMMAR.spell(each.expression)), each) for each in asked]
            for event_type, asked in questions.items()
        }

    def matched(self, event_type: EventType, context: Context) -> list[Question]:
        """The rules that fire, in pack order."""
        programs = self._programs.get(event_type)
        if programs is None:
            return []
        known = cel.Context(context)
        return [question for program, question in programs if program.execute(known)]


def _literal(value: Scalar) -> str:
    if isinstance(value, str):
        return '"' + "".join(map(_escaped, value)) + '"'
    return str(value).lower()


def _escaped(each: str) -> str:
    return each if each.isalnum() or each in " _-" else f"\\U{ord(each):08x}"


def _contains(name: str, text: str) -> str:
    return f"{name}.contains({_literal(text)})"


_GRAMMAR = Grammar(
    every="&&",
    some="||",
    never="!",
    one_of="{name} in [{members}]",
    contains=_contains,
    literal=_literal,
)
