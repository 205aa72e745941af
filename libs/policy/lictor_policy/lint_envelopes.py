"""What is wrong with the envelopes of a pack: verification that nobody can do."""

from collections.abc import Collection, Iterator

from lictor_policy.envelopes import unverifiable
from lictor_policy.lint import Finding, found_in
from lictor_policy.names import nearest
from lictor_policy.packs import LoadedPack
from lictor_policy.strict_yaml import Path

_CHECK = "verification"


def lint_envelopes(pack: LoadedPack, methods: Collection[str] | None) -> Iterator[Finding]:
    """Envelopes that name a method that nobody has, or none where verification is mandatory.

    `methods` are the methods there are; None where nobody knows them.
    """
    for index, envelope in enumerate(pack.pack.spec.envelopes):
        at: Path = ("spec", "envelopes", index, "verification")
        problem = unverifiable(envelope)
        if problem is not None:
            yield found_in("error", _CHECK, pack.error((*at, "methods"), problem))
        for number, name in enumerate(envelope.verification.methods):
            if methods is not None and name not in methods:
                problem = f"nobody has a verification method {name}; {nearest(name, methods)}"
                yield found_in("error", _CHECK, pack.error((*at, "methods", number), problem))
