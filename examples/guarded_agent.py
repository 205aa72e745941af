"""An agent under guard: it must read a file before it overwrites it, and leave its output before it stops.

Run `lictor up` in one terminal with LICTOR_AGENTS set to examples/agents, and this in another, in the same directory or
below. The "agent" here is a script; what it hears from the guard is printed.
"""

import asyncio
import sys
import tempfile
import uuid
from pathlib import Path

import lictor


async def main() -> None:
    workspace = Path(tempfile.mkdtemp(prefix="guarded-"))
    (workspace / "notes.txt").write_text("what was there before\n")
    session = str(uuid.uuid4())
    async with (
        lictor.connect(agent_id="scribe") as governor,
        governor.guard(session, definition="scribe", workspace=workspace, cwd=workspace) as guard,
    ):

        @guard.tool
        def read_file(path: str) -> str:
            return (workspace / path).read_text()

        @guard.tool(denied="tell")
        def write_file(path: str, content: str) -> str:
            (workspace / path).write_text(content)
            return f"{path} is written"

        turns = 0
        async for prompt in guard.turns("Sum the notes up in summary.txt."):
            turns += 1
            print(f"turn {turns}: {prompt}")
            if turns == 1:
                print("  ", await write_file("notes.txt", "forget what was there"))
                print("  ", (await read_file("notes.txt")).strip())
            else:
                print("  ", await write_file("summary.txt", "nothing much\n"))
            if advice := guard.take_advice():
                print("   advice:", advice)
        assert guard.stopped is not None
        print("the work is", guard.stopped.status)
        print(f"see: lictor session log {session}")


try:
    asyncio.run(main())
except lictor.LictorError as error:
    sys.exit(f"lictor: {error}")
