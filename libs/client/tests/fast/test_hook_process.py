"""`lictor hook` as a process: whatever it is given and whatever happens to it, it answers or blocks."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

COMMAND = Path(sys.executable).with_name("lictor")
NOBODY = "nats://127.0.0.1:1"
CALL = {
    "hook_event_name": "PreToolUse",
    "session_id": "s-1",
    "tool_name": "Bash",
    "tool_input": {"command": "ls"},
    "tool_use_id": "toolu_1",
}


class Hook:
    """Runs the command with a clean environment of its own."""

    def __init__(self, environment: dict[str, str], home: Path) -> None:
        self.environment = {**environment, "LICTOR_NATS_URL": NOBODY, "XDG_STATE_HOME": str(home)}
        self.cwd = home

    def __call__(
        self, stdin: bytes | dict[str, Any], *arguments: str, **more: str
    ) -> subprocess.CompletedProcess[bytes]:
        data = stdin if isinstance(stdin, bytes) else json.dumps(stdin).encode()
        return subprocess.run(
            [COMMAND, "hook", *arguments],
            input=data,
            capture_output=True,
            cwd=self.cwd,
            env={**self.environment, **more},
            timeout=60,
            check=False,
        )

    def popen(self, stdout: int = subprocess.PIPE, **more: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [COMMAND, "hook"],
            cwd=self.cwd,
            env={**self.environment, **more},
            stdin=subprocess.PIPE,
            stdout=stdout,
            stderr=subprocess.PIPE,
        )


@pytest.fixture
def hook(environment: dict[str, str], tmp_path: Path) -> Hook:
    return Hook(environment, tmp_path)


@pytest.fixture
def mute() -> Iterator[str]:
    """A broker that takes connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"nats://127.0.0.1:{listener.getsockname()[1]}"


def denies(done: subprocess.CompletedProcess[bytes]) -> bool:
    """Whether a call is held back by this: the only two ways there are."""
    if done.returncode == 2:
        return bool(done.stderr)
    assert done.returncode == 0
    specific = json.loads(done.stdout).get("hookSpecificOutput", {})
    return specific.get("permissionDecision") == "deny" and bool(
        specific.get("permissionDecisionReason")
    )


def test_without_a_broker_a_call_is_denied_with_the_reason(hook: Hook) -> None:
    done = hook(CALL)
    assert denies(done)
    assert b"connection refused" in done.stdout
    assert b"lictor doctor" in done.stdout


def test_a_mute_broker_is_not_waited_for_longer_than_allowed(hook: Hook, mute: str) -> None:
    begun = time.monotonic()
    assert denies(hook(CALL, LICTOR_NATS_URL=mute, LICTOR_HOOK_TIMEOUT_S="0.5"))
    assert time.monotonic() - begun < 10


@pytest.mark.parametrize("wrong", ["soon", "-1", "nan", "0", "1e9", "inf"])
def test_a_time_limit_that_makes_no_sense_does_not_open_the_gate(hook: Hook, wrong: str) -> None:
    assert denies(hook(CALL, LICTOR_HOOK_TIMEOUT_S=wrong))


@pytest.mark.parametrize(
    "stdin",
    [
        b"",
        b" \n",
        b"null",
        b"[]",
        b'"PreToolUse"',
        b"{",
        b"{}",
        b'{"hook_event_name": 7}',
        b'{"hook_event_name": "PreToolUse"',
        b'{"hook_event_name": "Unheard"}',
        b'{"hook_event_name": "Stop", "hook_event_name": "SessionEnd"}',
        b"\xff\xfe",
        b"[" * 200_000,
        b'{"a":' * 200_000,
        b"\0" * 1000,
    ],
)
def test_what_is_no_event_blocks(hook: Hook, stdin: bytes) -> None:
    done = hook(stdin)
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.startswith(b"lictor hook: ")


@pytest.mark.parametrize(
    "change",
    [
        {"session_id": None},
        {"session_id": ""},
        {"session_id": "s" * 600},
        {"session_id": ["s"]},
        {"tool_name": None},
        {"tool_name": "t" * 300},
        {"tool_input": []},
        {"tool_input": {"command": "x" * 5_000_000}},
        {"tool_use_id": "u" * 600},
        {"cwd": 7},
        {"cwd": "/nowhere/at/all"},
    ],
)
def test_a_call_with_a_broken_field_is_denied(hook: Hook, change: dict[str, Any]) -> None:
    assert denies(hook({**CALL, **change}))


def test_a_lone_surrogate_is_denied(hook: Hook) -> None:
    assert denies(hook(json.dumps({**CALL, "tool_input": {"command": "\ud800"}}).encode()))


@pytest.mark.parametrize(
    "options",
    [
        ["--definition"],
        ["--definition", ""],
        ["--definition", "a", "b"],
        ["--definition", "a", "--definition", "b"],
        ["--url", "nats://h", "--endpoints", "/f"],
        ["--nonsense", "a"],
    ],
)
def test_wrong_options_block(hook: Hook, options: list[str]) -> None:
    assert hook(CALL, *options).returncode == 2


def test_a_file_in_the_workspace_does_not_choose_who_judges(
    hook: Hook, tmp_path: Path, mute: str
) -> None:
    (tmp_path / ".lictor").mkdir()
    planted = {"format": "lictor-endpoints/v1", "pid": 1, "nats_url": mute}
    (tmp_path / ".lictor" / "endpoints.json").write_text(json.dumps(planted))
    done = hook(CALL, LICTOR_NATS_URL="", LICTOR_HOOK_TIMEOUT_S="1")
    assert denies(done)
    assert b"nats://127.0.0.1:4222" in done.stdout


def test_a_chosen_judge_that_does_not_run_denies_calls_and_keeps_results(
    hook: Hook, tmp_path: Path, mute: str
) -> None:
    nowhere = str(tmp_path / "endpoints.json")
    done = hook(CALL, "--endpoints", nowhere, LICTOR_NATS_URL=mute)
    assert denies(done)
    assert f"no `lictor up` runs that has left its address in {nowhere}" in done.stdout.decode()
    ended = {**CALL, "hook_event_name": "PostToolUse"}
    assert hook(ended, "--endpoints", nowhere, LICTOR_NATS_URL=mute).returncode == 0
    assert len(list((tmp_path / "lictor" / "unsent").rglob("*.json"))) == 1


@pytest.mark.parametrize("said", ["SessionStart", "Notification", "PostToolUse", "Stop", ""])
def test_an_event_that_says_it_is_another_is_answered_as_the_command_says(
    hook: Hook, said: str
) -> None:
    """What is answered at `PreToolUse` is taken for an answer to a call, whatever the event calls itself."""
    assert denies(hook({**CALL, "hook_event_name": said}, "--event", "PreToolUse"))


def test_a_stop_of_either_kind_is_a_stop(hook: Hook) -> None:
    stop = {"hook_event_name": "SubagentStop", "session_id": "s-1", "stop_hook_active": False}
    done = hook(stop, "--event", "Stop")
    assert (done.returncode, json.loads(done.stdout)["decision"]) == (0, "block")
    assert b"says" not in done.stdout


def test_a_home_within_the_workspace_does_not_choose_who_judges(hook: Hook, mute: str) -> None:
    """A home directory that is relative, or none, would lead to files that a clone brings along."""
    folder = hook.cwd.resolve()
    endpoints = folder / f".local/state/lictor/up{folder}/.lictor/endpoints.json"
    endpoints.parent.mkdir(parents=True)
    running = {"format": "lictor-endpoints/v1", "pid": os.getpid(), "nats_url": mute}
    endpoints.write_text(json.dumps(running))
    call = {**CALL, "cwd": str(folder)}
    done = hook(call, LICTOR_NATS_URL="", XDG_STATE_HOME="", HOME=".")
    assert denies(done)
    assert b"XDG_STATE_HOME" in done.stdout
    ended = hook(
        {**call, "hook_event_name": "PostToolUse"}, LICTOR_NATS_URL="", XDG_STATE_HOME="", HOME="."
    )
    assert json.loads(ended.stdout)["continue"] is False, "it could not be kept"
    assert not (folder / ".local/state/lictor/unsent").exists()


def test_a_verb_that_is_none_blocks(hook: Hook) -> None:
    assert hook(CALL, "nonsense").returncode == 2


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_hook_that_is_ended_from_outside_denies(
    hook: Hook, mute: str, number: signal.Signals
) -> None:
    process = hook.popen(LICTOR_NATS_URL=mute, LICTOR_HOOK_TIMEOUT_S="20")
    assert process.stdin is not None
    process.stdin.write(json.dumps(CALL).encode())
    process.stdin.close()
    process.stdin = None
    wait_until_connected(process.pid, int(mute.rpartition(":")[2]))
    process.send_signal(number)
    out, err = process.communicate(timeout=20)
    assert denies(subprocess.CompletedProcess([], process.returncode, out, err))


EDITED = {**CALL, "hook_event_name": "PostToolUse", "tool_name": "Edit", "tool_response": {}}


def waiting(hook: Hook) -> list[str]:
    """The tools of the results that wait."""
    return [json.loads(each.read_bytes())["tool"] for each in hook.cwd.rglob("unsent/*/*.json")]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGKILL])
def test_a_hook_that_is_ended_while_it_reports_has_kept_the_result(
    hook: Hook, mute: str, number: signal.Signals
) -> None:
    process = hook.popen(LICTOR_NATS_URL=mute, LICTOR_HOOK_TIMEOUT_S="20")
    assert process.stdin is not None
    process.stdin.write(json.dumps(EDITED).encode())
    process.stdin.close()
    process.stdin = None
    wait_until_connected(process.pid, int(mute.rpartition(":")[2]))
    process.send_signal(number)
    out, _ = process.communicate(timeout=20)
    assert waiting(hook) == ["Edit"]
    if number != signal.SIGKILL:
        assert b"will be reported" in out


def test_a_report_that_takes_too_long_is_kept(hook: Hook, mute: str) -> None:
    done = hook(EDITED, LICTOR_NATS_URL=mute, LICTOR_HOOK_TIMEOUT_S="0.3")
    assert b"will be reported" in done.stdout
    assert waiting(hook) == ["Edit"]


def test_a_result_is_kept_also_where_the_directory_was_removed(hook: Hook, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    event = tmp_path / "event.json"
    event.write_text(json.dumps(EDITED))
    script = f"rmdir {gone} && exec {COMMAND} hook < {event}"
    subprocess.run(["/bin/sh", "-c", script], cwd=gone, env=hook.environment, check=True)
    assert waiting(hook) == ["Edit"]


def test_after_a_full_disk_nothing_is_allowed_until_somebody_looked(hook: Hook) -> None:
    import resource

    def nothing_can_be_written() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))

    done = subprocess.run(
        [COMMAND, "hook"],
        input=json.dumps(EDITED).encode(),
        capture_output=True,
        cwd=hook.cwd,
        env=hook.environment,
        preexec_fn=nothing_can_be_written,
        check=True,
        timeout=60,
    )
    assert json.loads(done.stdout)["continue"] is False
    denied = hook(CALL)
    assert denies(denied)
    assert b"was lost" in denied.stdout


def wait_until_connected(pid: int, port: int) -> None:
    """Until the process has a connection to the port: then its signal handlers stand."""
    import psutil

    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        connections = psutil.Process(pid).net_connections("tcp4")
        if any(each.raddr and each.raddr.port == port for each in connections):
            return
        time.sleep(0.01)
    raise AssertionError("the hook never asked")


def test_input_that_never_ends_blocks_in_time(hook: Hook) -> None:
    with hook.popen(LICTOR_HOOK_TIMEOUT_S="0.5") as process:
        assert process.stdin is not None
        process.stdin.write(b'{"hook_event_name": "PreToolUse"')
        process.stdin.flush()
        assert process.wait(20) == 2


STUCK = """
import _signal, _socket, sys, time

def getaddrinfo(*_):
    _signal.pthread_sigmask(_signal.SIG_BLOCK, range(1, 32))
    time.sleep(60)

_socket.getaddrinfo = getaddrinfo
from lictor_cli.main import main
sys.exit(main(["hook"]))
"""


def stuck(hook: Hook, event: dict[str, Any]) -> subprocess.CompletedProcess[bytes]:
    """The hook with a name server that hears no signal, as the C library's calls do."""
    begun = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", STUCK],
        input=json.dumps(event).encode(),
        capture_output=True,
        cwd=hook.cwd,
        env={**hook.environment, "LICTOR_HOOK_TIMEOUT_S": "0.5"},
        timeout=50,
        check=False,
    )
    assert time.monotonic() - begun < 30, "Claude Code would have given it up"
    return done


def test_a_call_that_hears_no_signal_is_not_waited_for(hook: Hook) -> None:
    done = stuck(hook, CALL)
    assert done.returncode == 0
    assert denies(done)
    assert b"within 0.5 s" in done.stdout

    assert b"will be reported" in stuck(hook, EDITED).stdout
    assert waiting(hook) == ["Edit"]


def test_a_reader_that_never_reads_blocks_in_time(hook: Hook) -> None:
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    while True:
        try:
            os.write(writing, b"x" * 4096)
        except BlockingIOError:
            break
    os.set_blocking(writing, True)
    with hook.popen(stdout=writing, LICTOR_HOOK_TIMEOUT_S="0.5") as process:
        os.close(writing)
        process.communicate(json.dumps(CALL).encode(), timeout=20)
    os.close(reading)
    assert process.returncode == 2


STOP = {"hook_event_name": "Stop", "session_id": "s-1", "stop_hook_active": True}
FIRST_STOP = {**STOP, "stop_hook_active": False}


def stops(done: subprocess.CompletedProcess[bytes]) -> bool:
    """Whether the agent may stop, with a word to the user."""
    if done.returncode == 2:
        return False
    output = json.loads(done.stdout)
    return done.returncode == 0 and "decision" not in output and bool(output["systemMessage"])


@pytest.mark.parametrize("event", ["Stop", "SubagentStop"])
def test_a_stop_that_can_not_be_read_is_not_blocked_for_ever(hook: Hook, event: str) -> None:
    cut = json.dumps(STOP).encode()[:-1]
    for stdin in (b"", b"{", b"\xff", cut):
        assert stops(hook(stdin, "--event", event)), stdin
    first = hook(json.dumps(FIRST_STOP).encode()[:-1], "--event", event)
    assert json.loads(first.stdout)["decision"] == "block"


@pytest.mark.parametrize("options", [["--defintion", "a"], ["--definition"], ["--url", ""]])
def test_wrong_options_do_not_block_a_stop_for_ever(hook: Hook, options: list[str]) -> None:
    assert stops(hook(STOP, *options))
    assert stops(hook(b"{", "--event", "Stop", *options))
    assert not stops(hook(FIRST_STOP, *options))


def test_what_fails_before_the_event_is_read_fails_as_the_event_has_to(hook: Hook) -> None:
    assert denies(hook(b"", "--event", "PreToolUse"))
    assert json.loads(hook(b"", "--event", "PostToolUse").stdout)["continue"] is False
    assert hook(b"", "--event", "UserPromptSubmit").returncode == 0
    assert hook(b"", "--event", "Unheard").returncode == 2


def test_streams_that_are_closed_block(hook: Hook, tmp_path: Path) -> None:
    event = tmp_path / "event.json"
    event.write_text(json.dumps(CALL))
    for redirect in (">&-", "<&-", ">&- 2>&-", "<&- >&- 2>&-", ">/dev/full"):
        source = "" if "<" in redirect else f"< {event}"
        done = subprocess.run(
            ["/bin/sh", "-c", f"{COMMAND} hook {source} {redirect}"],
            env=hook.environment,
            cwd=tmp_path,
            timeout=60,
            check=False,
        )
        assert done.returncode == 2, redirect


def test_a_reader_that_went_away_blocks(hook: Hook) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with hook.popen(stdout=writing) as process:
        os.close(writing)
        process.communicate(json.dumps(CALL).encode(), timeout=20)
    assert process.returncode == 2


def test_code_that_can_not_be_loaded_blocks(hook: Hook, tmp_path: Path) -> None:
    """Scenario 106: the package in the way is broken in its deepest module, and in its first."""
    import shutil

    import lictor

    for broken in ("fast/nats_wire.py", "fast/claude_events.py", "fast/hook.py"):
        copy = tmp_path / broken.replace("/", "-")
        shutil.copytree(
            Path(lictor.__file__).parent,
            copy / "lictor",
            ignore=shutil.ignore_patterns("__pycache__"),
        )
        (copy / "lictor" / broken).write_text("raise RuntimeError('broken on purpose')")
        done = hook(CALL, PYTHONPATH=f"{copy}:{os.environ.get('PYTHONPATH', '')}")
        assert denies(done), broken
        assert b"broken on purpose" in done.stdout + done.stderr
        stop = hook(
            STOP, "--event", "Stop", PYTHONPATH=f"{copy}:{os.environ.get('PYTHONPATH', '')}"
        )
        assert stops(stop), broken


def test_a_directory_that_was_removed_denies(hook: Hook, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    event = tmp_path / "event.json"
    event.write_text(json.dumps(CALL))
    done = subprocess.run(
        ["/bin/sh", "-c", f"rmdir {gone} && exec {COMMAND} hook < {event}"],
        cwd=gone,
        env={**hook.environment, "XDG_STATE_HOME": str(tmp_path)},
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert denies(done)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4)
    ),
    max_leaves=12,
)
NAMES = (
    "hook_event_name",
    "session_id",
    "tool_name",
    "tool_input",
    "tool_use_id",
    "cwd",
    "agent_id",
)


@settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    stdin=st.one_of(
        st.binary(max_size=200),
        JSON.map(lambda value: json.dumps(value).encode("utf-8", "surrogatepass")),
        st.dictionaries(st.sampled_from(NAMES), JSON).map(
            lambda fields: json.dumps({**CALL, **fields}).encode()
        ),
    )
)
@example(stdin=b'{"hook_event_name":"PreToolUse"}')
def test_any_input_ends_in_an_answer_or_a_block_and_never_in_an_allowed_call(
    hook: Hook, stdin: bytes
) -> None:
    done = hook(stdin)
    assert done.returncode in (0, 2)
    if done.returncode == 2:
        assert done.stderr
        return
    answer = json.loads(done.stdout)
    assert isinstance(answer, dict)
    if json.loads(stdin)["hook_event_name"] == "PreToolUse":
        assert denies(done)


def test_the_hook_loads_nothing_that_is_slow_to_load(hook: Hook) -> None:
    script = (
        "import sys; from lictor_cli.main import main; code = main(['hook']);"
        " print(*sorted(sys.modules), file=sys.stderr); sys.exit(code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        input=json.dumps(CALL).encode(),
        env=hook.environment,
        capture_output=True,
        check=True,
        timeout=60,
    )
    loaded = set(done.stderr.decode().split())
    assert "lictor.fast.nats_wire" in loaded
    slow = {"json", "re", "enum", "socket", "ssl", "dataclasses", "typing", "pathlib", "argparse"}
    slow |= {"signal", "hashlib", "asyncio", "nats", "pydantic", "logging", "lictor_bus", "uuid"}
    assert not loaded & slow
