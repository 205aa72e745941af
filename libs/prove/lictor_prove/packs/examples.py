"""From a model of the solver to an example that people can read, confirmed by the evaluator."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lictor_policy.judge.config import EvaluatorConfig
from lictor_prove.packs.fact_symbols import Symbols
from lictor_prove.packs.pack_terms import Side
from lictor_prove.packs.staged_tasks import Judgement, NoSuchScene, judge, stage
from lictor_prove.packs.z3_questions import Asking, SolverAnswer, Term
from lictor_schema.events.event_types import EventType

_TRIES = 4


@dataclass(frozen=True, slots=True)
class Example:
    """A state of a task at an event, and what the evaluator decides about it under each set of packs."""

    event_type: EventType
    facts: Mapping[str, Any]
    """Those that matter: they alone make it so, whatever the others are."""
    every_fact: Mapping[str, Any]
    judged: tuple[Judgement, ...]

    def to_json_value(self) -> dict[str, Any]:
        """For `--json`."""
        return {
            "event_type": self.event_type,
            "facts": dict(self.facts),
            "every_fact": dict(self.every_fact),
            "judged": [each.to_json_value() for each in self.judged],
        }


@dataclass(frozen=True, slots=True)
class SearchOutcome:
    """The outcome of a search: an example, a proof that there is none, or neither."""

    example: Example | None = None
    proved_none: bool = False
    why: str = ""
    """Why neither was found."""


@dataclass(frozen=True, slots=True)
class Search:
    """Looks for examples on events of one type."""

    event_type: EventType
    symbols: Symbols
    asking: Asking
    """With all that is known filled in."""
    sides: Sequence[tuple[EvaluatorConfig, Side]]

    def find(self, goal: Term) -> SearchOutcome:
        """An example of the goal that the evaluator confirms, or a proof that there is none."""
        refused: list[Term] = []
        why = ""
        for _ in range(_TRIES):
            answer = self._plain(goal, refused)
            if answer.kind == "impossible":
                return SearchOutcome(proved_none=not refused, why=why)
            if answer.kind == "unknown":
                return SearchOutcome(why=answer.why)
            values = {each.name: each.read(answer.model) for each in self.symbols}
            try:
                return SearchOutcome(self._confirmed(goal, values, answer.model))
            except NoSuchScene as error:
                why = f"the evaluator did not confirm the example: {error}"
            refused.append(self._other_than(values))
        return SearchOutcome(why=why)

    def _plain(self, goal: Term, refused: Sequence[Term]) -> SolverAnswer:
        """A model with few unusual values: as long as they contradict the goal, one of them is given up."""
        beside = [goal, *refused]
        usual = list(self.symbols.usual())
        while True:
            answer = self.asking.ask(usual, beside=beside)
            if answer.kind == "unknown" and usual:
                return self.asking.ask(beside=beside)
            if answer.kind != "impossible" or not answer.core:
                return answer
            del usual[answer.core[0]]

    def _confirmed(self, goal: Term, values: Mapping[str, Any], model: Any) -> Example:
        configs = [config for config, _ in self.sides]
        scene = stage(self.event_type, values, self.symbols, configs)
        judged: list[Judgement] = []
        for config, side in self.sides:
            judgement = judge(config, scene)
            if judgement.matched != tuple(side.matched(model)):
                raise NoSuchScene("other rules match than the solver says")
            winner = side.winner(model)
            said = None if winner is None else winner.rule.policy_id
            if winner is not None and (judgement.policy_id, judgement.severity) != (
                said,
                winner.severity,
            ):
                raise NoSuchScene(f"{judgement.policy_id} decides, not {said}")
            if (winner is None) != (judgement.rule_id is None):
                raise NoSuchScene("the solver and the evaluator differ on whether anything decides")
            judged.append(judgement)
        told = {each.name: each.told(values[each.name]) for each in self.symbols}
        matter = {name: told[name] for name in self._that_matter(goal, values)}
        return Example(self.event_type, matter, told, tuple(judged))

    def _that_matter(self, goal: Term, values: Mapping[str, Any]) -> list[str]:
        """The symbols whose values are enough for the goal, none of them in vain."""
        terms = self.symbols.terms
        beside = [terms.denied(goal)]
        given = [(each.name, each.is_value(values[each.name], terms)) for each in self.symbols]
        answer = self.asking.ask([term for _, term in given], beside=beside)
        if answer.kind != "impossible":
            return [name for name, _ in given]
        needed = [given[at] for at in answer.core]
        for each in tuple(needed):
            fewer = [term for name, term in needed if name != each[0]]
            answer = self.asking.ask(fewer, beside=beside)
            if answer.kind == "impossible":
                needed = [other for other in needed if other[0] != each[0]]
        return [name for name, _ in needed]

    def _other_than(self, values: Mapping[str, Any]) -> Term:
        terms = self.symbols.terms
        same = (each.is_value(values[each.name], terms) for each in self.symbols)
        return terms.denied(terms.all_of(same))
