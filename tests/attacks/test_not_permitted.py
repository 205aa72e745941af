"""What the broker does not permit is said at once, to whoever waits for exactly that; real nats-server with users."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from server_commands import listening, running

import lictor
from lictor.desk_orders import ask_desk, new_request_id
from lictor.errors import NotAllowed
from lictor.fast.answer_reader import Silence
from lictor.fast.nats_wire import Connection
from lictor.history.stream_follower import follow
from lictor.receipts import send_report
from lictor_bus import errors
from lictor_bus.names import streams, subjects
from lictor_bus.wire.connection import TolerantClient, connect_nats
from lictor_bus.wire.publish import Outgoing, publish_all, publish_one
from lictor_bus.wire.read import last_on_subjects, read_from
from lictor_local.kept_ports import free_port
from lictor_local.server_process import find_nats_server
from lictor_schema.decisions.mark import MarkOrder
from lictor_schema.decisions.receipt import (
    DeliveryReceipt,
    DeliveryState,
    ReceiptReport,
    ReceiptStatus,
)
from lictor_schema.services.desk_answer import DeskAnswer

AT = "2026-01-01T00:00:00.000Z"
RECORD = "00000000-0000-4000-8000-000000000000"
CONFIG = """
listen: "127.0.0.1:{port}"
jetstream {{ store_dir: "{store}" }}
authorization {{
  users: [
    {{ user: admin, password: p }}
    {{ user: mine, password: p, permissions: {{
        publish: ["lictor.ev.mine.*", "lictor.gate.tool.mine", "plain.mine"]
        subscribe: ["_INBOX.mine.>", "plain.mine"] }} }}
    {{ user: deaf, password: p, permissions: {{ publish: [">"], subscribe: ["nothing"] }} }}
    {{ user: reader, password: p, permissions: {{
        publish: ["$JS.API.STREAM.INFO.EVENTS", "$JS.API.CONSUMER.CREATE.EVENTS.>"]
        subscribe: ["_INBOX.reader.>"] }} }}
  ]
}}
"""


@pytest.fixture
async def port(tmp_path: Path) -> AsyncIterator[int]:
    """A server with users, and an EVENTS stream."""
    found = free_port(())
    config = tmp_path / "nats.conf"
    config.write_text(CONFIG.format(port=found, store=tmp_path / "data"))
    async with running(find_nats_server(), "-c", config):
        await listening(found)
        client = await connect_nats(url("admin", found), name="test")
        await streams.declare(client, streams.EVENTS)
        await client.close()
        yield found


def url(user: str, port: int) -> str:
    return f"nats://{user}:p@127.0.0.1:{port}"


@pytest.fixture
async def mine(port: int) -> AsyncIterator[TolerantClient]:
    client = await connect_nats(url("mine", port), name="test")
    yield client
    await client.close()


async def test_an_event_of_another_runtime_is_not_permitted_and_ones_own_is_stored(
    port: int,
) -> None:
    async with (
        lictor.connect(url("mine", port), runtime="other", agent_id="a") as other,
        lictor.connect(url("mine", port), runtime="mine", agent_id="a") as mine,
    ):
        with pytest.raises(NotAllowed, match="a runtime publishes under its own name"):
            await other.start_task("t")
        await mine.start_task("t")


async def test_only_the_request_for_that_subject_fails(mine: TolerantClient) -> None:
    wrong = Outgoing(subjects.event("other", "t"), b"{}")
    right = Outgoing(subjects.event("mine", "t"), b"{}")
    outcomes = await asyncio.gather(
        *(publish_one(mine, streams.EVENTS, each) for each in [right, wrong, right, wrong]),
        return_exceptions=True,
    )
    assert [type(each) for each in outcomes] == [int, errors.NotAllowed, int, errors.NotAllowed]
    assert subjects.event("other", "t") in str(outcomes[1])
    with pytest.raises(errors.NotAllowed):
        await publish_all(mine, streams.EVENTS, [wrong, wrong])
    # Nobody waits any more, and nothing is remembered of them.
    assert mine._waiting == {}


async def test_gates_desks_and_receipts_say_that_it_is_not_permitted(
    port: int, mine: TolerantClient
) -> None:
    async with lictor.connect(url("mine", port), runtime="other", agent_id="a") as other:
        answer = await other.may("rm", {}, task_id="t", session_id="s")
        assert answer.decision == "deny"
        assert "may not ask gate tool as runtime other" in answer.denials[0].reason
    about: dict[str, Any] = {"record_id": RECORD, "recorded_at": AT, "task_id": "t"}
    order = MarkOrder(
        request_id=new_request_id(), mark="false_alarm", by="ada", reason="quiet", **about
    )
    with pytest.raises(NotAllowed, match="connect as an operator"):
        await ask_desk(mine, "mark", order, DeskAnswer)
    receipt = DeliveryReceipt(
        status=ReceiptStatus.PLANNED,
        delivery_state=next(iter(DeliveryState)),
        enforcement_intent=(),
        blocked_actions=(),
        operator_notice_required=False,
        notes=(),
    )
    report = ReceiptReport(
        report_id="r", runtime="other", receipt=receipt, reported_at=datetime.now(UTC), **about
    )
    with pytest.raises(NotAllowed, match="may not report receipts as runtime other"):
        await send_report(mine, report)


async def test_streams_that_may_not_be_read_or_followed_are_named_at_once(
    port: int, mine: TolerantClient
) -> None:
    with pytest.raises(errors.NotAllowed, match="DIRECT"):
        await read_from(mine, streams.EVENTS, ">", 1, 10)
    with pytest.raises(errors.NotAllowed):
        await last_on_subjects(mine, streams.EVENTS, [">"])
    reader = await connect_nats(url("reader", port), name="test")
    for client, from_start in ((mine, True), (mine, False), (reader, True), (reader, False)):
        following = follow(client, streams.EVENTS, ">", from_start=from_start)
        async with aclosing(following):
            with pytest.raises(NotAllowed, match="EVENTS can't be followed"):
                await anext(following)
    await reader.close()


async def test_a_subscription_that_is_not_permitted_is_an_error(mine: TolerantClient) -> None:
    async def take(_message: object) -> None:
        return

    with pytest.raises(errors.NotAllowed, match="subscribe to secret"):
        await mine.subscribe_surely("secret.>", cb=take)
    with pytest.raises(errors.NotAllowed, match="subscribe to secret"):
        await mine.subscribe_surely("secret.>", "queue", cb=take)
    heard: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

    async def hear(message: object) -> None:
        heard.set_result(message.data)  # pyright: ignore[reportAttributeAccessIssue]

    await mine.subscribe_surely("plain.mine", cb=hear)
    await mine.publish("plain.mine", b"still here")
    async with asyncio.timeout(30):
        assert await heard == b"still here"


async def test_whoever_may_not_hear_answers_does_not_wait_for_them(port: int) -> None:
    deaf = await connect_nats(url("deaf", port), name="test")
    for _ in range(2):
        with pytest.raises(errors.NotAllowed, match="subscribe to _INBOX"):
            await deaf.request("anything", b"", timeout=600)
    await deaf.close()


def test_a_hook_hears_that_its_question_is_not_permitted(port: int) -> None:
    with Connection(url("mine", port)) as connection:
        for _ in range(2):
            answer = connection.request("lictor.gate.tool.other", b"{}", 600)
            assert isinstance(answer, Silence)
            assert (
                "does not permit this NATS user to ask on lictor.gate.tool.other" in answer.reason
            )
            assert "LICTOR_RUNTIME" in answer.remedy
            # The connection is still good: the next question meets nobody, not a closed door.
            answer = connection.request("lictor.gate.tool.mine", b"{}", 600)
            assert isinstance(answer, Silence)
            assert answer.reason == "no service answers this question"
    with Connection(url("deaf", port)) as connection:
        answer = connection.request("anything", b"{}", 600)
        assert isinstance(answer, Silence)
        assert "does not permit this NATS user to hear answers" in answer.reason
