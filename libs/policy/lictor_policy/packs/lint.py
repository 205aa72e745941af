"""Everything that is wrong with packs, at once; and what is allowed but surely not meant."""

import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from lictor_policy.conditions.compiled_condition import read_leaf
from lictor_policy.conditions.condition_text import parts_of
from lictor_policy.conditions.evidence_requirements import bound
from lictor_policy.conditions.facts import unknown_name
from lictor_policy.conditions.partial_evaluation import CLAIMING
from lictor_policy.errors import PackError, nearest
from lictor_policy.packs.envelopes import unverifiable
from lictor_policy.packs.lint_requirements import idle_requirements
from lictor_policy.packs.pack import LoadedPack
from lictor_policy.packs.strict_yaml import Path
from lictor_policy.rules.compiled_rule import compile_rule
from lictor_policy.rules.firing import can_fire, event_types_of, fires_whenever
from lictor_policy.rules.signals import SIGNALS
from lictor_policy.rules.templates import Template, TemplateError
from lictor_schema.events.event_types import EventType
from lictor_schema.packs.pack import Condition, MessageTemplates, Rule

Level = Literal["error", "warning"]
_PLACED = re.compile(
    r"(?P<file>.+?)(?::(?P<line>\d+))?: (?:rule (?P<rule>\S+): )?(?:(?P<field>[^\s:]+): )?(?P<problem>.+)",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class LintFinding:
    """One thing to change: where it is, what is wrong, and what to do."""

    level: Level
    check: str
    """What was looked for: `load`, `never-fires`, `shadowed`, …"""
    file: str
    line: int | None
    rule: str | None
    field: str | None
    problem: str
    suggestion: str | None

    def to_json_value(self) -> dict[str, Any]:
        """For `--json`."""
        return {name: getattr(self, name) for name in self.__slots__}


def findings_in(error: PackError) -> list[LintFinding]:
    """The problems that an error lists, one each line."""
    return [_finding("error", "load", line) for line in str(error).splitlines()]


def found_in(level: Level, check: str, error: PackError) -> LintFinding:
    """The problems that one error lists."""
    return _finding(level, check, str(error))


def lint_pack(loaded: LoadedPack) -> list[LintFinding]:
    """What is wrong with the rules of a pack that could be read."""
    found: list[LintFinding] = []
    sound: list[int] = []
    for number, rule in enumerate(loaded.pack.spec.rules):
        errors = [
            _finding("error", "load", str(error)) for error in _rule_errors(loaded, number, rule)
        ]
        found += errors
        if not errors:
            sound.append(number)
            found += _rule_warnings(loaded, number, bound(rule, loaded.error))
    if loaded.pack.spec.evaluation_mode == "first_match":
        found += _shadowed(loaded, sound)
    return found


def _finding(level: Level, check: str, told: str) -> LintFinding:
    placed = _PLACED.fullmatch(told)
    if placed is None:
        return LintFinding(level, check, "", None, None, None, told, None)
    problem, _, suggestion = placed["problem"].rpartition("; ")
    return LintFinding(
        level,
        check,
        placed["file"],
        int(placed["line"]) if placed["line"] else None,
        placed["rule"],
        placed["field"],
        problem or suggestion,
        suggestion if problem else None,
    )


def _rule_errors(loaded: LoadedPack, number: int, rule: Rule) -> Iterator[PackError]:
    """Every error of a rule; the compiler itself stops at the first."""
    at: Path = ("spec", "rules", number)
    none = True

    def fail(path: Path, problem: str) -> PackError:
        return loaded.error((*at, *path), problem)

    for error in (
        *_attempts(_leaf_checks(rule.conditions, ("conditions",), fail)),
        *_attempts(_template_checks(rule, fail)),
        *_attempts(_signal_checks(rule, fail)),
    ):
        none = False
        yield error
    if none:
        yield from _attempts([lambda: compile_rule(loaded, number)])


def _attempts(checks: Any) -> Iterator[PackError]:
    for check in checks:
        try:
            check()
        except PackError as error:
            yield error


Fail = Callable[[Path, str], PackError]


def _leaf_checks(condition: Condition, path: Path, fail: Fail) -> Iterator[Callable[[], object]]:
    kind, parts = parts_of(condition)
    if kind == "leaf":
        yield lambda: read_leaf(condition, path, fail)
    for index, part in enumerate(parts):
        yield from _leaf_checks(
            part, (*path, kind) if kind == "not" else (*path, kind, index), fail
        )


def _template_checks(rule: Rule, fail: Fail) -> Iterator[Callable[[], object]]:
    output = rule.decision_output
    texts: list[tuple[Path, str | None]] = [(("decision_output", "reason"), output.reason)]
    if output.operator_notice is not None:
        notice: Path = ("decision_output", "operator_notice")
        texts.append(((*notice, "channel"), output.operator_notice.channel))
        texts.append(((*notice, "message"), output.operator_notice.message))
    for name in MessageTemplates.model_fields:
        text: str | None = getattr(rule.operator_message_templates, name)
        texts.append((("operator_message_templates", name), text))

    def check(path: Path, text: str) -> None:
        try:
            Template(text)
        except TemplateError as error:
            raise fail(path, str(error)) from None

    for path, text in texts:
        if text is not None:
            yield lambda path=path, text=text: check(path, text)


def _signal_checks(rule: Rule, fail: Fail) -> Iterator[Callable[[], object]]:
    def check(index: int, name: str) -> None:
        if name not in SIGNALS:
            path: Path = ("triggers", "derived_signals", index)
            raise fail(path, unknown_name("signal", name, SIGNALS))

    for index, name in enumerate(rule.triggers.derived_signals):
        yield lambda index=index, name=name: check(index, name)


def _rule_warnings(loaded: LoadedPack, number: int, rule: Rule) -> list[LintFinding]:
    at: Path = ("spec", "rules", number)

    def warning(check: str, path: Path, problem: str) -> LintFinding:
        return _finding("warning", check, str(loaded.error((*at, *path), problem)))

    found: list[LintFinding] = []
    types = event_types_of(rule)
    idle: list[EventType] = [each for each in types if not can_fire(rule, each)]
    if len(idle) == len(types):
        found.append(
            warning(
                "never-fires",
                ("conditions",),
                "can never hold on an event that the rule looks at; correct the conditions or the"
                " triggers",
            )
        )
    else:
        found += [
            warning(
                "never-fires",
                ("triggers",),
                f"the rule can never fire on {each}; take it out of the triggers, or correct the"
                " conditions",
            )
            for each in idle
        ]
    if rule.triggers.claim_types and CLAIMING.isdisjoint(types):
        found.append(
            warning(
                "no-effect",
                ("triggers", "claim_types"),
                "none of the events that the rule looks at makes a claim; leave it out",
            )
        )
    found += [
        warning("must-reference", path, f"{problem}; name it in the text")
        for path, problem in _unmentioned(rule)
    ]
    found += [
        warning("no-effect", path, problem) for path, problem in idle_requirements(rule, types)
    ]
    return found


def _shadowed(loaded: LoadedPack, sound: list[int]) -> Iterator[LintFinding]:
    rules = [bound(rule, loaded.error) for rule in loaded.pack.spec.rules]
    for place, number in enumerate(sound):
        later = rules[number]
        for earlier in (rules[each] for each in sound[:place]):
            if fires_whenever(earlier, later):
                error = loaded.error(
                    ("spec", "rules", number),
                    f"never decides: {earlier.id} comes first and fires whenever it would;"
                    " move it up, or narrow the earlier one",
                )
                yield _finding("warning", "shadowed", str(error))
                break


def _unmentioned(rule: Rule) -> Iterator[tuple[Path, str]]:
    """What a notice must name, and no text of the rule does."""
    notice = rule.decision_output.operator_notice
    given = rule.operator_message_templates
    texts = [getattr(given, name) for name in MessageTemplates.model_fields]
    if notice is not None:
        texts.append(notice.message)
    told = Template("\n".join(text for text in texts if text is not None))
    wanted: list[tuple[Path, str]] = []
    if notice is not None:
        wanted += [
            (("decision_output", "operator_notice", "must_reference", index), name)
            for index, name in enumerate(notice.must_reference)
        ]
    needs = rule.evidence_requirements
    wanted += [
        (("evidence_requirements", "must_reference_event_types", index), name)
        for index, name in enumerate(needs.must_reference_event_types)
    ]
    types = event_types_of(rule)
    for path, name in wanted:
        if not told.mentions(name, types):
            yield path, f"no text of the rule mentions {name}"


_CHECK = "verification"


def lint_envelopes(pack: LoadedPack, methods: Collection[str] | None) -> Iterator[LintFinding]:
    """Envelopes that name a method that nobody has, or none where verification is mandatory.

    `methods` are the methods there are; None where nobody knows them.
    """
    for index, envelope in enumerate(pack.pack.spec.envelopes):
        at: Path = ("spec", "envelopes", index, "verification")
        problem = unverifiable(envelope)
        if problem is not None:
            yield found_in("error", _CHECK, pack.error((*at, "methods"), problem))
        for number, name in enumerate(envelope.verification.methods):
            if methods is not None and name not in methods:
                problem = f"nobody has a verification method {name}; {nearest(name, methods)}"
                yield found_in("error", _CHECK, pack.error((*at, "methods", number), problem))
