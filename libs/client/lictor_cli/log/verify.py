"""`lictor log verify`: the whole log, checked."""

from argparse import ArgumentParser, Namespace
from pathlib import Path

from lictor_bus.names import subjects
from lictor_bus.wire.provenance import passed_over
from lictor_cli.log.sources import (
    episodes_stream,
    known_checkpoint,
    messages,
    names_in,
    reader,
    trust_argument,
)
from lictor_cli.main import FAILED, OK
from lictor_cli.output.terminal import common_arguments, printable, quiet_logs, say, say_json
from lictor_seal import AuditReport, Checkpoint, StreamAudit, TrustStore, audit_files

HELP = "Check the whole log: every leaf and its seal, every checkpoint, every change of keys, every tile."


def arguments(parser: ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument(
        "directory", metavar="DIR", nargs="?", help="an exported log (default: the stream)"
    )
    trust_argument(parser)
    parser.add_argument(
        "--since",
        metavar="CHECKPOINT",
        help="a checkpoint you kept: the log must still hold what it signed",
    )
    common_arguments(parser)


async def run(options: Namespace) -> int:
    """Check it, and tell everything that does not hold."""
    quiet_logs()
    trust = TrustStore.load(Path(options.trust))
    known = known_checkpoint(options.since, trust)
    if options.directory is not None:
        folder = Path(options.directory)
        report = audit_files(reader(folder), trust, known, names=names_in(folder))
    else:
        report = await _audit_stream(options.url, trust, known)
    if options.json:
        say_json(report.to_json_value())
    else:
        if options.directory is None and known is None and _is_empty(report):
            say(
                "FAIL  nothing was sealed yet, so there is nothing to check; if a log was here, it is gone:"
            )
            say("      a checkpoint that you kept shows that, with --since")
        else:
            _show(report)
            if foreign := sum(passed_over().values()):
                say(f"note  {foreign} foreign messages in EPISODES, which no checkpoint covers")
    return OK if report.ok else FAILED


async def _audit_stream(
    url: str | None, trust: TrustStore, known: Checkpoint | None
) -> AuditReport:
    audit = StreamAudit(trust, known)
    async with episodes_stream(url) as client:
        async for stored in messages(client):
            if stored.subject == subjects.LOG_CHECKPOINT:
                audit.checkpoint(stored.sequence, stored.body)
            else:
                audit.episode(stored.sequence, stored.body)
    return audit.finish()


def _is_empty(report: AuditReport) -> bool:
    """Whether the log's stream holds nothing at all: neither leaves nor anything else to complain of."""
    return not report.size and not report.checkpoints and len(report.findings) == 1


def _show(report: AuditReport) -> None:
    for finding in report.findings:
        say(f"FAIL  {printable(finding.where)}: {printable(finding.what)}")
    if report.more_findings:
        say(f"FAIL  and {report.more_findings} more")
    log = f"{printable(report.origin or 'the log')}, {report.size} leaves, {report.checkpoints} checkpoints"
    if not report.ok:
        say(f"FAIL  {log}: NOT what was signed")
        return
    more = f", {report.hand_overs} hand-overs" if report.hand_overs else ""
    more += "".join(f", witness {printable(name)}" for name in report.witnesses)
    say(f"ok    {log}{more}: all of it holds")
