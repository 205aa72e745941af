"""`lictor prove --submit --wait`: from a file to what it returned, in one command, or why there is none."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from nats.aio.client import Client
from reporting import service_process, wait_until_ready
from runner_bus import policed
from runs_on_disk import Bank, program

from lictor_bus.wire.connection import close_nats, connect_nats
from lictor_local.embedded_servers import Endpoints

COMMAND = Path(sys.executable).with_name("lictor")
PATIENCE_S = 60.0
RETURNING = program("return (pay(name, cents), cents / 2)").replace(
    "def main() -> None", "def main(name: str, cents: int) -> object"
)
FAILING = program("pay('ada', 5)\nsend('refuse')")


@dataclass
class Shell:
    """Somebody at a shell, beside services at work."""

    at: Path
    url: str
    bank: Bank

    async def start(self, *arguments: str) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            str(COMMAND),
            *arguments,
            cwd=self.at,
            env={**os.environ, "LICTOR_NATS_URL": self.url},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )

    async def run(self, *arguments: str) -> tuple[int | None, str, str]:
        return await ended(await self.start(*arguments))

    async def submit(self, source: str, *more: str) -> tuple[asyncio.subprocess.Process, str, str]:
        """The command once it has told the request, the request, and what was printed so far."""
        (self.at / "p.py").write_text(source)
        process = await self.start("prove", "p.py", "--submit", "--task", "t", "--wait", *more)
        assert process.stdout is not None
        printed = ""
        async with asyncio.timeout(PATIENCE_S):
            while "request" not in (line := (await process.stdout.readline()).decode()):
                assert line, (printed, await ended(process))
                printed += line
        if "--json" in more:
            return process, json.loads(line)["request_id"], printed
        return process, line.split()[1].rstrip(":"), printed

    async def decide(self, verb: str, request_id: str) -> None:
        code, _, told = await self.run(
            "approvals", verb, request_id, "--key", "ann.pem", "--yes", "--reason", "because"
        )
        assert code == 0, told


async def ended(process: asyncio.subprocess.Process) -> tuple[int | None, str, str]:
    async with asyncio.timeout(PATIENCE_S):
        out, err = await process.communicate()
    return process.returncode, out.decode(), err.decode()


@asynccontextmanager
async def shell(endpoints: Endpoints, base: Path) -> AsyncIterator[Shell]:
    bank = policed(base / "bank")
    at = Shell(base, endpoints.nats_url, bank)
    code, _, told = await at.run(
        "approvals", "keygen", "ann.pem", "--name", "ann", "--add", "a.json"
    )
    assert code == 0, told
    environment = {
        "LICTOR_LAYERS": str(bank.root),
        "LICTOR_APPROVERS": str(base / "a.json"),
        "LICTOR_PROOF_WORKERS": "1",
    }
    async with AsyncExitStack() as running:
        client: Client = await connect_nats(endpoints.nats_url, name="test")
        running.push_async_callback(close_nats, client)
        for name in ("prover", "approvals", "runner"):
            await running.enter_async_context(
                service_process(f"lictor_{name}", endpoints, **environment)
            )
        for name in ("prover", "approvals", "runner"):
            await wait_until_ready(client, name)
        yield at


async def test_a_program_is_submitted_and_its_result_is_waited_for(
    clean_infra: Endpoints, tmp_path: Path
) -> None:
    async with shell(clean_infra, tmp_path) as at:
        given = ("--input", "name=ada", "--input", "cents=5")
        process, request_id, _ = await at.submit(RETURNING, *given)
        await at.decide("approve", request_id)
        code, told, progress = await ended(process)
        assert code == 0, (told, progress)
        assert "executed  p.py\n    returned ('receipt-ada-5', 2.5)\n" in told
        assert f"waits for a decision on {request_id}" in progress
        assert "approved by ann" in progress
        assert at.bank.done() == [["pay", "ada", 5]]

        # The same program with other values is another call.
        process, request_id, _ = await at.submit(
            RETURNING, "--input", "name=bob", "--input", "cents=7", "--json"
        )
        await at.decide("approve", request_id)
        code, told, _ = await ended(process)
        assert code == 0, told
        document = json.loads(told)
        assert (document["request_id"], document["outcome"]) == (request_id, "executed")
        assert document["entries"][-1]["result"]["value"] == {
            "tuple": ["receipt-bob-7", {"float": "3.5"}]
        }

        process, request_id, _ = await at.submit(FAILING)
        await at.decide("approve", request_id)
        code, told, _ = await ended(process)
        assert code == 1
        assert "compensated p.py\n    because effect.not_done: " in told

        process, request_id, _ = await at.submit(FAILING)
        await at.decide("reject", request_id)
        code, told, _ = await ended(process)
        assert code == 1
        assert (
            f"not run   p.py\n    request {request_id} is rejected, nothing ran: because." in told
        )


async def test_who_stops_waiting_withdraws_nothing(clean_infra: Endpoints, tmp_path: Path) -> None:
    async with shell(clean_infra, tmp_path) as at:
        process, request_id, _ = await at.submit(FAILING, "--wait-timeout", "0.5")
        code, told, hint = await ended(process)
        assert code == 6, (told, hint)
        assert f"request {request_id} is requested after 0.5 s" in told
        assert f"`lictor runs show {request_id}`" in hint

        process, again, _ = await at.submit(RETURNING, "--input", "name=ada", "--input", "cents=5")
        assert process.stderr is not None
        async with asyncio.timeout(PATIENCE_S):
            # It waits by now.
            while b"waits for a decision" not in await process.stderr.readline():
                pass
        process.send_signal(signal.SIGINT)
        code, _, hint = await ended(process)
        assert code == 130, hint
        assert f"request {again} goes on, and nothing is withdrawn" in hint
        code, shown, _ = await at.run("approvals", "show", again)
        assert (code, "requested" in shown) == (0, True)
        await at.decide("approve", again)
        code, shown, _ = await at.run("runs", "show", again)
        assert (code, "returned   ('receipt-ada-5', 2.5)" in shown) == (0, True), shown


async def test_waiting_is_for_what_is_submitted(clean_infra: Endpoints, tmp_path: Path) -> None:
    at = Shell(tmp_path, clean_infra.nats_url, Bank(tmp_path, tmp_path))
    (tmp_path / "p.py").write_text(FAILING)
    for more in (
        ("--wait",),
        ("--wait-timeout", "1"),
        ("--submit", "--wait", "--wait-timeout", "0"),
    ):
        code, _, told = await at.run("prove", "p.py", *more)
        assert (code, "--wait" in told) == (1, True), told
