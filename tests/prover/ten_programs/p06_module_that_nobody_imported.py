import tools.bank.trusted.contracts

import lictor_layer


@lictor_layer.guarantee(tools.bank.trusted.contracts.at_most(5))
def main() -> None:
    tools.mail.trusted.effects.post("ann")
