"""How long `lictor hook` takes to answer a PreToolUse event, beside `python -c pass`, in the same run.

From process start to process end, with the answer read. The session is guarded by the real service, the call names a
file, and it is allowed. Both commands alternate, so that whatever else the machine does falls on both; medians are
compared. Byte code is written first, as an installation does.

    python bench/hook.py [--rounds 40] [--json]
"""

import argparse
import asyncio
import compileall
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

import nats
import uvloop

import lictor
import lictor_cli
from lictor_local.embedded_servers import EmbeddedServers, Endpoints

sys.path.insert(0, str(Path(__file__).parent))
from reporting import emit, service_process, wait_until_ready

LICTOR = Path(sys.executable).with_name("lictor")
SESSION = "bench-hook"


def event(name: str, **fields: object) -> bytes:
    """An event as Claude Code tells it."""
    return json.dumps({"hook_event_name": name, "session_id": SESSION, **fields}).encode()


def answered(data: bytes, workspace: Path, environment: Mapping[str, str]) -> tuple[float, bytes]:
    """Milliseconds that the hook took, and what it said."""
    return timed([str(LICTOR), "hook"], data, workspace, environment)


def timed(
    command: list[str], data: bytes, folder: Path, environment: Mapping[str, str]
) -> tuple[float, bytes]:
    started = time.perf_counter()
    done = subprocess.run(
        command, input=data, stdout=subprocess.PIPE, cwd=folder, env=environment, check=True
    )
    return (time.perf_counter() - started) * 1000, done.stdout


def measure_hook(endpoints: Endpoints, rounds: int) -> dict[str, float]:
    """The medians of both and their ratio, with the feedback service running at these endpoints."""
    compileall.compile_dir(Path(lictor.__file__).parent, maxlevels=1, quiet=2)
    compileall.compile_dir(Path(lictor_cli.__file__).parent, maxlevels=0, quiet=2)
    with tempfile.TemporaryDirectory(prefix="lictor-bench-") as folder:
        workspace = Path(folder)
        (workspace / "a.txt").write_text("content\n" * 100)
        environment = {
            **os.environ,
            "LICTOR_NATS_URL": endpoints.nats_url,
            "CLAUDE_PROJECT_DIR": folder,
            "XDG_STATE_HOME": folder,
        }
        _, begun = answered(event("SessionStart"), workspace, environment)
        if json.loads(begun):
            raise RuntimeError(f"the session did not begin: {begun.decode()}")
        hook: list[float] = []
        python: list[float] = []
        # The first rounds fill the caches: they measure the disk.
        for number in range(-3, rounds):
            call = {"tool_name": "Read", "tool_input": {"file_path": "a.txt"}}
            data = event("PreToolUse", tool_use_id=f"call-{number}", **call)
            hook_ms, answer = answered(data, workspace, environment)
            python_ms, _ = timed([sys.executable, "-c", "pass"], b"", workspace, environment)
            if json.loads(answer):
                raise RuntimeError(f"unexpected answer: {answer.decode()}")
            if number >= 0:
                hook.append(hook_ms)
                python.append(python_ms)
    return {
        "hook_ms": round(statistics.median(hook), 2),
        "python_ms": round(statistics.median(python), 2),
        "hook_ratio": round(statistics.median(hook) / statistics.median(python), 2),
    }


async def measure(rounds: int) -> dict[str, float]:
    """With servers and a service of its own."""
    with tempfile.TemporaryDirectory(prefix="lictor-bench-") as folder:
        async with EmbeddedServers(Path(folder)) as servers:
            client = await nats.connect(servers.endpoints.nats_url)
            async with service_process("lictor_feedback", servers.endpoints):
                await wait_until_ready(client, "feedback")
                result = await asyncio.to_thread(measure_hook, servers.endpoints, rounds)
            await client.close()
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description="`lictor hook`, beside `python -c pass`.")
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    emit("hook: from process start to answer", uvloop.run(measure(options.rounds)), options.json)


if __name__ == "__main__":
    main()
