"""What the rules of packs can do at all: never fire, never decide, say the same twice, leave a state undecided."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from lictor_policy.config import EvaluatorConfig
from lictor_prove.packs.examples import Example, Search
from lictor_prove.packs.knowledge import known_on
from lictor_prove.packs.solving import QUESTION_MS, Term, truth
from lictor_prove.packs.symbols import Symbols
from lictor_prove.packs.translate import Looking, Side, Voice, symbols_for, translate
from lictor_schema.event_types import EVENT_TYPES, EventType

Check = Literal[
    "never-fires", "shadowed", "duplicate", "contradictory", "nothing-decides", "unknown"
]
Key = tuple[str, str]
"""Pack and rule."""
_MODELS = 24
"""So many states are kept of each event type, to tell rules apart without asking again."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was found out about packs."""

    level: Literal["warning", "information", "unknown"]
    check: Check
    problem: str
    pack_id: str | None = None
    rule_id: str | None = None
    event_type: EventType | None = None
    others: tuple[str, ...] = ()
    """The other rules it is about."""
    example: Example | None = None

    def to_json_value(self) -> dict[str, Any]:
        """For `--json`."""
        return {
            "level": self.level,
            "check": self.check,
            "pack_id": self.pack_id,
            "rule_id": self.rule_id,
            "event_type": self.event_type,
            "others": list(self.others),
            "problem": self.problem,
            "example": None if self.example is None else self.example.to_json_value(),
        }


@dataclass(frozen=True, slots=True)
class Analysis:
    """Everything that was found out."""

    packs: int
    rules: int
    findings: tuple[Finding, ...]
    always_decided: tuple[EventType, ...]
    """The event types on which, as is proved, some rule always decides."""
    assumptions: tuple[str, ...]
    questions: int

    def of(self, *checks: Check) -> list[Finding]:
        """The findings of some checks."""
        return [each for each in self.findings if each.check in checks]

    def to_json_value(self) -> dict[str, Any]:
        """For `--json`."""
        return {
            "packs": self.packs,
            "rules": self.rules,
            "findings": [each.to_json_value() for each in self.findings],
            "always_decided": list(self.always_decided),
            "assumptions": list(self.assumptions),
            "questions": self.questions,
        }


def analyze(config: EvaluatorConfig, timeout_ms: int = QUESTION_MS) -> Analysis:
    """Look at packs by themselves; each question to the solver may take so long."""
    symbols = symbols_for(config)
    sides: dict[EventType, Side] = {
        each: translate(config, each, symbols, "packs") for each in EVENT_TYPES
    }
    rules: dict[Key, _Rule] = {}
    for rule in config.rules:
        key = (rule.stamp.pack_id, rule.rule.id)
        rules[key] = _Rule(key, rule.shadow)
    stages = [_Stage(config, each, side, symbols, timeout_ms) for each, side in sides.items()]
    findings: list[Finding] = []
    always: list[EventType] = []
    for each in stages:
        each.look(rules)
        findings += each.undecided(always)
    told = [*_never(rules.values()), *_alike(rules), *_overruled(rules)]
    told += [_unknown(rule, what) for rule in rules.values() for what in rule.unknown]
    return Analysis(
        len(config.packs),
        len(config.rules),
        (*told, *findings),
        tuple(always),
        tuple(assumptions_of(config)),
        sum(each.search.asking.asked for each in stages),
    )


def assumptions_of(*configs: EvaluatorConfig) -> Iterator[str]:
    """What is taken for granted about these packs."""
    rules = [rule for config in configs for rule in config.rules]
    if any(rule.windows for rule in rules):
        yield "no suppression window is in force"
    if any(rule.repeated for rule in rules):
        yield "a rule with escalate_after may have matched any number of times before"


@dataclass(slots=True, eq=False)
class _Rule:
    """What is found out about one rule."""

    key: Key
    shadow: bool
    places: "list[tuple[_Stage, Looking]]" = field(
        default_factory=lambda: list[tuple["_Stage", Looking]]()
    )
    fires: list[EventType] = field(default_factory=list[EventType])
    idle: list[EventType] = field(default_factory=list[EventType])
    decides: bool = False
    unknown: list[tuple[EventType, str]] = field(default_factory=list[tuple[EventType, str]])
    overruled: list[tuple["_Stage", Voice]] = field(
        default_factory=lambda: list[tuple["_Stage", Voice]]()
    )
    same_as: Key | None = None

    @property
    def rule_id(self) -> str:
        return self.key[1]


class _Stage:
    """Events of one type, and the states of them that were seen."""

    def __init__(
        self,
        config: EvaluatorConfig,
        event_type: EventType,
        side: Side,
        symbols: Symbols,
        timeout_ms: int,
    ) -> None:
        asking = symbols.terms.asking(timeout_ms)
        asking.tell(known_on(event_type, symbols))
        asking.tell(side.definitions)
        self.event_type: EventType = event_type
        self.side = side
        self.search = Search(event_type, symbols, asking, [(config, side)])
        self.models: list[Any] = []

    def look(self, rules: dict[Key, _Rule]) -> None:
        """Whether each rule can fire here, and decide."""
        for looking in self.side.looking:
            rule = rules[looking.key]
            rule.places.append((self, looking))
            match self._can(looking.fires, rule):
                case True:
                    rule.fires.append(self.event_type)
                case False:
                    rule.idle.append(self.event_type)
                case None:
                    rule.fires.append(self.event_type)
        for voice in self.side.voices:
            rule = rules[voice.looking.key]
            if rule.decides or self.event_type not in rule.fires:
                continue
            decides = self.search.symbols.terms.all_of([voice.speaks, voice.unopposed])
            if self._can(decides, rule) is False:
                rule.overruled.append((self, voice))
            else:
                rule.decides = True

    def _can(self, term: Term, rule: _Rule) -> bool | None:
        if any(truth(model, term) for model in self.models):
            return True
        answer = self.search.asking.ask(beside=[term])
        if answer.kind == "possible" and len(self.models) < _MODELS:
            self.models.append(answer.model)
        if answer.kind == "unknown":
            rule.unknown.append((self.event_type, answer.why))
            return None
        return answer.kind == "possible"

    def differ(self, one: Term, other: Term) -> tuple[bool | None, Any]:
        """Whether two terms can differ, and where."""
        answer = self.search.asking.ask(beside=[one != other])
        if answer.kind == "unknown":
            return None, None
        return answer.kind == "possible", answer.model

    def undecided(self, always: list[EventType]) -> Iterator[Finding]:
        """A state in which nothing decides."""
        found = self.search.find(self.side.silent)
        if found.example is not None:
            yield Finding(
                "information",
                "nothing-decides",
                "nothing decides, so the event is allowed"
                if self.side.looking
                else "no rule looks at it, so it is allowed",
                event_type=self.event_type,
                example=found.example,
            )
        elif found.proved_none:
            always.append(self.event_type)
        else:
            yield Finding(
                "unknown",
                "unknown",
                f"whether something always decides was not found out: {found.why}",
                event_type=self.event_type,
            )


def _never(rules: Iterable[_Rule]) -> Iterator[Finding]:
    for rule in rules:
        pack_id, rule_id = rule.key
        if not rule.fires:
            yield Finding(
                "warning",
                "never-fires",
                "no event can meet its triggers and conditions",
                pack_id,
                rule_id,
            )
            continue
        for event_type in rule.idle:
            yield Finding(
                "warning",
                "never-fires",
                f"it can never fire on {event_type}",
                pack_id,
                rule_id,
                event_type,
            )


def _unknown(rule: _Rule, what: tuple[EventType, str]) -> Finding:
    event_type, why = what
    pack_id, rule_id = rule.key
    problem = f"what it can do on {event_type} was not found out: {why}"
    return Finding("unknown", "unknown", problem, pack_id, rule_id, event_type)


def _overruled(rules: dict[Key, _Rule]) -> Iterator[Finding]:
    """Rules that fire, and never make the decision."""
    for rule in rules.values():
        if rule.shadow or rule.decides or not rule.fires or rule.unknown:
            continue
        others = _overrulers(rule)
        if others is None or (rule.same_as is not None and others == [rule.same_as[1]]):
            continue
        pack_id, rule_id = rule.key
        yield Finding(
            "warning",
            "shadowed",
            f"whenever it fires, {_either(others)} decides",
            pack_id,
            rule_id,
            others=tuple(others),
        )


def _overrulers(rule: _Rule) -> list[str] | None:
    """The rules that stand before a rule; None when it is only the same rule, inherited by another pack."""
    found: dict[str, None] = {}
    for stage, voice in rule.overruled:
        terms, asking = stage.search.symbols.terms, stage.search.asking
        stronger = stage.side.voices[: stage.side.voices.index(voice)]
        blockers = [(each.key[1], each.fires) for each in voice.looking.earlier]
        blockers += [(each.looking.key[1], each.speaks) for each in stronger]
        blockers = [each for each in blockers if each[0] != rule.rule_id]
        own = [voice.looking.fires, voice.often]
        answer = asking.ask([terms.denied(term) for _, term in blockers], beside=own)
        if answer.kind != "impossible":
            return None
        core = [blockers[at] for at in answer.core]
        alone = (
            name
            for name, term in core
            if asking.ask(beside=[*own, terms.denied(term)]).kind == "impossible"
        )
        one = next(alone, None)
        found.update(dict.fromkeys([one] if one is not None else [name for name, _ in core]))
    return list(found)


def _either(names: list[str]) -> str:
    return " or ".join(names) if len(names) < 3 else f"one of {', '.join(names)}"


def _alike(rules: dict[Key, _Rule]) -> Iterator[Finding]:
    """Rules that fire on exactly the same states."""
    groups: dict[Any, list[_Rule]] = {}
    for rule in rules.values():
        if rule.fires and not rule.unknown:
            seen = tuple(
                truth(model, looking.fires)
                for stage, looking in rule.places
                for model in stage.models
            )
            groups.setdefault((tuple(rule.fires), rule.shadow, seen), []).append(rule)
    waiting = [group for group in groups.values() if len(group) > 1]
    while waiting:
        group = waiting.pop()
        first, rest = group[0], group[1:]
        apart: list[_Rule] = []
        while rest:
            other = rest[0]
            differs, stage, model = _differ(first, other)
            if not differs:
                rest = rest[1:]
                if differs is False and first.rule_id != other.rule_id:
                    other.same_as = first.key
                    yield _same(first, other)
                continue
            # The state that tells these two apart tells others apart as well.
            told = truth(model, _fires_in(first, stage))
            same = [each for each in rest if truth(model, _fires_in(each, stage)) == told]
            apart += [each for each in rest if each not in same]
            rest = same
        if len(apart) > 1:
            waiting.append(apart)


def _fires_in(rule: _Rule, stage: _Stage | None) -> Term:
    return next(looking.fires for where, looking in rule.places if where is stage)


def _differ(one: _Rule, other: _Rule) -> tuple[bool | None, _Stage | None, Any]:
    unknown = False
    for stage, looking in one.places:
        if stage.event_type not in one.fires:
            continue
        differs, model = stage.differ(looking.fires, _fires_in(other, stage))
        if differs:
            return True, stage, model
        unknown = unknown or differs is None
    return (None if unknown else False), None, None


def _same(first: _Rule, other: _Rule) -> Finding:
    decisions = [
        rule.places[0][1].rule.rule.decision_output.decision.value for rule in (first, other)
    ]
    pack_id, rule_id = other.key
    if decisions[0] == decisions[1]:
        check, problem = (
            "duplicate",
            f"it fires exactly when {first.rule_id} does, and decides the same",
        )
    else:
        check = "contradictory"
        problem = (
            f"it fires exactly when {first.rule_id} does, and decides {decisions[1]} where that"
            f" decides {decisions[0]}"
        )
    return Finding("warning", check, problem, pack_id, rule_id, others=(first.rule_id,))
