from tools.office.trusted import contracts
from tools.office.trusted.effects import list_tickets, send_email

from lictor_layer import guarantee

HEAD_OF_SUPPORT = "pat@office.example"
THRESHOLD = 10


@guarantee(contracts.mails_only_to(["pat@office.example"]))
@guarantee(contracts.at_most_mails(1))
def main() -> None:
    tickets = list_tickets("open")
    if len(tickets) > THRESHOLD:
        urgent = len([t for t in tickets if t.priority == 1])
        send_email(
            to=HEAD_OF_SUPPORT,
            subject=f"Backlog: {len(tickets)} open tickets",
            body=f"There are {len(tickets)} open tickets, {urgent} of them urgent.",
        )
