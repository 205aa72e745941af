"""`lictor doctor`: what is there, what runs, and what to do about what doesn't."""

from argparse import ArgumentParser, Namespace
from dataclasses import asdict
from pathlib import Path

from lictor_cli.main import FAILED, OK
from lictor_cli.output.terminal import (
    at_terminal,
    common_arguments,
    printable,
    quiet_logs,
    say,
    say_beside,
    say_json,
)
from lictor_local.doctor import DoctorFinding, examine

HELP = """\
Check this machine (Python, binaries, packs, data directory, ports) and what runs (NATS, Redis, each
service). Every problem is shown with what to do about it; exit code 1 when there is one.
"""


def arguments(parser: ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("--data-dir", metavar="DIR", type=Path, help="the data directory to check")
    parser.add_argument(
        "--port", metavar="PORT", type=int, action="append", default=[], help="a port to check"
    )
    common_arguments(parser)


async def run(options: Namespace) -> int:
    """Show every finding as it is made."""
    quiet_logs()
    findings: list[DoctorFinding] = []
    async for finding in examine(
        url=options.url, data_dir=options.data_dir, ports=tuple(options.port)
    ):
        # What was advised for one problem need not be said again for the next.
        advised = {earlier.remedy for earlier in findings if not earlier.ok}
        findings.append(finding)
        if not options.json:
            _show(finding, advise=not finding.ok and finding.remedy not in advised)
    bad = [finding for finding in findings if not finding.ok]
    if options.json:
        say_json({"ok": not bad, "findings": [_as_json(finding) for finding in findings]})
    else:
        say(f"{len(bad)} problem{'s' * (len(bad) != 1)}" if bad else "all is well")
    return FAILED if bad else OK


def _show(finding: DoctorFinding, *, advise: bool) -> None:
    detail = printable(finding.detail)
    remedy = f"what to do: {printable(finding.remedy)}" if advise else ""
    if not at_terminal():
        say(f"{'ok' if finding.ok else 'problem':<7}  {finding.name:<16}  {detail}")
        if remedy:
            say(f"{'':9}{remedy}")
        return
    from rich.text import Text

    mark = ("ok       ", "green") if finding.ok else ("problem  ", "bold red")
    told = Text.assemble(detail, (f"\n{remedy}" if remedy else "", "yellow"))
    say_beside(Text.assemble(mark, f"{finding.name:<16}  "), told)


def _as_json(finding: DoctorFinding) -> dict[str, object]:
    content = asdict(finding)
    if finding.ok:
        del content["remedy"]
    return content
