"""Tag active customers without an order this year as dormant."""

from tools.office.trusted import contracts
from tools.office.trusted.effects import list_customers, log, tag_customer, today

from lictor_layer import guarantee


@guarantee(contracts.tags_only(["dormant"]))
@guarantee(contracts.tags_only_listed_customers())
@guarantee(contracts.no_mail())
def main() -> None:
    year = today()[:4]
    dormant = [
        customer
        for customer in list_customers()
        if customer.active and not customer.last_order_day.startswith(year)
    ]
    for customer in dormant:
        tag_customer(customer.id, "dormant")
    log(f"{len(dormant)} customers are dormant: {', '.join(c.name for c in dormant)}")


if __name__ == "__main__":
    main()
