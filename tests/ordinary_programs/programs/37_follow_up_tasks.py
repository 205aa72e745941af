"""Create a follow-up task on the next working day for each waiting ticket."""

from datetime import date, timedelta

from tools.office.trusted import contracts
from tools.office.trusted.effects import create_task, list_tickets, today

from lictor_layer import guarantee


def next_working_day(day: date) -> date:
    day += timedelta(days=1)
    while day.weekday() >= 5:
        day += timedelta(days=1)
    return day


@guarantee(contracts.tasks_only_for(["lee"]))
@guarantee(contracts.at_most_tasks(100))
@guarantee(contracts.closes_no_ticket())
def main() -> None:
    due = next_working_day(date.fromisoformat(today())).isoformat()
    for ticket in list_tickets("waiting"):
        create_task("lee", f"Follow up on ticket {ticket.id}: {ticket.subject}", due)
