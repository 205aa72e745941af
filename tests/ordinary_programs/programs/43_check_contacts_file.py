"""Check which people of contacts.csv are not among our customers."""

from tools.office.trusted import contracts
from tools.office.trusted.effects import list_customers, log, read_file

from lictor_layer import guarantee

PATH = "/shared/reports/contacts.csv"


@guarantee(contracts.only_reads_and_logs())
def main() -> None:
    try:
        text = read_file(PATH)
    except FileNotFoundError:
        log(f"{PATH} is missing")
        return

    known = {customer.email.lower() for customer in list_customers()}
    for number, line in enumerate(text.splitlines()[1:], start=2):
        fields = [field.strip() for field in line.split(",")]
        if len(fields) != 2:
            log(f"Line {number} is broken: {line!r}")
            continue
        name, email = fields
        if email.lower() not in known:
            log(f"Unknown contact: {name} <{email}>")
