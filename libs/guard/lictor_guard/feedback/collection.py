"""Feedback for the agent between its calls: at a hook, or when a timer rings."""

from lictor_guard.facts.fact import Facts
from lictor_guard.facts.part_memory import broken_owners
from lictor_guard.facts.session_fact_changes import tally_of
from lictor_guard.facts.session_facts import (
    BROKEN,
    DELIVERED,
    WAITING,
    Delivered,
    Identity,
    Waiting,
)
from lictor_guard.feedback import provider_runs
from lictor_guard.feedback.log_entries import stamped
from lictor_guard.feedback.rendering import render
from lictor_guard.log.entry_stamp import Fields, Stamp, done, identity_of, moment, refused
from lictor_guard.session import stop_gate
from lictor_guard.session.limits import exhausted
from lictor_guard.session.tool_gate import unknown_session
from lictor_schema.gates.task_standing import TaskStanding
from lictor_schema.sessions.feedback import Feedback, ProviderFailure, StampedFeedback
from lictor_schema.sessions.session_log import FeedbackDelivered, FeedbackRaised
from lictor_schema.sessions.session_questions import FeedbackAnswer, FeedbackRequest

COMPLETION = "lictor.completion"
"""Who speaks when an output is handed over that is not complete."""
TIMER = "lictor.timer"
"""Who acts when a timer rings."""


class FeedbackQuestions:
    """The questions that providers answer."""

    def __init__(self, stamp: Stamp) -> None:
        self._stamp = stamp
        self._guarded = stamp.guarded
        self._names = provider_runs.names_for_advice(stamp.guarded) | {BROKEN}

    def names_for_collect(self, request: FeedbackRequest) -> frozenset[str]:
        """Which feedback should the agent get?"""
        if request.output is None:
            return self._names
        return self._names | stop_gate.names_for_output(self._guarded)

    def names_for_tick(self) -> frozenset[str]:
        """A timer rang."""
        return self._names

    def collect_wants_standing(self, request: FeedbackRequest, facts: Facts, now_us: int) -> bool:
        """Whether a provider whose turn it is looks at the task, or the checker of an output that is handed over."""
        if identity_of(facts) is None or _told_before(request, facts) is not None:
            return False
        at_us = moment(facts, now_us)
        output = request.output
        if output and stop_gate.needs_standing(self._guarded, subagent=output.subagent):
            return True
        return provider_runs.wants_standing(self._guarded, facts, now_us=at_us, files=request.files)

    def collect(
        self, request: FeedbackRequest, facts: Facts, now_us: int, standing: TaskStanding | None
    ) -> tuple[FeedbackDelivered | None, FeedbackAnswer]:
        """Which feedback should the agent get now? The same call gets the same feedback again."""
        identity = identity_of(facts)
        if identity is None:
            return None, FeedbackAnswer(**refused(request, unknown_session()))
        told = _told_before(request, facts)
        if told is not None:
            return None, _feedback(request, told.feedback, _broken_providers(facts), told.at_us)
        fields = self._stamp.on(request, facts, now_us)
        advice = provider_runs.advise(
            self._guarded,
            facts,
            now_us=fields["at_us"],
            entry_id=fields["entry_id"],
            files=request.files,
            standing=standing,
        )
        failures = (*advice.failures, *_broken_providers(facts))
        feedback = (*advice.feedback, *self._completion(request, facts, identity, standing, fields))
        answer = _feedback(request, feedback, failures, fields["at_us"])
        changes = bool(feedback) or advice.changes_session
        if not changes and not _must_ring(facts, advice, fields["at_us"]):
            return None, answer
        entry = FeedbackDelivered(
            kind="feedback_delivered",
            **fields,
            call_id=request.call_id,
            feedback=feedback,
            withdrawn=advice.withdrawn,
            seen_files=advice.seen_files,
            failures=advice.failures,
            noted=dict(advice.noted),
            next_due_us=advice.next_due_us,
        )
        return entry, answer

    def _completion(
        self,
        request: FeedbackRequest,
        facts: Facts,
        identity: Identity,
        standing: TaskStanding | None,
        fields: Fields,
    ) -> tuple[StampedFeedback, ...]:
        """What the output that the call handed over lacks, while the agent can still add it."""
        now_us, tally = fields["at_us"], tally_of(facts)
        limit = exhausted(identity, tally, self._guarded.definition.budgets, now_us)
        missing = stop_gate.missing_in_output(
            self._guarded, request, facts, standing, now_us, limit
        )
        if missing is None:
            return ()
        said = Feedback(
            provider=COMPLETION,
            summary=f"The output was handed over, but the work is not complete: {missing}",
            suggestions=("Do what is missing, then hand the output over again.",),
            severity="warning",
        )
        return (
            stamped(
                said,
                provider=COMPLETION,
                entry_id=fields["entry_id"],
                now_us=now_us,
                call_index=tally.calls,
                trigger="output",
                definition=identity.definition,
            ),
        )

    def tick_wants_standing(self, facts: Facts, now_us: int) -> bool:
        """The same for a tick."""
        if identity_of(facts) is None:
            return False
        at_us = moment(facts, now_us)
        return provider_runs.wants_standing(self._guarded, facts, now_us=at_us, by_timer=True)

    def tick(
        self, facts: Facts, now_us: int, standing: TaskStanding | None
    ) -> FeedbackRaised | None:
        """A timer rang: what providers say waits for the agent's next hook."""
        identity = identity_of(facts)
        if identity is None:
            return None
        at_us, entry_id = moment(facts, now_us), self._stamp.new_id()
        advice = provider_runs.advise_by_timer(
            self._guarded, facts, now_us=at_us, entry_id=entry_id, standing=standing
        )
        if advice is None or not (advice.changes_session or advice.next_due_us):
            return None
        return FeedbackRaised(
            kind="feedback_raised",
            entry_id=entry_id,
            at_us=at_us,
            runtime=identity.runtime,
            session_id=identity.session_id,
            task_id=identity.task_id,
            agent_id=TIMER,
            definition_hash=identity.definition_hash,
            feedback=advice.feedback,
            failures=advice.failures,
            noted=dict(advice.noted),
            next_due_us=advice.next_due_us,
        )


def _told_before(request: FeedbackRequest, facts: Facts) -> Delivered | None:
    last = facts.get(DELIVERED)
    return last if isinstance(last, Delivered) and last.call_id == request.call_id else None


def _must_ring(facts: Facts, advice: provider_runs.ProviderRun, now_us: int) -> bool:
    """Whether a timer is wanted and none is set, such as after the session had ended."""
    waiting = facts.get(WAITING)
    set_to = waiting.next_due_us if isinstance(waiting, Waiting) else None
    rung = set_to is None or set_to <= now_us
    return rung and advice.next_due_us is not None and advice.next_due_us > now_us


def _broken_providers(facts: Facts) -> tuple[ProviderFailure, ...]:
    return tuple(
        ProviderFailure(provider=owner.removeprefix("provider/"), error=error)
        for owner, error in broken_owners(facts).items()
        if owner.startswith("provider/")
    )


def _feedback(
    request: FeedbackRequest,
    feedback: tuple[StampedFeedback, ...],
    failures: tuple[ProviderFailure, ...],
    at_us: int,
) -> FeedbackAnswer:
    return FeedbackAnswer(
        **done(request, "There is feedback." if feedback else "Nothing to hear."),
        feedback=feedback,
        text=render(feedback, at_us),
        failures=failures,
    )
