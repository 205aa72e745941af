"""The law of gates, for every gate of every service: whatever goes wrong, the answer is a denial with a reason and a
remedy, recorded where the gate says.

Gates are found by what the services compose, and questions are made from the gates' own models: a new gate is held to
the law without anybody adding it here.
"""

import ast
import asyncio
import importlib
import itertools
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from nats.aio.client import Client
from pydantic import ValidationError
from running_loops import at_work, connection

from lictor_bus.errors import BusError, JetStreamAway
from lictor_bus.gate import Gate, Repeats
from lictor_bus.gates.gate_runner import BoundGate, GateRunner
from lictor_bus.gates.history_desk import history_runner
from lictor_bus.gates.table import GATES
from lictor_bus.names import streams
from lictor_bus.service.service import Service, connected
from lictor_bus.service.settings import ServiceSettings
from lictor_bus.service.telemetry import ServiceTelemetry
from lictor_bus.wire.connection import TolerantClient
from lictor_bus.wire.read import read_all
from lictor_local.embedded_servers import Endpoints
from lictor_schema.core.base_model import Model

ROOT = Path(__file__).parents[2]
APPS = {
    app.SPEC.name: app
    for app in (
        importlib.import_module(f"{path.parent.name}.app")
        for path in sorted(ROOT.glob("services/*/lictor_*/app.py"))
    )
}
DECLARED: list[Gate[Any, Any]] = [gate for app in APPS.values() for gate in app.SPEC.gates]

# Shorter than the gates' own limits, so that a handler that hangs is not waited for so long.
SHORT_S = 0.3
PATIENCE_S = 10.0

Handler = Callable[[Any], Awaitable[Any]]


# Questions, from the models.

TEXTS = (
    "00000000-0000-4000-8000-000000000001",
    "2026-01-31T12:00:00Z",
    "2026-01-31T12:00:00.000Z",
    "sha256:" + "0" * 64,
    "a",
)


def sample(
    schema: dict[str, Any], known: dict[str, Any], more: str | None = None, pick: int = 0
) -> Any:
    """The least that a JSON Schema asks for, and one field more; of several values, the one that is picked."""
    if "$ref" in schema:
        return sample(known[schema["$ref"].rpartition("/")[2]], known, pick=pick)
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return schema["enum"][pick % len(schema["enum"])]
    for choice in ("anyOf", "oneOf"):
        if choice in schema:
            return sample(schema[choice][0], known, pick=pick)
    match schema.get("type"):
        case "object":
            wanted = {*schema.get("required", ()), more}
            members: dict[str, Any] = schema.get("properties", {})
            return {
                name: sample(of, known, pick=pick) for name, of in members.items() if name in wanted
            }
        case "array":
            least = schema.get("minItems", 0)
            return [sample(schema["items"], known, pick=pick) for _ in range(least)]
        case "integer" | "number":
            return schema.get("minimum", 1)
        case "boolean":
            return False
        case "string":
            pattern = schema.get("pattern")
            fitting = [text for text in TEXTS if not pattern or re.search(pattern, text)]
            assert fitting, f"TEXTS holds nothing that matches {pattern}: add a text that does"
            return fitting[0 if pattern else -1]
        case _:
            return {}


def question(request: type[Model]) -> dict[str, Any]:
    """A question that can be read: what its model requires, and where that is not enough, one optional field.

    Where even that is not enough, other values of its enumerations: some need more fields than others.
    """
    schema = request.model_json_schema(by_alias=True, mode="validation")
    for pick, more in itertools.product(range(3), (None, *schema["properties"])):
        made = sample(schema, schema.get("$defs", {}), more, pick)
        try:
            request.from_json(json.dumps(made).encode())
        except ValidationError:
            continue
        return made
    raise AssertionError(f"no question could be made from {request.__name__}; extend `sample`")


# Services, composed as they run.


@asynccontextmanager
async def composed(service: Service, endpoints: Endpoints) -> AsyncIterator[list[GateRunner]]:
    """The runners of a service, none of them running yet."""
    settings = ServiceSettings(nats_url=endpoints.nats_url, redis_url=endpoints.redis_url)
    async with connected(service.name, settings, ServiceTelemetry(service.name)) as runtime:
        await declared(runtime.client, *service.spec.streams, streams.DEAD)
        history = await runtime.connections.nats("history")
        loops = [
            *await service.loops(runtime),
            history_runner(history, service.name, runtime.telemetry),
        ]
        yield [loop for loop in loops if isinstance(loop, GateRunner)]


@dataclass
class Bench:
    """One gate as its service binds it, and somebody who asks."""

    client: Client
    url: str
    bound: BoundGate[Any, Any]
    numbers: "itertools.count[int]"

    @property
    def gate(self) -> Gate[Any, Any]:
        return self.bound.gate

    @asynccontextmanager
    async def answered_by(self, handler: Handler, **options: Any) -> AsyncIterator[None]:
        """The gate with another handler; everything else is the service's own."""
        short = replace(self.gate, within_s=min(self.gate.within_s, SHORT_S))
        async with connection(self.url, "law") as client:
            runner = GateRunner(
                client,
                self.gate.service,
                [replace(self.bound, gate=short, handle=handler)],
                ServiceTelemetry(self.gate.service),
                **options,
            )
            async with at_work(runner):
                yield

    def new_question(self) -> dict[str, Any]:
        """A question with an id that none had before."""
        made = question(self.gate.request)
        number = next(self.numbers)
        for name in ("request_id", "report_id"):
            if name in made:
                made[name] = f"00000000-0000-4000-8000-{number:012d}"
        return made

    async def ask(self, body: bytes | dict[str, Any], runtime: str = "a") -> Model:
        """The answer, as one of the gate's own type."""
        asked = body if isinstance(body, bytes) else json.dumps(body).encode()
        reply = await self.client.request(self.gate.subject_of(runtime), asked, timeout=PATIENCE_S)
        return self.gate.answer.from_json(reply.data)

    async def is_denied(
        self, body: bytes | dict[str, Any], runtime: str = "a", *, recorded: bool = True
    ) -> str:
        """The denial that it is answered with, as JSON."""
        is_watched = recorded and self.gate.records
        before = await self._recorded() if is_watched else []
        answer = await self.ask(body, runtime)
        reason, remedy = why_denied(answer)
        assert reason
        assert remedy
        if is_watched:
            async with asyncio.timeout(PATIENCE_S):
                while await self._recorded() == before:
                    await asyncio.sleep(0.02)
        return answer.to_json().decode()

    async def _recorded(self) -> list[int]:
        found = {each: await self._count(each) for each in map(stream_of, self.gate.records)}
        return list(found.values())

    async def recorded_of(self, runtime: str) -> list[int]:
        """The places of all records that stand under a runtime's name."""
        return [
            stored.sequence
            for stream, kind in ((streams.GATES, "gated"), (streams.DECISIONS, "dec"))
            async for stored in read_all(self.client, stream, f"lictor.{kind}.{runtime}.>")
        ]

    async def _count(self, stream: str) -> int:
        return (await self.client.jetstream().stream_info(stream)).state.last_seq


def stream_of(subject: str) -> str:
    return streams.DECISIONS if subject.startswith("lictor.dec.") else streams.GATES


def why_denied(answer: Any) -> tuple[str | None, str | None]:
    """Reason and remedy; an answer that lets anything through fails here."""
    fields = type(answer).model_fields
    if "problem" in fields:
        # Reason and remedy in one text; see `gates.task` and `gates.desk`.
        reason, _, remedy = (answer.problem or "").partition("; ")
        return reason, remedy
    if "refused" in fields:
        # Nothing was observed beside a refusal.
        assert not answer.runs, answer
        reason, _, remedy = answer.refused.partition("; ")
        return reason, remedy
    if "decision" in fields:
        assert answer.decision == "deny", answer
    elif "ok" in fields:
        assert answer.ok is False, answer
    elif "outcome" in fields:
        assert answer.outcome == "refused", answer
    else:
        # Of history: nothing is shown beside a refusal.
        assert answer.policy_id, answer
        assert not getattr(answer, "messages", ()), answer
        assert not getattr(answer, "is_own", False), answer
    return answer.reason, answer.remedy


def verdict(answer: Any) -> tuple[Any, ...]:
    """What an answer says, but for whether it was said before."""
    shown = {name: getattr(answer, name, None) for name in ("decision", "ok", "policy_id")}
    outcome = getattr(answer, "outcome", None)
    return (*shown.values(), "stored" if outcome == "duplicate" else outcome)


async def declared(client: TolerantClient, *names: str) -> None:
    """Declare streams, as a service does that starts: a broker that is busy is waited for."""
    async with asyncio.timeout(60):
        while True:
            with suppress(JetStreamAway):
                await streams.declare(client, *names)
                return


@pytest.fixture
async def bench(
    request: pytest.FixtureRequest,
    clean_infra: Endpoints,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> AsyncIterator[Bench]:
    """The gate that a test is about, out of its service."""
    gate: Gate[Any, Any] = request.param
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("LICTOR_SEAL_KEY", str(tmp_path / "seal.pem"))
    monkeypatch.setenv("LICTOR_SEAL_KEY_CREATE", "1")
    async with composed(APPS[gate.service].make_service(), clean_infra) as runners:
        bound = next(each for runner in runners for each in runner.gates if each.gate is gate)
        own = next(runner for runner in runners if bound in runner.gates)
        async with connection(clean_infra.nats_url, "asker") as client:
            found = Bench(client, clean_infra.nats_url, bound, itertools.count(1))
            async with at_work(own):
                await a_repeated_question_gets_its_first_answer(found)
            yield found


every_gate = pytest.mark.parametrize(
    "bench", DECLARED, indirect=True, ids=[gate.title for gate in DECLARED]
)


_ASKED_AGAIN = 5


async def a_repeated_question_gets_its_first_answer(bench: Bench) -> None:
    """Asked of the service's own handler, while its runner runs."""
    asked = bench.new_question()
    first = await bench.ask(asked)
    for _ in range(_ASKED_AGAIN):
        # On a busy machine a store may be too slow for a moment. What is unavailable here for good stays a denial.
        if getattr(first, "policy_id", None) != bench.gate.refusals.unavailable:
            break
        first = await bench.ask(asked)
    assert verdict(await bench.ask(asked)) == verdict(first)


RECORDED = [gate for gate in DECLARED if gate.is_of_runtime and gate.records]


@pytest.mark.parametrize("bench", RECORDED, indirect=True, ids=[gate.title for gate in RECORDED])
async def test_what_is_asked_in_another_runtime_s_name_stands_in_no_record_of_it(
    bench: Bench,
) -> None:
    """Its records go into its sealed episodes: one runtime's words must not stand in another's."""

    async def hang(_request: Any) -> Any:
        await asyncio.Event().wait()

    before = await bench.recorded_of("a")
    async with bench.answered_by(hang, at_once=1, max_waiting=0):
        why_denied(await bench.ask(bench.new_question(), "b"))
        occupant = {**bench.new_question(), "runtime": "c"}
        first = asyncio.create_task(bench.ask(occupant, "c"))
        await asyncio.sleep(0)
        # One too many is not judged, but its record is made.
        why_denied(await bench.ask(bench.new_question(), "b"))
        why_denied(await first)
    assert await bench.recorded_of("a") == before
    assert await bench.recorded_of("c")


@every_gate
async def test_whatever_goes_wrong_is_a_denial(bench: Bench) -> None:
    gate = bench.gate
    unreadable = gate.records_unreadable

    async def fail(_request: Any) -> Any:
        raise ValueError("a defect")

    async with bench.answered_by(fail):
        assert "ValueError" in await bench.is_denied(bench.new_question())
        asked = bench.new_question()
        await bench.is_denied(b"{", recorded=False)
        assert "unheard_of" in await bench.is_denied(
            {**asked, "unheard_of": 1}, recorded=unreadable
        )
        name, value = next(iter(asked.items()))
        twice = f'{{"{name}": {json.dumps(value)}, {json.dumps(asked)[1:]}'.encode()
        assert "twice" in await bench.is_denied(twice, recorded=False)
        limit = int(bench.client.max_payload * gate.share_of_payload)
        large = json.dumps({**asked, "unheard_of": "x" * limit}).encode()
        assert "bytes, more than" in await bench.is_denied(large, recorded=False)
        if gate.is_of_runtime:
            told = await bench.is_denied(asked, "b", recorded=unreadable)
            assert "is not the runtime of subject" in told
            # Whoever asked finds the answer by the id of the question.
            assert str(asked[gate.named_by]) in told

    async def lose_the_broker(_request: Any) -> Any:
        raise BusError("the log can't be reached")

    async with bench.answered_by(lose_the_broker):
        await bench.is_denied(bench.new_question())

    async def hang(_request: Any) -> Any:
        await asyncio.Event().wait()

    async with bench.answered_by(hang):
        assert "longer than" in await bench.is_denied(bench.new_question())

    async with bench.answered_by(hang, at_once=1, max_waiting=0):
        # Over one connection they arrive in this order.
        first = asyncio.create_task(bench.ask(bench.new_question()))
        await asyncio.sleep(0)
        assert "too many questions" in await bench.is_denied(bench.new_question())
        why_denied(await first)


@every_gate
async def test_a_denial_is_given_while_nothing_can_be_recorded(bench: Bench) -> None:
    async def fail(_request: Any) -> Any:
        raise ValueError("a defect")

    async with bench.answered_by(fail):
        for stream in {stream_of(subject) for subject in bench.gate.records}:
            await bench.client.jetstream().delete_stream(stream)
        await bench.is_denied(bench.new_question(), recorded=False)


@pytest.mark.parametrize(
    "bench",
    [gate for gate in DECLARED if gate.repeats is Repeats.REMEMBERED],
    indirect=True,
    ids=lambda gate: gate.title,
)
async def test_an_answer_that_no_log_holds_is_remembered(bench: Bench) -> None:
    reasons = itertools.count(1)

    async def count(request: Any) -> Any:
        return bench.gate.answer.allow(request.request_id, "law", f"answer {next(reasons)}")

    asked = bench.new_question()
    async with bench.answered_by(count):
        answers: list[Any] = [await bench.ask(asked) for _ in range(2)]
        assert [answer.reason for answer in answers] == ["answer 1", "answer 1"]


def test_every_declared_gate_names_a_service() -> None:
    assert {gate.title for gate in GATES} == {gate.title for gate in DECLARED}
    assert len({gate.subject for gate in GATES}) == len(GATES)


# Who subscribes without a gate, and to what: nothing that anybody waits for an answer to.
HEARS = {
    "services/feedback/lictor_feedback/app.py": "doubts of other instances about what they stored",
    "services/policy_evaluator/lictor_policy_evaluator/packs/release_follower.py": "releases of packs",
}


def test_no_service_answers_but_through_a_gate() -> None:
    """Who subscribes or responds by hand would answer outside of the law."""
    found: set[str] = set()
    for path in ROOT.glob("services/*/lictor_*/**/*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Attribute) and node.attr in (
                "subscribe",
                "subscribe_direct",
                "subscribe_surely",
                "subscriber",
                "hand_over",
                "respond",
            ):
                found.add(path.relative_to(ROOT).as_posix())
    assert found == set(HEARS), "declare a gate in lictor_bus.gates, and bind a handler to it"
