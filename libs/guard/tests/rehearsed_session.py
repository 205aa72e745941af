"""A session rehearsed in memory: the log, its fold in stored form, and a clock, as a service keeps them.

It loads only the facts that a question names, and sends every entry and every fact through its stored form, so that a
test fails when the session's code asks for more, or remembers what can't be stored.
"""

import dataclasses
import itertools
import json
import uuid
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, TypeVar

from pydantic import BaseModel

from lictor_guard.definitions.compiled_definition import (
    ConfiguredProvider,
    Guarded,
    OwnedPolicy,
    compile_definition,
)
from lictor_guard.facts.fact import Changes, Fact, Facts, OwnFacts, decode_fact
from lictor_guard.facts.session_facts import Tally
from lictor_guard.log.fold import WHOLE
from lictor_guard.log.replay import Replay
from lictor_guard.plugins.feedback_provider import FeedbackProvider
from lictor_guard.plugins.part_defaults import whole_policy, whole_provider
from lictor_guard.plugins.tool_call import Call, Result
from lictor_guard.plugins.tool_policy import (
    CheckContext,
    PolicyDecision,
    StatelessPolicy,
    ToolPolicy,
)
from lictor_guard.session.asking import Known, ReadApproval, Unsettled
from lictor_guard.session.judge import SessionJudge
from lictor_guard.session.snapshots import kept_snapshot
from lictor_schema.gates.gate import GateRequest
from lictor_schema.gates.task_standing import TaskStanding
from lictor_schema.sessions.agent_definition import AgentDefinition, TriggerSpec
from lictor_schema.sessions.session_log import AnySessionEntry, FeedbackRaised, parse_session_entry
from lictor_schema.sessions.session_questions import (
    CancelApprovalRequest,
    Denial,
    FeedbackAnswer,
    FeedbackRequest,
    ResetRequest,
    Resource,
    RestoreRequest,
    SeenFile,
    SessionAnswer,
    SessionBeginAnswer,
    SessionBeginRequest,
    SnapshotRequest,
    StateAnswer,
    StateDocument,
    StopGateAnswer,
    StopGateRequest,
    TentativeOutput,
    ToolGateAnswer,
    ToolGateRequest,
    ToolResultAnswer,
    ToolResultReport,
    Usage,
    UsageReport,
)

BEGIN_US = 1_800_000_000_000_000
SECOND_US = 1_000_000
_ASKED_AT = datetime(2027, 1, 15, 8, tzinfo=UTC)
A = TypeVar("A", bound=BaseModel)


def defined(**sections: Any) -> AgentDefinition:
    """A definition from plain data; tools may be given by name, policies as `policy_specs`."""
    tools = [
        {"name": tool} if isinstance(tool, str) else tool for tool in sections.pop("tools", ())
    ]
    document = {
        "apiVersion": "lictor/v1",
        "kind": "AgentDefinition",
        "metadata": {"name": "rehearsed", "version": "1"},
        "tools": tools,
        "policies": sections.pop("policy_specs", ()),
        **sections,
    }
    return AgentDefinition.model_validate_json(json.dumps(document))


def guarded(
    *,
    policies: Iterable[ToolPolicy] = (),
    providers: Iterable[tuple[FeedbackProvider, TriggerSpec]] = (),
    **sections: Any,
) -> Guarded:
    """A compiled definition, with further policies and providers as a plugin would bring them."""
    compiled = compile_definition(defined(**sections))
    more = (OwnedPolicy(whole_policy(each), f"policy/{each.name}", None) for each in policies)
    speakers = (
        ConfiguredProvider(whole_provider(each), trigger, f"provider/{each.name}")
        for each, trigger in providers
    )
    return dataclasses.replace(
        compiled,
        policies=(*compiled.policies, *more),
        providers=(*compiled.providers, *speakers),
    )


class Scripted(StatelessPolicy):
    """A policy that does what a test says."""

    def __init__(
        self,
        name: str,
        check: Callable[[Call], object] = lambda _: PolicyDecision.allow(),
        learn: Callable[[Result], Changes] = lambda _: {},
    ) -> None:
        self.name = name
        self.asked: list[str] = []
        self.heard: list[str] = []
        self._check = check
        self._learn = learn

    def check(self, call: Call, facts: OwnFacts, context: CheckContext) -> PolicyDecision:
        self.asked.append(call.call_id)
        return self._check(call)  # pyright: ignore[reportReturnType]

    def on_result(
        self,
        call: Call,
        result: Result,
        facts: OwnFacts,
        context: CheckContext,
    ) -> Changes:
        self.heard.append(call.call_id)
        return self._learn(result)


class Rehearsal:
    """One session, played."""

    def __init__(self, guarded: Guarded, *, session_id: str = "s1", begin: bool = True) -> None:
        ids = itertools.count(1)
        self.session = SessionJudge(
            guarded, lambda: str(uuid.uuid5(uuid.NAMESPACE_OID, str(next(ids))))
        )
        self.guarded = guarded
        self.session_id = session_id
        self.now_us = BEGIN_US
        self.log: list[tuple[int, AnySessionEntry]] = []
        self.stored: dict[str, bytes] = {}
        self._requests = itertools.count(1)
        self._calls = itertools.count(1)
        if begin:
            self.begin()

    # What is known.

    @property
    def whole(self) -> dict[str, Fact]:
        """Every fact, read back."""
        return {name: decode_fact(stored) for name, stored in self.stored.items()}

    @property
    def tally(self) -> Tally:
        """What the session has done so far."""
        found = self.whole.get("session/tally", Tally())
        assert isinstance(found, Tally)
        return found

    @property
    def kinds(self) -> list[str]:
        """The log, in short."""
        return [entry.kind for _, entry in self.log]

    def rebuilt(self) -> dict[str, bytes]:
        """The fold of the whole log, made anew."""
        facts = self._replayed().facts
        return {name: fact.encode() for name, fact in facts.items()}

    def state(self) -> dict[str, bytes]:
        """What a restore sets back."""
        return {
            name: fact.encode() for name, fact in self.whole.items() if fact.retention == "state"
        }

    def passing(self, seconds: float) -> None:
        """Time goes by, or back."""
        self.now_us += int(seconds * SECOND_US)

    # What is asked.

    def begin(self, *, task: str = "t1", **fields: Any) -> SessionBeginAnswer:
        request = SessionBeginRequest(**self._fields(task=task), **fields)
        names = self.session.names_for_begin()
        return self._ask(names, lambda facts: self.session.begin(request, facts, self.now_us))

    def check(
        self,
        tool: str,
        call_id: str | None = None,
        *,
        task: str = "t1",
        params: Mapping[str, Any] | None = None,
        resources: tuple[Resource, ...] = (),
        refused: Denial | None = None,
        agent: str = "a1",
        knows_ask: bool = True,
        people: Callable[[str], ReadApproval] = lambda _: ReadApproval(standing="waiting"),
    ) -> ToolGateAnswer:
        """`people` says how a request stands where people decide."""
        request = ToolGateRequest(
            **self._fields(task=task, agent=agent),
            call_id=call_id or f"c{next(self._calls)}",
            tool=tool,
            params=dict(params or {}),
            resources=resources,
            refused=refused,
            knows_ask=knows_ask,
        )
        known: Known | None = None
        while True:
            names = self.session.names_for_check(request, known)
            entry, answer = self.session.check(request, self._load(names), self.now_us, known=known)
            if isinstance(answer, Unsettled):
                assert entry is None
                read = answer.request_id if answer.read else None
                known = answer.beyond(known, None if read is None else people(read))
                continue
            decided = entry, answer
            return self._ask(names, lambda _, decided=decided: decided)

    def cancel(self, request_id: str, *, task: str = "t1", **fields: Any) -> SessionAnswer:
        request = CancelApprovalRequest(
            **{**self._fields(task=task), **fields},
            approval_request=request_id,
            why="it is not needed",
        )
        names = self.session.names_for_cancel(request)
        return self._ask(names, lambda facts: self.session.cancel(request, facts, self.now_us))

    def result(
        self,
        tool: str,
        call_id: str | None = None,
        outcome: Any = "ok",
        *,
        task: str = "t1",
        params: Mapping[str, Any] | None = None,
        resources: tuple[Resource, ...] = (),
        usage: Usage | None = None,
        **told: Any,
    ) -> ToolResultAnswer:
        request = self.reported(tool, call_id, outcome, task, params, resources, usage, **told)
        names = self.session.names_for_result(request)
        return self._ask(names, lambda facts: self.session.result(request, facts, self.now_us))

    def result_unseen(self, tool: str, call_id: str, outcome: Any = "ok") -> None:
        """A result while the store is away: it is logged, and folded like any other."""
        request = self.reported(tool, call_id, outcome)
        blank = Facts(dict.fromkeys(self.session.names_for_result(request)))
        begun = blank.changed({"session/identity": self.whole["session/identity"]})
        entry, _ = self.session.result(request, begun, self.now_us)
        assert entry is not None
        self._append(entry)

    def reported(
        self,
        tool: str,
        call_id: str | None = None,
        outcome: Any = "ok",
        task: str = "t1",
        params: Mapping[str, Any] | None = None,
        resources: tuple[Resource, ...] = (),
        usage: Usage | None = None,
        **told: Any,
    ) -> ToolResultReport:
        return ToolResultReport(
            **self._fields(task=task),
            call_id=call_id or f"c{next(self._calls)}",
            tool=tool,
            params=dict(params or {}),
            outcome=outcome,
            resources=resources,
            usage=usage,
            **told,
        )

    def call(self, tool: str, outcome: Any = "ok", **fields: Any) -> ToolGateAnswer:
        """Ask, and report when it was allowed."""
        call_id = f"c{next(self._calls)}"
        answer = self.check(tool, call_id, **fields)
        if answer.decision == "allow":
            self.result(tool, call_id, outcome, **fields)
        return answer

    def use(self, report_id: str, **usage: Any) -> SessionAnswer:
        request = UsageReport(**self._fields(), report_id=report_id, usage=Usage(**usage))
        names = self.session.names_for_usage(request)
        return self._ask(names, lambda facts: self.session.usage(request, facts, self.now_us))

    def collect(
        self,
        call_id: str | None = None,
        *,
        files: tuple[SeenFile, ...] = (),
        standing: TaskStanding | None = None,
        output: TentativeOutput | None = None,
    ) -> FeedbackAnswer:
        request = FeedbackRequest(
            **self._fields(),
            call_id=call_id or f"c{next(self._calls)}",
            files=files,
            output=output,
        )

        def collected(facts: Facts) -> tuple[AnySessionEntry | None, FeedbackAnswer]:
            self.session.collect_wants_standing(request, facts, self.now_us)
            return self.session.collect(request, facts, self.now_us, standing)

        return self._ask(self.session.names_for_collect(request), collected)

    def tick(self, *, standing: TaskStanding | None = None) -> FeedbackRaised | None:
        facts = self._load(self.session.names_for_tick())
        self.session.tick_wants_standing(facts, self.now_us)
        entry = self.session.tick(facts, self.now_us, standing)
        if entry is not None:
            self._append(entry)
        return entry

    def stop(self, *, agent: str = "a1", **fields: Any) -> StopGateAnswer:
        standing = fields.pop("standing", None)
        request = StopGateRequest(**{**self._fields(agent=agent), "reason": "end_turn", **fields})
        names = self.session.names_for_stop(request)
        return self._ask(
            names, lambda facts: self.session.stop(request, facts, self.now_us, standing)
        )

    def snapshot(self, snapshot_id: str, *, with_document: bool = False) -> StateAnswer:
        request = SnapshotRequest(
            **self._fields(), snapshot_id=snapshot_id, with_document=with_document
        )
        return self._concern(self.session.snapshot(request, self.whole, self.now_us))

    def restore(
        self, snapshot_id: str | None = None, *, document: StateDocument | None = None
    ) -> StateAnswer:
        request = RestoreRequest(
            **self._fields(), snapshot_id=snapshot_id, document=document, cause="rolled back"
        )
        snapshot = kept_snapshot(request, self.whole)
        kept = None if snapshot is None else self._replayed().state_at(snapshot.sequence)
        return self._concern(self.session.restore(request, self.whole, kept, self.now_us), kept)

    def reset(self) -> StateAnswer:
        request = ResetRequest(**self._fields(), cause="a new try")
        return self._concern(self.session.reset(request, self.whole, self.now_us))

    def show(self) -> SessionBeginAnswer:
        request = GateRequest(**self._fields())
        return self.session.show(request, self._load(self.session.names_for_begin()))

    # How it is kept.

    def _replayed(self) -> Replay:
        replay = Replay(self.session.folder)
        for sequence, entry in self.log:
            replay.add(sequence, entry)
        return replay

    def _fields(self, *, task: str = "t1", agent: str = "a1") -> dict[str, Any]:
        return {
            "request_id": f"q{next(self._requests)}",
            "runtime": "rehearsal",
            "agent_id": agent,
            "task_id": task,
            "session_id": self.session_id,
            "requested_at": _ASKED_AT,
        }

    def _load(self, names: Iterable[str]) -> Facts:
        return Facts({name: self.stored.get(name) for name in names})

    def _ask(
        self, names: frozenset[str], decide: Callable[[Facts], tuple[AnySessionEntry | None, A]]
    ) -> A:
        entry, answer = decide(self._load(names))
        if entry is not None:
            beyond = self.session.names_to_fold(entry) - names
            assert not beyond, f"folding {entry.kind} needs {beyond}, which was not loaded"
            self._append(entry)
        return _read_back(answer)

    def _concern(
        self,
        decided: tuple[AnySessionEntry | None, StateAnswer],
        kept: Mapping[str, Fact] | None = None,
    ) -> StateAnswer:
        entry, answer = decided
        if entry is not None:
            self._append(entry, kept)
        return _read_back(answer)

    def append(self, entry: AnySessionEntry) -> None:
        """An entry that comes again."""
        self._append(entry)

    def _append(self, entry: AnySessionEntry, kept: Mapping[str, Fact] | None = None) -> None:
        read = parse_session_entry(entry.model_dump_json(by_alias=True))
        assert read == entry
        # Other sessions' entries stand between ours.
        sequence = self.log[-1][0] + 3 if self.log else 7
        self.log.append((sequence, read))
        if isinstance(read, WHOLE):
            self._commit(self.session.fold_whole(read, self.whole, kept or {}))
        else:
            facts = self._load(self.session.names_to_fold(read))
            self._commit(self.session.fold(read, sequence, facts))

    def _commit(self, changes: Changes) -> None:
        for name, fact in changes.items():
            if fact is None:
                self.stored.pop(name, None)
            else:
                self.stored[name] = fact.encode()


def _read_back(answer: A) -> A:
    read = type(answer).model_validate_json(answer.model_dump_json(by_alias=True))
    assert read == answer
    return answer
