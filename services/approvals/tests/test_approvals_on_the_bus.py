"""Requests, decisions and staleness on a real broker."""

import asyncio
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from approval_bus import Bus
from approval_samples import ALICE, BOB, PROGRAM, REHEARSED
from approval_samples import submission as sample

from lictor.approvals import approval_of
from lictor.errors import NotInTime
from lictor.history.everyones_history import EveryonesHistory
from lictor_approval.decision_validity import ran, requested, withdrawn
from lictor_approval.request_binding import asked
from lictor_approval.signed_decisions import sign_decision
from lictor_bus.names import streams, subjects
from lictor_bus.wire.publish import Outgoing, publish_one
from lictor_schema.approvals.approval import ApprovalExecution, ApprovalState
from lictor_schema.core.canonical_json import content_hash
from lictor_schema.proofs.inputs import InputParameter
from lictor_schema.proofs.program import program_hash
from lictor_schema.proofs.proof import GuaranteeResult, ProofReason, ProofVerdict
from lictor_seal import SigningKey, TrustedKey, TrustStore

OTHER_LAYER = content_hash("another layer")
NOT_PROVED = {
    "verdict": ProofVerdict.REFUTED,
    "guarantees": (),
    "reasons": (ProofReason(code="c", message="m", remedy="r"),),
}


async def test_a_proved_program_is_asked_about_and_runs_by_a_signed_approval(bus: Bus) -> None:
    async with bus.service():
        submitted = await bus.prove()
        await bus.until_states("requested")
        (life,) = await bus.lives()
        assert life.program.binding.submission_id == submitted.submission_id
        assert life.program.binding.program_hash == program_hash(PROGRAM)
        answer = await bus.decide(life)
        assert (answer.outcome, answer.state) == ("done", "approved")
        (life,) = await bus.lives()
        assert life.decision is not None
        assert life.decision.by == ALICE.name


async def test_what_is_not_proved_or_can_not_run_is_asked_of_nobody(bus: Bus) -> None:
    async with bus.service():
        await bus.answer(await bus.submit(submission_id="s-refuted"), **NOT_PROVED)
        await bus.prove(submission_id="s-ir", language="ir", source_name="d.ir")
        with_inputs = await bus.submit(submission_id="s-inputs", source_name="i.py")
        never = ProofReason(code="inputs.not_run", message="main takes n", remedy="write it in")
        await bus.answer(with_inputs, cannot_run=never)
        await bus.until_handled()
        assert await bus.states() == []
        assert await bus.dead() == []


async def test_the_same_program_is_asked_about_once_for_each_set_of_values(bus: Bus) -> None:
    async with bus.service():
        await bus.prove(inputs={"limit": 50})
        await bus.prove(submission_id="s-2", inputs={"limit": 51})
        await bus.until_states("requested", "requested")
        lives = await bus.lives()
        assert [life.program.binding.inputs for life in lives] == [{"limit": 50}, {"limit": 51}]
        assert len({life.request.binding_hash for life in lives}) == 2
        # Another program of that name takes the place of both.
        await bus.prove(submission_id="s-3", program="pass", inputs={"limit": 51})
        await bus.until_states("stale", "stale", "requested")


async def test_values_that_are_not_those_of_the_program_are_asked_of_nobody(bus: Bus) -> None:
    """Whoever publishes past the SDK, and whatever a prover of another version makes of it."""
    takes = (InputParameter(name="limit", type="int"),)
    async with bus.service():
        for number, (inputs, parameters) in enumerate(
            [
                (None, takes),
                ({"limit": True}, takes),
                ({"limit": 5, "more": 5}, takes),
                ({"limit": 5}, ()),
                ({"limit": 5}, None),
            ]
        ):
            submitted = await bus.submit(submission_id=f"s-{number}", inputs=inputs)
            await bus.answer(submitted, parameters=parameters)
        await bus.until_handled()
        assert await bus.states() == []
        assert await bus.dead() == []


async def test_one_submission_id_with_two_sets_of_values_is_set_aside(bus: Bus) -> None:
    async with bus.service():
        first = await bus.submit(inputs={"limit": 1})
        await bus.submit(inputs={"limit": True})
        await bus.answer(first)
        await bus.until_handled()
        assert await bus.states() == []
        (dead,) = await bus.dead()
        assert "which one was proved is unknown" in dead.letter.reason


async def test_an_agent_is_told_where_its_approval_stands_now_and_not_what_was_so_once(
    bus: Bus,
) -> None:
    async with bus.service():
        submitted = await bus.submit()
        result = await bus.answer(submitted)
        await bus.until_states("requested")
        (life,) = await bus.lives()
        await bus.decide(life)
        assert (
            await approval_of(EveryonesHistory(bus.client), result, 10)
        ).state is ApprovalState.APPROVED
        # The runner finds that it can't run: what was approved is so no more.
        (life,) = await bus.lives()
        await bus.write(withdrawn(life, ApprovalState.STALE, bus.now(), "the layer is another"))
        told = await approval_of(EveryonesHistory(bus.client), result, 10)
        assert (told.state, told.reason) == (ApprovalState.STALE, "the layer is another")
        # A request in its place is waited for, and counts instead.
        bus.layers[:] = [OTHER_LAYER]
        await bus.answer(submitted, layer_hash=OTHER_LAYER)
        await bus.until_states("stale", "requested")
        _, again = await bus.lives()
        with pytest.raises(NotInTime):
            await approval_of(EveryonesHistory(bus.client), result, 0.5)
        await bus.decide(again)
        assert (
            await approval_of(EveryonesHistory(bus.client), result, 10)
        ).state is ApprovalState.APPROVED


async def test_proofs_that_come_again_make_one_request(bus: Bus) -> None:
    submitted = await bus.submit()
    for _ in range(3):
        await bus.answer(submitted)
    async with bus.service():
        await bus.until_handled()
    js = bus.client.jetstream()
    await js.delete_consumer(streams.PROOFS, "approvals")
    async with bus.service():
        await bus.until_handled()
        assert [entry.state.value for entry in await bus.entries()] == ["requested"]


@pytest.mark.parametrize(
    ("named", "why"),
    [
        (1, "the request shows another rehearsal than its proof"),
        (2, "the request names a proof that does not say what it shows"),
        (7, "the request names a proof that does not say what it shows"),
    ],
    ids=["its own", "that of another submission", "none"],
)
async def test_a_request_that_shows_a_rehearsal_which_its_proof_does_not_is_withdrawn(
    bus: Bus, named: int, why: str
) -> None:
    """Somebody writes to the log in the place of the service; the binding, which is signed, is right."""
    submitted = await bus.submit()
    result = await bus.answer(submitted, rehearsal=None)
    await bus.answer(submitted.model_copy(update={"submission_id": str(uuid4())}))
    shown = result.model_copy(update={"rehearsal": REHEARSED})
    await bus.write(
        requested(asked(submitted, 1, shown, named, at=bus.now(), within=timedelta(hours=1)))
    )
    async with bus.service():
        await bus.until_states("stale")
        (life,) = await bus.lives()
        assert life.reason == why


async def test_a_proof_that_comes_again_with_other_runs_leaves_the_request_as_it_is(
    bus: Bus,
) -> None:
    """Every proof draws a seed of its own; nobody forged anything, and nobody has to decide again."""
    async with bus.service():
        submitted = await bus.prove()
        await bus.until_states("requested")
        again = REHEARSED.model_copy(update={"seed": "b" * 32, "runs": REHEARSED.runs + 1})
        await bus.answer(submitted, rehearsal=again)
        await bus.until_handled()
        assert await bus.states() == ["requested"]
        less = REHEARSED.model_copy(update={"seed": "c" * 32, "refused": "no rehearser is running"})
        await bus.answer(submitted, rehearsal=less)
        await bus.until_states("stale")


async def test_a_decision_is_taken_once_and_handed_in_again_it_is_the_same(bus: Bus) -> None:
    async with bus.service():
        await bus.prove()
        await bus.until_states("requested")
        (life,) = await bus.lives()
        signed = sign_decision(bus.decision(life), ALICE)
        first = await bus.hand_in(life.request.request_id, signed)
        again = await bus.hand_in(life.request.request_id, signed)
        assert (first.state, again.state) == ("approved", "approved")
        other = await bus.decide(life, BOB)
        assert "already" in str(other.reason)
        assert [entry.state.value for entry in await bus.entries()] == ["requested", "approved"]


async def test_of_many_who_decide_at_once_one_is_heard(bus: Bus) -> None:
    async with bus.service():
        await bus.prove()
        await bus.until_states("requested")
        (life,) = await bus.lives()
        answers = await asyncio.gather(
            *(bus.decide(life, key) for key in (ALICE, BOB) for _ in range(5))
        )
        assert [each.outcome for each in answers].count("done") == 1
        assert len(await bus.entries()) == 2


async def test_an_approval_is_taken_back_until_the_program_starts(bus: Bus) -> None:
    async with bus.service():
        await bus.prove()
        await bus.until_states("requested")
        (life,) = await bus.lives()
        await bus.decide(life)
        back = await bus.decide(life, BOB, decision="reject", reason="wait")
        assert back.state == "rejected"


async def test_what_has_started_can_not_be_decided_and_does_not_become_stale(bus: Bus) -> None:
    async with bus.service():
        await bus.prove()
        await bus.until_states("requested")
        (life,) = await bus.lives()
        await bus.decide(life)
        (life,) = await bus.lives()
        execution = ApprovalExecution(
            execution_id="00000000-0000-4000-8000-0000000000ee",
            runner="runner",
            binding_hash=life.request.binding_hash,
        )
        await bus.write(ran(life, ApprovalState.EXECUTING, execution, bus.now(), None))
        late = await bus.decide(life, BOB, decision="reject", reason="stop")
        assert "`executing` already" in str(late.reason)
        await bus.prove(submission_id="s-2")
        await bus.until_states("executing", "requested")


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"binding_hash": content_hash("another")}, "the request is about"),
        ({"request_id": "00000000-0000-5000-8000-000000000001"}, "is about request"),
        ({"by": BOB.name}, "and signed by"),
    ],
)
async def test_a_decision_about_anything_else_changes_nothing(
    bus: Bus, change: dict[str, Any], why: str
) -> None:
    async with bus.service():
        await bus.prove()
        await bus.until_states("requested")
        (life,) = await bus.lives()
        answer = await bus.decide(life, **change)
        assert why in str(answer.reason)
        assert await bus.states() == ["requested"]


async def test_a_decision_replayed_for_another_request_changes_nothing(bus: Bus) -> None:
    async with bus.service():
        await bus.prove()
        await bus.prove(submission_id="s-2", source_name="other.py")
        await bus.until_states("requested", "requested")
        first, second = await bus.lives()
        signed = sign_decision(bus.decision(first), ALICE)
        answer = await bus.hand_in(second.request.request_id, signed)
        assert "is about request" in str(answer.reason)
        assert await bus.states() == ["requested", "requested"]


async def test_only_keys_that_count_now_are_heard(bus: Bus) -> None:
    async with bus.service():
        await bus.prove()
        await bus.until_states("requested")
        (life,) = await bus.lives()
        stranger = SigningKey.from_seed(ALICE.name, b"x" * 32)
        assert "not signed by an approver" in str((await bus.decide(life, stranger)).reason)
        # The file is read again for each decision: a revoked key counts no more, without a restart.
        revoked = TrustStore((TrustedKey(ALICE.verifying_key, revoked=True),))
        (bus.keys / "approvers.json").write_bytes(revoked.to_bytes())
        assert "is revoked" in str((await bus.decide(life)).reason)
        (bus.keys / "approvers.json").write_bytes(b"{}")
        assert "trust store" in str((await bus.decide(life)).reason)
        assert await bus.states() == ["requested"]


async def test_an_agent_never_approves_its_own_program(bus: Bus) -> None:
    async with bus.service():
        await bus.prove(agent_id="Alice@Example.org")
        await bus.until_states("requested")
        (life,) = await bus.lives()
        assert "submitted the program" in str((await bus.decide(life)).reason)
        assert (await bus.decide(life, BOB)).state == "approved"


async def test_a_newer_version_of_a_program_makes_the_older_request_stale(bus: Bus) -> None:
    async with bus.service():
        await bus.prove()
        await bus.until_states("requested")
        await bus.prove(submission_id="s-2", program=PROGRAM + "\n")
        await bus.until_states("stale", "requested")
        (older, _) = await bus.lives()
        assert "submitted anew as s-2" in str(older.reason)


async def test_a_newer_version_that_is_not_proved_yet_can_not_be_overlooked(bus: Bus) -> None:
    async with bus.service():
        await bus.prove()
        await bus.until_states("requested")
        await bus.submit(submission_id="s-2", program=PROGRAM + "\n")
        (life,) = await bus.lives()
        answer = await bus.decide(life)
        assert (answer.outcome, answer.state) == ("refused", "stale")
        assert await bus.states() == ["stale"]


async def test_an_older_version_that_is_proved_later_is_asked_of_nobody(bus: Bus) -> None:
    async with bus.service():
        older = await bus.submit()
        await bus.prove(submission_id="s-2", program=PROGRAM + "\n")
        await bus.until_states("requested")
        await bus.answer(older)
        await bus.until_handled()
        assert await bus.states() == ["requested"]


@pytest.mark.parametrize(
    ("change", "names", "states"),
    [
        ({"engine": "prover-2"}, "engine", ["stale", "requested"]),
        ({"ir_hash": content_hash("ir 2")}, "ir_hash", ["stale", "requested"]),
        (
            {"certificate_hash": content_hash("c"), "certificate_level": "c"},
            "certificate_hash",
            ["stale", "requested"],
        ),
        (
            {"guarantees": (GuaranteeResult(name="less", verdict=ProofVerdict.PROVED),)},
            "guarantees_hash",
            ["stale", "requested"],
        ),
        (NOT_PROVED, "refuted", ["stale"]),
    ],
)
async def test_what_is_proved_anew_otherwise_makes_an_approval_stale(
    bus: Bus, change: dict[str, Any], names: str, states: list[str]
) -> None:
    async with bus.service():
        submitted = await bus.prove()
        await bus.until_states("requested")
        (life,) = await bus.lives()
        await bus.decide(life)
        await bus.answer(submitted, **change)
        await bus.until_states(*states)
        assert names in str((await bus.lives())[0].reason)


async def test_a_layer_that_changed_makes_requests_stale_at_the_decision(bus: Bus) -> None:
    async with bus.service():
        await bus.prove()
        await bus.until_states("requested")
        (life,) = await bus.lives()
        bus.layers[:] = [OTHER_LAYER, *bus.layers]
        answer = await bus.decide(life)
        assert "current trusted layer" in str(answer.reason)
        assert await bus.states() == ["stale"]


async def test_a_layer_that_changed_makes_requests_and_approvals_stale_at_the_start(
    bus: Bus,
) -> None:
    async with bus.service():
        await bus.prove()
        await bus.until_states("requested")
        (life,) = await bus.lives()
        assert (await bus.decide(life)).state == "approved"
    bus.layers[:] = [OTHER_LAYER]
    async with bus.service():
        await bus.until_states("stale")


async def test_a_stranger_s_decision_does_not_even_make_a_request_stale(bus: Bus) -> None:
    async with bus.service():
        await bus.prove()
        await bus.until_states("requested")
        (life,) = await bus.lives()
        bus.layers.clear()
        await bus.decide(life, SigningKey.from_seed("mallory", b"x" * 32))
        assert await bus.states() == ["requested"]


async def test_bad_messages_become_dead_letters_and_the_next_is_handled(bus: Bus) -> None:
    async with bus.service():
        wrong = Outgoing(subjects.proof(None, "proved", "t-1"), b'{"verdict": "proved"}')
        await publish_one(bus.client, streams.PROOFS, wrong)
        # No such submission was made.
        await bus.answer(sample(submission_id="s-nowhere"))
        twice = await bus.submit(submission_id="s-twice")
        await bus.submit(submission_id="s-twice", agent_id="somebody else")
        await bus.answer(twice)
        await bus.prove(submission_id="s-9", source_name="nine.py")
        await bus.until_states("requested")
        reasons = [letter.letter.reason for letter in await bus.dead()]
        assert len(reasons) == 3
        assert "no submission s-nowhere" in reasons[1]
        assert "is unknown" in reasons[2]


async def test_nonsense_at_the_desk_is_refused_in_words(bus: Bus) -> None:
    async with bus.service():
        asked = await bus.client.request(subjects.desk("approval"), b"{}", timeout=10)
        assert b'"refused"' in asked.data
        nobody = "00000000-0000-5000-8000-000000000001"
        assert "no request" in str((await bus.hand_in(nobody, "yes")).reason)
        await bus.prove()
        await bus.until_states("requested")
        (life,) = await bus.lives()
        answer = await bus.hand_in(life.request.request_id, "yes")
        assert "no signed note" in str(answer.reason)


@pytest.mark.parametrize("minutes", [-6, 6])
async def test_a_clock_that_is_far_off_is_told_so(bus: Bus, minutes: int) -> None:
    async with bus.service():
        await bus.prove()
        await bus.until_states("requested")
        (life,) = await bus.lives()
        bus.apart = timedelta(minutes=minutes)
        answer = await bus.decide(life)
        assert answer.outcome == "refused"
        assert await bus.states() == ["requested"]
