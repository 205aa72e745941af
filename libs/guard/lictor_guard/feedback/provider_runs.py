"""Runs the providers whose turn it is, and folds what they said.

At a hook, every provider whose trigger fires is run, in the definition's order, and so is every provider whose
feedback waits. A timer runs only providers that are due by time; what they say waits for the next hook. Waiting
feedback is never handed over as it was worded then: time has passed and calls were made since. Its provider is run
again, and what it says now takes the place of what waited; if it has nothing to say any more, what waited is
withdrawn. Only where it can't say (it fails, or there is no room) does the agent get what waited, with its age.
Likewise, a provider that a timer finds due again replaces what waits. It has spoken when the agent has heard it.

Nothing here is stored: the pass is recorded in one entry of the session's log, and `fold_spoken` makes facts of it.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeVar, cast

from lictor_guard.definitions.compiled_definition import ConfiguredProvider, Guarded
from lictor_guard.errors import GuardError
from lictor_guard.facts.fact import Changes, Fact, Facts, decode_fact, full_name
from lictor_guard.facts.session_facts import (
    DELIVERED,
    IDENTITY,
    RECENT,
    RECENT_CALLS,
    TALLY,
    WAITING,
    Cadence,
    Delivered,
    Identity,
    Recent,
    RecentDetails,
    Tally,
    Waiting,
    cadence_name,
    recent_name,
)
from lictor_guard.feedback.log_entries import stamped
from lictor_guard.feedback.triggers import due, due_without_hook, existing, rings_at
from lictor_guard.plugins.feedback_provider import FeedbackContext
from lictor_schema.core.time import DAY_S, SECOND_US
from lictor_schema.gates.task_standing import TaskStanding
from lictor_schema.sessions.feedback import Feedback, ProviderFailure, StampedFeedback, TriggerKind
from lictor_schema.sessions.session_log import FeedbackDelivered, FeedbackRaised
from lictor_schema.sessions.session_questions import SeenFile

F = TypeVar("F", bound=Fact)

MAX_PASS_BYTES = 384 * 1024
"""What one pass may say in all; the entry that records it must fit into a message."""
_MAX_ERROR = 500
# A timer that finds nothing to say is set again after this share of the time that the agent has been idle, and not at
# all after a week: a session that nobody ends costs a few ticks, not one every few seconds for ever.
_IDLE_SHARE = 8
_ABANDONED_US = 7 * DAY_S * SECOND_US


@dataclass(frozen=True)
class ProviderRun:
    """What a pass led to."""

    feedback: tuple[StampedFeedback, ...]
    """Everything to hand over; when a timer made the pass, what waits from now on."""
    withdrawn: tuple[str, ...]
    """Providers whose feedback waited and that have nothing to say any more."""
    failures: tuple[ProviderFailure, ...]
    seen_files: tuple[str, ...]
    noted: Mapping[str, str | None]
    next_due_us: int | None
    """When a timer must ring; None for no timer."""

    @property
    def changes_session(self) -> bool:
        """Whether the log must record it."""
        return bool(self.feedback or self.withdrawn or self.failures or self.noted)


def provider_name(configured: ConfiguredProvider) -> str:
    """Its name in the definition, whatever the provider says of itself."""
    return configured.owner.removeprefix("provider/")


def names_for_advice(guarded: Guarded) -> frozenset[str]:
    """The facts that a pass needs, and the fold of what comes of it."""
    names = {IDENTITY, TALLY, RECENT, WAITING, DELIVERED}
    if guarded.keeps_calls:
        names.update(map(recent_name, range(RECENT_CALLS)))
    for configured in guarded.providers:
        names.add(cadence_name(provider_name(configured)))
        names.update(full_name(configured.owner, key) for key in configured.provider.keys())  # noqa: SIM118
    return frozenset(names)


def advise(
    guarded: Guarded,
    facts: Facts,
    *,
    now_us: int,
    entry_id: str,
    files: Iterable[SeenFile] = (),
    standing: TaskStanding | None = None,
) -> ProviderRun:
    """The pass at a hook."""
    return _pass(guarded, facts, now_us, entry_id, existing(files), standing, by_timer=False)


def advise_by_timer(
    guarded: Guarded,
    facts: Facts,
    *,
    now_us: int,
    entry_id: str,
    standing: TaskStanding | None = None,
) -> ProviderRun | None:
    """The pass when a timer rings; None when nobody is to be run, such as after the session ended."""
    if _get(facts, TALLY, Tally, Tally()).ended is not None:
        return None
    if next(_turns(guarded, facts, now_us, frozenset(), by_timer=True), None) is None:
        return None
    return _pass(guarded, facts, now_us, entry_id, frozenset(), standing, by_timer=True)


def wants_standing(
    guarded: Guarded,
    facts: Facts,
    *,
    now_us: int,
    files: Iterable[SeenFile] = (),
    by_timer: bool = False,
) -> bool:
    """Whether a provider whose turn it is looks at the task: only then is its standing worth a question."""
    turns = _turns(guarded, facts, now_us, existing(files), by_timer=by_timer)
    return any(configured.provider.needs_standing for configured, _ in turns)


def next_due_us(guarded: Guarded, facts: Facts, now_us: int) -> int | None:
    """When a timer must ring for the session as it stands; None for no timer."""
    if _get(facts, TALLY, Tally, Tally()).ended is not None:
        return None
    began_us = _identity(facts).began_us
    rings = [
        rings_at(
            each.trigger, _cadence(facts, provider_name(each)), began_us=began_us, now_us=now_us
        )
        for each in guarded.providers
    ]
    return min((each for each in rings if each is not None), default=None)


def names_to_fold_spoken(entry: FeedbackRaised | FeedbackDelivered) -> frozenset[str]:
    """The facts that `fold_spoken` needs and changes."""
    speakers = {cadence_name(each.provider) for each in entry.feedback if _of_provider(each)}
    return frozenset({WAITING, DELIVERED, *speakers, *entry.noted})


def fold_spoken(
    guarded: Guarded, entry: FeedbackRaised | FeedbackDelivered, facts: Facts
) -> Changes:
    """What a pass changes: cadences, what waits, what was handed over last, and what providers noted."""
    changes: dict[str, Fact | None] = {
        name: None if stored is None else decode_fact(stored)
        for name, stored in entry.noted.items()
    }
    if isinstance(entry, FeedbackRaised):
        waiting = _replaced(_waiting(facts), entry.feedback)
        changes[WAITING] = Waiting(feedback=waiting, next_due_us=entry.next_due_us)
        for feedback in entry.feedback:
            cadence = _cadence(facts, feedback.provider)
            raised = cadence.model_copy(update={"raised_us": entry.at_us})
            changes[cadence_name(feedback.provider)] = raised
        return changes
    changes[WAITING] = Waiting(next_due_us=entry.next_due_us)
    changes[DELIVERED] = Delivered(
        call_id=entry.call_id, at_us=entry.at_us, feedback=entry.feedback
    )
    files = {provider_name(each): each.trigger.on_file_created for each in guarded.providers}
    for feedback in entry.feedback:
        if not _of_provider(feedback) or feedback.provider not in files:
            continue
        marked = _cadence(facts, feedback.provider).files
        file = files[feedback.provider]
        if file is not None and file in entry.seen_files and file not in marked:
            marked = (*marked, file)
        changes[cadence_name(feedback.provider)] = _heard(feedback, entry.at_us, marked)
    return changes


def fresh_cadences(guarded: Guarded, calls: int) -> Changes:
    """The cadences after a reset: counted from here on, every file unseen, and nothing waits."""
    fresh: dict[str, Fact | None] = {
        cadence_name(provider_name(each)): Cadence(call_index=calls) for each in guarded.providers
    }
    return {**fresh, WAITING: None}


def _pass(
    guarded: Guarded,
    facts: Facts,
    now_us: int,
    entry_id: str,
    files: Collection[str],
    standing: TaskStanding | None,
    *,
    by_timer: bool,
) -> ProviderRun:
    waiting = {each.provider: each for each in _waiting(facts)}
    told: list[StampedFeedback] = []
    withdrawn: list[str] = []
    failures: list[ProviderFailure] = []
    noted: dict[str, str | None] = {}
    seen: list[str] = []
    room = MAX_PASS_BYTES - sum(map(_size, waiting.values()))
    for configured, trigger in _turns(guarded, facts, now_us, files, by_timer=by_timer):
        name = provider_name(configured)
        waited = waiting.get(name)
        # Where it can't say anything now, the agent gets what waited.
        still = () if waited is None or by_timer else (waited,)
        context = _context(guarded, facts, configured, now_us, standing)
        try:
            said = _run(configured, context, trigger, entry_id)
            # What a timer raises is not spoken yet: a provider must not note yet that it has said it.
            spoke = said is not None and not by_timer
            remembered = _remembered(configured, context, spoke=spoke)
        except Exception as error:  # noqa: BLE001 - whatever it raises, the others are heard
            text = f"{type(error).__name__}: {error}"
            failures.append(ProviderFailure(provider=name, error=text[:_MAX_ERROR]))
            told += still
            continue
        size = _size(said) + sum(len(stored or "") for stored in remembered.values())
        if size > room + _size(waited):
            # It is due still, and is heard at the next hook.
            told += still
            continue
        room += _size(waited) - size
        noted.update(remembered)
        if said is None:
            if waited is not None and not by_timer:
                withdrawn.append(name)
            continue
        if waited is not None and _says_the_same(said, waited):
            if by_timer:
                continue
            # Operators know it already.
            said = said.model_copy(update={"feedback_id": waited.feedback_id})
        told.append(said)
        file = configured.trigger.on_file_created
        if file is not None and file in files:
            seen.append(file)
    after = facts.changed(
        {
            cadence_name(each.provider): _cadence(facts, each.provider).model_copy(
                update={"raised_us" if by_timer else "spoke_us": now_us}
            )
            for each in told
        }
    )
    due_us = next_due_us(guarded, after, now_us)
    return ProviderRun(
        feedback=tuple(told),
        withdrawn=tuple(withdrawn),
        failures=tuple(failures),
        seen_files=tuple(dict.fromkeys(seen)),
        noted=noted,
        next_due_us=_backed_off(due_us, facts, now_us) if by_timer else due_us,
    )


def _of_provider(feedback: StampedFeedback) -> bool:
    """Whether a provider said it, and not the completion checker of an output."""
    return feedback.trigger != "output"


def _heard(feedback: StampedFeedback, at_us: int, files: tuple[str, ...]) -> Cadence:
    return Cadence(call_index=feedback.call_index, spoke_us=at_us, files=files, last=feedback)


def _replaced(
    waiting: tuple[StampedFeedback, ...], raised: tuple[StampedFeedback, ...]
) -> tuple[StampedFeedback, ...]:
    """What waits after more was raised: of each provider the newest."""
    newer = {each.provider for each in raised}
    return (*(each for each in waiting if each.provider not in newer), *raised)


def _says_the_same(one: Feedback, other: Feedback) -> bool:
    return all(getattr(one, name) == getattr(other, name) for name in Feedback.model_fields)


def _backed_off(due_us: int | None, facts: Facts, now_us: int) -> int | None:
    idle_us = now_us - _get(facts, TALLY, Tally, Tally()).active_us
    if due_us is None or idle_us > _ABANDONED_US:
        return None
    return max(due_us, now_us + idle_us // _IDLE_SHARE)


def _turns(
    guarded: Guarded, facts: Facts, now_us: int, files: Collection[str], *, by_timer: bool
) -> Iterator[tuple[ConfiguredProvider, TriggerKind]]:
    waiting: dict[str, TriggerKind] = {each.provider: each.trigger for each in _waiting(facts)}
    calls = _get(facts, TALLY, Tally, Tally()).calls
    for configured in guarded.providers:
        name = provider_name(configured)
        cadence = _cadence(facts, name)
        fired: TriggerKind | None
        if by_timer:
            began_us = _identity(facts).began_us
            rung = due_without_hook(configured.trigger, cadence, began_us=began_us, now_us=now_us)
            fired = "seconds" if rung else None
        else:
            fired = due(configured.trigger, cadence, calls=calls, now_us=now_us, existing=files)
            fired = fired or waiting.get(name)
        if fired is not None:
            yield configured, fired


def _run(
    configured: ConfiguredProvider, context: FeedbackContext, trigger: TriggerKind, entry_id: str
) -> StampedFeedback | None:
    provider = configured.provider
    if not provider.should_run(context):
        return None
    # What a provider from elsewhere returns is checked, not trusted.
    said = cast(object, provider.provide(context))
    if not isinstance(said, Feedback):
        raise GuardError(f"provide() returned {type(said).__name__}, not Feedback")
    return stamped(
        said,
        provider=provider_name(configured),
        entry_id=entry_id,
        now_us=context.now_us,
        call_index=context.tally.calls,
        trigger=trigger,
        definition=context.definition,
    )


def _remembered(
    configured: ConfiguredProvider, context: FeedbackContext, *, spoke: bool
) -> dict[str, str | None]:
    keys = frozenset(configured.provider.keys())
    changes = configured.provider.remember(context, spoke)
    stray = sorted(set(changes) - keys)
    if stray:
        # They would be written and never loaded.
        raise GuardError(f"remember() named {stray[0]!r}, which keys() does not")
    return {
        full_name(configured.owner, key): None if fact is None else _stored(fact)
        for key, fact in changes.items()
        if fact != context.facts.get(key)
    }


def _stored(fact: Fact) -> str:
    """Its stored form; raises for one that can't be read again, which would spoil the log for good."""
    stored = fact.encode()
    decode_fact(stored)
    return stored.decode()


def _context(
    guarded: Guarded,
    facts: Facts,
    configured: ConfiguredProvider,
    now_us: int,
    standing: TaskStanding | None,
) -> FeedbackContext:
    identity = _identity(facts)
    tally = _get(facts, TALLY, Tally, Tally())
    cadence = _cadence(facts, provider_name(configured))
    return FeedbackContext(
        now_us=now_us,
        definition=identity.definition,
        session_id=identity.session_id,
        began_us=identity.began_us,
        deadline_us=identity.deadline_at(now_us),
        budgets=guarded.definition.budgets,
        tally=tally,
        recent=_get(facts, RECENT, Recent, Recent()),
        calls_since=tally.calls - cadence.call_index,
        last_spoke_us=cadence.spoke_us,
        cadences={name: _cadence(facts, name) for name in map(provider_name, guarded.providers)},
        details=_details(guarded, facts),
        facts=facts.of(configured.owner),
        standing=standing if configured.provider.needs_standing else None,
    )


def _details(guarded: Guarded, facts: Facts) -> dict[str, RecentDetails]:
    """By call, the parameters and results that are kept."""
    if not guarded.keeps_calls:
        return {}
    found = (facts.get(recent_name(slot)) for slot in range(RECENT_CALLS))
    return {each.call_id: each for each in found if isinstance(each, RecentDetails)}


def _size(feedback: StampedFeedback | None) -> int:
    return 0 if feedback is None else len(feedback.model_dump_json().encode())


def _identity(facts: Facts) -> Identity:
    found = facts.get(IDENTITY)
    if not isinstance(found, Identity):
        raise GuardError("a session without identity can't be advised: it has not begun")
    return found


def _waiting(facts: Facts) -> tuple[StampedFeedback, ...]:
    return _get(facts, WAITING, Waiting, Waiting()).feedback


def _cadence(facts: Facts, provider: str) -> Cadence:
    return _get(facts, cadence_name(provider), Cadence, Cadence())


def _get(facts: Facts, name: str, kind: type[F], default: F) -> F:
    found = facts.get(name)
    return found if isinstance(found, kind) else default
