"""Small layers written to a folder, for tests."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from textwrap import dedent

from lictor_prove.layer_model import Layer
from lictor_prove.layers import discover_trusted_roots, load_layer

EFFECTS = """
    from lictor_layer import requires, trusted

    @requires(lambda addr: "@" in addr, message="addr is an address")
    @trusted
    def send(addr: str, text: str) -> None:
        '''Sends a mail.'''

    @trusted
    def draft(addr: str) -> int:
        return 0
"""
CONTRACTS = """
    from lictor_layer import Spec, contract, effect, no_guarantees
    from tools.mail.trusted.effects import draft, send

    Send = effect(send)

    @contract(description="Mail goes only to {addresses}.")
    def only(addresses: list[str]) -> Spec:
        return Send.all(lambda e: e.addr in addresses)

    @contract
    def unique() -> Spec:
        '''Nobody gets two mails.

        Not even Bob.
        '''
        return Send.distinct(lambda e: e.addr)

    @contract
    def nothing_said() -> Spec:
        return no_guarantees()
"""
MAIL = {"effects": EFFECTS, "contracts": CONTRACTS}


def write(base: Path, modules: Mapping[str, str], domain: str = "tools/mail/trusted") -> Path:
    """Writes modules below a trusted root; gives the root."""
    root = base / domain
    for name, text in modules.items():
        path = root / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text).lstrip("\n"), encoding="utf-8")
    return root


def mail(base: Path, **modules: str) -> Layer:
    """The mail layer, with some modules changed or added."""
    write(base, {**MAIL, **modules})
    return load_layer(discover_trusted_roots([base]), [base])
