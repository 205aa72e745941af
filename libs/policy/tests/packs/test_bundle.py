"""Bundles compile to what their directory does, and releases go forward."""

import re
import shutil
from pathlib import Path

import pytest

from lictor_policy.errors import PackError
from lictor_policy.judge.config import load_config
from lictor_policy.packs.bundle import bundle_directory, read_bundle
from lictor_policy.packs.releases import why_not
from lictor_schema.core.canonical_json import canonical_json, parse_json
from lictor_schema.decisions.decision import PackStamp
from lictor_schema.packs.release import PackRelease, ReleaseTaken

PACKS = Path(__file__).parents[4] / "policy-packs"
OLD, NEW = "sha256:" + "1" * 64, "sha256:" + "2" * 64


def test_a_bundle_compiles_to_the_configuration_of_its_directory() -> None:
    bundled = bundle_directory(PACKS)
    assert bundled.config.config_hash == load_config(PACKS).config_hash
    again = read_bundle(bundled.body)
    assert (again.bundle_hash, again.config.config_hash) == (
        bundled.bundle_hash,
        bundled.config.config_hash,
    )


def test_profiles_are_part_of_a_bundle_and_only_those_chosen() -> None:
    plain = parse_json(bundle_directory(PACKS).body)
    assert not any(name.startswith("profiles/") for name in plain["files"])
    chosen = bundle_directory(PACKS, ["minimal-solo-mode"])
    files = parse_json(chosen.body)["files"]
    assert [name for name in files if name.startswith("profiles/")] == [
        "profiles/minimal-solo-mode.yaml"
    ]
    expected = load_config(PACKS, profiles=["minimal-solo-mode"]).config_hash
    assert read_bundle(chosen.body).config.config_hash == chosen.config.config_hash == expected


def test_examples_do_not_change_a_bundle(tmp_path: Path) -> None:
    packs = Path(shutil.copytree(PACKS, tmp_path / "packs"))
    before = bundle_directory(packs).bundle_hash
    (packs / "no-silence" / "tests.yaml").write_text("pack: no-silence\n")
    (packs / "no-silence" / ".policy.yaml").write_text("half: [written")
    assert bundle_directory(packs).bundle_hash == before


def test_a_pack_that_does_not_load_is_told_by_its_own_path(tmp_path: Path) -> None:
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "policy.yaml").write_text("kind: [")
    with pytest.raises(PackError, match=f"{tmp_path}/broken/policy.yaml"):
        bundle_directory(tmp_path)


@pytest.mark.parametrize("name", ["../evil.yaml", "/etc/evil.yaml", "a/../../b.yaml", "a//b"])
def test_a_bundle_with_a_name_that_leads_out_is_refused(name: str) -> None:
    document = parse_json(bundle_directory(PACKS).body)
    document["files"][name] = ""
    with pytest.raises(PackError, match="can't be read"):
        read_bundle(canonical_json(document))


TAKEN = ReleaseTaken(
    channel="main",
    sequence=3,
    number=5,
    bundle_hash=OLD,
    expires_at="2026-07-01T00:00:00.000Z",
    received_at="2026-05-01T00:00:00.000Z",
    release="signed",
)


def release(
    number: int,
    version: str,
    pack_hash: str,
    rollback_of: str | None = None,
    expires_at: str | None = "2026-08-01T00:00:00.000Z",
):
    return PackRelease(
        channel="main",
        number=number,
        bundle_hash=NEW,
        packs=(PackStamp(pack_id="p", pack_version=version, pack_hash=pack_hash),),
        rollback_of=rollback_of,
        released_at="2026-06-01T00:00:00.000Z",
        expires_at=expires_at,
    )


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        (release(6, "1.2.1", NEW), None),
        (release(6, "1.10", NEW), None),
        (release(6, "1.2.0", OLD), None),
        (release(5, "1.3", NEW), "not newer than 5"),
        (release(4, "1.3", NEW), "not newer than 5"),
        (release(6, "1.2", NEW), "version 1.2 is not newer than 1.2.0"),
        (release(6, "1.1.9", NEW), "raise it"),
        (release(6, "latest", NEW), "raise it"),
        (release(6, "1.0", NEW, rollback_of=OLD), None),
        (release(6, "1.0", NEW, rollback_of=NEW), "but .* is in force"),
        (release(5, "1.0", NEW, rollback_of=OLD), "not newer than 5"),
        (release(6, "1.3", NEW, expires_at="2026-06-02T00:00:00.000Z"), "expired at 2026-06-02"),
        (release(6, "1.0", NEW, OLD, "2026-06-02T00:00:00.000Z"), "expired at 2026-06-02"),
        (release(6, "1.3", NEW, expires_at=None), "never expires, unlike 5"),
    ],
)
def test_a_release_goes_forward_or_says_what_it_takes_back(
    given: PackRelease, problem: str | None
) -> None:
    in_force = [PackStamp(pack_id="p", pack_version="1.2.0", pack_hash=OLD)]
    reason = why_not(
        given, in_force=OLD, packs=in_force, taken=TAKEN, now="2026-06-02T00:00:00.000Z"
    )
    if problem is None:
        assert reason is None
    else:
        assert reason is not None
        assert re.search(problem, reason)


def test_a_release_that_never_expires_follows_only_its_like() -> None:
    given = release(6, "1.3", NEW, expires_at=None)
    forever = TAKEN.model_copy(update={"expires_at": None})
    for taken in (None, forever):
        assert (
            why_not(given, in_force=OLD, packs=(), taken=taken, now="2026-06-02T00:00:00.000Z")
            is None
        )
