"""`lictor hook install`: our hooks in Claude Code's settings, and nothing else changed."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import stat
import subprocess
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nats.aio.client import Client
from reporting import apply_streams

from lictor.fast.claude_events import EVENTS
from lictor.runtimes.claude_settings import hook_command, installed, uninstalled

ROOT = Path(__file__).parents[4]
Cli = Callable[..., Awaitable["subprocess.CompletedProcess[str]"]]
COMMAND = hook_command(Path("/venv/bin/python"), Path("/venv/bin/lictor"))
FOREIGN: dict[str, Any] = {
    "model": "opus",
    "permissions": {"deny": ["Bash(rm:*)"]},
    "hooks": {
        "PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "./mine.sh"}]}],
        "Notification": [{"hooks": [{"type": "command", "command": "say 'done'"}]}],
    },
}


def ours(settings: dict[str, Any], event: str) -> list[dict[str, Any]]:
    return [
        {**hook, "matcher": group.get("matcher")}
        for group in settings["hooks"].get(event, [])
        for hook in group["hooks"]
        if "lictor" in hook["command"]
    ]


def test_every_event_and_every_tool_is_hooked_once() -> None:
    settings = installed({}, COMMAND)
    assert set(settings["hooks"]) == set(EVENTS)
    for event in EVENTS:
        (hook,) = ours(settings, event)
        assert hook["matcher"] == ("*" if "ToolUse" in event else None)
        assert hook["timeout"] == 30


def test_a_program_that_is_gone_blocks_calls_but_never_stops() -> None:
    settings = installed({}, COMMAND)
    for event, code in (("PreToolUse", 2), ("Stop", 127), ("UserPromptSubmit", 127)):
        (hook,) = ours(settings, event)
        done = subprocess.run(["/bin/sh", "-c", hook["command"]], capture_output=True, check=False)
        assert done.returncode == code


def test_installing_again_changes_nothing_and_keeps_what_others_wrote() -> None:
    once = installed(FOREIGN, COMMAND)
    assert installed(once, COMMAND) == once
    assert once["permissions"] == FOREIGN["permissions"]
    assert once["hooks"]["PreToolUse"][0] == FOREIGN["hooks"]["PreToolUse"][0]
    assert once["hooks"]["Notification"] == FOREIGN["hooks"]["Notification"]
    assert "lictor" not in json.dumps(FOREIGN), "what was given is not changed"


def test_taking_it_out_leaves_what_was_there_before() -> None:
    assert uninstalled(installed(FOREIGN, COMMAND)) == FOREIGN
    assert uninstalled(installed({}, COMMAND)) == {}
    assert uninstalled({"hooks": {}}) == {"hooks": {}}
    assert uninstalled({"model": "x"}) == {"model": "x"}


def test_a_path_or_definition_that_changed_is_mended_in_its_place() -> None:
    before = installed(FOREIGN, hook_command(Path("/old/python"), Path("/old/lictor"), "a b"))
    before["hooks"]["PreToolUse"].append({"matcher": "x", "hooks": [{"command": "./later.sh"}]})
    after = installed(before, COMMAND)
    (hook,) = ours(after, "PreToolUse")
    assert hook["command"] == f"{COMMAND} --event PreToolUse || exit 2"
    assert [group["matcher"] for group in after["hooks"]["PreToolUse"]] == ["Bash", "*", "x"]


def test_a_hook_of_ours_for_some_tools_only_becomes_one_for_all() -> None:
    narrow = {"matcher": "Write", "hooks": [{"type": "command", "command": "lictor hook"}]}
    twice = {"hooks": {"PreToolUse": [narrow, narrow]}}
    (hook,) = ours(installed(twice, COMMAND), "PreToolUse")
    assert hook["matcher"] == "*"


def test_commands_of_others_are_not_taken_for_ours() -> None:
    for command in ("lictor doctor", "./hook lictor", "notlictor hook", "unbalanced ' lictor hook"):
        settings = {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": command}]}]}}
        assert uninstalled(settings) == settings


@given(
    st.dictionaries(
        st.sampled_from([*EVENTS, "Notification"]),
        st.lists(
            st.fixed_dictionaries(
                {"matcher": st.sampled_from(["", "*", "Bash"])},
                optional={},
            ).flatmap(
                lambda group: st.lists(
                    st.sampled_from(
                        ["./a.sh", "lictor hook", "/x/lictor hook --definition y || exit 2"]
                    ),
                    max_size=3,
                ).map(
                    lambda commands: {
                        **group,
                        "hooks": [{"type": "command", "command": each} for each in commands],
                    }
                )
            ),
            max_size=3,
        ),
    )
)
def test_whatever_stood_there_ours_is_in_once_and_others_keep_their_order(
    hooks: dict[str, list[dict[str, Any]]],
) -> None:
    def others(settings: dict[str, Any]) -> list[tuple[str, str, str]]:
        return [
            (event, group.get("matcher", ""), hook["command"])
            for event, groups in sorted(settings.get("hooks", {}).items())
            for group in groups
            for hook in group["hooks"]
            if "lictor" not in hook["command"]
        ]

    settings = {"hooks": hooks}
    after = installed(settings, COMMAND)
    assert others(after) == others(settings) == others(uninstalled(after))
    assert all(len(ours(after, event)) == 1 for event in EVENTS)
    assert installed(after, COMMAND) == after


def test_a_path_with_spaces_and_quotes_is_one_word_to_the_shell() -> None:
    command = hook_command(Path("/my 'env'/python"), Path("/my 'env'/lictor"), "co;der")
    assert shlex.split(command) == [
        "/my 'env'/python",
        "-I",
        "/my 'env'/lictor",
        "hook",
        "--definition",
        "co;der",
    ]


def test_the_command_names_who_judges() -> None:
    python, script = Path("/p"), Path("/lictor")
    words = shlex.split(hook_command(python, script, "coder", url="nats://h"))
    assert words[3:] == ["hook", "--definition", "coder", "--url", "nats://h"]
    words = shlex.split(hook_command(python, script, endpoints=Path("/my state/endpoints.json")))
    assert words[3:] == ["hook", "--endpoints", "/my state/endpoints.json"]


async def judge_of(cli: Cli, *arguments: str | Path, **environment: str) -> Any:
    done = await cli("hook", "install", "--dry-run", "--json", *arguments, **environment)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    (hook,) = ours(said["after"], "PreToolUse")
    words = shlex.split(hook["command"])
    for option, key in (("--url", "url"), ("--endpoints", "endpoints")):
        assert (words[words.index(option) + 1] if option in words else None) == said["judge"][key]
    return said["judge"]


async def test_who_judges_is_the_lictor_up_of_the_project_unless_told(
    cli: Cli, tmp_path: Path, environment: dict[str, str]
) -> None:
    project = tmp_path / "project"
    (project / ".lictor").mkdir(parents=True)
    up = f"{environment['XDG_STATE_HOME']}/lictor/up"
    judge = await judge_of(cli, "--project", project)
    assert judge["data_dir"] == str(project / ".lictor")
    assert judge["endpoints"] == f"{up}{project}/.lictor/endpoints.json"
    assert (await judge_of(cli))["data_dir"] == str(tmp_path / ".lictor")
    assert (await judge_of(cli, "--data-dir", "x"))["data_dir"] == str(tmp_path / "x")
    assert (await judge_of(cli, "--url", "nats://h"))["url"] == "nats://h:4222"
    assert set((await judge_of(cli, "--user")).values()) == {None}


async def test_a_password_is_not_written_into_settings(cli: Cli) -> None:
    url = "nats://u:secret@h:5"
    assert await judge_of(cli, LICTOR_NATS_URL=url) == {
        "url": "nats://h:5",
        "data_dir": None,
        "endpoints": None,
    }
    refused = await cli("hook", "install", "--url", url)
    assert refused.returncode == 1
    assert "no place for them" in refused.stderr
    assert "secret" not in refused.stderr


def answer_of(command: str, home: Path) -> bytes:
    """What the installed command says to a call, started as Claude Code starts it, without a broker."""
    done = subprocess.run(
        ["/bin/sh", "-c", command],
        input=b'{"hook_event_name": "PreToolUse", "session_id": "s"}',
        env={"LICTOR_NATS_URL": "nats://127.0.0.1:1", "HOME": str(home)},
        capture_output=True,
        cwd=home,
        check=True,
    )
    return done.stdout


async def test_the_command_writes_what_runs(cli: Cli, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "examples" / "agents", tmp_path / "agents")
    done = await cli("hook", "install", "--definition", "coder")
    assert (done.returncode, done.stderr) == (0, "")
    path = tmp_path / ".claude" / "settings.json"
    settings = json.loads(path.read_text())
    (hook,) = ours(settings, "PreToolUse")
    assert b'"deny"' in answer_of(hook["command"], tmp_path)


async def test_a_definition_that_does_not_exist_is_refused_with_those_that_do(
    cli: Cli, tmp_path: Path, broker: Client
) -> None:
    url = broker.connected_url.geturl() if broker.connected_url else ""
    settings = tmp_path / ".claude" / "settings.json"
    shutil.copytree(ROOT / "examples" / "agents", tmp_path / "agents")
    # Nobody runs: what the folder holds would be taken in.
    offline = await cli("hook", "install", "--definition", "codre")
    assert offline.returncode == 1
    assert (
        "coder, lictor-default, office, refunder, releaser, researcher, scribe; start those who"
        in offline.stderr
    )
    await apply_streams(url)
    published = await cli("agent", "publish", "agents/scribe.yaml", "--url", url)
    assert published.returncode == 0, published.stderr
    refused = await cli("hook", "install", "--definition", "coder", "--url", url)
    assert refused.returncode == 1
    assert "there is no definition 'coder'" in refused.stderr
    assert "know: scribe." in refused.stderr
    assert not settings.exists()
    assert (await cli("hook", "install", "--definition", "scribe", "--url", url)).returncode == 0
    assert settings.exists()


async def test_a_definition_that_is_yet_to_be_published_is_installed_when_told_so(
    cli: Cli, tmp_path: Path
) -> None:
    done = await cli("hook", "install", "--definition", "later", "--unchecked")
    assert (done.returncode, done.stderr) == (0, "")
    assert "--definition later" in (tmp_path / ".claude" / "settings.json").read_text()
    taken_out = await cli("hook", "install", "--definition", "later", "--uninstall")
    assert taken_out.returncode == 0


async def test_a_second_time_the_file_is_not_touched(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / ".claude" / "settings.json"
    path.parent.mkdir()
    path.write_text(json.dumps(FOREIGN, indent="\t"))
    path.chmod(0o640)
    first = await cli("hook", "install")
    assert first.returncode == 0
    text, before = path.read_text(), path.stat()
    assert '\n\t"model"' in text
    assert stat.S_IMODE(before.st_mode) == 0o640
    second = await cli("hook", "install", "--json")
    assert json.loads(second.stdout)["changed"] is False
    assert path.stat().st_mtime_ns == before.st_mtime_ns
    assert (await cli("hook", "install", "--uninstall")).returncode == 0
    assert json.loads(path.read_text()) == FOREIGN
    assert sorted(each.name for each in path.parent.iterdir()) == ["settings.json"]


async def test_a_dry_run_writes_nothing(cli: Cli, tmp_path: Path) -> None:
    done = await cli("hook", "install", "--dry-run")
    assert set(json.loads(done.stdout)["hooks"]) == set(EVENTS)
    assert not (tmp_path / ".claude").exists()


async def test_the_users_settings_are_found(cli: Cli, tmp_path: Path) -> None:
    home = tmp_path / "home"
    assert (await cli("hook", "install", "--user", HOME=str(home))).returncode == 0
    assert (home / ".claude" / "settings.json").exists()
    other = tmp_path / "config"
    assert (await cli("hook", "install", "--user", CLAUDE_CONFIG_DIR=str(other))).returncode == 0
    assert (other / "settings.json").exists()


async def test_a_link_to_the_settings_stays_a_link(cli: Cli, tmp_path: Path) -> None:
    real = tmp_path / "dotfiles.json"
    real.write_text("{}")
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude" / "settings.json").symlink_to(real)
    assert (await cli("hook", "install")).returncode == 0
    assert (tmp_path / ".claude" / "settings.json").is_symlink()
    assert "PreToolUse" in real.read_text()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"{", "is not JSON"),
        (b"[" * 100_000, "is not JSON"),
        (b"[]", "not a JSON object"),
        (b"\xff", "not UTF-8"),
        (b'{"hooks": []}', "`hooks` is not an object"),
        (b'{"hooks": {"Stop": {}}}', "`hooks.Stop` is not a list"),
        (b'{"hooks": {"Stop": [1]}}', "`hooks.Stop[0]` is not an object"),
        (b'{"hooks": {"Stop": [{}]}}', "`hooks.Stop[0].hooks` is not a list"),
        (b'{"hooks": {"Stop": [{"hooks": [1]}]}}', "`hooks.Stop[0].hooks[0]`"),
    ],
)
async def test_settings_that_can_not_be_read_are_refused_and_left_alone(
    cli: Cli, tmp_path: Path, content: bytes, words: str
) -> None:
    path = tmp_path / ".claude" / "settings.json"
    path.parent.mkdir()
    path.write_bytes(content)
    done = await cli("hook", "install")
    assert done.returncode == 1
    assert words in done.stderr
    assert str(path) in done.stderr
    assert path.read_bytes() == content


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is forbidden to root")
async def test_a_directory_that_is_not_writable_is_told(cli: Cli, tmp_path: Path) -> None:
    folder = tmp_path / ".claude"
    folder.mkdir(mode=0o500)
    done = await cli("hook", "install")
    assert done.returncode == 1
    assert "can't be written" in done.stderr


async def test_a_project_that_is_not_there_is_told(cli: Cli, tmp_path: Path) -> None:
    done = await cli("hook", "install", "--project", tmp_path / "nowhere")
    assert done.returncode == 1
    assert "not a directory" in done.stderr


async def test_hooks_that_are_switched_off_are_warned_about(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude" / "settings.json").write_text('{"disableAllHooks": true}')
    assert "disableAllHooks" in (await cli("hook", "install")).stderr


@pytest.mark.parametrize(
    ("seconds", "code"), [("300", 0), ("3600", 0), ("0", 2), ("3601", 2), ("-5", 2), ("soon", 2)]
)
async def test_a_call_may_wait_for_a_person_as_long_as_claude_code_is_told(
    cli: Cli, seconds: str, code: int
) -> None:
    done = await cli("hook", "install", "--url", "nats://h", "--ask-s", seconds, "--json")
    assert done.returncode == code, done.stderr
    if code == 0:
        (hook,) = ours(json.loads(done.stdout)["after"], "PreToolUse")
        assert hook["timeout"] == 30 + int(seconds)
        assert f"--ask-s {seconds} " in hook["command"]
        (stop,) = ours(json.loads(done.stdout)["after"], "Stop")
        assert (stop["timeout"], "--ask-s" in stop["command"]) == (30, False)
