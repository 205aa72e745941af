"""The envelopes that packs put in force: by decision type, each with the pack that it comes from."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from lictor_policy.errors import PackError
from lictor_policy.packs.pack import LoadedPack, envelopes_of
from lictor_policy.rules.compiled_rule import stamp_of
from lictor_schema.contracts.envelope import DTE, Threshold
from lictor_schema.decisions.decision import PackStamp


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


def unverifiable(dte: DTE) -> str | None:
    """Why nothing could be verified that the envelope says must be; None when it names a method, or nothing must."""
    above, largest = dte.verification.required_above_blast_radius, dte.safe_action.blast_radius_max
    if dte.verification.methods or not above.is_exceeded_by(largest):
        return None
    from_where = "for every action" if above is Threshold.NONE else f"above tier {above.value}"
    return (
        f"verification is mandatory {from_where}, actions may be {largest.value}, and no method is"
        " named; name one"
    )


def refuse_unverifiable(envelopes: Mapping[str, Governed]) -> None:
    """Refuse envelopes that can't be kept, before they are in force; those that are in force already are left to it."""
    told = [
        f"envelope {name} of pack {each.pack.pack_id}: verification.methods: {problem}"
        for name, each in envelopes.items()
        if (problem := unverifiable(each.dte)) is not None
    ]
    if told:
        raise PackError("\n".join(told))
