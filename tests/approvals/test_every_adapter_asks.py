"""Every adapter tells its agent of the request that its call waits by, and makes the call once when it is approved."""

import asyncio
import uuid
from pathlib import Path
from typing import Any

import pytest
from asking_installation import Installation
from scripted import ScriptedAgent, Setting
from scripted_agents import ADAPTERS

from lictor.runtimes.http.approvals import HttpApprovals
from lictor.runtimes.http.bodies import ApprovalReply, BeginBody, CheckBody, CheckReply
from lictor.runtimes.http.sessions import HttpSessions, Unacceptable
from lictor.runtimes.lasting_connection import Reaching

CALL = {"service": "shop"}


def name_of(adapter: type[ScriptedAgent]) -> str:
    return adapter.__name__


@pytest.mark.parametrize("adapter", ADAPTERS, ids=name_of)
async def test_a_call_waits_by_its_request_and_is_made_once_when_it_is_approved(
    place: Installation, adapter: type[ScriptedAgent], tmp_path: Path
) -> None:
    made: list[dict[str, Any]] = []

    def deploy(**params: Any) -> str:
        made.append(params)
        return "done"

    session_id = str(uuid.uuid4())
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    setting = Setting(place.nats_url, workspace, session_id, "deployer")
    agent = adapter(setting)
    try:
        await agent.begin()
        told = await agent.call("deploy", CALL, deploy)
        first = await place.asked(session_id, runtime=agent.runtime)
        assert told.denied is not None
        assert first.request_id in told.denied
        assert "approved" in told.denied

        # However often it is asked about, it is one request.
        told = await agent.call("deploy", CALL, deploy)
        assert told.denied is not None
        assert first.request_id in told.denied

        await place.decide(first)
        assert (await agent.call("deploy", CALL, deploy)).denied is None
        assert made == [CALL]

        told = await agent.call("deploy", CALL, deploy)
        second = await place.asked(session_id, 2, runtime=agent.runtime)
        assert told.denied is not None
        assert second.request_id in told.denied

        await place.decide(second, "reject", reason="not on a Friday")
        told = await agent.call("deploy", CALL, deploy)
        assert told.denied is not None
        assert "not on a Friday" in told.denied
    finally:
        await agent.close()
    assert made == [CALL]
    kinds = [each.kind for each in await place.session(session_id, agent.runtime)]
    assert (kinds.count("call_reserved"), kinds.count("call_asked")) == (1, 2)


async def test_over_http_a_client_waits_until_people_have_decided(place: Installation) -> None:
    reaching = Reaching(place.nats_url, name="test")
    sessions = HttpSessions(reaching, runtime="http", definition="deployer")
    approvals = HttpApprovals(reaching, "http")
    try:
        await sessions.begin("s", BeginBody())
        check = CheckBody(call_id="c", tool="deploy", params={**CALL})
        status, reply = await sessions.check("s", check)
        assert status == 202
        assert isinstance(reply, CheckReply)
        assert reply.approval is not None
        request = await place.asked("s", runtime="http")
        assert reply.approval.request_id == request.request_id

        waiting = asyncio.create_task(approvals.show("s", request.request_id, 50))
        await place.requested(request)
        shown = await approvals.show("s", request.request_id, 0)
        assert isinstance(shown[1], ApprovalReply)
        assert (shown[1].state, shown[1].waiting) == ("requested", True)
        await place.decide(request)
        status, found = await waiting
        assert isinstance(found, ApprovalReply)
        assert (status, found.state, found.waiting) == (200, "approved", False)

        with pytest.raises(Unacceptable, match="no request"):
            await approvals.show("another", request.request_id, 0)
        with pytest.raises(Unacceptable, match="no request"):
            await approvals.show("s", str(uuid.uuid4()), 0.1)
        # To look at it used nothing up.
        status, reply = await sessions.check("s", check)
        assert isinstance(reply, CheckReply)
        assert (status, reply.decision) == (200, "allow")
    finally:
        await reaching.close()
