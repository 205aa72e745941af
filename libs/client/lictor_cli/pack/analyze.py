"""`lictor pack analyze`: what the rules of packs can do at all, proved by a solver."""

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from lictor_cli.main import FAILED, OK
from lictor_cli.output.terminal import common_arguments, counted, printable, say, say_json
from lictor_cli.pack.solver import facts_in_words, prover_at_hand, timeout_argument
from lictor_cli.pack.sources import find_packs, profiles_argument

if TYPE_CHECKING:
    from lictor_prove.packs.analysis import PackAnalysis, PackFinding

HELP = """\
Prove what packs can do, over every state a task can be in and every event:

  never-fires      no event can meet the triggers and conditions of a rule
  shadowed         whenever a rule fires, another one decides
  duplicate        a rule fires exactly when another does, and decides the same
  contradictory    a rule fires exactly when another does, and decides something else
  nothing-decides  a state in which no rule decides, one for each event type: for information
  unknown          the solver did not find it out in time

Exits with 0; with --strict, with 1 when there is a warning or something is unknown.
"""


def arguments(parser: ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument(
        "packs",
        metavar="PACKS",
        nargs="?",
        help="a directory of packs, or one pack (default: LICTOR_PACKS, or the nearest"
        " policy-packs, or those that come with Lictor)",
    )
    parser.add_argument(
        "--strict", action="store_true", help="warnings and what is unknown count as errors"
    )
    timeout_argument(parser)
    profiles_argument(parser)
    common_arguments(parser, connects=False)


def run(options: Namespace) -> int:
    """Analyze, and tell all."""
    config = find_packs(options.packs, options.profiles).load()
    with prover_at_hand("lictor pack analyze"):
        from lictor_prove.packs.analysis import analyze

        analysis = analyze(config, options.timeout)
    if options.json:
        say_json(analysis.to_json_value())
    else:
        _tell(analysis)
    doubtful = any(each.level != "information" for each in analysis.findings)
    return FAILED if options.strict and doubtful else OK


def _tell(analysis: "PackAnalysis") -> None:
    for finding in analysis.findings:
        say(f"{finding.level}: {_about(finding)} [{finding.check}]")
    for event_type in analysis.always_decided:
        say(f"proved: {event_type}: some rule always decides")
    for each in analysis.assumptions:
        say(f"assumed: {each}")
    warnings = sum(each.level == "warning" for each in analysis.findings)
    unknown = len(analysis.of("unknown"))
    told = [counted(warnings, "warning")] if warnings else []
    told += [f"{unknown} unknown"] if unknown else []
    say(
        f"{counted(analysis.rules, 'rule')} of {counted(analysis.packs, 'pack')} analyzed:"
        f" {', '.join(told) or 'ok'}"
    )


def _about(finding: "PackFinding") -> str:
    where = finding.event_type if finding.rule_id is None else f"rule {finding.rule_id}"
    text = f"{where}: {finding.problem}"
    if finding.example is not None and finding.example.facts:
        text += f", for example: {facts_in_words(finding.example.facts)}"
    return printable(text)
