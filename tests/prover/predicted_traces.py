"""What an Effect IR document says a run does, read without the library's own evaluator and without any solver.

The predictor walks the atoms in order beside a recorded run: each atom whose guard holds must be the next recorded
call, with the same arguments; its recorded result is then what the term `Result` means. So a wrong guard, order,
argument or loop shows at the first call that differs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any

from concrete_runs import Call, Run

from lictor_ir import operators
from lictor_ir.document import Atom, Binder, Document, Obligation, ObligationKind
from lictor_ir.errors import UnspecifiedError
from lictor_ir.regexes import full_match
from lictor_ir.terms import App, Const, Matches, Result, Term, Var
from lictor_ir.values import RowValue
from lictor_layer.rows import Row

Indices = Mapping[str, Any]

NEEDLESS = "the operands of / are at most 2**53, so that the quotient is known exactly"
"""The only obligation that demands more than Python does. Where another one fails, Python raises."""


class Mismatch(AssertionError):
    """The document says something else than what happened, of this atom."""

    def __init__(self, message: str, atom: Atom | None = None) -> None:
        super().__init__(message)
        self.atom = atom


class Ended(Exception):
    """The recorded run is over."""


@dataclass
class Predictor:
    """Values of terms over one recorded run."""

    run: Run
    results: dict[tuple[str, tuple[int, ...]], Any] = field(default_factory=dict)
    at: int = 0

    def follow(self, document: Document) -> None:
        """Walks the atoms beside the run; a Mismatch when they part."""
        try:
            self._walk(document.atoms, 0, {})
        except Ended:
            return
        if self.at < len(self.run.calls):
            missed = self.run.calls[self.at]
            raise Mismatch(f"call {self.at} happens, and no atom says so: {missed}")

    def _walk(self, atoms: Sequence[Atom], depth: int, indices: Indices) -> None:
        start = 0
        while start < len(atoms):
            binders = atoms[start].binders
            if len(binders) == depth:
                self._occur(atoms[start], indices)
                start += 1
                continue
            end = start
            while end < len(atoms) and atoms[end].binders[depth : depth + 1] == (binders[depth],):
                end += 1
            for index in range(self._extent(binders[depth], indices)):
                within = {**indices, binders[depth].index.name: index}
                self._walk(atoms[start:end], depth + 1, within)
            start = end

    def _extent(self, binder: Binder, indices: Indices) -> int:
        try:
            over = self.value(binder.over, indices)
        except UnspecifiedError:
            return 0  # the list was never made: what stands in the loop must not have happened
        return over if isinstance(over, int) else len(over)

    def _occur(self, atom: Atom, indices: Indices) -> None:
        try:
            if not self.value(atom.guard, indices):
                return
        except UnspecifiedError as error:
            if self.run.raised is not None and self.at == len(self.run.calls):
                raise Ended from None
            raise Mismatch(f"the guard of {atom.id} has no value: {error}", atom) from None
        if self.at == len(self.run.calls):
            if self.run.raised is not None:
                raise Ended
            raise Mismatch(f"{atom.id} ({atom.effect}) should happen after the last call", atom)
        call = self.run.calls[self.at]
        self._compare(atom, call, indices)
        self.at += 1
        places = tuple(indices[binder.index.name] for binder in atom.binders)
        self.results[(atom.id, places)] = ir_value(call.result)

    def _compare(self, atom: Atom, call: Call, indices: Indices) -> None:
        if atom.effect != call.effect:
            raise Mismatch(f"call {self.at} is {call.effect}, {atom.id} says {atom.effect}", atom)
        if set(atom.arguments) != set(call.arguments):
            raise Mismatch(f"{atom.id} passes {sorted(atom.arguments)}, not {call.arguments}", atom)
        for name, term in atom.arguments.items():
            predicted = self.value(term, indices)
            if not alike(predicted, ir_value(call.arguments[name])):
                raise Mismatch(
                    f"{atom.id} ({atom.effect}) passes {name}={predicted!r};"
                    f" the program passed {call.arguments[name]!r}",
                    atom,
                )

    def broken(self, document: Document, *kinds: ObligationKind) -> list[Obligation]:
        """The obligations that do not hold in this run, as far as it went."""
        return [
            each
            for each in document.obligations
            if each.kind in kinds
            and any(self._fails(each, indices) for indices in self._choices(each.binders, {}))
        ]

    def excused(self, document: Document, atom: Atom | None) -> bool:
        """Whether something failed before this atom that Python does without: what follows it says nothing."""
        if atom is None or atom.span is None:
            return False
        failed = self.broken(document, ObligationKind.NO_ERROR)
        return any(
            each.text == NEEDLESS and each.span and each.span.line <= atom.span.line
            for each in failed
        )

    def _fails(self, obligation: Obligation, indices: Indices) -> bool:
        try:
            return bool(self.value(obligation.guard, indices)) and not self.value(
                obligation.formula, indices
            )
        except UnspecifiedError:
            return False

    def _choices(self, binders: Sequence[Binder], indices: Indices) -> Iterator[Indices]:
        if not binders:
            yield indices
            return
        for index in range(self._extent(binders[0], indices)):
            yield from self._choices(binders[1:], {**indices, binders[0].index.name: index})

    def value(self, term: Term, indices: Indices) -> Any:
        """The value of a term in this run, lazily: what no value depends on may be open."""
        return _value(term, {**self.run.inputs, **indices}, self.results, {})


def _value(term: Term, indices: Indices, results: Mapping[Any, Any], known: dict[Term, Any]) -> Any:
    if term in known:
        return known[term]
    match term:
        case Const():
            return term.value
        case Var():
            if term.name not in indices:
                raise UnspecifiedError(f"{term.name} is no input and no index here")
            return indices[term.name]
        case Result():
            places = tuple(_value(each, indices, results, known) for each in term.indices)
            if (term.call, places) not in results:
                raise UnspecifiedError(f"{term.call} did not happen at {places}")
            return results[(term.call, places)]
        case Matches():
            return full_match(term.regex, _value(term.text, indices, results, known))
        case App():
            outcome = _applied(term, indices, results, known)
            known[term] = outcome
            return outcome
        case _:
            raise TypeError(f"{term!r} is no term")


def _applied(
    term: App, indices: Indices, results: Mapping[Any, Any], known: dict[Term, Any]
) -> Any:
    if term.op == "ite":
        chosen = term.args[1 if _value(term.args[0], indices, results, known) else 2]
        return _value(chosen, indices, results, known)
    if term.op in ("and", "or"):
        deciding, open_ = term.op == "or", None
        for arg in term.args:
            try:
                if bool(_value(arg, indices, results, known)) is deciding:
                    return deciding
            except UnspecifiedError as error:
                open_ = error
        if open_ is not None:
            raise open_
        return not deciding
    values = [_value(arg, indices, results, known) for arg in term.args]
    try:
        return operators.apply(term.op, term.param, values)
    except TypeError as error:
        if term.op not in ("set", "dict"):
            raise
        raise UnspecifiedError(f"the format can't hash a row: {error}") from None


def ir_value(value: Any) -> Any:
    """A value of a run as the format has it."""
    if isinstance(value, Row):
        return RowValue(type(value).__name__, dict(value))
    if type(value) in (list, tuple):
        return type(value)(ir_value(item) for item in value)
    if type(value) is dict:
        return {key: ir_value(item) for key, item in value.items()}
    return value


def alike(one: Any, other: Any) -> bool:
    """Whether two values are the same in everything a program could tell: type, sign of zero, NaN, order of a dict."""
    if isinstance(one, Set) and isinstance(other, Set):
        return sorted(map(_told, one)) == sorted(map(_told, other))
    if type(one) is not type(other):
        return False
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(alike, one, other))
    if isinstance(one, dict):
        return alike(list(one.items()), list(other.items()))
    return (one == other or one != one) and repr(one) == repr(other)


def _told(item: Any) -> str:
    return f"{type(item).__name__} {item!r}"
