"""`lictor pack facts`: the vocabulary of rules."""

from argparse import ArgumentParser, Namespace

from lictor_cli.main import FAILED, OK
from lictor_cli.output.terminal import common_arguments, say, say_json, say_table, warn
from lictor_policy.packs.vocabulary import Word, vocabulary

HELP = """\
List what rules can ask about (facts, with the comparators that fit), what can trigger them
(signals), what temporal conditions can total (measures), and what texts can mention (variables).
"""
_TITLES = {
    "fact": ("fact", "type", "meaning"),
    "signal": ("signal", "raised on", "meaning"),
    "measure": ("measure", "meaning"),
    "variable": ("variable", "meaning"),
}


def arguments(parser: ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument(
        "like", metavar="TEXT", nargs="?", default="", help="only those with TEXT in their name"
    )
    common_arguments(parser, connects=False)


def run(options: Namespace) -> int:
    """List the words."""
    found = [word for word in vocabulary() if options.like in word.name]
    if options.json:
        for word in found:
            say_json(word.to_json_value())
    elif found:
        _show(found)
    if not found:
        warn(f"nothing has {ascii(options.like)[:80]} in its name; `lictor pack facts` lists all.")
    return OK if found else FAILED


def _show(found: list[Word]) -> None:
    for kind, titles in _TITLES.items():
        words = [word for word in found if word.kind == kind]
        if words:
            say_table(titles, map(_cells, words))
            say()
        if kind == "fact" and words:
            fitting = {word.type: word.comparators for word in words}
            say_table(("type", "comparators"), ((t, ", ".join(c)) for t, c in fitting.items()))
            say()


def _cells(word: Word) -> tuple[str, ...]:
    if word.kind == "fact":
        values = ", ".join(filter(None, word.values))
        return word.name, word.type, f"{word.meaning} ({values})" if values else word.meaning
    if word.kind == "signal":
        return word.name, ", ".join(word.event_types), word.meaning
    return word.name if word.kind == "measure" else f"{{{{{word.name}}}}}", word.meaning
