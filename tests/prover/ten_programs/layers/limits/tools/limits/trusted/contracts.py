"""What programs may promise."""

from lictor_layer import Spec, contract, effect

from .effects import charge


@contract
def nothing_charged() -> Spec:
    return effect(charge).empty()


@contract
def at_most(amount: int) -> Spec:
    return effect(charge).all(lambda e: e.amount <= amount)
