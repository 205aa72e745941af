"""What is true of every task at every event: without it, a solver would show states that no task is ever in.

Only what holds by the way facts are computed and states move. The tests hold every line of it against streams of
events; a line too many would let something false be proved, a line too few only leaves a question open.
"""

from collections.abc import Iterator
from itertools import pairwise

from lictor_policy.conditions.evidence_requirements import Claimed, Need, needs_of, stated_in
from lictor_policy.conditions.facts import REQUIREMENTS_MET
from lictor_policy.conditions.partial_evaluation import OPEN, SETTLED
from lictor_policy.conditions.satisfiability import claims_on
from lictor_policy.events.content import CHECKPOINT_ANSWERS
from lictor_policy.task.history import Latest
from lictor_policy.task.obligations import MAX_OWED
from lictor_prove.packs.fact_symbols import NO_SESSION, Symbols
from lictor_prove.packs.z3_questions import NotExpressible, Term
from lictor_schema.events.event_types import EventType

_ABOUT_RUNS = frozenset(
    (
        "subagent_spawned",
        "subagent_spawn_failed",
        "subagent_completed",
        "subagent_result_forwarded",
        "subagent_result_not_forwarded",
        "watchdog_fired",
        "report_anchor_missing",
    )
)
_AT_THE_START: dict[str, object] = {
    "checkpoint.is_overdue": False,
    "checkpoint.operator_visible_update_sent": False,
    "checkpoint.missed_in_a_row": 0,
    "checkpoint.silences_in_a_row": 0,
    "checkpoint.newly_missed": False,
    "evidence.new_items_since_last_checkpoint": 0,
    "evidence.best_quality": "none",
    "claim.promised_followup_open": False,
    "forwarding.unforwarded_results": 0,
    "subagents.unreported_failures": 0,
    "subagents.overdue": 0,
    "obligation.newly_told": False,
    "obligation.times_told": 0,
    "obligation.untracked": 0,
    "message.status_only_in_a_row": 0,
    "task.status": "active",
    "task.is_held": False,
    "task.is_closed": False,
}


def signal_term(name: str, event_type: EventType, symbols: Symbols) -> Term:
    """When a derived signal is raised by an event of a type."""
    terms = symbols.terms
    match name:
        case "checkpoint_overdue":
            return symbols.fact("checkpoint.is_overdue").term
        case "checkpoint_progress_claim":
            return symbols.fact("claim.is_progress_bearing").term
        case "promised_followup_due":
            watched = symbols.watched().is_value(name, terms)
            return terms.all_of([watched, symbols.fact("claim.promised_followup_due").term])
        case "subagent_overdue":
            watched = symbols.watched().is_value(name, terms)
            return terms.all_of([watched, symbols.fact("subagents.overdue").term > 0])
        case "subagent_failed":
            if event_type == "subagent_spawn_failed":
                return terms.true
            return symbols.child_failed().term
        case _:
            raise NotExpressible(f"the signal {name} is not known to the analysis yet")


def known_on(event_type: EventType, symbols: Symbols) -> list[Term]:
    """Everything that is known about an event of a type and its task; call it when all symbols are made."""
    symbols.everything()
    return [
        *_settled(event_type, symbols),
        *_of_the_event(event_type, symbols),
        *_of_claims_and_evidence(symbols),
        *_of_requirements(symbols),
        *_of_duties(symbols),
        *_of_the_task(symbols),
        *_of_the_past(event_type, symbols),
        *symbols.bounds,
    ]


def _settled(event_type: EventType, symbols: Symbols) -> Iterator[Term]:
    """What the type of an event and its claim settle."""
    terms = symbols.terms
    claim = symbols.fact("claim.type")
    claims = claims_on(event_type)
    yield terms.any_of(claim.is_value(each or "", terms) for each in claims)
    for each in claims:
        claimed = claim.is_value(each or "", terms)
        for name, settle in SETTLED.items():
            value = settle(event_type, each)
            if value is not OPEN:
                yield terms.implies(claimed, symbols.fact(name).is_value(value, terms))
    if event_type == "task_started":
        for name, value in _AT_THE_START.items():
            yield symbols.fact(name).is_value(value, terms)


def _of_the_event(event_type: EventType, symbols: Symbols) -> Iterator[Term]:
    terms = symbols.terms
    if event_type not in _ABOUT_RUNS:
        yield terms.denied(symbols.fact("forwarding.named_result_unforwarded").term)
    if event_type == "task_status_changed":
        yield terms.denied(symbols.fact("status.target").is_value("", terms))
    anchored = symbols.fact("dispatch.has_report_anchor").term
    if event_type == "report_anchor_missing":
        yield terms.denied(anchored)
    elif event_type != "subagent_spawned":
        yield anchored == symbols.fact("task.has_report_anchor").term
    no_session = symbols.session().is_value(NO_SESSION, terms)
    if event_type == "watchdog_fired":
        says_so = symbols.watched().is_value("session_condition", terms)
        yield terms.any_of([no_session, says_so])
    else:
        yield no_session
    if event_type == "task_checkpoint_sent":
        bare = symbols.fact("message.status_only_in_a_row").term > 0
        yield bare == (symbols.fact("evidence.new_items_since_last_checkpoint").term == 0)
        promised = symbols.fact("claim.makes_promise").term
        closed = symbols.fact("task.is_closed").term
        is_open = symbols.fact("claim.promised_followup_open").term
        yield terms.any_of([terms.denied(promised), closed, is_open])


def _of_claims_and_evidence(symbols: Symbols) -> Iterator[Term]:
    terms = symbols.terms

    def fact(name: str) -> Term:
        return symbols.fact(name).term

    given = [fact(f"message.{name}_present") for name in CHECKPOINT_ANSWERS]
    yield fact("message.checkpoint_fields_given") == terms.total(given)
    yield fact("message.has_required_checkpoint_fields") == terms.all_of(given)
    progress = symbols.fact("claim.type").is_value("progress", terms)
    yield terms.implies(
        fact("claim.is_progress_bearing"),
        terms.any_of([progress, fact("message.completed_this_segment_present")]),
    )
    announced = fact("claim.announces_next_step")
    backed = fact("claim.next_step_has_supporting_evidence")
    none_new = fact("evidence.new_items_since_last_checkpoint") == 0
    yield terms.any_of([announced, backed])
    yield terms.implies(terms.all_of([none_new, announced]), terms.denied(backed))
    yield terms.implies(none_new, fact("evidence.new_best_quality") == 0)
    yield fact("evidence.new_best_quality") <= fact("evidence.best_quality")
    yield fact("evidence.completion_min_quality") <= fact("evidence.best_quality")


def _of_requirements(symbols: Symbols) -> Iterator[Term]:
    """What it takes to meet the evidence requirements of a rule.

    Without classes that is all there is to it; no fact says which classes the evidence is of.
    """
    terms = symbols.terms
    yield symbols.fact(REQUIREMENTS_MET).term
    claim = symbols.fact("claim.type")
    verified = claim.is_value("verified_completion", terms)
    completes = terms.any_of(
        [
            claim.is_value("completion", terms),
            symbols.fact("status.target").is_value("completed", terms),
        ]
    )
    progress = symbols.fact("claim.is_progress_bearing").term
    bare = terms.denied(progress)
    only_completes = terms.all_of([completes, terms.denied(verified)])
    neither = terms.denied(terms.any_of([verified, completes]))
    held_to: list[tuple[Term, Term, tuple[Claimed, ...]]] = [
        (verified, bare, ("verified_completion",)),
        (verified, progress, ("verified_completion", "progress")),
        (only_completes, bare, ("completion",)),
        (only_completes, progress, ("completion", "progress")),
        (neither, progress, ("progress",)),
        (neither, bare, ("nothing",)),
    ]
    for symbol in tuple(symbols):
        requirements = stated_in(symbol.name)
        if requirements is None:
            continue
        of_kinds = needs_of(requirements)
        for done, told, kinds in held_to:
            case = terms.all_of([done, told])
            needs = [need for kind in kinds for need in of_kinds[kind]]
            least = terms.all_of([_least(need, symbols) for need in needs])
            yield terms.implies(terms.all_of([case, symbol.term]), least)
            if not any(need.classes for need in needs):
                yield terms.implies(terms.all_of([case, least]), symbol.term)


def _least(need: Need, symbols: Symbols) -> Term:
    """What there must be at least to meet a need, whatever classes it asks for."""
    terms = symbols.terms

    def fact(name: str) -> Term:
        return symbols.fact(name).term

    match need.what:
        case "any":
            return fact("evidence.best_quality") > 0
        case "new":
            items = fact("evidence.new_items_since_last_checkpoint")
            strong = fact("evidence.new_best_quality") >= need.floor
            if need.classes and not need.items:
                return terms.true
            return terms.all_of([items >= need.items, terms.any_of([items == 0, strong])])
        case _:
            return fact("evidence.completion_min_quality") >= need.floor


def _of_duties(symbols: Symbols) -> Iterator[Term]:
    terms = symbols.terms

    def fact(name: str) -> Term:
        return symbols.fact(name).term

    due = fact("claim.promised_followup_due")
    yield terms.implies(due, fact("claim.promised_followup_open"))
    yield terms.implies(fact("claim.promised_followup_seen"), due)
    yield terms.any_of([fact("claim.promised_followup_has_evidence"), due])
    waiting = fact("forwarding.unforwarded_results")
    yield fact("forwarding.overdue_results") <= waiting
    yield fact("forwarding.overdue_results") <= MAX_OWED
    yield waiting <= MAX_OWED + fact("obligation.untracked")
    yield fact("subagents.overdue") <= MAX_OWED
    for name in ("result_available_without_visible_followup", "named_result_unforwarded"):
        yield terms.implies(fact(f"forwarding.{name}"), waiting > 0)
    told = fact("obligation.newly_told")
    yield terms.implies(told, fact("obligation.times_told") > 0)


def _of_the_task(symbols: Symbols) -> Iterator[Term]:
    terms = symbols.terms
    status = symbols.fact("task.status")

    def fact(name: str) -> Term:
        return symbols.fact(name).term

    def stands_at(*statuses: str) -> Term:
        return terms.any_of(status.is_value(each, terms) for each in statuses)

    closed, held = fact("task.is_closed"), fact("task.is_held")
    is_open = terms.denied(closed)
    overdue = fact("checkpoint.is_overdue")
    quiet = terms.any_of(
        [fact("checkpoint.missed_in_a_row") > 0, fact("checkpoint.silences_in_a_row") > 0]
    )
    yield terms.implies(closed, stands_at("completed", "failed"))
    yield terms.implies(terms.all_of([held, is_open]), stands_at("blocked", "awaiting_review"))
    yield terms.implies(overdue, is_open)
    at_work = terms.denied(stands_at("waiting_user", "awaiting_review"))
    yield terms.implies(terms.all_of([quiet, is_open, terms.denied(held), at_work]), overdue)
    yield terms.implies(quiet, terms.denied(fact("checkpoint.operator_visible_update_sent")))
    yield terms.implies(fact("checkpoint.newly_missed"), quiet)
    yield terms.implies(closed, terms.denied(fact("claim.promised_followup_open")))


def _of_the_past(event_type: EventType, symbols: Symbols) -> Iterator[Term]:
    """The event that is judged has happened; and what lies in a window lies in every longer one."""
    windows: dict[str, list[tuple[int, Term]]] = {}
    for each in symbols.past.values():
        moment = each.moment
        counts = moment is not None and moment.decision is None and moment.where is None
        if counts and moment is not None and moment.event == event_type:
            is_latest = isinstance(each.kept, Latest)
            yield each.symbol.term == 0 if is_latest else each.symbol.term >= 1
        if each.span_us is not None:
            windows.setdefault(each.kept.name, []).append((each.span_us, each.symbol.term))
    for looked_at in windows.values():
        looked_at.sort(key=lambda pair: pair[0])
        for (_, shorter), (_, longer) in pairwise(looked_at):
            yield shorter <= longer
