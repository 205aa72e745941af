"""Write to up to 50 customers who have not ordered for half a year."""

import datetime

from tools.office.trusted import contracts
from tools.office.trusted.effects import list_customers, send_email, today

from lictor_layer import guarantee

TEMPLATE = """Hello {name},

we have not heard from you since {day}. Here is 10 % off your next order: COMEBACK10

Your friends in {city}
"""


@guarantee(contracts.mails_only_to_customers())
@guarantee(contracts.at_most_mails(50))
@guarantee(contracts.subject_is("We miss you"))
def main() -> None:
    cutoff = datetime.date.fromisoformat(today()) - datetime.timedelta(days=180)
    lapsed = [c for c in list_customers() if c.active and c.last_order_day < cutoff.isoformat()]
    lapsed.sort(key=lambda c: c.last_order_day)
    for customer in lapsed[:50]:
        body = TEMPLATE.format(name=customer.name, day=customer.last_order_day, city=customer.city)
        send_email(customer.email, "We miss you", body)
