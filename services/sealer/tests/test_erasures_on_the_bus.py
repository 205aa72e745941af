"""The messages of a sealed episode can be erased: its seals still verify, and say what is gone and on whose word."""

import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import pytest
from closing_bus import ERASED, KEY, TASK, Log, answering, closing_bus, record
from task_messages import gate_answer, proof, receipt, store, uuid
from test_corrections_on_the_bus import desk as corrections
from test_corrections_on_the_bus import order as correction

from lictor_bus.errors import BusError, MessageRefused
from lictor_bus.logs.episode_contents import erase_message, store_parts
from lictor_bus.names import streams, subjects
from lictor_bus.wire.read import read_all
from lictor_schema.core.canonical_json import canonical_json
from lictor_schema.core.ids import episode_id
from lictor_schema.seals.erasure import ErasureAnswer, ErasureOrder
from lictor_seal import TrustStore, verify_bundle
from lictor_sealer.correction import desk as correction_desk
from lictor_sealer.erasure import desk as erasure_desk
from lictor_sealer.erasure.desk import Erasures
from lictor_sealer.log.stream import EpisodeLog

EPISODE = episode_id(TASK, "e1")
TRUST = TrustStore.of([KEY.verifying_key])
NOW = datetime(2100, 1, 1, tzinfo=UTC)


@pytest.fixture
async def log(clean_infra) -> AsyncIterator[Log]:
    """A task with two records, two answers of a gate and a proof, sealed."""
    async with closing_bus(clean_infra) as log:
        await log.decide(record("e1"))
        await store(log.client, gate_answer(TASK, 1), gate_answer(TASK, 2), proof(TASK))
        await log.decide(record("e2", closes=True))
        await log.seal()
        yield log


def desk(log: Log) -> Erasures:
    return Erasures(log.client, EpisodeLog(log.client, KEY), lambda: NOW)


def order(number: int = 1, **fields: object) -> ErasureOrder:
    given = {"by": "ada", "reason": "the customer asked", "episode_id": EPISODE, **fields}
    return ErasureOrder.from_json(canonical_json({"request_id": uuid(number), **given}))


async def everything_stored(log: Log) -> bytes:
    stored = [each.body async for each in read_all(log.client, streams.CONTENTS, ">")]
    return b"\n".join(stored)


async def test_a_strand_is_erased_and_the_bundle_says_so(log):
    before = await log.messages()
    answer = await desk(log).erase(order(parts=["gates"]))
    assert (answer.outcome, answer.erased) == ("done", 2)
    after = await log.messages()
    assert after == {**before, "gates": [ERASED, ERASED]}
    report = verify_bundle(await log.bundle(), TRUST)
    assert report.verified is not None
    assert report.verified.contents is not None
    [told] = report.verified.contents.erasures
    assert (told.by, told.reason, told.erased_at) == (
        "ada",
        "the customer asked",
        "2100-01-01T00:00:00.000Z",
    )
    # Neither the bytes are left in the stream, nor a message that holds them.
    assert b"no evidence is attached" not in await everything_stored(log)


async def test_one_message_is_erased_and_the_others_stay(log):
    [first, _] = [each async for each in read_all(log.client, streams.GATES, ">")]
    before = await log.messages()
    answer = await desk(log).erase(order(parts=[f"gates:{first.sequence}"]))
    assert answer.erased == 1
    assert (await log.messages())["gates"] == [ERASED, before["gates"][1]]


async def test_everything_is_erased_when_nothing_is_named(log):
    answer = await desk(log).erase(order())
    assert answer.erased == 5
    assert {body for bodies in (await log.messages()).values() for body in bodies} == {ERASED}
    assert b'"body"' not in await everything_stored(log)
    assert b'"salt"' not in await everything_stored(log)


async def test_a_dry_run_tells_what_would_be_erased_and_erases_nothing(log):
    await desk(log).erase(order(parts=["proofs"]))
    stored = await everything_stored(log)
    answer = await desk(log).erase(order(2, dry_run=True))
    assert (answer.state, answer.erased, answer.already) == ("not erased: only looked", 4, 1)
    assert {each.strand: (each.carried, each.erased) for each in answer.strands} == {
        "records": (2, 0),
        "gates": (2, 0),
        "proofs": (0, 1),
    }
    assert await everything_stored(log) == stored
    assert len([each async for each in read_all(log.client, streams.ERASURES, ">")]) == 1


async def test_an_order_that_names_what_is_not_there_erases_nothing_and_hears_what_there_is(log):
    stored = await everything_stored(log)
    for parts, unknown in ((["gates:999"], "gates:999"), (["gates", "events"], "events")):
        for dry_run in (False, True):
            with pytest.raises(MessageRefused, match=f"has no {unknown};") as refused:
                await desk(log).erase(order(parts=parts, dry_run=dry_run))
            assert refused.value.remedy == (
                "name what there is: gates (at 1, 2), proofs (at 1), records (at 1, 2)"
            )
    assert await everything_stored(log) == stored
    assert [each async for each in read_all(log.client, streams.ERASURES, ">")] == []


async def test_what_was_erased_already_is_told_and_not_counted_again(log):
    await desk(log).erase(order(parts=["gates"]))
    again = await desk(log).erase(order(2, parts=["gates"]))
    assert (again.outcome, again.state) == ("done", "already erased")
    assert (again.erased, again.already) == (0, 2)
    rest = await desk(log).erase(order(3, parts=["gates", "proofs"]))
    assert (rest.state, rest.erased, rest.already) == ("erased", 1, 2)


async def test_the_erasure_is_recorded_where_nothing_can_be_erased(log):
    await desk(log).erase(order(parts=["proofs"]))
    [entry] = [each async for each in read_all(log.client, streams.ERASURES, ">")]
    told = json.loads(entry.body)
    assert (told["by"], told["reason"], told["parts"]) == ("ada", "the customer asked", ["proofs"])
    config = (await log.client.jetstream().stream_info(streams.ERASURES)).config
    assert config.deny_delete
    assert config.deny_purge


async def test_an_order_that_is_given_again_erases_once(log):
    first = await desk(log).erase(order(parts=["gates"]))
    stored = await everything_stored(log)
    assert await desk(log).erase(order(parts=["gates"])) == first
    assert await everything_stored(log) == stored
    assert len([each async for each in read_all(log.client, streams.ERASURES, ">")]) == 1


async def test_an_erasure_that_was_interrupted_is_completed_by_the_same_order(log, monkeypatch):
    async def broken(*_: object) -> None:
        raise BusError("the machine went down")

    monkeypatch.setattr(erasure_desk, "erase_message", broken)
    with pytest.raises(BusError, match="went down"):
        await desk(log).erase(order(parts=["gates"]))
    # What is exported is without them already, and what is left of them goes with the order given again.
    assert (await log.messages())["gates"] == [ERASED, ERASED]
    monkeypatch.setattr(erasure_desk, "erase_message", erase_message)
    answer = await desk(log).erase(order(parts=["gates"]))
    assert answer.erased == 2
    assert b"no evidence is attached" not in await everything_stored(log)


async def test_a_correction_does_not_bring_back_what_was_erased(log):
    await desk(log).erase(order(parts=["gates"]))
    await store(log.client, receipt(TASK, record("e2").record_id), gate_answer(TASK, 3))
    answer = await corrections(log).correct(correction())
    assert (answer.version, answer.late) == (2, 2)
    second = await log.messages(1)
    assert second["gates"][:2] == [ERASED, ERASED]
    # What came later is not what somebody had erased.
    assert second["gates"][2] != ERASED
    # Erased from every version.
    await desk(log).erase(order(2, parts=["receipts", "gates"]))
    assert (await log.messages(1))["receipts"] == [ERASED]
    assert (await log.messages(1))["gates"] == [ERASED] * 3
    assert b"no evidence is attached" not in await everything_stored(log)


async def test_what_another_sealer_erases_meanwhile_is_not_in_the_version_that_is_made(
    log, monkeypatch
):
    """The lock holds within one process; two sealers may be asked at once."""
    await store(log.client, receipt(TASK, record("e2").record_id))

    async def erased_elsewhere(*given: Any) -> None:
        monkeypatch.setattr(correction_desk, "store_parts", store_parts)
        await desk(log).erase(order(parts=["gates"]))
        await store_parts(*given)

    monkeypatch.setattr(correction_desk, "store_parts", erased_elsewhere)
    answer = await corrections(log).correct(correction())
    assert answer.version == 2
    assert (await log.messages(1))["gates"] == [ERASED, ERASED]
    assert (await log.messages(1))["receipts"] != [ERASED]
    assert b"no evidence is attached" not in await everything_stored(log)


async def test_a_task_that_is_sealed_again_after_an_erasure_stays_erased(log):
    await desk(log).erase(order())
    await log.seal()
    assert {body for bodies in (await log.messages()).values() for body in bodies} == {ERASED}


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"by": " "}, "names nobody"),
        # Whose acts the messages are about does not have them erased.
        ({"by": "agent"}, "is the actor of the episode, who can't erase it"),
        ({"by": "AGENT "}, "is the actor of the episode, who can't erase it"),
        ({"by": "Lictor.Sealer"}, "the sealer's own name"),
        ({"episode_id": "unheard-of"}, "no sealed episode"),
    ],
)
async def test_an_order_without_authority_or_about_nothing_is_refused(log, fields, why):
    with pytest.raises(MessageRefused, match=why):
        await desk(log).erase(order(**fields))
    assert [each async for each in read_all(log.client, streams.ERASURES, ">")] == []


async def test_the_desk_answers_whatever_it_is_asked(log):
    async def ask(body: bytes) -> ErasureAnswer:
        reply = await log.client.request(subjects.desk("erase"), body, timeout=5)
        return ErasureAnswer.from_json(reply.data)

    async with answering(log, desk(log).bound()):
        assert (await ask(b"{}")).outcome == "refused"
        assert (await ask(order(parts=["gates"]).to_json())).erased == 2
        other = await ask(order(reason="something else").to_json())
        assert "another erasure" in (other.reason or "")
