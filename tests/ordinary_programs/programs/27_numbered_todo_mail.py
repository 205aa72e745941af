from tools.office.trusted import contracts
from tools.office.trusted.effects import list_tickets, send_email, today

from lictor_layer import guarantee


@guarantee(contracts.mails_only_to(["kim@office.example"]))
@guarantee(contracts.exactly_mails(1))
@guarantee(contracts.bodies_at_most(2000))
def main() -> None:
    mine = [ticket for ticket in list_tickets("open") if ticket.assignee == "kim"]
    mine.sort(key=lambda ticket: (ticket.priority, ticket.opened))

    lines = []
    for number, ticket in enumerate(mine, 1):
        lines.append(f"{number:>2}. [P{ticket.priority}] {ticket.subject.strip()}")

    body = "\n".join(lines) if lines else "Nothing to do today."
    send_email("kim@office.example", f"Your list for {today()}", body[:2000])
