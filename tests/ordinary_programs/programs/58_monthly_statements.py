"""Mail merge: everybody with an unpaid invoice gets a statement."""

from string import Template

from tools.office.trusted import contracts
from tools.office.trusted.effects import list_invoices, log, send_email

from lictor_layer import guarantee

SUBJECT = "Your monthly statement"
BODY = Template("Dear $name,\n\nyour invoice $number over $amount is open until $due.\n")


@guarantee(contracts.mails_only_to_debtors())
@guarantee(contracts.subject_is("Your monthly statement"))
@guarantee(contracts.at_most_mails(300))
def main() -> None:
    invoices = list_invoices(paid=False)
    for i, invoice in enumerate(invoices):
        amount = "${:,.2f}".format(invoice.amount_cents / 100)
        body = BODY.substitute(
            name=invoice.customer.title(), number=invoice.number, amount=amount, due=invoice.due
        )
        send_email(invoice.email, SUBJECT, body)
        if (i + 1) % 50 == 0:
            log(f"{i + 1} of {len(invoices)} statements sent")
