"""How a definition names tools: exactly, or by what their names begin with."""

from collections.abc import Iterable

ANY = "*"
"""At the end of a tool's name: every tool that begins so."""


def covers(listed: str, tool: str) -> bool:
    """Whether a tool's name as a definition lists it stands for a tool."""
    return tool.startswith(listed[:-1]) if listed.endswith(ANY) else tool == listed


def any_covers(listed: Iterable[str], tool: str) -> bool:
    """Whether one of several listed names stands for a tool."""
    return any(covers(each, tool) for each in listed)


def overlap(one: str, other: str) -> bool:
    """Whether some tool is covered by both listed names."""
    if one.endswith(ANY) and other.endswith(ANY):
        return one[:-1].startswith(other[:-1]) or other[:-1].startswith(one[:-1])
    return covers(one, other) or covers(other, one)
