"""Changes of a document, place by place (RFC 6901 pointers): each says what it expects, all of them happen or none."""

from collections.abc import Iterable
from typing import Any, cast

from lictor_contracts.errors import ContractError
from lictor_schema.contracts.patch import PatchOperation
from lictor_schema.core.canonical_json import CanonicalError, canonical_json

_END = "-"
_SHOWN = 80


class PatchConflict(ContractError):
    """An operation does not fit the document: it has moved on since the patch was made."""

    def __init__(self, operation: PatchOperation, problem: str) -> None:
        super().__init__(f"{operation.op} {operation.path}: {problem}")
        self.operation = operation
        self.problem = problem


def changed(document: Any, operations: Iterable[PatchOperation]) -> Any:
    """The document after all operations; the one given stays as it is."""
    for operation in operations:
        document = _apply(document, operation, pointer_parts(operation.path))
    return document


def pointer_parts(path: str) -> tuple[str, ...]:
    """The parts of a pointer, unescaped."""
    parts = path.split("/")[1:]
    return tuple(part.replace("~1", "/").replace("~0", "~") for part in parts)


def pointer(*parts: str | int) -> str:
    """The pointer to a place."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in parts)


def same(one: object, other: object) -> bool:
    """Whether two values are the same JSON: true is not 1, and the order of keys says nothing."""
    try:
        return canonical_json(one) == canonical_json(other)
    except CanonicalError:
        return False


def _apply(node: Any, operation: PatchOperation, parts: tuple[str, ...]) -> Any:
    first, rest = parts[0], parts[1:]
    if isinstance(node, dict):
        return _in_object(cast("dict[str, Any]", node), operation, first, rest)
    if isinstance(node, list):
        return _in_array(cast("list[Any]", node), operation, first, rest)
    raise PatchConflict(operation, f"there is nothing below {_shown(node)} to change")


def _in_object(
    node: dict[str, Any], operation: PatchOperation, key: str, rest: tuple[str, ...]
) -> dict[str, Any]:
    if not rest and operation.op == "insert":
        if key in node:
            raise PatchConflict(operation, f"there is {_shown(node[key])} already; use set")
        return {**node, key: operation.new}
    if key not in node:
        raise PatchConflict(operation, f"there is no {key!r}; the document has moved on")
    if rest:
        return {**node, key: _apply(node[key], operation, rest)}
    _expect(operation, node[key])
    if operation.op == "set":
        return {**node, key: operation.new}
    return {name: value for name, value in node.items() if name != key}


def _in_array(
    node: list[Any], operation: PatchOperation, part: str, rest: tuple[str, ...]
) -> list[Any]:
    inserts = operation.op == "insert" and not rest
    index = _index(node, operation, part, len(node) if inserts else len(node) - 1)
    if rest:
        return [*node[:index], _apply(node[index], operation, rest), *node[index + 1 :]]
    if inserts:
        return [*node[:index], operation.new, *node[index:]]
    _expect(operation, node[index])
    kept = [operation.new] if operation.op == "set" else []
    return [*node[:index], *kept, *node[index + 1 :]]


def _index(node: list[Any], operation: PatchOperation, part: str, last: int) -> int:
    if part == _END and last == len(node):
        return last
    # RFC 6901: no leading zeros, no signs; ASCII only, unlike isdigit.
    if part.isascii() and part.isdigit() and str(int(part[:9])) == part and int(part) <= last:
        return int(part)
    raise PatchConflict(operation, f"the array has {len(node)} items and no place {part!r}")


def _expect(operation: PatchOperation, found: object) -> None:
    if not same(found, operation.old):
        raise PatchConflict(
            operation,
            f"there is {_shown(found)} instead of {_shown(operation.old)};"
            " the document has moved on",
        )


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
