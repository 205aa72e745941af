"""Which release of packs may follow which: forward, or back only where it is said."""

from collections.abc import Iterable

from lictor_policy.version import ENGINE_VERSION
from lictor_schema.decisions.decision import PackStamp
from lictor_schema.packs.release import PackRelease, ReleaseTaken


def why_not(
    release: PackRelease,
    *,
    in_force: str | None,
    packs: Iterable[PackStamp],
    taken: ReleaseTaken | None,
    now: str,
) -> str | None:
    """Why a release may not follow the bundle in force, its packs and the release taken last; None when it may.

    `now` is spelled as the release spells its times.
    """
    if taken is not None and release.number <= taken.number:
        return (
            f"release {release.number} is not newer than {taken.number}, which came into force:"
            " it was published before"
        )
    if release.expires_at is not None and release.expires_at <= now:
        return f"release {release.number} expired at {release.expires_at}; publish the packs again"
    if release.expires_at is None and taken is not None and taken.expires_at is not None:
        return (
            f"release {release.number} never expires, unlike {taken.number}, which came into force"
        )
    if release.rollback_of is not None:
        if release.rollback_of == in_force:
            return None
        return f"it takes back {release.rollback_of}, but {in_force} is in force"
    known = {pack.pack_id: pack for pack in packs}
    for pack in release.packs:
        old = known.get(pack.pack_id)
        if old is None or old.pack_hash == pack.pack_hash:
            continue
        if not is_newer(pack.pack_version, old.pack_version):
            return (
                f"pack {pack.pack_id} changed, but its version {pack.pack_version} is not newer than"
                f" {old.pack_version}, which is in force; raise it, or say what it takes back"
            )
    return None


def is_newer(version: str, than: str) -> bool:
    """Whether a version is surely newer: numbers between dots, compared one by one."""
    first, second = _numbers(version), _numbers(than)
    return first is not None and second is not None and first > second


def _numbers(version: str) -> tuple[int, ...] | None:
    parts = version.split(".")
    if not all(part.isascii() and part.isdecimal() and len(part) < 10 for part in parts):
        return None
    numbers = [int(part) for part in parts]
    # 1.0 and 1.0.0 are the same version.
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)


def may_follow(engine: str, own: str = ENGINE_VERSION) -> bool:
    """Whether this engine is the same as another, or surely newer."""
    return engine == own or is_newer(own, engine)
