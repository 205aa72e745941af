"""A server of the official MCP package on stdio, for the proxy's tests: it writes down every call that reaches it."""

import asyncio
import sys
from pathlib import Path

from mcp.server.mcpserver import Context, MCPServer

SEEN = Path(sys.argv[1])
server = MCPServer("official", log_level="ERROR")


def note_call(call: str) -> None:
    with SEEN.open("a") as seen:
        seen.write(f"{call}\n")


@server.tool()
def add(a: int, b: int) -> int:
    """Add two numbers."""
    note_call(f"add {a} {b}")
    return a + b


@server.tool()
def fail() -> str:
    """Fail."""
    note_call("fail")
    raise RuntimeError("it does not work")


@server.tool()
async def count(ctx: Context) -> str:
    """Tell of progress."""
    note_call("count")
    for number in (1, 2):
        await ctx.report_progress(number, 2)
    return "counted"


@server.tool()
async def wait() -> str:
    """Never end."""
    note_call("wait")
    await asyncio.Event().wait()
    return "ended"


@server.resource("note://{name}")
def note(name: str) -> str:
    """A text."""
    return f"the note {name}"


@server.prompt()
def greet(name: str) -> str:
    """A prompt."""
    return f"greet {name}"


server.run("stdio")
