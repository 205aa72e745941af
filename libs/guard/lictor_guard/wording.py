"""How texts for agents spell what callers gave: quoted, on one line, and never too long."""

from collections.abc import Sequence

SHOWN = 300
"""Characters of a caller's text that are shown; longer ones lose their middle."""
MAX_JOINED = 3_500
"""Characters of several problems told as one; what a session tells of one denial is cut a little beyond."""


def quoted(text: str) -> str:
    """A caller's text between quotes: what can't be printed is spelled out, and the middle left out if it is long."""
    spelled = "".join(each if each.isprintable() else _spelled(each) for each in _cut(text))
    return f"'{_cut(spelled)}'"


def listed(names: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"


def joined(problems: Sequence[str]) -> str:
    """Several problems as one text; those that don't fit are counted."""
    kept: list[str] = []
    length = 0
    for each in problems:
        length += len(each) + 2
        if kept and length > MAX_JOINED:
            kept.append(f"and {len(problems) - len(kept)} more")
            break
        kept.append(each)
    return "; ".join(kept)


def _cut(text: str) -> str:
    return text if len(text) <= SHOWN else f"{text[: SHOWN // 2]}…{text[-SHOWN // 2 :]}"


def _spelled(char: str) -> str:
    return char.encode("unicode_escape").decode()
