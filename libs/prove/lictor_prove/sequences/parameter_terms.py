"""Rules for the parameters of a call as terms of the solver, and calls that meet a choice of them.

A parameter is a text here. What else it may be, a number, a list, a file spelled in another way, is left open where a
proof must hold of it: what a rule with `deny`, or one that looks for one value of several, then says of it may be
anything.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from lictor_ir.errors import IrError
from lictor_ir.regexes import Regex
from lictor_ir.solver.z3_regexes import regex_for_z3
from lictor_prove.errors import ProveError
from lictor_prove.python.operations.regex_languages import language
from lictor_prove.python.refusals import SubsetRefusal
from lictor_schema.sessions.parameter_rule import ParameterRule

MAX_KINDS = 64
"""Choices of what holds that are looked at for one tool."""
_SPACES = "\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
"""What `\\s` is in the patterns of a definition; in Python's, it is some characters more."""
_SAME_ESCAPES = "nrtfv"


@dataclass(frozen=True, slots=True)
class Question:
    """Something that policies ask about the parameters of one tool."""

    name: str
    rules: tuple[ParameterRule, ...] = ()
    files: tuple[str, ...] = ()
    """Patterns of which one must match one of the files that are named."""
    any_value: bool = False
    """Whether one of several values is enough."""


@dataclass(frozen=True, slots=True)
class CallKind:
    """What holds of some calls of a tool."""

    holds: frozenset[str]
    """The questions that are answered with yes; the others with no."""
    params: Mapping[str, str] | None
    """Such a call; None where the solver knows none for sure."""


@dataclass(slots=True)
class CallKinds:
    """All kinds of calls of one tool."""

    kinds: list[CallKind] = field(default_factory=list[CallKind])
    complete: bool = True
    """Whether no other kind exists: else nothing is proved by these."""
    why: str = ""


def kinds_of_calls(
    questions: Sequence[Question], file_params: Sequence[str], timeout_ms: int
) -> CallKinds:
    """Every way in which the questions can be answered together."""
    return _Search(file_params, timeout_ms).kinds(questions)


class _Search:
    def __init__(self, file_params: Sequence[str], timeout_ms: int) -> None:
        self._z3: Any = import_module("z3")
        self._context: Any = self._z3.Context()
        self._files = file_params
        self._timeout_ms = timeout_ms
        self._texts: dict[str, Any] = {}
        self._given: dict[str, Any] = {}
        self._open: dict[str, Any] = {}

    def kinds(self, questions: Sequence[Question]) -> CallKinds:
        z3 = self._z3
        found = CallKinds()
        solver = z3.Solver(ctx=self._context)
        solver.set("timeout", self._timeout_ms)
        answers = [(each.name, z3.Bool(f"?{each.name}", self._context)) for each in questions]
        for (_, flag), question in zip(answers, questions, strict=True):
            solver.add(flag == self._term(question))
        for name in self._files:
            solver.add(z3.Implies(self._is_given(name), z3.Length(self._text(name)) > 0))
        for _ in range(MAX_KINDS):
            told = self._check(solver)
            if told == "unsat":
                return found
            if told != "sat":
                found.complete, found.why = False, told
                return found
            model = solver.model()
            chosen = [(name, flag, z3.is_true(model.eval(flag, True))) for name, flag in answers]
            same = z3.And(
                [flag == value for _, flag, value in chosen] or [z3.BoolVal(True, self._context)]
            )
            holds = frozenset(name for name, _, value in chosen if value)
            found.kinds.append(CallKind(holds, self._example(solver, same)))
            solver.add(z3.Not(same))
        found.complete, found.why = False, f"there are more than {MAX_KINDS} kinds of calls"
        return found

    def _example(self, solver: Any, same: Any) -> dict[str, str] | None:
        """Such a call, rather one with all parameters, and with texts that people can read."""
        certain = [same, *(self._z3.Not(each) for each in self._open.values())]
        plain = [self._plain(each) for each in self._texts.values()]
        given = list(self._given.values())
        for wishes in ([*plain, *given], plain, given, []):
            solver.push()
            try:
                solver.add(*certain, *wishes)
                if self._check(solver) == "sat":
                    return self._params(solver.model())
            finally:
                solver.pop()
        return None

    def _params(self, model: Any) -> dict[str, str]:
        return {
            name: _spelled(model.eval(text, True).as_string())
            for name, text in self._texts.items()
            if self._z3.is_true(model.eval(self._is_given(name), True))
        }

    def _plain(self, text: Any) -> Any:
        """A text that people can read."""
        z3 = self._z3
        return z3.InRe(text, z3.Star(z3.Range(self._words("-"), self._words("z"))))

    def _check(self, solver: Any) -> str:
        z3 = self._z3
        try:
            found = solver.check()
        except z3.Z3Exception as error:
            return str(error)
        if found == z3.unknown:
            return f"the solver did not find out: {solver.reason_unknown()}"
        return "sat" if found == z3.sat else "unsat"

    def _term(self, question: Question) -> Any:
        z3 = self._z3
        parts = [self._rule(each, any_value=question.any_value) for each in question.rules]
        if question.files:
            parts.append(self._names_file(question.files))
        return z3.And(parts) if parts else z3.BoolVal(True, self._context)

    def _rule(self, rule: ParameterRule, *, any_value: bool) -> Any:
        z3 = self._z3
        key = repr((rule.param, rule.allow, rule.deny, rule.required))
        try:
            if "." in rule.param:
                raise ProveError("a parameter inside another one is not modelled")
            text, given = self._text(rule.param), self._is_given(rule.param)
            allowed = [self._matches(text, each, whole=True) for each in rule.allow]
            denied = [self._matches(text, each, whole=False) for each in rule.deny]
        except (ProveError, IrError, SubsetRefusal):
            # It may hold or not, whatever else does; the same rule says the same everywhere.
            return self._unknown(f"{key} {any_value}")
        passes = z3.And(
            z3.Or(allowed) if allowed else z3.BoolVal(True, self._context),
            z3.Not(z3.Or(denied)) if denied else z3.BoolVal(True, self._context),
        )
        if any_value:
            passes = z3.Or(passes, self._unknown(f"{key} of another value"))
        elif denied:
            passes = z3.And(passes, z3.Not(self._unknown(f"{key} broken inside")))
        if rule.param in self._files and (allowed or denied):
            # A file that nobody can tell passes no rule, and counts as every one that is looked for.
            lost = self._unknown(f"no file {rule.param}")
            passes = z3.Or(passes, lost) if any_value else z3.And(passes, z3.Not(lost))
        if rule.required:
            return z3.And(given, passes)
        return z3.Or(z3.Not(given), passes)

    def _names_file(self, patterns: Sequence[str]) -> Any:
        z3 = self._z3
        none = z3.And([z3.Not(self._is_given(each)) for each in self._files])
        try:
            matched = [
                z3.And(self._is_given(each), self._matches(self._text(each), pattern, whole=True))
                for each in self._files
                for pattern in patterns
            ]
        except (ProveError, IrError, SubsetRefusal):
            return self._unknown(f"files {patterns!r}")
        return z3.Or(none, *matched, self._unknown(f"files {patterns!r} of another value"))

    def _matches(self, text: Any, pattern: str, *, whole: bool) -> Any:
        return self._z3.InRe(
            text, regex_for_z3(rust_language(pattern, whole=whole), self._z3, self._words)
        )

    def _words(self, text: str) -> Any:
        return self._z3.StringVal(text.replace("\\", "\\u{5c}"), self._context)

    def _text(self, param: str) -> Any:
        return self._texts.setdefault(param, self._z3.String(f"text {param}", self._context))

    def _is_given(self, param: str) -> Any:
        self._text(param)
        return self._given.setdefault(param, self._z3.Bool(f"given {param}", self._context))

    def _unknown(self, name: str) -> Any:
        return self._open.setdefault(name, self._z3.Bool(f"open {name}", self._context))


def rust_language(pattern: str, *, whole: bool) -> Regex:
    """The texts that a pattern of a definition matches, wholly or somewhere; only what both dialects read alike."""
    begins = pattern.startswith("^")
    ends = pattern.endswith("$") and not pattern.endswith("\\$")
    # An anchor at the end of a choice would belong to its last part alone.
    bare = _in_python(pattern[begins : len(pattern) - ends], anchored=begins or ends)
    how = "fullmatch" if whole or (begins and ends) else "match" if begins else "search"
    if ends and how != "fullmatch":
        raise ProveError("a pattern that is anchored at its end alone is not modelled")
    return language(bare, how)


def _in_python(pattern: str, *, anchored: bool) -> str:
    """The same pattern for Python; ProveError where one of the dialects has something of its own."""
    made: list[str] = []
    in_class, depth = False, 0
    rest = iter(range(len(pattern)))
    for at in rest:
        char, following = pattern[at], pattern[at + 1 : at + 3]
        if char == "\\":
            next(rest, None)
            made.append(_escape(following[:1], in_class=in_class))
            continue
        if in_class and (char == "[" or char + following[:1] in ("&&", "--", "~~")):
            raise ProveError("classes within classes are not modelled")
        if not in_class and (
            char in "^$" or (char == "(" and following[:1] == "?" and following != "?:")
        ):
            raise ProveError("anchors inside, flags and look-around are not modelled")
        if not in_class:
            depth += (char == "(") - (char == ")")
            if char == "|" and depth == 0 and anchored:
                raise ProveError("an anchored choice is not modelled")
        if char == "[" and following[:1] == "]":
            raise ProveError("a class that begins with ] is not modelled")
        in_class = (char == "[") or (in_class and char != "]")
        made.append(char)
    return "".join(made)


def _escape(char: str, *, in_class: bool) -> str:
    if char == "s":
        return _SPACES if in_class else f"[{_SPACES}]"
    if (char.isalnum() and char not in _SAME_ESCAPES) or char in "<>":
        raise ProveError(f"\\{char} is not modelled")
    return f"\\{char}"


def _spelled(text: str) -> str:
    return re.sub(r"\\u\{([0-9a-fA-F]+)\}", lambda found: chr(int(found[1], 16)), text)
