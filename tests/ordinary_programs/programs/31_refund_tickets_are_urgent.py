"""Tickets whose subject mentions a refund get priority 1."""

import re

from tools.office.trusted import contracts
from tools.office.trusted.effects import list_tickets, log, set_priority

from lictor_layer import guarantee

WORDS = ("refund", "money back", "chargeback")


def clean(subject: str) -> str:
    """Lower case, single spaces, no leading Re: or Fwd:."""
    text = re.sub(r"\s+", " ", subject).strip().lower()
    while text.startswith(("re: ", "fwd: ")):
        text = text.split(": ", 1)[1]
    return text


@guarantee(contracts.priority_only(1))
@guarantee(contracts.closes_no_ticket())
@guarantee(contracts.no_money())
def main() -> None:
    for ticket in list_tickets("open"):
        subject = clean(ticket.subject)
        if ticket.priority > 1 and any(word in subject for word in WORDS):
            set_priority(ticket.id, 1)
            log(f"Ticket {ticket.id} is urgent now: {subject}")
