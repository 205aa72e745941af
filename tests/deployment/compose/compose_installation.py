"""What docker-compose.yml runs, in containers of its own project, on a copy of the files that it needs."""

import asyncio
import json
import os
import shutil
import subprocess
import sysconfig
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml
from stand_ins import docker

ROOT = Path(__file__).parents[3]
PROJECT = "lictor-compose-test"
IMAGE = f"{PROJECT}:local"
RUNTIME = "my-runtime"
_FILES = (".dockerignore", "LICENSE", "docker-compose.yml")
_FOLDERS = ("deploy", "examples", "libs", "policy-packs", "services")
_LICTOR = Path(sysconfig.get_path("scripts")) / "lictor"
_HEALTHY_WITHIN_S = 300.0
_LOOK_S = 0.5
_COMMAND_WITHIN_S = 900.0


class Installation:
    """An installation with Compose, as somebody has it who follows the documentation."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.secrets = folder / "deploy" / "secrets"
        compose: dict[str, Any] = yaml.safe_load((folder / "docker-compose.yml").read_text())
        self.running = [
            name for name, service in compose["services"].items() if "healthcheck" in service
        ]

    def compose(self, *arguments: str | Path) -> str:
        """What a command of Compose prints."""
        return self.run("docker", "compose", "--project-name", PROJECT, *arguments)

    def lictor(self, *arguments: str | Path, role: str | None = None) -> str:
        """What a `lictor` command on the host prints, which has to succeed."""
        named = {} if role is None else {"LICTOR_NATS_URL_FILE": str(self.credential(role))}
        return self.run(_LICTOR, *arguments, **named)

    def run(self, *command: str | Path, **environment: str) -> str:
        """What a command in the installation's folder prints, which has to succeed."""
        done = subprocess.run(
            command,
            cwd=self.folder,
            # Nothing of this machine's own Lictor, but its engine.
            env={
                **{name: it for name, it in os.environ.items() if not name.startswith("LICTOR_")},
                "LICTOR": str(_LICTOR),
                **environment,
            },
            check=False,
            capture_output=True,
            timeout=_COMMAND_WITHIN_S,
        )
        told = done.stdout.decode()
        assert done.returncode == 0, f"{command}: {told[-4000:]}{done.stderr.decode()[-4000:]}"
        return told

    def credential(self, role: str) -> Path:
        """The file with a role's address."""
        return self.secrets / "credentials" / role / "nats.url"

    def url(self, role: str) -> str:
        """A role's address, from the host."""
        return self.credential(role).read_text().strip().replace("@nats:", "@127.0.0.1:")

    def up(self) -> None:
        """Start what does not run, until all is healthy."""
        self.compose("up", "--detach", "--no-build")
        self.until_healthy()

    def until_healthy(self) -> None:
        """Wait until every container says that it is healthy."""
        deadline = time.monotonic() + _HEALTHY_WITHIN_S
        while unhealthy := self.unhealthy():
            assert time.monotonic() < deadline, (
                f"{unhealthy}\n{self.compose('logs', '--tail', '30')}"
            )
            time.sleep(_LOOK_S)

    def unhealthy(self) -> dict[str, str]:
        """The containers that are not healthy, and what they are."""
        states = {it["Service"]: it for it in self.containers()}
        return {
            name: states[name]["Health"] or states[name]["State"] if name in states else "missing"
            for name in self.running
            if states.get(name, {}).get("Health") != "healthy"
        }

    def containers(self) -> list[dict[str, Any]]:
        """What Compose says of each container, of those that ended too."""
        told = self.compose("ps", "--all", "--format", "json")
        return [json.loads(line) for line in told.splitlines()]

    def inspected(self, service: str) -> dict[str, Any]:
        """What the engine says of a service's container."""
        return json.loads(docker("inspect", self.compose("ps", "--quiet", service).strip()))[0]

    def trust_file(self, folder: Path) -> Path:
        """A copy of the trust file that the sealer publishes."""
        self.compose("cp", "sealer:/var/lib/lictor-trust/trust.json", folder / "trust.json")
        return folder / "trust.json"

    def reload(self) -> None:
        """Have NATS read its accounts again, as `lictor account` says."""
        self.compose("kill", "--signal", "HUP", "nats")


async def in_thread(done: Any, *arguments: Any) -> Any:
    """A command, while clients of this process go on."""
    return await asyncio.to_thread(done, *arguments)


@contextmanager
def installed(folder: Path) -> Generator[Installation]:
    """An installation that is built and has secrets; whatever is left of it is removed in the end."""
    for name in _FILES:
        shutil.copy2(ROOT / name, folder / name)
    unwanted = shutil.ignore_patterns("__pycache__", "tests", "secrets", "users.acl", "*.egg-info")
    for name in _FOLDERS:
        shutil.copytree(ROOT / name, folder / name, symlinks=True, ignore=unwanted)
    # An image that somebody has built for themselves stays theirs.
    compose = folder / "docker-compose.yml"
    compose.write_text(compose.read_text().replace("image: lictor:local", f"image: {IMAGE}"))
    installation = Installation(folder)
    installation.run("deploy/make-secrets", RUNTIME)
    # An earlier run that was killed may have left some.
    installation.compose("down", "--volumes", "--remove-orphans")
    installation.compose("build")
    try:
        yield installation
    finally:
        installation.compose("down", "--volumes", "--remove-orphans")
        docker("rmi", IMAGE)
