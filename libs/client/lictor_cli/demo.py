"""`lictor demo`: the whole of Lictor in one run, from an agent's first event to a verified seal."""

import asyncio
import json
import re
import shutil
from argparse import ArgumentParser, Namespace
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from lictor.errors import LictorError
from lictor.governor_connection import connect
from lictor.installation.atomic_files import replace_file
from lictor.installation.directories import data_directory, packs_directory
from lictor.installation.endpoints import in_use
from lictor_cli.main import INTERRUPTED, OK
from lictor_cli.output.interruption import ending_by_signal
from lictor_cli.output.stack_progress import StackProgress
from lictor_cli.output.story_view import story_view
from lictor_cli.output.terminal import command_line, common_arguments, quiet_logs, say, say_json
from lictor_cli.seal.verify import show_report
from lictor_cli.up import stack_arguments, stack_settings
from lictor_local.demo_story import Ending, play
from lictor_local.server_process import writable
from lictor_local.stack import Stack
from lictor_schema.events.operator_context import OperatorContext
from lictor_seal import TrustStore, VerificationReport, verify_bundle

HELP = """\
Start everything in a fresh directory, play a short agent story through the SDK, show the decisions
as they arrive, seal the episode, stop everything again, and verify the seal offline.
"""

_NAME = re.compile(r"demo-[1-9][0-9]{0,8}")
_KEPT = 3


def arguments(parser: ArgumentParser) -> None:
    """The options of the command."""
    stack_arguments(parser)
    common_arguments(parser, connects=False)


@dataclass(frozen=True)
class _Proof:
    """The sealed bundle as files, and what verification says of it and of a changed copy."""

    bundle: Path
    changed: Path
    trust: Path
    report: VerificationReport
    report_on_changed: VerificationReport


async def run(options: Namespace) -> int:
    """Play the story; anything that does not happen as told is an error."""
    quiet_logs()
    packs = packs_directory()
    if options.data_dir:
        data_dir, removed = options.data_dir, []
    else:
        data_dir, removed = fresh(data_directory(packs))
    settings = stack_settings(options, data_dir, packs)
    try:
        with ending_by_signal(), StackProgress(as_json=options.json, quiet=True) as progress:
            async with Stack(settings, progress.tell) as stack:
                progress.done()
                # Not below the data: the agent of the story may not write there.
                with TemporaryDirectory(prefix="lictor-demo-") as workspace:
                    url = stack.running.nats_url
                    ending = await _play(url, Path(workspace), as_json=options.json)
                trust_file = Path(stack.running.trust_file)
    except asyncio.CancelledError:
        return INTERRUPTED
    # Everything is stopped: what follows uses nothing but the files.
    proof = _prove(ending, data_dir.absolute(), trust_file)
    if options.json:
        say_json(_as_json(ending, proof))
    else:
        _show(proof)
        if removed:
            say(f"Removed {', '.join(removed)}: the last {_KEPT} demos are kept.")
    if not proof.report.ok:
        raise LictorError(f"the sealed episode {proof.bundle} does not verify")
    if proof.report_on_changed.ok:
        raise LictorError("a changed copy of the sealed episode verified, which must not happen")
    return OK


async def _play(url: str, workspace: Path, *, as_json: bool) -> Ending:
    operator = OperatorContext(operator_id="you", channel="terminal")
    async with connect(url, runtime="demo", agent_id="demo-agent", operator=operator) as governor:
        with story_view(silent=as_json) as view:
            ending = await play(governor, workspace, view.narrate, view.see)
        lines = [line async for line in governor.bundle_lines(ending.bundle)]
        return replace(ending, bundle=b"".join(lines))


def _prove(ending: Ending, folder: Path, trust_file: Path) -> _Proof:
    changed = bytearray(ending.bundle)
    middle = len(changed) // 2
    # Another letter or digit in its place: what a forger would do, and still JSON.
    while not chr(changed[middle]).isalnum():
        middle += 1
    changed[middle] = ord("0") if changed[middle] != ord("0") else ord("1")
    bundle_path, changed_path = folder / "episode.json", folder / "episode-changed.json"
    replace_file(bundle_path, ending.bundle)
    replace_file(changed_path, bytes(changed))
    trust = TrustStore.load(trust_file)
    return _Proof(
        bundle_path,
        changed_path,
        trust_file,
        verify_bundle(bundle_path.read_bytes(), trust),
        verify_bundle(changed_path.read_bytes(), trust),
    )


def _show(proof: _Proof) -> None:
    say()
    say("The sealed episode, verified offline (everything above is stopped):")
    show_report(proof.bundle.name, proof.report)
    say()
    say("A copy with one changed byte:")
    show_report(proof.changed.name, proof.report_on_changed, all_checks=False)
    say()
    for name, value in (
        ("episode", proof.bundle),
        ("trust file", proof.trust),
        ("data, logs", proof.bundle.parent),
    ):
        say(f"  {name:<10}  {value}")
    check = command_line("seal", "verify", proof.bundle, "--trust", proof.trust)
    say(f"What it tells: {command_line('seal', 'show', proof.bundle, '--trust', proof.trust)}")
    say(f"Check it yourself: {check}")


def _as_json(ending: Ending, proof: _Proof) -> dict[str, Any]:
    return {
        "ok": proof.report.ok and not proof.report_on_changed.ok,
        "task_id": ending.task_id,
        "decisions": [json.loads(record.to_json()) for record in ending.records],
        "episode": str(proof.bundle),
        "changed_copy": str(proof.changed),
        "trust_file": str(proof.trust),
        "data_dir": str(proof.bundle.parent),
        "verification": proof.report.to_json_value(),
        "verification_of_changed_copy": proof.report_on_changed.to_json_value(),
    }


def fresh(parent: Path) -> tuple[Path, list[str]]:
    """A new `demo-<n>`, and the names of those removed for it: the last few are kept."""
    with writable(parent):
        parent.mkdir(parents=True, exist_ok=True)
        while True:
            names = sorted(
                filter(_NAME.fullmatch, (path.name for path in parent.iterdir())), key=_number
            )
            folder = parent / f"demo-{_number(names[-1]) + 1 if names else 1}"
            try:
                folder.mkdir()
            except FileExistsError:  # by another demo that started just now
                continue
            break
    made_by_us = [
        name for name in names if (parent / name).is_dir() and not (parent / name).is_symlink()
    ]
    return folder, [name for name in made_by_us[: 1 - _KEPT] if _removed(parent / name)]


def _number(name: str) -> int:
    return int(name.removeprefix("demo-"))


def _removed(folder: Path) -> bool:
    """Remove the directory of an earlier demo, unless that demo still runs or it is not ours to remove."""
    if in_use(folder):
        return False
    try:
        shutil.rmtree(folder)
    except OSError:
        return False
    return True
