"""A few of the random foreign messages; `python tests/attacks/fuzz/stream_readers.py` stores thousands."""

from stream_readers import fuzz

from lictor_local.embedded_servers import Endpoints


async def test_random_foreign_messages_stop_no_reader(clean_infra: Endpoints) -> None:
    found = await fuzz(clean_infra.nats_url, count=150, seed=15)
    assert found.stopped == ()
    assert found.foreign == 150
