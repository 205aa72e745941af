"""Walks policies through calls as a session does: with only the facts they ask for, each stored and read back."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from lictor_guard.facts.fact import Changes, Facts, decode_fact, full_name
from lictor_guard.plugins.part_defaults import WholePolicy
from lictor_guard.plugins.tool_call import Call, Result
from lictor_guard.plugins.tool_policy import CheckContext, PolicyDecision, Restored
from lictor_schema.sessions.session_questions import CallOutcome, Resource, ResourceState
from lictor_schema.sessions.tool_policy import ToolSpec

NOON = 1_700_000_000_000_000
SECOND = 1_000_000


def digest(content: str) -> str:
    """A content hash that differs where the content does."""
    return "sha256:" + content.encode().hex().rjust(64, "0")[-64:]


def seen(
    given: str,
    key: str | None = None,
    *,
    content: str | None = None,
    state: ResourceState = "file",
    param: str = "path",
) -> Resource:
    """A file as an adapter saw it; by default its key is what the caller spelled."""
    hashed = None if content is None else digest(content)
    return Resource(param=param, given=given, key=key or given, state=state, digest=hashed)


def unresolved(given: str, problem: str, param: str = "path") -> Resource:
    """A file that an adapter could not resolve."""
    return Resource(param=param, given=given, key=None, state="unknown", problem=problem)


class Walk:
    """One session's facts and some policies over them."""

    def __init__(self, *policies: WholePolicy, tools: Sequence[ToolSpec] = ()) -> None:
        self.policies = policies
        self.stored: dict[str, bytes] = {}
        self.now_us = NOON
        self._tools = {each.name: each for each in tools}
        self._calls = 0
        self._reserved: set[str] = set()

    def call(
        self,
        tool: str,
        params: Mapping[str, Any] | None = None,
        *resources: Resource,
        call_id: str | None = None,
    ) -> Call:
        """A call with an id of its own, unless one is given; the paths of its files are its parameters."""
        self._calls += 1
        given = {each.param: each.given for each in resources} if params is None else params
        return Call(
            call_id=call_id or f"call-{self._calls}",
            tool=tool,
            params=given,
            resources=resources,
            agent_id="agent-1",
            spec=self._tools.get(tool),
        )

    def check(self, call: Call) -> list[PolicyDecision]:
        """What each policy says; changes nothing."""
        return [each.check(call, self._facts(each, call), self._context) for each in self.policies]

    def ask(self, call: Call) -> list[PolicyDecision]:
        """The denials; a call without any is counted by those who count it."""
        denials = [each for each in self.check(call) if not each.allowed]
        if not denials:
            for each in self.policies:
                if each.reserves(call):
                    self._store(each, each.on_allowed(call, self._facts(each, call), self._context))
                    self._reserved.add(call.call_id)
        return denials

    def end(self, call: Call, outcome: CallOutcome = "ok", duration_ms: int | None = None) -> None:
        """The call has ended; every policy hears of it."""
        result = Result(outcome, duration_ms=duration_ms)
        context = replace(self._context, reserved=call.call_id in self._reserved)
        for each in self.policies:
            facts = self._facts(each, call)
            self._store(each, each.on_result(call, result, facts, context))

    def run(self, tool: str, outcome: CallOutcome = "ok") -> list[PolicyDecision]:
        """Ask, and if it is allowed, let it end so."""
        call = self.call(tool)
        denials = self.ask(call)
        if not denials:
            self.end(call, outcome)
        return denials

    def denied(self, tool: str) -> PolicyDecision:
        """The one denial of a call."""
        (denial,) = self.ask(self.call(tool))
        return denial

    def after(self, seconds: float) -> None:
        """Time passes."""
        self.now_us += round(seconds * SECOND)

    def restore(self, earlier: Mapping[str, bytes]) -> None:
        """State goes back to what `stored` was; what only logs stays."""
        logged = {
            name: fact for name, fact in self.stored.items() if decode_fact(fact).retention == "log"
        }
        state = {
            name: fact for name, fact in earlier.items() if decode_fact(fact).retention == "state"
        }
        self.stored = {**state, **logged}
        for each in self.policies:
            owner = full_name(f"policy/{each.name}", "")
            own = {
                name.removeprefix(owner): decode_fact(fact)
                for name, fact in self.stored.items()
                if name.startswith(owner)
            }
            self._store(each, each.on_restored(Restored(None, "rolled back", self.now_us), own))

    def reset(self) -> None:
        """Everything that the policies know is forgotten."""
        self.stored.clear()

    @property
    def _context(self) -> CheckContext:
        return CheckContext(now_us=self.now_us, session_id="session-1", definition="coder")

    def _facts(self, policy: WholePolicy, call: Call) -> Any:
        owner = f"policy/{policy.name}"
        names = [full_name(owner, key) for key in policy.keys(call)]
        stored = self.stored
        return Facts(
            {name: decode_fact(stored[name]) if name in stored else None for name in names}
        ).of(owner)

    def _store(self, policy: WholePolicy, changes: Changes) -> None:
        for key, fact in changes.items():
            name = full_name(f"policy/{policy.name}", key)
            if fact is None:
                self.stored.pop(name, None)
            else:
                self.stored[name] = fact.encode()


def changed(call: Call, *resources: Resource) -> Call:
    """The same call, with its files as they are after it."""
    return replace(call, resources=resources)
