"""Decisions per second in process, beside the same rules in Cedar, CEL and ZEN, measured in the same run.

Everyone starts from a task's state and an event, and ends with the rules that fire and the one that decides. The peers
get their facts from our fact functions, only those that the rules for the event type ask about, then judge in the
form that is fastest for each, compiled once and indexed by event type as ours are. `peers_given_facts` leaves finding
the facts out for the peers, not for us. `verdicts_per_s` adds the texts, notices and actions of our decision,
`steps_per_s` is all of our work: state in, next state and decision record as JSON out. Parsing the event is in none.
Before anything is measured, all must agree on every event of the stream. Times are CPU times of this process;
rounds alternate, medians are compared.

    python bench/evaluator.py [--events 6000] [--rounds 5] [--packs policy-packs] [--json]
"""

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from lictor_policy.decisions.json_text import rfc3339
from lictor_policy.events.position import EventPosition
from lictor_policy.judge.config import EvaluatorConfig, build_config
from lictor_policy.judge.resolution import resolve
from lictor_policy.judge.step import observed, step
from lictor_policy.packs.pack import LoadedPack, load_pack, read_pack
from lictor_policy.task.state import TaskState
from lictor_schema.events.event import Event

sys.path.insert(0, str(Path(__file__).parent))
from mixed_stream import Placed, long_task, mixed_stream
from peers.cedar import Cedar
from peers.common_expression import CommonExpressions
from peers.questions import Context, context_of, needed, questions_of, winner
from peers.zen_expressions import ZenExpressions
from reporting import ROOT, emit

Work = Callable[[int, int], None]
"""Does the runs from one number up to another."""
HISTORIES = (10, 1_000, 100_000)
PACK_COUNTS = (4, 40, 400)
TURN = 200


class Moment(NamedTuple):
    """One event, the state before it, and the state that rules see."""

    state: TaskState | None
    seen: TaskState
    event: Event
    position: EventPosition


def record(config: EvaluatorConfig, stream: Iterable[Placed]) -> list[Moment]:
    """Fold the stream once and keep what every judgement starts from."""
    states: dict[str, TaskState] = {}
    moments: list[Moment] = []
    for event, position in stream:
        state = states.get(event.task_id)
        seen = observed(state, event, rfc3339(event.timestamp), position, config)
        moments.append(Moment(state, seen, event, position))
        states[event.task_id] = step(state, event, position, config).state
    return moments


def rates(works: Mapping[str, Work], count: int, rounds: int) -> dict[str, list[float]]:
    """Runs per second of CPU time of each, round by round.

    They take turns every few runs: what else the machine does then falls on all of them.
    """
    measured: dict[str, list[float]] = {name: [] for name in works}
    for number in range(rounds + 1):
        spent = dict.fromkeys(works, 0.0)
        for start in range(0, count, TURN):
            for name, work in works.items():
                started = time.process_time()
                work(start, start + TURN)
                spent[name] += time.process_time() - started
        if number:  # the first round warms up
            for name, seconds in spent.items():
                measured[name].append(count / seconds)
    return measured


def judgements(packs: list[LoadedPack], moments: list[Moment]) -> dict[str, Work]:
    """Ours and the peers', with and without finding the facts, and our whole step."""
    config = build_config(packs)
    questions = questions_of(loaded.pack for loaded in packs)
    computes = needed(questions)
    engines = [Cedar(questions), CommonExpressions(questions), ZenExpressions(questions)]
    contexts = [
        context_of(computes.get(each.event.event_type, {}), each.seen, each.event, each.position)
        for each in moments
    ]
    for engine in engines:
        _must_agree(config, engine, moments, contexts)

    def ours(start: int, stop: int) -> None:
        for _, seen, event, position in moments[start:stop]:
            fired = config.matches(seen, event, position)
            if fired:
                max(fired, key=_strength)

    def verdicts(start: int, stop: int) -> None:
        for _, seen, event, position in moments[start:stop]:
            fired = config.matches(seen, event, position)
            if fired:
                resolve(fired, seen, event, position, config)

    def theirs(engine: Any) -> Work:
        def judge(start: int, stop: int) -> None:
            for _, seen, event, position in moments[start:stop]:
                known = computes.get(event.event_type)
                if known is None:
                    continue
                context = context_of(known, seen, event, position)
                winner(engine.matched(event.event_type, context))

        return judge

    def theirs_given(engine: Any) -> Work:
        def judge(start: int, stop: int) -> None:
            for each, context in zip(moments[start:stop], contexts[start:stop], strict=True):
                winner(engine.matched(each.event.event_type, context))

        return judge

    return {
        "ours": ours,
        "verdicts": verdicts,
        "steps": _steps(config, moments),
        **{engine.name: theirs(engine) for engine in engines},
        **{f"{engine.name} given facts": theirs_given(engine) for engine in engines},
    }


def _strength(rule: Any) -> tuple[int, int]:
    return rule.strength


def _must_agree(
    config: EvaluatorConfig, engine: Any, moments: list[Moment], contexts: list[Context]
) -> None:
    for each, context in zip(moments, contexts, strict=True):
        fired = config.matches(each.seen, each.event, each.position)
        matched = engine.matched(each.event.event_type, context)
        if [rule.rule.id for rule in fired] != [question.rule_id for question in matched]:
            raise RuntimeError(f"{engine.name} disagrees about {each.event.event_id}")


def compare(packs: list[LoadedPack], count: int, rounds: int) -> dict[str, object]:
    """Ours beside the peers'."""
    moments = record(build_config(packs), mixed_stream(count))
    measured = rates(judgements(packs, moments), count, rounds)
    names = (Cedar.name, CommonExpressions.name, ZenExpressions.name)
    fastest = max(names, key=lambda name: statistics.median(measured[name]))
    given = [f"{name} given facts" for name in names]
    fastest_given = max(given, key=lambda name: statistics.median(measured[name]))
    return {
        "events": count,
        "rounds": rounds,
        "packs": len(packs),
        "rules": sum(len(loaded.pack.spec.rules) for loaded in packs),
        "decisions_per_s": _median(measured["ours"]),
        "peers": {name: _median(measured[name]) for name in names},
        "ratio_to_fastest_peer": _ratio(measured["ours"], measured[fastest]),
        "ratios_by_round": [
            round(a / b, 2) for a, b in zip(measured["ours"], measured[fastest], strict=True)
        ],
        "peers_given_facts": {name: _median(measured[f"{name} given facts"]) for name in names},
        "ratio_to_fastest_peer_given_facts": _ratio(measured["ours"], measured[fastest_given]),
        "verdicts_per_s": _median(measured["verdicts"]),
        "steps_per_s": _median(measured["steps"]),
    }


def _median(found: list[float]) -> int:
    return round(statistics.median(found))


def _ratio(ours: list[float], theirs: list[float]) -> float:
    return round(statistics.median(ours) / statistics.median(theirs), 2)


def history(packs: list[LoadedPack], rounds: int) -> dict[str, object]:
    """Microseconds an event costs after so many of its task, with the state read and written."""
    config = build_config(packs)
    last = max(HISTORIES)
    stream = list(long_task(last + 10))
    state = None
    works: dict[str, Work] = {}
    for number, (event, position) in enumerate(stream[:last], 1):
        state = step(state, event, position, config).state
        if number in HISTORIES:
            works[str(number)] = _next_ten(config, state, stream[number : number + 10])
    return _growth("history", rates(works, 1_000, rounds))


def _next_ten(config: EvaluatorConfig, state: TaskState, coming: list[Placed]) -> Work:
    stored = state.encode()

    def work(start: int, stop: int) -> None:
        for _ in range(start, stop, len(coming)):
            encoded = stored
            for event, position in coming:
                outcome = step(TaskState.decode(encoded), event, position, config)
                encoded = outcome.state.encode()

    return work


def pack_counts(packs: list[LoadedPack], rounds: int) -> dict[str, object]:
    """Microseconds a step costs beside so many packs that look at other events."""
    stream = mixed_stream(1_000)
    works: dict[str, Work] = {}
    for count in PACK_COUNTS:
        others = [_bystander(number) for number in range(count - len(packs))]
        config = build_config([*packs, *others])
        works[str(count)] = _steps(config, record(config, stream))
    return _growth("packs", rates(works, 1_000, rounds))


def _steps(config: EvaluatorConfig, moments: list[Moment]) -> Work:
    def work(start: int, stop: int) -> None:
        for state, _, event, position in moments[start:stop]:
            step(state, event, position, config)

    return work


def _growth(name: str, measured: dict[str, list[float]]) -> dict[str, object]:
    costs = {count: 1e6 / statistics.median(found) for count, found in measured.items()}
    first, *_, last = costs.values()
    return {
        f"{name}_us": {count: round(cost, 1) for count, cost in costs.items()},
        f"growth_{name}": round(last / first, 2),
    }


def _bystander(number: int) -> LoadedPack:
    """A pack that looks only at an event type which the stream doesn't hold."""
    rule = {
        "id": f"bystander-{number}.rule",
        "title": "A rule about something else",
        "intent": "To be there",
        "triggers": {"event_types": ["report_anchor_missing"]},
        "conditions": {"fact": "task.mode", "equals": "silent"},
        "evidence_requirements": {},
        "decision_output": {
            "decision": "block",
            "reason": "something else happened",
            "suggested_status": None,
            "required_actions": [],
            "operator_notice": None,
        },
        "operator_message_templates": {"blocked": "Something else happened."},
    }
    pack = {
        "apiVersion": "reporting-governance/v1alpha1",
        "kind": "PolicyPack",
        "metadata": {
            "id": f"bystander-{number}",
            "title": "A pack about something else",
            "version": "1.0.0",
            "summary": "It is only there",
            "owner": "bench",
            "severity_default": "low",
            "applies_to": {},
            "tags": [],
        },
        "spec": {"evaluation_mode": "any_rule_match", "rules": [rule]},
    }
    return read_pack(json.dumps(pack).encode(), f"bystander-{number}")


def main() -> None:
    parser = argparse.ArgumentParser(description="Decisions per second, beside other engines.")
    parser.add_argument("--events", type=int, default=6_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--packs", type=Path, default=ROOT / "policy-packs")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    packs = [load_pack(path) for path in sorted(options.packs.glob("*/policy.yaml"))]
    emit(
        "evaluator: decisions/s in process, beside the same rules in other engines",
        {
            **compare(packs, options.events, options.rounds),
            **history(packs, options.rounds),
            **pack_counts(packs, options.rounds),
        },
        options.json,
    )


if __name__ == "__main__":
    main()
