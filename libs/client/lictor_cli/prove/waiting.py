"""`lictor prove --submit --wait`: what was submitted is waited for, until it is decided and has run."""

import asyncio
import json
from argparse import Namespace
from collections.abc import Iterator, Sequence
from typing import Any

from lictor.errors import LictorError, NotInTime
from lictor.history.everyones_history import EveryonesHistory
from lictor.history.stream_contents import streams_at
from lictor.run_results import NotRun, RunReport, journal_of, report_of
from lictor_cli.main import FAILED, OK, WAITING
from lictor_cli.output.terminal import printable, say, say_json, spelled_out, warn
from lictor_cli.prove.proof_output import FileReport
from lictor_cli.runs.sources import ended
from lictor_schema.approvals.approval import ApprovalEntry, ApprovalState
from lictor_schema.approvals.plain_values import shown
from lictor_schema.approvals.run import AnyRunEntry
from lictor_schema.proofs.proof import ProofVerdict


async def waited(reports: Sequence[FileReport], options: Namespace) -> int:
    """Wait for each request, all at once, and tell what came of it in the order of the files."""
    asked = [each for each in reports if each.request_id is not None]
    unasked = [
        each
        for each in reports
        if each.request_id is None and each.proof.verdict is ProofVerdict.PROVED
    ]
    codes = [OK]
    for report in unasked:
        warn(
            f"{printable(report.file)}: there is no request to wait for; `lictor doctor` tells why"
        )
        codes.append(FAILED)
    async with streams_at(options.url, "prove") as client:
        history = EveryonesHistory(client)
        waiting = [
            asyncio.create_task(_ended(history, each, options.wait_timeout)) for each in asked
        ]
        try:
            for report, task in zip(asked, waiting, strict=True):
                codes.append(_tell(report, await _outcome(task), options))
        except asyncio.CancelledError:
            for report, task in zip(asked, waiting, strict=True):
                if not (task.done() and not task.cancelled()):
                    warn(_goes_on(str(report.request_id)))
            raise
        finally:
            for task in waiting:
                task.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)
    return max(codes)


async def _ended(
    history: EveryonesHistory, report: FileReport, timeout_s: float | None
) -> list[AnyRunEntry]:
    name = printable(report.file)

    def tell(entry: ApprovalEntry) -> None:
        if entry.request is not None:
            until = entry.request.expires_at
            warn(f"{name}: waits for a decision on {entry.request_id} until {until}")
        elif entry.state is ApprovalState.APPROVED:
            warn(f"{name}: approved by {printable(entry.by)}; waits for the runner")
        elif entry.state is ApprovalState.EXECUTING:
            warn(f"{name}: runs")

    return await journal_of(history, str(report.request_id), timeout_s, tell)


async def _outcome(task: "asyncio.Task[list[AnyRunEntry]]") -> list[AnyRunEntry] | LictorError:
    try:
        return await task
    except LictorError as error:
        return error


def _tell(report: FileReport, found: list[AnyRunEntry] | LictorError, options: Namespace) -> int:
    request_id = str(report.request_id)
    run: RunReport | None = None
    problem: LictorError | None = None
    if isinstance(found, LictorError):
        problem = found
    else:
        try:
            run = report_of(request_id, found)
        except LictorError as error:
            problem = error
    entries = [] if isinstance(found, LictorError) else found
    if options.json:
        say_json(_document(report, entries, run, problem))
    else:
        for line in _lines(report, entries, run, problem):
            say(line)
    if isinstance(problem, NotInTime):
        warn(_goes_on(request_id))
        return WAITING
    return OK if run is not None and run.ok else FAILED


def _document(
    report: FileReport,
    entries: Sequence[AnyRunEntry],
    run: RunReport | None,
    problem: LictorError | None,
) -> dict[str, Any]:
    """The same fields in every case; the journal as `lictor runs show --json` has it."""
    return {
        "file": report.file,
        "request_id": report.request_id,
        "outcome": None if run is None else run.outcome.value,
        "problem": None if problem is None else str(problem),
        "entries": [json.loads(each.to_json()) for each in entries],
    }


def _lines(
    report: FileReport,
    entries: Sequence[AnyRunEntry],
    run: RunReport | None,
    problem: LictorError | None,
) -> Iterator[str]:
    name = printable(report.file)
    if run is None:
        is_open = isinstance(problem, NotInTime)
        state = "waiting" if is_open else "not run" if isinstance(problem, NotRun) else "unknown"
        yield f"{state:<9} {name}"
        yield f"    {printable(str(problem))}"
        return
    yield f"{run.outcome.value:<9} {name}"
    if run.reason is not None:
        yield f"    because {printable(f'{run.reason.code}: {run.reason.message}')}"
    if run.value_problem is not None:
        yield f"    no result: {printable(run.value_problem.message)}"
    elif run.ok:
        finished = ended(entries)
        result = None if finished is None else finished.result
        yield f"    returned {spelled_out(shown(None if result is None else result.value))}"
    if run.left:
        yield f"    look at calls {', '.join(map(str, run.left))}"
    yield f"    each call: `lictor runs show {run.request_id}`"


def _goes_on(request_id: str) -> str:
    return (
        f"request {request_id} goes on, and nothing is withdrawn: `lictor approvals show {request_id}` tells where it"
        f" stands, `lictor runs show {request_id}` what ran"
    )
