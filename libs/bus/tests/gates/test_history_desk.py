"""History gates: a runtime reads what is stored of its own, whole and in order, and nothing of another's."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Any

import pytest
from running_loops import at_work, connection

from lictor_bus.errors import MessageRefused
from lictor_bus.gates import history
from lictor_bus.gates.history_desk import history_runner
from lictor_bus.gates.table import asked_by
from lictor_bus.logs.dead_letters import DeadLetters
from lictor_bus.names import streams, subjects
from lictor_bus.service.telemetry import ServiceTelemetry
from lictor_bus.wire.connection import TolerantClient
from lictor_bus.wire.publish import Outgoing, publish_all, publish_one
from lictor_bus.wire.read import read_from
from lictor_local.embedded_servers import Endpoints
from lictor_schema.gates.history import (
    HistoryAnswer,
    HistoryFilter,
    HistoryRequest,
    PublishedAnswer,
    PublishedRequest,
)

OWNERS = {kind.service for kind in (*history.STORED_KINDS, *history.PUBLISHED_KINDS)}


@pytest.fixture
async def client(clean_infra: Endpoints) -> AsyncIterator[TolerantClient]:
    """A connection to a broker where every owner answers, and every stream but EPISODES is declared."""
    async with AsyncExitStack() as ends:
        client = await ends.enter_async_context(connection(clean_infra.nats_url))
        kept = {kind.stream for kind in (*history.STORED_KINDS, *history.PUBLISHED_KINDS)}
        await streams.declare(client, *sorted(kept - {streams.EPISODES}), streams.DEAD)
        for owner in sorted(OWNERS):
            own = await ends.enter_async_context(connection(clean_infra.nats_url, owner))
            runner = history_runner(own, owner, ServiceTelemetry(owner))
            await ends.enter_async_context(at_work(runner))
        yield client


async def ask(
    client: TolerantClient,
    kind: history.HistoryKind = history.DECISIONS,
    runtime: str = "mine",
    subject: str | None = None,
    **fields: Any,
) -> HistoryAnswer:
    request = HistoryRequest(request_id="r-1", runtime=runtime, **fields)
    asked = subject or history.STORED_KINDS[kind].subject_of(runtime)
    reply = await client.request(asked, request.to_json(), timeout=20)
    return HistoryAnswer.from_json(reply.data)


async def put(client: TolerantClient, subject: str, *bodies: bytes) -> None:
    stream = {"dec": streams.DECISIONS, "proof": streams.PROOFS}[subject.split(".")[1]]
    for body in bodies:
        await publish_one(client, stream, Outgoing(subject, body))


def bodies(answer: HistoryAnswer) -> list[bytes]:
    assert answer.reason is None, answer.reason
    return [each.body for each in answer.messages]


async def test_a_page_holds_the_runtimes_own_in_order_with_what_is_known_of_each(
    client: TolerantClient,
) -> None:
    await publish_all(
        client,
        streams.DECISIONS,
        [
            Outgoing(subjects.decision(runtime, "allow", "t"), b"%d" % number, f"id-{number}")
            for number, runtime in enumerate(("mine", "other", "mine", "other"))
        ],
    )
    answer = await ask(client)
    assert bodies(answer) == [b"0", b"2"]
    assert [(each.sequence, each.message_id) for each in answer.messages] == [
        (1, "id-0"),
        (3, "id-2"),
    ]
    stored = await read_from(client, streams.DECISIONS, ">", 3, 1)
    assert answer.messages[1].stored_at_us == stored[0].stored_at_ns // 1000
    assert (answer.last, answer.is_cut) == (3, False)
    assert bodies(await ask(client, after=3)) == []


async def test_pages_go_on_where_the_last_ended(client: TolerantClient) -> None:
    await put(client, subjects.decision("mine", "allow", "t"), *(b"%d" % n for n in range(7)))
    first = await ask(client, limit=3)
    assert (bodies(first), first.is_cut, first.last) == ([b"0", b"1", b"2"], True, 3)
    second = await ask(client, limit=3, after=first.last)
    assert (bodies(second), second.is_cut) == ([b"3", b"4", b"5"], True)
    third = await ask(client, limit=3, after=second.last)
    assert (bodies(third), third.is_cut) == ([b"6"], False)


async def test_only_the_end_is_told_to_who_asks_for_no_messages(client: TolerantClient) -> None:
    await put(client, subjects.decision("other", "allow", "t"), b"1", b"2")
    answer = await ask(client, limit=0)
    assert (bodies(answer), answer.last) == ([], 2)


async def test_decisions_of_a_task_with_and_without_those_of_gates(client: TolerantClient) -> None:
    await put(client, subjects.decision("mine", "allow", "t"), b"1")
    await put(client, subjects.guard_decision("mine", "block", "t"), b"2")
    await put(client, subjects.guard_refusal("mine", "u"), b"3")
    await put(client, subjects.guard_decision("other", "block", "t"), b"4")
    assert bodies(await ask(client, only=HistoryFilter(task_id="t"))) == [b"1"]
    both = await ask(client, only=HistoryFilter(task_id="t", with_gates=True))
    assert bodies(both) == [b"1", b"2"]
    # What was passed over need not be searched again.
    assert both.last == 3
    assert bodies(await ask(client, only=HistoryFilter(with_gates=True))) == [b"1", b"2", b"3"]


@pytest.mark.parametrize(
    "own_id", ["a.b", "*", ">", "t.>", "x", "~", "mine.allow", "lictor.dec.other.>"]
)
async def test_no_id_widens_a_filter(client: TolerantClient, own_id: str) -> None:
    await put(client, subjects.decision("other", "allow", "t"), b"other's")
    await put(client, subjects.decision("mine", "allow", "another"), b"own")
    assert bodies(await ask(client, only=HistoryFilter(task_id=own_id))) == []
    assert bodies(await ask(client, runtime=own_id)) == []


async def test_a_question_in_another_runtimes_name_is_refused(client: TolerantClient) -> None:
    await put(client, subjects.decision("other", "allow", "t"), b"other's")
    answer = await ask(client, runtime="other", subject=subjects.history("dec", "mine"))
    assert answer.messages == ()
    assert answer.policy_id == "policy-evaluator.malformed-request"
    assert "not the runtime of subject" in str(answer.reason)


@pytest.mark.parametrize(
    ("kind", "only"),
    [
        (history.DECISIONS, {"id": "x"}),
        (history.PROOFS, {"with_gates": True}),
        (history.GUIDANCE, {"task_id": "x"}),
        (history.APPROVAL_ENTRIES, {"task_id": "x"}),
    ],
)
async def test_a_filter_that_a_kind_has_not_is_refused(
    client: TolerantClient, kind: history.HistoryKind, only: dict[str, Any]
) -> None:
    answer = await ask(client, kind, only=HistoryFilter(**only))
    assert answer.policy_id == f"{kind.service}.malformed-request"


@pytest.mark.parametrize(
    "wrong", [{"limit": 1001}, {"limit": -1}, {"after": -1}, {"subject": ">"}, {"only": {"to": 1}}]
)
async def test_a_malformed_question_is_refused(
    client: TolerantClient, wrong: dict[str, Any]
) -> None:
    question = json.dumps({"request_id": "r", "runtime": "mine", **wrong}).encode()
    reply = await client.request(subjects.history("dec", "mine"), question, timeout=20)
    assert HistoryAnswer.from_json(reply.data).policy_id == "policy-evaluator.malformed-request"


async def test_a_stream_that_is_missing_is_an_outage_not_an_empty_page(
    client: TolerantClient,
) -> None:
    answer = await ask(client, history.EPISODES)
    assert answer.policy_id == "lictor.unavailable"


async def test_large_messages_come_in_several_pages(client: TolerantClient) -> None:
    size = client.max_payload // 3
    stored = [bytes([65 + number]) * size for number in range(7)]
    await put(client, subjects.proof("mine", "proved", "t"), *stored)
    found: list[bytes] = []
    after, is_cut = 0, True
    while is_cut:
        page = await ask(client, history.PROOFS, after=after)
        assert page.messages
        found += bodies(page)
        after, is_cut = page.last, page.is_cut
    assert found == stored


@pytest.mark.parametrize("filling", [b"x", b'"', b"\x00", b"\xff"])
async def test_a_message_that_no_answer_can_hold_comes_in_parts(
    client: TolerantClient, filling: bytes
) -> None:
    """As text it may grow sixfold, and what is not text is written in base64."""
    small, large = b"small", filling * (client.max_payload - 1000)
    await put(client, subjects.proof("mine", "proved", "t"), small, large, small)
    page = await ask(client, history.PROOFS)
    assert (bodies(page), page.is_cut, page.last) == ([small], True, 1)
    body, parts = b"", 0
    while len(body) < len(large):
        page = await ask(client, history.PROOFS, after=1, limit=1, offset=len(body))
        (part,) = page.messages
        assert (part.sequence, part.size, part.offset) == (2, len(large), len(body))
        body += part.body
        parts += 1
    assert (body, parts) == (large, 2)
    assert bodies(await ask(client, history.PROOFS, after=2)) == [small]


async def test_what_is_no_text_comes_byte_for_byte(client: TolerantClient) -> None:
    await put(client, subjects.proof("mine", "proved", "t"), b"\xff\x00\xfe", "ü\u2028".encode())
    assert bodies(await ask(client, history.PROOFS)) == [b"\xff\x00\xfe", "ü\u2028".encode()]


async def test_a_published_event_is_own_or_nothing_is_said_of_it(client: TolerantClient) -> None:
    ours = await publish_one(client, streams.EVENTS, event("mine", "id-1"))
    theirs = await publish_one(client, streams.EVENTS, event("other", "id-2"))
    dead = DeadLetters(client, "policy-evaluator")
    for stored in await read_from(client, streams.EVENTS, ">", 1, 10):
        await dead.store(streams.EVENTS, stored, MessageRefused("it is odd", remedy="mend it"))
    assert ours is not None
    assert theirs is not None
    own = await published(client, "mine", ours)
    assert (own.is_own, own.message_id) == (True, "id-1")
    assert own.set_aside is not None
    assert (own.set_aside.service, own.set_aside.reason) == ("policy-evaluator", "it is odd")
    for sequence in (theirs, 99):
        nothing = await published(client, "mine", sequence)
        assert nothing == PublishedAnswer(request_id="r-1")


def event(runtime: str, message_id: str) -> Outgoing:
    return Outgoing(subjects.event(runtime, "t"), b"{}", message_id)


async def published(client: TolerantClient, runtime: str, sequence: int) -> PublishedAnswer:
    request = PublishedRequest(request_id="r-1", runtime=runtime, sequence=sequence)
    subject = history.OF_EVENTS.subject_of(runtime)
    return PublishedAnswer.from_json(
        (await client.request(subject, request.to_json(), timeout=20)).data
    )


def test_every_kind_that_is_followed_live_can_be_read_back_and_never_from_the_sealer() -> None:
    followed = {spec.followed: name for name, spec in streams.STREAMS.items() if spec.followed}
    kinds = {kind.name: kind.stream for kind in history.STORED_KINDS}
    assert followed.items() <= kinds.items()
    assert "sealer" not in OWNERS
    asked = {gate.subject for gate in asked_by("runtimes")}
    assert {subjects.HISTORY.documented(kind=name) for name in kinds} <= asked
