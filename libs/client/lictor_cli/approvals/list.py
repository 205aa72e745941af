"""`lictor approvals list`: every request, where it stands, and how they were decided."""

from argparse import ArgumentParser, Namespace
from datetime import UTC, datetime
from typing import Any

from lictor_approval.request_counts import RequestCounts, counts
from lictor_approval.request_life import REQUEST_KINDS, RequestLife, kind_of
from lictor_cli.approvals.deciders import Deciders, approvers_option, time_left
from lictor_cli.approvals.sources import all_requests, life_as_json, requests_at
from lictor_cli.main import OK
from lictor_cli.output.terminal import (
    common_arguments,
    counted,
    quiet_logs,
    say,
    say_json,
    say_table,
    spelled_out,
)
from lictor_schema.approvals.approval import ApprovalRequest, ApprovalState
from lictor_schema.proofs.inputs import shown_inputs

HELP = """\
List requests and where they stand, those that wait first: proved programs, and tool calls that wait for people. Without
--all, only those that are open.
"""

_MAX_VALUES = 60


def arguments(parser: ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("--state", choices=[each.value for each in ApprovalState])
    parser.add_argument(
        "--kind", choices=REQUEST_KINDS, help="only what is about programs, or calls"
    )
    parser.add_argument("--all", action="store_true", help="also those that have ended")
    approvers_option(parser)
    common_arguments(parser)


async def run(options: Namespace) -> int:
    """List them."""
    quiet_logs()
    deciders = Deciders.here(options.approvers, datetime.now(UTC))
    async with requests_at(options.url) as client:
        everything = await all_requests(client)
    told(options, everything, deciders)
    return OK


def told(options: Namespace, everything: list[RequestLife], deciders: Deciders) -> None:
    """Say where they stand."""
    everything = [life for life in everything if options.kind in (None, kind_of(life))]
    shown = [
        life
        for life in everything
        if (options.state or life.state.value) == life.state.value
        and (options.all or options.state or not life.state.is_final)
    ]
    if options.json:
        for life in shown:
            say_json({**life_as_json(life), **_waits_as_json(life, deciders)})
        return
    if shown:
        say_table(
            (
                "request",
                "kind",
                "state",
                "left",
                "decides",
                "verdict",
                "coverage",
                "runtime",
                "agent",
                "about",
            ),
            [_row(life, deciders) for life in sorted(shown, key=_order)],
            exact=("about",),
        )
    say(_summed(counts(everything)))


def _runtime(name: str | None) -> str:
    return "" if name is None else f" of runtime {name}"


def _order(life: RequestLife) -> tuple[int, str]:
    """What waits for people comes first, and what has the least time left before the rest."""
    rank = 0 if life.state.is_undecided else 1 if life.state.is_open else 2
    return rank, life.due if life.state.is_open else ""


def _waits_as_json(life: RequestLife, deciders: Deciders) -> dict[str, Any]:
    if not life.state.is_open:
        return {}
    left = (datetime.fromisoformat(life.due) - deciders.now).total_seconds()
    asks = [
        {
            "policy_id": each.ask.policy_id,
            "approvers": list(each.ask.approvers),
            "needed": each.ask.needed,
            "approved_by": list(each.approved_by),
            "missing": each.missing,
            "may_decide": None if each.may_decide is None else list(each.may_decide),
        }
        for each in (deciders.asks(life) if kind_of(life) == "call" else ())
    ]
    return {"left_s": max(0, int(left)), "asks": asks}


def _row(life: RequestLife, deciders: Deciders) -> tuple[str, ...]:
    request = life.request
    left = time_left(life.due, deciders.now) if life.state.is_open else "-"
    if isinstance(request, ApprovalRequest):
        decides, verdict, badge = "any approver", _verdict(request), _badge(request)
        mine = request.binding
        values = ", ".join(shown_inputs(mine.inputs))
        given = f" with {spelled_out(values, _MAX_VALUES)}" if values else ""
        about = f"{mine.source_name} ({mine.target}) of task {mine.task_id}{_runtime(mine.runtime)}{given}"
    else:
        decides, verdict, badge = _decides(life, deciders), "-", "-"
        about = f"{request.binding.tool} in task {request.binding.task_id}{_runtime(request.binding.runtime)}"
    return (
        request.request_id,
        kind_of(life),
        life.state.value,
        left,
        decides if life.state.is_undecided else "-",
        verdict,
        badge,
        request.binding.runtime or "-",
        request.binding.agent_id,
        about,
    )


def _decides(life: RequestLife, deciders: Deciders) -> str:
    return "; ".join(
        each.whom
        + (f" ({each.missing} missing)" if each.ask.needed > 1 or not each.missing else "")
        for each in deciders.asks(life)
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
    if told.cancelled:
        parts.append(f"{told.cancelled} cancelled by whoever asked")
    if told.lapsed:
        parts.append(
            f"nothing ran by {counted(told.lapsed, 'approval')} that expired or went stale"
        )
    if told.rate is not None and told.median_s is not None:
        parts += [f"{told.rate:.0%} approved", f"decided after {told.median_s:.0f} s (median)"]
    return "; ".join(parts)
