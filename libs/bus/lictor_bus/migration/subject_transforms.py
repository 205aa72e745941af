"""How the broker renames the messages of a stream while it copies them: one entry a task, or one for all."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TypedDict

from lictor_bus.names.older_subjects import with_runtime, without_runtime
from lictor_bus.names.subjects import NOBODY


class Transform(TypedDict):
    """A subject transform of the broker."""

    src: str
    dest: str


def transforms(patterns: Sequence[str], whose: Mapping[str, str]) -> list[Transform]:
    """What makes subjects of 0.1 into those of today, given today's patterns and whose each subject is.

    No two of them match the same subject, as the broker wants it.
    """
    made: list[Transform] = []
    for pattern in patterns:
        older = without_runtime(pattern)
        found = {each: runtime for each, runtime in whose.items() if matches(older, each)}
        runtimes = set(found.values())
        if len(runtimes) < 2:
            # Also for a pattern without messages: the broker would leave out what no entry names.
            made.append(_renamed(older, runtimes.pop() if runtimes else NOBODY))
            continue
        groups: defaultdict[str, dict[str, str]] = defaultdict(dict)
        for subject, runtime in found.items():
            groups[_alike(older, subject)][subject] = runtime
        for group, members in groups.items():
            owners = set(members.values())
            named = {group: owners.pop()} if len(owners) == 1 else members
            made += [_renamed(subject, runtime) for subject, runtime in named.items()]
    return made


def matches(pattern: str, subject: str) -> bool:
    """Whether a subject is one of those of a pattern with `*` alone."""
    tokens, wanted = subject.split("."), pattern.split(".")
    return len(tokens) == len(wanted) and all(
        want in ("*", token) for want, token in zip(wanted, tokens, strict=True)
    )


def _alike(pattern: str, subject: str) -> str:
    """The subjects of a pattern with the same last token: as a rule those of one task."""
    return f"{pattern.rpartition('.')[0]}.{subject.rpartition('.')[2]}"


def _renamed(subject: str, runtime: str) -> Transform:
    number, tokens = 0, list[str]()
    for token in with_runtime(subject, runtime).split("."):
        number += token == "*"
        tokens.append(f"{{{{wildcard({number})}}}}" if token == "*" else token)
    return {"src": subject, "dest": ".".join(tokens)}
