"""Where Lictor runs: the address to connect to, and the file in which `lictor up` leaves it."""

import json
import os
import shlex
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, fields
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, cast

from lictor.errors import LictorError
from lictor.fast.broker_address import endpoints_file, registered, running_by, state_folder

DATA_DIR = ".lictor"
ENDPOINTS_FILE = "endpoints.json"
PACKS_DIR = "policy-packs"
AGENTS_DIR = "agents"
_FORMAT = "lictor-endpoints/v1"


@dataclass(frozen=True, kw_only=True)
class Running:
    """What `lictor up` says about itself while it runs."""

    pid: int
    nats_url: str
    redis_url: str
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

    def to_json_value(self) -> dict[str, Any]:
        """The content of the file."""
        return {"format": _FORMAT, **asdict(self)}


@dataclass(frozen=True)
class FoundAddress:
    """An address, and why this one."""

    url: str
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
    if url := os.environ.get("LICTOR_NATS_URL"):
        return FoundAddress(url, "LICTOR_NATS_URL")
    here = _here()
    return _up_or_default(partial(_found_running, here))


def judge_url(explicit: str | None = None) -> FoundAddress:
    """The NATS address for those who guard: a file in a directory that an agent may write to does not choose it."""
    if explicit or os.environ.get("LICTOR_NATS_URL"):
        return nats_url(explicit)
    here = str(_here())
    return _up_or_default(partial(_found_registered, here))


def _found_running(start: Path) -> FoundAddress | None:
    for folder in _upwards(start):
        path = folder / DATA_DIR / ENDPOINTS_FILE
        if running := _read(path):
            source = f"`lictor up` in {running.data_dir}"
            return FoundAddress(running.nats_url, source, partial(_url_in, path))
    return None


def _url_in(path: Path) -> str | None:
    running = _read(path)
    return None if running is None else running.nats_url


def _found_registered(start: str) -> FoundAddress | None:
    found = registered(os.environ, start)
    if found is None:
        return None
    data_dir, url = found
    path = endpoints_file(os.environ, data_dir)
    return FoundAddress(url, f"`lictor up` in {data_dir}", partial(running_by, path))


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
    for folder in _upwards():
        running = _read(folder / DATA_DIR / ENDPOINTS_FILE)
        if running is not None:
            return running
    return None


def packs_directory(start: Path | None = None) -> Path:
    """The policy packs to judge by: one's own, or without any those that come with Lictor."""
    return own_packs(start) or shipped_packs()


def own_packs(start: Path | None = None) -> Path | None:
    """One's own policy packs: `LICTOR_PACKS`, or `policy-packs` in the nearest directory upwards."""
    if given := os.environ.get("LICTOR_PACKS"):
        if not Path(given).is_dir():
            raise LictorError(
                f"LICTOR_PACKS names {given}, which is not a directory; correct it or unset it."
            )
        return Path(given).absolute()
    for folder in _upwards(start):
        if (folder / PACKS_DIR).is_dir():
            return folder / PACKS_DIR
    return None


def changeable_packs() -> Path:
    """One's own policy packs, for whoever is going to change or release them."""
    if found := own_packs():
        return found
    copying = f"cp -rL {shlex.quote(str(shipped_packs()))} {PACKS_DIR}"
    raise LictorError(
        f"No {PACKS_DIR} directory was found in {_here()} or above it, and the packs that come with Lictor are not"
        f" yours to change; copy them with `{copying}`, or set LICTOR_PACKS."
    )


def shipped_packs() -> Path:
    """The packs that come with Lictor."""
    # A link in the source tree, to the one place where they are written; a folder where it is installed.
    return (Path(__file__).parents[1] / "policy_packs").resolve()


def agents_directory(start: Path | None = None) -> Path | None:
    """The agent definitions: `LICTOR_AGENTS`, or `agents` in the nearest directory upwards that has some."""
    if given := os.environ.get("LICTOR_AGENTS"):
        if not Path(given).is_dir():
            raise LictorError(
                f"LICTOR_AGENTS names {given}, which is not a directory; correct it or unset it."
            )
        return Path(given).absolute()
    for folder in _upwards(start):
        if _has_definitions(folder / AGENTS_DIR):
            return folder / AGENTS_DIR
    return None


def _has_definitions(folder: Path) -> bool:
    """Whether it is ours: others call folders `agents` too."""
    try:
        return any(
            b"AgentDefinition" in path.read_bytes()
            for path in folder.iterdir()
            if path.suffix in (".yaml", ".yml", ".json") and path.is_file()
        )
    except OSError:
        return False


def layers_named() -> str | None:
    """The directories of trusted layers that the services read, each in full."""
    named = [part for part in os.environ.get("LICTOR_LAYERS", "").split(os.pathsep) if part]
    return os.pathsep.join(str(Path(part).absolute()) for part in named) or None


def approvers_named() -> str | None:
    """The file of approvers that the services read."""
    named = os.environ.get("LICTOR_APPROVERS")
    return str(Path(named).absolute()) if named else None


def data_directory(packs: Path | None = None, start: Path | None = None) -> Path:
    """Where data goes unless told: the nearest `.lictor` upwards, or beside the packs, or here."""
    for folder in _upwards(start):
        if (folder / DATA_DIR).is_dir():
            return folder / DATA_DIR
    # Packs that were named by LICTOR_PACKS may lie anywhere, also where nobody may write.
    beside = packs is not None and packs.parent in _upwards(start)
    return (packs.parent if packs is not None and beside else start or _here()) / DATA_DIR


def write_running(data_dir: Path, running: Running) -> None:
    """Leave the address where other commands look for it; readers see the whole file or none."""
    replace_file(data_dir / ENDPOINTS_FILE, _content(running))


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


def replace_file(path: Path, content: bytes, *, mode: int = 0o666) -> None:
    """Write a file so that a reader never sees half of it."""
    with replacing(path, mode=mode) as file:
        file.write(content)


@contextmanager
def replacing(path: Path, *, mode: int = 0o666) -> Generator[BinaryIO]:
    """The same, written piece by piece; the file is not touched when anything fails."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        draft.unlink(missing_ok=True)
        draft.touch(mode, exist_ok=False)
        with draft.open("wb") as file:
            yield file
        draft.replace(path)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise LictorError(f"{path} can't be written ({error.strerror}); choose another.") from error
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


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


def _read(path: Path) -> Running | None:
    try:
        # Somebody else's file in a shared parent directory must not choose our broker.
        if path.stat().st_uid != os.getuid():
            return None
        content = cast("dict[str, Any]", json.loads(path.read_bytes()))
        if content.pop("format") != _FORMAT:
            return None
        # A later version may tell more.
        known = {each.name for each in fields(Running)}
        running = Running(**{name: value for name, value in content.items() if name in known})
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None
    return running if running.pid > 0 and is_alive(running.pid) else None


def _here() -> Path:
    try:
        return Path.cwd()
    except FileNotFoundError:
        raise LictorError("The current directory was removed; change to one that exists.") from None


def _upwards(start: Path | None = None) -> Iterator[Path]:
    here = start or _here()
    yield here
    yield from here.parents
