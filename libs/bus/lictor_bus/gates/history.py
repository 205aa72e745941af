"""Gates of history: a runtime asks for what is stored of its own, and the service that owns the stream answers.

A kind is named like the second token of its subjects. What a question may narrow are the tokens behind the runtime's,
never the runtime's: that one is the token of the subject on which the question came.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from lictor_bus.errors import MalformedQuestion
from lictor_bus.gate import RUNTIMES, Gate, GateRefusal, Repeats
from lictor_bus.gates.denials import (
    APPROVALS,
    FEEDBACK,
    POLICY_EVALUATOR,
    PROVER,
    RUNNER,
    SHARE_OF_CALLS,
    SUPERVISOR,
    refusals_of,
)
from lictor_bus.names import streams, subjects
from lictor_bus.names.subject_pattern import SubjectPattern
from lictor_schema.gates.history import (
    HistoryAnswer,
    HistoryFilter,
    HistoryRequest,
    PublishedAnswer,
    PublishedRequest,
)

# Shorter than the five seconds after which the SDK asks again.
_READ_WITHIN_S = 4.0
_AWAY = "the stream can't be read"


class Sought(NamedTuple):
    """What a question is about, as subjects."""

    subject: str
    """With wildcards; never one in the place of the runtime, unless everybody's is sought."""
    last_token: str | None = None
    """What else a subject must end with: two patterns at once can't be narrowed by wildcards."""

    def has(self, subject: str) -> bool:
        """Whether a message is sought that is stored on this subject, among those that the wildcards match."""
        return self.last_token is None or subject.rpartition(".")[2] == self.last_token

    @property
    def live(self) -> str:
        """Where the broker repeats what is stored there."""
        return f"{subjects.STORED.prefix}{self.subject.removeprefix('lictor.')}"


def _token_of_id(runtime: str, raw_id: str) -> str:
    del runtime
    return subjects.token(raw_id)


@dataclass(frozen=True, kw_only=True)
class HistoryKind:
    """One kind of message that is stored of a runtime's own."""

    name: str
    stream: str
    service: str
    """Who answers."""
    pattern: SubjectPattern
    what: str
    id_names: str | None = None
    """The parameter of the pattern that an id in the question stands for."""
    id_token: Callable[[str, str], str] = _token_of_id

    def sought(self, runtime: str, only: HistoryFilter) -> Sought:
        """The subjects of a runtime's own messages; MalformedQuestion for a filter that this kind has not."""
        return self._sought(subjects.token(runtime), runtime, only)

    def sought_of_all(self, only: HistoryFilter) -> Sought:
        """The same of every runtime's, for operators."""
        return self._sought("*", "", only)

    def _sought(self, own: str, runtime: str, only: HistoryFilter) -> Sought:
        tokens = {"runtime": own}
        task = None if only.task_id is None else subjects.token(only.task_id)
        if task is not None:
            self._refuse_unless("{task}" in self.pattern.pattern, "task_id")
            tokens["task"] = task
        if only.id is not None:
            self._refuse_unless(self.id_names is not None, "id")
            tokens[str(self.id_names)] = self.id_token(runtime, only.id)
        if only.with_gates:
            self._refuse_unless(self is DECISIONS, "with_gates")
            # One more token: no wildcard matches both.
            return Sought(f"{self.pattern.prefix}{own}.>", task)
        return Sought(self.pattern.where(**tokens))

    def _refuse_unless(self, is_known: bool, field: str) -> None:
        if not is_known:
            raise MalformedQuestion(
                f"only.{field} means nothing for {self.what}", "leave it out and ask again"
            )


DECISIONS = HistoryKind(
    name="dec",
    stream=streams.DECISIONS,
    service=POLICY_EVALUATOR,
    pattern=subjects.DECISION,
    what="decisions on its tasks",
)
GUIDANCE = HistoryKind(
    name="guide",
    stream=streams.GUIDANCE,
    service=FEEDBACK,
    pattern=subjects.GUIDANCE,
    what="feedback to its sessions",
    id_names="session",
    id_token=subjects.session_key,
)
PROOFS = HistoryKind(
    name="proof",
    stream=streams.PROOFS,
    service=PROVER,
    pattern=subjects.PROOF,
    what="what the prover found about its programs",
)
APPROVAL_ENTRIES = HistoryKind(
    name="appr",
    stream=streams.APPROVALS,
    service=APPROVALS,
    pattern=subjects.APPROVAL,
    what="approval requests about its programs and calls, and every change of their states",
    id_names="request",
)
RUNS = HistoryKind(
    name="run",
    stream=streams.RUNS,
    service=RUNNER,
    pattern=subjects.RUN,
    what="the journals of runs of its programs",
    id_names="request",
)
EPISODES = HistoryKind(
    name="ep",
    stream=streams.EPISODES,
    # Never the sealer: nothing that a runtime may ask reaches who holds the private key.
    service=SUPERVISOR,
    pattern=subjects.EPISODE,
    what="sealed episodes of its tasks",
    id_names="episode",
)
RECEIPTS = HistoryKind(
    name="rcpt",
    stream=streams.RECEIPTS,
    service=POLICY_EVALUATOR,
    pattern=subjects.RECEIPT,
    what="receipts that it reported",
    id_names="record",
)


@dataclass(frozen=True, kw_only=True)
class PublishedKind:
    """One kind of message that runtimes publish."""

    name: str
    stream: str
    service: str
    runtime_place: int
    """Which token of a stored subject is the runtime's."""


EVENTS = PublishedKind(
    name="ev",
    stream=streams.EVENTS,
    service=POLICY_EVALUATOR,
    runtime_place=subjects.STORED_EVENT.place("runtime"),
)
PROGRAMS = PublishedKind(
    name="prog",
    stream=streams.PROGRAMS,
    service=PROVER,
    runtime_place=subjects.PROGRAM.place("runtime"),
)


def _refused_page(request_id: str, refusal: GateRefusal) -> HistoryAnswer:
    return HistoryAnswer(
        request_id=request_id,
        policy_id=refusal.policy_id,
        reason=refusal.reason,
        remedy=refusal.remedy,
    )


def _refused_word(request_id: str, refusal: GateRefusal) -> PublishedAnswer:
    return PublishedAnswer(
        request_id=request_id,
        policy_id=refusal.policy_id,
        reason=refusal.reason,
        remedy=refusal.remedy,
    )


def _stored(kind: HistoryKind) -> Gate[HistoryRequest, HistoryAnswer]:
    return Gate(
        subject=subjects.HISTORY.documented(kind=kind.name),
        title=f"history.{kind.name}",
        description=f"What is stored for a runtime: {kind.what}.",
        request=HistoryRequest,
        answer=HistoryAnswer,
        service=kind.service,
        asked_by=(RUNTIMES,),
        refuse=_refused_page,
        refusals=refusals_of(kind.service, away=_AWAY),
        within_s=_READ_WITHIN_S,
        share_of_payload=SHARE_OF_CALLS,
        repeats=Repeats.READ,
    )


def _published(kind: PublishedKind) -> Gate[PublishedRequest, PublishedAnswer]:
    return Gate(
        subject=subjects.HISTORY.documented(kind=kind.name),
        title=f"history.{kind.name}",
        description=f"Is what {kind.stream} holds at a sequence the runtime's own, and was it set aside?",
        request=PublishedRequest,
        answer=PublishedAnswer,
        service=kind.service,
        asked_by=(RUNTIMES,),
        refuse=_refused_word,
        refusals=refusals_of(kind.service, away=_AWAY),
        within_s=_READ_WITHIN_S,
        share_of_payload=SHARE_OF_CALLS,
        repeats=Repeats.READ,
    )


OF_DECISIONS = _stored(DECISIONS)
OF_GUIDANCE = _stored(GUIDANCE)
OF_PROOFS = _stored(PROOFS)
OF_APPROVALS = _stored(APPROVAL_ENTRIES)
OF_RUNS = _stored(RUNS)
OF_EPISODES = _stored(EPISODES)
OF_RECEIPTS = _stored(RECEIPTS)
OF_EVENTS = _published(EVENTS)
OF_PROGRAMS = _published(PROGRAMS)

STORED_KINDS = {
    DECISIONS: OF_DECISIONS,
    GUIDANCE: OF_GUIDANCE,
    PROOFS: OF_PROOFS,
    APPROVAL_ENTRIES: OF_APPROVALS,
    RUNS: OF_RUNS,
    EPISODES: OF_EPISODES,
    RECEIPTS: OF_RECEIPTS,
}
"""What runtimes can read back, and where they ask for it."""
PUBLISHED_KINDS = {EVENTS: OF_EVENTS, PROGRAMS: OF_PROGRAMS}
"""What runtimes publish, and where they ask what became of it."""
