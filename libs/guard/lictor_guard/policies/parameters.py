"""What the parameters of a tool may hold, by patterns that match in linear time.

A rule reaches into objects (`a.b`), and into every item of a list on the way. Whatever it reaches must pass: one of the
allowed patterns matches the whole value, and no denied one anywhere in it. A value that is no text is matched as JSON;
denied patterns are looked for in every text inside it too, so that escaping hides nothing.

A parameter that names files is judged by the files: an allowed pattern matches the one key of each, whatever it was
called, and a denied one neither key nor spelling. A file that has no key is denied.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, cast

from lictor_guard.definitions.tool_names import any_covers
from lictor_guard.errors import DefinitionError, GuardError
from lictor_guard.facts.fact import OwnFacts
from lictor_guard.plugins.tool_call import Call
from lictor_guard.plugins.tool_policy import CheckContext, PolicyDecision, StatelessPolicy
from lictor_guard.text.linear_patterns import MAX_WORK_OF_CALL, LinearPattern, UnmatchableText
from lictor_guard.text.wording import joined, listed, quoted
from lictor_schema.sessions.parameter_rule import ParameterRule
from lictor_schema.sessions.tool_policy import ParameterPatternSpec

MAX_TEXTS = 10_000
"""Values or texts inside one that a rule looks at: more would take too long."""


class _Missing:
    """A parameter that is not there."""


class _Unreachable:
    """A parameter inside something that holds none."""


class _NoKey(GuardError):
    """It is unknown which files a value names."""


MISSING = _Missing()
UNREACHABLE = _Unreachable()


@dataclass(frozen=True)
class _Rule:
    spec: ParameterRule
    allow: tuple[LinearPattern, ...]
    deny: tuple[LinearPattern, ...]


class _Matching:
    """The matches made for one call, which together may cost only so much."""

    def __init__(self, work: int) -> None:
        self._left = work

    def found(self, pattern: LinearPattern, text: str) -> bool:
        self._left -= pattern.cost(text)
        if self._left < 0:
            raise UnmatchableText(
                "the call holds more than can be matched with all patterns in time"
            )
        return pattern.matches(text)


@dataclass(frozen=True)
class BrokenRule:
    """A rule that a call does not pass, or of which nobody can tell."""

    problem: str
    remedy: str


class ParameterRules:
    """Rules for the parameters of a call, which may cost so much to match."""

    def __init__(self, rules: Sequence[ParameterRule], work: int = MAX_WORK_OF_CALL) -> None:
        self._work = work
        self._rules = tuple(_compiled(each) for each in rules)

    def __bool__(self) -> bool:
        return bool(self._rules)

    def broken(self, call: Call) -> list[BrokenRule]:
        """The rules that a call does not pass, or of which nobody can tell."""
        matching = _Matching(self._work)
        found: list[BrokenRule] = []
        for each in self._rules:
            problem = _problem(each, call, matching)
            if problem is not None:
                found.append(BrokenRule(problem, each.spec.remedy or _remedy(each.spec)))
        return found

    def may_hold(self, call: Call) -> bool:
        """Whether one of the values that each rule reaches passes it, or nobody can tell.

        For calls that count against somebody: of several recipients, one is enough.
        """
        matching = _Matching(self._work)
        return all(_may_hold(each, call, matching) for each in self._rules)


class Parameters(StatelessPolicy):
    """Denies a call whose parameters break a rule; every broken rule is reported."""

    def __init__(self, spec: ParameterPatternSpec, work: int = MAX_WORK_OF_CALL) -> None:
        self.name = spec.name
        self._tools = spec.tools
        self._rules = ParameterRules(spec.rules, work)

    def check(self, call: Call, facts: OwnFacts, context: CheckContext) -> PolicyDecision:  # noqa: ARG002
        if not any_covers(self._tools, call.tool):
            return PolicyDecision.allow()
        broken = self._rules.broken(call)
        if not broken:
            return PolicyDecision.allow()
        remedies = dict.fromkeys(each.remedy for each in broken)
        return PolicyDecision.deny(
            joined([each.problem for each in broken]), joined(list(remedies))
        )


def _compiled(rule: ParameterRule) -> _Rule:
    try:
        return _Rule(
            rule,
            tuple(LinearPattern(each, whole=True) for each in rule.allow),
            tuple(LinearPattern(each) for each in rule.deny),
        )
    except DefinitionError as error:
        raise DefinitionError(f"rule for parameter {rule.param!r}: {error}") from None


def _remedy(rule: ParameterRule) -> str:
    param = quoted(rule.param)
    if rule.allow:
        return f"give {param} a value that matches {_any_of(rule.allow)}"
    if rule.deny:
        return f"give {param} a value that the definition does not forbid"
    return f"give {param}"


def _problem(rule: _Rule, call: Call, matching: _Matching) -> str | None:
    param = quoted(rule.spec.param)
    for number, value in enumerate(reached(call.params, rule.spec.param)):
        if number == MAX_TEXTS:
            return f"parameter {param} can't be checked: it stands for more than {MAX_TEXTS} values"
        if value is UNREACHABLE:
            return f"parameter {param} can't be looked at: what should hold it is no object"
        if value is MISSING or (value is None and rule.spec.required):
            if rule.spec.required:
                return f"parameter {param} is missing"
            continue
        try:
            problem = _judged(rule, value, _keys(call, rule.spec.param, value), matching)
        except (UnmatchableText, _NoKey) as error:
            problem = f"can't be checked: {error}"
        if problem is not None:
            return f"parameter {param} {problem}"
    return None


def _may_hold(rule: _Rule, call: Call, matching: _Matching) -> bool:
    for number, value in enumerate(reached(call.params, rule.spec.param)):
        if number == MAX_TEXTS or value is UNREACHABLE:
            return True
        if value is MISSING or (value is None and rule.spec.required):
            if not rule.spec.required:
                return True
            continue
        try:
            if any(
                _judged(rule, each, None, matching) is None
                for each in _alternatives(rule, call, value)
            ):
                return True
        except (UnmatchableText, _NoKey):
            return True
    return False


def _alternatives(rule: _Rule, call: Call, value: Any) -> Iterator[Any]:
    """What may be meant by a value: the files it names, or itself and every item of a list."""
    keys = _keys(call, rule.spec.param, value)
    if keys is not None:
        # Not the spelling, which a detour can make look like any other.
        yield from keys
        return
    waiting = [value]
    for number in range(MAX_TEXTS + 1):
        if not waiting:
            return
        if number == MAX_TEXTS:
            raise UnmatchableText(f"it holds more than {MAX_TEXTS} values")
        current = waiting.pop()
        yield current
        if isinstance(current, list):
            waiting.extend(cast(list[Any], current))


def _judged(rule: _Rule, value: Any, keys: Sequence[str] | None, matching: _Matching) -> str | None:
    text = value if isinstance(value, str) else _as_json(value)
    if rule.allow:
        for each in (text,) if keys is None else keys:
            if not any(matching.found(pattern, each) for pattern in rule.allow):
                return f"does not match {_any_of(rule.spec.allow)}"
    if rule.deny:
        texts = [text, *(keys or ())]
        if isinstance(value, dict | list):
            texts.extend(islice(_texts(value), MAX_TEXTS))
        if len(texts) > MAX_TEXTS:
            raise UnmatchableText(f"it holds more than {MAX_TEXTS - 1} texts")
        for pattern in rule.deny:
            if any(matching.found(pattern, each) for each in texts):
                return f"holds what {quoted(pattern.text)} forbids"
    return None


def _keys(call: Call, param: str, value: Any) -> list[str] | None:
    """The keys of the files that a value names; None for a parameter that names none."""
    if call.spec is None or param not in call.spec.resources or value is None:
        return None
    paths = cast(list[Any], value) if isinstance(value, list) else [value]
    if not paths:
        raise _NoKey("it names no file")
    keys: list[str] = []
    for path in paths:
        files = [each for each in call.resources if (each.param, each.given) == (param, path)]
        if not files:
            raise _NoKey("which file it means is not known")
        for each in files:
            if each.key is None:
                raise _NoKey(f"it can't be resolved: {quoted(each.problem or 'no reason given')}")
            keys.append(each.key)
    return keys


def reached(params: Mapping[str, Any], param: str) -> Iterator[Any]:
    """Every value that a rule's name means; a parameter may also be spelled with dots itself."""
    parts = param.split(".")
    if len(parts) == 1 or param in params:
        yield params.get(param, MISSING)
    if len(parts) > 1 and (parts[0] in params or param not in params):
        yield from _inside(params, parts)


def _inside(value: Any, parts: Sequence[str]) -> Iterator[Any]:
    if not parts:
        yield value
    elif value is None or value is MISSING:
        yield MISSING
    elif isinstance(value, list):
        for item in cast(list[Any], value):
            yield from _inside(item, parts)
    elif isinstance(value, Mapping):
        yield from _inside(cast(Mapping[str, Any], value).get(parts[0], MISSING), parts[1:])
    else:
        yield UNREACHABLE


def _texts(value: Any) -> Iterator[str]:
    """Every text inside a value, the names in objects included."""
    waiting = [value]
    while waiting:
        current = waiting.pop()
        if isinstance(current, str):
            yield current
        elif isinstance(current, list):
            waiting.extend(cast(list[Any], current))
        elif isinstance(current, dict):
            waiting.extend(cast(dict[str, Any], current))
            waiting.extend(cast(dict[str, Any], current).values())


def _as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def _any_of(patterns: Sequence[str]) -> str:
    shown = [quoted(each) for each in patterns[:3]]
    return listed(shown) if len(patterns) <= 3 else f"{', '.join(shown)} or others"
