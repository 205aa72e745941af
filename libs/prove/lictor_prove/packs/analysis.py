"""What the rules of packs can do at all: never fire, never decide, say the same twice, leave a state undecided."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from lictor_policy.conditions.evidence_requirements import stated_in
from lictor_policy.judge.config import EvaluatorConfig
from lictor_prove.errors import ProveError
from lictor_prove.packs.examples import Example, Search
from lictor_prove.packs.fact_symbols import Symbols
from lictor_prove.packs.invariants import known_on
from lictor_prove.packs.pack_terms import Looking, Side, Voice, symbols_for, translate
from lictor_prove.packs.staged_tasks import Judgement, NoSuchScene, Scene, judge, stage
from lictor_prove.packs.z3_questions import QUESTION_MS, Term
from lictor_schema.events.event_types import EVENT_TYPES, EventType

_TRIES = 8

Check = Literal[
    "never-fires", "shadowed", "duplicate", "contradictory", "nothing-decides", "unknown"
]
Key = tuple[str, str]
"""Pack and rule."""


@dataclass(frozen=True, slots=True)
class PackFinding:
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
class PackAnalysis:
    """Everything that was found out."""

    packs: int
    rules: int
    findings: tuple[PackFinding, ...]
    always_decided: tuple[EventType, ...]
    """The event types on which, as is proved, some rule always decides."""
    assumptions: tuple[str, ...]
    questions: int

    def of(self, *checks: Check) -> list[PackFinding]:
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


def analyze(config: EvaluatorConfig, timeout_ms: int = QUESTION_MS) -> PackAnalysis:
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
    findings: list[PackFinding] = []
    always: list[EventType] = []
    for each in stages:
        each.look(rules)
        findings += each.undecided(always)
    told = [*_never(rules.values()), *_alike(rules), *_overruled(rules)]
    told += [_unknown(rule, what) for rule in rules.values() for what in rule.unknown]
    return PackAnalysis(
        len(config.packs),
        len(config.rules),
        (*told, *findings),
        tuple(always),
        tuple(assumptions_of(config)),
        sum(each.asking.asked + each.asked for each in stages),
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
    overrulers: dict[str, None] = field(default_factory=dict[str, None])
    """The rules that stand before it, while it is not seen to decide."""
    unknown: list[tuple[EventType, str]] = field(default_factory=list[tuple[EventType, str]])
    same_as: Key | None = None

    @property
    def rule_id(self) -> str:
        return self.key[1]


class _Stage:
    """Events of one type, and the scenes of them that the evaluator was asked about."""

    def __init__(
        self,
        config: EvaluatorConfig,
        event_type: EventType,
        side: Side,
        symbols: Symbols,
        timeout_ms: int,
    ) -> None:
        self.config, self.side, self.symbols = config, side, symbols
        self.event_type: EventType = event_type
        self.timeout_ms = timeout_ms
        self.known = known_on(event_type, symbols)
        # Without the rules: most questions are about few of them, and the others would only be in the way.
        self.asking = symbols.terms.asking(timeout_ms)
        self.asking.tell(self.known)
        self.asked = 0
        self.scenes = 0
        self.fired: dict[Key, list[int]] = {}
        """By rule: the scenes in which it fires."""
        self.deciding: set[Key] = set()
        self.by_key = {each.key: each for each in side.looking}

    def looking(self, rule: _Rule) -> Looking:
        """A rule as it looks at these events."""
        return self.by_key[rule.key]

    def look(self, rules: dict[Key, _Rule]) -> None:
        """Whether each rule can fire here, and decide."""
        for looking in self.side.looking:
            rule = rules[looking.key]
            rule.places.append((self, looking))
            can = self._can_fire(looking, rule)
            (rule.idle if can is False else rule.fires).append(self.event_type)
        for voice in self.side.voices:
            rule = rules[voice.looking.key]
            if not rule.decides and self.event_type in rule.fires:
                rule.decides = voice.looking.key in self.deciding or self._can_decide(voice, rule)

    def _can_fire(self, looking: Looking, rule: _Rule) -> bool | None:
        if looking.key in self.fired:
            return True
        answer = self.asking.ask(beside=[looking.formula])
        if answer.kind == "unknown":
            rule.unknown.append((self.event_type, answer.why))
            return None
        if answer.kind == "possible":
            self.see(answer.model)
        return answer.kind == "possible"

    def see(self, model: Any) -> tuple[Scene, Judgement] | None:
        """A model as a scene, and what the evaluator makes of it; None when no such scene was found."""
        values = {each.name: each.read(model) for each in self.symbols}
        try:
            scene = stage(self.event_type, values, self.symbols, [self.config])
        except NoSuchScene:
            return None
        judgement = judge(self.config, scene)
        hidden = (each.key for each in self.side.looking if each.earlier and each.fires_in(scene))
        for key in {*judgement.matched, *hidden}:
            self.fired.setdefault(key, []).append(self.scenes)
        self.scenes += 1
        if judgement.decider is not None:
            self.deciding.add(judgement.decider)
        return scene, judgement

    def _other_requirements(self, model: Any) -> Term:
        """That other requirements are met than a model says."""
        terms = self.symbols.terms
        asked = [each for each in self.symbols if stated_in(each.name) is not None]
        said = [each.term if each.read(model) else terms.denied(each.term) for each in asked]
        return terms.denied(terms.all_of(said))

    def _can_decide(self, voice: Voice, rule: _Rule) -> bool:
        """Whether a voice can make the decision: what decides instead is ruled out until nothing is left."""
        terms, looking = self.symbols.terms, voice.looking
        own = [looking.formula, voice.often]
        before: list[tuple[str, Term]] = []
        # No fact says which classes evidence is of: what a model says of requirements may fit no evidence at all.
        unfit: list[Term] = []
        while True:
            answer = self.asking.ask(
                [terms.denied(term) for _, term in before], beside=[*own, *unfit]
            )
            if answer.kind == "impossible" and not unfit:
                core = [before[at] for at in answer.core]
                rule.overrulers.update(dict.fromkeys(self._enough(own, core)))
                return False
            seen = self.see(answer.model) if answer.kind == "possible" else None
            if seen is None and answer.kind == "possible" and len(unfit) < _TRIES:
                unfit.append(self._other_requirements(answer.model))
                continue
            if seen is None:
                why = answer.why or "the evaluator did not confirm the example"
                rule.unknown.append((self.event_type, why))
                return True
            scene, judgement = seen
            # The same rule inherited by another pack decides in its place: that is no fault of either.
            if judgement.rule_id == rule.rule_id:
                return True
            before.append(self._in_the_way(looking, scene, judgement))

    def _in_the_way(self, looking: Looking, scene: Scene, judgement: Judgement) -> tuple[str, Term]:
        """What kept a rule that fires in a scene from deciding there."""
        if looking.key not in judgement.matched:
            first = next(each for each in looking.earlier if each.fires_in(scene))
            return first.key[1], first.formula
        if judgement.decider is None:
            raise ProveError(
                f"{looking.key[1]} matches and nothing decides; this is a mistake of ours"
            )
        terms = self.symbols.terms
        winner = self.side.voice(judgement.decider, judgement.policy_id)
        speaks = terms.all_of([winner.looking.match_formula(terms), winner.often])
        return winner.looking.key[1], speaks

    def _enough(self, own: list[Term], core: list[tuple[str, Term]]) -> list[str]:
        """The one of them that is enough, or all."""
        denied = self.symbols.terms.denied
        for name, term in core:
            if self.asking.ask(beside=[*own, denied(term)]).kind == "impossible":
                return [name]
        return [name for name, _ in core]

    def differ(self, one: Looking, other: Looking) -> tuple[bool | None, Any]:
        """Whether one of two rules can fire without the other, and where."""
        answer = self.asking.ask(beside=[one.formula != other.formula])
        if answer.kind == "unknown":
            return None, None
        return answer.kind == "possible", answer.model

    def undecided(self, always: list[EventType]) -> Iterator[PackFinding]:
        """A state in which nothing decides."""
        asking = self.symbols.terms.asking(self.timeout_ms)
        asking.tell((*self.known, *self.side.definitions))
        search = Search(self.event_type, self.symbols, asking, [(self.config, self.side)])
        found = search.find(self.side.silent)
        self.asked = asking.asked
        if found.example is not None:
            yield PackFinding(
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
            yield PackFinding(
                "unknown",
                "unknown",
                f"whether something always decides was not found out: {found.why}",
                event_type=self.event_type,
            )


def _never(rules: Iterable[_Rule]) -> Iterator[PackFinding]:
    for rule in rules:
        pack_id, rule_id = rule.key
        if not rule.fires:
            yield PackFinding(
                "warning",
                "never-fires",
                "no event can meet its triggers and conditions",
                pack_id,
                rule_id,
            )
            continue
        for event_type in rule.idle:
            yield PackFinding(
                "warning",
                "never-fires",
                f"it can never fire on {event_type}",
                pack_id,
                rule_id,
                event_type,
            )


def _unknown(rule: _Rule, what: tuple[EventType, str]) -> PackFinding:
    event_type, why = what
    pack_id, rule_id = rule.key
    problem = f"what it can do on {event_type} was not found out: {why}"
    return PackFinding("unknown", "unknown", problem, pack_id, rule_id, event_type)


def _overruled(rules: dict[Key, _Rule]) -> Iterator[PackFinding]:
    """Rules that fire, and never make the decision."""
    order = [rule.rule_id for rule in rules.values()]
    for rule in rules.values():
        if rule.shadow or rule.decides or not rule.fires or rule.unknown:
            continue
        others = sorted(rule.overrulers, key=order.index)
        if rule.same_as is not None and others == [rule.same_as[1]]:
            continue
        pack_id, rule_id = rule.key
        yield PackFinding(
            "warning",
            "shadowed",
            f"whenever it fires, {_either(others)} decides",
            pack_id,
            rule_id,
            others=tuple(others),
        )


def _either(names: list[str]) -> str:
    return " or ".join(names) if len(names) < 3 else f"one of {', '.join(names)}"


def _alike(rules: dict[Key, _Rule]) -> Iterator[PackFinding]:
    """Rules that fire on exactly the same states."""
    groups: dict[Any, list[_Rule]] = {}
    for rule in rules.values():
        if rule.fires and not rule.unknown:
            # Where two rules were seen apart, the solver need not be asked.
            seen = tuple(tuple(where.fired.get(rule.key, ())) for where, _ in rule.places)
            groups.setdefault((tuple(rule.fires), rule.shadow, seen), []).append(rule)
    waiting: list[list[_Rule]] = [group for group in groups.values() if len(group) > 1]
    while waiting:
        group = waiting.pop()
        first = group[0]
        rest: list[_Rule] = group[1:]
        apart: list[_Rule] = []
        while rest:
            other = rest[0]
            differs, where, model = _differ(first, other)
            if differs is not True:
                rest = rest[1:]
                if differs is False and first.rule_id != other.rule_id:
                    other.same_as = first.key
                    yield _same(first, other)
                continue
            # The scene that tells these two apart tells others apart as well.
            seen = None if where is None else where.see(model)
            same = rest[1:]
            if where is not None and seen is not None:
                told = where.looking(first).fires_in(seen[0])
                same = [each for each in same if where.looking(each).fires_in(seen[0]) == told]
            kept = set(same)
            apart += [each for each in rest if each not in kept]
            rest = same
        if len(apart) > 1:
            waiting.append(apart)


def _differ(one: _Rule, other: _Rule) -> tuple[bool | None, _Stage | None, Any]:
    unknown = False
    for where, looking in one.places:
        if where.event_type not in one.fires:
            continue
        differs, model = where.differ(looking, where.looking(other))
        if differs:
            return True, where, model
        unknown = unknown or differs is None
    return (None if unknown else False), None, None


def _same(first: _Rule, other: _Rule) -> PackFinding:
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
    return PackFinding("warning", check, problem, pack_id, rule_id, others=(first.rule_id,))
