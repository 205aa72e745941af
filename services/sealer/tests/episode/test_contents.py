"""A sealed episode is stored with every message that it covers, before its leaf, and the exported file carries them."""

import json
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from closing_bus import KEY, TASK, Log, closing_bus, record
from task_messages import gate_answer, receipt, store

from lictor_bus.errors import BusError
from lictor_bus.fold.processor import Sourced
from lictor_bus.logs.dead_letters import DeadLetters
from lictor_bus.names import streams, subjects
from lictor_bus.wire.publish import Outgoing, publish_one
from lictor_bus.wire.read import read_all
from lictor_schema.core.canonical_json import canonical_json, hash_bytes
from lictor_schema.decisions.decision import AttachedEvidence, DecisionRecord, EvidenceSummary
from lictor_schema.events.evidence import EvidenceClass, Quality
from lictor_seal import SealBundle, TrustStore
from lictor_sealer.episode.leaf_size import LEAF_SIZE
from lictor_sealer.episode.sealing import ClosedTask, SealingOutbox
from lictor_sealer.log.stream import DraftMessage, EpisodeLog


@pytest.fixture
async def log(clean_infra) -> AsyncIterator[Log]:
    async with closing_bus(clean_infra) as log:
        yield log


async def told(log: Log, event_id: str, body: bytes, **fields: Any) -> DecisionRecord:
    """An event in its stream, and the record that decides on it."""
    subject = subjects.event("test", TASK)
    sequence = await publish_one(log.client, streams.EVENTS, Outgoing(subject, body))
    decided = record(event_id, **fields).model_copy(
        update={"event_sequence": sequence, "event_sha256": hash_bytes(body)}
    )
    await log.decide(decided)
    return decided


async def stored_parts(log: Log) -> list[bytes]:
    return [
        each.body async for each in read_all(log.client, streams.CONTENTS, subjects.CONTENTS.all)
    ]


async def leaf(log: Log) -> bytes:
    [stored] = [each async for each in read_all(log.client, streams.EPISODES, subjects.EPISODE.all)]
    return stored.body


async def test_the_events_that_were_decided_on_travel_word_for_word(log):
    claim = b'{"title":"Pay the invoice","amount":50}'
    await told(log, "e1", b'{"title":"Pay"}')
    await told(log, "e2", claim, closes=True)
    # Of another task, and one that nobody decided on.
    for task in ("other", TASK):
        await publish_one(
            log.client, streams.EVENTS, Outgoing(subjects.event("test", task), b'{"no":1}')
        )
    await log.seal()
    assert (await log.messages())["events"] == [b'{"title":"Pay"}', claim]
    [episode] = await log.episodes()
    assert episode.sources is not None
    assert all(each.complete for each in episode.sources.strands)


async def test_no_plain_hash_by_which_a_message_could_be_guessed_is_in_the_log(log):
    claim = b'{"amount":50}'
    decided = await told(log, "e1", claim, closes=True)
    await log.seal()
    sealed = await leaf(log)
    assert hash_bytes(claim).encode() not in sealed
    assert hash_bytes(decided.to_json()).encode() not in sealed


async def test_an_event_that_is_gone_or_another_now_is_told_and_not_carried(log):
    await told(log, "e1", b'{"kept":1}')
    gone = await told(log, "e2", b'{"gone":1}', closes=True)
    await log.client.jetstream().delete_msg(streams.EVENTS, gone.event_sequence)
    await log.seal()
    [episode] = await log.episodes()
    assert episode.sources is not None
    assert {each.name: each.complete for each in episode.sources.strands} == {
        "records": True,
        "events": False,
    }
    assert (await log.messages())["events"] == [b'{"kept":1}']


async def test_that_every_event_is_gone_is_not_told_as_if_there_had_been_none(log, tmp_path):
    gone = await told(log, "e1", b'{"gone":1}', closes=True)
    await log.client.jetstream().delete_msg(streams.EVENTS, gone.event_sequence)
    await log.seal()
    [episode] = await log.episodes()
    assert episode.sources is not None
    assert [(each.name, each.count, each.complete) for each in episode.sources.strands] == [
        ("records", 1, True),
        ("events", 0, False),
    ]
    assert list(await log.messages()) == ["records"]
    # Whoever reads or verifies the file is told.
    file, trust = tmp_path / "episode.seal", tmp_path / "trust.json"
    file.write_bytes(await log.bundle())
    trust.write_bytes(TrustStore.of([KEY.verifying_key]).to_bytes())
    for verb in ("show", "verify"):
        ran = lictor_seal(verb, file, trust)
        assert ran.returncode == 0, ran.stderr
        assert "events: not every message was there any more when it was sealed" in ran.stdout
    assert f"{file} is genuine" in ran.stdout


def lictor_seal(verb: str, file: Path, trust: Path) -> subprocess.CompletedProcess[str]:
    command = [Path(sys.executable).with_name("lictor"), "seal", verb, file, "--trust", trust]
    return subprocess.run(command, capture_output=True, text=True, check=False)


class Failing(EpisodeLog):
    """Stands for a crash right before the leaf is stored."""

    async def append(self, entries: list[DraftMessage]) -> None:  # type: ignore[override]
        assert entries
        raise BusError("the machine went down")


async def test_a_crash_between_the_messages_and_the_leaf_leaves_nothing_double_or_missing(log):
    await told(log, "e1", b'{"a":1}')
    await store(log.client, gate_answer(TASK))
    await told(log, "e2", b'{"a":2}', closes=True)
    outbox = SealingOutbox(log.client, Failing(log.client, KEY), DeadLetters(log.client, "sealer"))
    closings = [Sourced(TASK, each.sequence, ClosedTask(each)) for each in await log.closings()]
    for _ in range(2):
        with pytest.raises(BusError, match="went down"):
            await outbox.publish(closings)
    before = await stored_parts(log)
    assert len(before) == 1
    assert await log.episodes() == []
    await log.seal()
    assert await stored_parts(log) == before
    assert {name: len(each) for name, each in (await log.messages()).items()} == {
        "records": 2,
        "events": 2,
        "gates": 1,
    }


async def test_messages_larger_than_the_broker_takes_together_are_cut_into_parts(log):
    bodies = [json.dumps({"n": n, "text": "\x01" * 60_000}).encode() for n in range(12)]
    for number, body in enumerate(bodies):
        await told(log, f"e{number}", body, closes=number == 11)
    await log.seal()
    parts = await stored_parts(log)
    assert len(parts) > 5
    assert max(map(len, parts)) < 512 * 1024
    assert (await log.messages())["events"] == bodies
    # The log's own leaf holds none of it.
    assert len(await leaf(log)) < 8_000


async def test_no_words_of_an_agent_make_an_episode_too_large_to_be_sealed(log):
    """Ids may have 512 characters, each of which may take six bytes."""
    from test_corrections_on_the_bus import desk, order

    def sizable(number: int) -> str:
        return f"{number:03}".ljust(512, "\x01")

    seen = [
        AttachedEvidence(
            evidence_id=sizable(n), evidence_class=EvidenceClass.TOOL_OUTPUT, quality=Quality.WEAK
        )
        for n in range(1000)
    ]
    decided = record("e1")
    evidence = EvidenceSummary(attached=tuple(seen))
    await log.decide(decided.model_copy(update={"evidence": evidence}))
    for number in range(1, 251):
        answer = gate_answer(TASK, number)
        words = answer.body.replace(b"no evidence is attached", b"\\u0001" * 500)
        await store(log.client, answer._replace(body=words))
        report = receipt(TASK, decided.record_id, number)
        name = canonical_json(sizable(number))
        words = report.body.replace(b'"receipt-%d"' % number, name)
        await store(log.client, report._replace(body=words))
    closing = record("e2", closes=True)
    assert closing.episode is not None
    stamp = closing.episode.model_copy(update={"title": "\x01" * 60_000})
    await log.decide(closing.model_copy(update={"episode": stamp}))
    await log.seal()
    [episode] = await log.episodes()
    assert len(episode.to_json()) <= LEAF_SIZE + 1024
    cut = {"context.evidenceRefs", "sources.gates", "sources.receipts"}
    assert set(episode.shortened) == cut
    assert episode.context.evidence_refs[0] == sizable(0)
    # Nothing of it is missing beside the leaf.
    messages = await log.messages()
    assert (len(messages["gates"]), len(messages["receipts"])) == (250, 250)
    corrected = await desk(log).correct(order(episode_id=episode.episode_id))
    assert corrected.version == 2
    assert set((await log.episodes())[-1].shortened) == cut


async def test_what_the_broker_puts_beside_the_parts_changes_nothing(log):
    """NATS puts answers wherever a question says."""
    await told(log, "e1", b"{}", closes=True)
    await log.seal()
    before = await log.messages()
    [part] = [each async for each in read_all(log.client, streams.CONTENTS, subjects.CONTENTS.all)]
    await publish_one(log.client, streams.CONTENTS, Outgoing(part.subject, b'{"type":"io.nats"}'))
    assert await log.messages() == before


async def test_a_further_version_stores_only_what_came_late(log):
    from test_corrections_on_the_bus import desk, order

    for number in range(12):
        body = json.dumps({"n": number, "text": "\x01" * 60_000}).encode()
        await told(log, f"e{number}", body, closes=number == 11)
    await log.seal()
    before = await stored_parts(log)
    closing = record("e11").record_id
    late = receipt(TASK, closing)
    await store(log.client, late)
    from lictor_schema.core.ids import episode_id

    await desk(log).correct(order(episode_id=episode_id(TASK, "e0")))
    after = await stored_parts(log)
    assert after[: len(before)] == before
    assert len(after) == len(before) + 1
    assert (await log.messages(1))["receipts"] == [late.body]
    assert "receipts" not in await log.messages(0)
    assert SealBundle.from_bytes((await log.bundle(1)).partition(b"\n")[0] + b"\n").with_contents
