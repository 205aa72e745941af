"""`lictor mcp`: a proxy in front of an MCP server that judges every tool call."""

import asyncio
import os
import sys
from argparse import REMAINDER, ArgumentParser, Namespace
from contextlib import suppress
from pathlib import Path

from lictor.errors import LictorError
from lictor.fast.session_operations import SessionOperations, unique_id
from lictor.fast.unsent_results import unsent_here
from lictor.fast.workspace import Workspace
from lictor.installation.endpoints import judge_url
from lictor.runtimes.guarded_session import Guarding
from lictor.runtimes.lasting_connection import Reaching
from lictor.runtimes.mcp.pipes import TooLong, Writer, lines, open_reader, open_writer
from lictor.runtimes.mcp.proxy import Proxy
from lictor_cli.main import FAILED, INTERRUPTED, OK, USAGE
from lictor_cli.output.interruption import ending_by_signal
from lictor_cli.output.terminal import quiet_logs, warn

HELP = """\
Run an MCP server (stdio) behind a proxy: every tool call is judged first, and a denied one never reaches the server.

  lictor mcp --definition coder --workspace . -- npx some-mcp-server .

The session is LICTOR_SESSION_ID, or one for this process. While Lictor can't be reached, every tool call is denied.
"""
MAX_HOST_LINE = 16 * 1024 * 1024
MAX_SERVER_LINE = 64 * 1024 * 1024
_GRACE_S = 5.0
_LAST_WORDS_S = 0.5


def arguments(parser: ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("--definition", metavar="NAME", help="the agent definition to judge by")
    parser.add_argument(
        "--workspace",
        metavar="DIR",
        type=Path,
        default=Path(),
        help="where the server runs, and where relative paths start (default: here)",
    )
    parser.add_argument("--session", metavar="ID", help="the session (default: LICTOR_SESSION_ID)")
    parser.add_argument("--task", metavar="ID", help="the task (default: LICTOR_TASK_ID)")
    parser.add_argument(
        "--url",
        metavar="URL",
        help="the NATS server (default: LICTOR_NATS_URL, or the nearest running `lictor up`)",
    )
    parser.add_argument("command", metavar="-- COMMAND", nargs=REMAINDER, help="the MCP server")


async def run(options: Namespace) -> int:
    """Run until the host or the server ends it."""
    quiet_logs()
    command: list[str] = options.command[1:] if options.command[:1] == ["--"] else options.command
    if not command:
        warn("which MCP server? name its command after --: lictor mcp -- COMMAND")
        return USAGE
    if not options.workspace.is_dir():
        raise LictorError(f"{options.workspace} is not a directory; correct --workspace.")
    runtime = os.environ.get("LICTOR_RUNTIME") or "mcp"
    session = options.session or os.environ.get("LICTOR_SESSION_ID") or f"mcp-{unique_id()}"
    operations = SessionOperations(
        runtime=runtime,
        session_id=session,
        workspace=Workspace(str(options.workspace)),
        task_id=options.task or os.environ.get("LICTOR_TASK_ID"),
        definition=options.definition,
    )
    reaching = Reaching(judge_url(options.url, runtime=runtime).now, name=f"lictor-mcp {runtime}")
    guarding = Guarding(operations, unsent=unsent_here(runtime, session))
    try:
        return await _serve(command, options.workspace, guarding, reaching)
    finally:
        try:
            await reaching.drive(guarding.settle())
        finally:
            guarding.keep_rest()
            await reaching.close()


async def _serve(
    command: list[str], workspace: Path, guarding: Guarding, reaching: Reaching
) -> int:
    server = await _start(command, workspace)
    assert server.stdin is not None
    assert server.stdout is not None
    to_host = await open_writer(sys.stdout.buffer)
    to_server = Writer(server.stdin)
    proxy = Proxy(guarding, reaching, to_host.send, to_server.send)
    problem = await proxy.begin()
    if problem is not None:
        warn(f"{problem} Until then every tool call is denied.")
    host_ended = asyncio.Event()
    from_host = asyncio.create_task(_from_host(proxy, to_server, host_ended))
    try:
        with ending_by_signal():
            why = await _from_server(proxy, server, server.stdout, host_ended)
    except asyncio.CancelledError:
        await proxy.interrupted("the proxy was told to end")
        return INTERRUPTED
    finally:
        from_host.cancel()
        await _end(server)
    await proxy.server_ended(why)
    await proxy.idle()
    if host_ended.is_set():
        return OK
    warn(f"{why} (exit code {server.returncode})")
    return FAILED


async def _start(command: list[str], workspace: Path) -> asyncio.subprocess.Process:
    # The server is what is guarded: it gets no key to the guard.
    environment = {name: value for name, value in os.environ.items() if name[:7] != "LICTOR_"}
    try:
        return await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            cwd=workspace,
            env=environment,
        )
    except (OSError, ValueError) as error:
        raise LictorError(f"the MCP server {command[0]!r} can't be started ({error}).") from None


async def _from_host(proxy: Proxy, to_server: Writer, ended: asyncio.Event) -> None:
    reader = await open_reader(sys.stdin.buffer)
    async for line in lines(reader, MAX_HOST_LINE):
        if isinstance(line, TooLong):
            await proxy.too_long(MAX_HOST_LINE)
        else:
            await proxy.from_host(line)
    # What is being judged still goes to the server.
    await proxy.idle()
    ended.set()
    to_server.close()


async def _from_server(
    proxy: Proxy,
    server: asyncio.subprocess.Process,
    reader: asyncio.StreamReader,
    host_ended: asyncio.Event,
) -> str:
    """Pass on what the server says until it ends; why that was."""
    ending = asyncio.create_task(_end_after_host(server, host_ended))
    try:
        async for line in lines(reader, MAX_SERVER_LINE):
            if isinstance(line, TooLong):
                return f"the MCP server wrote a line of more than {MAX_SERVER_LINE} bytes"
            await proxy.from_server(line)
    finally:
        ending.cancel()
    return "the MCP server ended"


async def _end_after_host(server: asyncio.subprocess.Process, host_ended: asyncio.Event) -> None:
    """A server that goes on though its input has ended is ended, after some time for its last answers."""
    await host_ended.wait()
    await asyncio.sleep(_GRACE_S)
    await _end(server)


async def _end(server: asyncio.subprocess.Process) -> None:
    """Wait for its end, ask for it, force it."""
    for hurry, patience_s in ((server.terminate, _LAST_WORDS_S), (server.kill, _GRACE_S)):
        try:
            async with asyncio.timeout(patience_s):
                await server.wait()
                return
        except TimeoutError:
            with suppress(ProcessLookupError):
                hurry()
    await server.wait()
