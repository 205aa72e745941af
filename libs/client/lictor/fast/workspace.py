"""The files that a call names, as they are at this moment: one key for each file, however it is spelled.

Only where the agent runs can a link be followed or a file be hashed, so the adapter does it. Nothing here raises: a
file that can't be told apart from others has no key, and says why, and whoever judges a write then denies it.

Two hard links are two names of one content and two keys: a digest tells when one was changed through the other.
"""

import os
import stat

from lictor.fast.path_spellings import Unresolvable, alike, fold, readings, real

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

MAX_RESOURCES = 64
MAX_PATH = 4096
MAX_DIGESTED = 64 * 1024 * 1024
_CHUNK = 1024 * 1024


class Workspace:
    """A root directory, and the other spellings under which tools see it.

    Relative paths start at `cwd`; without it they start at the root.
    """

    def __init__(
        self,
        root: str,
        mounts: "Iterable[str]" = (),
        *,
        cwd: "str | None" = None,
        max_digested: int = MAX_DIGESTED,
    ) -> None:
        self.root = os.path.abspath(root)  # noqa: PTH100 -- pathlib costs a hook more than it may take
        self._mounts = sorted({fold(each) for each in mounts}, key=len, reverse=True)
        self._cwd = cwd
        self._max_digested = max_digested
        try:
            self._real_root = real(self.root)[0]
        except Unresolvable:
            self._real_root = self.root

    def with_mounts(self, mounts: "Iterable[str]") -> "Workspace":
        """The same root with these spellings of it."""
        return Workspace(
            self.root,
            mounts,
            cwd=self._cwd,
            max_digested=self._max_digested,
        )

    def resolve(
        self, params: "Mapping[str, Any]", names: "Iterable[str]", cwd: "str | None" = None
    ) -> "list[dict[str, Any]]":
        """The resources that these parameters name; relative paths start at `cwd`, else where `self` was told."""
        start = os.path.join(self.root, cwd or self._cwd or "")  # noqa: PTH118 -- as above
        found: list[dict[str, Any]] = []
        for name in names:
            value = params.get(name)
            if value is None:
                continue
            for given in _each(value):
                if len(found) == MAX_RESOURCES - 1:
                    found.append(_unresolved(name, given, "the call names more files than that"))
                    return found
                found.append(self._resource(name, given, start))
        return found

    def look(self, paths: "Iterable[str]") -> "list[dict[str, Any]]":
        """What stands at each of these paths; relative ones start at the root."""
        return [self._seen(path) for path in paths]

    def _resource(self, param: str, given: object, cwd: str) -> "dict[str, Any]":
        if not isinstance(given, str) or not given:
            return _unresolved(param, given, "it is not a path")
        try:
            path, status = real(self._located(given, cwd))
            key = self._key(path)
            state = _kind(status)
            self._refuse_other_readings(given, path, cwd)
        except (Unresolvable, OSError, ValueError) as error:
            return _unresolved(param, given, str(error))
        digest = self._digest(path) if state == "file" else None
        return {
            "param": param,
            "given": _readable(given),
            "key": key,
            "state": state,
            "digest": digest,
            "problem": None,
        }

    def _refuse_other_readings(self, given: str, path: str, cwd: str) -> None:
        """A tool that trims, unquotes or expands what it is given must not end at another file than we did."""
        for other in readings(given):
            if self._real_path(other, cwd) != path:
                raise Unresolvable(f"some tools read it as {other[:200]!r}, which is another file")
        for other in alike(given):
            place = self._located(other, cwd)
            # Where nothing stands, nothing can be overwritten, and names like this one have to be possible.
            stands = os.path.lexists(place) or os.path.lexists(fold(place))
            if stands and self._real_path(other, cwd) != path:
                raise Unresolvable(f"some tools take it for {other[:200]!a}, which is another file")

    def _real_path(self, given: str, cwd: str) -> "str | None":
        try:
            return real(self._located(given, cwd))[0]
        except (Unresolvable, OSError, ValueError):
            return None

    def _seen(self, path: str) -> "dict[str, Any]":
        try:
            status = real(self._located(path, self.root))[1]
        except Unresolvable as error:
            return {"path": path, "state": "missing" if error.missing else "unknown", "size": None}
        except (OSError, ValueError):
            return {"path": path, "state": "unknown", "size": None}
        state = _kind(status)
        size = status.st_size if status is not None and state == "file" else None
        return {"path": path, "state": state, "size": size}

    def _located(self, given: str, cwd: str) -> str:
        """The absolute path that a spelling means; links are not followed yet."""
        if "\0" in given:
            raise Unresolvable("a path can't hold a NUL byte")
        if given[:5].lower() == "file:":
            raise Unresolvable("it is a URL, not a path")
        if given == "~" or given.startswith("~/"):
            return self._at_home(given, cwd)
        if not given.startswith("/"):
            return f"{cwd}/{given}"
        folded = fold(given)
        if _below(folded, self.root) is None and _below(folded, self._real_root) is None:
            for mount in self._mounts:
                below = _below(folded, mount)
                if below is not None:
                    self._refuse_shadowed(mount)
                    rest = given.removeprefix(mount)
                    # Unfolded, so that `..` behind a link is noticed; unless it led out of the mount and back.
                    return f"{self.root}/{rest if fold(rest) == f'/{below}' else below}"
        return given

    def _refuse_shadowed(self, mount: str) -> None:
        """A tool that runs here, and not where the mount is, would open what stands here under the mount's name."""
        try:
            here = os.stat(mount)  # noqa: PTH116 -- as above
        except (FileNotFoundError, NotADirectoryError):
            if not os.path.islink(mount):  # noqa: PTH114 -- as above
                return
            raise Unresolvable(f"the mount {mount} is a link that leads nowhere here") from None
        if not os.path.samestat(here, os.stat(self.root)):  # noqa: PTH116 -- as above
            raise Unresolvable(
                f"the mount {mount} stands for the workspace, but is another place here"
            )

    def _at_home(self, given: str, cwd: str) -> str:
        """Some tools take `~` for the home directory, others for a name."""
        if os.path.lexists(f"{cwd}/~"):
            raise Unresolvable("`~` is the home directory to some tools, and a file here to others")
        return os.path.expanduser(given)  # noqa: PTH111 -- as above

    def _key(self, path: str) -> str:
        below = _below(path, self._real_root)
        key = path if below is None else below or "."
        try:
            key.encode()
        except UnicodeEncodeError:
            raise Unresolvable("its name is not UTF-8 text") from None
        if len(key) > MAX_PATH:
            raise Unresolvable(f"its path is longer than {MAX_PATH} characters")
        return key

    def _digest(self, path: str) -> "str | None":
        """Hash of the content; None where it can't be read, or would take too long."""
        try:
            # Not blocking, not following: it may have become a pipe or a link since it was looked at.
            file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            return None
        try:
            status = os.fstat(file)
            if not stat.S_ISREG(status.st_mode) or status.st_size > self._max_digested:
                return None
            digest = _sha256(status.st_size)
            left = self._max_digested
            while chunk := os.read(file, _CHUNK):
                digest.update(chunk)
                left -= len(chunk)
                if left < 0:
                    return None
            return f"sha256:{digest.hexdigest()}"
        except OSError:
            return None
        finally:
            os.close(file)


def in_this_process(
    root: "str | os.PathLike[str] | None", cwd: "str | os.PathLike[str] | None"
) -> "Workspace | None":
    """The workspace of tools that are functions here: their relative paths start at `cwd`, else at the root."""
    if root is None:
        return None
    if cwd is None:
        _tell_where_paths_start(os.fspath(root))
        return Workspace(os.fspath(root))
    return Workspace(os.fspath(root), cwd=os.path.abspath(cwd))  # noqa: PTH100 -- as above


def _tell_where_paths_start(root: str) -> None:
    """For whoever wrote the tools: one that opens a path from elsewhere would open a file that nobody judged."""
    import logging

    try:
        here = os.getcwd()  # noqa: PTH109 -- as above
        if os.path.samefile(here, root):  # noqa: PTH121 -- as above
            return
    except OSError:
        return
    logging.getLogger("lictor.client").warning(
        "relative paths of tool calls are taken to start at the workspace (%s), and this process is in %s:"
        " if the tools open files from there, give the guard cwd=",
        root,
        here,
    )


def _each(value: "Any") -> "Iterable[Any]":
    return value if isinstance(value, list | tuple) else (value,)  # pyright: ignore[reportUnknownVariableType]


def _sha256(size: int) -> "Any":
    """For small content the hash that loads fast, else the one that runs fast."""
    if size < _CHUNK:
        for module in ("_sha2", "_sha256"):
            try:
                return __import__(module).sha256()
            except (ImportError, AttributeError):
                continue
    from hashlib import sha256

    return sha256()


def _below(path: str, folder: str) -> "str | None":
    """The rest of a folded path within a folder; None when it is not in it."""
    if path == folder or folder == "/":
        return path[len(folder) :]
    return path[len(folder) + 1 :] if path.startswith(f"{folder}/") else None


def _kind(status: "os.stat_result | None") -> str:
    if status is None:
        return "missing"
    if stat.S_ISREG(status.st_mode):
        return "file"
    return "directory" if stat.S_ISDIR(status.st_mode) else "other"


def _unresolved(param: str, given: object, problem: str) -> "dict[str, Any]":
    text = given if isinstance(given, str) else f"a {type(given).__name__}"
    return {
        "param": param,
        "given": _readable(text) or "(empty)",
        "key": None,
        "state": "unknown",
        "digest": None,
        "problem": problem,
    }


def _readable(text: str) -> str:
    """Text of any kind as text that JSON can hold."""
    return text[:MAX_PATH].encode("utf-8", "replace").decode()
