"""Packs as terms: which rules fire on an event of a type, which count, and which decides."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from lictor_policy.events.content import claim_type_of
from lictor_policy.judge.config import EvaluatorConfig
from lictor_policy.rules.compiled_rule import CompiledRule
from lictor_policy.rules.scope import TaskScope
from lictor_policy.rules.signals import SIGNALS
from lictor_prove.packs.condition_terms import condition_term, literals_of, sessions_in
from lictor_prove.packs.fact_symbols import CHANNEL, Symbols
from lictor_prove.packs.invariants import signal_term
from lictor_prove.packs.staged_tasks import Scene
from lictor_prove.packs.z3_questions import Term, Z3Terms, truth
from lictor_schema.decisions.decision import Disposition, Severity
from lictor_schema.events.claim import ClaimType
from lictor_schema.events.event_types import EventType

_SCOPED = (("task_modes", "task.mode"), ("workflow_shapes", "task.workflow_shape"))


@dataclass(frozen=True, slots=True)
class Looking:
    """A rule that looks at an event of a type."""

    rule: CompiledRule
    scope: TaskScope | None
    formula: Term
    """Its triggers, its pack's scope and its conditions are met."""
    fires: Term
    """A name for it, for questions that come with all definitions."""
    matches: Term
    """The same, and no earlier rule of a `first_match` pack stands before it."""
    earlier: "tuple[Looking, ...]"
    """The rules that would stand before it."""

    @property
    def key(self) -> tuple[str, str]:
        """Pack and rule: a rule that one pack inherits from another stands in both."""
        return self.rule.stamp.pack_id, self.rule.rule.id

    def fires_in(self, scene: Scene) -> bool:
        """Whether it fires in a scene, as the evaluator sees it."""
        at = scene.state, scene.event, scene.position
        claim, gate = claim_type_of(scene.event), self.rule.triggers[scene.event.event_type]
        return (
            (self.scope is None or self.scope.takes(scene.state))
            and (claim is None or claim in self.rule.claim_types)
            and (gate is None or gate(*at))
            and self.rule.condition(*at)
        )

    def match_formula(self, terms: Z3Terms) -> Term:
        """That it fires, and no earlier rule of a `first_match` pack does."""
        before = (terms.denied(each.formula) for each in self.earlier)
        return terms.all_of([self.formula, *before])


@dataclass(frozen=True, slots=True)
class Voice:
    """A rule as it decides: as it is written, or as it is after too many matches."""

    looking: Looking
    rule: CompiledRule
    often: Term
    """How often its rule must have matched for it to be this voice."""
    speaks: Term
    unopposed: Term
    """No stronger voice speaks."""

    @property
    def strength(self) -> tuple[int, int]:
        """Precedence of the decision, then severity."""
        return self.rule.strength

    @property
    def decision(self) -> Disposition:
        """What it decides."""
        return self.rule.rule.decision_output.decision

    @property
    def severity(self) -> Severity:
        """How bad it says it is."""
        return self.rule.severity


@dataclass(frozen=True, slots=True)
class Side:
    """One set of packs on events of one type."""

    looking: tuple[Looking, ...]
    voices: tuple[Voice, ...]
    """The strongest first."""
    silent: Term
    """Nothing decides."""
    definitions: tuple[Term, ...]

    def decides(self, voice: Voice, terms: Z3Terms) -> Term:
        """When a voice makes the decision."""
        return terms.all_of([voice.speaks, voice.unopposed])

    def at_least(self, strength: tuple[int, int], terms: Z3Terms) -> Term:
        """When the decision is that strong or stronger."""
        return terms.any_of(each.speaks for each in self.voices if each.strength >= strength)

    def matched(self, model: Any) -> list[tuple[str, str]]:
        """The rules that match in a model, in pack order."""
        return [each.key for each in self.looking if truth(model, each.matches)]

    def voice(self, key: tuple[str, str], policy_id: str) -> Voice:
        """The voice of a rule that names this as the origin of its decision."""
        return next(
            each
            for each in self.voices
            if each.looking.key == key and each.rule.policy_id == policy_id
        )

    def winner(self, model: Any) -> Voice | None:
        """The voice that decides in a model."""
        return next((each for each in self.voices if truth(model, each.speaks)), None)


def symbols_for(*configs: EvaluatorConfig) -> Symbols:
    """The symbols for some sets of packs together, so that both are asked about the same task."""
    conditions = [rule.rule.conditions for config in configs for rule in config.rules]
    scopes = [
        candidates.scope
        for config in configs
        for looking in config.index.values()
        for candidates in looking
        if candidates.scope is not None
    ]
    channels = sorted({name for scope in scopes for name in scope.channels or ()})
    runtimes = sorted({name for scope in scopes for name in scope.runtimes or ()})
    return Symbols(Z3Terms(), literals_of(conditions, channels, runtimes), sessions_in(conditions))


def translate(config: EvaluatorConfig, event_type: EventType, symbols: Symbols, name: str) -> Side:
    """What a set of packs does on an event of a type; `name` keeps two sets apart."""
    terms = symbols.terms
    definitions: list[Term] = []

    def defined(label: str, meaning: Term) -> Term:
        flag = terms.flag(f"{name}/{event_type}/{label}")
        definitions.append(flag == meaning)
        return flag

    looking: list[Looking] = []
    for place, candidates in enumerate(config.index.get(event_type, ())):
        scope = _scope_term(candidates.scope, symbols)
        before: Term | None = None
        earlier: tuple[Looking, ...] = ()
        for _, rule in candidates.rules:
            label = f"{place} {rule.rule.id}"
            formula = terms.all_of([scope, _asked_term(rule, event_type, symbols)])
            fires = defined(f"fires {label}", formula)
            matches = fires
            if before is not None:
                free = terms.all_of([fires, terms.denied(before)])
                matches = defined(f"matches {label}", free)
            looking.append(Looking(rule, candidates.scope, formula, fires, matches, earlier))
            # A rule in shadow mode doesn't stand before the others.
            if candidates.first_only and not rule.shadow:
                taken = fires if before is None else terms.any_of([before, fires])
                before = defined(f"taken {label}", taken)
                earlier = (*earlier, looking[-1])
    voices: list[Voice] = []
    silent: Term = terms.true
    for number, (each, rule, often) in enumerate(_ranked(looking, symbols)):
        speaks = defined(f"speaks {number}", terms.all_of([each.matches, often]))
        voices.append(Voice(each, rule, often, speaks, silent))
        silent = defined(
            f"silent {number}", terms.all_of([silent, terms.denied(voices[-1].speaks)])
        )
    return Side(tuple(looking), tuple(voices), silent, tuple(definitions))


def _ranked(
    looking: Sequence[Looking], symbols: Symbols
) -> list[tuple[Looking, CompiledRule, Term]]:
    """What each rule that counts may decide, the strongest first, equals in pack order."""
    terms = symbols.terms
    found: list[tuple[Looking, CompiledRule, Term]] = []
    for each in looking:
        rule = each.rule
        if rule.shadow:
            continue
        if rule.repeated is None or rule.rule.escalate_after is None:
            found.append((each, rule, terms.true))
            continue
        often = symbols.matched_before(rule.rule.id).term + 1 >= rule.rule.escalate_after
        found.append((each, rule, terms.denied(often)))
        found.append((each, rule.repeated, often))
    return sorted(found, key=lambda voice: voice[1].strength, reverse=True)


def _asked_term(rule: CompiledRule, event_type: EventType, symbols: Symbols) -> Term:
    # By object: a rule that looks at many events is translated once.
    key = id(rule.rule.conditions)
    if key not in symbols.conditions:
        symbols.conditions[key] = condition_term(rule.rule.conditions, symbols)
    asked = [*_trigger_terms(rule, event_type, symbols), symbols.conditions[key]]
    return symbols.terms.all_of(asked)


def _trigger_terms(rule: CompiledRule, event_type: EventType, symbols: Symbols) -> Iterator[Term]:
    terms, triggers = symbols.terms, rule.rule.triggers
    if event_type not in triggers.event_types:
        yield terms.any_of(
            signal_term(name, event_type, symbols)
            for name in triggers.derived_signals
            if event_type in SIGNALS[name].event_types
        )
    if len(rule.claim_types) < len(ClaimType):
        # An event that claims nothing isn't filtered by the type of its claim.
        claim = symbols.fact("claim.type")
        looked_at = ("", *sorted(each.value for each in rule.claim_types))
        yield terms.any_of(claim.is_value(each, terms) for each in looked_at)


def _scope_term(scope: TaskScope | None, symbols: Symbols) -> Term:
    if scope is None:
        return symbols.terms.true
    parts: list[Term] = []
    for field, name in _SCOPED:
        parts += _one_of(getattr(scope, field), symbols.fact(name), symbols)
    parts += _one_of(scope.channels, symbols.fact(CHANNEL), symbols)
    parts += _one_of(scope.runtimes, symbols.runtime(), symbols)
    return symbols.terms.all_of(parts)


def _one_of(names: Iterable[str] | None, symbol: Any, symbols: Symbols) -> Iterator[Term]:
    if names is not None:
        terms = symbols.terms
        yield terms.any_of(symbol.is_value(name, terms) for name in sorted(names))
