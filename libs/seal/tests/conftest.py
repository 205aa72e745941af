"""A small log with real keys, and a bundle out of its middle."""

from collections.abc import Callable
from typing import Any

import pytest

from lictor_seal import (
    Checkpoint,
    Frontier,
    SealBundle,
    SigningKey,
    TrustStore,
    extend,
    leaf_data,
    seal_episode,
    sign_checkpoint,
)

ORIGIN = "example.org/lictor-log"
SEALED_AT = "2026-03-01T12:00:00.000Z"


@pytest.fixture(scope="session")
def key() -> SigningKey:
    """The sealer's key; also the log's."""
    return SigningKey.from_seed(ORIGIN, bytes(range(32)))


@pytest.fixture(scope="session")
def stranger() -> SigningKey:
    """A key that calls itself like ours but is not in the trust store."""
    return SigningKey.from_seed(ORIGIN, bytes(range(1, 33)))


@pytest.fixture(scope="session")
def trust(key: SigningKey) -> TrustStore:
    return TrustStore.of([key.verifying_key])


@pytest.fixture(scope="session")
def make_episode() -> Callable[[int], dict[str, Any]]:
    def make(number: int) -> dict[str, Any]:
        some_hash = "sha256:" + "5e" * 32
        return {
            "episodeId": f"ep-{number}",
            "decisionType": "task_completion",
            "taskId": "task 1",
            "runtime": "sdk",
            "correlationId": "flow-1",
            "startedAt": "2026-03-01T11:00:00.000Z",
            "endedAt": "2026-03-01T11:59:00.000Z",
            "decisionWindowMs": None,
            "actor": {"type": "agent", "id": "agent-Zoë", "version": None},
            "dteRef": None,
            "context": {
                "snapshotId": "snap-1",
                "capturedAt": "2026-03-01T11:00:00.000Z",
                "ttlMs": 0,
                "maxFeatureAgeMs": 0,
                "ttlBreachesCount": 0,
                "evidenceRefs": ["ev-1", "ev-2"],
            },
            "plan": {"planner": "rules", "summary": "judge the reports"},
            "actions": [],
            "verification": {"required": False, "result": "na"},
            "outcome": {"code": "success", "reason": "tests pass \u2713", "effects": {}},
            "telemetry": {
                "endToEndMs": 1200 + number,
                "hopCount": 0,
                "fanout": 0,
                "fallbackUsed": False,
            },
            "policy": {"configHash": some_hash, "packs": []},
            "degrade": {"step": None, "rationale": {}, "ladder": []},
            "records": [
                {"recordId": "6f1c1f3e-0000-5000-8000-000000000001", "recordHash": some_hash}
            ],
        }

    return make


@pytest.fixture(scope="session")
def seal(key: SigningKey) -> Callable[..., dict[str, Any]]:
    def make(episode: dict[str, Any], signer: SigningKey = key) -> dict[str, Any]:
        return seal_episode(episode, sealed_at=SEALED_AT, signer=signer)

    return make


@pytest.fixture(scope="session")
def log(key: SigningKey) -> Callable[..., list[SealBundle]]:
    """Appends sealed episodes to an empty log in one batch; one bundle for each."""

    def make(sealed: list[dict[str, Any]], signer: SigningKey = key) -> list[SealBundle]:
        frontier, proofs = extend(Frontier(), [leaf_data(episode) for episode in sealed])
        note = sign_checkpoint(Checkpoint.of(signer.name, frontier), signer)
        return [
            SealBundle(episode, index, proof, note)
            for index, (episode, proof) in enumerate(zip(sealed, proofs, strict=True))
        ]

    return make


@pytest.fixture(scope="session")
def bundles(
    make_episode: Callable[[int], dict[str, Any]],
    seal: Callable[..., dict[str, Any]],
    log: Callable[..., list[SealBundle]],
) -> list[SealBundle]:
    return log([seal(make_episode(number)) for number in range(7)])


@pytest.fixture(scope="session")
def bundle(bundles: list[SealBundle]) -> SealBundle:
    return bundles[4]
