"""A file that exists must have been read, in the version that is there, before it is written.

Which tools read and write, and which of their parameters name files, stands in the definition. Which file a path means,
and what it holds, comes from the adapter: only it can follow a link. What it can't determine is denied.

A write that succeeded counts as a read of what it wrote. One that failed half-way may have changed the file: what was
known of it is forgotten, unless it can be shown to be the same.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Literal, cast

from lictor_guard.facts.fact import Changes, Fact, OwnFacts, key_of, remembered
from lictor_guard.plugins.tool_call import Call, Result
from lictor_guard.plugins.tool_policy import NOTHING, CheckContext, PolicyDecision, StatelessPolicy
from lictor_guard.text.wording import beyond_agent, joined, listed, quoted
from lictor_schema.sessions.session_questions import Resource
from lictor_schema.sessions.tool_policy import ReadBeforeWriteSpec

Access = Literal["read", "write", "none"]


class KnownFile(Fact, kind="known-file", retention="state"):
    """The agent has read a file, or written it itself."""

    digest: str | None
    """Of what it has seen; None where there was none, and as long as there is none any version counts."""


class ReadBeforeWrite(StatelessPolicy):
    """Denies a write over a file that the agent has not read as it is now."""

    def __init__(self, spec: ReadBeforeWriteSpec) -> None:
        self.name = spec.name

    def keys(self, call: Call) -> Sequence[str]:
        if _access(call) == "none":
            return ()
        return [_key(each.key) for each in _named(call) if each.key is not None]

    def check(self, call: Call, facts: OwnFacts, context: CheckContext) -> PolicyDecision:  # noqa: ARG002
        if _access(call) != "write":
            return PolicyDecision.allow()
        unseen = list(_unseen(call))
        if unseen:
            tool = quoted(call.tool)
            remedy = f"name the file that {tool} is to write by a path that the runtime can resolve"
            if not call.resources and _names_paths(call):
                remedy = beyond_agent("the adapter looks at no files; give it the workspace")
            return PolicyDecision.deny(f"{tool} writes files, but {joined(unseen)}", remedy)
        problems: list[str] = []
        unread: list[str] = []
        for each in _named(call):
            problem, read_helps = _problem(each, facts)
            if problem is not None:
                problems.append(problem)
                if read_helps:
                    unread.append(quoted(each.given))
        if not problems:
            return PolicyDecision.allow()
        steps = [f"read {_few(unread)}"] if unread else []
        if len(unread) < len(problems):
            steps.append("name only files that can be resolved and written")
        return PolicyDecision.deny(
            joined(problems), f"{', '.join(steps)}, then call {quoted(call.tool)} again"
        )

    def on_result(
        self,
        call: Call,
        result: Result,
        facts: OwnFacts,
        context: CheckContext,  # noqa: ARG002
    ) -> Changes:
        access = _access(call)
        if access == "none" or not result.ran:
            return NOTHING
        changes: dict[str, Fact | None] = {}
        for each in _named(call):
            if each.key is None:
                continue
            key = _key(each.key)
            known = remembered(facts, key, KnownFile)
            if result.success:
                if access == "write":
                    changes[key] = _after_write(each, known)
                elif each.state == "file":
                    changes[key] = KnownFile(digest=each.digest)
            elif access == "write" and not _surely_same(each, known):
                changes[key] = None
        return changes


def _few(names: Sequence[str]) -> str:
    return listed(names) if len(names) <= 8 else f"the {len(names)} files named"


def _access(call: Call) -> Access:
    return "none" if call.spec is None else call.spec.access


def _declared(call: Call) -> tuple[str, ...]:
    return () if call.spec is None else call.spec.resources


def _named(call: Call) -> list[Resource]:
    """The files that the declared parameters name, each once."""
    declared = _declared(call)
    return list(dict.fromkeys(each for each in call.resources if each.param in declared))


def _unseen(call: Call) -> Iterator[str]:
    """What a write names that the adapter did not look at: it may be any file."""
    present = [each for each in _declared(call) if call.params.get(each) is not None]
    if not present:
        yield f"none of its parameters names one ({listed(_declared(call))})"
    seen = {(each.param, each.given) for each in call.resources}
    for param in present:
        value = call.params[param]
        paths = cast(list[Any], value) if isinstance(value, list) else [value]
        if not paths:
            yield f"parameter {quoted(param)} names none"
        for path in paths:
            if not isinstance(path, str):
                yield f"parameter {quoted(param)} holds something that is no path"
            elif (param, path) not in seen:
                yield f"nothing is known of {quoted(path)}"


def _names_paths(call: Call) -> bool:
    """Whether it names files as it should, so that no other spelling would help."""
    return any(isinstance(call.params.get(each), str) for each in _declared(call))


def _problem(resource: Resource, facts: OwnFacts) -> tuple[str | None, bool]:
    """Why a file may not be written, and whether reading it would help."""
    given = quoted(resource.given)
    if resource.key is None:
        return f"{given} can't be resolved: {quoted(resource.problem or 'no reason given')}", False
    if resource.state == "missing":
        return None, False
    if resource.state != "file":
        what = {"unknown": "it can't be told what stands there", "directory": "it is a directory"}
        return f"{given}: {what.get(resource.state, 'it is no regular file')}", False
    known = remembered(facts, _key(resource.key), KnownFile)
    if known is None:
        return f"{given} exists and must be read before it is written", True
    if known.digest == resource.digest:
        return None, False
    if known.digest is None or resource.digest is None:
        return f"{given} was read, but whether it has changed since can't be told", True
    return f"{given} has changed since it was read", True


def _after_write(resource: Resource, known: KnownFile | None) -> KnownFile | None:
    if resource.state != "file":
        return None
    if resource.digest is None and known is not None and known.digest is not None:
        # Digests are usual here: without this one, any later version would pass for the agent's own.
        return None
    return KnownFile(digest=resource.digest)


def _surely_same(resource: Resource, known: KnownFile | None) -> bool:
    return known is not None and known.digest is not None and known.digest == resource.digest


def _key(key: str) -> str:
    return key_of("file", key)
