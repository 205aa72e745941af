"""Where an installation's packs and data are found."""

from pathlib import Path

import pytest

from lictor.errors import LictorError
from lictor.installation import directories

ROOT = Path(__file__).parents[4]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory two levels below one with data."""
    monkeypatch.delenv("LICTOR_PACKS", raising=False)
    below = tmp_path / "project" / "deep" / "deeper"
    below.mkdir(parents=True)
    (tmp_path / "project" / ".lictor").mkdir()
    monkeypatch.chdir(below)
    return below


def test_packs_are_found_upwards(tmp_path: Path) -> None:
    (tmp_path / "project" / "policy-packs").mkdir()
    assert directories.packs_directory() == tmp_path / "project" / "policy-packs"


def test_without_own_packs_those_that_come_with_lictor_are_judged_by() -> None:
    assert directories.own_packs() is None
    assert directories.packs_directory() == ROOT / "policy-packs"


def test_packs_that_come_with_lictor_are_not_changed(here: Path) -> None:
    with pytest.raises(LictorError) as caught:
        directories.changeable_packs()
    assert str(caught.value) == (
        f"No policy-packs directory was found in {here} or above it, and the packs that come with Lictor are not yours"
        f" to change; copy them with `cp -rL {ROOT / 'policy-packs'} policy-packs`, or set LICTOR_PACKS."
    )


def test_packs_that_are_named_wrongly_are_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LICTOR_PACKS", "nowhere")
    with pytest.raises(LictorError, match="LICTOR_PACKS names nowhere"):
        directories.packs_directory()


def test_data_goes_to_the_nearest_data_directory_upwards(tmp_path: Path) -> None:
    assert directories.data_directory() == tmp_path / "project" / ".lictor"


def test_data_goes_beside_the_packs_when_they_are_upwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "other" / "deep").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "other" / "deep")
    packs = tmp_path / "other" / "policy-packs"
    assert directories.data_directory(packs) == tmp_path / "other" / ".lictor"
    assert directories.data_directory(Path("/usr/share/packs")) == Path.cwd() / ".lictor"
