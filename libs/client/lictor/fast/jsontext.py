"""JSON for a process that must start fast: importing `json` takes as long as half of Python's own start.

The C functions behind it are used directly where they are as expected. Whatever they refuse is given to `json`
itself, so that what is accepted, and every error, is the same.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_SPACE = " \t\n\r"


def parse(data: bytes) -> "Any":
    """The value in a JSON text; `ValueError` when there is none, or an object names a key twice."""
    text = data.decode()
    if _scan is not None:
        try:
            start = len(text) - len(text.lstrip(_SPACE))
            value, end = _scan(text, start)
            if not text[end:].strip(_SPACE):
                return value
        except Exception:  # noqa: BLE001 -- it has no errors of its own; `json` below says what is wrong
            pass
    import json

    try:
        return json.loads(text, object_pairs_hook=_without_duplicates)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def write(value: object) -> bytes:
    """A value as compact JSON in UTF-8; `ValueError` or `TypeError` for what has no such form."""
    if _encode is not None:
        try:
            return "".join(_encode(value, 0)).encode()
        except Exception:  # noqa: BLE001 -- as above
            pass
    import json

    try:
        return json.dumps(
            value, ensure_ascii=False, allow_nan=False, separators=(",", ":")
        ).encode()
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _without_duplicates(pairs: "list[tuple[str, Any]]") -> "dict[str, Any]":
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a JSON object names a key twice")
    return found


def _refuse(value: object) -> object:
    raise TypeError(f"a {type(value).__name__} has no JSON form")


class _Context:
    """What the C scanner reads its options from."""

    strict = True
    object_hook = None
    object_pairs_hook = staticmethod(_without_duplicates)
    parse_float = float
    parse_int = int
    parse_constant = float


_scan: "Any" = None
_encode: "Any" = None
try:
    import _json  # pyright: ignore[reportMissingImports] -- private, and not everywhere

    _scan = _json.make_scanner(_Context)  # pyright: ignore
    _encode = _json.make_encoder(  # pyright: ignore
        None,
        _refuse,
        _json.encode_basestring,
        None,
        ":",
        ",",
        False,
        False,
        False,  # pyright: ignore
    )
except (ImportError, AttributeError, TypeError):
    pass
