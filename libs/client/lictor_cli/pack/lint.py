"""`lictor pack lint`: everything that is wrong with packs, and what is surely not meant."""

from argparse import ArgumentParser, Namespace
from collections import Counter

from lictor_cli.main import FAILED, OK
from lictor_cli.output.terminal import (
    at_terminal,
    common_arguments,
    counted,
    printable,
    say,
    say_json,
)
from lictor_cli.pack.sources import find_packs, known_methods, methods_argument
from lictor_policy.packs.lint import LintFinding
from lictor_policy.packs.lint_directory import lint_packs

HELP = """\
Check packs: every error that would keep the evaluator from starting, at once, by file, line, rule
and field, with what to do; and warnings about what is allowed but surely not meant:

  never-fires     conditions that contradict each other, or an event that can't meet them
  shadowed        a rule of a first_match pack that an earlier one always comes before
  no-effect       something given that changes nothing
  must-reference  a text that leaves out what it must mention
  unused          a shared text that no rule takes in
  examples        a rule without an example in tests.yaml for firing and for not firing

An envelope that names a verification method that no installed package has, or none where verification is
mandatory, is an error (verification). Exits with 1 when there is an error; with --strict, also when there is a warning.
"""


def arguments(parser: ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument(
        "packs",
        metavar="DIR|FILE",
        nargs="*",
        help="directories of packs, or single packs (default: LICTOR_PACKS, or the nearest"
        " policy-packs, or those that come with Lictor)",
    )
    parser.add_argument("--strict", action="store_true", help="warnings count as errors")
    methods_argument(parser)
    common_arguments(parser, connects=False)


def run(options: Namespace) -> int:
    """Check, and tell all."""
    found: list[LintFinding] = []
    checked = 0
    methods = known_methods(options.methods)
    for given in options.packs or [None]:
        source = find_packs(given)
        names = source.pack_names()
        checked += len(names)
        found += lint_packs(source.directory, source.names, methods=methods)
    for finding in found:
        if options.json:
            say_json(finding.to_json_value())
        else:
            _tell(finding)
    counts = Counter(finding.level for finding in found)
    if not options.json:
        told = f"{counted(counts['error'], 'error')}, {counted(counts['warning'], 'warning')}"
        say(f"{counted(checked, 'pack')} checked: {told if found else 'ok'}")
    return FAILED if counts["error"] or (options.strict and found) else OK


def _tell(finding: LintFinding) -> None:
    where = finding.file if finding.line is None else f"{finding.file}:{finding.line}"
    rule = "" if finding.rule is None else f"rule {finding.rule}: "
    field = "" if finding.field is None else f"{finding.field}: "
    hint = "" if finding.suggestion is None else f"; {finding.suggestion}"
    text = printable(f"{rule}{field}{finding.problem}{hint}")
    if not at_terminal():
        say(f"{printable(where)}: {finding.level}: {text} [{finding.check}]")
        return
    from rich.console import Console
    from rich.text import Text

    style = "bold red" if finding.level == "error" else "yellow"
    Console(soft_wrap=True).print(
        Text.assemble(
            (f"{printable(where)}: ", "bold"),
            (finding.level, style),
            f": {text} ",
            (f"[{finding.check}]", "dim"),
        )
    )
