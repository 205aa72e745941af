"""`lictor seal verify`: whether a bundle is what was sealed, without access to any service."""

from argparse import ArgumentParser, Namespace
from pathlib import Path

from lictor.errors import LictorError
from lictor_cli.main import FAILED, OK
from lictor_cli.output.terminal import (
    at_terminal,
    common_arguments,
    counted,
    printable,
    say,
    say_beside,
    say_json,
)
from lictor_cli.seal.sources import NOT_COMPLETE, opened
from lictor_seal import (
    Check,
    CheckStatus,
    ConsistencyProof,
    KnownHead,
    SealBundle,
    SealError,
    TrustStore,
    VerificationReport,
    VerifiedSeal,
    checkpoint_in,
    committed_strands,
    incomplete_strands,
    verify_file,
)

HELP = "Verify a bundle offline."
_MARKS = {CheckStatus.HELD: "ok", CheckStatus.NOT_CHECKED: "skip"}


def arguments(parser: ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("file", metavar="FILE", help="the bundle; - for stdin")
    parser.add_argument(
        "--trust", metavar="KEYFILE", required=True, help="the trust file: whose seals you believe"
    )
    parser.add_argument(
        "--since",
        metavar="CHECKPOINT",
        help="a checkpoint you had from elsewhere: the log must not have been rewritten since",
    )
    parser.add_argument(
        "--proof",
        metavar="FILE",
        help="what joins the two: of `lictor log prove`, or a directory of `lictor log export`",
    )
    parser.add_argument(
        "--complete",
        action="store_true",
        help="the seal alone is not enough: every message must be carried, or signed as erased",
    )
    common_arguments(parser, connects=False)


def run(options: Namespace) -> int:
    """Verify it."""
    trust = TrustStore.load(Path(options.trust))
    with opened(options.file) as file:
        report = verify_file(
            file, trust, known=_known(options, file.first), complete=options.complete
        )
    if options.json:
        say_json({"file": options.file, **report.to_json_value()})
    else:
        show_report(options.file, report)
    return OK if report.ok else FAILED


def _known(options: Namespace, data: bytes) -> KnownHead | None:
    """The checkpoint from elsewhere, and what joins it to the bundle's own."""
    if options.since is None:
        if options.proof is not None:
            raise LictorError("--proof joins two checkpoints: name the other one with --since.")
        return None
    from lictor_cli.log.sources import exported_tree, read_note

    note = read_note(Path(options.since))
    if options.proof is None:
        return KnownHead(note)
    path = Path(options.proof)
    if not path.is_dir():
        return KnownHead(note, ConsistencyProof.from_text(read_note(path)))
    try:
        own = checkpoint_in(SealBundle.from_bytes(data).checkpoint)
    except SealError:
        # No bundle: the report says so, and needs no proof.
        return KnownHead(note)
    old, new = sorted((own.size, checkpoint_in(note).size))
    return KnownHead(note, ConsistencyProof(old, exported_tree(path).consistency(old, new)))


def show_report(name: str, report: VerificationReport, *, all_checks: bool = True) -> None:
    """Every check, or only the failed ones; then the verdict."""
    failed = [check for check in report.failures if check.status is not CheckStatus.NOT_CHECKED]
    # What is no bundle at all has nothing else to tell of.
    all_checks = all_checks and report.checks[0].ok
    for check in report.checks if all_checks else failed:
        _mark(_MARKS.get(check.status, "FAIL"), f"{check.name:<11}  {printable(check.detail)}")
    found = report.verified
    if found is None:
        _mark("FAIL", f"{name} {_verdict(report, failed)}")
        return
    for erasure in found.contents.erasures if found.contents else ():
        _mark(
            "skip",
            f"erased at {erasure.erased_at} by {printable(erasure.by)}: {printable(erasure.reason)}",
        )
    for strand in incomplete_strands(found.sealed_episode):
        _mark("skip", f"{strand}: {NOT_COMPLETE}")
    _mark(
        "ok",
        f"{name} is genuine{_alone_in_words(found)}: sealed by {printable(found.sealed_by)} at {found.sealed_at},"
        f" leaf {found.leaf_index} of {found.log_size} in {printable(found.log_origin)}",
    )


def _alone_in_words(found: VerifiedSeal) -> str:
    if found.contents is not None:
        return ""
    committed = committed_strands(found.sealed_episode)
    if committed is None:
        return ", but the seal alone, without messages"
    count = sum(int(each["count"]) for each in committed)
    return f", but the seal alone, without its {counted(count, 'message')}"


def _verdict(report: VerificationReport, failed: list[Check]) -> str:
    others = {check.status for check in failed if check.name != "complete"}
    if not others:
        return "is NOT complete: it is the seal alone, without the messages that the episode covers"
    if others == {CheckStatus.UNKNOWN_KEY}:
        return (
            "can't be trusted: the trust file does not hold the key"
            f" {printable(report.key_id or 'that it names')}"
        )
    return f"is NOT what was sealed: {', '.join(check.name for check in failed)}"


def _mark(mark: str, text: str) -> None:
    if not at_terminal():
        say(f"{mark:<4}  {text}")
        return
    from rich.text import Text

    sign, style = {"ok": ("✓ ", "green"), "skip": ("- ", "dim"), "FAIL": ("✗ ", "bold red")}[mark]
    say_beside(Text(sign, style), Text(text))
