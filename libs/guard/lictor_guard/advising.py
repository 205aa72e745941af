"""Runs the providers whose turn it is, and folds what they said.

At a hook, everything that waited is handed over, then every provider whose trigger fires is run, in the definition's
order. A provider whose feedback was waiting is not run in the same pass: an agent hears each at most once a hook. A
timer runs only providers that are due by time; what they say waits for the next hook, and they are not run again
before it was handed over. So a session whose agent is gone falls silent.

Nothing here is stored: the pass is told in one entry of the session's log, and `fold_spoken` makes facts of it.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeVar, cast

from lictor_guard.core_facts import (
    DELIVERED,
    IDENTITY,
    RECENT,
    TALLY,
    WAITING,
    Cadence,
    Delivered,
    Identity,
    Recent,
    Tally,
    Waiting,
    cadence_name,
)
from lictor_guard.definition import ConfiguredProvider, Guarded
from lictor_guard.durations import SECOND_US
from lictor_guard.errors import GuardError
from lictor_guard.facts import Changes, Fact, Facts, decode_fact, full_name
from lictor_guard.provider import FeedbackContext
from lictor_guard.spoken import stamped
from lictor_guard.triggers import due, due_without_hook, existing, rings_at
from lictor_schema import (
    Feedback,
    FeedbackDelivered,
    FeedbackRaised,
    ProviderFailure,
    SeenFile,
    StampedFeedback,
    TaskStanding,
    TriggerKind,
)

F = TypeVar("F", bound=Fact)

MAX_PASS_BYTES = 384 * 1024
"""What one pass may say in all; the entry that tells of it must fit into a message."""
_MAX_ERROR = 500
# A timer that finds nothing to say is set again after this share of the time that the agent has been idle, and not at
# all after a week: a session that nobody ends costs a few ticks, not one every few seconds for ever.
_IDLE_SHARE = 8
_ABANDONED_US = 7 * 86_400 * SECOND_US


@dataclass(frozen=True)
class Advice:
    """What a pass led to."""

    waiting: tuple[StampedFeedback, ...]
    """What had been waiting and is handed over now; empty when a timer made the pass."""
    raised: tuple[StampedFeedback, ...]
    failures: tuple[ProviderFailure, ...]
    seen_files: tuple[str, ...]
    noted: Mapping[str, str | None]
    next_due_us: int | None
    """When a timer must ring; None for no timer."""

    @property
    def feedback(self) -> tuple[StampedFeedback, ...]:
        """Everything to hand over: what waited, then what was raised now."""
        return self.waiting + self.raised

    @property
    def changes_session(self) -> bool:
        """Whether the log must tell of it."""
        return bool(self.feedback or self.failures or self.noted)


def provider_name(configured: ConfiguredProvider) -> str:
    """Its name in the definition, whatever the provider says of itself."""
    return configured.owner.removeprefix("provider/")


def names_for_advice(guarded: Guarded) -> frozenset[str]:
    """The facts that a pass needs, and the fold of what comes of it."""
    names = {IDENTITY, TALLY, RECENT, WAITING, DELIVERED}
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
) -> Advice:
    """The pass at a hook."""
    return _pass(guarded, facts, now_us, entry_id, existing(files), standing, by_timer=False)


def advise_by_timer(
    guarded: Guarded,
    facts: Facts,
    *,
    now_us: int,
    entry_id: str,
    standing: TaskStanding | None = None,
) -> Advice | None:
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
    identity = _identity(facts)
    waiting = {each.provider for each in _waiting(facts)}
    rings = [
        rings_at(
            configured.trigger, _cadence(facts, name), began_us=identity.began_us, now_us=now_us
        )
        for configured in guarded.providers
        if (name := provider_name(configured)) not in waiting
    ]
    return min((each for each in rings if each is not None), default=None)


def names_to_fold_spoken(entry: FeedbackRaised | FeedbackDelivered) -> frozenset[str]:
    """The facts that `fold_spoken` needs and changes."""
    speakers = {cadence_name(each.provider) for each in entry.feedback}
    return frozenset({WAITING, DELIVERED, *speakers, *entry.noted})


def fold_spoken(
    guarded: Guarded, entry: FeedbackRaised | FeedbackDelivered, facts: Facts
) -> Changes:
    """What a pass changes: cadences, what waits, what was handed over last, and what providers noted."""
    waiting = _waiting(facts)
    seen_files: tuple[str, ...] = ()
    changes: dict[str, Fact | None] = {
        name: None if stored is None else decode_fact(stored)
        for name, stored in entry.noted.items()
    }
    if isinstance(entry, FeedbackRaised):
        changes[WAITING] = Waiting(feedback=waiting + entry.feedback, next_due_us=entry.next_due_us)
    else:
        seen_files = entry.seen_files
        changes[WAITING] = Waiting(next_due_us=entry.next_due_us)
        changes[DELIVERED] = Delivered(
            call_id=entry.call_id, at_us=entry.at_us, feedback=entry.feedback
        )
    known = {each.feedback_id for each in waiting}
    files = {provider_name(each): each.trigger.on_file_created for each in guarded.providers}
    for feedback in entry.feedback:
        if feedback.feedback_id in known:
            continue
        name = cadence_name(feedback.provider)
        marked = _cadence(facts, feedback.provider).files
        file = files.get(feedback.provider)
        if file is not None and file in seen_files and file not in marked:
            marked = (*marked, file)
        changes[name] = Cadence(call_index=feedback.call_index, spoke_us=entry.at_us, files=marked)
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
) -> Advice:
    waiting = _waiting(facts)
    raised: list[StampedFeedback] = []
    failures: list[ProviderFailure] = []
    noted: dict[str, str | None] = {}
    seen: list[str] = []
    room = MAX_PASS_BYTES - sum(map(_size, waiting))
    for configured, trigger in _turns(guarded, facts, now_us, files, by_timer=by_timer):
        name = provider_name(configured)
        context = _context(guarded, facts, configured, now_us, standing)
        try:
            said = _run(configured, context, trigger, entry_id)
            remembered = _remembered(configured, context, spoke=said is not None)
        except Exception as error:  # noqa: BLE001 - whatever it raises, the others are heard
            text = f"{type(error).__name__}: {error}"
            failures.append(ProviderFailure(provider=name, error=text[:_MAX_ERROR]))
            continue
        size = _size(said) + sum(len(stored or "") for stored in remembered.values())
        if size > room:
            # It is due still, and is heard at the next hook.
            continue
        room -= size
        noted.update(remembered)
        if said is None:
            continue
        raised.append(said)
        file = configured.trigger.on_file_created
        if file is not None and file in files:
            seen.append(file)
    after = facts.changed(
        {
            WAITING: Waiting(feedback=(*waiting, *raised) if by_timer else ()),
            **{
                cadence_name(each.provider): Cadence(call_index=each.call_index, spoke_us=now_us)
                for each in raised
            },
        }
    )
    due_us = next_due_us(guarded, after, now_us)
    return Advice(
        waiting=() if by_timer else waiting,
        raised=tuple(raised),
        failures=tuple(failures),
        seen_files=tuple(dict.fromkeys(seen)),
        noted=noted,
        next_due_us=_backed_off(due_us, facts, now_us) if by_timer else due_us,
    )


def _backed_off(due_us: int | None, facts: Facts, now_us: int) -> int | None:
    idle_us = now_us - _get(facts, TALLY, Tally, Tally()).active_us
    if due_us is None or idle_us > _ABANDONED_US:
        return None
    return max(due_us, now_us + idle_us // _IDLE_SHARE)


def _turns(
    guarded: Guarded, facts: Facts, now_us: int, files: Collection[str], *, by_timer: bool
) -> Iterator[tuple[ConfiguredProvider, TriggerKind]]:
    waiting = {each.provider for each in _waiting(facts)}
    calls = _get(facts, TALLY, Tally, Tally()).calls
    for configured in guarded.providers:
        name = provider_name(configured)
        if name in waiting:
            continue
        cadence = _cadence(facts, name)
        fired: TriggerKind | None
        if by_timer:
            began_us = _identity(facts).began_us
            rung = due_without_hook(configured.trigger, cadence, began_us=began_us, now_us=now_us)
            fired = "seconds" if rung else None
        else:
            fired = due(configured.trigger, cadence, calls=calls, now_us=now_us, existing=files)
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
        context=context,
        trigger=trigger,
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
        deadline_us=identity.deadline_us,
        budgets=guarded.definition.budgets,
        tally=tally,
        recent=_get(facts, RECENT, Recent, Recent()),
        calls_since=tally.calls - cadence.call_index,
        last_spoke_us=cadence.spoke_us,
        facts=facts.of(configured.owner),
        standing=standing if configured.provider.needs_standing else None,
    )


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
