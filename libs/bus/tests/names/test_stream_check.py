"""Looking at streams: what is missing, older or different is named with what to run, and nothing is changed."""

import pytest
from nats.js.errors import NotFoundError

from lictor_bus.errors import NeedsMigration, StreamMismatch
from lictor_bus.names import streams
from lictor_bus.names.older_subjects import with_runtime, without_runtime
from lictor_bus.names.stream_check import examine, require

APPLY = "run `lictor streams apply`"


async def test_what_is_as_it_should_be_has_no_trouble(bench):
    await streams.declare(bench.client, *streams.STREAMS, partitions=2)
    assert await examine(bench.client, tuple(streams.STREAMS), partitions=2) == []
    await require(bench.client, *streams.STREAMS)


async def test_a_missing_stream_is_named_and_not_made(bench):
    (found,) = await examine(bench.client, [streams.EVENTS, streams.PACKS], partitions=2)
    assert str(found) == f"stream PACKS is missing: {APPLY}"
    with pytest.raises(StreamMismatch, match="stream PACKS is missing"):
        await require(bench.client, streams.PACKS)
    with pytest.raises(NotFoundError):
        await bench.client.jetstream().stream_info(streams.PACKS)


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"max_msgs": 5}, "max_msgs"),
        ({"republish": None}, "republish"),
        ({"max_age": 3600}, "max_age"),
    ],
)
async def test_a_stream_that_differs_is_named_with_what_differs(bench, changes, named):
    js = bench.client.jetstream()
    config = (await js.stream_info(streams.DECISIONS)).config
    await js.update_stream(config.evolve(**changes))
    (found,) = await examine(bench.client, [streams.DECISIONS], partitions=2)
    assert str(found) == f"stream DECISIONS differs in {named}: {APPLY}"
    (declared,) = await streams.declare(bench.client, streams.DECISIONS, dry_run=True)
    assert (declared.change, declared.settings) == ("changed", (named,))
    assert await examine(bench.client, [streams.DECISIONS], partitions=2) == [found]
    await streams.declare(bench.client, streams.DECISIONS)
    assert await examine(bench.client, [streams.DECISIONS], partitions=2) == []


async def test_another_number_of_partitions_is_refused(bench):
    with pytest.raises(StreamMismatch, match="set LICTOR_PARTITIONS to match it"):
        await examine(bench.client, [streams.EVENTS], partitions=3)


async def test_a_stream_of_0_1_is_changed_while_it_is_empty_and_refused_when_it_is_not(bench):
    js = bench.client.jetstream()
    wanted = streams.STREAMS[streams.PROOFS].config(partitions=2, replicas=1, max_payload=1 << 20)
    older = wanted.evolve(subjects=["lictor.proof.*.*"], republish=None)
    await js.add_stream(older)
    (found,) = await examine(bench.client, [streams.PROOFS])
    assert (found.what, "lictor streams migrate" in found.detail) == ("older", True)
    await streams.declare(bench.client, streams.PROOFS)
    assert await examine(bench.client, [streams.PROOFS]) == []
    await js.delete_stream(streams.PROOFS)
    await js.add_stream(older)
    await js.publish("lictor.proof.proved.t", b"")
    with pytest.raises(NeedsMigration, match="lictor streams migrate"):
        await streams.declare(bench.client, streams.PROOFS)


async def test_metadata_that_somebody_noted_stays(bench):
    js = bench.client.jetstream()
    config = (await js.stream_info(streams.DECISIONS)).config
    await js.update_stream(config.evolve(max_msgs=5, metadata={"owner": "ada"}))
    await streams.declare(bench.client, streams.DECISIONS)
    assert ((await js.stream_info(streams.DECISIONS)).config.metadata or {})["owner"] == "ada"


@pytest.mark.parametrize("name", streams.STREAMS)
def test_only_what_got_a_runtime_has_an_older_form(name):
    for subject in streams.STREAMS[name].subjects:
        older = without_runtime(subject)
        assert older == subject or with_runtime(older, "*") == subject
