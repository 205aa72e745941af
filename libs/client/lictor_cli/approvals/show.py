"""`lictor approvals show`: everything an approver has to know about a request."""

import json
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable
from datetime import UTC, datetime

from lictor_approval.request_life import RequestLife
from lictor_cli.approvals.deciders import Deciders, approvers_option
from lictor_cli.approvals.show_call import described_call
from lictor_cli.approvals.sources import (
    find_request,
    life_as_json,
    program_of,
    request_argument,
    requests_at,
)
from lictor_cli.main import OK
from lictor_cli.output.terminal import (
    common_arguments,
    printable,
    quiet_logs,
    say,
    say_json,
    spelled_out,
)
from lictor_schema.approvals.approval import ApprovalBinding, ApprovalEntry, ApprovalRequest
from lictor_schema.proofs.inputs import shown_inputs
from lictor_schema.proofs.proof import GuaranteeResult

HELP = """\
Show a request. Of a program: what it may do, what was proved, what was left unsaid. Of a tool call: who wants to call
what, which policy asks and why, the exact parameters, and how to decide. And the hashes that are bound.
"""


def arguments(parser: ArgumentParser) -> None:
    """The options of the command."""
    request_argument(parser)
    parser.add_argument("--program", action="store_true", help="also the program's text")
    approvers_option(parser)
    common_arguments(parser)


async def run(options: Namespace) -> int:
    """Show it."""
    quiet_logs()
    async with requests_at(options.url) as client:
        life, entries = await find_request(client, options.request)
        program = await program_of(client, life.program) if options.program else None
    if options.json:
        told = [json.loads(entry.to_json()) for entry in entries]
        say_json({**life_as_json(life), "entries": told, "program": program})
        return OK
    for line in described(life, entries, Deciders.here(options.approvers, datetime.now(UTC))):
        say(line)
    if program is not None:
        say()
        for line in program.splitlines():
            say(spelled_out(line))
    return OK


def described(
    life: RequestLife, entries: Iterable[ApprovalEntry], deciders: Deciders
) -> Iterable[str]:
    """The request as lines."""
    if isinstance(life.request, ApprovalRequest):
        return _described_program(life, entries)
    return described_call(life, entries, deciders)


def _described_program(life: RequestLife, entries: Iterable[ApprovalEntry]) -> Iterable[str]:
    """What nothing constrains comes first."""
    request, binding = life.program, life.program.binding
    until = f" until {life.due}" if life.state.is_open else ""
    yield from _fields(
        ("request", request.request_id),
        ("state", life.state.value + until),
        ("agent", _who(binding)),
        ("program", f"{binding.source_name}, target {binding.target}, {binding.language}"),
        ("verdict", _verdict(request)),
    )
    yield from _values(request)
    yield ""
    if request.summary is None:
        yield "What it may do: the prover told no summary; read the program."
    else:
        yield from map(spelled_out, request.summary.splitlines())
    yield ""
    yield from _left_unsaid(request)
    yield "Proved:"
    for each in request.guarantees:
        yield f"  {_guarantee(each)}"
    if not request.guarantees:
        yield "  nothing: the program states no guarantee, and its layer requires none"
    yield ""
    yield from _fields(
        ("proof", _certificate(request)),
        ("binding", request.binding_hash),
        ("program", binding.program_hash),
        ("ir", binding.ir_hash),
        ("layer", binding.layer_hash),
        ("engine", binding.engine),
        ("python", binding.python or "not named by the proof: it runs nowhere; prove it again"),
    )
    for entry in entries:
        why = f": {entry.reason}" if entry.reason else ""
        yield f"{entry.state.value:<9}  {entry.at} by {printable(entry.by + why)}"


def _who(binding: ApprovalBinding) -> str:
    """The agent and the task are what the submission says of itself; the runtime is whose account handed it in."""
    runtime = binding.runtime
    of = (
        "a runtime that is not named (stored before 0.2)"
        if runtime is None
        else f"runtime {runtime}"
    )
    return f"{binding.agent_id} in task {binding.task_id} of {of}"


def _values(request: ApprovalRequest) -> Iterable[str]:
    """The values that it runs with, whole: blanks count, and what can't be seen is spelled out."""
    values = shown_inputs(request.binding.inputs)
    if not values:
        return
    yield ""
    yield "It runs with these values, and no others:"
    for each in values:
        yield f"  {spelled_out(each)}"


def _left_unsaid(request: ApprovalRequest) -> Iterable[str]:
    if request.coverage is None:
        yield "Coverage: the layer does not say what should be said about its domains"
        yield ""
        return
    yield f"Coverage ({request.coverage.level}): {request.coverage.worst.value}"
    domains = sorted(request.coverage.domains, key=lambda each: -each.status.loudness)
    for domain in domains:
        used = f" (uses {', '.join(domain.used_calls)})" if domain.used_calls else ""
        yield f"  {domain.status.value:<22} {printable(f'{domain.domain}{used}: {domain.told()}')}"
    yield ""


def _guarantee(each: GuaranteeResult) -> str:
    strength = "" if each.strength is None else f" [{each.strength.words}]"
    required = " (required by the layer)" if each.required else ""
    said = f": {each.description}" if each.description else ""
    return printable(f"{each.name}{strength}{required}{said}")


def _verdict(request: ApprovalRequest) -> str:
    found = request.rehearsal
    if found is None:
        return "proved, not rehearsed: its proof was never compared with Python"
    return f"proved, {found.words}"


def _certificate(request: ApprovalRequest) -> str:
    binding = request.binding
    if binding.certificate_hash is None:
        return "NO CERTIFICATE: nothing but the prover's word; no policy approves it, only a person can"
    return (
        f"certificate {binding.certificate_hash}; the prover says level {binding.certificate_level}"
    )


def _fields(*pairs: tuple[str, str]) -> Iterable[str]:
    for name, value in pairs:
        yield f"{name:<9}  {printable(value)}"
