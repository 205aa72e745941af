"""Tickets of premium customers get priority 1."""

from tools.office.trusted import contracts
from tools.office.trusted.effects import find_customer, list_tickets, log, set_priority

from lictor_layer import guarantee


@guarantee(contracts.priority_only(1))
@guarantee(contracts.closes_no_ticket())
def main() -> None:
    raised = 0
    for ticket in list_tickets("open"):
        customer = find_customer(ticket.email)
        if customer is not None and customer.segment == "premium" and ticket.priority != 1:
            set_priority(ticket.id, 1)
            raised += 1
    log(f"Raised {raised} tickets")
