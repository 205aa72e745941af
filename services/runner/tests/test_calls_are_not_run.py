"""The runner and approvals of tool calls: it leaves them alone, and nothing that was said about one runs a program."""

from datetime import UTC, datetime

import pytest
from call_samples import call_request, said
from runner_bus import ALICE, Bus
from runs_on_disk import program

from lictor_approval.decision_validity import requested
from lictor_schema.approvals.approval import ApprovalEntry, ApprovalState
from lictor_schema.core.base_model import utc_millis
from lictor_schema.core.ids import approval_entry_id

PAY = program("pay('ada', 5)")


async def test_the_approval_of_a_call_is_left_to_the_runtime_that_asked(bus: Bus) -> None:
    request = call_request(at=datetime.now(UTC))
    await bus.write(requested(request))
    life = await bus.life(request.request_id)
    delivery = await bus.approve(life)
    assert await bus.runner().handle(delivery) is None
    assert (await bus.life(request.request_id)).state is ApprovalState.APPROVED
    assert bus.bank.done() == []


@pytest.mark.parametrize("names_the_program", [False, True])
async def test_no_program_runs_by_what_was_signed_about_a_call(
    bus: Bus, names_the_program: bool
) -> None:
    """Whoever writes in the approval service's place puts a person's word about a call into a program's log."""
    call = call_request(at=datetime.now(UTC))
    asked = (await bus.request(PAY)).request
    named = asked if names_the_program else call
    entry = ApprovalEntry(
        entry_id=approval_entry_id(asked.request_id, "approved", "forged"),
        request_id=asked.request_id,
        runtime=asked.binding.runtime,
        state=ApprovalState.APPROVED,
        by=ALICE.name,
        at=utc_millis(datetime.now(UTC)),
        signed=said(call, ALICE, at=datetime.now(UTC), request_id=named.request_id),
    )
    delivery = await bus.stored(entry)
    assert await bus.runner().handle(delivery) == "stale"
    assert "is about" in str((await bus.life(asked.request_id)).reason)
    assert bus.bank.done() == []
