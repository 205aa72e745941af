"""The feedback service asks how a task stands, on a real bus; no usable answer is none."""

import asyncio
import time
from collections.abc import AsyncIterator

import nats
import pytest
from nats.aio.client import Client
from nats.aio.msg import Msg

from lictor_bus.names import subjects
from lictor_feedback.task_standing import ask_standing
from lictor_local.embedded_servers import Endpoints
from lictor_schema.events.evidence import Quality
from lictor_schema.gates.task_standing import StandingRequest, TaskStanding

NOW_US = 1_700_000_000_000_000


@pytest.fixture
async def client(clean_infra: Endpoints) -> AsyncIterator[Client]:
    connected = await nats.connect(clean_infra.nats_url)
    yield connected
    await connected.close()


async def ask(client: Client, within_s: float = 0.5) -> TaskStanding | None:
    return await ask_standing(
        client,
        runtime="scripted",
        task_id="task 1",
        agent_id="main",
        now_us=NOW_US,
        within_s=within_s,
    )


async def test_the_answer_to_the_question_is_the_standing(client: Client) -> None:
    asked: list[StandingRequest] = []

    async def answer(message: Msg) -> None:
        request = StandingRequest.from_json(message.data)
        asked.append(request)
        standing = TaskStanding(
            request_id=request.request_id, known=True, evidence={Quality.STRONG: 2}
        )
        await message.respond(standing.to_json())

    await client.subscribe(subjects.STANDING, cb=answer)
    standing = await ask(client)
    assert standing is not None
    assert standing.at_least(Quality.MODERATE) == 2
    (request,) = asked
    assert (request.runtime, request.task_id, request.agent_id) == ("scripted", "task 1", "main")
    assert request.requested_at.timestamp() * 1_000_000 == NOW_US


async def test_where_nobody_answers_it_is_not_known_at_once(client: Client) -> None:
    began = time.monotonic()
    assert await ask(client, within_s=30) is None
    assert time.monotonic() - began < 10


async def test_silence_is_not_waited_for(client: Client) -> None:
    silent = asyncio.Event()

    async def hear(_: Msg) -> None:
        silent.set()

    await client.subscribe(subjects.STANDING, cb=hear)
    assert await ask(client, within_s=0.1) is None
    assert silent.is_set()


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{}",
        b"\xff",
        b'{"request_id":"another","known":true,"evidence":{"decisive":9}}',
        b'{"request_id":"a","request_id":"b","known":true}',
    ],
)
async def test_an_answer_that_is_none_counts_as_silence(client: Client, body: bytes) -> None:
    async def answer(message: Msg) -> None:
        await message.respond(body)

    await client.subscribe(subjects.STANDING, cb=answer)
    assert await ask(client) is None
