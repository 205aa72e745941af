"""`lictor agent analyze`: what the rules over sequences of calls can do at all, proved by a solver."""

import json
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from typing import TYPE_CHECKING

from lictor_cli.agent.sources import find_files
from lictor_cli.main import FAILED, OK
from lictor_cli.output.terminal import common_arguments, counted, printable, say, say_json
from lictor_cli.pack.solver import prover_at_hand, timeout_argument
from lictor_guard.definitions.compiled_definition import Guarded
from lictor_guard.definitions.loading import read_files
from lictor_guard.session.rehearsal import RehearsedCall, denied_by

if TYPE_CHECKING:
    from lictor_prove.sequences.analysis import ForetoldCall, SequenceFinding, SessionExample

HELP = """\
Prove what `never-after` and `only-after` policies can do, over all sessions:

  fires          a shortest session in which it denies a call that all others allow: for information
  shadowed       it denies only what other policies deny too
  never-fires    in no session it denies a call
  never-allowed  a tool that can't be called in any session, because policies contradict each other
  unknown        the solver did not find it out, or the judge did not confirm it

Every session that is shown was played before, by the judge that the feedback service uses.
Exits with 0; with --strict, with 1 when there is a warning or something is unknown.
"""


def arguments(parser: ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument(
        "definitions",
        metavar="DIR|FILE",
        nargs="*",
        help="definitions, or directories of them (default: LICTOR_AGENTS, or the nearest agents)",
    )
    parser.add_argument(
        "--strict", action="store_true", help="warnings and what is unknown count as errors"
    )
    timeout_argument(parser)
    common_arguments(parser, connects=False)


def run(options: Namespace) -> int:
    """Analyze, and tell all."""
    doubtful = False
    with prover_at_hand("lictor agent analyze"):
        from lictor_prove.sequences.analysis import ASSUMED, analyze
    for name, guarded in read_files(find_files(options.definitions)).items():

        def play(
            calls: "Sequence[ForetoldCall]", guarded: Guarded = guarded
        ) -> list[tuple[str, ...]]:
            return denied_by(guarded, [RehearsedCall(tool, params) for tool, params in calls])

        findings = analyze(guarded.definition, play, options.timeout)
        doubtful = doubtful or any(each.level != "information" for each in findings)
        if options.json:
            told = [each.to_json_value() for each in findings]
            say_json(
                {
                    "definition": name,
                    "hash": guarded.hash,
                    "findings": told,
                    "assumed": list(ASSUMED),
                }
            )
            continue
        for each in findings:
            _tell(name, each)
        if findings:
            for assumption in ASSUMED:
                say(f"assumed: {assumption}")
        say(f"{printable(name)}: {counted(len(findings), 'finding')}")
    return FAILED if options.strict and doubtful else OK


def _tell(name: str, finding: "SequenceFinding") -> None:
    about = printable(f"{name}: {finding.about}: {finding.problem}")
    say(f"{finding.level}: {about} [{finding.check}]")
    for example in finding.examples:
        _tell_example(example)


def _tell_example(example: "SessionExample") -> None:
    for number, (tool, params) in enumerate(example.calls, 1):
        last = number == len(example.calls)
        verdict = f"denied by {', '.join(example.denied_by)}" if last else "allowed"
        told = f"{number}. {tool} {json.dumps(dict(params), ensure_ascii=False)}: {verdict}"
        say(f"    {printable(told)}")
