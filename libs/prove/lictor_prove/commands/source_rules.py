"""The text of a program in commands, before it is read: what no text may hold, and how reasons say what to write."""

from __future__ import annotations

from typing import Final, NoReturn

from lictor_ir.errors import PlacedError
from lictor_prove.errors import Reason, Rejected

HEADER: Final = "lictor-commands v1"
MAX_SOURCE_BYTES: Final = 512 * 1024

_LAYOUT: Final = dict.fromkeys(map(ord, "\t\r\n"), " ")
_SPELLINGS: Final = (
    ("!=", "write `not (a == b)`"),
    ("!", "write `not a`"),
    (">=", "write `b <= a`"),
    (">", "write `b < a`"),
    ("&&", "write `a and b`"),
    ("||", "write `a or b`"),
    ("/", "write `a // b` of ints, `fdiv(a, b)` of floats"),
    ("'", 'write strings between double quotes: "text"'),
    ("True", "write `true`"),
    ("False", "write `false`"),
    ("None", "write `none`"),
    ("if", "write `when condition { … } else { … }`, or `(if c then a else b)` in a term"),
    ("while", "write `for i in 0..n { … }`"),
    ("return", "write `stop`"),
    ("elif", "write `else when condition { … }`"),
    ("call", "a call is a command of its own: `x = call f(…)`, then use x"),
    ("result", "name the result: `x = call f(…)`, then use x"),
    ("def", "there are no functions; write the commands out"),
    ("import", "there are no imports; trusted functions are known by their names"),
    ("$", "names begin with a letter"),
    ("with", "call trusted functions directly"),
    ("trusted", "only the layer declares trusted functions"),
    ("effect", "effects are made by `call f(…)`"),
    ("assume", "only the layer promises something about results"),
    ("schema", "only the layer declares tables"),
    ("event", "only the layer declares events"),
    ("fluent", "only the layer declares fluents"),
    ("oblige", "write `assert condition`"),
)
"""What people write, by how it begins, and what to write instead."""


def check_source(source: str) -> None:
    """Rejected when it is no text, is too long, or holds what can't be seen."""
    try:
        size = len(source.encode())
    except UnicodeEncodeError:
        _reject("source.encoding", "the source holds half of a surrogate pair", "Save it as UTF-8.")
    if size > MAX_SOURCE_BYTES:
        message = f"the source has {size} bytes; {MAX_SOURCE_BYTES} are allowed"
        _reject("limits.source", message, "Split the program.")
    if not source.translate(_LAYOUT).isprintable():
        # What is not seen, or turns around what is seen, could make a reviewer read another program.
        hidden = next(at for at, char in enumerate(source) if _is_hidden(char))
        line = source.count("\n", 0, hidden) + 1
        column = hidden - source.rfind("\n", 0, hidden)
        code = ord(source[hidden])
        message = f"the character U+{code:04X} can't be seen"
        remedy = f"Remove it; in strings, spell it \\u{{{code:x}}}."
        raise Rejected(Reason("source.hidden", message, remedy, line, column))


def _is_hidden(char: str) -> bool:
    return not char.isprintable() and ord(char) not in _LAYOUT


def _reject(code: str, message: str, remedy: str) -> NoReturn:
    raise Rejected(Reason(code, message, remedy, 1, 1))


def descriptive(line: int, column: int) -> Reason:
    """That a document was handed in as a program."""
    return Reason(
        "program.descriptive",
        "this is an Effect IR document: it tells what happens, and can't be executed",
        f"Write a program that begins with `{HEADER}`; a document is proved in the language `ir`.",
        line,
        column,
    )


def too_deep() -> Reason:
    """That nobody can read so many levels."""
    return Reason("limits.depth", "the program is nested too deeply to be read", "Nest less.")


def remedy_for(source: str, error: PlacedError) -> str:
    """What to write instead of what stands at the place of the error."""
    rest = source[error.offset : error.offset + 20]
    for spelled, remedy in _SPELLINGS:
        word = spelled[0].isalpha()
        if rest.startswith(spelled) and not (word and rest[len(spelled) :][:1].isidentifier()):
            return f"{remedy[0].upper()}{remedy[1:]}."
    return "See docs/commands.md for what can be written."
