"""`lictor pack facts`."""

import asyncio
import json
import subprocess
from collections.abc import Callable

from lictor_policy.conditions.facts import FACTS
from lictor_policy.conditions.moments import MEASURES
from lictor_policy.packs.vocabulary import VARIABLE_MEANINGS
from lictor_policy.rules.signals import SIGNALS
from lictor_policy.rules.templates import VARIABLES

Cli = Callable[..., "asyncio.Future[subprocess.CompletedProcess[str]]"]


async def test_facts_lists_every_name_a_pack_can_use(cli: Cli) -> None:
    told = await cli("pack", "facts", "--json")
    assert told.returncode == 0, told.stderr
    words = [json.loads(line) for line in told.stdout.splitlines()]
    names = {(word["kind"], word["name"]) for word in words}
    assert names == (
        {("fact", name) for name in FACTS}
        | {("signal", name) for name in SIGNALS}
        | {("measure", name) for name in MEASURES}
        | {("variable", name) for name in VARIABLES}
    )
    assert all(word["meaning"] for word in words)
    overdue = next(word for word in words if word["name"] == "checkpoint.is_overdue")
    assert (overdue["type"], overdue["comparators"]) == ("bool", ["equals", "not_equals"])


async def test_facts_shows_only_what_is_asked_for(cli: Cli) -> None:
    told = await cli("pack", "facts", "checkpoint.is")
    assert told.returncode == 0
    assert "checkpoint.is_overdue" in told.stdout
    assert "claim.type" not in told.stdout
    nothing = await cli("pack", "facts", "no-such-thing")
    assert nothing.returncode == 1
    assert "lists all" in nothing.stderr


def test_every_variable_is_explained() -> None:
    assert VARIABLE_MEANINGS.keys() == VARIABLES.keys(), (
        "say it in lictor_policy/packs/vocabulary.py"
    )
