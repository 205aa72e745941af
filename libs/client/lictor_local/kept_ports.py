"""The ports of a data directory: kept over restarts, so that whoever is connected finds the same address again."""

import json
import random
import socket
from collections.abc import Container
from pathlib import Path
from typing import cast

from lictor.installation.atomic_files import replace_file

HOST = "127.0.0.1"
# Below the range the kernel gives to outgoing connections. On a port inside that range a client
# that keeps reconnecting to a stopped server can connect to itself and so take the port away.
_FREE_PORTS = range(20_000, 32_000)
_FILE = "ports.json"
_ATTEMPTS = 50


class KeptPorts:
    """Which port each server and service of a data directory had last; `file` is for whoever does not hold its lock."""

    def __init__(self, data_dir: Path, file: str = _FILE) -> None:
        self._path = data_dir / file
        self._ports = _read(self._path)

    def last(self, name: str) -> int | None:
        """The port that it had, if it ever ran here."""
        return self._ports.get(name)

    def keep(self, name: str, port: int) -> None:
        """Remember where it listens now."""
        if self._ports.get(name) != port:
            self._ports[name] = port
            replace_file(self._path, (json.dumps(self._ports, indent=2) + "\n").encode())


def any_port() -> int:
    """A port that is likely to be free."""
    return random.choice(_FREE_PORTS)


def is_free(port: int) -> bool:
    """Whether a server could listen there now."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True


def free_port(unlike: Container[int | None]) -> int:
    """A free port that nobody of these has."""
    for _ in range(_ATTEMPTS):
        port = any_port()
        if port not in unlike and is_free(port):
            return port
    raise OSError(f"no free port was found on {HOST} from {_FREE_PORTS[0]} to {_FREE_PORTS[-1]}")


def _read(path: Path) -> dict[str, int]:
    """What is kept; a file that can't be used counts for nothing, since any port does."""
    try:
        content = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    if not isinstance(content, dict):
        return {}
    ports = cast("dict[str, object]", content)
    return {
        name: port
        for name, port in ports.items()
        if isinstance(port, int) and not isinstance(port, bool) and 0 < port < 65_536
    }
