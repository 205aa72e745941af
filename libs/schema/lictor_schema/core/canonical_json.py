r"""Canonical JSON (RFC 8785), strict parsing, and the content hash.

The rules for the values JSON implementations disagree about:

| value | rule |
|---|---|
| 1 and 1.0 | one number: both become `1` and hash the same |
| -0.0 | becomes `0` |
| NaN, Infinity, 1e999 | refused, in both directions |
| integers beyond 2**53 - 1 | refused when canonicalised: 2**53 + 1 reads back as another number |
| doubles written like those | refused when canonicalised: 9007199254740992.0 |
| decimals beyond a double's precision | read as the nearest double, as RFC 8785 prescribes |
| NFC and NFD | different strings with different hashes; nothing is normalised |
| lone surrogates | refused, in both directions |
| duplicate keys | refused when parsed; "last one wins" would hide what was signed |
| keys that are not strings | refused; `{1: ...}` and `{"1": ...}` must not collide |
| nesting deeper than 64 | refused, in both directions |
"""

import hashlib
import json
import math
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any, Final, NoReturn, cast, get_args, get_origin

import orjson
import rfc8785

from lictor_schema.core.base_model import MAX_SAFE_INTEGER, ContentHash, Model
from lictor_schema.errors import SchemaError

__all__ = [
    "MAX_DEPTH",
    "CanonicalError",
    "ContentHash",
    "canonical_json",
    "content_hash",
    "hash_bytes",
    "parse_json",
    "refuse_duplicate_keys",
]

MAX_DEPTH: Final = 64
_FIRST_WITH_EXPONENT: Final = 1e21


class CanonicalError(SchemaError):
    """A value has no canonical JSON form, or a text is not JSON we accept."""


def canonical_json(value: object) -> bytes:
    """The RFC 8785 bytes of a model or a JSON-like value."""
    if isinstance(value, Model):
        value = value.model_dump(mode="json", by_alias=True)
    if _surely_plain(value):
        try:
            return plain_json(value)
        except CanonicalError:
            pass  # a lone surrogate: the careful walk below names the place
    _refuse_uncanonical(value, (), 0)
    return rfc8785.dumps(cast(Any, value))


def plain_json(value: object) -> bytes:
    """The bytes of a value without fractions: compact, names sorted by code points, nothing escaped needlessly.

    They are those of RFC 8785 unless a name holds a character beyond the BMP (see _surely_plain). Nothing is checked
    here: give it only what JSON's own types are made of.
    """
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except orjson.JSONEncodeError as error:
        raise CanonicalError(f"the document can't be written as JSON: {error}") from None


def content_hash(value: object) -> str:
    """The name of a value: `sha256:` and the hex digest of its canonical JSON."""
    return hash_bytes(canonical_json(value))


def hash_bytes(data: bytes) -> str:
    """`sha256:` and the hex digest of exactly these bytes."""
    return "sha256:" + hashlib.sha256(data).hexdigest()


def parse_json(data: bytes | str) -> Any:
    """Parse JSON text strictly; what it returns is finite, bounded in depth and encodable."""
    text = _text(data)
    value = _load(text)
    # Most documents can't hold a surrogate or nest too deep, as a look at their text shows.
    raw = isinstance(data, str) and not data.isascii()
    if raw or "\\u" in text or text.count("[") + text.count("{") > MAX_DEPTH:
        _refuse_unreadable(value, (), 0)
    return value


def refuse_duplicate_keys(data: bytes | str) -> None:
    """Raise when any object in the text names a key twice (or the text isn't JSON at all).

    Pydantic keeps the last of two equal keys and cannot be told otherwise.
    """
    if not _surely_unique(data):
        _load(_text(data))


def _surely_unique(data: bytes | str) -> bool:
    """Whether the text is JSON that names no key twice, found cheaply; False means "look closer".

    Without escapes every quote opens or closes a string. orjson keeps the last of two equal keys, so a key that stands
    twice is missing in what it writes back, and its quotes with it.
    """
    try:
        text = data.encode() if isinstance(data, str) else data
        if b"\\" in text:
            return False
        again = orjson.dumps(orjson.loads(text))
    except (ValueError, TypeError):
        return False  # not JSON, half of a surrogate pair, or nested too deep for orjson
    return again.count(b'"') == text.count(b'"')


def surely_without_duplicates(data: bytes, read: Model) -> bool:
    """Whether the text a model was read from holds no key twice, found without parsing it again.

    Without escapes every quote opens or closes a string, and a quote before a colon closes a key; so the
    keys in the text can be counted. If the model holds as many, none was lost. False means "look closer".
    """
    if b"\\" in data:
        return False
    # White space may stand between a key and its colon.
    return data.translate(None, b" \t\n\r").count(b'":') == _keys_in(read)


def _keys_in(read: Model) -> int:
    """How many keys the text of a model had, if none stood twice."""
    count = len(read.__pydantic_fields_set__)
    values = read.__dict__
    for name in _containers_of(type(read)):
        value = values[name]
        if value is None:
            continue
        if isinstance(value, tuple):
            for item in cast(tuple[object, ...], value):
                if isinstance(item, Model):
                    count += _keys_in(item)
        elif isinstance(value, Model):
            count += _keys_in(value)
        elif isinstance(value, dict):
            count += len(cast(dict[str, object], value))
    return count


@cache
def _containers_of(model: type[Model]) -> tuple[str, ...]:
    """The fields of a model that can hold keys of their own."""
    return tuple(
        name for name, field in model.model_fields.items() if _holds_keys(field.annotation)
    )


def _holds_keys(annotation: Any) -> bool:
    if isinstance(annotation, type) and not get_args(annotation):
        return issubclass(annotation, Model | dict | tuple)
    return get_origin(annotation) is dict or any(map(_holds_keys, get_args(annotation)))


def _text(data: bytes | str) -> str:
    if isinstance(data, str):
        return data
    try:
        # Decoded here because json.loads would also guess UTF-16 and UTF-32.
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise CanonicalError(
            f"the document is not UTF-8 (byte {error.start}); encode it as UTF-8"
        ) from None


def _load(text: str) -> Any:
    try:
        return _decode(text)
    except RecursionError:
        raise CanonicalError(_too_deep("the document")) from None
    except ValueError as error:
        raise CanonicalError(f"the document is not JSON: {error}; send one JSON value") from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise CanonicalError(
                    f"the key {_shown(key)} stands twice in one object; send it once"
                )
            seen.add(key)
    return members


def _refuse_constant(name: str) -> NoReturn:
    raise CanonicalError(f"{name} is not JSON; send a finite number or null")


def _finite(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise CanonicalError(f"{digits[:80]} is too large for a double; send it as a string")
    return number


_decode = json.JSONDecoder(
    object_pairs_hook=_unique, parse_constant=_refuse_constant, parse_float=_finite
).decode


def _surely_plain(value: object) -> bool:
    """Whether Python's own encoder writes this value as RFC 8785 demands, found cheaply.

    It does, several times faster than rfc8785, unless there are fractions (written differently) or
    keys beyond the BMP (RFC 8785 sorts by UTF-16 units, Python by code points). False means
    "look closer", not "refused".
    """
    level: list[object] = [value]
    for _ in range(MAX_DEPTH + 1):
        deeper: list[object] = []
        for item in level:
            kind = type(item)
            if kind is str or item is None or kind is bool:
                continue
            if kind is int:
                if not -MAX_SAFE_INTEGER <= cast(int, item) <= MAX_SAFE_INTEGER:
                    return False
            elif kind is dict:
                members = cast(dict[object, object], item)
                for key in members:
                    if type(key) is not str or not key.isascii():
                        return False
                deeper.extend(members.values())
            elif kind is list or kind is tuple:
                deeper.extend(cast(Sequence[object], item))
            else:
                return False
        if not deeper:
            return True
        level = deeper
    return False


def _refuse_uncanonical(value: object, path: tuple[str | int, ...], depth: int) -> None:
    if value is None or isinstance(value, bool):
        return
    if isinstance(value, str):
        _refuse_surrogates(value, path)
    elif isinstance(value, int):
        if abs(value) > MAX_SAFE_INTEGER:
            raise CanonicalError(f"{_at(path)} is an integer beyond 2**53 - 1; send it as a string")
    elif isinstance(value, float):
        if not math.isfinite(value):
            raise CanonicalError(f"{_at(path)} is {value}; send a finite number or null")
        # RFC 8785 writes these as integers, and then they would not be read back.
        if MAX_SAFE_INTEGER < abs(value) < _FIRST_WITH_EXPONENT:
            raise CanonicalError(
                f"{_at(path)} is a whole number beyond 2**53 - 1; send it as a string"
            )
    elif isinstance(value, dict | list | tuple):
        if depth >= MAX_DEPTH:
            raise CanonicalError(_too_deep(_at(path)))
        for key, member in _members(cast(dict[object, object] | Sequence[object], value)):
            if isinstance(value, dict):
                if not isinstance(key, str):
                    raise CanonicalError(
                        f"{_at(path)} has the key {_shown(key)}, which is not a string; use strings"
                    )
                _refuse_surrogates(key, path)
            _refuse_uncanonical(member, (*path, cast(str | int, key)), depth + 1)
    else:
        raise CanonicalError(
            f"{_at(path)} is a {type(value).__name__}, which JSON does not have; convert it first"
        )


def _members(value: dict[object, object] | Sequence[object]) -> Iterable[tuple[object, object]]:
    return value.items() if isinstance(value, dict) else enumerate(value)


def _refuse_unreadable(value: object, path: tuple[str | int, ...], depth: int) -> None:
    if isinstance(value, str):
        _refuse_surrogates(value, path)
    elif isinstance(value, dict | list):
        if depth >= MAX_DEPTH:
            raise CanonicalError(_too_deep(_at(path)))
        for key, member in _members(cast(dict[object, object] | Sequence[object], value)):
            if isinstance(key, str):
                _refuse_surrogates(key, path)
            _refuse_unreadable(member, (*path, cast(str | int, key)), depth + 1)


def _refuse_surrogates(text: str, path: tuple[str | int, ...]) -> None:
    if text.isascii():
        return
    try:
        text.encode()
    except UnicodeEncodeError:
        raise CanonicalError(
            f"{_at(path)} holds half of a surrogate pair, which is not text; send whole characters"
        ) from None


def _too_deep(where: str) -> str:
    return f"{where} is nested deeper than {MAX_DEPTH} levels; flatten it"


def _at(path: tuple[str | int, ...]) -> str:
    return "/".join(_escape(str(part)) for part in path) or "the document"


def _escape(part: str) -> str:
    return part[:80].encode("utf-8", "backslashreplace").decode()


def _shown(key: object) -> str:
    return ascii(key)[:80]
