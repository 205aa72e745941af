"""An agent's own words, made fit to stand in a text of ours.

What can't be seen is left out, and what looks like the end of a quotation is not one: nobody can write a text that
passes for the words around it. The characters are listed here and not asked of Python, so that every version of it
writes the same text.
"""

import re

MAX_WORDS = 500
"""How much of one value is shown; a whole message is exempt."""

# Controls, direction marks, zero width spaces, tags. Not the joiners 200C and 200D: Persian and many emoji need them.
_UNSEEN = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f"
    "\u202a-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff]"
)
_GAP = re.compile(
    "[\t-\r\x1c-\x1f\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u2800\u3000 ]+"
)
_QUOTE = re.compile('["\u201c-\u201f\u2033\u2036\u00ab\u00bb\u300c-\u300f\u301d-\u301f\uff02]')
_PLAIN_NAME = re.compile(r"[A-Za-z0-9][\w.:@/+#=-]*")
_JOINERS = "\u200c\u200d"


def visible(text: str) -> str:
    """What can be seen of a text, on one line."""
    return _GAP.sub(" ", _seen(text)).strip(" " + _JOINERS)


def _seen(text: str) -> str:
    # Most texts are plain, and to know that takes a tenth of the time.
    return text if text.isascii() and text.isprintable() else _UNSEEN.sub("", text)


def within_quotes(text: str, longest: int | None = MAX_WORDS) -> str:
    """The text to stand between quotation marks, which it can't close."""
    if longest is not None and len(text) > longest:
        # Four times what is shown is enough to find it in, and keeps a huge text from costing anything.
        text = visible(text[: 4 * longest])
        text = text[: longest - 1] + "…"
    else:
        text = visible(text)
    return _QUOTE.sub("'", text)


def quoted(text: str) -> str:
    """The text in quotation marks; nothing for nothing."""
    words = within_quotes(text)
    return words and f'"{words}"'


def name(text: str) -> str:
    """An id as it is; one that reads like a sentence in quotation marks."""
    return text if _PLAIN_NAME.fullmatch(text) else quoted(text)


def whole(text: str) -> str:
    """A message of any length, every word of it kept, and clear where it begins and ends.

    One line stands in quotation marks. More lines, or marks inside, and each line is marked as mail marks what it
    quotes.
    """
    lines = [visible(line) for line in text.splitlines()]
    while lines and not lines[-1]:
        lines.pop()
    if not lines:
        return ""
    if len(lines) == 1 and _QUOTE.search(lines[0]) is None:
        return f'"{lines[0]}"'
    return "".join(f"\n> {line}".rstrip(" ") for line in lines) + "\n"


def is_whole(text: str) -> bool:
    """Whether a text is, but for its last line end, what `whole` writes of some message."""
    lines = text.strip("\n").split("\n")
    inner = text[1:-1] if text.startswith('"') else "\n".join(line[2:] for line in lines)
    return text != "" and whole(inner).rstrip("\n") == text.rstrip("\n")


def shortened(words: str, longest: int) -> str:
    """What `whole` wrote, cut to a length."""
    if len(words) <= longest:
        return words
    end = '…"' if words.endswith('"') else "…\n"
    return words[: max(0, longest - len(end))] + end
