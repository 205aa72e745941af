"""The only module here that touches Z3: terms in one context, and questions with a limit of time."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any, Literal

from lictor_prove.errors import ProveError

Term = Any
"""A term of the solver; Z3 has no types that a checker could use."""

QUESTION_MS = 2_000
"""How long one question may take unless a call says otherwise."""
_HIGHEST = 0x2FFFF
"""Z3's last character."""
_ESCAPED = re.compile(r"\\u\{([0-9a-fA-F]+)\}")


class NotExpressible(ProveError):
    """Something in a pack has no exact form for the solver, so nothing is proved about it."""


@dataclass(frozen=True, slots=True)
class SolverAnswer:
    """What the solver found; `unknown` when its time was over."""

    kind: Literal["possible", "impossible", "unknown"]
    model: Any = None
    core: tuple[int, ...] = ()
    """Of an impossible question: the places of the assumptions that are enough for that."""
    why: str = ""


class Z3Terms:
    """Makes terms, all in one context of the solver."""

    def __init__(self) -> None:
        self._z3: Any = import_module("z3")
        self._context: Any = self._z3.Context()
        self.true: Term = self._z3.BoolVal(True, self._context)
        self.false: Term = self._z3.BoolVal(False, self._context)

    def flag(self, name: str) -> Term:
        """A boolean that is not known."""
        return self._z3.Bool(name, self._context)

    def number(self, name: str) -> Term:
        """A whole number that is not known."""
        return self._z3.Int(name, self._context)

    def text(self, name: str) -> Term:
        """A text that is not known."""
        return self._z3.String(name, self._context)

    def words(self, text: str) -> Term:
        """A text that is known."""
        if any(ord(char) > _HIGHEST for char in text):
            raise NotExpressible(
                f"{text!r} has a character that the solver does not know; write it without"
            )
        # Z3 reads escapes in what it is given, so a backslash is written as one.
        return self._z3.StringVal(text.replace("\\", "\\u{5c}"), self._context)

    def contains(self, text: Term, part: Term) -> Term:
        """Whether a text has another within."""
        return self._z3.Contains(text, part)

    def length(self, text: Term) -> Term:
        """The characters of a text."""
        return self._z3.Length(text)

    def all_of(self, terms: Iterable[Term]) -> Term:
        """Whether every one holds."""
        parts = list(terms)
        return self._z3.And(parts) if len(parts) > 1 else (parts[0] if parts else self.true)

    def any_of(self, terms: Iterable[Term]) -> Term:
        """Whether one holds."""
        parts = list(terms)
        return self._z3.Or(parts) if len(parts) > 1 else (parts[0] if parts else self.false)

    def denied(self, term: Term) -> Term:
        """Whether it does not hold."""
        return self._z3.Not(term)

    def implies(self, one: Term, other: Term) -> Term:
        """Whether the other holds whenever the one does."""
        return self._z3.Implies(one, other)

    def chosen(self, condition: Term, one: Term, other: Term) -> Term:
        """The one where the condition holds, else the other."""
        return self._z3.If(condition, one, other)

    def total(self, flags: Iterable[Term]) -> Term:
        """How many hold."""
        return self._z3.Sum([self._z3.If(flag, 1, 0) for flag in flags])

    def known(self, value: bool) -> Term:
        """A boolean that is known."""
        return self.true if value else self.false

    def asking(self, timeout_ms: int = QUESTION_MS) -> "Asking":
        """A place to ask, with a limit for every question."""
        return Asking(self._z3, self._context, timeout_ms)


class Asking:
    """Assertions, and questions whether more can hold beside them."""

    def __init__(self, z3: Any, context: Any, timeout_ms: int) -> None:
        self._z3 = z3
        self._solver: Any = z3.Solver(ctx=context)
        self._solver.set("timeout", timeout_ms)
        self.asked = 0

    def tell(self, terms: Iterable[Term]) -> None:
        """What holds from here on."""
        self._solver.add(*terms)

    def ask(self, assumptions: Sequence[Term] = (), *, beside: Sequence[Term] = ()) -> SolverAnswer:
        """Whether the assumptions can hold together; the core names none of those `beside`."""
        self.asked += 1
        self._solver.push()
        try:
            self._solver.add(*beside)
            found = self._solver.check(*assumptions)
            if found == self._z3.sat:
                return SolverAnswer("possible", self._solver.model())
            if found == self._z3.unsat:
                core = {each.get_id() for each in self._solver.unsat_core()}
                places = (at for at, term in enumerate(assumptions) if term.get_id() in core)
                return SolverAnswer("impossible", core=tuple(places))
            return SolverAnswer("unknown", why=str(self._solver.reason_unknown()))
        except self._z3.Z3Exception as error:
            return SolverAnswer("unknown", why=str(error))
        finally:
            self._solver.pop()


@cache
def _is_true() -> Any:
    return import_module("z3").is_true


def truth(model: Any, term: Term) -> bool:
    """Whether a boolean term holds in a model."""
    return bool(_is_true()(model.eval(term, model_completion=True)))


def whole(model: Any, term: Term) -> int:
    """What a number is in a model."""
    return int(model.eval(term, model_completion=True).as_long())


def spelled(model: Any, term: Term) -> str:
    """What a text is in a model."""
    told = str(model.eval(term, model_completion=True).as_string())
    return _ESCAPED.sub(lambda found: chr(int(found[1], 16)), told)
