"""Who may touch what in Redis: a user for each service, as data and as the server's ACL file.

``python -m lictor_bus.names.redis_users`` writes the file with the name of a variable in the place of each password
(``REDIS_PASSWORD_<USER>``), from which ``deploy/make-secrets`` makes the real one.

Each service reads and writes keys of its own prefixes only, with the commands that it uses; a script may do no more
than whoever sends it. None can configure the server, empty it or list its users. ``SCAN`` tells the names of all keys,
not what they hold.
"""

import hashlib
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass

_CONNECTION = ("ping", "hello", "auth", "select", "client|setinfo", "client|setname")
_SCRIPTS = ("eval", "evalsha", "script|load")
_FOLD = (
    *_SCRIPTS,
    *("get", "set", "mget", "scan", "unlink", "del", "hget", "hset", "expire", "persist"),
)
_SESSIONS = (*_FOLD, "hmget", "hgetall", "hdel", "multi", "exec", "info")


@dataclass(frozen=True, kw_only=True)
class RedisUser:
    """A user: the prefixes of its keys, and its commands."""

    user: str
    prefixes: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()


USERS = (
    RedisUser(user="policy-evaluator", prefixes=("lictor:{policy-evaluator:",), commands=_FOLD),
    RedisUser(user="sealer", prefixes=("lictor:{sealer:",), commands=_FOLD),
    RedisUser(user="supervisor", prefixes=("lictor:{supervisor:",), commands=_FOLD),
    RedisUser(
        user="feedback", prefixes=("lictor:{feedback:", "lictor:feedback:"), commands=_SESSIONS
    ),
    RedisUser(
        user="prover", prefixes=("lictor:prover:",), commands=("get", "set", "unlink", "del")
    ),
    # They keep nothing there, and look whether it is up as all services do.
    RedisUser(user="approvals"),
    RedisUser(user="runner"),
)
HEALTH = "health"
"""For the server's own health check: it may say PING, and needs no password."""


def password_variable(user: str) -> str:
    """The variable that holds the user's password."""
    return "REDIS_PASSWORD_" + user.replace("-", "_").upper()


def acl_file(passwords: Mapping[str, str]) -> str:
    """The server's ACL file, with digests of the passwords."""
    return _written(lambda user: hashlib.sha256(passwords[user].encode()).hexdigest())


def acl_template() -> str:
    """The same, with a variable in the place of each digest."""
    return _written(lambda user: "$" + password_variable(user))


def _written(digest: Callable[[str], str]) -> str:
    lines = ["user default off", f"user {HEALTH} on nopass resetkeys resetchannels -@all +ping"]
    for each in USERS:
        keys = " ".join(f"~{prefix}*" for prefix in each.prefixes)
        commands = " ".join(f"+{command}" for command in (*_CONNECTION, *each.commands))
        lines.append(
            f"user {each.user} on resetpass #{digest(each.user)} resetkeys resetchannels"
            f"{' ' * bool(keys)}{keys} -@all {commands}"
        )
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.stdout.write(acl_template())
