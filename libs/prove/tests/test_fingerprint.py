"""The prover's own hash: another build gives another one."""

from __future__ import annotations

from pathlib import Path

import pytest

from lictor_prove.errors import ProverConfigError
from lictor_prove.fingerprint import fingerprint, hash_of


def test_every_source_and_version_counts(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "a.py").write_text("x = 1")
    (tmp_path / "inner/b.py").write_text("y = 1")
    seen = {hash_of([tmp_path], ["1"]), hash_of([tmp_path], ["2"])}
    (tmp_path / "inner/b.py").write_text("y = 2")
    seen.add(hash_of([tmp_path], ["1"]))
    (tmp_path / "inner/b.py").rename(tmp_path / "inner/c.py")
    seen.add(hash_of([tmp_path], ["1"]))
    assert len(seen) == 4


def test_the_same_sources_have_the_same_hash(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1")
    assert hash_of([tmp_path], ["1"]) == hash_of([tmp_path], ["1"])
    assert fingerprint() == fingerprint()


def test_a_prover_without_its_sources_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ProverConfigError, match="sources are not there"):
        hash_of([tmp_path], ["1"])
