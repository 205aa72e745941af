"""The check of a whole log, as stream and as files: a good one passes, and every attack is named."""

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest

from lictor_schema.core.canonical_json import canonical_json
from lictor_seal import (
    AuditReport,
    Checkpoint,
    Edge,
    Frontier,
    SealBundle,
    SigningKey,
    StoredCheckpoint,
    StreamAudit,
    TrustedKey,
    TrustStore,
    audit_files,
    cosign,
    entry_file,
    extend,
    leaf_data,
    position_line,
    seal_episode,
    sign_checkpoint,
    sign_hand_over,
)

LATER = "2026-03-05T00:00:00.000Z"
MAY = "2026-05-01T00:00:00.000Z"
Message = tuple[str, bytes]


class Stream:
    """A log as its stream would hold it: bundles, then the checkpoint that covers them."""

    def __init__(self, key: SigningKey) -> None:
        self.key = key
        self.frontier = Frontier()
        self.messages: list[Message] = []
        self.leaves: list[bytes] = []
        self.note = ""
        self.hand_overs: list[str] = []

    def append(self, *sealed: dict[str, Any]) -> None:
        leaves = [leaf_data(each) for each in sealed]
        old = self.frontier.size
        self.frontier, proofs = extend(self.frontier, leaves)
        position = position_line(len(self.messages) + len(sealed) + 1)
        stated = Checkpoint(self.key.name, self.frontier.size, self.frontier.root(), (position,))
        self.note = sign_checkpoint(stated, self.key)
        self.messages += (
            ("episode", SealBundle(each, old + number, proof, self.note).to_bytes())
            for number, (each, proof) in enumerate(zip(sealed, proofs, strict=True))
        )
        self._checkpoint()
        self.leaves += leaves

    def hand_over(self, new: SigningKey, trust: TrustStore, at: str = LATER) -> None:
        position = position_line(len(self.messages) + 1)
        stated = Checkpoint(self.key.name, self.frontier.size, self.frontier.root(), (position,))
        self.note = sign_hand_over(stated, self.key, new, at=at, trust=trust)
        self.key = new
        self.hand_overs.append(self.note)
        self._checkpoint()

    def _checkpoint(self) -> None:
        self.messages.append(("checkpoint", StoredCheckpoint(self.note, self.frontier).to_bytes()))

    def head(self) -> Checkpoint:
        return Checkpoint(self.key.name, self.frontier.size, self.frontier.root())

    def files(self) -> dict[str, bytes]:
        edge, completed = Edge().append(self.leaves)
        entries = (
            entry_file(start // 256, self.leaves[start : start + 256])
            for start in range(0, len(self.leaves), 256)
        )
        return {
            **dict(completed),
            **dict(edge.partial_tiles()),
            **dict(entries),
            **{f"hand-over/{n}": note.encode() for n, note in enumerate(self.hand_overs)},
            "checkpoint": self.note.encode(),
        }


def audited(
    messages: list[Message], trust: TrustStore, known: Checkpoint | None = None
) -> AuditReport:
    audit = StreamAudit(trust, known)
    for sequence, (kind, body) in enumerate(messages, 1):
        (audit.episode if kind == "episode" else audit.checkpoint)(sequence, body)
    return audit.finish()


def told(report: AuditReport) -> str:
    return "\n".join(f"{each.where}: {each.what}" for each in report.findings)


@pytest.fixture
def stream(key: SigningKey, make_episode: Callable[[int], dict[str, Any]], seal) -> Stream:
    stream = Stream(key)
    stream.append(*(seal(make_episode(number)) for number in range(4)))
    stream.append(seal(make_episode(4)))
    stream.append(*(seal(make_episode(number)) for number in range(5, 8)))
    return stream


def test_a_good_log_holds_and_is_told(stream: Stream, trust: TrustStore) -> None:
    report = audited(stream.messages, trust, stream.head())
    assert report.ok, told(report)
    assert (report.origin, report.size, report.checkpoints) == ("example.org/lictor-log", 8, 3)
    assert report.to_json_value()["ok"] is True


def test_where_nothing_is_nothing_holds(trust: TrustStore) -> None:
    assert "nothing was sealed yet, or the log was emptied" in told(audited([], trust))


def test_a_known_head_in_the_middle_of_a_batch_is_found_in_the_log(
    stream: Stream, trust: TrustStore
) -> None:
    for size in range(9):
        frontier, _ = extend(Frontier(), stream.leaves[:size])
        assert audited(stream.messages, trust, Checkpoint.of(stream.key.name, frontier)).ok


def test_a_cut_log_is_told_only_by_a_known_head(stream: Stream, trust: TrustStore) -> None:
    """Contract scenario 39: a log that was cut, rewritten or forked."""
    cut = stream.messages[:7]
    assert audited(cut, trust).ok, "by itself a cut log is a shorter log"
    report = audited(cut, trust, stream.head())
    assert "the log was cut: it has 5 leaves, 8 were signed before" in told(report)


def test_a_log_cut_in_the_middle_of_a_batch_is_told(stream: Stream, trust: TrustStore) -> None:
    assert "EPISODES 2: no checkpoint covers it" in told(audited(stream.messages[:2], trust))


def test_a_removed_leaf_is_told(stream: Stream, trust: TrustStore) -> None:
    report = audited(stream.messages[:1] + stream.messages[2:], trust)
    assert "EPISODES 2: it is leaf 2, but leaf 1 comes here" in told(report)


def test_a_swapped_leaf_is_told(stream: Stream, trust: TrustStore) -> None:
    messages = list(stream.messages)
    messages[0], messages[1] = messages[1], messages[0]
    report = audited(messages, trust)
    assert "EPISODES 1: it is leaf 1, but leaf 0 comes here" in told(report)
    assert "EPISODES 5: checkpoint: it signs 4 leaves" in told(report)


def test_a_rewritten_log_is_told_only_by_a_known_head(
    stream: Stream, trust: TrustStore, key: SigningKey, make_episode, seal
) -> None:
    """Contract scenario 39: a log that was cut, rewritten or forked."""
    rewritten = Stream(key)
    rewritten.append(*(seal(make_episode(number)) for number in (0, 77, 2, 3)))
    rewritten.append(*(seal(make_episode(number)) for number in range(4, 8)))
    assert audited(rewritten.messages, trust).ok
    for known in (stream.head(), Checkpoint.of(key.name, extend(Frontier(), stream.leaves[:2])[0])):
        assert "rewritten or forked" in told(audited(rewritten.messages, trust, known))


def test_a_forked_log_is_told_by_the_head_of_the_other_branch(
    stream: Stream, trust: TrustStore, key: SigningKey, make_episode, seal
) -> None:
    """Contract scenario 39: a log that was cut, rewritten or forked."""
    fork = Stream(key)
    fork.append(*(seal(make_episode(number)) for number in range(4)))
    fork.append(seal(make_episode(99)))
    assert audited(fork.messages, trust).ok
    known = Checkpoint.of(key.name, extend(Frontier(), stream.leaves[:5])[0])
    assert "rewritten or forked" in told(audited(fork.messages, trust, known))


def test_a_head_of_another_log_is_told(stream: Stream, trust: TrustStore) -> None:
    known = dataclasses.replace(stream.head(), origin="example.org/other")
    assert "it is of the log example.org/other" in told(audited(stream.messages, trust, known))
    assert not audit_files(stream.files().get, trust, known).ok


def test_a_log_of_a_stranger_is_told(stream: Stream, stranger: SigningKey) -> None:
    report = audited(stream.messages, TrustStore.of([stranger.verifying_key]))
    assert "no trusted key signed" in told(report)
    assert not audit_files(stream.files().get, TrustStore.of([stranger.verifying_key])).ok


def test_a_checkpoint_that_stands_elsewhere_is_told(stream: Stream, trust: TrustStore) -> None:
    report = audited([*stream.messages, stream.messages[-1]], trust)
    assert told(report) == "EPISODES 12: checkpoint: it was not made to stand here"


@pytest.mark.parametrize("kind", ["episode", "checkpoint"])
@pytest.mark.parametrize("body", [b"", b"{}", b"null", b"\xff", b'{"checkpoint":1,"frontier":2}'])
def test_garbage_in_the_stream_is_told(
    kind: str, body: bytes, stream: Stream, trust: TrustStore
) -> None:
    assert not audited([*stream.messages, (kind, body)], trust).ok


def test_many_findings_are_counted_not_all_kept(trust: TrustStore) -> None:
    report = audited([("episode", b"")] * 150, trust)
    assert (len(report.findings), report.more_findings) == (100, 51)


def test_versions_follow_each_other_in_the_log(
    stream: Stream, trust: TrustStore, key: SigningKey, make_episode, seal
) -> None:
    """Contract scenario 42: a patch after the seal."""
    first = seal(make_episode(50))
    corrected = {**make_episode(50), "outcome": {"code": "partial"}}
    second = seal_episode(corrected, sealed_at=LATER, signer=key, previous=first)
    stream.append(first)
    stream.append(second)
    assert audited(stream.messages, trust).ok
    assert audit_files(stream.files().get, trust).ok


def test_an_episode_sealed_twice_is_told(
    stream: Stream, trust: TrustStore, make_episode, seal
) -> None:
    """Contract scenario 44: sealed twice."""
    stream.append(seal({**make_episode(3), "outcome": {"code": "partial"}}))
    expected = "version 1 of episode ep-3 is in the log already"
    assert expected in told(audited(stream.messages, trust))
    assert expected in told(audit_files(stream.files().get, trust))


def test_a_version_that_follows_from_nothing_in_the_log_is_told(
    stream: Stream, trust: TrustStore, key: SigningKey, make_episode, seal
) -> None:
    other = seal({**make_episode(3), "outcome": {"code": "fail"}})
    stream.append(seal_episode(make_episode(3), sealed_at=LATER, signer=key, previous=other))
    assert "does not follow from version 1" in told(audited(stream.messages, trust))


NEXT = SigningKey.from_seed("example.org/lictor-log", b"n" * 32)


def both(key: SigningKey) -> TrustStore:
    return TrustStore(
        (
            TrustedKey(key.verifying_key, None, "2026-03-10T00:00:00.000Z"),
            TrustedKey(NEXT.verifying_key, "2026-03-01T00:00:00.000Z"),
        )
    )


def test_a_log_that_was_handed_over_holds(
    stream: Stream, key: SigningKey, make_episode, seal
) -> None:
    stream.hand_over(NEXT, both(key))
    stream.append(seal(make_episode(20), NEXT))
    report = audited(stream.messages, both(key))
    assert report.ok, told(report)
    assert report.hand_overs == 1


def test_a_key_that_goes_on_without_a_hand_over_is_told(
    stream: Stream, key: SigningKey, make_episode, seal
) -> None:
    stream.key = NEXT
    stream.append(seal(make_episode(20), NEXT))
    assert "did not hand it over" in told(audited(stream.messages, both(key)))


def test_the_old_key_writing_on_after_its_hand_over_is_told(
    stream: Stream, key: SigningKey, make_episode, seal
) -> None:
    stream.hand_over(NEXT, both(key))
    stream.key = key
    stream.append(seal(make_episode(20), key))
    assert "did not hand it over" in told(audited(stream.messages, both(key)))


def test_a_leaf_sealed_by_another_key_than_the_log_s_is_told(
    stream: Stream, key: SigningKey, make_episode, seal
) -> None:
    stream.append(seal(make_episode(20), NEXT))
    assert f"{NEXT.key_id} sealed it" in told(audited(stream.messages, both(key)))


def test_a_hand_over_signed_by_one_key_only_is_told(stream: Stream, key: SigningKey) -> None:
    for kept in (0, 1):
        again = Stream(key)
        again.messages, again.frontier = list(stream.messages), stream.frontier
        again.hand_over(NEXT, both(key))
        text, _, lines = again.note.rpartition("\n\n")
        note = f"{text}\n\n{lines.splitlines()[kept]}\n"
        again.messages[-1] = ("checkpoint", StoredCheckpoint(note, again.frontier).to_bytes())
        assert "did not sign it" in told(audited(again.messages, both(key)))


def test_a_thief_of_the_new_key_can_not_appoint_himself(stream: Stream, key: SigningKey) -> None:
    thief = SigningKey.from_seed(key.name, b"t" * 32)
    lax = TrustStore(
        (
            TrustedKey(thief.verifying_key, None, "2026-03-10T00:00:00.000Z"),
            TrustedKey(NEXT.verifying_key, "2026-03-01T00:00:00.000Z"),
        )
    )
    stream.key = thief
    stream.hand_over(NEXT, lax)
    trust = TrustStore((*both(key).keys, lax.keys[0]))
    assert f"but {key.key_id} writes the log" in told(audited(stream.messages, trust))
    assert "does not hold the old key" in told(audited(stream.messages, both(key)))


def test_exported_files_hold(stream: Stream, trust: TrustStore) -> None:
    report = audit_files(stream.files().get, trust, stream.head())
    assert report.ok, told(report)
    assert report.size == 8


def test_a_long_exported_log_holds(key: SigningKey, trust: TrustStore, seal) -> None:
    stream = Stream(key)
    stream.append(*(seal({"episodeId": f"e{number}"}) for number in range(600)))
    files = stream.files()
    assert audit_files(files.get, trust).ok
    for path in files:
        changed = {**files, path: files[path][:-1] + bytes([files[path][-1] ^ 1])}
        assert path in told(audit_files(changed.get, trust)) or "leaf" in told(
            audit_files(changed.get, trust)
        )
        removed = {name: data for name, data in files.items() if name != path}
        assert not audit_files(removed.get, trust).ok


def test_an_entry_that_is_no_sealed_episode_is_told(stream: Stream, trust: TrustStore) -> None:
    for leaf in (b"", b"[]", b'{ "a":1}', canonical_json({"episodeId": "x"})):
        stream.leaves[3] = leaf
        stream.frontier, _ = extend(Frontier(), stream.leaves)
        stream.note = sign_checkpoint(Checkpoint.of(stream.key.name, stream.frontier), stream.key)
        assert told(audit_files(stream.files().get, trust)).startswith("leaf 3: ")


def test_an_exported_log_needs_the_witnesses_that_the_trust_store_needs(
    stream: Stream, key: SigningKey
) -> None:
    witness = SigningKey.from_seed("witness.example/w1", b"1" * 32)
    trust = TrustStore((TrustedKey(key.verifying_key),), (TrustedKey(witness.verifying_key),), 1)
    assert "0 witnesses cosigned, 1 needed" in told(audit_files(stream.files().get, trust))
    stream.note = cosign(stream.note, witness, 1_780_000_000)
    report = audit_files(stream.files().get, trust)
    assert report.ok
    assert report.witnesses == ("witness.example/w1",)


def test_an_exported_head_signed_by_a_key_that_had_retired_is_told(
    stream: Stream, key: SigningKey, make_episode
) -> None:
    stream.hand_over(NEXT, both(key))
    late = (seal_episode(make_episode(n), sealed_at=MAY, signer=NEXT) for n in range(20, 23))
    stream.append(*late)
    assert audit_files(stream.files().get, both(key)).ok
    # Who stole the retired key drops a leaf, and signs what is left as the log's head.
    del stream.leaves[-2]
    stream.frontier, _ = extend(Frontier(), stream.leaves)
    stream.note = sign_checkpoint(Checkpoint.of(key.name, stream.frontier), key)
    assert "is trusted only until" in told(audit_files(stream.files().get, both(key)))


def test_an_exported_leaf_sealed_by_a_key_of_another_log_is_told(
    stream: Stream, key: SigningKey, make_episode, seal
) -> None:
    other = SigningKey.from_seed("other.example/log", b"o" * 32)
    stream.append(seal(make_episode(20), other))
    trust = TrustStore.of([key.verifying_key, other.verifying_key])
    assert "leaf 8: a key of another log" in told(audit_files(stream.files().get, trust))


def test_a_witness_that_cosigned_before_the_last_leaf_was_sealed_does_not_count(
    stream: Stream, key: SigningKey
) -> None:
    witness = SigningKey.from_seed("witness.example/w1", b"1" * 32)
    trust = TrustStore((TrustedKey(key.verifying_key),), (TrustedKey(witness.verifying_key),), 1)
    stream.note = cosign(stream.note, witness, 1_700_000_000)
    assert "cosigned before the episode was sealed" in told(audit_files(stream.files().get, trust))


def test_no_checkpoint_is_told(trust: TrustStore) -> None:
    assert "there is none" in told(audit_files({}.get, trust))
    assert not audit_files({"checkpoint": b"\xff"}.get, trust).ok


THIRD = SigningKey.from_seed("example.org/lictor-log", b"3" * 32)


def three(key: SigningKey) -> TrustStore:
    return TrustStore(
        (
            TrustedKey(key.verifying_key, None, "2026-03-10T00:00:00.000Z"),
            TrustedKey(NEXT.verifying_key, "2026-03-01T00:00:00.000Z", "2026-03-10T00:00:00.000Z"),
            TrustedKey(THIRD.verifying_key, "2026-03-01T00:00:00.000Z"),
        )
    )


@pytest.fixture
def handed_over(stream: Stream, key: SigningKey, make_episode, seal) -> Stream:
    """Eight leaves of the first key, one of the second, two of the third."""
    stream.hand_over(NEXT, three(key))
    stream.append(seal(make_episode(20), NEXT))
    stream.hand_over(THIRD, three(key))
    stream.append(seal(make_episode(21), THIRD), seal(make_episode(22), THIRD))
    return stream


def test_exported_hand_overs_are_followed(handed_over: Stream, key: SigningKey) -> None:
    report = audit_files(handed_over.files().get, three(key))
    assert report.ok, told(report)
    assert report.hand_overs == 2


def test_a_head_that_is_a_hand_over_itself_holds(stream: Stream, key: SigningKey) -> None:
    stream.hand_over(NEXT, both(key))
    report = audit_files(stream.files().get, both(key))
    assert report.ok, told(report)
    stream.hand_overs.clear()
    assert "stands in no file" in told(audit_files(stream.files().get, both(key)))


@pytest.mark.parametrize("missing", ["hand-over/0", "hand-over/1"])
def test_an_exported_log_whose_keys_change_without_a_hand_over_is_told(
    handed_over: Stream, key: SigningKey, missing: str
) -> None:
    """A trusted key alone continues nothing: neither the next one before its time nor one that was never appointed."""
    files = {path: data for path, data in handed_over.files().items() if path != missing}
    assert "did not hand it over" in told(audit_files(files.get, three(key)))


def test_an_old_key_that_writes_on_in_an_exported_log_is_told(
    handed_over: Stream, key: SigningKey, make_episode, seal
) -> None:
    handed_over.key = NEXT
    handed_over.append(seal(make_episode(30), NEXT))
    found = told(audit_files(handed_over.files().get, three(key)))
    assert f"leaf 11: {NEXT.key_id} sealed it" in found
    assert f"checkpoint: {NEXT.key_id} signed it" in found


def test_a_hand_over_of_another_tree_is_told(
    handed_over: Stream, key: SigningKey, make_episode, seal
) -> None:
    """The log was rewritten before the hand-over, by who has the keys since then."""
    rewritten = [*handed_over.leaves]
    rewritten[2] = leaf_data(seal(make_episode(77)))
    handed_over.leaves = rewritten
    handed_over.frontier, _ = extend(Frontier(), rewritten)
    handed_over.note = sign_checkpoint(Checkpoint.of(key.name, handed_over.frontier), THIRD)
    found = told(audit_files(handed_over.files().get, three(key)))
    assert "hand-over/0: it signs 8 leaves with another root" in found


@pytest.mark.parametrize("note", [b"", b"\xff", b"no note"])
def test_what_is_no_hand_over_is_told(handed_over: Stream, key: SigningKey, note: bytes) -> None:
    files = {**handed_over.files(), "hand-over/1": note}
    assert "hand-over/1: " in told(audit_files(files.get, three(key)))


def test_hand_overs_out_of_their_order_or_beyond_the_log_are_told(
    handed_over: Stream, key: SigningKey
) -> None:
    files = handed_over.files()
    swapped = {
        **files,
        "hand-over/0": files["hand-over/1"],
        "hand-over/1": files["hand-over/0"],
    }
    assert "hand-over/1: hand-over: by" in told(audit_files(swapped.get, three(key)))
    short = Stream(key)
    short.append(*(seal_episode({"episodeId": "e"}, sealed_at=LATER, signer=key) for _ in "1"))
    short.hand_overs = handed_over.hand_overs
    assert "the log has 1" in told(audit_files(short.files().get, three(key)))
