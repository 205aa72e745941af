from tools.office.trusted import contracts
from tools.office.trusted.effects import assign_ticket, list_tickets, log

from lictor_layer import guarantee


@guarantee(contracts.assigns_only_to(["kim"]))
@guarantee(contracts.assigns_only_listed_tickets())
@guarantee(contracts.closes_no_ticket())
def main() -> None:
    tickets = list_tickets("open")
    urgent = next((t for t in tickets if t.priority <= 2 and not t.assignee), None)
    if urgent is None:
        log("No unassigned urgent ticket")
        return
    assign_ticket(urgent.id, "kim")
    log(f"Assigned ticket {urgent.id} ({urgent.subject}) to kim")
