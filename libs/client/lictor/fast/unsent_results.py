"""Results of calls that could not be reported yet, kept on disk until they are.

A call that was made and never counted could make a stale check look fresh: an edit that nobody heard of leaves the
tests before it green. So they are reported before anything else is asked, and without them nothing is allowed. Where
it can't be told whether there are some, nothing is allowed either.
"""

import os
import time

from lictor.fast import jsontext
from lictor.fast.broker_address import state_folder
from lictor.fast.frozen_values import Value
from lictor.fast.session_operations import least_said, token

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from lictor.fast.session_operations import Operation, SessionOperations

_CHUNK = 1024 * 1024
_TRIES = 3


class Unusable(Exception):
    """It can't be told what waits, or nothing could be kept; the message says why and what to do."""


class Obstacle(Value):
    """What keeps results from being reported; nothing is allowed until it is gone."""

    text: str
    here: bool
    """Whether it lies on this machine, so that the service can be told of it."""


class KeptResult:
    """A report on disk. Until this process ends or lets it go, others leave it alone."""

    def __init__(self, folder: str, name: str, file: "int | None", *, whole: bool) -> None:
        self._folder = folder
        self.name = name
        self._file = file
        self.whole = whole
        """Whether it can be read again; else it is lost, or only known to have been."""

    def forget(self) -> None:
        """It was reported, or nobody wants it."""
        self._close()
        forget(self._folder, self.name)

    def stay(self) -> None:
        """It has to wait: it shall outlive this machine's next crash."""
        try:
            if self._file is not None:
                os.fsync(self._file)
                _sync_folder(self._folder)
        except OSError:
            pass  # where that can't be asked for, it is as safe as it can be
        self._close()

    def _close(self) -> None:
        if self._file is not None:
            file, self._file = self._file, None
            os.close(file)


class Unsent:
    """One session's results that wait, each a file, in the order in which the calls ended."""

    def __init__(self, folder: str, runtime: str, session_id: str) -> None:
        self._root = folder
        self._folder = f"{folder}/{token(runtime)}.{token(session_id)}"

    def keep(self, report: "Mapping[str, Any]") -> KeptResult:
        """Keep a report; `Kept.whole` tells whether that worked, as far as the call has to be known."""
        name = f"{time.time_ns():020d}-{os.getpid()}.json"
        file = self._created(name)
        if file is None:
            return KeptResult(self._folder, name, None, whole=False)
        _hold(file)
        for form in (report, least_said(report)):
            try:
                _write(file, jsontext.write(form))
            except (OSError, TypeError, ValueError):
                continue
            return KeptResult(self._folder, name, file, whole=True)
        # What stands there now can't be read: whoever finds it knows that a result was lost.
        return KeptResult(self._folder, name, file, whole=False)

    def waiting(self) -> "list[str]":
        """The names of those that wait, oldest first; raises `Unusable`."""
        try:
            names = os.listdir(self._folder)  # noqa: PTH208 -- pathlib costs a hook more than it may take
            if not os.access(self._folder, os.W_OK | os.X_OK):
                raise PermissionError
        except (FileNotFoundError, NotADirectoryError):
            return []
        except (OSError, ValueError):
            raise Unusable(self._told()) from None
        return sorted(name for name in names if name.endswith(".json"))

    def require_room(self) -> None:
        """Raise `Unusable` where nothing could be kept: for processes that end before they could report it again."""
        try:
            os.makedirs(self._root, 0o700, exist_ok=True)  # noqa: PTH103 -- as above
            if os.access(self._root, os.W_OK | os.X_OK):
                return
        except (OSError, ValueError):
            raise Unusable(self._told()) from None
        raise Unusable(self._told())

    def read(self, name: str) -> "Mapping[str, Any] | None":
        """One of them; None when it is gone, or somebody is reporting it for the first time; raises `Unusable`."""
        path = f"{self._folder}/{name}"
        try:
            file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return None
        except OSError:
            raise Unusable(self._told()) from None
        try:
            if _is_held(file) or os.fstat(file).st_nlink == 0:
                return None
            parts: list[bytes] = []
            while chunk := os.read(file, _CHUNK):
                parts.append(chunk)
            report = jsontext.parse(b"".join(parts))
        except (OSError, ValueError):
            report = None
        finally:
            os.close(file)
        if not isinstance(report, dict):
            raise Unusable(
                f"the result of a call was lost: {path} can't be read. Whoever runs the agent has to have the"
                " work checked again (`lictor session reset` forgets what was checked), and then to remove that file"
            )
        return report  # pyright: ignore[reportUnknownVariableType]

    def forget(self, name: str) -> None:
        """It was reported."""
        forget(self._folder, name)

    def _created(self, name: str) -> "int | None":
        for _ in range(_TRIES):
            try:
                os.makedirs(self._folder, 0o700, exist_ok=True)  # noqa: PTH103 -- as above
                return os.open(
                    f"{self._folder}/{name}",
                    os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC,
                    0o600,
                )
            except FileNotFoundError:
                continue  # whoever forgot the last one has just removed the folder
            except (OSError, ValueError):
                return None
        return None

    def _told(self) -> str:
        return (
            f"{self._root} can't be read and written, so results of calls could be lost. Whoever runs the agent"
            " has to mend that, or to set XDG_STATE_HOME to a directory of this user"
        )


def send_waiting(
    session: "SessionOperations",
    unsent: Unsent,
    *,
    but: "frozenset[str]" = frozenset(),
    need_room: bool = False,
) -> "Operation[Obstacle | None]":
    """Report what could not be reported before, `but` these; gives what stands in the way, if anything."""
    try:
        if need_room:
            unsent.require_room()
        for name in unsent.waiting():
            kept = None if name in but else unsent.read(name)
            if kept is None:
                continue
            recorded = yield from session.result(
                kept.get("call_id", ""),
                kept.get("tool", ""),
                kept.get("params"),
                kept.get("outcome", ""),
                error=kept.get("error"),
                late=True,
            )
            # Of a session that never began nobody will ever take anything, nor allow it anything.
            if not recorded.ok and not recorded.unknown:
                text = f"an earlier call is not reported yet: {recorded.text}"
                return Obstacle(text=text, here=False)
            unsent.forget(name)
    except Unusable as error:
        return Obstacle(text=str(error), here=True)
    return None


def forget(folder: str, name: str) -> None:
    """Remove a report, and the folder after the last one."""
    try:
        os.unlink(f"{folder}/{name}")  # noqa: PTH108 -- as above
        os.rmdir(folder)  # noqa: PTH106 -- as above
    except OSError:
        return  # others wait still, or another hook was faster


def unsent_folder(environment: "Mapping[str, str]") -> str:
    """Where results wait."""
    return f"{state_folder(environment)}/unsent"


def unsent_here(runtime: str, session_id: str) -> Unsent:
    """The session's results that wait on this machine."""
    return Unsent(unsent_folder(os.environ), runtime, session_id)


def _write(file: int, content: bytes) -> None:
    os.ftruncate(file, 0)
    os.lseek(file, 0, os.SEEK_SET)
    while content:
        content = content[os.write(file, content) :]


def _sync_folder(folder: str) -> None:
    opened = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def _hold(file: int) -> None:
    """Let others know that somebody is at it; the system forgets it when this process ends, however it ends."""
    from fcntl import LOCK_EX, LOCK_NB, flock

    try:
        flock(file, LOCK_EX | LOCK_NB)
    except OSError:
        return  # a file system without locks: others may report it too, and it counts once


def _is_held(file: int) -> bool:
    from fcntl import LOCK_NB, LOCK_SH, flock

    try:
        flock(file, LOCK_SH | LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False
