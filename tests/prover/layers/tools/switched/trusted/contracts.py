"""Contracts, in the style of clauz3."""

from clauz3.spec import ContractSpec, contract, effect
from clauz3.spec import no_guarantees as core_no_guarantees

from .effects import mail, sell_lot

Sell = effect(sell_lot)
Mail = effect(mail)


@contract
def no_guarantees() -> ContractSpec:
    return core_no_guarantees()


@contract
def stock_from(schema: type, field: str) -> ContractSpec:
    column = getattr(schema, field)
    return Sell.all(lambda e: e.stock == column)


@contract
def shares_from(schema: type, field: str) -> ContractSpec:
    column = getattr(schema, field)
    return Sell.all(lambda e: e.shares == column)


@contract
def none() -> ContractSpec:
    return Mail.empty()


@contract
def only(addresses: list[str]) -> ContractSpec:
    return Mail.all(lambda e: e.addr in addresses)
