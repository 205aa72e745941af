"""A guard that ends while results are not taken: whoever goes on with the session is held to them."""

from __future__ import annotations

import asyncio
import json
import logging
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from nats.aio.client import Client

import lictor
from libs.client.tests.conftest import COMMAND, StandIn
from lictor.fast.answer_reader import Silence
from lictor.fast.session_operations import Ask, SessionOperations
from lictor.fast.unsent_results import Unsent
from lictor.runtimes.guarded_session import EndedCall, Guarding, MadeCall

SERVER = Path(__file__).with_name("small_mcp_server.py")


@pytest.fixture
def url(broker: Client, standin: StandIn) -> str:  # noqa: ARG001 -- somebody must answer
    assert broker.connected_url is not None
    return broker.connected_url.geturl()


async def test_the_next_blocking_guard_is_denied_until_the_result_is_taken(
    url: str, standin: StandIn, caplog: pytest.LogCaptureFixture
) -> None:
    standin.silent = {"result"}

    def ends() -> None:
        with lictor.guard_sync("s", url=url, runtime="test", timeout_s=0.3) as guard:
            guard.call("edit", {"path": "a"}, lambda path: path)

    with caplog.at_level(logging.WARNING, "lictor.client"):
        await asyncio.to_thread(ends)
    assert "nobody took" in caplog.text

    def goes_on() -> bool:
        with lictor.guard_sync("s", url=url, runtime="test", timeout_s=0.3) as guard:
            return guard.check("deploy", {}).allowed

    assert not await asyncio.to_thread(goes_on)
    assert standin.told("tool")[-1].tool == "edit"
    standin.silent = set()
    assert await asyncio.to_thread(goes_on)
    assert standin.outcomes()[-1] == ("edit", "ok")
    reported = len(standin.told("result"))
    assert await asyncio.to_thread(goes_on)
    assert len(standin.told("result")) == reported, "once it is taken, nobody reports it again"


async def test_the_next_guard_is_denied_until_the_result_is_taken(
    governor: lictor.Governor, standin: StandIn, tmp_path: Path
) -> None:
    standin.refused = {"result"}
    async with governor.guard("s", timeout_s=0.3) as guard:
        await guard.call("edit", {}, dict)
    async with governor.guard("s", timeout_s=0.3) as guard:
        assert not (await guard.check("deploy", {})).allowed
        assert (await guard.may_stop()).status == "unanswered"
        standin.refused = set()
        assert (await guard.check("deploy", {})).allowed
    assert standin.told("result")[-1].tool == "edit"
    assert not list((tmp_path / "state").rglob("*.json"))


async def test_a_guard_settles_its_debt_as_it_ends(
    governor: lictor.Governor, standin: StandIn, tmp_path: Path
) -> None:
    standin.refused = {"result"}
    async with governor.guard("s", timeout_s=0.3) as guard:
        await guard.call("edit", {}, dict)
        assert list((tmp_path / "state").rglob("*.json")), (
            "also a process that is killed has kept it"
        )
        standin.refused = set()
    assert standin.outcomes()[-1] == ("edit", "ok")
    assert not list((tmp_path / "state").rglob("*.json"))


async def test_the_proxy_leaves_its_debt_to_the_next(
    url: str, standin: StandIn, environment: dict[str, str], tmp_path: Path
) -> None:
    standin.refused = {"result"}
    call = {"name": "echo", "arguments": {"text": "hello"}}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}

    async def play() -> str:
        server = [sys.executable, str(SERVER), str(tmp_path / "seen")]
        command = [COMMAND, "mcp", "--session", "s", "--", *server]
        done = await asyncio.to_thread(
            subprocess.run,
            command,
            input=json.dumps(message).encode() + b"\n",
            capture_output=True,
            cwd=tmp_path,
            env={**environment, "LICTOR_NATS_URL": url},
            timeout=60,
            check=False,
        )
        return done.stdout.decode()

    def debts() -> int:
        return len(list((tmp_path / "state").rglob("*.json")))

    # An answer that takes longer than the proxy waits is a denial, on a busy machine too: then it is asked again.
    async with asyncio.timeout(240):
        while not debts():
            assert "not reported yet" not in await play()
    assert debts() == 1
    judged = len(standin.told("tool"))
    assert "not reported yet" in await play()
    assert len(standin.told("tool")) == judged
    standin.refused = set()
    async with asyncio.timeout(240):
        while "not reported yet" in await play():
            pass
    assert not debts()


class Service:
    """Answers a guard's questions as the test says, in this process."""

    def __init__(self, **answers: Any) -> None:
        self.answers = answers
        self.reports: list[dict[str, Any]] = []

    def drive(self, operation: Any) -> Any:
        try:
            ask = next(operation)
            while True:
                ask = operation.send(self._answer(ask))
        except StopIteration as done:
            return done.value

    def _answer(self, ask: Ask) -> bytes | Silence:
        name, request = ask.subject.split(".")[2], json.loads(ask.body)
        if name == "result":
            self.reports.append(request)
        answer: Any = self.answers.get(name, {"ok": True, "reason": "done"})
        if callable(answer):
            answer = answer(request)
        if isinstance(answer, Silence):
            return answer
        return json.dumps({"request_id": request["request_id"], **answer}).encode()


ALLOW = {"decision": "allow", "reason": "fine", "policy_id": "p"}


def guarding_of(tmp_path: Path) -> Guarding:
    operations = SessionOperations(runtime="test", session_id="s")
    return Guarding(operations, unsent=Unsent(str(tmp_path / "unsent"), "test", "s"))


def test_a_result_that_the_service_refuses_for_good_later_on_still_counts(tmp_path: Path) -> None:
    service = Service(result=Silence(reason="away"), tool=ALLOW)
    guarding = guarding_of(tmp_path)
    service.drive(guarding.ended(MadeCall("c", "edit", {"text": "x"}), "ok"))
    assert guarding.in_debt

    def picky(report: dict[str, Any]) -> dict[str, Any]:
        if report["params"]:
            no = {"policy_id": "feedback.malformed-request", "reason": "too long"}
            return {"ok": False, **no}
        return {"ok": True, "reason": "done"}

    service.answers["result"] = picky
    assert service.drive(guarding.check("d", "deploy", {})).allowed
    assert (service.reports[-1]["call_id"], service.reports[-1]["params"]) == ("c", {})
    assert not guarding.in_debt


def test_what_is_interrupted_while_it_is_reported_is_kept_at_the_end(tmp_path: Path) -> None:
    service = Service(tool=ALLOW)
    guarding = guarding_of(tmp_path)
    service.drive(guarding.check("c", "edit", {}))
    operation = guarding.ended(MadeCall("c", "edit", {}), "ok")
    assert "result" in next(operation).subject
    operation.close()
    guarding.keep_rest()

    assert service.drive(guarding_of(tmp_path).check("d", "deploy", {})).allowed
    assert service.reports[-1]["call_id"] == "c"


AWAY = Silence(reason="away")
UNKNOWN = {"ok": False, "policy_id": "lictor.unknown-session", "reason": "it never began"}


def test_a_result_is_owed_when_nobody_tells_how_the_session_stands(tmp_path: Path) -> None:
    service = Service(show=AWAY, result=AWAY, stop={**ALLOW, "status": "complete"})
    guarding = guarding_of(tmp_path)
    seen = [{"param": "path", "given": "a", "key": "a", "state": "missing"}]
    call = EndedCall("c", "edit", {"path": "a"}, "ok", duration_ms=7, resources=seen)
    assert not service.drive(guarding.report(call)).ok
    assert service.reports == []
    assert guarding.in_debt
    assert len(list(tmp_path.rglob("*.json"))) == 1, "also a process that is killed has kept it"

    def stopped(by: Guarding) -> str:
        return service.drive(by.stop("done", None, None, subagent=False)).status

    assert stopped(guarding) == "unanswered"
    assert stopped(guarding_of(tmp_path)) == "unanswered", "the next process is held to it too"
    del service.answers["show"], service.answers["result"]
    assert stopped(guarding) == "complete"
    (report,) = service.reports
    assert (report["call_id"], report["duration_ms"], report["resources"]) == ("c", 7, seen)
    assert not guarding.in_debt
    assert not list(tmp_path.rglob("*.json"))


def test_a_result_behind_one_that_is_owed_is_owed_too(tmp_path: Path) -> None:
    service = Service(show=AWAY, tool=ALLOW)
    guarding = guarding_of(tmp_path)
    for call_id in ("a", "b"):
        service.drive(guarding.report(EndedCall(call_id, "edit", {}, "ok")))
    del service.answers["show"]
    assert service.drive(guarding_of(tmp_path).check("d", "deploy", {})).allowed
    assert [report["call_id"] for report in service.reports] == ["a", "b"]


def test_a_session_that_never_began_owes_nothing(tmp_path: Path) -> None:
    service = Service(show=AWAY, result=UNKNOWN)
    guarding = guarding_of(tmp_path)
    service.drive(guarding.report(EndedCall("a", "edit", {}, "ok")))
    assert guarding.in_debt, "nobody knows yet"
    service.answers["show"] = UNKNOWN
    service.drive(guarding.report(EndedCall("b", "edit", {}, "ok")))
    assert not guarding.in_debt
    assert not list(tmp_path.rglob("*.json"))
