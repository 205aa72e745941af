"""`lictor http`: the guard for agents that speak HTTP."""

import asyncio
import ipaddress
import os
import secrets
import signal
import socket
from argparse import ArgumentParser, Namespace
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import cast

import uvicorn
from nats.aio.client import Client
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from lictor.errors import LictorError
from lictor.history.own_history import OwnHistory
from lictor.installation.directories import data_directory
from lictor.installation.endpoints import judge_url
from lictor.runtimes.http.application import HttpAdapter
from lictor.runtimes.http.openapi import document
from lictor.runtimes.http.sessions import HttpSessions
from lictor.runtimes.lasting_connection import Reaching
from lictor_cli.main import OK
from lictor_cli.output.terminal import (
    common_arguments,
    port_number,
    quiet_logs,
    say,
    say_json,
    warn,
)
from lictor_local.kept_ports import KeptPorts, any_port

HELP = """\
Answer agents over HTTP until Ctrl-C: may a tool be called, may the agent stop, what should it hear.

Every request needs the header `Authorization: Bearer TOKEN`. The token is LICTOR_HTTP_TOKEN, or one that is made and
kept in the data directory, for this user to read.
"""
TOKEN_FILE = "http-token"
PORTS_FILE = "http-ports.json"
_ATTEMPTS = 10
_SHORTEST_TOKEN = 16


def arguments(parser: ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument(
        "--port",
        metavar="PORT",
        type=port_number,
        help="the port (default: the one that this runtime's adapter had last here, or any free)",
    )
    parser.add_argument(
        "--host",
        metavar="ADDRESS",
        default="127.0.0.1",
        help="where to listen (default: 127.0.0.1); others need LICTOR_HTTP_TOKEN",
    )
    parser.add_argument("--runtime", metavar="NAME", default="http", help="the sessions' runtime")
    parser.add_argument("--definition", metavar="NAME", help="for sessions that name none")
    parser.add_argument(
        "--workspace",
        metavar="DIR",
        type=Path,
        help="look at the agent's files here (default: clients tell what they see)",
    )
    parser.add_argument(
        "--stop-on-silence",
        choices=("block", "allow"),
        help="what it means for a stop that nobody answers (default: as the definition says)",
    )
    common_arguments(parser)


async def run(options: Namespace) -> int:
    """Answer until a signal."""
    quiet_logs()
    if options.workspace is not None and not options.workspace.is_dir():
        raise LictorError(f"{options.workspace} is not a directory; correct --workspace.")
    token, kept_in = _token(options.host)
    listener = (
        _listen_again(options.host, options.runtime)
        if options.port is None
        else listen(options.host, options.port)
    )
    where = judge_url(options.url, runtime=options.runtime)
    reaching = Reaching(where.now, name=f"lictor-http {options.runtime}")
    sessions = HttpSessions(
        reaching,
        runtime=options.runtime,
        definition=options.definition,
        workspace=None if options.workspace is None else str(options.workspace),
        stop_on_silence=options.stop_on_silence,
    )

    def history_of(client: Client) -> OwnHistory:
        return OwnHistory(client, options.runtime)

    server = _Server(
        uvicorn.Config(
            HttpAdapter(sessions, reaching, token, document().encode(), history_of),
            log_level="warning",
            access_log=False,
            lifespan="off",
            http=Impatient,
            ws="none",
            server_header=False,
            timeout_keep_alive=30,
            timeout_graceful_shutdown=5,
        )
    )
    host, port = listener.getsockname()[:2]
    url = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
    if options.json:
        say_json({"what": "http", "url": url, "token": kept_in})
    else:
        say(f"answering at {url}; the token is in {kept_in}. Ctrl-C ends it.")
    try:
        await server.serve(sockets=[listener])
    finally:
        await reaching.close()
    return OK


class Impatient(H11Protocol):
    """A connection that ends when no request comes whole for a while: who sends a head byte by byte holds up nobody.

    It is h11 also where a faster parser is installed: that one takes heads of any size.
    """

    within_s = 10.0
    _last: RequestResponseCycle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore[reportIncompatibleMethodOverride] -- as uvicorn's
        """Somebody has connected."""
        super().connection_made(transport)
        self.loop.call_later(self.within_s, self._look)

    def _look(self) -> None:
        # uvicorn says that this is never None, and begins with None.
        request = cast("RequestResponseCycle | None", self.cycle)
        if request is self._last and (request is None or request.response_complete):
            self.transport.close()
        if not self.transport.is_closing():
            self._last = request
            self.loop.call_later(self.within_s, self._look)


class _Server(uvicorn.Server):
    """uvicorn, which would raise the signal again after it has ended in order."""

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        loop = asyncio.get_running_loop()

        def end() -> None:
            self.should_exit = True

        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, end)
        yield


def _token(host: str) -> tuple[str, str]:
    """The token, and where it is kept."""
    given = os.environ.get("LICTOR_HTTP_TOKEN")
    if given is not None:
        if len(given) < _SHORTEST_TOKEN or not given.isascii() or not given.isprintable():
            raise LictorError(
                f"LICTOR_HTTP_TOKEN must be at least {_SHORTEST_TOKEN} printable ASCII characters."
            )
        return given, "LICTOR_HTTP_TOKEN"
    if not _is_loopback(host):
        raise LictorError(
            f"{host} is open to other machines; set LICTOR_HTTP_TOKEN, or listen on 127.0.0.1."
        )
    file = data_directory() / TOKEN_FILE
    return _kept_token(file), str(file)


def _kept_token(file: Path) -> str:
    """The token in the file; made when there is none, so that a restart keeps it."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        made = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    except FileExistsError:
        return _read_token(file)
    except OSError as error:
        raise LictorError(f"{file} can't be written ({error.strerror}).") from None
    token = secrets.token_urlsafe(32)
    with os.fdopen(made, "w") as opened:
        opened.write(f"{token}\n")
    return token


def _read_token(file: Path) -> str:
    try:
        status = file.lstat()
        token = file.read_text("ascii").strip()
    except (OSError, ValueError) as error:
        raise LictorError(f"{file} can't be read ({error}); remove it.") from None
    if status.st_mode & 0o077 or status.st_uid != os.getuid() or len(token) < _SHORTEST_TOKEN:
        raise LictorError(f"{file} is open to others, or holds no token; remove it.")
    return token


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _listen_again(host: str, runtime: str) -> socket.socket:
    """Where the adapter of this runtime listened last, so that agents find it; where it can, when that is taken."""
    kept = KeptPorts(data_directory(), PORTS_FILE)
    last = kept.last(runtime)
    for attempt in range(_ATTEMPTS):
        port = last if last and attempt == 0 else any_port()
        try:
            listener = listen(host, port)
        except LictorError:
            if attempt == _ATTEMPTS - 1:
                raise
            continue
        if last not in (None, port):
            warn(f"port {last} is taken by another process, so it has a new one")
        # Where nothing can be kept, it goes on: only the next start has another port then.
        with suppress(LictorError):
            kept.keep(runtime, port)
        return listener
    raise AssertionError("the last attempt returns or raises")


def listen(host: str, port: int) -> socket.socket:
    """A socket that takes connections there."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio sends small answers at once only where the protocol is named: else each waits 40 ms for the client's ACK.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(128)
    except OSError as error:
        listener.close()
        raise LictorError(
            f"can't listen on {host}:{port} ({error.strerror}); choose another."
        ) from None
    return listener
