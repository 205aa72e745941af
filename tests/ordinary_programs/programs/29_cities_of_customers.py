from tools.office.trusted import contracts
from tools.office.trusted.effects import list_customers, log

from lictor_layer import guarantee


@guarantee(contracts.only_reads_and_logs())
@guarantee(contracts.at_most_log_lines(2))
def main() -> None:
    customers = list_customers()
    cities = {c.city for c in customers if c.active}
    inactive_cities = {c.city for c in customers if not c.active} - cities
    log("Cities with active customers: " + ", ".join(sorted(cities)))
    if inactive_cities:
        log("Only inactive customers: " + ", ".join(sorted(inactive_cities)))
