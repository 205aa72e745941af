"""Subjects that differ in some of their tokens, declared once.

One declaration, such as ``lictor.dec.{decision}.{task}``, gives the concrete subject to publish on, the wildcards to
subscribe to, and the address in an AsyncAPI document.
"""

import re
from collections.abc import Mapping
from typing import Final

_PARAMETER = re.compile(r"\{(\w+)\}")


class SubjectPattern:
    """A subject with parameters. What it is given are tokens: ids of others go through `subjects.token` first."""

    __slots__ = ("_format", "all", "any", "pattern", "prefix")

    def __init__(self, pattern: str) -> None:
        self.pattern: Final = pattern
        """As documents spell it: ``lictor.dec.{decision}.{task}``."""
        self.any: Final = _PARAMETER.sub("*", pattern)
        """Every subject of this pattern: ``lictor.dec.*.*``."""
        self.prefix: Final = pattern.partition("{")[0]
        """What stands before the first parameter: ``lictor.dec.``."""
        self.all: Final = f"{self.prefix}>"
        """Every subject that begins like this one, however many tokens follow: ``lictor.dec.>``."""
        self._format: Final = _PARAMETER.sub("%s", pattern)

    def __repr__(self) -> str:
        return f"SubjectPattern({self.pattern!r})"

    def at(self, *tokens: object) -> str:
        """The subject with these tokens, in the order of the parameters."""
        return self._format % tokens

    def where(self, **tokens: str) -> str:
        """Every subject of this pattern that has these tokens: ``lictor.dec.*.some-task``."""
        return self._filled(tokens, "*")

    def documented(self, **tokens: str) -> str:
        """The pattern with these tokens filled in: ``lictor.dec.block.{task}``."""
        return self._filled(tokens)

    def place(self, name: str) -> int:
        """Which token of a subject this parameter is, counted from 0."""
        return self.pattern.split(".").index(f"{{{name}}}")

    def _filled(self, tokens: Mapping[str, str], otherwise: str | None = None) -> str:
        if unknown := tokens.keys() - _PARAMETER.findall(self.pattern):
            raise TypeError(f"{self.pattern} has no {', '.join(sorted(unknown))}")
        return _PARAMETER.sub(
            lambda found: tokens.get(found[1], found[0] if otherwise is None else otherwise),
            self.pattern,
        )
