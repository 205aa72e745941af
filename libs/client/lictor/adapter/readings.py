"""What else a tool may read in the text of a path, before it opens it.

Between the parameter and the file, tools trim, unquote, expand and normalize. Which tool does which nobody tells us.
"""

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_MOST = 64
_QUOTES = "\"'`"
# What some trim and others don't: a byte order mark and characters without width.
_TRIMMED = "\ufeff\u200b\u2060\u180e"
_SPACES = dict.fromkeys((0xA0, *range(0x2000, 0x200B), 0x202F, 0x205F, 0x3000), " ")


def readings(given: str) -> "Iterator[str]":
    """Other texts that it becomes when it is trimmed, unquoted and expanded, in whichever order."""
    known = {given}
    left = [given]
    # A variable whose value names itself would go on for ever.
    while left and len(known) < _MOST:
        for other in _steps(left.pop()):
            if other not in known:
                known.add(other)
                yield other
                if other:
                    left.append(other)


def alike(given: str) -> "set[str]":
    """Names that look the same: with other spaces, in other Unicode forms, with backslashes taken as escapes."""
    found = {given}
    if "\\" in given:
        found.add(_unescaped(given))
    if not given.isascii():
        from unicodedata import normalize

        found |= {each.translate(_SPACES) for each in found}
        found |= {normalize(form, each) for form in ("NFC", "NFD") for each in found}
    return found - {given}


def _steps(text: str) -> "Iterator[str]":
    yield text.strip()
    yield text.strip(_TRIMMED)
    if text[0] in _QUOTES or text[-1] in _QUOTES:
        yield text.strip(_QUOTES)
    if text[0] == "~" and text[1:2] not in ("", "/"):
        yield os.path.expanduser(text)  # noqa: PTH111 -- pathlib costs a hook more than it may take
    if "$" in text:
        yield os.path.expandvars(text)
        if text[0] == "$" and "/" in text:
            # A variable that the tool may have and we don't, or that is nothing to both.
            yield text[text.index("/") :]


def _unescaped(text: str) -> str:
    parts: list[str] = []
    characters = iter(text)
    for each in characters:
        parts.append(next(characters, "") if each == "\\" else each)
    return "".join(parts)
