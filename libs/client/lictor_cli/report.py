"""`lictor report`: how decisions kept to their contracts, from what the streams hold."""

import json
import time
from argparse import ArgumentParser, Namespace
from datetime import UTC, datetime
from pathlib import Path

from nats.aio.client import Client
from pydantic import ValidationError

from lictor.history.stream_contents import extent, streams_at
from lictor.installation.endpoints import find_running
from lictor_bus.logs.entry_logs import all_entries
from lictor_bus.names import streams, subjects
from lictor_bus.wire.read import last_on_subjects, read_all
from lictor_cli.main import FAILED, OK
from lictor_cli.output.progress_bar import counting
from lictor_cli.output.terminal import (
    common_arguments,
    counted,
    printable,
    quiet_logs,
    say,
    say_json,
    say_table,
)
from lictor_cli.selection import since_argument
from lictor_contracts.report.measurements import Measuring
from lictor_schema.contracts.coherence_report import CoherenceReport, SloVerdict
from lictor_schema.contracts.drift import DriftEvent, TriageEntry
from lictor_schema.contracts.patch import PatchEntry
from lictor_schema.core.canonical_json import CanonicalError, canonical_json
from lictor_schema.seals.seal import SealedEpisode
from lictor_seal import SealBundle, SealError, TrustStore, verify_bundle

HELP = """\
Tell how decisions kept to their contracts: drift, time to patch, use of the degrade ladder, deadlines,
freshness, verification and the integrity of seals, each against its objective. Everything is measured now, from
the streams: every seal is verified against the trust file. What nobody measured is `not_measured`, never a pass.

With --check, exits with 1 unless every objective is reached.
"""
_ASKED_WHY = 5


def arguments(parser: ArgumentParser) -> None:
    """The options of the command."""
    since_argument(parser)
    parser.add_argument(
        "--trust",
        metavar="KEYFILE",
        help="the trust file to verify seals against (default: that of the running `lictor up`;"
        " without one, seals are not measured)",
    )
    parser.add_argument(
        "--check", action="store_true", help="exit with 1 unless every objective is reached"
    )
    parser.add_argument(
        "--unmeasured-ok",
        action="store_true",
        help="with --check: only objectives that were missed count",
    )
    common_arguments(parser)


async def run(options: Namespace) -> int:
    """Measure, and tell."""
    quiet_logs()
    trust = _trust(options.trust)
    async with streams_at(options.url, "report") as client:
        measuring = Measuring(options.since, datetime.now(UTC))
        await _episodes(client, measuring, trust, quiet=options.json)
        await _drift(client, measuring)
        for episode in measuring.latest[:_ASKED_WHY]:
            measuring.why(await _ask_why(client, episode))
    report = measuring.report()
    if options.json:
        say_json({"verdict": report.verdict.value, **json.loads(report.to_json())})
    else:
        _show(report)
    if not options.check or report.verdict is SloVerdict.PASS:
        return OK
    missed = report.verdict is SloVerdict.FAIL
    return FAILED if missed or not options.unmeasured_ok else OK


def _trust(given: str | None) -> TrustStore | None:
    if given is None:
        running = find_running()
        given = None if running is None else running.trust_file
    return None if given is None else TrustStore.load(Path(given))


async def _episodes(
    client: Client, measuring: Measuring, trust: TrustStore | None, *, quiet: bool
) -> None:
    size = await extent(client, streams.EPISODES)
    with counting("verifying seals", size.messages, quiet=quiet) as advance:
        async for stored in read_all(client, streams.EPISODES, subjects.EPISODE.any):
            advance()
            if not measuring.covers(stored.stored_at):
                continue
            if trust is not None:
                intact = verify_bundle(stored.body, trust).ok
                measuring.seal(intact=intact)
                if not intact:
                    # What it says of itself counts for nothing.
                    continue
            try:
                episode = SealBundle.from_bytes(stored.body).sealed_episode
                measuring.episode(SealedEpisode.from_json(canonical_json(dict(episode))))
            except (SealError, ValidationError, CanonicalError):
                continue


async def _drift(client: Client, measuring: Measuring) -> None:
    await extent(client, streams.DRIFT)
    await extent(client, streams.PATCHES)
    async for stored in read_all(client, streams.DRIFT, subjects.DRIFT.any):
        try:
            measuring.drift(DriftEvent.from_json(stored.body))
        except (ValidationError, CanonicalError):
            # Somebody else's message; see lictor_bus.logs.entry_logs.
            continue
    triage = all_entries(client, streams.DRIFT, subjects.TRIAGE.any, TriageEntry.from_json)
    async for _, entry in triage:
        measuring.triage(entry)
    patches = all_entries(client, streams.PATCHES, subjects.PATCH.any, PatchEntry.from_json)
    async for _, entry in patches:
        measuring.patch(entry)


async def _ask_why(client: Client, episode: SealedEpisode) -> int:
    """How long it takes to get an episode, and the records of what was decided in it."""
    started = time.monotonic()
    subject = subjects.episodes_with_id(episode.episode_id)
    await last_on_subjects(client, streams.EPISODES, [subject])
    task = subjects.decisions_on_task(episode.task_id)
    async for _ in read_all(client, streams.DECISIONS, task):
        pass
    return round((time.monotonic() - started) * 1000)


def _show(report: CoherenceReport) -> None:
    say(f"{report.measured_from} to {report.measured_to}: {counted(report.episodes, 'episode')}")
    say()
    say_table(
        ("objective", "verdict", "measured", "target"),
        (
            (each.slo.value, each.verdict.value, printable(each.explanation), each.target)
            for each in report.slos
        ),
    )
    if report.drift:
        say()
        say_table(
            ("drift", "severity", "count"),
            (
                (each.drift_type.value, each.severity.value, str(each.count))
                for each in report.drift
            ),
        )
    times = report.patch_times
    say()
    say(f"red drift: {times.patched} patched, {times.waiting} waiting")
    if times.median_ms is not None:
        say(f"time to patch: median {times.median_ms} ms, slowest {times.slowest_ms} ms")
    if report.rungs:
        used = ", ".join(f"{each.step} {each.count}" for each in report.rungs)
        say(f"rungs: {used}")
