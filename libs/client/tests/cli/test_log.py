"""`lictor log`: a log in its stream, as files, proved, checked and cosigned; and what becomes of a forged one."""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from nats.aio.client import Client

from lictor_bus.names import streams
from lictor_bus.names.streams import EPISODES
from lictor_bus.names.subjects import LOG_CHECKPOINT
from lictor_bus.wire.publish import Outgoing, publish_batch
from lictor_seal import (
    Checkpoint,
    Frontier,
    SealBundle,
    SigningKey,
    StoredCheckpoint,
    TileTree,
    TrustedKey,
    TrustStore,
    extend,
    leaf_data,
    position_line,
    seal_episode,
    sign_checkpoint,
    sign_hand_over,
    tree_root,
)

Cli = Callable[..., "asyncio.Future[subprocess.CompletedProcess[str]]"]
KEY = SigningKey.from_seed("lictor.test/log", bytes(32))
WITNESS = SigningKey.from_seed("witness.test/w1", bytes([7]) * 32)
SEALED_AT = "2026-03-01T12:00:00.000Z"


class Log:
    """A log that grows in the EPISODES stream of a real broker."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.frontier = Frontier()
        self.sequence = 0
        self.leaves: list[bytes] = []
        self.bundles: list[bytes] = []
        self.key = KEY

    async def append(self, count: int, **members: Any) -> str:
        """One batch, as the sealer appends it; returns the checkpoint."""
        first = len(self.leaves)
        sealed = [
            seal_episode(
                {"episodeId": f"e{first + number}", **members}, sealed_at=SEALED_AT, signer=self.key
            )
            for number in range(count)
        ]
        leaves = [leaf_data(each) for each in sealed]
        self.frontier, proofs = extend(self.frontier, leaves)
        self.leaves += leaves
        position = position_line(self.sequence + count + 1)
        stated = Checkpoint(KEY.name, self.frontier.size, self.frontier.root(), (position,))
        note = sign_checkpoint(stated, self.key)
        bundles = [
            SealBundle(each, first + number, proof, note).to_bytes()
            for number, (each, proof) in enumerate(zip(sealed, proofs, strict=True))
        ]
        self.bundles += bundles
        messages = [
            Outgoing(f"lictor.ep.rt.test.e{first + number}", body)
            for number, body in enumerate(bundles)
        ]
        messages.append(Outgoing(LOG_CHECKPOINT, StoredCheckpoint(note, self.frontier).to_bytes()))
        self.sequence = await publish_batch(self.client, EPISODES, messages)
        return note

    async def hand_over(self, new: SigningKey, trust: TrustStore) -> None:
        """The log goes to another key, as the sealer hands it over."""
        position = position_line(self.sequence + 1)
        stated = Checkpoint(KEY.name, self.frontier.size, self.frontier.root(), (position,))
        note = sign_hand_over(stated, self.key, new, at=SEALED_AT, trust=trust)
        body = StoredCheckpoint(note, self.frontier).to_bytes()
        self.sequence = await publish_batch(self.client, EPISODES, [Outgoing(LOG_CHECKPOINT, body)])
        self.key = new


async def put_in_place_of(log: Log) -> Log:
    """What an operator who owns the broker can do: drop the stream, and write another in its place."""
    await log.client.jetstream().delete_stream(EPISODES)
    await streams.declare(log.client, EPISODES)
    return Log(log.client)


@pytest.fixture
def log(broker: Client) -> Log:
    return Log(broker)


@pytest.fixture
def arguments(broker: Client, tmp_path: Path) -> list[str]:
    """The broker and the trust file, for every command."""
    store = TrustStore((TrustedKey(KEY.verifying_key),), (TrustedKey(WITNESS.verifying_key),), 0)
    (tmp_path / "trust.json").write_bytes(store.to_bytes())
    assert broker.connected_url is not None
    return ["--trust", "trust.json", "--url", broker.connected_url.geturl()]


OFFLINE = ["--trust", "trust.json"]


async def done(running: Any, code: int = 0) -> str:
    outcome = await running
    assert outcome.returncode == code, outcome.stdout + outcome.stderr
    assert "Traceback" not in outcome.stderr
    return outcome.stdout + (outcome.stderr if code else "")


async def test_of_a_log_without_anything_it_is_said_that_nothing_was_sealed_yet(
    cli: Cli, log: Log, arguments: list[str], tmp_path: Path
) -> None:
    told = await done(cli("log", "verify", *arguments), 1)
    assert told.startswith("FAIL  nothing was sealed yet")
    assert "NOT what was signed" not in told
    # Whoever kept a checkpoint is told that the log was emptied.
    (tmp_path / "kept").write_text(await log.append(1))
    await put_in_place_of(log)
    told = await done(cli("log", "verify", *arguments, "--since", "kept"), 1)
    assert "NOT what was signed" in told


async def test_a_log_is_exported_in_steps_and_verifies(
    cli: Cli, log: Log, arguments: list[str], tmp_path: Path
) -> None:
    sizes = (3, 300, 40, 250)
    for count in sizes:
        await log.append(count)
        said = json.loads(await done(cli("log", "export", "files", *arguments, "--json")))
        assert said["size"] == len(log.leaves)
        assert '"ok": true' in await done(cli("log", "verify", "files", *OFFLINE, "--json"))
    assert "up to date" in await done(cli("log", "export", "files", *arguments))
    assert "593 leaves, 4 checkpoints: all of it holds" in await done(
        cli("log", "verify", *arguments)
    )
    root = tmp_path / "files"
    tree = TileTree(593, lambda path: (root / path).read_bytes())
    assert tree.root() == tree_root(log.leaves)
    # What a reader of the newest checkpoint needs, and no partial tile that has become full.
    assert {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()} >= {
        "checkpoint",
        "tile/0/000",
        "tile/0/001",
        "tile/0/002.p/81",
        "tile/1/000.p/2",
        "tile/entries/000",
        "tile/entries/002.p/81",
    }
    assert not (root / "tile/0/000.p").exists()
    assert not (root / "tile/entries/000.p").exists()


async def test_hand_overs_are_exported_and_a_log_without_one_of_them_does_not_verify(
    log: Log, cli: Cli, arguments: list[str], tmp_path: Path
) -> None:
    keys = [KEY, *(SigningKey.from_seed(KEY.name, bytes([n]) * 32) for n in (1, 2))]
    trust = TrustStore(
        tuple(
            TrustedKey(key.verifying_key, "2026-01-01T00:00:00.000Z", "2027-01-01T00:00:00.000Z")
            for key in keys
        )
    )
    (tmp_path / "trust.json").write_bytes(trust.to_bytes())
    for new in keys[1:]:
        await log.append(2)
        await log.hand_over(new, trust)
        await done(cli("log", "export", "out", *arguments))
    await log.append(3)
    await done(cli("log", "export", "out", *arguments))
    await done(cli("log", "export", "whole", *arguments))
    for directory in ("out", "whole"):
        report = json.loads(await done(cli("log", "verify", directory, *OFFLINE, "--json")))
        assert (report["ok"], report["size"], report["handOvers"]) == (True, 7, 2)
    assert "2 hand-overs" in await done(cli("log", "verify", *arguments))
    (tmp_path / "out" / "hand-over" / "1").unlink()
    assert "did not hand it over" in await done(cli("log", "verify", "out", *OFFLINE), 1)


async def test_an_entry_longer_than_64_kib_is_exported_too(
    cli: Cli, log: Log, arguments: list[str], tmp_path: Path
) -> None:
    await log.append(2, note="x" * 70_000)
    await done(cli("log", "export", "files", *arguments))
    assert (tmp_path / "files/entries-u32/000.p/2").exists()
    await done(cli("log", "verify", "files", *OFFLINE))
    await log.append(1)
    await done(cli("log", "export", "files", *arguments))
    await done(cli("log", "verify", "files", *OFFLINE))


async def test_an_export_does_not_go_on_with_a_log_that_was_rewritten(
    cli: Cli, log: Log, arguments: list[str], tmp_path: Path
) -> None:
    await log.append(5)
    await done(cli("log", "export", "files", *arguments))
    before = (tmp_path / "files/checkpoint").read_bytes()
    rewritten = await put_in_place_of(log)
    await rewritten.append(5, note="another story")
    said = await done(cli("log", "export", "files", *arguments), 1)
    assert "it was cut or rewritten" in said
    await rewritten.append(2)
    said = await done(cli("log", "export", "files", *arguments), 1)
    assert "is not a prefix of the log" in said
    assert (tmp_path / "files/checkpoint").read_bytes() == before


async def test_an_export_does_not_call_a_cut_log_up_to_date(
    cli: Cli, log: Log, arguments: list[str]
) -> None:
    await log.append(5)
    await done(cli("log", "export", "files", *arguments))
    cut = await put_in_place_of(log)
    assert "it was cut or rewritten" in await done(cli("log", "export", "files", *arguments), 1)
    await cut.append(3)
    assert "it was cut or rewritten" in await done(cli("log", "export", "files", *arguments), 1)


@pytest.mark.parametrize("path", ["tile/0/000.p/5", "tile/entries/000.p/5", "checkpoint"])
async def test_changed_files_are_told_and_not_built_upon(
    cli: Cli, log: Log, arguments: list[str], tmp_path: Path, path: str
) -> None:
    await log.append(5)
    await done(cli("log", "export", "files", *arguments))
    file = tmp_path / "files" / path
    data = bytearray(file.read_bytes())
    data[20] ^= 1
    file.write_bytes(data)
    await done(cli("log", "verify", "files", *OFFLINE), 1)
    await log.append(1)
    await done(cli("log", "export", "files", *arguments), 1)


async def test_a_directory_with_other_things_in_it_is_left_alone(
    cli: Cli, log: Log, arguments: list[str], tmp_path: Path
) -> None:
    await log.append(1)
    (tmp_path / "files").mkdir()
    (tmp_path / "files/thesis.txt").write_text("mine")
    assert "choose an empty directory" in await done(cli("log", "export", "files", *arguments), 1)


async def test_a_kept_checkpoint_tells_a_log_that_was_cut_or_rewritten(
    cli: Cli, log: Log, arguments: list[str], tmp_path: Path
) -> None:
    """Contract scenario 39: a log that was cut, rewritten or forked."""
    await log.append(5)
    await log.append(3)
    kept = await done(cli("log", "checkpoint", *arguments))
    (tmp_path / "kept").write_text(kept)
    await done(cli("log", "verify", *arguments, "--since", "kept"))
    other = await put_in_place_of(log)
    await other.append(5)
    await done(cli("log", "verify", *arguments))
    said = await done(cli("log", "verify", *arguments, "--since", "kept"), 1)
    assert "the log was cut: it has 5 leaves, 8 were signed before" in said
    await other.append(4, note="another story")
    await done(cli("log", "verify", *arguments))
    said = json.loads(await done(cli("log", "verify", *arguments, "--since", "kept", "--json"), 1))
    assert any("rewritten or forked" in each["what"] for each in said["findings"])


async def test_the_head_of_the_log_is_printed_as_it_stands(
    cli: Cli, log: Log, arguments: list[str]
) -> None:
    note = await log.append(4)
    assert await done(cli("log", "checkpoint", *arguments)) == note
    await done(cli("log", "export", "files", *arguments))
    assert await done(cli("log", "checkpoint", "files")) == note
    told = json.loads(await done(cli("log", "checkpoint", *arguments, "--json")))
    assert (told["size"], told["checkpoint"]) == (4, note)


async def test_an_empty_log_has_no_head(cli: Cli, arguments: list[str]) -> None:
    assert "nothing was sealed yet" in await done(cli("log", "checkpoint", *arguments), 1)
    assert "nothing was sealed yet" in await done(cli("log", "verify", *arguments), 1)


async def test_a_bundle_is_verified_against_a_head_from_elsewhere(
    cli: Cli, log: Log, arguments: list[str], tmp_path: Path
) -> None:
    old = await log.append(5)
    await log.append(4)
    (tmp_path / "old").write_text(old)
    (tmp_path / "bundle.json").write_bytes(log.bundles[7])
    verify = ["seal", "verify", "bundle.json", *OFFLINE]
    url = arguments[2:]
    said = await done(cli("log", "prove", "--from", "5", "--to", "9", *url))
    (tmp_path / "proof").write_text(said)
    assert said.startswith("old 5\n")
    assert "consistency" in await done(cli(*verify, "--since", "old", "--proof", "proof"))
    assert "log prove --from 5 --to 9" in await done(cli(*verify, "--since", "old"), 1)
    await done(cli("log", "export", "files", *arguments))
    await done(cli(*verify, "--since", "old", "--proof", "files"))
    assert await done(cli("log", "prove", "files", "--from", "5")) == said
    told = json.loads(await done(cli("log", "prove", "files", "--from", "5", "--json")))
    assert (told["from"], told["to"]) == (5, 9)
    # A log that the same operator forked after the fifth leaf: flawless by itself.
    fork = await put_in_place_of(log)
    await fork.append(9, note="another story")
    (tmp_path / "forked.json").write_bytes(fork.bundles[7])
    forked = ["seal", "verify", "forked.json", *OFFLINE]
    await done(cli(*forked))
    said = await done(cli(*forked, "--since", "old", "--proof", "proof"), 1)
    assert "is NOT what was sealed: consistency" in said
    assert "name the other one with --since" in await done(cli(*verify, "--proof", "proof"), 1)


async def test_a_file_that_is_too_long_for_a_bundle_is_not_read_to_its_end(
    cli: Cli, arguments: list[str], tmp_path: Path
) -> None:
    with (tmp_path / "long").open("wb") as file:
        file.truncate(1 << 40)
    said = await done(cli("seal", "verify", "long", *arguments[:2]), 1)
    assert "the file is larger than" in said


async def test_a_proof_of_a_size_that_was_never_reached_is_refused(
    cli: Cli, log: Log, arguments: list[str]
) -> None:
    await log.append(5)
    for wrong in (["--from", "6"], ["--from", "2", "--to", "6"], ["--from", "4", "--to", "3"]):
        said = await done(cli("log", "prove", *wrong, *arguments[2:]), 1)
        assert said.startswith("lictor: "), said
    said = await done(cli("log", "prove", "--from", "-1", *arguments[2:]), 2)
    assert "whole number" in said


async def test_a_witness_cosigns_what_follows_and_nothing_else(
    cli: Cli, log: Log, arguments: list[str], tmp_path: Path
) -> None:
    WITNESS.save(tmp_path / "witness.pem")
    cosign = ["log", "cosign", *OFFLINE, "--key", "witness.pem", "--name", WITNESS.name]
    cosign += ["--state", "seen"]
    await log.append(5)
    await done(cli("log", "export", "files", *arguments))
    first = await done(cli(*cosign, "files", "--write"))
    assert WITNESS.name in first
    assert (tmp_path / "files/checkpoint").read_text() == first
    await log.append(3)
    await done(cli("log", "export", "files", *arguments))
    told = json.loads(await done(cli(*cosign, "files", "--write", "--json")))
    assert told["size"] == 8
    verified = await done(cli("log", "verify", "files", *OFFLINE))
    assert f"witness {WITNESS.name}" in verified
    # By the request of another program.
    await log.append(2)
    request = await done(cli("log", "prove", "--from", "8", *arguments[2:]))
    (tmp_path / "request").write_text(request)
    await done(cli(*cosign, "--request", "request"))
    # An old copy of the log, and a fork of it.
    assert "was cut, or this is an old copy" in await done(cli(*cosign, "files"), 1)
    fork = await put_in_place_of(log)
    note = await fork.append(12, note="another story")
    (tmp_path / "request").write_text(
        request.partition("\n\n")[0].replace("8", "10") + "\n\n" + note
    )
    assert "rewritten or forked" in await done(cli(*cosign, "--request", "request"), 1)


async def test_a_witness_cosigns_nothing_by_a_key_that_has_retired(
    cli: Cli, log: Log, arguments: list[str], tmp_path: Path
) -> None:
    """A stolen key of former days must not lead the witnesses away from the log that its heirs write."""
    WITNESS.save(tmp_path / "witness.pem")
    await log.append(2)
    await done(cli("log", "export", "files", *arguments))
    retired = TrustStore((TrustedKey(KEY.verifying_key, None, "2026-03-02T00:00:00.000Z"),))
    (tmp_path / "trust.json").write_bytes(retired.to_bytes())
    cosign = ["log", "cosign", *OFFLINE, "--key", "witness.pem", "--name", WITNESS.name]
    said = await done(cli(*cosign, "--state", "seen", "files"), 1)
    assert "is not cosigned" in said
    assert not (tmp_path / "seen").exists()


async def test_a_bundle_is_renewed_with_the_cosigned_head(
    cli: Cli, log: Log, arguments: list[str], tmp_path: Path
) -> None:
    WITNESS.save(tmp_path / "witness.pem")
    await log.append(5)
    await log.append(3)
    (tmp_path / "bundle.json").write_bytes(log.bundles[2])
    strict = TrustStore((TrustedKey(KEY.verifying_key),), (TrustedKey(WITNESS.verifying_key),), 1)
    (tmp_path / "strict.json").write_bytes(strict.to_bytes())
    await done(cli("log", "export", "files", *arguments))
    cosign = ["log", "cosign", "files", "--write", *OFFLINE, "--state", "seen"]
    await done(cli(*cosign, "--key", "witness.pem", "--name", WITNESS.name))
    said = await done(cli("seal", "verify", "bundle.json", "--trust", "strict.json"), 1)
    assert "0 of 1 witnesses cosigned, 1 needed" in said
    await done(cli("seal", "renew", "bundle.json", "--log", "files", "-o", "renewed.json"))
    verified = json.loads(
        await done(cli("seal", "verify", "renewed.json", "--trust", "strict.json", "--json"))
    )
    assert verified["verified"]["witnesses"] == [WITNESS.name]
    assert (verified["verified"]["leafIndex"], verified["verified"]["logSize"]) == (2, 8)
    other = await put_in_place_of(log)
    await other.append(5, note="another story")
    (tmp_path / "other.json").write_bytes(other.bundles[2])
    renew = cli("seal", "renew", "other.json", "--log", "files", "-o", "x.json")
    assert "does not hold this episode" in await done(renew, 1)


@pytest.mark.parametrize("verb", ["checkpoint", "export", "prove", "verify", "cosign"])
async def test_every_verb_has_help_and_json(cli: Cli, verb: str) -> None:
    assert "--json" in await done(cli("log", verb, "--help"))
