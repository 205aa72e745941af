"""Where the broker of those who judge is, for a process that must start fast.

Whoever chooses the broker chooses the judge. So nothing that lies in a workspace does: an agent writes there, and a
clone brings what it likes. A running `lictor up` is known by what it left in its user's state directory.
"""

import os

from lictor.fast import jsontext
from lictor.fast.frozen_values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

DEFAULT_URL = "nats://127.0.0.1:4222"
DATA_DIR = ".lictor"
_WRITABLE_BY_OTHERS = 0o022
ENDPOINTS_FORMAT = "lictor-endpoints/v1"


class Address(Value):
    """A server, and who we are to it."""

    host: str
    port: int
    tls: bool = False
    user: "str | None" = None
    password: "str | None" = None

    def __repr__(self) -> str:
        return f"Address({self.shown})"

    @property
    def shown(self) -> str:
        """Without user and password."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'tls' if self.tls else 'nats'}://{host}:{self.port}"


class NotRunning(Exception):
    """Where a `lictor up` should be, there is none; the message says where."""


class NoAccount(NotRunning):
    """The `lictor up` has accounts, and none for who asks; the message says how to add one."""


def pinned_url(environment: "Mapping[str, str]", url: str, endpoints: str, role: str) -> str:
    """The broker's URL where the place was chosen before: no search, and nothing of the environment but the user."""
    if not url:
        found = running_by(endpoints, role)
        if found is None:
            raise NotRunning(f"no `lictor up` runs that has left its address in {endpoints}")
        return found
    given = named_url(environment)
    # Settings are no place for a password, so it may come from the environment, for the same servers.
    return given if given and _shown(given) == _shown(url) else url


def nats_url(environment: "Mapping[str, str]", folder: str, role: str) -> str:
    """The broker's URL: from the environment, of the nearest running `lictor up` upwards, or the default."""
    given = named_url(environment)
    if given:
        return given
    found = registered(environment, folder, role)
    return DEFAULT_URL if found is None else found[1]


def named_url(environment: "Mapping[str, str]") -> "str | None":
    """The broker's URL that the environment names, or the file that it names holds."""
    given = environment.get("LICTOR_NATS_URL")
    if given:
        return given
    path = environment.get("LICTOR_NATS_URL_FILE")
    return url_in(path) if path else None


def url_in(path: str) -> "str | None":
    """The URL in a file that holds nothing else; None while there is none."""
    try:
        file = os.open(path, os.O_RDONLY)
    except (OSError, ValueError):
        return None
    try:
        return os.read(file, 64 * 1024).decode().strip() or None
    except (OSError, ValueError):
        return None
    finally:
        os.close(file)


def credential_file(folder: str, role: str) -> str:
    """Where the broker's URL for a role is kept: a service, `ops`, or a runtime."""
    from lictor.fast.session_operations import token

    # In a folder of its own, which can be mounted where the role runs: a file that is mounted alone stays the old one
    # when it is replaced.
    return f"{folder}/{token(role)}/nats.url"


def registered(
    environment: "Mapping[str, str]", folder: str, role: str
) -> "tuple[str, str] | None":
    """The nearest running `lictor up` of this user upwards: its data directory, and its broker's URL for a role."""
    try:
        folder = os.path.realpath(folder)
    except (OSError, ValueError):
        return None
    while True:
        data_dir = f"{folder}/{DATA_DIR}"
        url = running_by(endpoints_file(environment, data_dir), role)
        if url is not None:
            return data_dir, url
        above = os.path.dirname(folder)  # noqa: PTH120 -- pathlib costs a hook more than it may take
        if above == folder:
            return None
        folder = above


def endpoints_file(environment: "Mapping[str, str]", data_dir: str) -> str:
    """Where the `lictor up` of a data directory leaves its address for those who guard."""
    parent, name = os.path.split(os.path.abspath(data_dir))  # noqa: PTH100 -- as above
    # The directory's own links are not followed: one in a workspace could lead to the data of another.
    return f"{state_folder(environment)}/up{os.path.realpath(parent)}/{name}/endpoints.json"


def state_folder(environment: "Mapping[str, str]") -> str:
    """What Lictor keeps for this user, outside of any workspace; raises `NoStateDirectory`."""
    state = environment.get("XDG_STATE_HOME", "")
    if not state.startswith("/"):
        state = f"{os.path.expanduser('~')}/.local/state"  # noqa: PTH111 -- as above
    if not state.startswith("/"):
        # Relative to where we are, that is to the workspace.
        from lictor.fast.errors import NoStateDirectory

        raise NoStateDirectory(
            "this user has no home directory: set XDG_STATE_HOME to an absolute path"
        )
    return f"{state}/lictor"


def addresses(url: str) -> "list[Address]":
    """The servers that a URL names, separated by commas; `ValueError` when it names none."""
    return [_address(each.strip()) for each in url.split(",")]


def _address(url: str) -> Address:
    scheme, marked, rest = url.partition("://")
    if not marked or scheme not in ("nats", "tls"):
        raise ValueError(f"what names the broker is not an address such as {DEFAULT_URL}")
    credentials, _, place = rest.split("/")[0].rpartition("@")
    user, with_password, password = credentials.partition(":")
    if place.startswith("["):
        host, _, port = place[1:].partition("]")
        port = port.removeprefix(":")
    else:
        host, _, port = place.partition(":")
    if not host or (port and not (port.isascii() and port.isdigit() and 0 < int(port) < 65536)):
        raise ValueError(f"what names the broker is not an address such as {DEFAULT_URL}")
    return Address(
        host=host,
        port=int(port or 4222),
        tls=scheme == "tls",
        user=_unquoted(user) or None,
        password=_unquoted(password) if with_password else None,
    )


def _unquoted(text: str) -> str:
    if "%" not in text:
        return text
    from urllib.parse import unquote

    return unquote(text)


def _shown(url: str) -> "list[str] | None":
    try:
        return [address.shown for address in addresses(url)]
    except ValueError:
        return None


def running_by(endpoints: str, role: str) -> "str | None":
    """The broker's URL, for a role, of the `lictor up` that left this file; None while it does not run."""
    try:
        file = os.open(endpoints, os.O_RDONLY)
    except (OSError, ValueError):
        return None
    try:
        status = os.fstat(file)
        if status.st_uid != os.getuid() or status.st_mode & _WRITABLE_BY_OTHERS:
            return None
        content = jsontext.parse(os.read(file, 64 * 1024))
        if content["format"] != ENDPOINTS_FORMAT or content["pid"] <= 0:
            return None
        url, credentials = content["nats_url"], content.get("credentials")
        _alive(content["pid"])
    except (OSError, ValueError, TypeError, KeyError, OverflowError):
        return None
    finally:
        os.close(file)
    if not isinstance(url, str):
        return None
    return url if credentials is None else with_account(str(credentials), role)


def with_account(credentials: str, role: str) -> str:
    """The broker's URL for a role, where roles have accounts; raises `NoAccount`."""
    url = url_in(credential_file(credentials, role))
    if url is None:
        raise NoAccount(
            f"the broker has accounts, and none for {role!r} in {credentials};"
            f" add one with `lictor account add {role}`"
        )
    return url


def _alive(pid: int) -> None:
    try:
        os.kill(pid, 0)
    except PermissionError:
        return
