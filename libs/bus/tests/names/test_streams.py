"""Declaring streams: what is as it should be is left alone, what is not is put right, what can't be is told."""

from lictor_bus.names import streams


async def test_a_stream_that_is_as_it_should_be_is_not_written_again(bench, monkeypatch):
    await streams.declare(bench.client, *streams.STREAMS, partitions=2)
    js = bench.client.jetstream()

    async def refuse(*_given, **_named):
        raise AssertionError("nothing is to be updated")

    monkeypatch.setattr(type(js), "update_stream", refuse)
    await streams.declare(bench.client, *streams.STREAMS, partitions=2)


async def test_limits_that_somebody_set_are_taken_off_again(bench):
    js = bench.client.jetstream()
    for changes in (
        {"max_bytes": 4096},
        {"max_age": 3600.0},
        {"max_msgs": 7},
        {"allow_direct": False},
    ):
        config = (await js.stream_info(streams.DECISIONS)).config
        await js.update_stream(config.evolve(**changes))
        await streams.declare(bench.client, streams.DECISIONS, partitions=2)
        found = (await js.stream_info(streams.DECISIONS)).config
        assert (found.max_bytes, found.max_msgs, found.allow_direct) == (-1, -1, True)
        assert not found.max_age
