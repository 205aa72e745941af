"""`lictor seal`: export a sealed episode as a file, verify and read it offline, have it corrected or erased."""

import asyncio
import shlex
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from lictor.errors import LictorError, NotInTime
from lictor.installation.endpoints import nats_url, replacing
from lictor_cli.main import FAILED, OK
from lictor_cli.output.terminal import (
    at_terminal,
    command_line,
    common_arguments,
    counted,
    printable,
    quiet_logs,
    say,
    say_beside,
    say_json,
)
from lictor_cli.seal.correct import correct, correct_arguments
from lictor_cli.seal.erase import erase, erase_arguments
from lictor_cli.seal.show import NOT_COMPLETE, show, show_arguments
from lictor_cli.seal.sources import opened, trust_file_for
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
    leaf_data,
    verify_file,
    verify_inclusion,
)
from lictor_seal.bundle import MAX_BUNDLE_SIZE

if TYPE_CHECKING:
    from lictor.governor import Governor

HELP = (
    "Export a sealed episode as one file, verify and read such a file without any access to a service,"
    " or have an episode corrected, or its messages erased."
)
_LOOK_S = 1.0
_COPIED = 1024 * 1024
_MARKS = {CheckStatus.HELD: "ok", CheckStatus.NOT_CHECKED: "skip"}


def arguments(parser: ArgumentParser) -> None:
    """The options of the command."""
    verbs = parser.add_subparsers(
        dest="verb", required=True, metavar="verify|show|export|correct|erase|renew"
    )
    verify = verbs.add_parser("verify", help="verify a bundle offline", allow_abbrev=False)
    verify.add_argument("file", metavar="FILE", help="the bundle; - for stdin")
    verify.add_argument(
        "--trust", metavar="KEYFILE", required=True, help="the trust file: whose seals you believe"
    )
    verify.add_argument(
        "--since",
        metavar="CHECKPOINT",
        help="a checkpoint you had from elsewhere: the log must not have been rewritten since",
    )
    verify.add_argument(
        "--proof",
        metavar="FILE",
        help="what joins the two: of `lictor log prove`, or a directory of `lictor log export`",
    )
    verify.add_argument(
        "--complete",
        action="store_true",
        help="the seal alone is not enough: every message must be carried, or signed as erased",
    )
    common_arguments(verify, connects=False)
    show_arguments(
        verbs.add_parser(
            "show",
            help="tell in plain words what a bundle holds",
            description="Verify a bundle and tell its episode: what was claimed, on what, what was refused and"
            " approved and by whom, what was done, and how it ended.",
            allow_abbrev=False,
        )
    )
    export = verbs.add_parser("export", help="write a bundle to a file", allow_abbrev=False)
    which = export.add_mutually_exclusive_group(required=True)
    which.add_argument(
        "episode", metavar="EPISODE", nargs="?", help="the episode's id, or its first characters"
    )
    which.add_argument("--task", metavar="TASK", help="the task that the episode covers")
    export.add_argument(
        "--version",
        metavar="N",
        type=int,
        help="which version of the episode (default: the newest)",
    )
    export.add_argument("-o", "--output", metavar="FILE", help="where to (default: stdout)")
    export.add_argument(
        "--seal-only",
        action="store_true",
        help="without the messages that the episode covers, which runtimes may not read",
    )
    export.add_argument(
        "--wait",
        metavar="SECONDS",
        type=float,
        default=5.0,
        help="how long to wait for the seal (default: 5)",
    )
    common_arguments(export)
    correct_arguments(
        verbs.add_parser(
            "correct",
            help="seal an episode once more, with what came late",
            description="Have the sealer seal the next version of an episode: with what was stored about its task"
            " since, and, if you say so, another outcome. The versions before it stay valid.",
            allow_abbrev=False,
        )
    )
    erase_arguments(
        verbs.add_parser(
            "erase",
            help="erase messages that an episode covers",
            description="Have the sealer erase messages that a sealed episode covers, from all its versions, for good."
            " Its seals stay valid, and say what was erased, by whom and why. What the seal itself says stays, as do"
            " the streams that the messages were read from, backups and files exported before.",
            allow_abbrev=False,
        )
    )
    renew = verbs.add_parser(
        "renew",
        help="prove a bundle's episode by the newest checkpoint of an exported log",
        description="Write a bundle of the same sealed episode with the checkpoint of an exported log,"
        " and the cosignatures of its witnesses.",
        allow_abbrev=False,
    )
    renew.add_argument("file", metavar="FILE", help="the bundle")
    renew.add_argument("--log", metavar="DIR", required=True, help="the exported log")
    renew.add_argument("-o", "--output", metavar="FILE", required=True, help="where to")
    common_arguments(renew, connects=False)


def run(options: Namespace) -> object:
    """Whatever the verb says."""
    verbs: dict[str, Callable[[Namespace], object]] = {
        "verify": _verify,
        "show": show,
        "export": _export,
        "correct": correct,
        "erase": erase,
        "renew": _renew,
    }
    return verbs[options.verb](options)


def _verify(options: Namespace) -> int:
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


def _renew(options: Namespace) -> int:
    from lictor_cli.log.sources import exported_note, exported_tree

    directory = Path(options.log)
    note = exported_note(directory)
    stated = checkpoint_in(note)
    with opened(options.file) as file:
        bundle = SealBundle.from_bytes(file.readline(MAX_BUNDLE_SIZE + 1))
        proof = exported_tree(directory).inclusion(bundle.leaf_index)
        leaf = leaf_data(bundle.sealed_episode)
        if not verify_inclusion(leaf, bundle.leaf_index, stated.size, proof, stated.root):
            raise LictorError(
                f"{directory} does not hold this episode as leaf {bundle.leaf_index}: it is of another log, or was"
                " changed."
            )
        renewed = replace(bundle, inclusion_proof=proof, checkpoint=note)
        with replacing(Path(options.output)) as output:
            output.write(renewed.to_bytes())
            while more := file.read(_COPIED):
                output.write(more)
    if options.json:
        say_json({"file": options.output, "leafIndex": bundle.leaf_index, "logSize": stated.size})
    else:
        say(f"wrote {options.output}: leaf {bundle.leaf_index} of {stated.size}")
    return OK


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


async def _export(options: Namespace) -> int:
    from lictor.governor_connection import connect
    from lictor.history.id_prefixes import EPISODE, TASK, id_at

    quiet_logs()
    async with connect(nats_url(options.url), timeout_s=3.0) as governor:
        if options.task is not None:
            task = await id_at(options.url, TASK, options.task)
            bundle = await governor.sealed(task, timeout_s=options.wait)
        else:
            episode = await id_at(options.url, EPISODE, options.episode)
            bundle = await _of_episode(governor, episode, options.wait)
        if options.version is not None:
            bundle = await governor.sealed_version(_episode_in(bundle), options.version)
        lines = _alone(bundle) if options.seal_only else governor.bundle_lines(bundle)
        if options.output is None:
            await _write(lines, sys.stdout.buffer)
            return OK
        path = Path(options.output)
        with replacing(path) as file:
            size = await _write(lines, file)
    if options.json:
        say_json({"file": str(path), "bytes": size})
    else:
        say(f"wrote {path} ({size} bytes)")
        trust = trust_file_for(bundle) or "KEYFILE"
        verify = command_line("seal", "verify", path, "--trust", trust)
        say(f"verify it anywhere with: {verify}")
    return OK


async def _alone(bundle: bytes) -> AsyncIterator[bytes]:
    yield bundle


async def _write(lines: AsyncIterator[bytes], file: BinaryIO) -> int:
    size = 0
    async for line in lines:
        size += file.write(line)
    file.flush()
    return size


def _episode_in(bundle: bytes) -> str:
    return str(SealBundle.from_bytes(bundle).sealed_episode.get("episodeId"))


async def _of_episode(governor: "Governor", episode: str, timeout_s: float) -> bytes:
    try:
        return await governor.sealed_episode(episode, timeout_s=timeout_s)
    except NotInTime:
        if not await _is_task(governor, episode):
            raise
    name = printable(episode)
    raise NotInTime(f"{name} is a task, not an episode; use `--task {shlex.quote(name)}`")


async def _is_task(governor: "Governor", task_id: str) -> bool:
    try:
        async with asyncio.timeout(_LOOK_S):
            async with aclosing(governor.decisions(task_id, since_start=True)) as records:
                await anext(records)
    except TimeoutError:
        return False
    return True
