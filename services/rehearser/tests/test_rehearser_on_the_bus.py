"""The rehearser as a process on a real broker: orders in, observations out, and nothing that it has no right to."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from nats.errors import Error as NatsError
from reporting import service_process, wait_until_ready
from secured_nats import Secured, secured_server
from staged_programs import ordered, planned, program, shop, told

from lictor_bus.errors import BusError
from lictor_bus.gates.rehearsal import REHEARSE
from lictor_bus.names.redis_users import USERS
from lictor_bus.names.roles import roles
from lictor_bus.service.health import ask_health
from lictor_bus.wire.connection import TolerantClient, connect_nats
from lictor_local.embedded_servers import Endpoints
from lictor_prove.layer_model import Layer
from lictor_prove.rehearsal.order_json import order_bytes, order_of
from lictor_prove.rehearsal.orders import Answer, PlannedRun, StageOrder
from lictor_prover.bus_stage import BusStage
from lictor_rehearser.app import RehearserSettings
from lictor_schema.proofs.rehearsal_order import RehearsalObservation, RehearsalOrder


@pytest.fixture(scope="module")
def layer(tmp_path_factory: pytest.TempPathFactory) -> Layer:
    return shop(tmp_path_factory.mktemp("shop"))


@asynccontextmanager
async def rehearser(endpoints: Endpoints, **environment: str) -> AsyncIterator[TolerantClient]:
    """A rehearser, and a connection of the prover."""
    settings = {
        "LICTOR_REHEARSAL_STAGES": "2",
        # Nobody may need what it has no right to.
        "LICTOR_REDIS_URL": "redis://127.0.0.1:1/0",
        **environment,
    }
    client = await connect_nats(endpoints.nats_url, name="prover")
    try:
        async with service_process("lictor_rehearser", endpoints, **settings):
            await wait_until_ready(client, "rehearser")
            yield client
    finally:
        await client.close()


async def test_orders_are_performed_many_at_once(clean_infra: Endpoints, layer: Layer) -> None:
    async with rehearser(clean_infra) as client:
        stage = BusStage(client)
        orders = [
            ordered(
                layer,
                program(f"n = balance('{number}')\npay('x', n)"),
                planned(("balance", number), ("pay", None)),
                planned(("balance", 2**60), fails_at=0),
            )
            for number in range(6)
        ]
        for number, seen in enumerate(await asyncio.gather(*map(stage.perform, orders))):
            assert seen.refused == ""
            assert [run.ended for run in seen.runs] == ["completed", "failed"]
            assert told(seen.runs[0])[1] == ("pay", {"name": "x", "cents": number})


async def test_an_endless_program_ends_and_its_stage_goes_on(
    clean_infra: Endpoints, layer: Layer
) -> None:
    settings = {"LICTOR_REHEARSAL_STAGES": "1", "LICTOR_REHEARSAL_TIMEOUT_S": "2"}
    async with rehearser(clean_infra, **settings) as client:
        stage = BusStage(client)
        (seen,) = (await stage.perform(ordered(layer, program("while True:\n    pass")))).runs
        assert seen.ended == "limit"
        (seen,) = (await stage.perform(ordered(layer, program("pass")))).runs
        assert seen.ended == "completed"


async def test_what_is_too_large_is_refused_with_its_size(
    clean_infra: Endpoints, layer: Layer
) -> None:
    async with rehearser(clean_infra) as client:
        stage = BusStage(client)
        order = ordered(layer, program("pass"))
        huge = replace(order, source=order.source + "#" * client.max_payload)
        assert "bytes, more than" in (await stage.perform(huge)).refused
        # Small to ask, and large to answer.
        body = "for i in range(19_000):\n    pay('x' * 150, i)"
        (run,) = (
            await stage.perform(ordered(layer, program(body), planned(*[("pay", None)] * 19_000)))
        ).runs
        assert (run.ended, run.error) == ("limit", "more is observed than may be reported")


async def test_without_a_rehearser_nothing_is_rehearsed(
    clean_infra: Endpoints, layer: Layer
) -> None:
    client = await connect_nats(clean_infra.nats_url, name="prover")
    try:
        seen = await BusStage(client).perform(ordered(layer, program("pass")))
        assert (seen.runs, seen.refused) == ((), "no rehearser is running")
    finally:
        await client.close()


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"{}",
        b'{"request_id": "other", "runs": [], "refused": ""}',
        b'{"request_id": "other", "runs": [{"calls": [], "ended": "completed", "error": ""}], "refused": ""}',
    ],
)
async def test_an_answer_to_another_question_is_no_answer(
    clean_infra: Endpoints, layer: Layer, answer: bytes
) -> None:
    client = await connect_nats(clean_infra.nats_url, name="prover")

    async def lie(message: Any) -> None:
        await message.respond(answer)

    try:
        await client.subscribe(REHEARSE.subject, cb=lie)
        seen = await BusStage(client).perform(ordered(layer, program("pass")))
        assert seen.runs == ()
        assert seen.refused.startswith("the rehearser")
    finally:
        await client.close()


async def test_silence_is_a_refusal(clean_infra: Endpoints, layer: Layer) -> None:
    client = await connect_nats(clean_infra.nats_url, name="prover")

    async def ignore(_message: Any) -> None:
        pass

    try:
        await client.subscribe(REHEARSE.subject, cb=ignore)
        seen = await BusStage(client, timeout_s=0.2).perform(ordered(layer, program("pass")))
        assert "does not answer" in seen.refused
    finally:
        await client.close()


def test_an_order_says_on_the_bus_what_it_says_to_a_stage() -> None:
    answers = (Answer("number", 3), Answer("number", None, "ValueError"))
    runs = (PlannedRun({}, answers), PlannedRun({"x": 1}, (), fails_at=0, in_order=False))
    order = StageOrder("python", "def main():\n    pass\n", "p.py", "main", {}, runs)
    told = {"request_id": str(uuid4()), **json.loads(order_bytes(order))}
    heard = RehearsalOrder.from_json(json.dumps(told).encode())
    assert order_of(heard.model_dump_json(exclude={"request_id"}).encode()) == order


async def test_malformed_orders_are_refused_by_name(clean_infra: Endpoints) -> None:
    async with rehearser(clean_infra) as client:
        for body in (b"", b"{}", b'{"request_id": "x"}', b"[" * 1000):
            reply = await client.request(REHEARSE.subject, body, timeout=10)
            answer = RehearsalObservation.from_json(reply.data)
            assert "malformed" in answer.refused
            assert answer.runs == ()


async def test_where_nothing_can_be_confined_it_refuses_every_order_and_says_so(
    clean_infra: Endpoints, layer: Layer, tmp_path: Path
) -> None:
    # A Python that believes to be on a processor for which no filter is known: its stages inherit that by their path.
    (tmp_path / "sitecustomize.py").write_text(
        "import platform, lictor_run.program_interpreter as started\n"
        f"started.ENVIRONMENT = {{**started.ENVIRONMENT, 'PYTHONPATH': {str(tmp_path)!r}}}\n"
        "platform.machine = lambda: 'pdp11'\n"
    )
    async with rehearser(clean_infra, PYTHONPATH=str(tmp_path)) as client:
        assert "pdp11" in ((await ask_health(client, "rehearser", timeout_s=10)).detail or "")
        seen = await BusStage(client).perform(ordered(layer, program("pass")))
        assert seen.runs == ()
        assert "pdp11" in seen.refused


# -- rights ----------------------------------------------------------------------------------------


@pytest.fixture
async def secured(clean_infra: Endpoints, tmp_path: Path) -> AsyncIterator[Secured]:
    async with secured_server(clean_infra, tmp_path) as found:
        yield found


async def test_it_works_with_no_right_but_to_answer(secured: Secured, layer: Layer) -> None:
    (role,) = (each for each in roles() if each.name == "rehearser")
    assert role.publish == ("lictor.health.rehearser",)
    assert set(role.hears) == {"lictor.rehearse", "lictor.health.rehearser"}
    assert "rehearser" not in {user.user for user in USERS}
    prover = await connect_nats(secured.url("prover"), name="test")
    ops = await connect_nats(secured.url("ops"), name="test")
    try:
        async with service_process("lictor_rehearser", secured.endpoints("rehearser")):
            await wait_until_ready(ops, "rehearser")
            for _ in range(3):
                seen = await BusStage(prover).perform(ordered(layer, program("pass")))
                assert (seen.refused, seen.runs[0].ended) == ("", "completed")
    finally:
        await prover.close()
        await ops.close()


async def test_its_password_opens_nothing_else(secured: Secured) -> None:
    refused: list[str] = []
    client = await connect_nats(secured.url("rehearser"), name="thief")
    ops = await connect_nats(secured.url("ops"), name="test")
    heard: list[bytes] = []

    async def hear(message: Any) -> None:
        heard.append(message.data)

    try:
        await ops.subscribe("lictor.>", cb=hear)
        await ops.flush()
        for subject in (
            "lictor.proof.openclaw.proved.task",
            "lictor.ev.openclaw.task",
            "lictor.rehearse",
            "lictor.cert.x",
            "_INBOX.prover.x",
            "$JS.API.STREAM.INFO.PROOFS",
            "$JS.API.INFO",
        ):
            try:
                await client.request(subject, b"{}", timeout=0.3)
            except (NatsError, BusError):
                refused.append(subject)
        await ops.flush()
        assert len(refused) == 7
        assert heard == []
    finally:
        await client.close()
        await ops.close()


# -- settings --------------------------------------------------------------------------------------


def test_settings_are_read_and_wrong_ones_are_refused() -> None:
    found = RehearserSettings.from_environment(
        {"LICTOR_REHEARSAL_STAGES": "3", "LICTOR_REHEARSAL_TIMEOUT_S": "7"}
    )
    assert (found.stages, found.limits.wall_s, found.limits.memory_mb) == (3, 7, 256)
    for name in ("STAGES", "TIMEOUT_S", "MEMORY_MB"):
        with pytest.raises(BusError, match=name):
            RehearserSettings.from_environment({f"LICTOR_REHEARSAL_{name}": "0"})
