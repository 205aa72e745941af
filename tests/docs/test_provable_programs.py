"""The programs in docs/provable-programs.md get the verdicts and reasons that stand below them."""

from __future__ import annotations

import re
from functools import cache

import pytest
from page_tables import ROOT

from lictor_prove.layer_model import Layer
from lictor_prove.layers import discover_trusted_roots, load_layer
from lictor_prove.proof.prover import prove
from lictor_prove.proof.result import Proof

HEADER = """\
import json

import lictor_layer
from tools.office.trusted import contracts
from tools.office.trusted.effects import get_setting, list_customers, send_email


@lictor_layer.guarantee(contracts.{contract})
def main() -> None:
"""
TEN, ONCE = "at_most_mails(10)", "one_mail_per_address()"
SEND = "send_email(person.email, 'a', 'b')"
COUNTED = """\
    sent = 0
    for person in list_customers():
{before}        {send}
        sent += 1
{after}"""
LEAVE = "        if sent >= 10:\n            break\n"

PATTERNS = {
    "a slice": (TEN, f"    for person in list_customers()[:10]:\n        {SEND}\n", "proved"),
    "a slice of some": (
        TEN,
        f"    for person in [one for one in list_customers() if one.name][:10]:\n        {SEND}\n",
        "proved",
    ),
    "a counter before": (TEN, COUNTED.format(before=LEAVE, send=SEND, after=""), "proved"),
    "a counter after": (TEN, COUNTED.format(before="", send=SEND, after=LEAVE), "proved"),
    "a number": (
        TEN,
        f"    for number, person in enumerate(list_customers()):\n        if number < 10:\n            {SEND}\n",
        "unknown",
    ),
    "a dict by address": (
        ONCE,
        "    names = {}\n    for person in list_customers():\n        names[person.email] = person.name\n"
        "    for address in names:\n        if '@' in address:\n            send_email(address, 'a', 'b')\n",
        "proved",
    ),
    "addresses that were seen": (
        ONCE,
        "    seen = set()\n    for person in list_customers():\n        if person.email in seen:\n"
        f"            continue\n        seen.add(person.email)\n        {SEND}\n",
        "unknown",
    ),
    "a text that is tested": (
        TEN,
        "    for person in list_customers()[:1]:\n        text = person.name.strip()\n        if text:\n"
        "            send_email(person.email, text, 'b')\n",
        "proved",
    ),
    "JSON": (
        TEN,
        "    for name in list(json.loads(get_setting('a')))[:10]:\n        text = str(name)\n        if '@' in text:\n"
        "            send_email(text, 'a', 'b')\n",
        "proved",
    ),
}

TEXT = (ROOT / "docs/provable-programs.md").read_text("utf-8")
ROOTS = [ROOT / "examples/layers"]


def told(proof: Proof) -> str:
    """The verdict, and what there is about guarantees or reasons, as the page has it."""
    guarantees = [f"    {each.verdict.value:<9} {each.name}" for each in proof.guarantees]
    reasons = [f"    {each.message}  [{each.code}]" for each in proof.reasons]
    lines = [proof.verdict.value, *(guarantees or reasons)]
    return "\n".join(lines) + "\n"


def test_the_examples_get_their_verdicts() -> None:
    layer = load_layer(list(discover_trusted_roots(ROOTS)), ROOTS)
    blocks = re.findall(r"^```(\w*)\n(.*?)^```$", TEXT, re.DOTALL | re.MULTILINE)
    programs = [text for language, text in blocks if language]
    exact, unread, refused = programs
    read = unread.replace("text[:500]", "text")
    assert read != unread
    outputs = [text for language, text in blocks if not language]
    found = [
        told(prove(each, name="example.py", layer=layer)) for each in (exact, unread, read, refused)
    ]
    assert found == outputs


@pytest.mark.parametrize("pattern", PATTERNS)
def test_patterns_get_the_verdicts_that_the_page_says(pattern: str) -> None:
    contract, body, verdict = PATTERNS[pattern]
    source = HEADER.format(contract=contract) + body
    assert prove(source, name="pattern.py", layer=_office()).verdict.value == verdict


@cache
def _office() -> Layer:
    roots = [ROOT / "tests/ordinary_programs/layers"]
    return load_layer(list(discover_trusted_roots(roots)), roots)
