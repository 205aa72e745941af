"""Spread unassigned tickets evenly over the support team."""

from itertools import cycle

from tools.office.trusted import contracts
from tools.office.trusted.effects import assign_ticket, list_tickets, log

from lictor_layer import guarantee

AGENTS = ["kim", "lee", "sam"]


@guarantee(contracts.assigns_only_to(["kim", "lee", "sam"]))
@guarantee(contracts.assigns_only_listed_tickets())
def main() -> None:
    unassigned = [t for t in list_tickets("open") if t.assignee == ""]
    for ticket, agent in zip(unassigned, cycle(AGENTS)):
        assign_ticket(ticket.id, agent)
    log(f"Assigned {len(unassigned)} tickets")
