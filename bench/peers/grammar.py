"""How an engine's language spells an expression."""

from collections.abc import Callable
from dataclasses import dataclass

from peers.questions import Every, Expression, Never, Scalar, Some, Test, identifier

_SIGNS = {"equals": "==", "not_equals": "!=", "greater_than": ">", "less_than": "<"}


@dataclass(frozen=True, slots=True)
class Grammar:
    """The words of one language. In the forms, {name} is a value of the context."""

    every: str
    some: str
    never: str
    one_of: str
    contains: Callable[[str, str], str]
    literal: Callable[[Scalar], str]
    prefix: str = ""

    def spell(self, expression: Expression) -> str:
        """The expression in that language."""
        match expression:
            case Every(parts):
                return "(" + f" {self.every} ".join(map(self.spell, parts)) + ")"
            case Some(parts):
                return "(" + f" {self.some} ".join(map(self.spell, parts)) + ")"
            case Never(part):
                return f"{self.never}({self.spell(part)})"
            case Test(name, "in", tuple(members)):
                listed = ", ".join(map(self.literal, members))
                return self.one_of.format(name=self.prefix + identifier(name), members=listed)
            case Test(name, "contains", str(text)):
                return self.contains(self.prefix + identifier(name), text)
            case Test(name, comparator, operand):
                assert not isinstance(operand, tuple)
                sign = _SIGNS[comparator]
                return f"({self.prefix}{identifier(name)} {sign} {self.literal(operand)})"
