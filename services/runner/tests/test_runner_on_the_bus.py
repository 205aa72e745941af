"""What is approved runs once, as it was approved, and nothing else runs."""

import asyncio
import json
import sys
import uuid
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from runner_bus import ALICE, MALLORY, TASK, Bus
from runs_on_disk import program

from lictor.errors import NotInTime
from lictor.history.everyones_history import EveryonesHistory
from lictor.run_results import JournalRefused, NotRun, result_of
from lictor_approval.decision_validity import permission, requested
from lictor_approval.errors import ApprovalError
from lictor_approval.signed_decisions import Approvers
from lictor_bus.errors import BusError
from lictor_bus.names import streams, subjects
from lictor_bus.wire.publish import Outgoing, PublishAck, publish_expecting, publish_one
from lictor_bus.wire.read import read_all
from lictor_run.approved_run import Run
from lictor_run.errors import EntryTooLarge, Fenced
from lictor_runner.approved_program import StaleApproval, approved_of
from lictor_runner.run_journal import StreamJournal
from lictor_schema.approvals.approval import ApprovalEntry, ApprovalState, PolicyGround
from lictor_schema.approvals.run import (
    EffectDone,
    EffectStarted,
    RunFinished,
    RunOutcome,
    RunStarted,
    RunTakenOver,
    UndoKind,
)
from lictor_schema.core.canonical_json import content_hash
from lictor_schema.core.ids import approval_entry_id, approval_request_id
from lictor_schema.proofs.program import ProgramSubmission
from lictor_seal import TrustStore

PAY = program("pay('ada', 5)\nsend('done')")


async def test_an_approved_program_runs_and_all_of_it_is_told(bus: Bus) -> None:
    request_id, delivery = await bus.approved(PAY)
    assert await bus.runner().handle(delivery) == "executed"
    assert bus.bank.done() == [["pay", "ada", 5], ["send", "done"]]
    life = await bus.life(request_id)
    assert life.state.value == "executed"
    assert life.execution is not None
    assert (life.execution.effects, life.execution.compensated) == (2, 0)
    journal = await bus.journal(request_id)
    started, *_, ended = journal
    assert isinstance(started, RunStarted)
    assert started.approved_by == "alice"
    assert started.signed == life.signed
    assert started.binding_hash == life.request.binding_hash
    assert isinstance(ended, RunFinished)
    results = [entry.result for entry in journal if isinstance(entry, EffectDone)]
    assert results == ["receipt-ada-5", None]


async def test_an_approval_runs_once_however_often_it_is_delivered(bus: Bus) -> None:
    _, delivery = await bus.approved(PAY)
    assert await bus.runner().handle(delivery) == "executed"
    for _ in range(3):
        assert await bus.runner().handle(delivery) is None
    assert len(bus.bank.done()) == 2


async def test_of_runners_that_race_one_runs_it(bus: Bus) -> None:
    request_id, delivery = await bus.approved(PAY)
    handled = await asyncio.gather(
        *(bus.runner().handle(delivery) for _ in range(3)), return_exceptions=True
    )
    assert [each for each in handled if each == "executed"] == ["executed"], handled
    # The others leave the message to whoever runs it.
    assert sum(isinstance(each, BusError) for each in handled) == 2, handled
    assert bus.bank.done() == [["pay", "ada", 5], ["send", "done"]]
    assert (await bus.kinds(request_id)).count("run_started") == 1


async def test_a_run_that_fails_is_compensated_and_told_so(bus: Bus) -> None:
    request_id, delivery = await bus.approved(program("pay('ada', 5)\nsend('refuse')"))
    assert await bus.runner().handle(delivery) == "compensated"
    life = await bus.life(request_id)
    assert life.state.value == "compensated"
    assert "effect.not_done" in str(life.reason)
    assert life.execution is not None
    assert (life.execution.effects, life.execution.compensated) == (2, 1)


# -- what does not run -----------------------------------------------------------------------------


async def _withheld(bus: Bus, request_id: str, delivery: Any, **changes: Any) -> str:
    """Why it does not run."""
    assert await bus.runner(**changes).handle(delivery) == "stale"
    life = await bus.life(request_id)
    assert (life.state.value, life.by) == ("stale", "runner@test")
    assert await bus.journal(request_id) == []
    assert bus.bank.done() == []
    return str(life.reason)


async def test_an_approval_by_somebody_unknown_here_does_not_run(bus: Bus) -> None:
    life = await bus.request(PAY)
    delivery = await bus.approve(life, MALLORY)
    assert "not signed by" in await _withheld(bus, life.request.request_id, delivery)


async def test_an_approval_of_something_else_does_not_run(bus: Bus) -> None:
    one, other = await bus.request(PAY), await bus.request(PAY, source_name="other.py")
    await bus.approve(one)
    signed = (await bus.life(one.request.request_id)).signed
    # The signed decision about one request, put into the log of the other.
    request_id = other.request.request_id
    entry = ApprovalEntry(
        entry_id=approval_entry_id(request_id, "approved"),
        request_id=request_id,
        state=ApprovalState.APPROVED,
        by="alice",
        at=other.changed_at,
        signed=signed,
    )
    delivery = await bus.stored(entry)
    assert "is about request" in await _withheld(bus, request_id, delivery)


async def test_an_expired_approval_does_not_run(bus: Bus) -> None:
    request_id, delivery = await bus.approved(PAY)
    bus.apart = timedelta(hours=2)
    assert await bus.runner().handle(delivery) == "expired"
    assert bus.bank.done() == []
    assert (await bus.life(request_id)).state.value == "approved"


async def test_an_approval_that_expires_while_it_is_prepared_does_not_run(bus: Bus) -> None:
    _, delivery = await bus.approved(PAY)
    asked = 0

    def later() -> Any:
        nonlocal asked
        asked += 1
        return bus.now() + (timedelta(hours=2) if asked > 1 else timedelta())

    assert await bus.runner(now=later).handle(delivery) == "expired"
    assert bus.bank.done() == []


@pytest.mark.parametrize("change", ["changed", "added"])
async def test_a_layer_that_changed_since_does_not_run(bus: Bus, change: str) -> None:
    request_id, delivery = await bus.approved(PAY)
    if change == "changed":
        bus.bank.module.write_text(bus.bank.module.read_text() + "# changed\n")
    else:
        (bus.bank.module.parent / "more.py").write_text("")
    assert "layer" in await _withheld(bus, request_id, delivery)


async def test_a_layer_that_changes_at_the_last_moment_does_not_run(bus: Bus) -> None:
    request_id, delivery = await bus.approved(PAY)
    before = bus.installed_layers()
    bus.bank.module.write_text(bus.bank.module.read_text() + "# changed\n")
    reason = await _withheld(bus, request_id, delivery, installed_layers=lambda: before)
    assert "stale.layer" in reason


@pytest.mark.parametrize("python", ["cpython 3.9", ""], ids=["another", "an older proof"])
async def test_a_program_that_was_proved_for_another_python_does_not_run(
    bus: Bus, python: str
) -> None:
    life = await bus.request(PAY, lambda proof: replace(proof, python=python))
    delivery = await bus.approve(life)
    reason = await _withheld(bus, life.request.request_id, delivery)
    assert reason.startswith("stale.python: ")
    assert "prove it again" in reason


async def test_a_program_that_was_submitted_anew_does_not_run_as_it_was(bus: Bus) -> None:
    request_id, delivery = await bus.approved(PAY)
    await bus.submit(program("send('other')"))
    assert "submitted anew" in await _withheld(bus, request_id, delivery)


@pytest.mark.parametrize(
    "field", ["program_hash", "ir_hash", "layer_hash", "guarantees_hash", "target", "engine"]
)
async def test_an_approval_that_binds_anything_else_than_what_is_stored_does_not_run(
    bus: Bus, field: str
) -> None:
    life = await bus.request(PAY)
    other = content_hash("other") if field.endswith("hash") else "other"
    binding = life.program.binding.model_copy(update={field: other})
    binding_hash = content_hash(binding)
    request_id = approval_request_id(binding.submission_id, binding_hash)
    forged = life.program.model_copy(
        update={"binding": binding, "binding_hash": binding_hash, "request_id": request_id}
    )
    try:
        await bus.write(requested(forged))
        changed = await bus.life(request_id)
    except (BusError, ValueError):
        # What a request shows must have the hashes that it binds; such a request can't even be read.
        assert field == "guarantees_hash"
        return
    delivery = await bus.approve(changed)
    await _withheld(bus, request_id, delivery)


PAYING = program("pay(name, cents)").replace("def main()", "def main(name: str, cents: int)")
FIVE = {"name": "ada", "cents": 5}


async def test_a_program_runs_with_the_values_that_were_approved_and_its_journal_tells_them(
    bus: Bus,
) -> None:
    request_id, delivery = await bus.approved(PAYING, inputs=FIVE)
    assert await bus.runner().handle(delivery) == "executed"
    assert bus.bank.done() == [["pay", "ada", 5]]
    started, *_ = await bus.journal(request_id)
    assert isinstance(started, RunStarted)
    assert started.inputs == FIVE


async def test_the_same_program_with_other_values_leaves_an_approval_as_it_is(bus: Bus) -> None:
    request_id, delivery = await bus.approved(PAYING, inputs=FIVE)
    await bus.submit(PAYING, inputs={"name": "bob", "cents": 5})
    assert await bus.runner().handle(delivery) == "executed"
    assert bus.bank.done() == [["pay", "ada", 5]]
    assert (await bus.life(request_id)).state.value == "executed"


@pytest.mark.parametrize(
    "inputs",
    [{"name": "mallory", "cents": 5}, {"name": "ada", "cents": 500}, {"name": "ada"}, None],
    ids=["another name", "another number", "one less", "none"],
)
async def test_values_in_a_binding_that_nobody_submitted_do_not_run(
    bus: Bus, inputs: dict[str, Any] | None
) -> None:
    life = await bus.request(PAYING, inputs=FIVE)
    binding = life.program.binding.model_copy(update={"inputs": inputs})
    binding_hash = content_hash(binding)
    request_id = approval_request_id(binding.submission_id, binding_hash)
    forged = life.program.model_copy(
        update={"binding": binding, "binding_hash": binding_hash, "request_id": request_id}
    )
    await bus.write(requested(forged))
    delivery = await bus.approve(await bus.life(request_id))
    assert "not the one that was approved" in await _withheld(bus, request_id, delivery)


async def test_values_that_are_swapped_after_the_approval_do_not_run(bus: Bus) -> None:
    """Whoever can write to PROGRAMS submits under the very same id, and points a request there."""
    life = await bus.request(PAYING, inputs=FIVE)
    place, _ = await bus.submit(
        PAYING,
        submission_id=life.program.binding.submission_id,
        inputs={"name": "mallory", "cents": 5},
    )
    moved = life.program.model_copy(update={"program_sequence": place})
    moved = moved.model_copy(update={"request_id": life.request.request_id})
    approved = await bus.approve(life)
    with pytest.raises(StaleApproval, match="the submission is not the one that was approved"):
        approved_of(moved, [(place, (await _submitted(bus))[-1])], None, ())
    # What the request names is still there, and runs as it was approved.
    assert await bus.runner().handle(approved) == "executed"
    assert bus.bank.done() == [["pay", "ada", 5]]


async def _submitted(bus: Bus) -> list[ProgramSubmission]:
    subject = subjects.program(None, TASK)
    return [
        ProgramSubmission.from_json(each.body)
        async for each in read_all(bus.client, streams.PROGRAMS, subject)
    ]


@pytest.mark.parametrize("is_over", [False, True], ids=["it goes on", "it ended"])
async def test_a_journal_with_other_values_than_were_approved_is_not_believed(
    bus: Bus, is_over: bool
) -> None:
    life = await bus.request(PAYING, inputs=FIVE)
    request = life.program
    delivery = await bus.approve(life)
    with pytest.MonkeyPatch.context() as patch:
        # The runner is gone as soon as the approval is its own.
        async def gone(*_args: Any, **_more: Any) -> None:
            raise KeyboardInterrupt

        patch.setattr(StreamJournal, "append", gone)
        with pytest.raises(KeyboardInterrupt):
            await bus.runner().handle(delivery)
    journal = await StreamJournal.read(bus.client, None, TASK, request.request_id)
    forging = Run(request.request_id, TASK, journal, writer="mallory")
    binding = request.binding
    await forging.write(
        RunStarted,
        runner="mallory",
        submission_id=binding.submission_id,
        binding_hash=request.binding_hash,
        program_hash=binding.program_hash,
        ir_hash=binding.ir_hash,
        layer_hash=binding.layer_hash,
        guarantees_hash=binding.guarantees_hash,
        inputs={"name": "ada", "cents": 500},
        approved_by="alice",
        signed=str((await bus.life(request.request_id)).signed),
    )
    key = str(uuid.uuid4())
    await forging.write(
        EffectStarted,
        call=0,
        effect="pay",
        arguments={"account": "ada", "cents": 500},
        idempotency_key=key,
        undo=UndoKind.POSSIBLE,
    )
    await forging.write(
        EffectDone, call=0, result="receipt-ada-500", result_hash=content_hash("receipt-ada-500")
    )
    if is_over:
        await forging.write(
            RunFinished, outcome=RunOutcome.EXECUTED, effects=1, undone=0, elapsed_ms=1
        )
    assert await bus.runner().handle(delivery) == "in_doubt"
    after = await bus.life(request.request_id)
    assert after.state.value == "in_doubt"
    assert "journal.other: its journal says other values than were approved" in str(after.reason)
    assert bus.bank.done() == [], "nothing is taken back by the word of a forged journal"


async def test_without_readable_keys_nothing_runs_and_nothing_is_lost(bus: Bus) -> None:
    request_id, delivery = await bus.approved(PAY)
    bus.keys.write_text("{")
    with pytest.raises(BusError, match="keys"):
        await bus.runner().handle(delivery)
    assert (await bus.life(request_id)).state.value == "approved"
    assert bus.bank.done() == []


async def test_a_decision_of_a_policy_counts_only_where_its_key_is_trusted(bus: Bus) -> None:
    life = await bus.request(PAY)
    ground = PolicyGround(policy_hash=life.request.binding_hash, rule="r", why="w")
    with pytest.raises(ApprovalError):
        permission(life, Approvers(), bus.now())
    await bus.approve(life, ALICE, automatic=ground)
    approved = await bus.life(life.request.request_id)
    # The key is trusted as a person's, and not as a policy's.
    with pytest.raises(ApprovalError, match="a policy"):
        permission(approved, Approvers(TrustStore.of([ALICE.verifying_key])), bus.now())


async def test_a_message_that_is_no_entry_does_not_stop_a_run(bus: Bus) -> None:
    request_id, delivery = await bus.approved(program("pay('ada', 1)\nsleep_a_little()"))
    running = asyncio.create_task(bus.runner().handle(delivery))
    await bus.until_journal(request_id, "effect_started", 2)
    subject = subjects.run_journal(None, TASK, request_id)
    await publish_one(bus.client, streams.RUNS, Outgoing(subject, b"{}"))
    assert await running == "executed"


# -- lictor runs -----------------------------------------------------------------------------------


async def _lictor(bus: Bus, *arguments: str) -> tuple[int | None, str]:
    process = await asyncio.create_subprocess_exec(
        str(Path(sys.executable).with_name("lictor")),
        *arguments,
        "--url",
        bus.endpoints.nats_url,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    output, _ = await process.communicate()
    return process.returncode, output.decode()


async def test_runs_are_listed_and_shown_with_what_became_of_each_effect(bus: Bus) -> None:
    request_id, delivery = await bus.approved(
        program("pay('ada', 5)\nsend('refuse')"), runtime="agents"
    )
    await bus.runner().handle(delivery)
    code, listed = await _lictor(bus, "runs", "list")
    assert code == 0, listed
    assert request_id in listed
    assert "compensated" in listed
    (row,) = (line for line in listed.splitlines() if request_id in line)
    assert row.split()[-1] == "agents"
    code, shown = await _lictor(bus, "runs", "show", request_id[:8])
    assert code == 0, shown
    for told in (
        "alice",
        "runtime      agents",
        '(account="ada", cents=5)',
        "receipt-ada-5",
        "undone",
        "not done",
    ):
        assert told in shown
    code, told = await _lictor(bus, "runs", "show", request_id, "--json")
    assert (code, json.loads(told)["entries"][-1]["outcome"]) == (0, "compensated")
    code, told = await _lictor(bus, "runs", "show", "no-such-run")
    assert code == 1
    assert "there is no run" in told


async def test_a_run_is_shown_with_its_values_and_its_result(bus: Bus) -> None:
    source = PAYING.replace("pay(name, cents)", "return (pay(name, cents), 1.5)")
    source = source.replace("-> None", "-> object")
    request_id, delivery = await bus.approved(source, inputs=FIVE)
    assert await bus.runner().handle(delivery) == "executed"
    code, shown = await _lictor(bus, "runs", "show", request_id)
    assert code == 0, shown
    assert "with         cents = 5, name = 'ada'" in shown
    assert "returned   ('receipt-ada-5', 1.5)" in shown
    code, told = await _lictor(bus, "runs", "show", request_id, "--json")
    result = json.loads(told)["entries"][-1]["result"]
    assert result["value"] == {"tuple": ["receipt-ada-5", {"float": "1.5"}]}


async def test_a_result_that_python_does_not_write_out_is_shown_as_it_is_stored(bus: Bus) -> None:
    source = PAYING.replace("pay(name, cents)", "pay(name, cents)\n    return 16**5000")
    request_id, delivery = await bus.approved(source.replace("-> None", "-> object"), inputs=FIVE)
    assert await bus.runner().handle(delivery) == "executed"
    code, shown = await _lictor(bus, "runs", "show", request_id)
    assert code == 0, shown[-500:]
    assert 'returned   {"int":"0x1000' in shown


async def test_a_journal_that_is_not_of_what_was_approved_is_not_shown(bus: Bus) -> None:
    request_id, delivery = await bus.approved(PAYING, inputs=FIVE)
    write = Run.write

    async def forged(run: Run, kind: Any, **more: Any) -> Any:
        if kind is RunStarted:
            more["inputs"] = {"name": "mallory", "cents": 5}
        return await write(run, kind, **more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Run, "write", forged)
        await bus.runner().handle(delivery)
    code, shown = await _lictor(bus, "runs", "show", request_id)
    assert code == 1
    assert "its journal says other values than were approved" in shown
    with pytest.raises(JournalRefused, match="other values than were approved"):
        await result_of(EveryonesHistory(bus.client), request_id, 10)


async def test_who_waits_for_a_result_is_told_that_there_will_be_none(bus: Bus) -> None:
    history = EveryonesHistory(bus.client)
    request_id, delivery = await bus.approved(PAY)
    with pytest.raises(NotInTime, match=r"is approved after 0.5 s and has no result yet"):
        await result_of(history, request_id, 0.5)
    await bus.submit(program("send('other')"))
    await bus.runner().handle(delivery)
    with pytest.raises(NotRun, match=r"is stale, nothing ran: .*submitted anew"):
        await result_of(history, request_id, 10)


async def test_a_failed_run_tells_its_failure_and_every_call(bus: Bus) -> None:
    request_id, delivery = await bus.approved(program("pay('ada', 5)\nsend('refuse')"))
    await bus.runner().handle(delivery)
    report = await result_of(EveryonesHistory(bus.client), request_id, 10)
    assert (report.ok, report.outcome.value, report.value) == (False, "compensated", None)
    assert report.reason is not None
    assert report.reason.code == "effect.not_done"
    assert [(each.effect, each.stage) for each in report.calls] == [
        ("pay", "undone"),
        ("send", "not_done"),
    ]
    assert report.calls[0].arguments == {"account": "ada", "cents": 5}
    assert (report.calls[0].result, report.calls[0].has_result) == ("receipt-ada-5", True)


async def test_what_was_just_approved_is_shown_when_it_has_run_and_how_long_that_took(
    bus: Bus,
) -> None:
    request_id, delivery = await bus.approved(program("pay('ada', 5)"))
    showing = asyncio.create_task(_lictor(bus, "runs", "show", request_id[:8]))
    done, _ = await asyncio.wait({showing}, timeout=2)
    assert not done, "it has not begun, so there is nothing to show yet"
    await bus.runner().handle(delivery)
    code, shown = await showing
    assert code == 0, shown
    assert "outcome      executed" in shown
    code, told = await _lictor(bus, "runs", "show", request_id, "--json")
    first, *_, last = json.loads(told)["entries"]
    between = datetime.fromisoformat(last["at"]) - datetime.fromisoformat(first["at"])
    milliseconds = round(between.total_seconds() * 1000)
    assert f"{last['at']} after {milliseconds} ms" in shown
    assert last["elapsed_ms"] <= milliseconds + 1


async def test_a_request_that_did_not_run_is_told_with_where_it_stands(bus: Bus) -> None:
    def broken() -> Approvers:
        raise RuntimeError("nobody foresaw this")

    request_id, delivery = await bus.approved(PAY)
    await bus.runner(approvers=broken).handle(delivery)
    code, told = await _lictor(bus, "runs", "show", request_id)
    assert code == 1
    assert f"request {request_id} has no journal: it is stale" in told


# -- what goes wrong on our own side ---------------------------------------------------------------


async def test_a_defect_before_it_begins_makes_the_request_stale_and_runs_nothing(
    bus: Bus,
) -> None:
    def broken() -> Approvers:
        raise RuntimeError("nobody foresaw this")

    request_id, delivery = await bus.approved(PAY)
    assert await bus.runner(approvers=broken).handle(delivery) == "stale"
    assert "a defect of the runner" in str((await bus.life(request_id)).reason)
    assert bus.bank.done() == []


async def test_a_defect_while_it_runs_leaves_it_to_be_taken_back(bus: Bus) -> None:
    def broken() -> datetime:
        # The clock is asked for every entry of the journal.
        if bus.bank.done():
            raise RuntimeError("nobody foresaw this")
        return bus.now()

    request_id, delivery = await bus.approved(PAY)
    with pytest.raises(BusError, match="being executed"):
        await bus.runner(now=broken).handle(delivery)
    assert bus.bank.done() == [["pay", "ada", 5]]
    # It is not acknowledged, so it comes again.
    assert await bus.runner().handle(delivery) == "in_doubt"
    assert (await bus.kinds(request_id))[-2:] == ["run_taken_over", "run_finished"]


async def test_a_runner_that_was_taken_over_before_it_heard_of_its_entry_does_not_go_on(
    bus: Bus, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_id = str(uuid.uuid4())
    journal = await StreamJournal.read(bus.client, None, TASK, run_id)
    send = publish_expecting

    async def lost(*args: Any) -> PublishAck:
        monkeypatch.setattr("lictor_bus.wire.appends.publish_expecting", send)
        await send(*args)
        taken = await StreamJournal.read(bus.client, None, TASK, run_id)
        await Run(run_id, TASK, taken, writer="another").write(RunTakenOver, runner="another")
        raise BusError("JetStream did not answer")

    monkeypatch.setattr("lictor_bus.wire.appends.publish_expecting", lost)
    with pytest.raises(Fenced):
        await Run(run_id, TASK, journal, writer="w").write(
            EffectStarted,
            call=0,
            effect="send",
            arguments={},
            idempotency_key=str(uuid.uuid4()),
            undo=UndoKind.IMPOSSIBLE,
        )


async def test_an_entry_that_the_broker_never_takes_is_not_waited_for(bus: Bus) -> None:
    journal = await StreamJournal.read(bus.client, None, TASK, str(uuid.uuid4()))
    run = Run(str(uuid.uuid4()), TASK, journal, writer="w")
    async with asyncio.timeout(5):
        with pytest.raises(EntryTooLarge, match="max_payload"):
            await run.write(
                EffectStarted,
                call=0,
                effect="send",
                arguments={"text": "x" * bus.client.max_payload},
                idempotency_key=str(uuid.uuid4()),
                undo=UndoKind.IMPOSSIBLE,
            )
    assert journal.entries == []
