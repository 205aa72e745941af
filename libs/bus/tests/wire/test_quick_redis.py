"""Questions to Redis over one connection: each gets its own answer, and a lost connection is told at once."""

import asyncio

import pytest
import redis.asyncio
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import ResponseError

from lictor_bus.wire.quick_redis import QuickRedis


@pytest.fixture
def met():
    return []


async def test_many_questions_at_once_get_their_own_answers(clean_infra, met):
    quick = QuickRedis(clean_infra.redis_url, met.append)
    await asyncio.gather(*(quick.ask("SET", f"k{n}", n) for n in range(500)))
    answers = await asyncio.gather(*(quick.ask("GET", f"k{n}") for n in range(500)))
    assert answers == [str(n).encode() for n in range(500)]
    assert await quick.ask("HMGET", "none", "a", "b") == [None, None]
    assert len(met) == 1
    assert b"run_id:" in met[0]
    quick.close()


async def test_an_error_of_redis_is_the_answer_to_one_question_only(clean_infra, met):
    quick = QuickRedis(clean_infra.redis_url, met.append)
    await quick.ask("SET", "text", "x")
    wrong, right = await asyncio.gather(
        quick.ask("HGET", "text", "a"), quick.ask("GET", "text"), return_exceptions=True
    )
    assert isinstance(wrong, ResponseError)
    assert right == b"x"
    quick.close()


async def test_a_question_whose_asker_gave_up_does_not_shift_the_answers(clean_infra, met):
    quick = QuickRedis(clean_infra.redis_url, met.append)
    await quick.ask("SET", "k", "v")
    given_up = asyncio.create_task(quick.ask("GET", "k"))
    await asyncio.sleep(0)
    given_up.cancel()
    assert await quick.ask("STRLEN", "k") == 1
    quick.close()


async def test_a_password_in_the_address_counts(own_servers, met):
    url = own_servers.redis_url
    async with redis.asyncio.from_url(url) as store:
        await store.config_set("requirepass", "s3cret/!")
    address = url.replace("unix://", "unix://:s3cret%2F%21@")
    quick = QuickRedis(address, met.append)
    await quick.ask("SELECT", 3)
    await quick.ask("SET", "k", "v")
    async with redis.asyncio.from_url(f"{address}?db=3") as store:
        assert await store.get("k") == b"v"
    quick.close()
    with pytest.raises(ResponseError, match="NOAUTH"):
        await QuickRedis(url, met.append).ask("GET", "k")


async def test_a_lost_connection_is_told_and_made_anew(own_servers, met):
    quick = QuickRedis(own_servers.redis_url, met.append)
    await quick.ask("SET", "k", "v")
    await own_servers.kill_redis()
    with pytest.raises(RedisConnectionError):
        await quick.ask("GET", "k")
    await own_servers.start_redis()
    assert await quick.ask("PING") == b"PONG"
    assert len({_run_id(server) for server in met}) == 2
    quick.close()


async def test_a_server_that_does_not_answer_is_given_up(own_servers, met):
    quick = QuickRedis(own_servers.redis_url, met.append, within_s=0.3)
    await quick.ask("PING")
    async with redis.asyncio.from_url(own_servers.redis_url) as store:
        await store.execute_command("CLIENT", "PAUSE", "1500")
    with pytest.raises(TimeoutError):
        await quick.ask("SET", "k", "v")
    async with asyncio.timeout(60):
        while True:
            try:
                assert await quick.ask("PING") == b"PONG"
                break
            except TimeoutError:
                continue
    quick.close()


def _run_id(server: bytes) -> bytes:
    return next(line for line in server.splitlines() if line.startswith(b"run_id:"))


@pytest.mark.parametrize(
    ("url", "plain"),
    [
        ("redis://127.0.0.1:6379/0", True),
        ("redis://user:word@host/2", True),
        ("rediss://host/0", False),
        ("unix:///run/redis.sock", True),
        ("unix:///run/redis.sock?db=3", False),
        ("redis://host/0?protocol=3", False),
    ],
)
def test_only_plain_addresses_are_taken(url, plain):
    assert QuickRedis.can_reach(url) is plain
