"""The spellings of a path: what else a tool may read in its text, and the one real path behind it.

Between the parameter and the file, tools trim, unquote, expand and normalize. Which tool does which nobody tells us.
"""

import os
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_MOST = 64
_QUOTES = "\"'`"
# What some trim and others don't: a byte order mark and characters without width.
_TRIMMED = "\ufeff\u200b\u2060\u180e"
_SPACES = dict.fromkeys((0xA0, *range(0x2000, 0x200B), 0x202F, 0x205F, 0x3000), " ")


def readings(given: str) -> "Iterator[str]":
    """Other texts that it becomes when it is trimmed, unquoted and expanded, in whichever order."""
    known = {given}
    left = [given]
    # A variable whose value names itself would go on for ever.
    while left and len(known) < _MOST:
        for other in _steps(left.pop()):
            if other not in known:
                known.add(other)
                yield other
                if other:
                    left.append(other)


def alike(given: str) -> "set[str]":
    """Names that look the same: with other spaces, in other Unicode forms, with backslashes taken as escapes."""
    found = {given}
    if "\\" in given:
        found.add(_unescaped(given))
    if not given.isascii():
        from unicodedata import normalize

        found |= {each.translate(_SPACES) for each in found}
        found |= {normalize(form, each) for form in ("NFC", "NFD") for each in found}
    return found - {given}


def _steps(text: str) -> "Iterator[str]":
    yield text.strip()
    yield text.strip(_TRIMMED)
    if text[0] in _QUOTES or text[-1] in _QUOTES:
        yield text.strip(_QUOTES)
    if text[0] == "~" and text[1:2] not in ("", "/"):
        yield os.path.expanduser(text)  # noqa: PTH111 -- pathlib costs a hook more than it may take
    if "$" in text:
        yield os.path.expandvars(text)
        if text[0] == "$" and "/" in text:
            # A variable that the tool may have and we don't, or that is nothing to both.
            yield text[text.index("/") :]


def _unescaped(text: str) -> str:
    parts: list[str] = []
    characters = iter(text)
    for each in characters:
        parts.append(next(characters, "") if each == "\\" else each)
    return "".join(parts)


_MOST_LINKS = 40
# Their links lead elsewhere for each process that follows them, so what we see is not what a tool sees.
_OF_ONE_PROCESS = ("/proc", "/dev/fd")


class Unresolvable(Exception):
    """A path has no one real path; the message says why."""

    def __init__(self, problem: str, *, missing: bool = False) -> None:
        super().__init__(problem)
        self.missing = missing


def fold(path: str) -> str:
    """An absolute path without `.`, `..` and doubled slashes, as most programs fold it before they open it."""
    kept: list[str] = []
    for part in path.split("/"):
        if part == "..":
            del kept[-1:]
        elif part not in ("", "."):
            kept.append(part)
    return "/" + "/".join(kept)


def real(path: str) -> "tuple[str, os.stat_result | None]":
    """The real path of an absolute path, and what stands there: None for nothing yet.

    A `..` behind a link means one file to the kernel and another to programs that fold it first: refused, unless
    both mean the same.
    """
    found = _walk(path)
    folded = fold(path)
    if folded != path and ".." in path and _walk(folded)[0] != found[0]:
        raise Unresolvable("it goes up with `..` behind a link, which programs read in two ways")
    return found


def _walk(path: str) -> "tuple[str, os.stat_result | None]":
    left = path.split("/")[::-1]
    here = ""
    status: os.stat_result | None = None
    links = 0
    # As long as more than this many parts are left, they come from the target of a link.
    of_link: int | None = None
    while left:
        part = left.pop()
        if of_link is not None and len(left) < of_link:
            of_link = None
        if part in ("", "."):
            continue
        if part == "..":
            here, status = here.rpartition("/")[0], None
            continue
        if f"{here}/{part}" in _OF_ONE_PROCESS:
            raise Unresolvable(f"it leads through {here}/{part}, which each process sees otherwise")
        status = _look(here, part)
        if status is None:
            if of_link is not None:
                raise Unresolvable("it is a link that leads nowhere", missing=True)
            rest = fold("/".join((here, part, *reversed(left))))
            # Nothing below it is there either; but a `..` may lead out of it, to something that is.
            return _walk(rest) if ".." in left else (rest, None)
        if stat.S_ISLNK(status.st_mode):
            links += 1
            if links > _MOST_LINKS:
                raise Unresolvable("its links lead in a circle")
            target = _target(f"{here}/{part}")
            of_link = len(left) if of_link is None else of_link
            left += target.split("/")[::-1]
            if target.startswith("/"):
                here = ""
            continue
        if any(more not in ("", ".") for more in left) and not stat.S_ISDIR(status.st_mode):
            raise Unresolvable(f"{part!r} in it is not a directory")
        here = f"{here}/{_spelled(here, part, status)}"
    if status is None or stat.S_ISLNK(status.st_mode):
        status = _look(here, ".")
    return here or "/", status


def _look(folder: str, name: str) -> "os.stat_result | None":
    """What stands there; None for nothing."""
    try:
        return os.lstat(f"{folder}/{name}")
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise Unresolvable(_told(error)) from None


def _target(link: str) -> str:
    try:
        return os.readlink(link)  # noqa: PTH115 -- pathlib costs a hook more than it may take
    except OSError as error:
        raise Unresolvable(_told(error)) from None


def _told(error: Exception) -> str:
    if isinstance(error, PermissionError):
        return "a directory on the way to it can't be looked into"
    if isinstance(error, OSError):
        return (error.strerror or type(error).__name__).lower()
    return str(error)


def _spelled(folder: str, name: str, status: os.stat_result) -> str:
    """The name as the directory spells it, where the file system takes other spellings for it too."""
    for other in _other_spellings(name):
        try:
            same = os.path.samestat(os.lstat(f"{folder}/{other}"), status)
        except (OSError, ValueError):
            continue
        if same:
            return _listed(folder, name, status)
    return name


def _other_spellings(name: str) -> "Iterable[str]":
    if name.swapcase() != name:
        yield name.swapcase()
    if not name.isascii():
        from unicodedata import normalize

        for form in ("NFC", "NFD"):
            if normalize(form, name) != name:
                yield normalize(form, name)


def _listed(folder: str, name: str, status: os.stat_result) -> str:
    try:
        names = os.listdir(folder or "/")  # noqa: PTH208 -- as above
    except OSError as error:
        raise Unresolvable(_told(error)) from None
    if name in names:
        return name
    for each in sorted(names):
        try:
            if os.path.samestat(os.lstat(f"{folder}/{each}"), status):
                return each
        except OSError:
            continue
    raise Unresolvable("it was moved while it was looked at")
