"""`lictor patch show`: one patch, its diff, and what was said about it."""

import json
from argparse import ArgumentParser, Namespace

from lictor_cli.main import OK
from lictor_cli.output.terminal import (
    common_arguments,
    printable,
    quiet_logs,
    say,
    say_json,
    spelled_out,
)
from lictor_cli.patch.sources import find_patch, patch_argument, patch_as_json, patches_at
from lictor_contracts.patch.life import Patch
from lictor_schema.contracts.patch import PatchEntry

HELP = "Show a patch: what asks for it, its diff, what it tightens and loosens, and what was said about it."


def arguments(parser: ArgumentParser) -> None:
    """The options of the command."""
    patch_argument(parser)
    common_arguments(parser)


async def run(options: Namespace) -> int:
    """Show it."""
    quiet_logs()
    async with patches_at(options.url) as client:
        patch, entries = await find_patch(client, options.patch)
    if options.json:
        told = [json.loads(entry.to_json()) for entry in entries]
        say_json({**patch_as_json(patch), "entries": told})
        return OK
    _show(patch, entries)
    return OK


def _show(patch: Patch, entries: list[PatchEntry]) -> None:
    proposal, request = patch.proposal, patch.request
    lines = [("patch", patch.patch_id), ("state", patch.state.value)]
    if request is not None:
        lines += [
            ("drift", f"{request.drift_type.value} of {request.decision_type}: {request.cause}"),
            ("seen", f"{request.occurrences} times, attempt {request.attempt}"),
            ("cure", request.recommended_patch_type.value),
        ]
    if proposal is None:
        lines.append(("change", "none yet; write one with `lictor patch propose`, or reject it"))
    else:
        target = proposal.target
        lines += [
            ("change", f"{target.kind} {target.id} {target.version} -> {proposal.new_version}"),
            ("reason", proposal.reason),
            ("proposed", f"{proposal.proposed_at} by {proposal.proposed_by}"),
            ("approval", f"{proposal.approval.value}; by {', '.join(patch.approvers) or 'nobody'}"),
            ("hash", str(patch.proposal_hash)),
            *(("tightens", each) for each in proposal.tightens),
            *(("loosens", each) for each in proposal.loosens),
        ]
    for name, value in lines:
        say(f"{name:<8}  {printable(value)}")
    for entry in entries:
        why = f": {entry.reason}" if entry.reason else ""
        say(f"{entry.state.value:<8}  {entry.at} by {printable(entry.by + why)}")
    if proposal is not None:
        say()
        for line in proposal.diff.splitlines():
            # Layout is what a diff is about; only what could steer a terminal is taken out.
            say(spelled_out(line))
