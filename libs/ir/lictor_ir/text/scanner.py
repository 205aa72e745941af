"""Tokens of the text form, one at a time, with where each stands."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from lictor_ir.errors import FormError, PlacedError
from lictor_ir.spelling import literals
from lictor_ir.spelling.type_names import parse_type
from lictor_ir.text.keywords import BEFORE_OPERANDS, KEYWORDS
from lictor_ir.types import Type

MAX_CHARACTERS: Final = 64 * 1024 * 1024
MAX_TYPE_TEXT: Final = 4_096

_SPACE: Final = re.compile(r"(?:[ \t\r\n]+|#[^\n]*)*")
_INTEGER: Final = r"(?:0x[0-9a-f]+|[0-9]+)"
_TOKEN: Final = re.compile(
    rf"""
    (?P<string>"[^"\\\n]*(?:\\.[^"\\\n]*)*")
  | (?P<quoted>`[^`\n]+`)
  | (?P<real>-?{_INTEGER}/{_INTEGER})
  | (?P<float>-?[0-9]+(?:\.[0-9]+(?:e[+-]?[0-9]+)?|e[+-]?[0-9]+)|-inf\b)
  | (?P<int>-?{_INTEGER})
  | (?P<let>\$[0-9]+)
  | (?P<word>[A-Za-z_][A-Za-z0-9_]*)
  | (?P<mark>->|==|<=|>=|//|::|\.\.|[-()\[\]{{}}:;,=<>+*%.|])
    """,
    re.VERBOSE,
)
_TYPE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*(?:<[A-Za-z0-9_.<>, ]*>)?")
_SPAN: Final = re.compile(
    r"([1-9][0-9]{0,8}):([1-9][0-9]{0,8})-([1-9][0-9]{0,8}):([1-9][0-9]{0,8})"
)
_OPERAND_ENDS: Final = frozenset({")", "]", "}"})


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of the text."""

    kind: str
    """`string`, `quoted`, `real`, `float`, `int`, `let`, `word`, `mark` or `end`."""
    text: str
    start: int

    @property
    def ends_operand(self) -> bool:
        """Whether a minus sign after it subtracts."""
        if self.kind == "mark":
            return self.text in _OPERAND_ENDS
        return self.kind != "end" and not (self.kind == "word" and self.text in BEFORE_OPERANDS)


class Scanner:
    """Goes through a text token by token; `token` is the one that comes next."""

    def __init__(self, text: str) -> None:
        if len(text) > MAX_CHARACTERS:
            raise FormError(
                f"the text has {len(text)} characters; at most {MAX_CHARACTERS} are read"
            )
        self.source = text
        self._end = 0
        self.token = Token("mark", "", 0)
        self.passed = 0
        """Where the token ends that was passed last."""
        self.skip()

    def fail(self, message: str, token: Token | None = None) -> FormError:
        """The error that something is wrong at a token."""
        start = (token or self.token).start
        line = self.source.count("\n", 0, start) + 1
        column = start - self.source.rfind("\n", 0, start)
        return PlacedError(message, line, column, start)

    def skip(self) -> Token:
        """The token that came next; the one after it comes next now."""
        passed = self.token
        self.passed = self._end
        space = _SPACE.match(self.source, self._end)
        start = space.end() if space else self._end
        if start == len(self.source):
            self.token, self._end = Token("end", "", start), start
            return passed
        found = _TOKEN.match(self.source, start)
        if found is None:
            self.token = Token("mark", self.source[start], start)
            raise self.fail(f"{self.source[start]!r} can't stand here")
        kind, text = found.lastgroup or "mark", found.group()
        if text[0] == "-" and kind != "mark" and passed.ends_operand:
            kind, text = "mark", "-"
        self.token, self._end = Token(kind, text, start), start + len(text)
        return passed

    def sees(self, *texts: str) -> bool:
        """Whether one of these words or marks comes next."""
        return self.token.kind in ("word", "mark") and self.token.text in texts

    def takes(self, text: str) -> bool:
        """Whether this word or mark comes next; if so, it is passed."""
        if not self.sees(text):
            return False
        self.skip()
        return True

    def expect(self, text: str) -> Token:
        """Pass this word or mark."""
        if not self.sees(text):
            raise self.fail(f"{text!r} is expected, not {self.shown()}")
        return self.skip()

    def shown(self) -> str:
        """What comes next, for messages."""
        return repr(self.token.text[:40]) if self.token.kind != "end" else "the end"

    def name(self) -> str:
        """Pass a name."""
        token = self.token
        if token.kind == "quoted":
            return self.skip().text[1:-1]
        if token.kind != "word" or token.text in KEYWORDS:
            raise self.fail(
                f"a name is expected, not {self.shown()}; reserved words stand between backquotes"
            )
        return self.skip().text

    def string(self) -> str:
        """Pass a string."""
        if self.token.kind != "string":
            raise self.fail(f"a string is expected, not {self.shown()}")
        token = self.skip()
        try:
            return literals.unquote(token.text)
        except FormError as error:
            raise self.fail(str(error), token) from None

    def type(self) -> Type:
        """Pass a type."""
        token = self.token
        found = _TYPE.match(self.source, token.start, token.start + MAX_TYPE_TEXT)
        if token.kind != "word" or found is None:
            raise self.fail(f"a type is expected, not {self.shown()}")
        spelled = self._balanced(found.group())
        try:
            type_ = parse_type(spelled)
        except FormError as error:
            raise self.fail(str(error), token) from None
        self._jump(token.start + len(spelled))
        return type_

    def span(self) -> tuple[int, int, int, int]:
        """Pass a span, `3:5-3:20`."""
        found = _SPAN.match(self.source, self.token.start)
        if found is None:
            raise self.fail("a place is expected: 3:5-3:20")
        self._jump(found.end())
        line, column, end_line, end_column = map(int, found.groups())
        return line, column, end_line, end_column

    def sees_text(self, pattern: re.Pattern[str]) -> bool:
        """Whether the text from the next token on begins so."""
        return pattern.match(self.source, self.token.start) is not None

    def _balanced(self, text: str) -> str:
        """The text up to where its angle brackets are closed."""
        depth = 0
        for at, char in enumerate(text):
            depth += (char == "<") - (char == ">")
            if char == ">" and depth == 0:
                return text[: at + 1]
        return text if depth else text.partition("<")[0]

    def _jump(self, to: int) -> None:
        self._end = to
        self.token = Token("mark", ")", to)  # what ends here may be followed by a subtraction
        self.skip()
