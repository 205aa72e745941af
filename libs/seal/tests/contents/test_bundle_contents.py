"""A bundle carries the messages that its episode covers, and none is missing, swapped, added or altered."""

import base64
import hashlib
import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lictor_schema.core.canonical_json import canonical_json, hash_bytes
from lictor_schema.seals.erasure import Erasure
from lictor_seal import (
    ERASURE,
    ContentsWriter,
    Entry,
    Message,
    Part,
    SealBundle,
    SigningKey,
    TrustStore,
    entries_hash,
    sign_statement,
    tree_root,
    verify_bundle,
    verify_file,
    with_erased,
)

EPISODE = "ep-1"
OLDER = Path(__file__).parents[1] / "older"
MESSAGES = (
    Message("records", 4, 1_000, "lictor.dec.allow.t", b'{"decision":"allow"}'),
    Message("records", 9, 2_000, "lictor.dec.block.t", b'{"decision":"block","amount":50}'),
    Message("events", 3, 900, "lictor.ev.0.sdk.t", "Zoë \u2713".encode()),
    Message("events", 8, 1_900, "lictor.ev.0.sdk.t", bytes(range(256))),
    # Longer than a piece, and than a part.
    Message("runs", 2, 950, "lictor.run.t.r", b"\x00" * 300_000),
)


def parts_of(key: SigningKey, messages: tuple[Message, ...] = MESSAGES) -> list[Part]:
    writer = ContentsWriter(EPISODE, key)
    for each in messages:
        writer.add(each)
    last = writer.finish()
    return [*writer.full, last]


def sources_of(key: SigningKey, messages: tuple[Message, ...] = MESSAGES) -> dict[str, Any]:
    writer = ContentsWriter(EPISODE, key)
    for each in messages:
        writer.add(each)
    return {
        "contents": "lictor-episode-part/v1",
        "strands": [
            {"name": name, "count": count, "root": writer.strands.root(name), "complete": True}
            for name, count in writer.strands.counts.items()
        ],
    }


@pytest.fixture
def sealed(key, make_episode, seal, log) -> SealBundle:
    episode = {**make_episode(1), "sources": sources_of(key)}
    return replace(log([seal(episode)])[0], with_contents=True)


@pytest.fixture
def parts(key) -> list[Part]:
    return parts_of(key)


def file_of(bundle: SealBundle, parts: list[Part]) -> bytes:
    return bundle.to_bytes() + b"".join(each.to_bytes() + b"\n" for each in parts)


def erase(part: Part, key: SigningKey, *places: tuple[str, int], **told: object) -> Part:
    def state(_: str, entries: Any) -> str:
        said: dict[str, Any] = {
            "request_id": "00000000-0000-4000-8000-000000000001",
            "episode_id": EPISODE,
            "by": "ada",
            "reason": "asked for by the customer",
            "erased_at": "2026-04-01T00:00:00.000Z",
            "count": len(entries),
            "entries": entries_hash(entries),
            **told,
        }
        return sign_statement(ERASURE, Erasure.from_json(canonical_json(said)), key)

    return with_erased(part, lambda place: "order" if place in places else None, state)


def test_every_carried_byte_is_checked_and_handed_on(sealed, parts, trust):
    assert len(parts) > 1
    assert all(len(each.to_bytes()) < 512 * 1024 for each in parts)
    found: list[Message | Entry] = []
    report = verify_bundle(file_of(sealed, parts), trust, visit=found.append)
    assert report.ok, report.failures
    assert tuple(found) == MESSAGES
    assert report.verified is not None
    assert report.verified.contents is not None
    assert [(e.name, e.count, e.erased) for e in report.verified.contents.strands] == [
        ("records", 2, 0),
        ("events", 2, 0),
        ("runs", 1, 0),
    ]


def test_a_commitment_is_made_as_the_documentation_says(key, parts):
    """For whoever checks it without us."""
    first = parts[0].entries[0]
    header = (
        b'{"at":4,"piece":0,"pieces":1,"storedUs":1000,"strand":"records",'
        b'"subject":"lictor.dec.allow.t"}'
    )
    assert len(first.salt) == 32
    digest = hashlib.sha256(first.salt + header + b"\n" + first.body).hexdigest()
    second = parts[0].entries[1].commitment
    root = tree_root([f"sha256:{digest}".encode(), second.encode()]).hex()
    assert sources_of(key)["strands"][0]["root"] == f"sha256:{root}"


def test_no_plain_hash_of_a_message_is_in_the_leaf(sealed, key):
    leaf = canonical_json(dict(sealed.sealed_episode)).decode()
    for each in MESSAGES:
        assert hash_bytes(each.body).removeprefix("sha256:") not in leaf
    # Another sealer's salts are others, and so are those of another episode.
    other = SigningKey.from_seed("other", bytes(32))
    assert sources_of(key) != sources_of(other)
    assert ContentsWriter("ep-2", key).add(MESSAGES[0]) != ContentsWriter(EPISODE, key).add(
        MESSAGES[0]
    )
    # The same again for whoever starts over after a crash.
    assert parts_of(key) == parts_of(key)


def altered(number: int, change: Callable[[dict[str, Any]], object]) -> Callable[..., list[bytes]]:
    def make(lines: list[bytes]) -> list[bytes]:
        document = json.loads(lines[number])
        change(document)
        lines[number] = canonical_json(document)
        return lines

    return make


@pytest.mark.parametrize(
    ("attack", "told"),
    [
        (lambda lines: lines[:-1], "last part is missing"),
        (lambda lines: lines[1:], "not whole"),
        (lambda _: [], "last part is missing"),
        (lambda lines: lines[::-1], "not whole"),
        (lambda lines: [*lines, lines[-1]], "was added"),
        (lambda lines: [lines[0], *lines], "does not follow"),
        (altered(0, lambda d: d["entries"].pop(0)), "missing or swapped"),
        (altered(0, lambda d: d["entries"].reverse()), "not whole"),
        (altered(0, lambda d: d["entries"][1].update(body="{}")), "missing or swapped"),
        (altered(0, lambda d: d["entries"][1].update(subject="s")), "missing or swapped"),
        (altered(0, lambda d: d["entries"][1].update(storedUs=1)), "missing or swapped"),
        (altered(0, lambda d: d["entries"][1].update(salt="A" * 43 + "=")), "missing or swapped"),
        (altered(0, lambda d: d["entries"][0].update(strand="gates")), "was added"),
        (altered(0, lambda d: d.update(episodeId="ep-2")), "another episode"),
        (altered(0, lambda d: d.update(more=1)), "not a known field"),
        (altered(0, lambda d: d["entries"][0].update(more=1)), "not a known field"),
        (altered(-1, lambda d: d["entries"][-1].update(base64="AAAA")), "not under"),
        (altered(-1, lambda d: d.update(before=["0" * 64])), "missing or swapped"),
        (altered(-1, lambda d: d.update(entries=[])), "at least 1 item"),
        (lambda lines: [b" " + lines[0], *lines[1:]], "canonical"),
        (lambda lines: [b"null", *lines[1:]], "must be an object"),
        (lambda lines: [lines[0] + b"\n", *lines[1:]], "not JSON"),
    ],
)
def test_a_missing_swapped_added_or_altered_part_is_an_error(sealed, parts, trust, attack, told):
    lines = attack([each.to_bytes() for each in parts])
    data = sealed.to_bytes() + b"".join(line + b"\n" for line in lines)
    report = verify_bundle(data, trust)
    [failed] = report.failures
    assert failed.name == "contents"
    assert re.search(told, failed.detail), failed.detail


def test_a_file_that_is_cut_within_a_part_is_an_error(sealed, parts, trust):
    [failed] = verify_bundle(file_of(sealed, parts)[:-1], trust).failures
    assert "cut" in failed.detail


def test_the_seal_alone_verifies_and_says_that_it_carries_nothing(sealed, parts, trust):
    alone = replace(sealed, with_contents=False)
    report = verify_bundle(alone.to_bytes(), trust)
    assert report.verified is not None
    assert report.verified.contents is None
    # Parts after a bundle that says that there are none are no bundle.
    assert not verify_bundle(file_of(alone, parts), trust).ok


def test_whoever_demands_all_messages_does_not_get_the_seal_alone(sealed, parts, trust, key):
    for file in (parts, [erase(each, key, ("events", 8)) for each in parts]):
        report = verify_bundle(file_of(sealed, file), trust, complete=True)
        assert report.ok, report.failures
        assert "complete" in [check.name for check in report.checks]
    alone = replace(sealed, with_contents=False).to_bytes()
    report = verify_bundle(alone, trust, complete=True)
    assert not report.ok
    [failed] = report.failures
    assert (failed.name, failed.status) == ("complete", "failed")
    # What is wrong with the messages is said once.
    cut = verify_bundle(file_of(sealed, parts[:-1]), trust, complete=True)
    assert [(each.name, each.status) for each in cut.failures] == [
        ("contents", "failed"),
        ("complete", "not_checked"),
    ]


def test_erased_messages_are_reported_and_every_root_still_holds(sealed, parts, trust, key):
    erased = [erase(each, key, ("events", 8), ("runs", 2)) for each in parts]
    data = file_of(sealed, erased)
    found: list[Message | Entry] = []
    report = verify_bundle(data, trust, visit=found.append)
    assert report.ok, report.failures
    assert report.verified is not None
    contents = report.verified.contents
    assert contents is not None
    assert [(e.name, e.count, e.erased) for e in contents.strands] == [
        ("records", 2, 0),
        ("events", 2, 1),
        ("runs", 1, 1),
    ]
    assert [(e.by, e.reason) for e in contents.erasures] == [("ada", "asked for by the customer")]
    kept = [each for each in found if isinstance(each, Message)]
    assert tuple(kept) == MESSAGES[:3]
    # Neither the bytes nor the salts, without which nobody can try what they may have been.
    salts = {
        e.salt for part in parts for e in part.entries if e.place in (("events", 8), ("runs", 2))
    }
    for salt in salts:
        assert json.dumps(base64.b64encode(salt).decode()).encode() not in data
    # A part stays under its id: what is erased can't be stored again beside it.
    assert [each.id for each in erased] == [each.id for each in parts]


def test_what_was_erased_before_stays_so_when_more_is_erased(sealed, parts, trust, key):
    once = [erase(each, key, ("events", 8)) for each in parts]
    twice = [erase(each, key, ("records", 4), reason="and this") for each in once]
    report = verify_bundle(file_of(sealed, twice), trust)
    assert report.verified is not None
    assert report.verified.contents is not None
    assert report.verified.contents.erased == 2


@pytest.mark.parametrize(
    "told",
    [{"episode_id": "ep-2"}, {"count": 7}, {"entries": "sha256:" + "0" * 64}],
)
def test_an_erasure_stands_only_for_the_messages_it_was_signed_for(sealed, parts, trust, key, told):
    erased = [erase(each, key, ("records", 9), **told) for each in parts]
    [failed] = verify_bundle(file_of(sealed, erased), trust).failures
    assert "other messages" in failed.detail


def test_nobody_but_the_log_s_key_can_call_a_missing_message_erased(sealed, parts, trust, stranger):
    erased = [erase(each, stranger, ("records", 9)) for each in parts]
    report = verify_bundle(file_of(sealed, erased), trust)
    assert not report.ok
    assert [each.name for each in report.failures] == ["contents"]


def test_an_erased_message_without_its_commitment_is_refused(sealed, parts, trust, key):
    erased = [erase(each, key, ("records", 9)).to_bytes() for each in parts]
    assert sum(b'"commitment"' in each for each in erased) == 1
    bare = [re.sub(rb'"commitment":"[^"]*",', b"", each) + b"\n" for each in erased]
    [failed] = verify_bundle(sealed.to_bytes() + b"".join(bare), trust).failures
    assert "it is erased and has no commitment" in failed.detail


def test_bundles_of_older_sealers_verify_unchanged():
    trust = TrustStore.load(OLDER / "trust.json")
    for version in (1, 2):
        data = (OLDER / f"bundle-v1-version-{version}.json").read_bytes()
        report = verify_bundle(data, trust)
        assert report.verified is not None, report.failures
        assert report.verified.version == version
        assert report.verified.contents is None
        [failed] = verify_bundle(data.replace(b'"count":1', b'"count":2', 1), trust).failures[:1]
        assert failed.name == "hash"


@pytest.mark.parametrize("version", ["v1", "v2", "v9"])
def test_what_an_episode_says_about_formats_changes_nothing(
    key, make_episode, seal, log, trust, version
):
    """An agent chooses some of the words in its episode."""
    effects = {"format": f"lictor-seal-bundle/{version}"}
    episode = {**make_episode(1), "sources": sources_of(key)}
    episode["outcome"] = {**episode["outcome"], "effects": effects}
    [alone] = log([seal(episode)])
    report = verify_bundle(alone.to_bytes(), trust)
    assert report.ok, report.failures
    carrying = file_of(replace(alone, with_contents=True), parts_of(key))
    report = verify_bundle(carrying, trust)
    assert report.ok, report.failures


def test_an_erasure_that_another_log_s_key_signed_is_none(sealed, parts, key):
    """Whoever believes two logs believes neither about the other."""
    other = SigningKey.from_seed("example.com/another-log", bytes(range(2, 34)))
    both = TrustStore.of([key.verifying_key, other.verifying_key])
    assert verify_bundle(file_of(sealed, parts), both).ok
    erased = [erase(each, other, ("records", 9)) for each in parts]
    [failed] = verify_bundle(file_of(sealed, erased), both).failures
    assert failed.name == "contents"
    assert "another log" in failed.detail


def test_a_message_that_is_erased_in_part_is_told_as_erased(sealed, parts, trust, key):
    """An erasure that was interrupted between two parts leaves a bundle that verifies."""
    places = [{each.place for each in part.entries if each.pieces > 1} for part in parts]
    assert places[0] & places[1] == {("runs", 2)}
    for number in range(len(parts)):
        half = [erase(p, key, ("runs", 2)) if n == number else p for n, p in enumerate(parts)]
        found: list[Message | Entry] = []
        report = verify_bundle(file_of(sealed, half), trust, visit=found.append)
        assert report.verified is not None, report.failures
        assert report.verified.contents is not None
        assert report.verified.contents.strands[-1].erased == 1
        assert [each.at for each in found if isinstance(each, Entry)] == [2]
        assert tuple(each for each in found if isinstance(each, Message)) == MESSAGES[:-1]


def test_an_erasure_by_an_unknown_key_leaves_the_rest_to_be_looked_at(
    sealed, parts, trust, stranger
):
    erased = [erase(each, stranger, ("records", 4)) for each in parts]
    found: list[Message | Entry] = []
    report = verify_bundle(file_of(sealed, erased), trust, visit=found.append)
    assert report.only_the_key_is_unknown
    assert len(found) == len(MESSAGES)
    # What is wrong for any other reason is not excused by it.
    assert not verify_bundle(file_of(sealed, erased[:-1]), trust).only_the_key_is_unknown


def test_a_message_in_very_many_pieces_is_refused_at_once(sealed, parts, trust):
    """Nobody who forges a file keeps its reader busy, or fills its memory."""
    entry = json.loads(parts[0].to_bytes())["entries"][0]
    pieces = [{**entry, "piece": n, "pieces": 4000} for n in range(4000)]
    line = canonical_json({**json.loads(parts[0].to_bytes()), "entries": pieces[:3000]})
    taken: list[int] = []

    class File:
        def __init__(self) -> None:
            self.lines = [sealed.to_bytes(), line + b"\n", line + b"\n"]

        def readline(self, size: int, /) -> bytes:
            taken.append(size)
            return self.lines.pop(0)

        def read(self, size: int, /) -> bytes:
            raise AssertionError(size)

    [failed] = verify_file(File(), trust).failures
    assert "pieces" in failed.detail
    assert len(taken) == 2
