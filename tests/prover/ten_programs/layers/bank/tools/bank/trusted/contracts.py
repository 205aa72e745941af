"""What programs may promise to the bank."""

from lictor_layer import Spec, contract, effect

from .effects import charge, send
from .schemas import ClientRow


@contract
def nothing_charged() -> Spec:
    return effect(charge).empty()


@contract
def at_most(amount: int) -> Spec:
    return effect(charge).all(lambda e: e.amount <= amount)


@contract
def never_to_clients() -> Spec:
    return effect(send).all(lambda e: e.addr != ClientRow.email)
