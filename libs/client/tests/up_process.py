"""`lictor up` as a process, for the tests."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import psutil

ROOT = Path(__file__).parents[3]
COMMAND = Path(sys.executable).with_name("lictor")


class Up:
    """A running `lictor up --json`."""

    def __init__(self, process: asyncio.subprocess.Process, folder: Path) -> None:
        self.process = process
        self.folder = folder
        self.said: dict[str, Any] = {}

    @classmethod
    async def start(cls, folder: Path, *arguments: str, **environment: str) -> Up:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("LICTOR_")}
        process = await asyncio.create_subprocess_exec(
            COMMAND,
            "up",
            "--json",
            *arguments,
            cwd=folder,
            env={**kept, "LICTOR_PACKS": str(ROOT / "policy-packs"), **environment},
            stdout=asyncio.subprocess.PIPE,
        )
        up = cls(process, folder)
        try:
            up.said = await up.until("up")
        except BaseException:
            # A test that fails must not leave servers and services behind.
            await up.end()
            raise
        return up

    async def until(self, what: str, name: str | None = None) -> dict[str, Any]:
        """The next line that tells of such a happening."""
        assert self.process.stdout is not None
        async with asyncio.timeout(60):
            while line := await self.process.stdout.readline():
                said = json.loads(line)
                if said["what"] == what and name in (None, said.get("name")):
                    return said
        raise AssertionError(f"lictor up ended without telling of {what}")

    @property
    def url(self) -> str:
        return self.said["nats_url"]

    def children(self, *, recursive: bool = True) -> list[psutil.Process]:
        return psutil.Process(self.process.pid).children(recursive=recursive)

    async def end(self, how: signal.Signals = signal.SIGTERM) -> int:
        if self.process.returncode is None:
            self.process.send_signal(how)
        return await self.process.wait()
