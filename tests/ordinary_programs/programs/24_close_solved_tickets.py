"""Close tickets that were solved and opened more than 30 days ago."""

from datetime import date, timedelta

from tools.office.trusted import contracts
from tools.office.trusted.effects import close_ticket, list_tickets, log, today

from lictor_layer import guarantee

MAX_AGE_DAYS = 30
NOTE = "Closed automatically: solved, and older than 30 days."


@guarantee(contracts.closes_only_listed_tickets())
@guarantee(contracts.at_most_closed(100))
@guarantee(contracts.no_mail())
def main() -> None:
    cutoff = date.fromisoformat(today()) - timedelta(days=MAX_AGE_DAYS)
    closed = 0
    for ticket in list_tickets("solved"):
        if date.fromisoformat(ticket.opened) < cutoff:
            close_ticket(ticket.id, NOTE)
            closed += 1
    log(f"Closed {closed} tickets from before {cutoff.isoformat()}")
