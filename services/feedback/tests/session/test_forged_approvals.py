"""Whoever writes to stream APPROVALS can't let a call be made: only what a trusted person signed about it does."""

import uuid
from collections.abc import Awaitable, Callable
from typing import Any

from deciding_people import (
    AGENT,
    ALICE,
    BOB,
    STRANGER,
    People,
    entry_of,
    newest_request,
    pay,
    signed,
    trust_file,
)

from lictor_approval.decision_validity import requested
from lictor_schema.approvals.approval import ApprovalEntry, ApprovalState
from lictor_schema.approvals.call_approval import CallApprovalRequest, params_hash
from lictor_schema.core.canonical_json import content_hash

Forge = Callable[[People, CallApprovalRequest], Awaitable[None]]


async def _unsigned(people: People, request: CallApprovalRequest) -> None:
    await people.write(requested(request))
    await people.write(entry_of(request, ApprovalState.APPROVED, "alice says yes"))


def _by(key: Any, **changes: Any) -> Forge:
    async def forge(people: People, request: CallApprovalRequest) -> None:
        await people.write(requested(request))
        await people.decide(request, key=key, **changes)

    return forge


async def _about_another_request(people: People, request: CallApprovalRequest) -> None:
    other = _changed(request, session_id="another session")
    await people.write(requested(request))
    await people.write(entry_of(request, ApprovalState.APPROVED, signed(other)))


def _about(**changes: Any) -> Forge:
    """Alice truly approved another request, whose log is put in the place of this one."""

    async def forge(people: People, request: CallApprovalRequest) -> None:
        other = _changed(request, **changes)
        await people.write(requested(other), request.request_id)
        note = signed(other)
        await people.write(entry_of(other, ApprovalState.APPROVED, note), request.request_id)

    return forge


async def _rejected_and_approved(people: People, request: CallApprovalRequest) -> None:
    await people.write(requested(request))
    note = signed(request, "reject", reason="no")
    await people.write(entry_of(request, ApprovalState.APPROVED, note))


async def _something_else(people: People, request: CallApprovalRequest) -> None:
    fields: dict[str, Any] = {
        "entry_id": str(uuid.uuid4()),
        "request_id": request.request_id,
        "runtime": request.binding.runtime,
        "state": ApprovalState.CANCELLED,
        "by": "approvals",
        "at": request.requested_at,
        "reason": "nobody asked for it",
    }
    await people.write(ApprovalEntry(**fields))


def _changed(request: CallApprovalRequest, **changes: Any) -> CallApprovalRequest:
    params = changes.pop("params", request.params)
    binding = {**dict(request.binding), **changes, "params_hash": params_hash(params)}
    return CallApprovalRequest.of(
        type(request.binding)(**binding),
        call_id=request.call_id,
        params=params,
        resources=request.resources,
        asks=request.asks,
        requested_at=request.requested_at,
        expires_at=request.expires_at,
    )


OTHER = "is another request than the one in this session's log"
UNTRUSTED = "is not signed by an approver who is trusted here"
FORGERIES: dict[str, tuple[Forge, str]] = {
    "not signed": (_unsigned, "no signed note"),
    "signed by a stranger under a trusted name": (_by(STRANGER), UNTRUSTED),
    "signed by somebody who is not trusted": (_by(BOB), UNTRUSTED),
    "signed by whoever is called like the agent": (_by(AGENT), "is the agent that wants to call"),
    "signed about another session": (_about_another_request, "the decision is about request"),
    "of another session": (_about(session_id="another session"), OTHER),
    "of an older definition": (_about(definition_hash=content_hash("older")), OTHER),
    "of other parameters": (_about(params={"to": "mallory", "amount": 500}), OTHER),
    "of an earlier request": (_about(number=99), OTHER),
    "a rejection that is said to be an approval": (_rejected_and_approved, "is to reject"),
    "for the session, where no policy lets it": (_by(ALICE, scope="session"), "for the session"),
    "an entry of no request": (_something_else, "not taken the request in yet"),
}


async def test_no_forged_approval_lets_a_call_be_made(payer, people):
    """Each about a call of its own; the answer says what is wrong with it."""
    for number, (name, (forge, why)) in enumerate(FORGERIES.items()):
        params = {"to": "acme", "amount": 500 + number}
        await pay(payer, f"c{number}", params=params)
        await forge(people, await newest_request(payer))
        again = await pay(payer, f"c{number}", params=params)
        assert again["decision"] == "ask", (name, again)
        assert why in again["reason"], (name, again["reason"])
        request_id = again["approval"]["request_id"]
        await payer.ask("cancel", approval_request=request_id, why="the next one")
    assert "call_reserved" not in {each.kind for each in await payer.entries()}


async def test_a_rejection_of_another_request_rejects_nothing(payer, people):
    """The record must not say that a person rejected what nobody was asked about."""
    await pay(payer, "c1")
    request = await newest_request(payer)
    other = _changed(request, number=99)
    await people.write(requested(other), request.request_id)
    note = signed(other, "reject", reason="no")
    await people.write(entry_of(other, ApprovalState.REJECTED, note), request.request_id)
    assert OTHER in (await pay(payer, "c1"))["reason"]


async def test_an_approval_counts_only_as_long_as_its_key_is_trusted(payer, people, tmp_path):
    await pay(payer, "c1")
    await people.decide(await people.take_in(payer))
    trust_file(tmp_path, BOB)
    denied = await pay(payer, "c1")
    assert denied["decision"] == "ask"
    assert "not signed by an approver" in denied["reason"], denied["reason"]
    trust_file(tmp_path, ALICE)
    assert (await pay(payer, "c1"))["decision"] == "allow"


async def test_no_approval_counts_while_the_approvers_can_not_be_read(payer, people, approvers):
    await pay(payer, "c1")
    await people.decide(await people.take_in(payer))
    good = approvers.read_bytes()
    approvers.write_bytes(b"not a trust store")
    assert (await pay(payer, "c1"))["decision"] == "ask"
    approvers.write_bytes(good)
    assert (await pay(payer, "c1"))["decision"] == "allow"


async def test_an_approval_is_about_the_file_as_it_was(payer, people):
    def write(call_id: str, content: str) -> Any:
        resource = {
            "param": "path",
            "given": "a.txt",
            "key": "a.txt",
            "state": "file",
            "digest": "sha256:" + content.encode().hex().rjust(64, "0"),
        }
        params = {"path": "a.txt", "text": "new"}
        return payer.check("write", call_id, params=params, resources=[resource], knows_ask=True)

    assert (await write("c1", "old"))["decision"] == "ask"
    await people.decide(await people.take_in(payer))
    changed = await write("c2", "changed meanwhile")
    assert changed["decision"] == "ask"
    await people.decide(await people.take_in(payer))
    assert (await write("c3", "old"))["decision"] == "ask"
