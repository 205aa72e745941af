"""Where Lictor runs: the address to connect to, and the file in which `lictor up` leaves it."""

import fcntl
import json
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields, replace
from functools import partial
from pathlib import Path
from typing import Any, cast

from lictor.errors import LictorError
from lictor.fast.broker_address import (
    DATA_DIR,
    ENDPOINTS_FORMAT,
    NoAccount,
    endpoints_file,
    named_url,
    registered,
    running_by,
    state_folder,
    with_account,
)
from lictor.installation.atomic_files import replace_file
from lictor.installation.directories import here, upwards

ENDPOINTS_FILE = "endpoints.json"
LOCK_FILE = "lock"
_OPERATORS = "ops"


@dataclass(frozen=True, kw_only=True)
class Running:
    """What `lictor up` says about itself while it runs."""

    pid: int
    # They may hold passwords, which a repr must not show.
    nats_url: str = field(repr=False)
    redis_url: str = field(repr=False)
    data_dir: str
    packs: str
    trust_file: str
    logs: str
    http: Mapping[str, str]
    """The HTTP address of each service that has one."""
    agents: str | None = None
    """The directory of agent definitions, where there is one."""
    layers: str | None = None
    """The directories of trusted layers, as LICTOR_LAYERS names them, where it does."""
    approvers: str | None = None
    """The file of approvers, where LICTOR_APPROVERS names one."""
    credentials: str | None = None
    """The folder with the address for each role, where the broker has accounts."""

    def nats_url_of(self, role: str) -> str:
        """The address of NATS, with the password of a role where it needs one."""
        if self.credentials is None:
            return self.nats_url
        try:
            return with_account(self.credentials, role)
        except NoAccount as error:
            raise LictorError(f"{error}.") from None

    def to_json_value(self) -> dict[str, Any]:
        """The content of the file."""
        return {"format": ENDPOINTS_FORMAT, **asdict(self)}

    def shown(self) -> "Running":
        """The same for people to see: addresses without passwords."""
        from lictor_bus.wire.address import shown

        return replace(self, nats_url=shown(self.nats_url), redis_url=shown(self.redis_url))


@dataclass(frozen=True)
class FoundAddress:
    """An address, and why this one."""

    url: str = field(repr=False)
    source: str
    again: Callable[[], str | None] | None = field(default=None, compare=False, repr=False)
    """How to look it up again, where it may change: None while what was found does not run."""

    def now(self) -> str | None:
        """The address at this moment, for whoever connects, or connects again.

        A `lictor up` may have been started again on another port. Only the same one counts: while it does not run
        there is no address, since another process may listen on its old port.
        """
        return self.url if self.again is None else self.again()


def nats_url(explicit: str | None = None) -> FoundAddress:
    """The NATS address: given, from the environment, of a running `lictor up`, or the default."""
    if explicit:
        return FoundAddress(explicit, "given")
    if found := _named():
        return found
    return _up_or_default(partial(_found_running, here()))


def judge_url(explicit: str | None = None, *, runtime: str) -> FoundAddress:
    """The NATS address for those who guard: a file in a directory that an agent may write to does not choose it."""
    if explicit:
        return nats_url(explicit)
    return _named() or _up_or_default(partial(_found_registered, str(here()), runtime))


def _named() -> FoundAddress | None:
    """The address that the environment names."""
    if url := os.environ.get("LICTOR_NATS_URL"):
        return FoundAddress(url, "LICTOR_NATS_URL")
    if path := os.environ.get("LICTOR_NATS_URL_FILE"):
        environment = {"LICTOR_NATS_URL_FILE": path}
        url = named_url(environment)
        if url is None:
            raise LictorError(
                f"LICTOR_NATS_URL_FILE names {path}, which holds no address that can be read;"
                " correct it or unset it."
            )
        return FoundAddress(url, "LICTOR_NATS_URL_FILE", partial(named_url, environment))
    return None


def _found_running(start: Path) -> FoundAddress | None:
    for folder in upwards(start):
        path = folder / DATA_DIR / ENDPOINTS_FILE
        if running := _read(path):
            source = f"`lictor up` in {running.data_dir}"
            url = running.nats_url_of(_OPERATORS)
            return FoundAddress(url, source, partial(_url_in, path))
    return None


def _url_in(path: Path) -> str | None:
    running = _read(path)
    return None if running is None else running.nats_url_of(_OPERATORS)


def _found_registered(start: str, runtime: str) -> FoundAddress | None:
    try:
        found = registered(os.environ, start, runtime)
    except NoAccount as error:
        raise LictorError(f"{error}.") from None
    if found is None:
        return None
    data_dir, url = found
    path = endpoints_file(os.environ, data_dir)
    return FoundAddress(url, f"`lictor up` in {data_dir}", partial(_url_by, path, runtime))


def _url_by(path: str, role: str) -> str | None:
    """None also while the role has no account: it may be given one again."""
    try:
        return running_by(path, role)
    except NoAccount:
        return None


def _up_or_default(search: Callable[[], FoundAddress | None]) -> FoundAddress:
    """The nearest `lictor up`; without one the default, until one is started: who comes first may wait for it."""
    if found := search():
        return found
    from lictor_bus.service.settings import DEFAULT_NATS_URL

    later: list[FoundAddress] = []

    def again() -> str | None:
        if not later and (up := search()):
            later.append(up)
        return later[0].now() if later else DEFAULT_NATS_URL

    return FoundAddress(DEFAULT_NATS_URL, "the default", again)


def redis_url() -> FoundAddress:
    """The Redis address, found in the same order."""
    if url := os.environ.get("LICTOR_REDIS_URL"):
        return FoundAddress(url, "LICTOR_REDIS_URL")
    if running := find_running():
        return FoundAddress(running.redis_url, f"`lictor up` in {running.data_dir}")
    from lictor_bus.service.settings import DEFAULT_REDIS_URL

    return FoundAddress(DEFAULT_REDIS_URL, "the default")


def find_running() -> Running | None:
    """The `lictor up` of the nearest directory upwards that has one alive."""
    for folder in upwards():
        running = _read(folder / DATA_DIR / ENDPOINTS_FILE)
        if running is not None:
            return running
    return None


def write_running(data_dir: Path, running: Running) -> None:
    """Leave the address where other commands look for it; readers see the whole file or none."""
    # For this user only, as readers are: an address may hold a password.
    replace_file(data_dir / ENDPOINTS_FILE, _content(running), mode=0o600)


def remove_running(data_dir: Path) -> None:
    """Take the address away again."""
    (data_dir / ENDPOINTS_FILE).unlink(missing_ok=True)


def registration(data_dir: Path) -> Path:
    """The file in the user's state directory by which those who guard know the `lictor up` of a data directory."""
    return Path(endpoints_file(os.environ, str(data_dir)))


def register(data_dir: Path, running: Running) -> None:
    """Leave the address for those who guard, where no agent's workspace is."""
    path = registration(data_dir)
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise LictorError(
            f"{path.parent} can't be made ({error.strerror}); set XDG_STATE_HOME to another place."
        ) from error
    replace_file(path, _content(running), mode=0o600)


def unregister(data_dir: Path) -> None:
    """Take it away again, and the directories that hold nothing else."""
    path = registration(data_dir)
    path.unlink(missing_ok=True)
    top = Path(state_folder(os.environ)) / "up"
    # A directory that is not empty holds the registration of another.
    with suppress(OSError):
        for folder in path.parents:
            if folder == top:
                return
            folder.rmdir()


def _content(running: Running) -> bytes:
    return (json.dumps(running.to_json_value(), indent=2) + "\n").encode()


def is_alive(pid: int) -> bool:
    """Whether a process with this id exists."""
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True


def in_use(data_dir: Path) -> bool:
    """Whether some process runs servers on this directory."""
    try:
        fd = os.open(data_dir / LOCK_FILE, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(fd)
    return False


def _read(path: Path) -> Running | None:
    try:
        # Somebody else's file in a shared parent directory must not choose our broker.
        if path.stat().st_uid != os.getuid():
            return None
        content = cast("dict[str, Any]", json.loads(path.read_bytes()))
        if content.pop("format") != ENDPOINTS_FORMAT:
            return None
        # A later version may tell more.
        known = {each.name for each in fields(Running)}
        running = Running(**{name: value for name, value in content.items() if name in known})
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None
    return running if running.pid > 0 and is_alive(running.pid) else None
