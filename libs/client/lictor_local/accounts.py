"""The folder of an installation's NATS accounts: who has which passwords, and what the server reads of it.

    accounts.json                every role's users and passwords: what the other files are written from
    server/accounts.conf         the server's configuration, which its own file includes
    credentials/ROLE/nats.url    the address of the server with a role's newest password, for whoever runs as it

All are readable by their owner only, and replaced as a whole. Passwords stand in no environment and on no command
line: those could not be changed without a restart, and other processes can read them.
"""

import fcntl
import json
import os
import secrets
import shutil
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from lictor.errors import LictorError
from lictor.fast.broker_address import credential_file
from lictor.installation.atomic_files import replace_file
from lictor_bus.errors import ReservedName
from lictor_bus.names import roles
from lictor_bus.names.server_accounts import accounts_config

FORMAT = "lictor-accounts/v1"
_PRIVATE_FILE = 0o600
_PRIVATE_FOLDER = 0o700
_PASSWORD_BYTES = 32


@dataclass(frozen=True, kw_only=True)
class Accounts:
    """Who has which passwords. A value: every change makes a new one."""

    address: str
    """``host:port`` of the server for runtimes and operators."""
    service_address: str
    """The same for services, which may reach it by another name."""
    runtimes: tuple[str, ...]
    users: Mapping[str, Mapping[str, str]]
    """Of each role its users with their passwords, the newest last; two while its password is rotated."""

    @classmethod
    def new(
        cls, runtimes: Iterable[str], *, address: str, service_address: str | None = None
    ) -> "Accounts":
        """Accounts with new passwords."""
        return cls(
            address=address, service_address=service_address or address, runtimes=(), users={}
        ).completed(runtimes)

    def completed(self, runtimes: Iterable[str] = ()) -> "Accounts":
        """With these runtimes too, and with a user for every role that has none yet."""
        names = tuple(dict.fromkeys((*self.runtimes, *runtimes)))
        users = {
            role.name: self.users.get(role.name) or {role.user: _new_password()}
            for role in _roles(names)
        }
        return replace(self, runtimes=names, users=users)

    def rotated(self, role: str) -> "Accounts":
        """With a second user of a role, and a new password; the first stays valid until it is retired."""
        users = self._of(role)
        if len(users) > 1:
            raise LictorError(
                f"{role} has two passwords already; retire the older one with `lictor account retire {role}` first."
            )
        user, _, generation = next(iter(users)).partition(".")
        following = f"{user}.{int(generation or 1) + 1}"
        return self._with(role, {**users, following: _new_password()})

    def retired(self, role: str) -> "Accounts":
        """With the newest user of a role alone."""
        users = self._of(role)
        if len(users) < 2:
            raise LictorError(
                f"{role} has one password; make a new one with `lictor account rotate {role}` first."
            )
        newest = list(users)[-1]
        return self._with(role, {newest: users[newest]})

    def without(self, runtime: str) -> "Accounts":
        """Without a runtime."""
        if runtime not in self.runtimes:
            raise LictorError(_unknown(runtime, "a runtime", self.runtimes))
        return replace(
            self,
            runtimes=tuple(name for name in self.runtimes if name != runtime),
            users={name: users for name, users in self.users.items() if name != runtime},
        )

    def url(self, role: str, *, newest: bool = True) -> str:
        """The address of the server, with a role's newest password, or with its oldest."""
        user, password = list(self._of(role).items())[-1 if newest else 0]
        ours = role not in (*self.runtimes, roles.OPERATORS)
        place = self.service_address if ours else self.address
        return f"nats://{user}:{password}@{place}"

    def config(self) -> str:
        """The server's configuration."""
        return accounts_config(_roles(self.runtimes), self.users)

    def _of(self, role: str) -> Mapping[str, str]:
        if role not in self.users:
            raise LictorError(_unknown(role, "a role", self.users))
        return self.users[role]

    def _with(self, role: str, users: Mapping[str, str]) -> "Accounts":
        return replace(self, users={**self.users, role: users})


def _roles(runtimes: Iterable[str]) -> tuple[roles.Role, ...]:
    try:
        return roles.roles(runtimes)
    except ReservedName as error:
        raise LictorError(f"{error}.") from None


def _unknown(name: str, kind: str, known: Iterable[str]) -> str:
    return f"{name!r} is not the name of {kind} here; there are {', '.join(known) or 'none'}."


def _new_password() -> str:
    return secrets.token_urlsafe(_PASSWORD_BYTES)


class AccountsFolder:
    """Where accounts are kept."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.config = path / "server" / "accounts.conf"
        self.credentials = path / "credentials"
        self._accounts = path / "accounts.json"

    @property
    def exists(self) -> bool:
        """Whether there are accounts."""
        return self._accounts.exists()

    def stamp(self) -> tuple[int, int]:
        """Differs when the server's configuration was written anew."""
        status = self.config.stat()
        return status.st_ino, status.st_mtime_ns

    def credential(self, role: str) -> Path:
        """The file with the address of the server for a role."""
        return Path(credential_file(str(self.credentials), role))

    def read(self) -> Accounts:
        """The accounts."""
        try:
            content = cast("dict[str, Any]", json.loads(self._accounts.read_bytes()))
            if content.pop("format") != FORMAT:
                raise ValueError
            content["runtimes"] = tuple(content["runtimes"])
            return Accounts(**content)
        except FileNotFoundError:
            raise LictorError(
                f"{self.path} has no accounts; `lictor up --secured` makes some for this directory,"
                " `lictor account init` for another server."
            ) from None
        except OSError as error:
            raise LictorError(f"{self._accounts} can't be read ({error.strerror}).") from None
        except (ValueError, TypeError, KeyError):
            raise LictorError(
                f"{self._accounts} is not a file of accounts; restore it from a backup."
            ) from None

    def write(self, accounts: Accounts) -> None:
        """Keep the accounts, and write what the server and the roles read."""
        wanted = {self.credential(role): accounts.url(role) for role in accounts.users}
        self.path.mkdir(mode=_PRIVATE_FOLDER, parents=True, exist_ok=True)
        for folder in (self.config.parent, self.credentials, *(path.parent for path in wanted)):
            if not folder.exists():
                folder.mkdir(mode=_PRIVATE_FOLDER)
                self._hand_over(folder)
        # First what everything else is made of: whatever fails after it can be written again.
        document = {
            "format": FORMAT,
            "address": accounts.address,
            "service_address": accounts.service_address,
            "runtimes": accounts.runtimes,
            "users": accounts.users,
        }
        self._replace(self._accounts, json.dumps(document, indent=2) + "\n")
        self._replace(self.config, accounts.config())
        for path, url in wanted.items():
            self._replace(path, f"{url}\n")
        for folder in set(self.credentials.iterdir()) - {path.parent for path in wanted}:
            shutil.rmtree(folder)

    @contextmanager
    def changing(self) -> Generator[None]:
        """Nobody else changes the accounts meanwhile."""
        self.path.mkdir(mode=_PRIVATE_FOLDER, parents=True, exist_ok=True)
        fd = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            yield
        finally:
            os.close(fd)

    def _replace(self, path: Path, text: str) -> None:
        content = text.encode()
        # A file that is as it should be is left alone: the server need not look at it again.
        if path.exists() and path.read_bytes() == content:
            return
        replace_file(path, content, mode=_PRIVATE_FILE)
        self._hand_over(path)

    def _hand_over(self, path: Path) -> None:
        if os.geteuid() == 0:
            # Made by root for the user whose folder it is, who has to be able to read it.
            owner = path.parent.stat()
            os.chown(path, owner.st_uid, owner.st_gid)
