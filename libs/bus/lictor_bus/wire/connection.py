"""Connections to NATS that come back by themselves, and say clearly when they can't."""

import asyncio
import hmac
import logging
import re
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, unquote, urlsplit

from nats.aio.client import Client, Srv
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription
from nats.errors import Error as NatsError

from lictor_bus.errors import BrokerUnreachable, BusError, NotAllowed
from lictor_bus.names.streams import check_server_version
from lictor_bus.names.subjects import inboxes
from lictor_bus.wire.address import shown
from lictor_bus.wire.delivery import COPIED

log = logging.getLogger("lictor.bus")

_REFUSED = "authorization violation"


DirectHandler = Callable[[bytes, bytes, bytes, bytes | None], None]
"""Called with subject, reply subject, body and header block of a message, as they came."""

Whereabouts = str | Callable[[], str | None]
"""A broker's address; or how to look it up, where it may change: None while it has none."""


# nats-py gives the broker's text in lower case.
_VIOLATION = re.compile(r'permissions violation for (publish|subscription) to "([^"]+)"')


def url_in_file(path: Path) -> str | None:
    """The address in a file that holds nothing else; None while there is none."""
    try:
        return path.read_text("utf-8").strip() or None
    except (OSError, ValueError):
        return None


class TolerantClient(Client):
    """nats-py with some changes; all reach into it, and tests fail if it changes.

    It ends its read loop on a subject that is not UTF-8; anybody can publish one, so this one goes on. It
    takes every message through a queue and a task, headers parsed; a worker's deliveries skip both. And it
    reconnects for ever to the address it began with; this one looks the address up before each attempt. And it
    closes for good when the server ends its password; this one, if it can look up another, reconnects with that. And it
    only logs that the broker does not permit something, and lets whoever waits for it run out of time; here they get
    NotAllowed at once. And of headers that came twice nobody would know; this one notes it of those that the broker
    gives to a copy. And its flush() overtakes what waits to be sent; this one proves that the broker has it. And who
    closes it while it begins to reconnect is cancelled, as both wait for the end of the same connection; not here.
    """

    def __init__(self, where: Whereabouts = "") -> None:
        super().__init__()
        self._direct: dict[int, DirectHandler] = {}
        self._where = where
        self._found = where if isinstance(where, str) else where()
        self._waiting: dict[str, dict[asyncio.Future[Any], str]] = {}
        self._unheard: set[str] = set()

    @property
    def found(self) -> str | None:
        """The address as it was last looked up."""
        return self._found

    async def _connect_to_server(self, s: Srv) -> None:
        if not isinstance(self._where, str):
            url = self._where()
            if url is None:
                # Not to the last address: whoever listens there now need not be ours.
                raise NatsError("nats: the broker has no address at the moment")
            if url != self._found:
                self._found = url
                self.set_server_pool([each.strip() for each in url.split(",")])
                raise NatsError(f"nats: the broker has moved to {shown(url)}")
        # Permissions may have changed, and what is refused again is said again.
        self._unheard.clear()
        await super()._connect_to_server(s)

    async def _attempt_reconnect(self) -> None:
        # close() cancels this and waits for the same end: without a shield its own wait would be cancelled as well.
        if self._transport is not None:
            self._transport.close()
            with suppress(Exception):  # nats-py waits again, and tells of it
                await asyncio.shield(self._transport.wait_closed())
        await super()._attempt_reconnect()

    def fail_if_refused(self, subject: str, waiting: "asyncio.Future[Any]") -> None:
        """Let a future end with NotAllowed if the broker refuses a message or subscription to a subject."""
        key = subject.lower()
        futures = self._waiting.setdefault(key, {})
        futures[waiting] = subject

        def forget(done: "asyncio.Future[Any]") -> None:
            futures.pop(done, None)
            if not futures and self._waiting.get(key) is futures:
                del self._waiting[key]

        waiting.add_done_callback(forget)

    async def publish(
        self,
        subject: str,
        payload: bytes = b"",
        reply: str = "",
        headers: dict[str, Any] | None = None,
    ) -> None:
        """As nats-py does; a request that goes out by it is told if it may not."""
        prefix = self._resp_sub_prefix
        if reply and prefix and reply.startswith(inbox := prefix.decode()):
            waiting = self._unanswered.get(reply[len(inbox) :])
            if waiting is not None:
                self.fail_if_refused(subject, waiting)
                # Where no answer could be heard, nobody need wait for one.
                if f"{inbox}*".lower() in self._unheard:
                    waiting.set_exception(_not_allowed("subscription", f"{inbox}*"))
        await super().publish(subject, payload, reply, headers)

    async def subscribe_surely(self, subject: str, queue: str = "", **options: Any) -> Subscription:
        """Subscribe, and know that the broker permits it; raises NotAllowed."""
        refused: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.fail_if_refused(subject, refused)
        subscription = await self.subscribe(subject, queue, **options)  # pyright: ignore[reportUnknownMemberType] -- nats-py types it in part
        # The broker answers in order: what it refuses comes before its answer to what is sent later.
        await self.flush()
        if refused.done():
            self._remove_sub(subscription._id)  # pyright: ignore[reportPrivateUsage] -- the broker has none to end
            refused.result()
        refused.cancel()
        return subscription

    async def flush(self, timeout: float = 10) -> None:  # noqa: ASYNC109 -- nats-py has it
        """Wait until the broker has everything that was published and subscribed before."""
        if self.is_connected and self._pending:
            assert self._transport is not None, "a connected client has one"
            waiting, self._pending, self._pending_data_size = self._pending, [], 0
            self._transport.writelines(waiting)
        await super().flush(timeout)  # pyright: ignore[reportArgumentType] -- typed as int, waited for as a float

    @property
    def _unanswered(self) -> "dict[str, asyncio.Future[Any]]":
        return self._resp_map  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType] -- nats-py leaves its Future open

    async def _process_err(self, err_msg: str) -> None:
        if _REFUSED in err_msg.lower() and self.is_connected and not isinstance(self._where, str):
            await self._process_op_err(NatsError("nats: the password is not valid any more"))
            return
        if found := _VIOLATION.search(err_msg):
            what, subject = found.groups()
            waiting = dict(self._waiting.get(subject, {}))
            answers = f"{(self._resp_sub_prefix or b'').decode()}*"
            if what == "subscription" and subject == answers.lower():
                self._unheard.add(subject)
                waiting = dict.fromkeys(self._unanswered.values(), answers)
            for each, spelled in waiting.items():
                if not each.done():
                    each.set_exception(_not_allowed(what, spelled))
        await super()._process_err(err_msg)

    async def subscribe_direct(self, subject: str, handler: DirectHandler) -> Subscription:
        """Subscribe with a plain function that the read loop calls; it must not block."""
        subscription = await self.subscribe(subject, cb=_never)  # pyright: ignore[reportUnknownMemberType] -- nats-py types it in part
        self.hand_over(subscription, handler)
        return subscription

    def hand_over(self, subscription: Subscription, handler: DirectHandler) -> None:
        """From now on call a plain function, as above, instead of what was subscribed with."""
        self._direct[subscription._id] = handler  # pyright: ignore[reportPrivateUsage] -- see above

    async def _process_msg(
        self, sid: int, subject: bytes, reply: bytes, data: bytes, headers: bytes
    ) -> None:
        handler = self._direct.get(sid)
        if handler is None:
            await super()._process_msg(sid, subject, reply, data, headers)
            return
        try:
            handler(subject, reply, data, headers)
        except Exception:
            # Here it would end the read loop, and with it everybody's messages.
            log.exception("nats: a message on %s could not be taken", subject)

    def _remove_sub(self, sid: int, max_msgs: int = 0) -> None:
        super()._remove_sub(sid, max_msgs)
        self._direct.pop(sid, None)

    @staticmethod
    def _parse_header_lines(raw: bytes) -> dict[str, str]:
        """Of a header that is there twice the last counts: what the broker adds to a stored message comes last."""
        headers = Client._parse_header_lines(raw)  # pyright: ignore[reportPrivateUsage] -- see above
        if raw.count(b"Nats-Stream:") > 1:
            headers[COPIED] = "1"
        return headers

    def _build_message(
        self,
        sid: int,
        subject: bytes,
        reply: bytes,
        data: bytes,
        headers: dict[str, str] | None,
    ) -> Msg:
        """Read what can't be decoded as replacement characters; the processors refuse such a subject."""
        try:
            return super()._build_message(sid, subject, reply, data, headers)
        except UnicodeDecodeError:
            return super()._build_message(sid, _readable(subject), _readable(reply), data, headers)


def _not_allowed(what: str, subject: str) -> NotAllowed:
    does = "publish" if what == "publish" else "subscribe"
    return NotAllowed(
        f"the broker does not permit this NATS user to {does} to {subject}; connect as a user that may, or have its"
        " permissions changed"
    )


async def _never(message: Msg) -> None:
    raise AssertionError(f"a direct subscription got {message.subject} the slow way")


def _readable(text: bytes) -> bytes:
    return text.decode("utf-8", "replace").encode()


class SeldomLog:
    """Logs a warning at once, and the same one again only when it has gone on for a while."""

    def __init__(self, every_s: float = 30.0, now: Callable[[], float] = time.monotonic) -> None:
        self._every_s = every_s
        self._now = now
        self._last = ""
        self._next = 0.0
        self._held_back = 0

    def warn(self, text: str) -> None:
        """Log it, or count it for the next time."""
        now = self._now()
        if text == self._last and now < self._next:
            self._held_back += 1
            return
        more = f" ({self._held_back} times more)" if self._held_back and text == self._last else ""
        self._last, self._next, self._held_back = text, now + self._every_s, 0
        log.warning("nats: %s%s", text, more)

    def over(self) -> None:
        """What was warned of is over: the next warning is a new one."""
        self._last = ""


async def connect_nats(where: Whereabouts, *, name: str, timeout_s: float = 5.0) -> TolerantClient:
    """A NATS connection that reconnects for ever; the first connection must succeed in time."""

    # While the server is away every attempt to reconnect fails in the same way.
    warnings = SeldomLog()

    async def on_error(error: Exception) -> None:
        # Before the first connection the caller gets one error, not one line for each attempt.
        if not connected:
            refusals.extend(["no such user or password"] if _REFUSED in str(error).lower() else [])
        else:
            warnings.warn(str(error).removeprefix("nats: ") or type(error).__name__)

    async def on_disconnected() -> None:
        if not client.is_closed and not client.is_draining:
            log.warning("nats: disconnected from %s", shown(client.found or url))

    async def on_reconnected() -> None:
        warnings.over()
        log.info("nats: reconnected")

    connected = False
    refusals: list[str] = []
    client = TolerantClient(where)
    if client.found is None:
        raise BrokerUnreachable(
            "NATS has no address at the moment: no `lictor up` runs there any more."
        )
    url = client.found
    try:
        async with asyncio.timeout(timeout_s):
            await _knock(url)
            await client.connect(
                url,
                name=name,
                connect_timeout=2,
                max_reconnect_attempts=-1,
                reconnect_time_wait=0.25,  # pyright: ignore[reportArgumentType] -- typed as int, slept as a float
                ping_interval=5,
                max_outstanding_pings=2,
                error_cb=on_error,
                disconnected_cb=on_disconnected,
                reconnected_cb=on_reconnected,
                inbox_prefix=inbox_prefix(url),
                pending_size=16 * 1024 * 1024,
                # Every subject is made by lictor_bus.names.subjects.
                skip_subject_validation=True,
            )
    except BaseException as error:
        _drop(client)
        if not isinstance(error, (NatsError, OSError, TimeoutError)):
            raise
        if refusals:
            raise BrokerUnreachable(
                f"NATS at {shown(url)} refuses the connection ({refusals[0]}); "
                "`lictor account list` shows who has an account."
            ) from None
        raise BrokerUnreachable(
            f"NATS does not answer at {shown(url)} ({cause(error)}); "
            "start that server, or name another one in LICTOR_NATS_URL."
        ) from None
    connected = True
    try:
        check_server_version(client)
    except BaseException:
        await close_nats(client)
        raise
    return client


def inbox_prefix(url: str) -> str:
    """Where answers to us go: a user that the address names has inboxes of its own, which nobody else may read."""
    user = _parts(url).username
    return inboxes(unquote(user)) if user else "_INBOX"


def own_message_id(client: Client, message_id: str) -> str:
    """A message id that only we can know, where the address has a password.

    Ids are one namespace for a whole stream: whoever used ours first would have our message dropped as a duplicate.
    """
    url = client.found if isinstance(client, TolerantClient) else None
    password = None if url is None else urlsplit(url).password
    if not password:
        return message_id
    return hmac.digest(password.encode(), message_id.encode(), "sha256").hex()


async def close_nats(client: Client, timeout_s: float = 1.0) -> None:
    """Close a connection in whatever state it is; what a server that is away can't take is left unsent."""
    try:
        async with asyncio.timeout(timeout_s):
            await client.close()
    except (NatsError, OSError, RuntimeError, TimeoutError) as error:
        # RuntimeError: nats-py writes what is pending to the connection it lost, and uvloop refuses.
        log.debug("nats: closed with %s: %s", type(error).__name__, error)
    finally:
        _drop(client)


def _drop(client: Client) -> None:
    """Close what nats-py leaves open when it is interrupted while it connects or closes."""
    transport = client._transport  # pyright: ignore[reportPrivateUsage] -- it offers no other way
    if transport is not None:
        transport.close()


async def _knock(url: str) -> None:
    """Fail at once when nobody listens: nats-py would go on trying until the time is up."""
    address = _parts(url)
    if address.scheme not in {"nats", "tls"} or "," in url:
        return
    _, writer = await asyncio.open_connection(address.hostname, address.port or 4222)
    writer.close()


def _parts(url: str) -> SplitResult:
    parts = urlsplit(url)
    try:
        valid = bool(parts.scheme and parts.hostname) and parts.port != 0
    except ValueError:
        valid = False
    if not valid:
        raise BusError(f"{shown(url)!r} is not an address such as nats://127.0.0.1:4222.")
    return parts


def cause(error: BaseException) -> str:
    """Why a server does not answer, in a few words."""
    if isinstance(error, ConnectionRefusedError):
        return "connection refused"
    return str(error).removeprefix("nats: ") or type(error).__name__
