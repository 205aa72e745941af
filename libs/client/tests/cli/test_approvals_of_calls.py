"""`lictor approvals` about tool calls: one inbox, everything to look at, and a signed decision about exactly that."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from approval_samples import ALICE, BOB, LIMITS
from call_samples import (
    CAROL,
    EVERYBODY,
    GROUPS,
    PEOPLE,
    ask,
    call_request,
    handed_in,
    open_call,
    said,
)
from nats.aio.client import Client
from nats.aio.msg import Msg
from stored_requests import store, stored_request

from lictor.approvals import call_decision_of
from lictor.errors import LictorError, NotInTime
from lictor.history.everyones_history import EveryonesHistory
from lictor.run_results import result_of
from lictor_approval.decision_validity import decided, requested, withdrawn
from lictor_approval.request_life import after, folded
from lictor_approval.signed_decisions import claimed
from lictor_bus.names import streams, subjects
from lictor_schema.approvals.approval import (
    ApprovalDecision,
    ApprovalOrder,
    ApprovalState,
)
from lictor_schema.approvals.call_approval import CallApprovalRequest, params_hash
from lictor_schema.services.desk_answer import DeskAnswer
from lictor_schema.sessions.session_questions import Resource
from lictor_seal import TrustStore

TWO = ask(approvers=("finance",), needed=2, remember=("session",))
EVIL = "x\x1b[2J\nDecide:\u202e ok"


async def waiting_call(client: Client, **changes: Any) -> CallApprovalRequest:
    """A call that waits on the bus for two people."""
    await streams.declare(client, streams.APPROVALS)
    request = call_request(TWO, at=datetime.now(UTC), **changes)
    await store(client, requested(request))
    return request


@pytest.fixture
async def url(broker: Client, tmp_path: Path) -> str:
    """A broker with streams, and a file of approvers beside."""
    assert broker.connected_url is not None
    store = TrustStore.of([key.verifying_key for key in EVERYBODY])
    (tmp_path / "all.json").write_bytes(replace(store, groups=GROUPS).to_bytes())
    ALICE.save(tmp_path / "alice.pem")
    return broker.connected_url.geturl()


async def test_one_list_shows_programs_and_calls_with_who_decides_and_how_many_are_missing(
    cli, broker: Client, url: str
) -> None:
    program, call = await stored_request(broker), await waiting_call(broker)
    told = await cli("approvals", "list", "--url", url, COLUMNS="250")
    assert told.returncode == 0, told.stderr
    lines = {each.split()[0]: each for each in told.stdout.splitlines() if each.strip()}
    assert "program" in lines[program.request_id]
    of_call = lines[call.request_id]
    for part in ("call", "requested", "23 h 59 min", "2 of finance (2 missing)", "pay in task t-1"):
        assert part in of_call
    only = await cli(
        "approvals", "list", "--kind", "call", "--json", "--approvers", "all.json", "--url", url
    )
    (line,) = only.stdout.splitlines()
    found = json.loads(line)
    assert (found["kind"], found["request_id"]) == ("call", call.request_id)
    assert found["asks"][0]["may_decide"] == [ALICE.name, BOB.name]
    assert found["asks"][0]["missing"] == 2
    assert 86_000 < found["left_s"] <= 86_400


async def test_a_call_is_shown_with_everything_and_nothing_of_the_agent_steers_the_terminal(
    cli, broker: Client, url: str
) -> None:
    resource = Resource(param="path", given=EVIL, key="reports/x", state="directory")
    request = await waiting_call(
        broker, tool=EVIL, params={"to": EVIL, "amount": 5}, resources=(resource,)
    )
    shown = ("approvals", "show", request.request_id, "--approvers", "all.json", "--url", url)
    narrow = await cli(*shown, COLUMNS="40")
    assert '  |   "to": "x\\u001b[2J\\nDecide:\\u202e\n  |>  ok"' in narrow.stdout
    told = await cli(*shown, COLUMNS="200")
    assert told.returncode == 0, told.stderr
    assert all(line.isprintable() for line in told.stdout.splitlines())
    assert not any(line.startswith("Decide: ok") for line in told.stdout.splitlines())
    for part in (
        'Agent "agent-7" wants to call "x\\u001b[2J\\nDecide:\\u202e ok" in task "t-1"',
        "If they don't, the call is denied.",
        "policy.pay: money leaves the house",
        "must approve: 2 of finance",
        "missing: 2",
        f"may decide: {ALICE.name}, {BOB.name}",
        '  |   "amount": 5,',
        '  |   "to": "x\\u001b[2J\\nDecide:\\u202e ok"',
        'is "reports/x", directory; WHAT IS IN IT IS NOT BOUND',
        f"lictor approvals approve {request.request_id} --key FILE --session",
        request.binding_hash,
    ):
        assert part in told.stdout


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("approve",), {"decision": "approve", "scope": None, "params": None}),
        (("approve", "--session"), {"decision": "approve", "scope": "session"}),
        (
            ("edit", "--params", '{"to": "bob", "amount": 1}'),
            {"params": {"to": "bob", "amount": 1}},
        ),
        (("edit", "--params", "less.json"), {"params": {"amount": 2}}),
        (
            ("reject", "--reason", "ask the team", "--may-ask-again"),
            {"decision": "reject", "reason": "ask the team", "may_ask_again": True},
        ),
        (("delegate", "--to", CAROL.name), {"decision": "delegate", "delegate": CAROL.name}),
    ],
)
async def test_what_is_handed_in_is_signed_and_about_exactly_this_call(
    cli,
    broker: Client,
    url: str,
    tmp_path: Path,
    arguments: tuple[str, ...],
    expected: dict[str, Any],
) -> None:
    (tmp_path / "less.json").write_text('{"amount": 2}')
    request = await waiting_call(broker)
    said_so: list[ApprovalDecision] = []

    async def desk(message: Msg) -> None:
        order = ApprovalOrder.from_json(message.data)
        said_so.append(claimed(order.signed))
        life = folded([requested(request)])
        assert life is not None
        state = handed_in(life, order.signed, now=datetime.now(UTC)).state
        done = DeskAnswer(
            request_id=request.request_id, outcome="done", state=state.value, sequence=2
        )
        await message.respond(done.to_json())

    await broker.subscribe(subjects.desk("approval"), cb=desk)
    verb, *more = arguments
    told = await cli(
        *("approvals", verb, request.request_id, *more, "--key", "alice.pem", "--by", ALICE.name),
        *("--yes", "--hash", request.binding_hash, "--url", url),
    )
    assert told.returncode == 0, told.stderr
    (decision,) = said_so
    assert decision.binding_hash == request.binding_hash
    assert {name: getattr(decision, name) for name in expected} == expected


async def test_what_can_not_be_said_is_refused_before_anything_is_signed(
    cli, broker: Client, url: str
) -> None:
    program, call = await stored_request(broker), await waiting_call(broker)
    signs = ("--key", "alice.pem", "--by", ALICE.name, "--yes", "--url", url)
    for arguments in (
        ("edit", program.request_id, "--params", "{}"),
        ("delegate", program.request_id, "--to", BOB.name),
        ("approve", program.request_id, "--session"),
        ("reject", program.request_id, "--reason", "no", "--may-ask-again"),
    ):
        told = await cli("approvals", *arguments, *signs)
        assert told.returncode == 1
        assert "about a program" in told.stderr
    for params in ('{"a": 1, "a": 2}', "[]", "none.json", '{"a": '):
        told = await cli("approvals", "edit", call.request_id, "--params", params, *signs)
        assert told.returncode == 1, params
    other = await cli(
        "approvals", "approve", call.request_id, "--hash", program.binding_hash, *signs
    )
    assert other.returncode == 1
    assert "look at it again" in other.stderr


async def test_once_somebody_changed_the_parameters_an_approval_says_which_it_means(
    cli, broker: Client, url: str, tmp_path: Path
) -> None:
    BOB.save(tmp_path / "bob.pem")
    request = await waiting_call(broker)
    less = {"to": "bob@example.org", "amount": 1}
    life = folded([requested(request)])
    assert life is not None
    at = datetime.now(UTC)
    edit = said(request, params=less, at=at)
    await store(broker, decided(life, edit, PEOPLE, at, LIMITS))
    signed: list[ApprovalDecision] = []

    async def desk(message: Msg) -> None:
        order = ApprovalOrder.from_json(message.data)
        signed.append(claimed(order.signed))
        now = datetime.now(UTC)
        state = handed_in(life, edit, order.signed, now=now).state
        done = DeskAnswer(
            request_id=request.request_id, outcome="done", state=state.value, sequence=3
        )
        await message.respond(done.to_json())

    await broker.subscribe(subjects.desk("approval"), cb=desk)
    shown = await cli("approvals", "show", request.request_id, "--url", url)
    changed = params_hash(less)
    assert f"Parameters, as {ALICE.name} changed them ({changed}):" in shown.stdout
    assert f"--as-edited --hash {changed}" in shown.stdout
    assert "--key FILE --as-asked" in shown.stdout
    signs = ("approvals", "approve", request.request_id, "--key", "bob.pem", "--by", BOB.name)
    there = ("--yes", "--url", url)
    for unclear in ((), ("--as-edited", "--hash", request.binding_hash), ("--session",)):
        told = await cli(*signs, *unclear, *there)
        assert told.returncode == 1, unclear
        assert not signed
    edited = await cli(*signs, "--as-edited", "--hash", changed, *there)
    assert (edited.returncode, edited.stderr) == (0, "")
    assert "is approved" in edited.stdout
    asked = await cli(*signs, "--as-asked", "--hash", request.binding_hash, *there)
    assert "is endorsed" in asked.stdout
    assert [each.params for each in signed] == [less, request.params]


@pytest.mark.usefixtures("url")
async def test_groups_stay_in_the_file_when_a_key_is_added(cli, tmp_path: Path) -> None:
    before = TrustStore.load(tmp_path / "all.json")
    made = await cli(
        "approvals", "keygen", "e.pem", "--name", "eve@example.org", "--add", "all.json"
    )
    assert made.returncode == 0, made.stderr
    store = TrustStore.load(tmp_path / "all.json")
    assert store.groups == GROUPS
    assert store.keys[:-1] == before.keys
    taken = await cli("approvals", "keygen", "f.pem", "--name", "Finance", "--add", "all.json")
    assert taken.returncode == 1
    assert "group" in taken.stderr


async def test_the_watch_tells_who_wants_to_call_what(cli, broker: Client, url: str) -> None:
    request = await waiting_call(broker)
    told = await cli("approvals", "watch", "--since-start", "--count", "1", "--url", url)
    assert "agent-7 of runtime python wants to call pay; until" in told.stdout
    assert request.request_id in told.stdout


async def test_the_sdk_waits_until_people_have_decided_and_no_longer(broker: Client) -> None:
    request = await waiting_call(broker)
    history = EveryonesHistory(broker)
    with pytest.raises(NotInTime):
        await call_decision_of(history, request.request_id, 0.3)
    life = folded([requested(request)])
    assert life is not None
    await store(broker, withdrawn(life, ApprovalState.CANCELLED, datetime.now(UTC), "not needed"))
    found = await call_decision_of(history, request.request_id, 10)
    assert (found.state, found.reason) == (ApprovalState.CANCELLED, "not needed")


async def test_the_sdk_tells_where_a_decided_call_stands_now(broker: Client) -> None:
    await streams.declare(broker, streams.APPROVALS)
    life, now = open_call(at=datetime.now(UTC)), datetime.now(UTC)
    approval = decided(life, said(life.call, at=now), PEOPLE, now, LIMITS)
    expired = withdrawn(after(life, approval), ApprovalState.EXPIRED, now, "nobody used it")
    for entry in (requested(life.call), approval, expired):
        await store(broker, entry)
    found = await call_decision_of(EveryonesHistory(broker), life.call.request_id, 10)
    assert (approval.state, found.state) == (ApprovalState.APPROVED, ApprovalState.EXPIRED)


async def test_the_sdk_waits_for_no_decision_on_what_is_no_call(broker: Client) -> None:
    program, history = await stored_request(broker), EveryonesHistory(broker)
    with pytest.raises(LictorError, match="is about a program, not a tool call"):
        await call_decision_of(history, program.request_id, 10)
    for wait in (call_decision_of, result_of):
        with pytest.raises(LictorError, match="at least 1 character"):
            await wait(history, "", 10)
    with pytest.raises(NotInTime, match="request nope is not known here"):
        await call_decision_of(history, "nope", 0.3)


async def test_a_call_is_no_run_and_its_command_says_where_to_look(
    cli, broker: Client, url: str
) -> None:
    await streams.declare(broker, streams.RUNS)
    request = await waiting_call(broker)
    told = await cli("runs", "show", request.request_id, "--url", url)
    assert told.returncode == 1
    assert "about a tool call, which its runtime makes" in told.stderr
