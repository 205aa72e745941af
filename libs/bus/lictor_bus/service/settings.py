"""Settings of a service, from the environment; a wrong value is one clear sentence."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from lictor_bus.errors import BusError
from lictor_bus.names.streams import DEFAULT_PARTITIONS
from lictor_bus.wire.connection import Whereabouts, url_in_file

DEFAULT_NATS_URL = "nats://127.0.0.1:4222"
MOST_PARTITIONS, MOST_REPLICAS = 256, 5
DEFAULT_REDIS_URL = "redis://127.0.0.1:6379/0"
_SHORTEST_KEY = 32


@dataclass(frozen=True, kw_only=True)
class ServiceSettings:
    """Where the broker and the store are, and how a service runs."""

    # They may hold passwords, which a repr must not show.
    nats_url: Whereabouts = field(default=DEFAULT_NATS_URL, repr=False)
    redis_url: str = field(default=DEFAULT_REDIS_URL, repr=False)
    redis_ca: Path | None = None
    """The certificates by which a Redis behind ``rediss://`` is known; those of the system without it."""
    state_key: bytes | None = field(default=None, repr=False)
    """What the tags on stored states are made with; None: anybody who writes to Redis can make them."""
    partitions: int = DEFAULT_PARTITIONS
    batch: int = 1000
    http_port: int | None = None
    http_host: str = "127.0.0.1"
    start_timeout_s: int = 60
    drain_timeout_s: int = 20
    log_level: str = "INFO"

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> "ServiceSettings":
        """Read ``LICTOR_*``."""
        return cls(
            nats_url=_nats_url(environment),
            redis_url=environment.get("LICTOR_REDIS_URL", DEFAULT_REDIS_URL),
            redis_ca=path_setting(environment, "LICTOR_REDIS_CA"),
            state_key=_state_key(environment),
            partitions=whole_setting(
                environment, "LICTOR_PARTITIONS", DEFAULT_PARTITIONS, 1, MOST_PARTITIONS
            ),
            batch=whole_setting(environment, "LICTOR_BATCH", 1000, 1, 1000),
            http_port=whole_setting(environment, "LICTOR_HTTP_PORT", 0, 0, 65535) or None,
            http_host=environment.get("LICTOR_HTTP_HOST", "127.0.0.1"),
            start_timeout_s=whole_setting(environment, "LICTOR_START_TIMEOUT_S", 60, 1, 3600),
            drain_timeout_s=whole_setting(environment, "LICTOR_DRAIN_TIMEOUT_S", 20, 1, 3600),
            log_level=_log_level(environment),
        )


def replicas_wanted(environment: Mapping[str, str] = os.environ) -> int:
    """How many replicas the streams get that are made."""
    return whole_setting(environment, "LICTOR_REPLICAS", 1, 1, MOST_REPLICAS)


def _nats_url(environment: Mapping[str, str]) -> Whereabouts:
    """An address, or the file that holds it: it is read again at each connection, since passwords are rotated."""
    path = path_setting(environment, "LICTOR_NATS_URL_FILE")
    if given := environment.get("LICTOR_NATS_URL"):
        return given
    if path is None:
        return DEFAULT_NATS_URL
    if url_in_file(path) is None:
        raise BusError(f"LICTOR_NATS_URL_FILE names {path}, which holds no address: correct it.")
    return partial(url_in_file, path)


def path_setting(environment: Mapping[str, str], name: str) -> Path | None:
    """A path; None where nothing is set."""
    text = environment.get(name, "")
    return Path(text) if text else None


def whole_setting(
    environment: Mapping[str, str], name: str, default: int, low: int, high: int
) -> int:
    """A whole number within bounds; the default where nothing is set."""
    text = environment.get(name, "")
    if not text:
        return default
    try:
        value = int(text)
    except ValueError:
        value = low - 1
    if not low <= value <= high:
        raise BusError(f"{name} is {text!r}: it must be a whole number from {low} to {high}.")
    return value


def _state_key(environment: Mapping[str, str]) -> bytes | None:
    """The key itself in LICTOR_STATE_KEY, or a file that holds it in LICTOR_STATE_KEY_FILE."""
    text, path = (
        environment.get("LICTOR_STATE_KEY", ""),
        environment.get("LICTOR_STATE_KEY_FILE", ""),
    )
    if text and path:
        raise BusError("Set LICTOR_STATE_KEY or LICTOR_STATE_KEY_FILE, not both.")
    variable = "LICTOR_STATE_KEY"
    if path:
        variable = "LICTOR_STATE_KEY_FILE"
        try:
            text = Path(path).read_text("utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise BusError(
                f"LICTOR_STATE_KEY_FILE names {path}, which can't be read: {error}"
            ) from None
    if not text and not path:
        return None
    if len(text) < _SHORTEST_KEY:
        raise BusError(
            f"{variable} gives a key of {len(text)} characters; {_SHORTEST_KEY} are needed."
        )
    return text.encode()


def _log_level(environment: Mapping[str, str]) -> str:
    level = environment.get("LICTOR_LOG_LEVEL", "INFO").upper()
    levels = ("DEBUG", "INFO", "WARNING", "ERROR")
    if level not in levels:
        raise BusError(f"LICTOR_LOG_LEVEL is {level!r}: it must be one of {', '.join(levels)}.")
    return level
