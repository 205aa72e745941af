"""`lictor approvals list`: every request, where it stands, and how they were decided."""

from argparse import ArgumentParser, Namespace

from lictor_approval.request_counts import RequestCounts, counts
from lictor_approval.request_life import RequestLife
from lictor_cli.approvals.sources import all_requests, life_as_json, requests_at
from lictor_cli.main import OK
from lictor_cli.output.terminal import (
    common_arguments,
    counted,
    printable,
    quiet_logs,
    say,
    say_json,
    say_table,
)
from lictor_schema.approvals.approval import ApprovalRequest, ApprovalState
from lictor_schema.proofs.inputs import shown_inputs

HELP = "List requests and where they stand; those that wait first. Without --all, only those that are open."

_MAX_VALUES = 60


def arguments(parser: ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("--state", choices=[each.value for each in ApprovalState])
    parser.add_argument("--all", action="store_true", help="also those that have ended")
    common_arguments(parser)


async def run(options: Namespace) -> int:
    """List them."""
    quiet_logs()
    async with requests_at(options.url) as client:
        everything = await all_requests(client)
    shown = [
        life
        for life in everything
        if (options.state or life.state.value) == life.state.value
        and (options.all or options.state or not life.state.is_final)
    ]
    told = counts(everything)
    if options.json:
        for life in shown:
            say_json(life_as_json(life))
        return OK
    if shown:
        say_table(
            ("request", "state", "verdict", "coverage", "until", "agent", "program"),
            (_row(life) for life in sorted(shown, key=lambda each: not each.state.is_open)),
        )
    say(_summed(told))
    return OK


def _row(life: RequestLife) -> tuple[str, ...]:
    binding = life.request.binding
    values = ", ".join(shown_inputs(binding.inputs))
    given = f" with {printable(values, _MAX_VALUES)}" if values else ""
    program = f"{binding.source_name} ({binding.target}) of task {binding.task_id}{given}"
    until = life.due if life.state.is_open else "-"
    return (
        life.request.request_id,
        life.state.value,
        _verdict(life.request),
        _badge(life.request),
        until,
        binding.agent_id,
        program,
    )


def _verdict(request: ApprovalRequest) -> str:
    done = request.rehearsal is not None and request.rehearsal.is_done
    return "proved" if done else "proved, not rehearsed"


def _badge(request: ApprovalRequest) -> str:
    """The worst coverage of all domains: what a reviewer sees at a glance."""
    return "not told" if request.coverage is None else request.coverage.worst.value


def _summed(told: RequestCounts) -> str:
    parts = [
        f"{counted(told.waiting, 'request')} to decide",
        f"{told.approved} approved and {told.rejected} rejected by people",
        f"{told.automatic} by policy",
        f"{told.expired} expired",
        f"{told.stale} stale",
    ]
    if told.lapsed:
        parts.append(
            f"nothing ran by {counted(told.lapsed, 'approval')} that expired or went stale"
        )
    if told.rate is not None and told.median_s is not None:
        parts += [f"{told.rate:.0%} approved", f"decided after {told.median_s:.0f} s (median)"]
    return "; ".join(parts)
