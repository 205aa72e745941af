"""A small blocking NATS client: connect, ask, be answered. For processes that live for one question.

It works on the C socket directly: the `socket` module takes as long to import as half of Python's own start. Every
failure is `Silence` with a reason, so that an operation ends with a verdict whatever the network does.
"""

import _socket
import time

from lictor.fast import jsontext
from lictor.fast.answer_reader import Silence
from lictor.fast.broker_address import Address, addresses
from lictor.fast.session_operations import Ask, token, unique_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    from lictor.fast.hints import Hints
    from lictor.fast.session_operations import Pause, Waiting

    T = TypeVar("T")

MAX_PAYLOAD = 1024 * 1024
_MOST_LINE = 1024 * 1024
_READ = 64 * 1024
AWAY = "see that the broker and the services run (`lictor doctor`), and try again"


NOT_WAITING = Silence(reason="nobody waits here")
"""The answer to a pause where there is no waiting."""


def refused(subject: str) -> Silence:
    """What it is called when the broker does not permit a question."""
    return Silence(
        reason=f"the broker does not permit this NATS user to ask on {subject}",
        remedy="name the runtime whose user LICTOR_NATS_URL names (LICTOR_RUNTIME), or connect as the user of this one",
    )


class Broken(Exception):
    """The connection can't be used any more; the message says why."""


class Connection:
    """A connection that is made when it is first needed, and made again after it broke."""

    def __init__(
        self,
        where: "str | Callable[[], str | None]",
        *,
        name: str = "lictor",
        connect_timeout_s: float = 2.0,
        until: float = float("inf"),
    ) -> None:
        """`where`: the broker's URL, or how to look it up; None while it has none.

        `until`: when all questions together must have ended, on the monotonic clock.
        """
        self._where = where
        self._name = name
        self._connect_timeout_s = connect_timeout_s
        self._until = until
        self._socket: Any = None
        self._buffer = b""
        self._inbox = ""
        self._asked = 0
        self.max_payload = MAX_PAYLOAD

    def request(self, subject: str, body: bytes, timeout_s: float) -> "bytes | Silence":
        """Ask, and wait that long for the answer, connecting included."""
        deadline = min(time.monotonic() + timeout_s, self._until)
        try:
            if self._socket is not None and self._is_over():
                self.close()
            if self._socket is None:
                self._connect(deadline)
            if len(body) > self.max_payload:
                return Silence(
                    reason=f"the question has {len(body)} bytes, and the broker takes {self.max_payload}",
                    remedy="pass large content through a file, or in smaller parts",
                    too_large=True,
                )
            self._asked += 1
            reply = f"{self._inbox}.{self._asked}"
            head = f"PUB {subject} {reply} {len(body)}\r\n".encode()
            self._send(head + body + b"\r\n", deadline)
            return self._answer(subject, reply.encode(), deadline)
        except TimeoutError:
            self.close()
            return Silence(reason=f"no answer on {subject} in time ({timeout_s:g} s at most)")
        except (Broken, OSError, ValueError) as error:
            self.close()
            return Silence(reason=_told(error), remedy=AWAY)

    def allow_more(self, seconds: float) -> None:
        """Questions may end so much later."""
        self._until += seconds

    def listening(self) -> "Hints":
        """A connection to the same place that only listens; it is made when it is first needed."""
        from lictor.fast.hints import Hints

        return Hints(self._where, name=self._name)

    def close(self) -> None:
        """Give the connection up."""
        if self._socket is not None:
            try:
                self._socket.close()
            finally:
                self._socket = None
                self._buffer = b""

    def __enter__(self) -> "Connection":
        return self

    def __exit__(self, *_problem: object) -> None:
        self.close()

    def _connect(self, deadline: float) -> None:
        """To the first server that takes us."""
        url = self._where if isinstance(self._where, str) else self._where()
        if url is None:
            raise Broken("the `lictor up` that judges is not running")
        failures: list[str] = []
        for address in addresses(url):
            until = min(deadline, time.monotonic() + self._connect_timeout_s)
            try:
                self._socket = _dial(address, until)
                self._greet(address, until)
            except (Broken, OSError) as error:
                self.close()
                failures.append(f"{address.shown}: {_told(error)}")
            else:
                return
        raise Broken(f"the broker can't be reached ({'; '.join(failures)})")

    def _is_over(self) -> bool:
        """Whether the server has ended the connection since the last question, which the next one need not find out."""
        if hasattr(self._socket, "pending"):  # TLS: reading may need to write
            return False
        self._socket.settimeout(0)
        try:
            while len(self._buffer) <= _MOST_LINE:
                data = self._socket.recv(_READ)
                if not data:
                    return True
                self._buffer += data
        except BlockingIOError:
            return False
        except OSError:
            return True
        return False

    def _greet(self, address: Address, deadline: float) -> None:
        line = self._line(deadline)
        if not line.startswith(b"INFO "):
            raise Broken("what answers there is not a NATS server")
        info = _info(line[5:])
        largest = info.get("max_payload")
        if isinstance(largest, int):
            self.max_payload = largest
        if address.tls:
            self._socket = _encrypted(self._socket, address, deadline)
        elif info.get("tls_required") is True:
            raise Broken("the server wants TLS: name it with tls:// in LICTOR_NATS_URL")
        options: dict[str, Any] = {
            "verbose": False,
            "pedantic": False,
            "lang": "python",
            "version": "0.1.0",
            "name": self._name,
            "protocol": 1,
            "headers": True,
            "no_responders": True,
        }
        if address.user is not None and address.password is None:
            options["auth_token"] = address.user
        elif address.user is not None:
            options |= {"user": address.user, "pass": address.password}
        # A role that the address names has inboxes of its own, which nobody else may read.
        prefix = f"_INBOX.{token(_role_of(address.user))}" if address.user else "_INBOX"
        self._inbox = f"{prefix}.{unique_id().replace('-', '')}"
        hello = b"CONNECT " + jsontext.write(options) + f"\r\nSUB {self._inbox}.* 1\r\n".encode()
        self._send(hello, deadline)

    def _answer(self, subject: str, reply: bytes, deadline: float) -> "bytes | Silence":
        """The message on this inbox; those of questions that were given up are passed over."""
        while True:
            line = self._line(deadline)
            word, _, rest = line.partition(b" ")
            if word in (b"MSG", b"HMSG"):
                inbox, in_headers, size = _message_head(rest, with_headers=word == b"HMSG")
                content = self._exactly(size + 2, deadline)[:-2]
                if inbox != reply:
                    continue
                if content[:in_headers].startswith(b"NATS/1.0 503"):
                    return Silence(reason="no service answers this question", remedy=AWAY)
                return content[in_headers:]
            if word == b"PING":
                self._send(b"PONG\r\n", deadline)
            elif word == b"-ERR" and b"permissions violation" in rest.lower():
                if f'"{subject}"'.encode() in rest:
                    return refused(subject)
                # Else about an earlier question, that was given up.
                if b"subscription" in rest.lower():
                    raise Broken("the broker does not permit this NATS user to hear answers")
            elif word == b"-ERR":
                raise Broken(f"the broker refuses: {rest.decode('utf-8', 'replace').strip()}")
            elif word not in (b"PONG", b"+OK", b"INFO"):
                raise Broken("the broker does not speak NATS")

    def _line(self, deadline: float) -> bytes:
        while b"\r\n" not in self._buffer:
            if len(self._buffer) > _MOST_LINE:
                raise Broken("the broker does not speak NATS")
            self._receive(deadline)
        line, _, self._buffer = self._buffer.partition(b"\r\n")
        return line

    def _exactly(self, size: int, deadline: float) -> bytes:
        parts = [self._buffer]
        have = len(self._buffer)
        self._buffer = b""
        while have < size:
            self._receive(deadline)
            parts.append(self._buffer)
            have += len(self._buffer)
            self._buffer = b""
        content = b"".join(parts)
        self._buffer = content[size:]
        return content[:size]

    def _receive(self, deadline: float) -> None:
        self._socket.settimeout(_left(deadline))
        data = self._socket.recv(_READ)
        if not data:
            raise Broken("the broker closed the connection")
        self._buffer += data

    def _send(self, data: bytes, deadline: float) -> None:
        self._socket.settimeout(_left(deadline))
        self._socket.sendall(data)


class Nobody(Connection):
    """Where a connection should go and can't: every question meets silence, with that reason."""

    def __init__(self, reason: str) -> None:
        super().__init__("")
        self._reason = reason

    def request(self, subject: str, body: bytes, timeout_s: float) -> "bytes | Silence":  # noqa: ARG002 -- nobody hears
        """Nothing is asked."""
        return Silence(reason=self._reason, remedy=AWAY)


def run(
    operation: "Waiting[T]",
    connection: Connection,
    pause: "Callable[[Pause], bytes | Silence] | None" = None,
) -> "T":
    """Drive an operation over a connection to its verdict; without `pause`, it does not wait for anybody."""
    try:
        step = next(operation)
        while True:
            if isinstance(step, Ask):
                answer = connection.request(step.subject, step.body, step.timeout_s)
            else:
                answer = NOT_WAITING if pause is None else pause(step)
            step = operation.send(answer)
    except StopIteration as done:
        return done.value


def _info(text: bytes) -> "dict[str, Any]":
    try:
        info = jsontext.parse(text)
    except ValueError:
        info = None
    if not isinstance(info, dict):
        raise Broken("what answers there is not a NATS server")
    return info  # pyright: ignore[reportUnknownVariableType]


def _message_head(rest: bytes, *, with_headers: bool) -> "tuple[bytes, int, int]":
    """Subject, size of the headers, and whole size of a message that follows."""
    subject, _, *last = [*rest.split(), b""]
    digits = last[-3:-1] if with_headers else [b"0", *last[-2:-1]]
    if len(digits) != 2 or not all(each.isdigit() for each in digits):
        raise Broken("the broker does not speak NATS")
    in_headers, size = map(int, digits)
    if in_headers > size:
        raise Broken("the broker does not speak NATS")
    return subject, in_headers, size


def _dial(address: Address, deadline: float) -> "Any":
    """A connected socket; every address of the host is tried."""
    problem: OSError | None = None
    for family, kind, protocol, _, place in _socket.getaddrinfo(
        _ascii(address.host), address.port, 0, _socket.SOCK_STREAM
    ):
        dialled = _socket.socket(family, kind, protocol)
        try:
            dialled.settimeout(_left(deadline))
            dialled.connect(place)
            # A question is small, and waiting for more to send would only delay it.
            dialled.setsockopt(_socket.IPPROTO_TCP, _socket.TCP_NODELAY, 1)
        except OSError as error:
            dialled.close()
            problem = error
        else:
            return dialled
    raise problem or Broken("its name leads nowhere")


def _ascii(host: str) -> "str | bytes":
    """As bytes where it can be: text would load the codec for international names."""
    return host.encode() if host.isascii() else host


def _encrypted(plain: "Any", address: Address, deadline: float) -> "Any":
    import socket
    import ssl

    whole = socket.socket(fileno=plain.detach())
    whole.settimeout(_left(deadline))
    return ssl.create_default_context().wrap_socket(whole, server_hostname=address.host)


def _left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left


def _told(error: Exception) -> str:
    if isinstance(error, ConnectionRefusedError):
        return "connection refused"
    if isinstance(error, TimeoutError):
        return "no answer in time"
    return str(error) or type(error).__name__


def _role_of(user: str) -> str:
    """As `lictor_bus.names.subjects.role_of`: without the generation of its password, such as `.2`."""
    role, dot, number = user.rpartition(".")
    return role if dot and role and number.isascii() and number.isdigit() else user
