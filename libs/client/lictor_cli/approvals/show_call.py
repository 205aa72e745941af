"""What an approver has to know about a tool call that waits, as lines; what the agent gave is behind a bar, escaped."""

import json
from collections.abc import Iterable

from lictor_approval.request_life import RequestLife
from lictor_cli.approvals.deciders import AskShown, Deciders, time_left
from lictor_cli.approvals.meant_params import edits_now
from lictor_cli.output.shown_text import folded, harmless_json, printable
from lictor_schema.approvals.approval import ApprovalEntry, ApprovalState
from lictor_schema.approvals.call_approval import CallApprovalRequest
from lictor_schema.sessions.session_questions import Params

_KEY = "--key FILE"


def described_call(
    life: RequestLife, entries: Iterable[ApprovalEntry], deciders: Deciders
) -> Iterable[str]:
    """The request as lines: first who wants to call what, and what happens if nobody decides."""
    request, binding = life.call, life.call.binding
    yield f"request    {request.request_id}"
    yield from _in_quotes(
        f"Agent {_quoted(binding.agent_id)} wants to call {_quoted(binding.tool)}"
        f" in task {_quoted(binding.task_id)}, session {_quoted(binding.session_id)}"
        f" of runtime {_quoted(binding.runtime)}."
    )
    yield _stands(life, deciders)
    yield ""
    yield f"Asked by definition {printable(binding.definition)} ({binding.definition_hash}):"
    for each in deciders.asks(life):
        for line in _asked(each, life):
            yield from _in_quotes(line)
    yield ""
    yield "Parameters, exactly as the agent gave them:"
    yield from _behind_a_bar(request.params)
    yield ""
    yield from _files(request)
    for changed, (by, params) in edits_now(life).items():
        yield f"Parameters, as {printable(by)} changed them ({changed}):"
        yield from _behind_a_bar(params)
        yield ""
    yield "So far:"
    for entry in entries:
        yield f"  {entry.state.value:<11}  {entry.at} by {printable(entry.by)}{_why(entry, life)}"
    yield ""
    yield from _how_to_decide(life)
    yield f"binding    {request.binding_hash}"
    yield f"parameters {binding.params_hash}"


def _in_quotes(line: str) -> Iterable[str]:
    """A line of ours with words of the agent's in it: only ours begin at the edge."""
    return folded(line, "", "      > ")


def _quoted(text: str) -> str:
    """A name that the agent's side chose, in one line and in quotes."""
    return harmless_json(json.dumps(text, ensure_ascii=False))


def _stands(life: RequestLife, deciders: Deciders) -> str:
    if life.state.is_undecided:
        left = time_left(life.due, deciders.now)
        return (
            f"It waits (`{life.state.value}`): people may decide until {life.due}, {left} left."
            " If they don't, the call is denied."
        )
    if life.state is ApprovalState.APPROVED:
        how = "as often as the agent wants, in this session" if life.is_reusable else "once"
        return f"It is approved: the call may be made {how} until {life.due}."
    return f"It is `{life.state.value}` since {life.changed_at}; nothing waits for a decision."


def _asked(each: AskShown, life: RequestLife) -> Iterable[str]:
    yield f"  {printable(each.ask.policy_id)}: {printable(each.ask.reason)}"
    yield f"    must approve: {printable(each.whom)}"
    if each.approved_by:
        yield f"    have approved: {printable(', '.join(each.approved_by))}"
    if life.state.is_undecided:
        yield f"    missing: {each.missing}"
    if each.may_decide is not None:
        named = (
            ", ".join(each.may_decide)
            or "NOBODY in the file of approvers: reject it, or correct the file"
        )
        yield f"    may decide: {printable(named)}"


def _behind_a_bar(params: Params) -> Iterable[str]:
    for line in json.dumps(params, indent=2, ensure_ascii=False, sort_keys=True).splitlines():
        yield from folded(harmless_json(line), "  | ", "  |> ")


def _files(request: CallApprovalRequest) -> Iterable[str]:
    if not request.resources:
        return
    yield "Files that the parameters name, as they were when it was asked:"
    for each in request.resources:
        where = (
            _quoted(each.key)
            if each.key is not None
            else f"unknown: {printable(each.problem or '')}"
        )
        unbound = "" if each.state == "missing" else "; WHAT IS IN IT IS NOT BOUND, and may change"
        digest = f"  {each.digest}" if each.digest else unbound
        told = f"  {printable(each.param)}: {_quoted(each.given)} is {where}, {each.state}{digest}"
        yield from _in_quotes(told)
    yield "If what is shown of one of them is another when the call is made, it is asked about anew."
    yield ""


def _why(entry: ApprovalEntry, life: RequestLife) -> str:
    said = next((each.decision for each in life.decisions if each.signed == entry.signed), None)
    told = [entry.reason] if entry.reason else []
    if said is not None and said.delegate is not None:
        told.insert(0, f"names {said.delegate}")
    if said is not None and said.scope is not None:
        told.insert(0, "for the session")
    if said is not None and said.params is not None:
        told.insert(0, "with other parameters")
    return printable(f": {'; '.join(told)}") if told else ""


def _how_to_decide(life: RequestLife) -> Iterable[str]:
    name, request = life.request.request_id, life.call
    takes_back = life.state is ApprovalState.APPROVED or (life.state.is_final and life.is_reusable)
    if not (life.state.is_undecided or takes_back):
        return
    yield "Decide:"
    if life.state.is_undecided:
        changed = edits_now(life)
        for each in changed:
            yield f"  lictor approvals approve {name} {_KEY} --as-edited --hash {each}"
        yield f"  lictor approvals approve {name} {_KEY}{' --as-asked' if changed else ''}"
        if not changed and all("session" in ask.remember for ask in request.asks):
            yield f"  lictor approvals approve {name} {_KEY} --session"
        yield f"  lictor approvals edit {name} {_KEY} --params JSON"
        yield f"  lictor approvals delegate {name} {_KEY} --to NAME"
    yield f"  lictor approvals reject {name} {_KEY} --reason TEXT [--may-ask-again]"
    yield ""
