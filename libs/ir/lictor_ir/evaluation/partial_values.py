"""What a value can be of which only parts are known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from lictor_ir.document import Document
from lictor_ir.evaluation.term_values import Environment, Evaluation
from lictor_ir.evaluation.value_types import is_same
from lictor_ir.terms import App, Term
from lictor_ir.values import Open, RowValue, Value


class CallMakers:
    """Which atoms can have made a call, whatever trusted calls returned before and declared unknowns are."""

    def __init__(self, document: Document, inputs: Mapping[str, Value]) -> None:
        self._document = document
        self._evaluation = Evaluation(Environment(inputs))

    def of(self, effect: str, arguments: Mapping[str, Value]) -> frozenset[str]:
        """The ids of those atoms."""
        return frozenset(
            atom.id
            for atom in self._document.atoms
            if atom.effect == effect
            and atom.arguments.keys() == arguments.keys()
            and all(self._may_be(term, arguments[name]) for name, term in atom.arguments.items())
        )

    def _may_be(self, term: Term, value: Any) -> bool:
        todo: list[tuple[Term, Any]] = [(term, value)]
        while todo:
            part, seen = todo.pop()
            found = self._evaluation.found(part)
            if not isinstance(found, Open):
                if not is_same(found, seen):
                    return False
            elif isinstance(part, App) and part.op in ("list", "tuple", "row"):
                inside = written_parts(part, seen)
                if inside is None:
                    return False
                todo += inside
            elif isinstance(part, App) and part.op == "ite":
                if not any(self._may_be(each, seen) for each in _alternatives(part)):
                    return False
            elif not may_be_text(part, seen, self._evaluation):
                return False
        return True


def _alternatives(term: Term) -> Iterator[Term]:
    """What it may be, through every `if`."""
    seen: set[Term] = set()
    stack = [term]
    while stack:
        part = stack.pop()
        if part in seen:
            continue
        seen.add(part)
        if isinstance(part, App) and part.op == "ite":
            stack += part.args[1:]
        else:
            yield part


def may_be_text(term: Term, value: Value, evaluation: Evaluation) -> bool:
    """Whether the known pieces of a text stand in this one, in their order; true of what is no text."""
    if not (isinstance(term, App) and term.op == "concat" and isinstance(value, str)):
        return True
    known: list[str] = [""]
    """What stands between the pieces that are open: it stands together."""
    for piece in map(evaluation.found, term.args):
        if isinstance(piece, Open):
            known.append("")
        else:
            known[-1] += piece
    first, *others = known
    if not others:
        return value == first
    *within, last = others
    if not value.startswith(first):
        return False
    at = len(first)
    for piece in within:
        found = value.find(piece, at)
        if found < 0:
            return False
        at = found + len(piece)
    return len(value) - len(last) >= at and value.endswith(last)


def written_parts(term: Term, value: Any) -> list[tuple[Term, Any]] | None:
    """What the parts of a value that is written out are given; None when it is not, or has another shape."""
    if not isinstance(term, App):
        return None
    items = list(term.args)
    match term.op, value:
        case ("list", list()) | ("tuple", tuple()):
            held = list(cast(Sequence[Any], value))
            if len(items) == len(held):
                return list(zip(items, held, strict=True))
        case "row", RowValue(schema, columns):
            own, _, names = term.param.partition(":")
            if own == schema and sorted(names.split(",")) == sorted(columns):
                given = [columns[name] for name in names.split(",")]
                return list(zip(items, given, strict=True))
        case _:
            pass
    return None
