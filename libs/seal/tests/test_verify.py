"""What a verifier reports: of a good bundle, of a changed one, and of arbitrary bytes."""

import copy
import dataclasses
import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lictor_schema.core.canonical_json import canonical_json
from lictor_seal import (
    CHECK_NAMES,
    BundleError,
    SealBundle,
    SigningKey,
    TrustedKey,
    TrustStore,
    VerificationReport,
    verify_bundle,
)

Path = tuple[str | int, ...]


def failed(data: bytes, trust: TrustStore) -> set[str]:
    report = verify_bundle(data, trust)
    assert tuple(check.name for check in report.checks) == CHECK_NAMES
    assert report.ok == (not report.failures)
    return {check.name for check in report.failures}


def leaves(value: Any, path: Path = ()) -> Iterator[Path]:
    """Every place in a JSON value that holds a scalar or an empty container."""
    members = value.items() if isinstance(value, dict) else enumerate(value)
    for name, member in members:
        if isinstance(member, dict | list) and member:
            yield from leaves(member, (*path, name))
        else:
            yield (*path, name)


def changed(document: Any, path: Path, value: object) -> Any:
    document = copy.deepcopy(document)
    parent = document
    for name in path[:-1]:
        parent = parent[name]
    parent[path[-1]] = value
    return document


def at(document: Any, path: Path) -> Any:
    for name in path:
        document = document[name]
    return document


def other_values(value: object) -> Iterator[object]:
    """Values of the same type and of others, none equal to the value in JSON."""
    candidates = ["", "other", 0, 1, 7, True, False, None, [], {}, [value], {"was": value}]
    if isinstance(value, str):
        candidates += [value + " ", value[:-1], value.upper(), value + "\u0301"]
    if type(value) is int:
        candidates += [value + 1, -value - 1, str(value), value + 0.5]
    yield from (c for c in candidates if canonical_json(c) != canonical_json(value))


def test_every_bundle_of_a_log_verifies(bundles: list[SealBundle], trust: TrustStore) -> None:
    for index, bundle in enumerate(bundles):
        report = verify_bundle(bundle.to_bytes(), trust)
        assert report.ok, report.failures
        assert report.verified is not None
        assert report.verified.leaf_index == index
        assert report.verified.log_size == len(bundles)
        assert report.verified.sealed_episode == bundle.sealed_episode


def test_a_bundle_is_read_back_as_it_was_written(bundle: SealBundle) -> None:
    assert SealBundle.from_bytes(bundle.to_bytes()) == bundle


def test_a_report_can_be_printed_as_json(bundle: SealBundle, trust: TrustStore) -> None:
    good = json.loads(json.dumps(verify_bundle(bundle.to_bytes(), trust).to_json_value()))
    assert good["ok"] is True
    assert good["verified"]["logSize"] == 7
    bad = json.loads(json.dumps(verify_bundle(b"", trust).to_json_value()))
    assert (bad["ok"], bad["verified"]) == (False, None)
    assert [check["name"] for check in bad["checks"]] == list(CHECK_NAMES)


def test_every_change_of_any_leaf_of_the_file_breaks_verification(
    bundle: SealBundle, trust: TrustStore
) -> None:
    """Contract scenario 37: any single change breaks the seal."""
    document = json.loads(bundle.to_bytes())
    count = 0
    for path in leaves(document):
        for value in other_values(at(document, path)):
            data = canonical_json(changed(document, path, value)) + b"\n"
            assert failed(data, trust), f"{path} = {value!r} went unnoticed"
            count += 1
    assert count > 300


def test_every_removed_renamed_or_added_member_breaks_verification(
    bundle: SealBundle, trust: TrustStore
) -> None:
    document = json.loads(bundle.to_bytes())
    objects = {path[:cut] for path in leaves(document) for cut in range(len(path))}
    for path in objects:
        for variant in _member_changes(at(document, path)):
            whole = changed(document, path, variant) if path else variant
            assert failed(canonical_json(whole) + b"\n", trust), f"{path}: {variant}"


def _member_changes(value: Any) -> Iterator[Any]:
    if isinstance(value, list):
        yield [*value, "more"]
        yield value[:-1]
        yield from ([value[::-1]] if value[::-1] != value else [])
        return
    yield {**value, "more": None}
    for name in value:
        rest = {k: v for k, v in value.items() if k != name}
        yield rest
        yield {**rest, name + "_": value[name]}


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.floats(-(2**53) + 1, 2**53 - 1)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=10),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"]), max_size=5), inner)
    ),
    max_leaves=12,
)
episodes = st.dictionaries(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=5).filter(lambda k: k != "seal"),
    json_values,
    min_size=1,
    max_size=4,
)


@given(episode=episodes, data=st.data())
def test_any_single_change_of_any_sealed_episode_breaks_its_seal(
    episode: dict[str, Any], data: st.DataObject, seal, log, trust: TrustStore
) -> None:
    """Contract scenario 37: any single change breaks the seal."""
    (bundle,) = log([seal(episode)])
    assert not failed(bundle.to_bytes(), trust)
    sealed = json.loads(canonical_json(bundle.sealed_episode))
    path = data.draw(st.sampled_from(list(leaves(sealed))))
    value = data.draw(json_values.filter(lambda v: canonical_json(v) != _text_at(sealed, path)))
    tampered = dataclasses.replace(bundle, sealed_episode=changed(sealed, path, value))
    found = failed(tampered.to_bytes(), trust)
    assert "inclusion" in found
    assert found & {"seal", "hash", "key", "signature"}


def _text_at(document: Any, path: Path) -> bytes:
    return canonical_json(at(document, path))


@pytest.fixture(scope="module")
def small_file(seal, log) -> bytes:
    """A bundle with a short episode, so that every byte of it can be tried."""
    episodes = [{"episodeId": f"ep-{number}", "note": "\u2713\n", "n": 10} for number in range(3)]
    return log([seal(episode) for episode in episodes])[1].to_bytes()


def test_no_bit_of_the_file_can_be_flipped(small_file: bytes, trust: TrustStore) -> None:
    data = small_file
    assert not failed(data, trust)
    for position in range(len(data)):
        for bit in range(8):
            flipped = bytearray(data)
            flipped[position] ^= 1 << bit
            assert failed(bytes(flipped), trust), f"byte {position}, bit {bit}"


def test_no_byte_can_be_removed_doubled_or_inserted(small_file: bytes, trust: TrustStore) -> None:
    data = small_file
    for position in range(len(data)):
        head, byte, tail = data[:position], data[position : position + 1], data[position + 1 :]
        assert failed(head, trust)
        assert failed(head + tail, trust)
        for inserted in (byte, b" ", b"\n", b"\x00", b"0"):
            assert failed(head + inserted + byte + tail, trust), position
    for suffix in (b"\n", b" ", b"\x00", b"{}", data):
        assert failed(data + suffix, trust)


@given(st.binary(max_size=400))
def test_arbitrary_bytes_never_verify_and_never_raise(data: bytes) -> None:
    assert not verify_bundle(data, TrustStore(())).ok


@given(json_values)
def test_arbitrary_json_never_verifies_and_never_raises(value: object) -> None:
    assert not verify_bundle(canonical_json(value) + b"\n", TrustStore(())).ok


@given(data=st.data())
def test_arbitrary_json_in_any_place_of_a_bundle_never_raises(
    data: st.DataObject, bundle: SealBundle, trust: TrustStore
) -> None:
    document = json.loads(bundle.to_bytes())
    path = data.draw(st.sampled_from(sorted(leaves(document), key=str)))
    cut = data.draw(st.integers(1, len(path)))
    value = data.draw(json_values)
    text = canonical_json(changed(document, path[:cut], value)) + b"\n"
    assert verify_bundle(text, trust).ok == (text == bundle.to_bytes())


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda _: b"", "JSON"),
        (lambda _: b"null\n", "JSON object"),
        (lambda d: d[:-1], "canonical JSON"),
        (lambda d: d.replace(b'{"checkpoint"', b'{ "checkpoint"'), "canonical JSON"),
        (lambda d: d.replace(b'"leafIndex":4', b'"leafIndex":4.0'), "canonical JSON"),
        (lambda d: d.replace(b'"leafIndex":4', b'"leafIndex":4e0'), "canonical JSON"),
        (lambda d: d.replace(b'"leafIndex":4', b'"leafIndex":4,"leafIndex":4'), "twice"),
        (lambda d: d.replace(b'"leafIndex":4', b'"leafIndex":NaN'), "NaN"),
        (lambda d: d.replace(b'"leafIndex":4', b'"leafIndex":' + b"9" * 9000), ""),
        (lambda d: d.replace(b'"leafIndex":4', b'"leafIndex":true'), "leafIndex"),
        (lambda d: d.replace(b'"leafIndex":4', b'"leafIndex":-1'), "leafIndex"),
        (lambda d: d.replace(b"success", b"\\u0073uccess"), "canonical JSON"),
        (lambda d: d.replace(b"success", b"\\ud800"), "surrogate"),
        (lambda d: d.replace(b"bundle/v1", b"bundle/v3"), "another kind or version"),
        (lambda d: b"\xef\xbb\xbf" + d, ""),
        (lambda d: d.decode().encode("utf-16"), "UTF-8"),
        (lambda _: b"[" * 100_000, "nested"),
        (lambda _: b'{"a":' * 100_000, "nested"),
        (lambda d: b" " * (33 * 1024 * 1024) + d, "larger than"),
        (lambda d: d + b" ", "follows"),
        (lambda d: d + d, "follows"),
    ],
)
def test_a_file_that_is_no_bundle_fails_with_the_reason(
    change, reason: str, bundle: SealBundle, trust: TrustStore
) -> None:
    report = verify_bundle(change(bundle.to_bytes()), trust)
    assert not report.ok
    assert len(report.failures) == len(CHECK_NAMES)
    assert reason in report.checks[0].detail
    assert report.checks[1].detail == "not checked: the bundle cannot be read"


@pytest.mark.parametrize("data", [None, 5, "text", [], object()])
def test_even_something_that_is_not_bytes_is_only_reported(data: Any, trust: TrustStore) -> None:
    assert not verify_bundle(data, trust).ok


def test_an_unbundleable_value_is_refused_when_written(bundle: SealBundle) -> None:
    with pytest.raises(BundleError, match="no canonical JSON"):
        dataclasses.replace(bundle, sealed_episode={"x": float("nan")}).to_bytes()


def store(key: SigningKey, **limits: Any) -> TrustStore:
    return TrustStore((TrustedKey(key.verifying_key, **limits),))


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        ({}, set()),
        ({"not_before": "2026-03-01T12:00:00.000Z"}, set()),
        ({"not_after": "2026-03-01T12:00:00.000Z"}, set()),
        # The log may prove an old seal with a checkpoint of a newer key: only the seal fails.
        ({"not_before": "2026-03-01T12:00:00.001Z"}, {"key", "signature"}),
        (
            {"not_after": "2026-03-01T11:59:59.999Z"},
            {"key", "signature", "checkpoint", "inclusion"},
        ),
        ({"revoked": True}, {"key", "signature", "checkpoint", "inclusion"}),
    ],
)
def test_the_limits_of_a_key_are_kept(
    limits: dict[str, Any], expected: set[str], bundle: SealBundle, key: SigningKey
) -> None:
    assert failed(bundle.to_bytes(), store(key, **limits)) == expected


def test_a_refused_key_is_named_with_the_reason(bundle: SealBundle, key: SigningKey) -> None:
    report = verify_bundle(bundle.to_bytes(), store(key, revoked=True))
    details = {check.name: check.detail for check in report.checks}
    assert f"the key {key.name} is revoked" in details["key"]
    assert f"the key {key.name} is revoked" in details["checkpoint"]


def statuses(report: VerificationReport) -> dict[str, str]:
    return {check.name: check.status.value for check in report.checks}


def test_a_key_that_nobody_knows_is_told_from_a_changed_episode(
    bundle: SealBundle, key: SigningKey
) -> None:
    stranger = store(SigningKey.generate("lictor.test/other"))
    report = verify_bundle(bundle.to_bytes(), stranger)
    assert statuses(report) == {
        "bundle": "held",
        "seal": "held",
        "hash": "held",
        "key": "unknown_key",
        "signature": "not_checked",
        "checkpoint": "unknown_key",
        "inclusion": "not_checked",
    }
    assert report.only_the_key_is_unknown
    assert not report.ok
    assert report.key_id == key.verifying_key.key_id
    changed = bundle.to_bytes().replace(b"success", b"partial")
    assert not verify_bundle(changed, stranger).only_the_key_is_unknown


def test_a_refused_key_is_not_an_unknown_one(bundle: SealBundle, key: SigningKey) -> None:
    report = verify_bundle(bundle.to_bytes(), store(key, revoked=True))
    assert statuses(report)["key"] == statuses(report)["checkpoint"] == "failed"
    assert not report.only_the_key_is_unknown


def test_a_key_refused_for_another_log_leaves_an_unknown_one_unknown(bundle: SealBundle) -> None:
    other = store(SigningKey.generate("lictor.test/other"), revoked=True)
    assert verify_bundle(bundle.to_bytes(), other).only_the_key_is_unknown


def test_a_genuine_bundle_lacks_no_key(bundle: SealBundle, trust: TrustStore) -> None:
    assert not verify_bundle(bundle.to_bytes(), trust).only_the_key_is_unknown
