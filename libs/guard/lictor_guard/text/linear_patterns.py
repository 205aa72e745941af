"""Regular expressions whose time grows with the text and no faster, whatever the pattern.

They are matched by the Rust engine inside pydantic: no back-references, no look-around, no backtracking. At worst a
character still costs as much as the pattern has places that may match it: counted repetitions (`.{400}`) and classes,
choices and quantifiers written out one after the other. So each pattern has a weight, a text that would cost too much
with it is refused before it is matched, and so is one that would cost too much with all the patterns of a call.
"""

import re
from collections.abc import Callable
from math import prod

from pydantic_core import SchemaError, SchemaValidator, core_schema

from lictor_guard.errors import DefinitionError, GuardError
from lictor_guard.text.wording import quoted

MAX_WORK = 8_000_000
"""Characters times weight that one match may cost: a sixth of a second for the worst of patterns, else far less."""
MAX_WORK_OF_CALL = 2 * MAX_WORK
"""The same for everything that is matched for one call."""
MAX_SEARCHED = 65_536
"""Characters of a text that `compile_search` looks into."""
_LIGHT = 8
"""So many loose places make few enough states for the engine to know them all: each character then costs the same."""
_CHEAP = 8
"""So much less a character costs where all states are known."""
_PER_MATCH = 32
"""What a match costs that looks at nothing, in characters."""

_COUNTED = re.compile(r"\{(\d*),?(\d*)\}")
_REPEATED_GROUP = re.compile(r"\)\s*\{")
_LOOSE = re.compile(
    r"""\(\?[^:)>]*[:)>]                      # opens a group: nothing that matches
    | \\(?:[pPxuU]\{[^}]*\}|.)               # an escape
    | \[\^?\]?(?:\\.|[^\]\\])*\]          # a class
    | [.|?*+]""",
    re.VERBOSE | re.DOTALL,
)
_WITH_BREAKS = re.compile(r"\(\?[imUux]*s")
_FLAGS = re.compile(r"\A\(\?[a-zA-Z]+\)")
_CODE_POINT = re.compile(r"\\[xuUpP]\{[^}]*\}")


class UnmatchableText(GuardError):
    """A text can't be matched with a pattern: it would take too long, or it is no Unicode text."""


class LinearPattern:
    """A compiled pattern. It is found anywhere in a text, or, with `whole`, must match all of it."""

    __slots__ = ("_engine", "_weight", "text")

    def __init__(self, text: str, *, whole: bool = False) -> None:
        self.text = text
        # As it stands first: `a)|(?:b` must not close the group that anchors it.
        self._engine = _compiled(text, text)
        if whole:
            self._engine = _compiled(rf"\A(?:{text})\z", text)
        self._weight = _weight(text)

    def cost(self, value: str) -> int:
        """What matching a text may cost at worst; UnmatchableText when that is too much."""
        if self._weight > 1 and len(value) * self._weight > MAX_WORK:
            raise UnmatchableText(
                f"{len(value)} characters are too many for the pattern {quoted(self.text)},"
                f" which takes at most {MAX_WORK // self._weight}"
            )
        looked_at = len(value) // _CHEAP if self._weight == 1 else len(value)
        return (looked_at + _PER_MATCH) * self._weight

    def matches(self, value: str) -> bool:
        """Whether it matches; UnmatchableText when that can't be found out."""
        self.cost(value)
        if self._engine.isinstance_python(value):
            return True
        # To the engine, half a character is no text, and so matches nothing: a denied one would pass.
        if not _is_unicode(value):
            raise UnmatchableText(
                "a text with half a character (a lone surrogate) can't be matched"
            )
        return False


def stops_at_line_breaks(pattern: str) -> bool:
    """Whether a pattern has a `.` that matches no line break."""
    tokens = _LOOSE.findall(pattern)
    return "." in tokens and not any(_WITH_BREAKS.match(each) for each in tokens)


def is_anchored(pattern: str) -> bool:
    """Whether a pattern says where a text begins and where it ends."""
    bare = _FLAGS.sub("", pattern)
    return bare.startswith(("^", r"\A")) and bare.endswith(("$", r"\z"))


def compile_search(pattern: str) -> Callable[[str], bool]:
    """Whether the pattern is found in a text, for those who only gain by a match: what can't be matched holds none.

    Nor does a text that is longer than MAX_SEARCHED: it is looked for several times in each call.
    """
    compiled = LinearPattern(pattern)

    def search(value: str) -> bool:
        try:
            return len(value) <= MAX_SEARCHED and compiled.matches(value)
        except UnmatchableText:
            return False

    return search


def _is_unicode(value: str) -> bool:
    try:
        return value.isascii() or bool(value.encode())
    except UnicodeEncodeError:
        return False


def _compiled(pattern: str, told: str) -> SchemaValidator:
    try:
        return SchemaValidator(core_schema.str_schema(pattern=pattern, strict=True))
    except SchemaError as error:
        raise DefinitionError(f"pattern {quoted(told)} can't be used: {_why(error)}") from None


def _why(error: SchemaError) -> str:
    """The engine's last line says it; those before draw the pattern."""
    return str(error).strip().splitlines()[-1].strip().removeprefix("error: ")


def _weight(text: str) -> int:
    """At how many places of a pattern a character may have to be tried."""
    tokens = _LOOSE.findall(text)
    loose = sum(map(_is_loose, tokens))
    # Beside letters that are not ASCII, the engine finds the end of a word only by trying every place.
    bounds = r"\b" in tokens or r"\B" in tokens
    counted = _counted(text)
    if bounds:
        return counted * max(loose, _LIGHT)
    # Repeated often, few places become many, and their states too many to know.
    return counted * max(1, loose if counted > 1 else loose - _LIGHT)


def _is_loose(token: str) -> bool:
    if token.startswith("\\"):
        return token[1] in "wWdDsSpPbB"
    return not token.startswith("(")


def _counted(text: str) -> int:
    counts = [
        max(int(low or 0), int(high or 0), 1)
        for low, high in _COUNTED.findall(_CODE_POINT.sub("", text))
    ]
    # Within each other they multiply; a repeated group is taken for that.
    return max(1, prod(counts) if _REPEATED_GROUP.search(text) else sum(counts))
