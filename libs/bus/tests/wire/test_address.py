"""Addresses for people: never a user, a password or a token, whatever is wrong with the address."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lictor_bus.errors import BusError
from lictor_bus.service.settings import ServiceSettings
from lictor_bus.wire.address import shown
from lictor_bus.wire.connection import connect_nats
from lictor_bus.wire.redis_connection import connect_redis

MARK = "hunter2MARK"


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("nats://127.0.0.1:4222", "nats://127.0.0.1:4222"),
        (f"nats://ops:{MARK}@nats:4222", "nats://nats:4222"),
        (f"nats://{MARK}@nats", "nats://nats"),
        (f"tls://u:{MARK}@[::1]:4222", "tls://[::1]:4222"),
        (f"nats://u:{MARK}@a:1, nats://u:{MARK}@b:2", "nats://a:1, nats://b:2"),
        (f"redis://:{MARK}@redis:6379/0", "redis://redis:6379/0"),
        ("redis://127.0.0.1:6379/0", "redis://127.0.0.1:6379/0"),
        ("unix:///run/redis.sock?db=0", "unix:///run/redis.sock?db=0"),
        (f"unix://u:{MARK}@/run/redis.sock", "unix:///run/redis.sock"),
        (f"redis://h/0?password={MARK}", "an address that can't be read"),
        (f"redis://:p/{MARK}@redis:6379/0", "redis://redis:6379/0"),
        (f"nats://u:p,{MARK}@nats", "nats://nats"),
        (f"nats://u:p@{MARK}@nats", "nats://nats"),
        (f"nats://u:{MARK}", "an address that can't be read"),
        (f"u:{MARK}@nats", "an address that can't be read"),
        (MARK, "an address that can't be read"),
    ],
)
def test_an_address_is_shown_without_its_secrets(url: str, told: str) -> None:
    assert shown(url) == told


@given(
    st.sampled_from(["nats", "tls", "redis", "rediss", "unix"]),
    st.text(st.sampled_from("ab:/?#,[]% "), max_size=4),
    st.text(st.sampled_from("ab:/?#,[]%@ "), max_size=4),
    st.sampled_from(["h:1", "[::1]:2", "h:1,nats://u:p@k", "/run/x", "", "h:x", "h?a=b"]),
)
def test_no_spelling_shows_a_password(scheme: str, before: str, after: str, place: str) -> None:
    assert MARK not in shown(f"{scheme}://u:{before}{MARK}{after}@{place}")


@pytest.mark.parametrize(
    "url",
    [
        f"nats://u:{MARK}@127.0.0.1:1",
        f"nats://u:{MARK}@",
        f"nats://u:{MARK}/x@127.0.0.1:1",
        f"nats://u:{MARK}",
        f"{MARK}",
    ],
)
async def test_no_error_of_a_connection_shows_a_password(url: str) -> None:
    with pytest.raises(BusError) as nats:
        await connect_nats(url, name="test", timeout_s=5)
    with pytest.raises(BusError) as redis:
        await connect_redis(url.replace("nats://", "redis://"))
    assert MARK not in f"{nats.value!r}{nats.value.__cause__}{redis.value!r}{redis.value.__cause__}"


def test_the_settings_of_a_service_show_no_password() -> None:
    settings = ServiceSettings.from_environment(
        {"LICTOR_NATS_URL": f"nats://u:{MARK}@h", "LICTOR_REDIS_URL": f"redis://:{MARK}@h"}
    )
    assert MARK in str(settings.nats_url)
    assert MARK not in repr(settings)
