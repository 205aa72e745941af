"""Conditions in words, as people read them aloud."""

from collections.abc import Iterator, Mapping
from typing import Any, cast

from lictor_schema.packs.pack import COMPARATORS, Condition


def parts_of(condition: Condition) -> tuple[str, tuple[Condition, ...]]:
    """What a group is and what it holds; `leaf` and nothing for the others."""
    if condition.all_of is not None:
        return "all", condition.all_of
    if condition.any_of is not None:
        return "any", condition.any_of
    if condition.negated is not None:
        return "not", (condition.negated,)
    return "leaf", ()


def leaves_of(condition: Condition) -> Iterator[Condition]:
    """Every leaf of a condition."""
    kind, parts = parts_of(condition)
    if kind == "leaf":
        yield condition
    for part in parts:
        yield from leaves_of(part)


def condition_text(condition: Condition) -> str:
    """The whole condition in one line."""
    kind, parts = parts_of(condition)
    if kind == "leaf":
        return leaf_text(condition)
    return f"{kind}({', '.join(map(condition_text, parts))})"


def leaf_text(condition: Condition) -> str:
    """What a leaf asks, and what the answer must be."""
    given = condition.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    asked = [_asked(name, value) for name, value in given.items() if name not in COMPARATORS]
    wanted = [f"{name} {scalar(value)}" for name, value in given.items() if name in COMPARATORS]
    return " ".join((*asked, *wanted))


def scalar(value: Any) -> str:
    """A value as YAML would write it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(scalar, cast('list[Any]', value)))}]"
    return '""' if value == "" else str(value)


def _asked(name: str, value: Any) -> str:
    if name == "fact":
        # The requirements of a rule may stand in the name.
        return str(value).partition(" ")[0]
    if isinstance(value, Mapping):
        inner = cast("Mapping[str, Any]", value)
        return f"{name}({', '.join(_named(key, each) for key, each in inner.items())})"
    return f"{name} {scalar(value)}"


def _named(key: str, value: Any) -> str:
    if isinstance(value, Mapping):
        return _asked(key, cast("Mapping[str, Any]", value))
    return f"{key}: {scalar(value)}"
