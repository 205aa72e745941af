"""A runner that could not tell who may approve runs nothing, and says so."""

from pathlib import Path
from typing import Any, cast

import pytest
from runner_bus import ALICE

from lictor_bus.errors import BusError
from lictor_runner.app import RunnerSettings, make_service
from lictor_seal import TrustStore


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    for name in ("LICTOR_APPROVERS", "LICTOR_POLICY_APPROVERS", "LICTOR_LAYERS"):
        monkeypatch.delenv(name, raising=False)
    return monkeypatch


async def test_without_keys_nothing_is_taken_in() -> None:
    service = make_service()
    assert "LICTOR_APPROVERS" in service.detail
    assert "nothing runs" in service.detail
    # It does not even look at the bus.
    assert await service.loops(cast(Any, None)) == ()


def test_keys_that_can_not_be_read_stop_it(bare: pytest.MonkeyPatch, tmp_path: Path) -> None:
    broken = tmp_path / "approvers.json"
    for text in ("", "{", "[]"):
        broken.write_text(text)
        bare.setenv("LICTOR_APPROVERS", str(broken))
        with pytest.raises(BusError):
            make_service()
    bare.setenv("LICTOR_APPROVERS", str(tmp_path / "missing.json"))
    with pytest.raises(BusError):
        make_service()


def test_a_layer_that_is_not_there_stops_it(bare: pytest.MonkeyPatch, tmp_path: Path) -> None:
    keys = tmp_path / "approvers.json"
    keys.write_bytes(TrustStore.of([ALICE.verifying_key]).to_bytes())
    bare.setenv("LICTOR_APPROVERS", str(keys))
    assert "no layers: nothing runs" in make_service().detail
    bare.setenv("LICTOR_LAYERS", str(tmp_path / "missing"))
    with pytest.raises(BusError, match="LICTOR_LAYERS"):
        make_service()


def test_layers_see_only_the_variables_that_are_named() -> None:
    settings = RunnerSettings.from_environment({"LICTOR_RUN_ENV": "MAIL_HOST, TZ,,MISSING"})
    found = settings.environment({"MAIL_HOST": "h", "TZ": "UTC", "SECRET": "s"})
    assert found == {"MAIL_HOST": "h", "TZ": "UTC"}


@pytest.mark.parametrize("name", ["PYTHONPATH", "PYTHONHASHSEED", "LC_ALL", "LANG"])
def test_layers_are_given_no_variable_that_changes_python(name: str) -> None:
    with pytest.raises(BusError, match=f"LICTOR_RUN_ENV names {name}"):
        RunnerSettings.from_environment({"LICTOR_RUN_ENV": f"TZ,{name}"})


@pytest.mark.parametrize("value", ["0", "-1", "many", "1.5"])
def test_a_wrong_limit_is_one_sentence(value: str) -> None:
    with pytest.raises(BusError, match="LICTOR_RUN_CPU_S"):
        RunnerSettings.from_environment({"LICTOR_RUN_CPU_S": value})
