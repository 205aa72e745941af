"""The envelopes that packs put in force: by decision type, each with the pack that it comes from."""

from collections.abc import Sequence
from typing import NamedTuple

from lictor_policy.packs import LoadedPack, envelopes_of
from lictor_policy.rules import stamp_of
from lictor_schema.contracts import DTE
from lictor_schema.decisions import PackStamp


class Governed(NamedTuple):
    """An envelope and its pack."""

    dte: DTE
    pack: PackStamp


def governed_by(packs: Sequence[LoadedPack]) -> dict[str, Governed]:
    """What governs each decision type; two packs that govern the same one are refused."""
    owners = {
        envelope.decision_type: stamp_of(pack)
        for pack in packs
        for envelope in pack.pack.spec.envelopes
    }
    return {name: Governed(dte, owners[name]) for name, dte in envelopes_of(packs).items()}
