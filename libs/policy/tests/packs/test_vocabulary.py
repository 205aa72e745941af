"""The page of facts says what the vocabulary says, no more and no less."""

import re
from pathlib import Path

from lictor_policy.packs.vocabulary import Word, vocabulary

DOCS = Path(__file__).parents[4] / "docs"
PAGE = (DOCS / "formats" / "facts.md").read_text("utf-8")


def row(word: Word) -> str:
    match word.kind:
        case "fact":
            return f"| `{word.name}` | {word.type} | {word.meaning} |"
        case "signal":
            events = ", ".join(f"`{name}`" for name in word.event_types)
            return f"| `{word.name}` | {events} | {word.meaning} |"
        case _:
            return f"| `{word.name}` | {word.meaning} |"


def test_the_page_has_a_line_for_every_fact_signal_and_variable() -> None:
    words = [word for word in vocabulary() if word.kind != "measure"]
    told = re.findall(r"^\| `.*$", PAGE, re.MULTILINE)
    assert sorted(told) == sorted(map(row, words))


def test_the_page_of_packs_names_every_shipped_rule() -> None:
    packs = sorted((DOCS.parent / "policy-packs").glob("*/policy.yaml"))
    rules = [
        name
        for pack in packs
        for name in re.findall(r"^    - id: (\S+)$", pack.read_text("utf-8"), re.MULTILINE)
    ]
    named = re.findall(r"\| `([a-z-]+\.[a-z-]+)`", (DOCS / "packs.md").read_text("utf-8"))
    assert sorted(named) == sorted(rules)
