"""A test that leaves a connection open fails itself, and no other: see `tests/plugins/open_connections.py`."""

import os
import subprocess
import sys
from pathlib import Path

PLUGINS = Path(__file__).parents[1] / "plugins"

TESTS = """
import asyncio, gc

async def serve():
    ended = asyncio.Event()
    async def talk(reader, writer):
        await reader.read()
        writer.close()
        ended.set()
    server = await asyncio.start_server(talk, "127.0.0.1", 0)
    return server, server.sockets[0].getsockname(), ended

def test_leaves_one():
    async def leave():
        server, address, _ = await serve()
        left = list(await asyncio.open_connection(*address[:2]))
        left.append(left)  # so that only the garbage collector finds it
        server.close()
    asyncio.run(leave())

def test_comes_after():
    gc.collect()

def test_closes_its_own():
    async def close():
        server, address, ended = await serve()
        _, writer = await asyncio.open_connection(*address[:2])
        writer.close()
        await writer.wait_closed()
        await ended.wait()
        server.close()
        await server.wait_closed()
    asyncio.run(close())
"""


def test_the_test_that_leaves_a_connection_open_is_the_one_that_fails(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(TESTS, "utf-8")
    command = [sys.executable, "-m", "pytest", "-p", "open_connections", "-p", "no:asyncio"]
    done = subprocess.run(
        [*command, "-q", "-rE", "-W", "error", "--rootdir", str(tmp_path), str(tmp_path)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(PLUGINS)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert "3 passed, 1 error" in done.stdout, done.stdout + done.stderr
    assert "ERROR test_it.py::test_leaves_one" in done.stdout
