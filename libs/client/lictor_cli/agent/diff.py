"""`lictor agent diff`: what differs between two agent definitions."""

import json
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from typing import Any

from lictor_cli.agent.sources import find_definition
from lictor_cli.main import DIFFERENT, OK
from lictor_cli.output.terminal import common_arguments, printable, quiet_logs, say, say_json
from lictor_guard.definitions.diff import DefinitionDifference, diff_definitions
from lictor_guard.definitions.tightening import why_not_tighter

HELP = """\
Compare two agent definitions part by part: files, stored ones by name (the newest), or by hash; and
tell whether the new one is a tightening: proved to allow nothing that the old one denies.

Exits with 4 when they differ.
"""
_SHOWN = 160


def arguments(parser: ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("old", metavar="OLD", help="a file, a name, or sha256:…")
    parser.add_argument("new", metavar="NEW", help="what to compare it with")
    common_arguments(parser)


async def run(options: Namespace) -> int:
    """Compare."""
    quiet_logs()
    old = await find_definition(options.old, options.url)
    new = await find_definition(options.new, options.url)
    found = diff_definitions(old.definition, new.definition)
    if old.plugins != new.plugins:
        found.append(DefinitionDifference("changed", "(plugins)", old.plugins, new.plugins))
    against = why_not_tighter(old, new)
    if options.json:
        say_json(
            {
                "old": old.hash,
                "new": new.hash,
                "tightening": {"proved": not against, "reasons": against},
                "differences": [each.to_json_value() for each in found],
            }
        )
    else:
        for each in found:
            _tell(each)
        say(_tightening(against) if found else "the definitions are the same")
    return DIFFERENT if found else OK


def _tightening(against: Sequence[str]) -> str:
    if not against:
        return "tightening: proved; the new one allows nothing that the old one denies"
    return f"tightening: not proved; {printable('; '.join(against))}"


def _tell(each: DefinitionDifference) -> None:
    place = printable(each.place)
    if each.what == "changed":
        say(f"changed  {place}: {_value(each.old)} -> {_value(each.new)}")
    else:
        say(f"{each.what:<8} {place}: {_value(each.new if each.what == 'added' else each.old)}")


def _value(value: Any) -> str:
    return "nothing" if value is None else printable(json.dumps(value, ensure_ascii=False), _SHOWN)
