"""One service as a child process: start it, ask whether it is ready, end it, start it again."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from nats.aio.client import Client

from lictor.errors import LictorError
from lictor_bus.errors import BusError
from lictor_bus.service.health import ask_health
from lictor_local.server_process import POLL_SECONDS, tied_to_this_process, writable

SERVICES: Mapping[str, str] = {
    "policy-evaluator": "lictor_policy_evaluator",
    "sealer": "lictor_sealer",
    "feedback": "lictor_feedback",
    "rehearser": "lictor_rehearser",
    "prover": "lictor_prover",
    "approvals": "lictor_approvals",
    "runner": "lictor_runner",
    "supervisor": "lictor_supervisor",
}
"""Every service, and the module it runs as."""

_ASK_S = 1.0
_START_SECONDS = 60.0
_LOG_LINES = 12


@dataclass(frozen=True, kw_only=True)
class ServiceCommand:
    """What a service needs to run."""

    name: str
    module: str
    environment: Mapping[str, str]
    log_path: Path


def how_it_ended(code: int) -> str:
    """An exit code in words."""
    return f"exit code {code}" if code >= 0 else f"signal {signal.Signals(-code).name}"


class ServiceProcess:
    """One child, which dies with this process and writes its log to a file."""

    def __init__(self, spec: ServiceCommand) -> None:
        self.spec = spec
        self._process: subprocess.Popen[bytes] | None = None
        self._log_start = 0
        self._started = 0.0

    @property
    def pid(self) -> int | None:
        """The process id while it runs."""
        return None if self._process is None else self._process.pid

    @property
    def exit_code(self) -> int | None:
        """How it ended; None while it runs."""
        return None if self._process is None else self._process.poll()

    @property
    def age_s(self) -> float:
        """How long ago it was started."""
        return time.monotonic() - self._started

    def start(self, lock_fd: int) -> None:
        """Start the child, which keeps the data directory taken until it is gone; it is not ready yet."""
        with writable(self.spec.log_path.parent):
            self.spec.log_path.parent.mkdir(parents=True, exist_ok=True)
            log = self.spec.log_path.open("ab")
        with log:
            self._log_start = log.tell()
            self._process = subprocess.Popen(
                # -P: a file in the current directory must not stand in for a module.
                tied_to_this_process([sys.executable, "-P", "-m", self.spec.module]),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**os.environ, **self.spec.environment},
                # Its port, too, is free again when the next one has the lock.
                pass_fds=(lock_fd,),
                # The terminal's Ctrl-C goes to the parent, which stops the children in order.
                process_group=0,
            )
        self._started = time.monotonic()

    async def ready(self, client: Client) -> None:
        """Wait until the service says that it can work; raises with its log when it can't."""
        deadline = time.monotonic() + _START_SECONDS
        detail = "it does not answer"
        while self.exit_code is None and time.monotonic() < deadline:
            try:
                health = await ask_health(client, self.spec.name, timeout_s=_ASK_S)
            except BusError:
                await asyncio.sleep(POLL_SECONDS)
                continue
            if health.ready:
                return
            detail = health.detail or detail
            await asyncio.sleep(POLL_SECONDS)
        code = self.exit_code
        what = (
            f"was not ready within {_START_SECONDS:.0f} s ({detail})"
            if code is None
            else f"ended at start with {how_it_ended(code)}"
        )
        raise LictorError(
            f"{self.spec.name} {what}; its log {self.spec.log_path} ends with: {self.log_tail()}"
        )

    def log_tail(self) -> str:
        """The last lines that this run of the child wrote."""
        try:
            with self.spec.log_path.open("rb") as log:
                log.seek(self._log_start)
                text = log.read().decode("utf-8", "replace")
        except OSError:
            return "(it can't be read)"
        return "\n  ".join(["", *text.strip().splitlines()[-_LOG_LINES:]]) or "(nothing)"

    def ask_to_stop(self) -> None:
        """Tell the child to finish what it has in hand and leave."""
        self._signal(signal.SIGTERM)

    def kill(self) -> None:
        """End the child now; safe, because what it had not committed is delivered again."""
        self._signal(signal.SIGKILL)

    async def ended(self, look_s: float = POLL_SECONDS) -> None:
        """Wait until the child is gone."""
        # Nothing sets an event when a child ends that may have been started in another event loop.
        while self._process is not None and self._process.poll() is None:  # noqa: ASYNC110
            await asyncio.sleep(look_s)

    def _signal(self, which: signal.Signals) -> None:
        if self._process is not None:
            self._process.send_signal(which)
