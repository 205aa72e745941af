"""Bundles, log files and releases of packs, altered at random: none that differs from what was signed is accepted."""

import json
import random
from collections.abc import Callable

from fuzz.tally import Tally, Told, silent
from signed_log import (
    RECEIVED,
    TRUST,
    bundle_with_messages,
    files_of,
    leaves_of,
    signed_release,
)

from lictor_seal import ReleaseError, audit_files, open_release, verify_bundle

Files = dict[str, bytes]
_BITS = (
    b'"',
    b",",
    b"{",
    b"}",
    b"0",
    b"null",
    b"\n",
    b" ",
    b"\xff",
    b"\\u0000",
    b"\xe2\x80\xa8",
    b"sha256:",
)


def altered(data: bytes, draw: random.Random, other: bytes = b"") -> bytes:
    """The data with one to three changes: of bytes, of whole lines, or by a piece of something else."""
    for _ in range(draw.randint(1, 3)):
        data = draw.choice(_CHANGES)(data, draw, other)
    return data


def _flip(data: bytes, draw: random.Random, _other: bytes) -> bytes:
    at = draw.randrange(len(data)) if data else 0
    return (
        data[:at] + bytes([data[at] ^ (1 << draw.randrange(8))]) + data[at + 1 :] if data else b"x"
    )


def _cut(data: bytes, draw: random.Random, _other: bytes) -> bytes:
    at = draw.randrange(len(data) + 1)
    return data[:at] + data[at + draw.choice((1, 1, 2, 32, 1000)) :]


def _insert(data: bytes, draw: random.Random, _other: bytes) -> bytes:
    at = draw.randrange(len(data) + 1)
    return data[:at] + draw.choice(_BITS) + data[at:]


def _splice(data: bytes, draw: random.Random, other: bytes) -> bytes:
    at, start = draw.randrange(len(data) + 1), draw.randrange(len(other) + 1)
    piece = other[start : start + draw.choice((1, 8, 64, 100_000))]
    return data[:at] + piece + data[at + (len(piece) if draw.random() < 0.5 else 0) :]


def _lines(data: bytes, draw: random.Random, _other: bytes) -> bytes:
    lines = data.splitlines(keepends=True) or [b""]
    one, two = draw.randrange(len(lines)), draw.randrange(len(lines))
    match draw.randrange(3):
        case 0:
            lines.insert(one, lines[two])
        case 1:
            lines[one], lines[two] = lines[two], lines[one]
        case _:
            del lines[one]
    return b"".join(lines)


def _number(data: bytes, draw: random.Random, _other: bytes) -> bytes:
    at = [n for n, byte in enumerate(data) if chr(byte).isdigit()]
    if not at:
        return data
    where = draw.choice(at)
    return (
        data[:where]
        + draw.choice((b"0", b"1", b"9", b"00", b"-1", b"1.0", b"1e0"))
        + data[where + 1 :]
    )


_CHANGES: tuple[Callable[[bytes, random.Random, bytes], bytes], ...] = (
    _flip, _flip, _cut, _insert, _splice, _lines, _number,
)  # fmt: skip


def altered_files(files: Files, others: Files, draw: random.Random) -> Files:
    """The folder with a file changed, lost, renamed, added, or put in from another log."""
    found = dict(files)
    name = draw.choice(sorted(found))
    match draw.randrange(6):
        case 0 | 1:
            found[name] = altered(found[name], draw, others.get(name, b""))
        case 2:
            del found[name]
        case 3:
            found[altered(name.encode(), draw).decode("utf-8", "replace")] = found.pop(name)
        case 4:
            spare = draw.choice(
                (name.upper(), name + ".p/1", name + "~", "tile/0/001", "entries-u32/000")
            )
            found[spare if spare not in files else "spare"] = draw.choice((found[name], b"", b"x"))
        case _:
            foreign = draw.choice(sorted(others))
            found[foreign] = others[foreign]
    return found


def is_beginning(name: str, data: bytes, files: Files) -> bool:
    """Whether it is what an older export of the same log left there."""
    whole = next(
        (files[each] for each in files if each.partition(".p/")[0] == name.partition(".p/")[0]), b""
    )
    return ".p/" in name and bool(data) and whole.startswith(data)


def only_cosigned(note: bytes, signed: bytes) -> bool:
    """Whether it is the same note, with at most signatures more: those of unknown keys are ignored by its format."""
    text, _, signatures = signed.rpartition(b"\n\n")
    found, _, others = note.rpartition(b"\n\n")
    return found == text and set(signatures.splitlines()) <= set(others.splitlines())


def only_cosigned_inside(data: bytes, bundle: bytes) -> bool:
    """The same of a bundle, and of the checkpoint in it."""
    head, _, parts = data.partition(b"\n")
    signed, _, signed_parts = bundle.partition(b"\n")
    try:
        found, expected = json.loads(head), json.loads(signed)
        note, checkpoint = found.pop("checkpoint").encode(), expected.pop("checkpoint").encode()
    except (ValueError, AttributeError, KeyError, TypeError, RecursionError):
        return False
    same = parts == signed_parts and json.dumps(found) == json.dumps(expected)
    return data == bundle or (same and note != checkpoint and only_cosigned(note, checkpoint))


def fuzz(count: int, seed: int, told: Told = silent) -> Tally:
    """Alter so many."""
    draw, tally = random.Random(seed), Tally(told)
    bundle, release = bundle_with_messages(), signed_release()
    logs = [files_of(leaves_of(size)) for size in (3, 5, 300)]
    foreign = files_of(leaves_of(9))
    assert verify_bundle(bundle, TRUST).ok
    assert all(audit_files(each.get, TRUST, names=each).ok for each in logs)
    open_release(release, TRUST, RECEIVED)
    while tally.applied < count:
        kind = draw.choices(("bundle", "release", "log"), (10, 10, 3))[0]
        if kind == "bundle":
            data = altered(bundle, draw, release)
            if only_cosigned_inside(data, bundle):
                continue
            taken = verify_bundle(data, TRUST).ok
        elif kind == "release":
            data = altered(release, draw, bundle)
            if only_cosigned(data, release):
                continue
            taken = _opens(data)
        else:
            # The long one seldom: it takes a hundred times as long.
            files = draw.choices(logs, (20, 20, 1))[0]
            found = altered_files(files, foreign, draw)
            if only_cosigned(found.get("checkpoint", b""), files["checkpoint"]):
                found["checkpoint"] = files["checkpoint"]
            spare = {name: found[name] for name in found if found[name] != files.get(name)}
            if files.items() <= found.items() and all(
                is_beginning(name, data, files) for name, data in spare.items()
            ):
                continue
            taken = audit_files(found.get, TRUST, names=found).ok
        tally.begin()
        if taken:
            tally.wrong.append(f"number {tally.applied}: {kind}")
        else:
            tally.refused += 1
    return tally


def _opens(data: bytes) -> bool:
    try:
        open_release(data, TRUST, RECEIVED)
    except ReleaseError:
        return False
    return True
