"""The trust store: the file that says whose seals and checkpoints are believed.

It comes from outside the sealed material; keys that travel inside a bundle are never looked at.

    {"format": "lictor-trust-store/v1",
     "keys": [{"key_id": "ed25519:<64 hex digits>", "name": "example.org/log",
               "public_key": "<32 bytes in Base64>",
               "not_before": "2026-01-01T00:00:00.000Z",
               "not_after": "2026-12-31T23:59:59.999Z",
               "revoked": false}],
     "witnesses": [...], "witnesses_needed": 1,
     "groups": {"finance": ["alice@example.org", "bob@example.org"]}}

`not_before`, `not_after` (both inclusive) and `revoked` may be left out. A key that has retired
gets a `not_after`: what it sealed before stays valid. A key that was stolen gets `revoked`: its
thief can write any `sealedAt`, so nothing it signed is believed any more.

`witnesses` are entries of the same form, for keys that cosign checkpoints, and `witnesses_needed` says how many of them
a checkpoint must have; without them none is needed. No key can be two of all these: one key is one voice.

`groups` are names for several of the `keys`, for files of approvers; no seal and no checkpoint is believed for them. A
reader that does not know them refuses the file, as it does everything it does not know.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Final, Self, cast

from lictor_schema.core.canonical_json import CanonicalError, parse_json
from lictor_seal import base64_text
from lictor_seal.errors import SealError, TrustStoreError
from lictor_seal.keys import VerifyingKey
from lictor_seal.seal import parse_utc

FORMAT: Final = "lictor-trust-store/v1"

_REQUIRED: Final = frozenset({"key_id", "name", "public_key"})
_OPTIONAL: Final = frozenset({"not_before", "not_after", "revoked"})
_MAX_FILE_SIZE: Final = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class TrustedKey:
    """A key that is believed, with the limits of that belief."""

    key: VerifyingKey
    not_before: str | None = None
    not_after: str | None = None
    revoked: bool = False

    def __post_init__(self) -> None:
        try:
            start = parse_utc(self.not_before) if self.not_before is not None else None
            end = parse_utc(self.not_after) if self.not_after is not None else None
        except ValueError as error:
            raise TrustStoreError(f"key {self.key.name}: {error}") from error
        if start is not None and end is not None and end < start:
            raise TrustStoreError(
                f"key {self.key.name}: not_after {self.not_after} is before not_before"
                f" {self.not_before}; correct one of them"
            )

    def problem_at(self, time: datetime) -> str | None:
        """Why a seal of that time by this key is not believed, or None when it is."""
        if self.not_before is not None and time < parse_utc(self.not_before):
            return f"is trusted only from {self.not_before}"
        return self.problem_after(time)

    def problem_after(self, time: datetime) -> str | None:
        """Why something signed at that time or later is not believed, or None when it may be."""
        if self.revoked:
            return "is revoked"
        if self.not_after is not None and time > parse_utc(self.not_after):
            return f"is trusted only until {self.not_after}"
        return None

    def to_json_value(self) -> dict[str, object]:
        """This key's entry in the file."""
        entry: dict[str, object] = {
            "key_id": self.key.key_id,
            "name": self.key.name,
            "public_key": base64_text.encode(self.key.public_bytes),
        }
        if self.not_before is not None:
            entry["not_before"] = self.not_before
        if self.not_after is not None:
            entry["not_after"] = self.not_after
        if self.revoked:
            entry["revoked"] = True
        return entry


@dataclass(frozen=True, slots=True)
class KeyGroup:
    """A name for several keys, by theirs; a member that has no key here stands for nobody."""

    name: str
    members: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TrustStore:
    """The keys that are believed; no key stands in it twice."""

    keys: tuple[TrustedKey, ...]
    witnesses: tuple[TrustedKey, ...] = ()
    witnesses_needed: int = 0
    groups: tuple[KeyGroup, ...] = ()

    def __post_init__(self) -> None:
        if not 0 <= self.witnesses_needed <= len(self.witnesses):
            raise TrustStoreError(
                f"witnesses_needed is {self.witnesses_needed}, but {len(self.witnesses)} witnesses are named;"
                " name more of them or need fewer"
            )
        seen: set[str] = set()
        for trusted in (*self.keys, *self.witnesses):
            if trusted.key.key_id in seen:
                # Two entries could disagree about revocation, and one key could count as two.
                raise TrustStoreError(
                    f"the key {trusted.key.key_id} stands twice in the trust store;"
                    " keep one entry for each public key"
                )
            seen.add(trusted.key.key_id)

    @classmethod
    def of(cls, keys: Iterable[VerifyingKey]) -> Self:
        """A store that believes these keys without limit."""
        return cls(tuple(TrustedKey(key) for key in keys))

    def including(self, others: Iterable[TrustedKey]) -> Self:
        """The same with these keys too; of a key that stands here already, our own entry stays."""
        known = {trusted.key.key_id for trusted in (*self.keys, *self.witnesses)}
        added = {each.key.key_id: each for each in reversed([*others])}
        return replace(
            self, keys=(*self.keys, *(added[each] for each in sorted(added) if each not in known))
        )

    @classmethod
    def load(cls, path: Path) -> Self:
        """The store in a file; every TrustStoreError names the file."""
        return cls.of_file(path, cls.bytes_in(path))

    @staticmethod
    def bytes_in(path: Path) -> bytes:
        """What a file holds, unread; TrustStoreError when it can't be opened."""
        try:
            with path.open("rb") as file:
                return file.read(_MAX_FILE_SIZE + 1)
        except FileNotFoundError as error:
            raise TrustStoreError(
                f"there is no trust store {path}; ask the log's operator for the file"
            ) from error
        except OSError as error:
            raise TrustStoreError(f"cannot read the trust store {path}: {error}") from error

    @classmethod
    def of_file(cls, path: Path, data: bytes) -> Self:
        """The store that a file holds whose bytes are these."""
        try:
            return cls.from_bytes(data)
        except TrustStoreError as error:
            raise TrustStoreError(f"trust store {path}: {error}") from error

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """The store written in these bytes."""
        if len(data) > _MAX_FILE_SIZE:
            raise TrustStoreError(f"it is larger than {_MAX_FILE_SIZE} bytes")
        try:
            document: object = parse_json(data)
        except CanonicalError as error:
            raise TrustStoreError(f"{error}") from error
        if not isinstance(document, dict):
            raise TrustStoreError("expected a JSON object with `format` and `keys`")
        members = cast(dict[str, Any], document)
        if members.get("format") != FORMAT:
            raise TrustStoreError(f"`format` must be {FORMAT!r}")
        unknown = set(members) - {"format", "keys", "witnesses", "witnesses_needed", "groups"}
        if unknown:
            raise TrustStoreError(f"unknown members {ascii(sorted(unknown))[:120]}; remove them")
        needed: object = members.get("witnesses_needed", 0)
        if type(needed) is not int:
            raise TrustStoreError("`witnesses_needed` is not a whole number")
        return cls(
            _parse_entries("keys", members.get("keys")),
            _parse_entries("witnesses", members.get("witnesses", [])),
            needed,
            _parse_groups(members.get("groups", {})),
        )

    def to_bytes(self) -> bytes:
        """The file's content, indented for people."""
        document: dict[str, object] = {
            "format": FORMAT,
            "keys": [key.to_json_value() for key in self.keys],
        }
        if self.witnesses:
            document["witnesses"] = [key.to_json_value() for key in self.witnesses]
            document["witnesses_needed"] = self.witnesses_needed
        if self.groups:
            document["groups"] = {group.name: list(group.members) for group in self.groups}
        return (json.dumps(document, indent=2, ensure_ascii=False) + "\n").encode()

    def by_id(self, key_id: str) -> TrustedKey | None:
        """The key with this id, if it is in the store."""
        return next((trusted for trusted in self.keys if trusted.key.key_id == key_id), None)


def _parse_entries(name: str, entries: object) -> tuple[TrustedKey, ...]:
    if not isinstance(entries, list):
        raise TrustStoreError(f"expected the members `format` and `{name}` (an array)")
    return tuple(
        _parse_entry(f"{name}[{number}]", entry)
        for number, entry in enumerate(cast(list[object], entries))
    )


def _parse_groups(groups: object) -> tuple[KeyGroup, ...]:
    if not isinstance(groups, dict):
        raise TrustStoreError("`groups` is not an object of names and their members")
    return tuple(
        KeyGroup(name, _parse_members(name, members))
        for name, members in cast(dict[str, object], groups).items()
    )


def _parse_members(name: str, members: object) -> tuple[str, ...]:
    listed = cast(list[object], members) if isinstance(members, list) else []
    texts = tuple(member for member in listed if isinstance(member, str) and member)
    if not name or not texts or len(texts) != len(listed):
        raise TrustStoreError(
            f"the group {name[:80]!r} is not a list of one or more names of keys; correct or remove it"
        )
    return texts


def _parse_entry(where: str, entry: object) -> TrustedKey:
    if not isinstance(entry, dict):
        raise TrustStoreError(f"{where} is not an object")
    members = cast(Mapping[str, object], entry)
    missing, unknown = _REQUIRED - set(members), set(members) - _REQUIRED - _OPTIONAL
    if missing:
        raise TrustStoreError(f"{where} lacks {', '.join(sorted(missing))}")
    if unknown:
        # A misspelt `revoked` or `not_after` must not widen trust unnoticed.
        shown = ascii(sorted(unknown))[:120]
        raise TrustStoreError(f"{where} has unknown members {shown}; remove or correct them")
    texts = {name: value for name, value in members.items() if name != "revoked"}
    for name, value in texts.items():
        if not isinstance(value, str):
            raise TrustStoreError(f"{where}.{name} is not a string")
    revoked = members.get("revoked", False)
    if not isinstance(revoked, bool):
        raise TrustStoreError(f"{where}.revoked is neither true nor false")
    fields = cast(Mapping[str, str], texts)
    try:
        key = VerifyingKey(fields["name"], base64_text.decode(fields["public_key"]))
        trusted = TrustedKey(key, fields.get("not_before"), fields.get("not_after"), revoked)
    except ValueError as error:
        raise TrustStoreError(f"{where}.public_key is {error}") from error
    except SealError as error:
        raise TrustStoreError(f"{where}: {error}") from error
    if fields["key_id"] != key.key_id:
        raise TrustStoreError(
            f"{where}.key_id is {fields['key_id'][:80]!r}, but the id of its public_key is"
            f" {key.key_id}; copy the entry again from the key's owner"
        )
    return trusted


class TrustFile:
    """A trust store in a file that somebody else keeps: read again when the file was replaced."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._read: tuple[tuple[int, int, int], TrustStore] | None = None

    def __call__(self) -> TrustStore:
        """The store as the file holds it now; TrustStoreError when it holds none."""
        try:
            found = self._path.stat()
        except OSError:
            return TrustStore.load(self._path)
        version = (found.st_ino, found.st_mtime_ns, found.st_size)
        if self._read is None or self._read[0] != version:
            self._read = version, TrustStore.load(self._path)
        return self._read[1]
