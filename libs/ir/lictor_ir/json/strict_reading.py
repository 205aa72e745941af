"""Taking JSON values apart strictly: each function says where a value is not what it must be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from lictor_ir.errors import FormError

Path = tuple[str | int, ...]
_T = TypeVar("_T")


def spelled(path: Path) -> str:
    """`atoms[3].arguments.addr`."""
    whole = ""
    for part in path:
        if isinstance(part, int):
            whole += f"[{part}]"
        else:
            whole += f".{part}" if whole else part
    return whole or "the document"


def fail(path: Path, message: str) -> FormError:
    """The error that something is wrong there."""
    return FormError(f"{spelled(path)}: {message}")


def object_of(
    value: Any, path: Path, *required: str, optional: tuple[str, ...] = ()
) -> dict[str, Any]:
    """An object with these keys and no others."""
    if not isinstance(value, dict):
        raise fail(path, "must be an object")
    found = cast(dict[str, Any], value)
    if missing := [key for key in required if key not in found]:
        raise fail(path, f"lacks {', '.join(missing)}")
    if unknown := sorted(found.keys() - {*required, *optional}):
        raise fail(path, f"has keys that the format does not know: {', '.join(unknown)[:200]}")
    return found


def mapping_of(value: Any, path: Path, read: Callable[[Any, Path], _T]) -> dict[str, _T]:
    """An object whose keys are names, its values read one by one, in the order of the names."""
    if not isinstance(value, dict):
        raise fail(path, "must be an object")
    found = cast(dict[str, Any], value)
    return {
        name(key, (*path, key)): read(member, (*path, key)) for key, member in sorted(found.items())
    }


def items(value: Any, path: Path) -> list[Any]:
    """An array."""
    if not isinstance(value, list):
        raise fail(path, "must be an array")
    return cast(list[Any], value)


def list_of(value: Any, path: Path, read: Callable[[Any, Path], _T]) -> list[_T]:
    """An array whose items are read one by one."""
    return [read(item, (*path, at)) for at, item in enumerate(items(value, path))]


def tuple_of(value: Any, path: Path, read: Callable[[Any, Path], _T]) -> tuple[_T, ...]:
    """The same as a tuple."""
    return tuple(list_of(value, path, read))


def text(value: Any, path: Path) -> str:
    """A string."""
    if not isinstance(value, str):
        raise fail(path, "must be a string")
    return value


def text_or_none(value: Any, path: Path) -> str | None:
    """A string or null."""
    return None if value is None else text(value, path)


def name(value: Any, path: Path) -> str:
    """A string that is not empty."""
    found = text(value, path)
    if not found:
        raise fail(path, "must not be empty")
    return found


def integer(value: Any, path: Path) -> int:
    """An integer; not 1.0, and not true."""
    if type(value) is not int:
        raise fail(path, "must be an integer")
    return value
