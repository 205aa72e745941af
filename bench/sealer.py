"""What sealing costs, beside DeepSigma's validate + seal of the same story in the same run.

    pip install --target peer deepsigma==2.1.3
    PYTHONPATH=peer python bench/sealer.py [--episodes 999] [--append 333] [--rounds 9] [--json]

Both start from the bytes of one episode with one action, of about the same size, and both must find it valid by their
own schema. DeepSigma's side parses, hashes the episode (`core.authority.seal_and_hash.seal`), puts that seal into it
and validates it (`core.schema_validator.validate`); nothing is signed or stored. Ours parses and validates
(`DecisionEpisode.from_json`), hashes, signs, extends the Merkle tree, signs a checkpoint, and has a nats-server with
`sync_interval: always` acknowledge all of it as atomic batches that each name the sequence they must follow:

- `seal_ratio_to_deepsigma`: all episodes in one append, as the sealer does it,
- `seal_overlapped_ratio_to_deepsigma`: appends of 333; while the broker stores one, the next is sealed, and sent after
  it (the sealer does not do that; it pays only where the broker has a core for itself),
- `seal_single_ratio_to_deepsigma`: one episode an append, and each waited for.

In each round one half of DeepSigma's comes before ours and one after, and the medians over the rounds of the ratios are
told. `stored_per_s` is the floor: the bytes of an append stored again in the same way, nothing read, sealed or signed.

`append_growth` compares a whole append (seal, sign, tree, bundles, checkpoint; without the broker) to a log of 10^6
leaves with one to a log of 10^3; `tree_growth` the tree alone, whose proofs grow by a hash for each doubling. The long
logs are frontiers only: appending needs nothing else, so there is no need to fill a stream. `verify_cpu_ms` is the CPU
time of the first verification in a fresh process, after its imports.
"""

import argparse
import asyncio
import gc
import importlib
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import nats
from nats.aio.client import Client

from lictor_bus.names import streams, subjects
from lictor_bus.wire.publish import MAX_BATCH, Outgoing, publish_batch
from lictor_local.embedded_servers import EmbeddedServers
from lictor_schema.seals.episode import DecisionEpisode
from lictor_seal import (
    Edge,
    Frontier,
    SigningKey,
    TileTree,
    TrustStore,
    extend,
    leaf_hash,
)
from lictor_sealer.log.tree import Draft, Head, append, append_leaves, seal_in_runs

sys.path.insert(0, str(Path(__file__).parent))
from reporting import emit

SIZES = (1_000, 100_000, 1_000_000)
SEALED_AT = "2026-03-01T12:00:00.000Z"
HASH = "sha256:" + "5e" * 32
KEY = SigningKey.from_seed("lictor.bench/log", bytes(range(32)))
BATCH = 100
VERIFY = """
import sys, time
from pathlib import Path
from lictor_seal import TrustStore, verify_bundle
started = time.process_time()
trust = TrustStore.load(Path(sys.argv[1]))
report = verify_bundle(Path(sys.argv[2]).read_bytes(), trust)
taken = time.process_time() - started
assert report.ok, report.failures
print(taken * 1000)
"""

ACTION = {
    "actionId": "act-1",
    "actionType": "quarantine_account",
    "blastRadiusTier": "small",
    "targetRefs": [{"type": "account", "id": "acct-4711"}],
    "preconditions": [],
    "authorization": {"mode": "auto", "policyRef": "pack/quarantine"},
    "idempotencyKey": "ep-1/quarantine",
    "rollbackPlan": {"type": "revert", "timeoutMs": 5000},
    "execution": {"timeoutMs": 2000},
}
CONTEXT = {
    "snapshotId": "snap-1",
    "capturedAt": "2026-03-01T11:59:00.000Z",
    "ttlMs": 500,
    "maxFeatureAgeMs": 180,
    "ttlBreachesCount": 0,
    "evidenceRefs": ["ev-1", "ev-2", "ev-3"],
}
TELEMETRY = {
    "endToEndMs": 95,
    "p95Ms": 80,
    "p99Ms": 93,
    "jitterMs": 4,
    "hopCount": 1,
    "fanout": 2,
    "fallbackUsed": False,
    "stageMs": {"context": 30, "plan": 20, "act": 30, "verify": 15},
}
SHARED: dict[str, Any] = {
    "decisionType": "AccountQuarantine",
    "startedAt": "2026-03-01T11:59:00.000Z",
    "endedAt": "2026-03-01T12:00:00.000Z",
    "decisionWindowMs": 120,
    "actor": {"type": "agent", "id": "agent-1", "version": "1.4.0"},
    "context": CONTEXT,
    "plan": {"planner": "rules", "summary": "quarantine an account that was used from two places"},
    "verification": {"required": True, "result": "pass", "method": "read_after_write"},
    "outcome": {"code": "success", "reason": "the account is quarantined"},
    "telemetry": TELEMETRY,
}


def our_episode(number: int) -> bytes:
    """The story as our schema has it."""
    return json.dumps(
        {
            **SHARED,
            "episodeId": f"ep-{number}",
            "taskId": "task-1",
            "runtime": "bench",
            "correlationId": "flow-1",
            "dteRef": {
                "decisionType": "AccountQuarantine",
                "version": "1.0.0",
                "policyPackHash": HASH,
            },
            "actions": [{**ACTION, "constraints": {}}],
            "policy": {
                "configHash": HASH,
                "packs": [
                    {
                        "policyPackId": "accounts",
                        "policyPackVersion": "1.0.0",
                        "policyPackHash": HASH,
                    }
                ],
            },
            "degrade": {"step": None, "rationale": {}, "ladder": ["abstain"]},
            "records": [{"recordId": "6f1c1f3e-0000-5000-8000-000000000001", "recordHash": HASH}],
            "sources": {
                "coveredUntilUs": 1_772_366_400_000_000,
                "eventsRoot": HASH,
                "strands": [],
            },
        }
    ).encode()


def peer_episode(number: int) -> bytes:
    """The story as DeepSigma's schema has it, still without a seal."""
    return json.dumps(
        {
            **SHARED,
            "episodeId": f"ep-{number}",
            "dteRef": {
                "decisionType": "AccountQuarantine",
                "version": "1.0.0",
                "policyPackHash": HASH,
            },
            "actions": [{**ACTION, "constraints": {}}],
            "policy": {
                "policyPackId": "accounts",
                "policyPackVersion": "1.0.0",
                "policyPackHash": HASH,
            },
            "degrade": {"step": "none", "rationale": {}, "ladder": ["abstain"]},
            "telemetry": {**TELEMETRY, "fallbackStep": "none"},
        }
    ).encode()


def load_peer() -> Callable[[bytes], None]:
    """DeepSigma's validate + seal of one episode; exits when it is not installed."""
    try:
        sealing = importlib.import_module("core.authority.seal_and_hash")
        validating = importlib.import_module("core.schema_validator")
    except ImportError:
        sys.exit(
            "DeepSigma is not here, so there is nothing to compare with; install deepsigma==2.1.3"
            " (see the top of this file)."
        )

    def seal(data: bytes) -> None:
        episode = json.loads(data)
        made = sealing.seal(episode, SEALED_AT)
        episode["seal"] = {"sealedAt": made["sealedAt"], "sealHash": made["hash"]}
        found = validating.validate(episode, "episode")
        if not found.valid:
            raise RuntimeError(f"DeepSigma finds its episode invalid: {found.errors[:3]}")

    return seal


class Ours:
    """Our side: a log in the EPISODES stream of a broker that syncs before it acknowledges."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._frontier = Frontier()
        self._sequence = 0
        self._last: list[Outgoing] = []

    @property
    def bundle(self) -> bytes:
        """One that was sealed last."""
        return self._last[0].body

    async def seal(self, episodes: list[bytes], *, an_append: int) -> None:
        """Validate, seal, sign and append, so many as one atomic batch; returns when all is durable.

        While the broker stores one batch, the next is sealed; it is sent when the one before is known to be stored.
        """
        stored: asyncio.Task[int] | None = None
        for start in range(0, len(episodes), an_append):
            named: list[tuple[str, str]] = []
            leaves: list[bytes] = []
            for run in seal_in_runs(_drafts(episodes[start : start + an_append], named), KEY):
                leaves += run
                if stored is not None:
                    await asyncio.sleep(0)  # the connection's turn to send
            if stored is not None:
                self._sequence = await stored
            appended = append_leaves(Head(self._frontier, self._sequence), leaves, KEY)
            self._frontier = appended.frontier
            self._last = [
                Outgoing(subject, bundle, f"{self._sequence}/{episode_id}")
                for (subject, episode_id), bundle in zip(named, appended.bundles, strict=True)
            ]
            self._last.append(Outgoing(subjects.LOG_CHECKPOINT, appended.checkpoint))
            stored = asyncio.create_task(self._publish(self._last))
            await asyncio.sleep(0)
        if stored is not None:
            self._sequence = await stored

    async def store_again(self) -> int:
        """Only the storing of the last append, and of how many; none is a duplicate, so all is written once more."""
        self._sequence = await self._publish(
            [
                message
                if message.message_id is None
                else message._replace(message_id=f"{self._sequence}/{message.message_id}")
                for message in self._last
            ]
        )
        return len(self._last) - 1

    async def _publish(self, messages: list[Outgoing]) -> int:
        """As the sealer does: refused if anything came between."""
        expected = {"Nats-Expected-Last-Sequence": str(self._sequence)}
        first, *rest = messages
        return await publish_batch(
            self._client, streams.EPISODES, [first._replace(headers=expected), *rest]
        )


def _drafts(episodes: list[bytes], named: list[tuple[str, str]]) -> Iterator[Draft]:
    for data in episodes:
        episode = DecisionEpisode.from_json(data)
        subject = subjects.episode(episode.runtime, episode.decision_type, episode.episode_id)
        named.append((subject, episode.episode_id))
        yield Draft(episode, SEALED_AT)


def _seal_theirs(peer: Callable[[bytes], None], episodes: list[bytes]) -> None:
    for data in episodes:
        peer(data)


async def measure_sealing(
    count: int, an_append: int, rounds: int, folder: Path
) -> tuple[dict[str, object], bytes]:
    """Alternate all on one broker; and one of our bundles."""
    peer = load_peer()
    theirs, ours = (
        [make(number) for number in range(count)] for make in (peer_episode, our_episode)
    )
    alone = max(1, count // 10)
    rates: dict[str, list[float]] = {
        name: [] for name in ("deepsigma", "batched", "overlapped", "stored", "single")
    }
    async with EmbeddedServers(folder, redis=False) as servers:
        client = await nats.connect(servers.nats_url)
        await streams.declare(client, streams.EPISODES)
        log = Ours(client)
        for number in range(rounds + 1):
            times = dict.fromkeys(rates, 0.0)

            @contextmanager
            def timed(name: str, times: dict[str, float] = times) -> Iterator[None]:
                gc.collect()  # nobody clears away after another
                started = time.perf_counter()
                yield
                times[name] += time.perf_counter() - started

            with timed("deepsigma"):
                _seal_theirs(peer, theirs[: count // 2])
            ways = [("batched", count), ("overlapped", an_append)]
            for name, size in ways if number % 2 else reversed(ways):
                with timed(name):
                    await log.seal(ours, an_append=size)
            with timed("deepsigma"):
                _seal_theirs(peer, theirs[count // 2 :])
            with timed("stored"):
                again = await log.store_again()
            with timed("single"):
                for data in ours[:alone]:
                    await log.seal([data], an_append=1)
            if number:  # the first round warms up
                for name, taken in times.items():
                    done = {"stored": again, "single": alone}.get(name, count)
                    rates[name].append(done / taken)
        await client.close()

    def ratio(name: str) -> float:
        pairs = zip(rates[name], rates["deepsigma"], strict=True)
        return round(statistics.median(a / b for a, b in pairs), 2)

    medians = {f"{name}_per_s": round(statistics.median(found)) for name, found in rates.items()}
    result: dict[str, object] = {
        "seal_ratio_to_deepsigma": ratio("batched"),
        "seal_overlapped_ratio_to_deepsigma": ratio("overlapped"),
        "seal_single_ratio_to_deepsigma": ratio("single"),
        **medians,
        "episode_bytes": len(ours[0]),
        "deepsigma_episode_bytes": len(theirs[0]),
    }
    return result, log.bundle


def long_log(size: int) -> tuple[Frontier, Edge]:
    """A log of that size of which only the right edge is left."""
    widths, rest = list[int](), size
    while rest:
        widths.append(rest % 256)
        rest //= 256
    edge = Edge(size, tuple(tuple(leaf_hash(b"%d" % n) for n in range(width)) for width in widths))
    return edge.frontier(), edge


def measure_growth(rounds: int) -> dict[str, object]:
    """Appends of 100 to logs of different lengths, interleaved."""
    drafts = [Draft(DecisionEpisode.from_json(our_episode(n)), SEALED_AT) for n in range(BATCH)]
    leaves = [b"%d" % number * 200 for number in range(BATCH)]
    logs = {size: long_log(size) for size in SIZES}
    whole: dict[int, list[float]] = {size: [] for size in SIZES}
    tree: dict[int, list[float]] = {size: [] for size in SIZES}
    for number in range(4 * rounds + 1):
        for size, (frontier, edge) in logs.items():
            started = time.perf_counter()
            append(Head(frontier, size), drafts, KEY)
            between = time.perf_counter()
            extend(frontier, leaves)
            edge.append(leaves)
            ended = time.perf_counter()
            if number:
                whole[size].append((between - started) / BATCH * 1e6)
                tree[size].append((ended - between) / BATCH * 1e6)
    first, *_, last = SIZES
    asked: list[str] = []

    def read(path: str) -> bytes:
        asked.append(path)
        return bytes(256 * 32 if ".p/" not in path else int(path.rpartition("/")[2]) * 32)

    proof = TileTree(last, read).inclusion(654_321)
    _, proofs = extend(logs[last][0], leaves)
    return {
        "append_growth": _growth(whole, first, last),
        "tree_growth": _growth(tree, first, last),
        **{f"append_us_at_{size}": round(statistics.median(whole[size]), 1) for size in SIZES},
        **{f"tree_us_at_{size}": round(statistics.median(tree[size]), 1) for size in SIZES},
        "inclusion_hashes_at_1000000": max(len(proof), *map(len, proofs)),
        "inclusion_tiles_read_at_1000000": len(asked),
    }


def _growth(times: dict[int, list[float]], first: int, last: int) -> float:
    pairs = zip(times[last], times[first], strict=True)
    return round(statistics.median(a / b for a, b in pairs), 2)


def measure_verifying(bundle: bytes, folder: Path, rounds: int) -> dict[str, object]:
    """The CPU time of the first verification in a fresh process, after its imports."""
    trust, file = folder / "trust.json", folder / "bundle.json"
    trust.write_bytes(TrustStore.of([KEY.verifying_key]).to_bytes())
    file.write_bytes(bundle)
    command = [sys.executable, "-c", VERIFY, str(trust), str(file)]
    times = [
        float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        for _ in range(rounds)
    ]
    return {"verify_cpu_ms": round(statistics.median(times), 2)}


def main() -> None:
    parser = argparse.ArgumentParser(description="sealing, beside DeepSigma's validate + seal")
    parser.add_argument("--episodes", type=int, default=999)
    parser.add_argument("--append", type=int, default=333, help="episodes in one append")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if not 1 <= options.append <= options.episodes < MAX_BATCH:
        parser.error(f"--episodes and --append: an append holds 1 to {MAX_BATCH - 1} episodes")
    with tempfile.TemporaryDirectory(prefix="lictor-bench-") as name:
        folder = Path(name)
        sealing, bundle = asyncio.run(
            measure_sealing(options.episodes, options.append, options.rounds, folder / "servers")
        )
        result = {
            **sealing,
            **measure_growth(options.rounds),
            **measure_verifying(bundle, folder, options.rounds),
        }
    emit("sealing, beside DeepSigma's validate + seal", result, options.json)


if __name__ == "__main__":
    main()
