from tools.bank.trusted import contracts as c
from tools.bank.trusted.effects import best_clients, send

import lictor_layer


@lictor_layer.guarantee(c.never_to_clients())
def main() -> None:
    for row in best_clients():
        send(row.email)
