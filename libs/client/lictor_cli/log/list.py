"""`lictor log list`: the newest sealed episodes."""

from argparse import ArgumentParser, Namespace
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Any, cast

from nats.aio.client import Client

from lictor.history.id_prefixes import TASK, whole_or_given
from lictor.history.stream_contents import latest
from lictor_bus.names import subjects
from lictor_bus.names.streams import EPISODES
from lictor_cli.log.sources import episodes_stream
from lictor_cli.main import OK
from lictor_cli.output.terminal import common_arguments, quiet_logs, say, say_json, say_table
from lictor_cli.selection import first_of, limit_argument, since_argument, warn_of_more
from lictor_schema.seals.episode import OutcomeCode
from lictor_seal import SealBundle, SealError

HELP = """\
List the newest sealed episodes: each version is a leaf of the log. `lictor seal export EPISODE` writes one to a file.
What is listed was read, not verified: `lictor log verify` does that.
"""
_EPISODES = subjects.EPISODE.any


def arguments(parser: ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("--task", metavar="TASK", help="only episodes of this task")
    parser.add_argument("--outcome", choices=[each.value for each in OutcomeCode])
    since_argument(parser)
    limit_argument(parser)
    common_arguments(parser)


async def run(options: Namespace) -> int:
    """List them."""
    quiet_logs()
    async with episodes_stream(options.url) as client:
        found, more = await first_of(_wanted(client, options), options.limit)
    if options.json:
        for each in found:
            say_json(each)
    elif found:
        say_table(
            ("episode", "leaf", "version", "sealed", "outcome", "task"),
            (tuple(map(str, _shown(each))) for each in found),
        )
    else:
        say("no episodes")
    warn_of_more(more, options.limit)
    return OK


async def _wanted(client: Client, options: Namespace) -> AsyncGenerator[dict[str, Any], None]:
    task = None if options.task is None else await whole_or_given(client, TASK, options.task)
    stored = latest(client, EPISODES, _EPISODES, since=options.since)
    async with aclosing(stored):
        async for delivery in stored:
            try:
                bundle = SealBundle.from_bytes(delivery.body)
            except SealError:
                # Somebody else's message: `lictor log verify` tells of it.
                continue
            each = _as_json(bundle)
            if task in (None, each["task_id"]) and options.outcome in (None, each["outcome"]):
                yield each


def _as_json(bundle: SealBundle) -> dict[str, Any]:
    episode = bundle.sealed_episode
    seal, outcome = _part(episode, "seal"), _part(episode, "outcome")
    return {
        "episode_id": episode.get("episodeId"),
        "task_id": episode.get("taskId"),
        "decision_type": episode.get("decisionType"),
        "version": seal.get("version"),
        "leaf_index": bundle.leaf_index,
        "sealed_at": seal.get("sealedAt"),
        "outcome": outcome.get("code"),
        "reason": outcome.get("reason"),
        "hash": seal.get("hash"),
    }


def _part(episode: Mapping[str, object], name: str) -> Mapping[str, object]:
    found = episode.get(name)
    return cast("Mapping[str, object]", found) if isinstance(found, dict) else {}


def _shown(each: Mapping[str, object]) -> tuple[object, ...]:
    names = ("episode_id", "leaf_index", "version", "sealed_at", "outcome", "task_id")
    return tuple(each[name] for name in names)
