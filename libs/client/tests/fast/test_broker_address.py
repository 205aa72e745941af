"""Who judges: nothing in a workspace chooses the broker that hooks and guards ask."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from lictor.errors import LictorError
from lictor.fast.broker_address import (
    DEFAULT_URL,
    NoAccount,
    NotRunning,
    credential_file,
    nats_url,
    pinned_url,
)
from lictor.installation.endpoints import (
    Running,
    judge_url,
    register,
    registration,
    unregister,
    write_running,
)
from lictor_bus.service import settings

RUNTIME = "rt"


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return {"XDG_STATE_HOME": str(tmp_path / "state")}


def running(pid: int, port: int = 7, credentials: Path | None = None) -> Running:
    return Running(
        credentials=None if credentials is None else str(credentials),
        pid=pid,
        nats_url=f"nats://127.0.0.1:{port}",
        redis_url="",
        data_dir="",
        packs="",
        trust_file="",
        logs="",
        http={},
    )


def test_the_server_is_that_of_the_nearest_lictor_up_that_this_user_runs(
    tmp_path: Path, state: dict[str, str]
) -> None:
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    data = tmp_path / ".lictor"
    assert nats_url(state, str(below), RUNTIME) == DEFAULT_URL == settings.DEFAULT_NATS_URL
    register(data, running(os.getpid()))
    assert nats_url(state, str(below), RUNTIME) == "nats://127.0.0.1:7"
    assert nats_url({**state, "LICTOR_NATS_URL": "nats://x"}, str(below), RUNTIME) == "nats://x"
    (tmp_path / "link").symlink_to(below)
    assert nats_url(state, str(tmp_path / "link"), RUNTIME) == "nats://127.0.0.1:7"
    register(data, running(2**22 + 1))
    assert nats_url(state, str(below), RUNTIME) == DEFAULT_URL
    registration(data).write_text("nonsense")
    assert nats_url(state, str(below), RUNTIME) == DEFAULT_URL
    assert nats_url(state, "\0", RUNTIME) == DEFAULT_URL


def test_what_lies_in_a_workspace_does_not_choose_the_server(
    tmp_path: Path, state: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A clone brings such a file, with a process that always lives; a link leads to the data of another project."""
    register(tmp_path / ".lictor", running(os.getpid(), port=7))
    register(tmp_path / "other" / ".lictor", running(os.getpid(), port=8))
    cloned, linked = tmp_path / "cloned", tmp_path / "linked"
    (cloned / ".lictor").mkdir(parents=True)
    write_running(cloned / ".lictor", running(1, port=6666))
    (tmp_path / "other" / ".lictor").mkdir(parents=True)
    linked.mkdir()
    (linked / ".lictor").symlink_to(tmp_path / "other" / ".lictor")
    monkeypatch.delenv("LICTOR_NATS_URL", raising=False)
    for workspace in (cloned, linked):
        assert nats_url(state, str(workspace), RUNTIME) == "nats://127.0.0.1:7"
        monkeypatch.chdir(workspace)
        assert judge_url(runtime=RUNTIME).url == "nats://127.0.0.1:7"


def test_a_registration_that_others_may_write_is_not_believed(
    tmp_path: Path, state: dict[str, str]
) -> None:
    register(tmp_path / ".lictor", running(os.getpid()))
    registration(tmp_path / ".lictor").chmod(0o620)
    assert nats_url(state, str(tmp_path), RUNTIME) == DEFAULT_URL


def test_taking_a_registration_away_leaves_those_of_others(
    tmp_path: Path, state: dict[str, str]
) -> None:
    for folder in (tmp_path, tmp_path / "a"):
        register(folder / ".lictor", running(os.getpid()))
    assert registration(tmp_path / ".lictor").stat().st_mode & 0o777 == 0o600
    unregister(tmp_path / "a" / ".lictor")
    assert nats_url(state, str(tmp_path / "a"), RUNTIME) == "nats://127.0.0.1:7"
    unregister(tmp_path / ".lictor")
    assert list((tmp_path / "state" / "lictor" / "up").iterdir()) == []


def test_a_place_that_was_chosen_is_not_searched_for(tmp_path: Path, state: dict[str, str]) -> None:
    register(tmp_path / ".lictor", running(os.getpid()))
    mine = {**state, "LICTOR_NATS_URL": "nats://evil:1"}
    assert pinned_url(mine, "nats://h", "", RUNTIME) == "nats://h"
    assert (
        pinned_url(mine, "", str(registration(tmp_path / ".lictor")), RUNTIME)
        == "nats://127.0.0.1:7"
    )
    with pytest.raises(NotRunning, match=r"/gone"):
        pinned_url(mine, "", str(registration(tmp_path / "gone")), RUNTIME)


def test_a_password_for_the_chosen_server_comes_from_the_environment() -> None:
    mine = {"LICTOR_NATS_URL": "nats://u:p@h:4222,tls://u:p@i"}
    assert pinned_url(mine, "nats://h,tls://i:4222", "", RUNTIME) == mine["LICTOR_NATS_URL"]
    for other in ("nats://h", "tls://h,tls://i", "nats://h:1,tls://i", "nonsense"):
        assert pinned_url(mine, other, "", RUNTIME) == other


def test_the_url_can_come_from_a_file(state: dict[str, str], tmp_path: Path) -> None:
    named = {**state, "LICTOR_NATS_URL_FILE": str(tmp_path / "url")}
    assert nats_url(named, str(tmp_path), RUNTIME) == DEFAULT_URL
    (tmp_path / "url").write_text("nats://rt:secret@h:1\n")
    assert nats_url(named, str(tmp_path), RUNTIME) == "nats://rt:secret@h:1"
    # Settings name the server, the file has the password for it.
    assert pinned_url(named, "nats://h:1", "", RUNTIME) == "nats://rt:secret@h:1"
    assert pinned_url(named, "nats://other:1", "", RUNTIME) == "nats://other:1"


def test_each_runtime_has_an_address_of_its_own_where_there_are_accounts(
    state: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    credentials = tmp_path / "credentials"
    credentials.mkdir()
    register(tmp_path / ".lictor", running(os.getpid(), credentials=credentials))
    endpoints = str(registration(tmp_path / ".lictor"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("LICTOR_NATS_URL", raising=False)
    with pytest.raises(NoAccount, match="add one with `lictor account add rt`"):
        pinned_url(state, "", endpoints, RUNTIME)
    with pytest.raises(LictorError, match="add one with `lictor account add rt`"):
        judge_url(runtime=RUNTIME)
    own = Path(credential_file(str(credentials), RUNTIME))
    own.parent.mkdir()
    own.write_text("nats://rt:secret@h:1\n")
    assert pinned_url(state, "", endpoints, RUNTIME) == "nats://rt:secret@h:1"
    assert nats_url(state, str(tmp_path), RUNTIME) == "nats://rt:secret@h:1"
    found = judge_url(runtime=RUNTIME)
    own.write_text("nats://rt.2:another@h:1\n")
    assert (found.url, found.now()) == ("nats://rt:secret@h:1", "nats://rt.2:another@h:1")
    own.unlink()
    assert found.now() is None
