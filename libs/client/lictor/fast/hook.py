"""`lictor hook`: one event of Claude Code on stdin, the answer on stdout.

Claude Code takes a hook that crashes, or takes too long, for one that has nothing against the call. So this process
ends in one of two ways only, and in time: with JSON on stdout and code 0, or with a reason on stderr and code 2, which
blocks. A stop is never blocked for ever.
"""

import _thread
import os
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal as _signal
    from collections.abc import Callable, Mapping, Sequence

    from lictor.fast.answer_reader import Silence
    from lictor.fast.claude_events import HookEvent, HookReply
    from lictor.fast.hints import Hints
    from lictor.fast.nats_wire import Connection
    from lictor.fast.session_operations import Pause
    from lictor.fast.unsent_results import KeptResult
else:
    # What is behind `signal`, which imports enum.
    import _signal

BLOCK = 2
TIMEOUT_S = 5.0
# Below the time after which Claude Code gives the hook up, as `lictor hook install` sets it, and lets the call go on.
MAX_TIMEOUT_S = 25.0
ASK_S = 3.0
"""How long a call waits for a person, unless LICTOR_HOOK_ASK_S says another time."""
MAX_INPUT = 32 * 1024 * 1024
_CHUNK = 1024 * 1024
# Some calls can't be interrupted (a name server, a file system that hangs): so long after the time was up, the process
# is ended beside them.
_GRACE_S = 1.0
_ENDS = (_signal.SIGALRM, _signal.SIGTERM, _signal.SIGHUP, _signal.SIGINT)
_STOPS = ("Stop", "SubagentStop")
_OPTIONS = ("--definition", "--event", "--url", "--endpoints", "--ask-s")
_USAGE = (
    "usage: lictor hook [--definition NAME] [--event NAME] [--url URL | --endpoints FILE] [--ask-s SECONDS]"
    " < event.json (see `lictor hook --help`)"
)
_STOPS_UNJUDGED = (
    b'{"systemMessage":"Lictor could not judge this stop, and lets it pass: see stderr"}\n'
)


class TimeUp(BaseException):
    """The answer is due now, or the process is being ended; nothing but the end of this module may catch it."""


class _Known:
    """What is known of the event so far: whoever has to answer, and whenever, answers from it."""

    def __init__(self, expected: str) -> None:
        self.expected = expected
        """The event's name as the command says it; empty where it doesn't."""
        self.read: list[bytes] = []
        self.event: HookEvent | None = None
        self.kept: KeptResult | None = None
        self.telling = _thread.allocate_lock()
        """Held by whoever answers: there is one answer."""
        self.limit = 0.0
        """When the answer is due, on the monotonic clock."""

    def allow_more(self, seconds: float) -> None:
        """The answer is due so much later, because a person is waited for."""
        self.limit += seconds
        _signal.setitimer(_signal.ITIMER_REAL, max(self.limit - time.monotonic(), 0.001))

    @property
    def unheard(self) -> int:
        """The exit code where no answer can be given: 2, but not for a stop that may have been blocked already."""
        if self.event is not None:
            return 0 if self.event.name in _STOPS and self.event.continued else BLOCK
        return 0 if self.expected in _STOPS and not self._says_first_stop() else BLOCK

    def unjudged(self, problem: str) -> "HookReply":
        """The answer when something went wrong."""
        from lictor.fast.claude_events import HookEvent, unjudged

        event = self.event
        if event is None and self.expected:
            continued = not self._says_first_stop()
            fields = {"hook_event_name": self.expected, "stop_hook_active": continued}
            event = HookEvent(fields=fields)
        return unjudged(event, problem, self.kept)

    def _says_first_stop(self) -> bool:
        """Whether an event that could not be read says all the same that no stop was blocked before."""
        rest = b"".join(self.read).partition(b'"stop_hook_active"')[2]
        return rest.lstrip(b" \t\r\n:").startswith(b"false")


def main(arguments: "Sequence[str]" = ()) -> int:
    """Answer one event, and return the exit code: 0 after an answer, else 2."""
    known = _Known(_event_name(arguments))
    problem, answered = "", None
    try:
        answered = _answer(arguments, known)
        # From here on a signal must not cut the answer in two.
        _let_signals_pass()
    except BaseException as error:  # noqa: BLE001 -- any way out but these two would let the call go on
        problem = f"{type(error).__name__}: {error}"
    known.telling.acquire()
    if answered is None:
        return _refuse(problem, known)
    try:
        return _tell(answered, known)
    except BaseException as error:  # noqa: BLE001 -- as above
        return _refuse(f"{type(error).__name__}: {error}", known)


def _answer(arguments: "Sequence[str]", known: _Known) -> "HookReply":
    timeout_s = _timeout_s(os.environ)
    try:
        _end_in_time(timeout_s, known)
        options = _options(arguments)
        at_terminal = os.isatty(0)
        event = None if at_terminal else _read(known)
        if options is None or event is None:
            from lictor.fast.claude_events import HookReply

            stops = event is not None and event.name in _STOPS
            return known.unjudged(_USAGE) if stops else HookReply(output=None, error=_USAGE)
        return _judge(event, known, options, timeout_s)
    except TimeUp as error:
        return known.unjudged(str(error))
    except Exception as error:  # noqa: BLE001 -- whatever it was, it has to be answered
        return known.unjudged(f"{type(error).__name__}: {error}")


def _read(known: _Known) -> "HookEvent":
    """Read the event; what it tells of a call that was made is kept before anything else is done."""
    size = 0
    while chunk := os.read(0, _CHUNK):
        known.read.append(chunk)
        size += len(chunk)
        if size > MAX_INPUT:
            raise ValueError(f"the event on stdin has more than {MAX_INPUT} bytes")
    # Loaded after that: where it can't be loaded, it is known what came.
    from lictor.fast.claude_events import HookEvent, keep_first, unsent_of
    from lictor.fast.session_operations import unique_id

    event = HookEvent(fields=_fields(b"".join(known.read)), spare_id=unique_id())
    if not _is_for(known.expected, event.name):
        # Whoever registered the command takes the answer for one to that event: as `{}`, it would let a call go on.
        raise ValueError(
            f"the event says {event.name[:80]!r}, and the hook is for {known.expected}"
        )
    known.event = event
    known.kept = keep_first(event, unsent_of(event, os.environ))
    return event


def _is_for(expected: str, name: str) -> bool:
    """Whether the command was registered for such an event; either stop is a stop."""
    return expected in ("", name) or (expected in _STOPS and name in _STOPS)


def _judge(
    event: "HookEvent", known: _Known, options: "Mapping[str, str]", timeout_s: float
) -> "HookReply":
    from lictor.fast.claude_events import reply, session_of, unsent_of, workspace_root
    from lictor.fast.nats_wire import run

    here = os.getcwd()  # noqa: PTH109 -- pathlib costs more than this process may take
    session = session_of(event, os.environ, here, options.get("--definition"))
    until = time.monotonic() + timeout_s * 0.9
    ask_s = _ask_s(os.environ, options, timeout_s)
    with _connection(options, workspace_root(event, os.environ, here), until) as connection:
        answer = reply(event, session, unsent_of(event, os.environ), known.kept, ask_s)
        return run(answer, connection, _pausing(connection, known, ask_s))


def _pausing(
    connection: "Connection", known: _Known, ask_s: float
) -> "Callable[[Pause], bytes | Silence]":
    """Waits for a person. Only who does gets the time for it: all else is due as ever."""
    hints: list[Hints] = []

    def pause(wanted: "Pause") -> bytes:
        if not hints:
            hints.append(connection.listening())
            known.allow_more(ask_s)
            connection.allow_more(ask_s)
        hints[0].heard(wanted.heard_on, wanted.seconds)
        return b""

    return pause


def _connection(options: "Mapping[str, str]", root: str, until: float) -> "Connection":
    from lictor.fast.broker_address import NotRunning, nats_url, pinned_url
    from lictor.fast.claude_events import runtime_of
    from lictor.fast.nats_wire import Connection, Nobody

    runtime = runtime_of(os.environ)
    url, endpoints = options.get("--url", ""), options.get("--endpoints", "")
    try:
        url = (
            pinned_url(os.environ, url, endpoints, runtime)
            if url or endpoints
            else nats_url(os.environ, root, runtime)
        )
    except NotRunning as error:
        # As with a broker that does not answer: what waits to be reported goes on waiting.
        return Nobody(str(error))
    return Connection(url, name="lictor-hook", until=until)


def _fields(data: bytes) -> "Mapping[str, object]":
    from lictor.fast import jsontext

    try:
        fields = jsontext.parse(data)
    except ValueError as error:
        raise ValueError(f"what stands on stdin is not JSON ({error})") from None
    if not isinstance(fields, dict):
        raise ValueError("what stands on stdin is not a JSON object")
    return fields  # pyright: ignore[reportUnknownVariableType]


def _tell(answered: "HookReply", known: _Known) -> int:
    from lictor.fast import jsontext

    if answered.output is None:
        return _refuse(answered.error, known)
    left = jsontext.write(answered.output) + b"\n"
    while left:
        left = left[os.write(1, left) :]
    return answered.exit_code


def _refuse(reason: str, known: _Known) -> int:
    code = known.unheard
    try:
        os.write(2, f"lictor hook: {reason}\n".encode("utf-8", "replace"))
        if code == 0:
            os.write(1, _STOPS_UNJUDGED)
    except OSError:
        # Nobody reads the reason; the code says enough.
        return code
    return code


def _options(arguments: "Sequence[str]") -> "dict[str, str] | None":
    """The options by name; None for some that there are not, or that come twice, without a value, or exclude others."""
    options = dict(zip(arguments[::2], arguments[1::2], strict=False))
    if len(options) * 2 != len(arguments) or not all(options.values()):
        return None
    if "--url" in options and "--endpoints" in options:
        return None
    return options if all(name in _OPTIONS for name in options) else None


def _event_name(arguments: "Sequence[str]") -> str:
    """The event as the command names it, also where another option is wrong."""
    found = [at for at, word in enumerate(arguments[:-1]) if word == "--event"]
    return arguments[found[0] + 1] if found else ""


def _timeout_s(environment: "Mapping[str, str]") -> float:
    try:
        wanted = float(environment.get("LICTOR_HOOK_TIMEOUT_S") or TIMEOUT_S)
    except ValueError:
        return TIMEOUT_S
    return min(wanted, MAX_TIMEOUT_S) if wanted > 0 else TIMEOUT_S


def _ask_s(
    environment: "Mapping[str, str]", options: "Mapping[str, str]", timeout_s: float
) -> float:
    """How long to wait for a person: as long as the command allows, because the settings give it that much longer.

    What the environment says may only be within that: past its own limit, Claude Code lets the call go on.
    """
    granted = _seconds(options.get("--ask-s"), 0.0)
    wanted = _seconds(environment.get("LICTOR_HOOK_ASK_S"), max(ASK_S, granted))
    return min(wanted, MAX_TIMEOUT_S - timeout_s + granted)


def _seconds(text: "str | None", default: float) -> float:
    try:
        found = default if text is None else float(text)
    except ValueError:
        return default
    return found if 0 <= found < float("inf") else default


def _end_in_time(seconds: float, known: _Known) -> None:
    """Raise in this thread when the time is up; end the process from beside it when even that is not heard."""

    begun = time.monotonic()
    known.limit = begun + seconds

    def too_late() -> str:
        return f"there was no answer within {known.limit - begun:g} s"

    def on_signal(number: int, _frame: object) -> None:
        if number == _signal.SIGALRM:
            raise TimeUp(too_late())
        raise TimeUp(f"the hook was ended by signal {int(number)}")

    for number in _ENDS:
        _signal.signal(number, on_signal)
    _signal.setitimer(_signal.ITIMER_REAL, seconds)

    def watch() -> None:
        # Signals are for the thread that works: a call that waits there must be interrupted by them.
        _signal.pthread_sigmask(_signal.SIG_BLOCK, _ENDS)
        while (left := known.limit + _GRACE_S - time.monotonic()) > 0:
            time.sleep(left)
        _end_now(known, too_late())

    _thread.start_new_thread(watch, ())


def _end_now(known: _Known, problem: str) -> None:
    """Answer and end the process, whatever its other thread is stuck in."""

    def leave() -> None:
        # The answer may get stuck too.
        time.sleep(_GRACE_S)
        os._exit(known.unheard)

    _thread.start_new_thread(leave, ())
    code = known.unheard
    if known.telling.acquire(blocking=False):
        try:
            code = _tell(known.unjudged(problem), known)
        except BaseException:  # noqa: BLE001 -- there is nobody left to answer
            code = known.unheard
    os._exit(code)


def _let_signals_pass() -> None:
    for number in _ENDS:
        _signal.signal(number, _signal.SIG_IGN)
