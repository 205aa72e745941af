"""Remind everyone whose invoice is past due."""

from tools.office.trusted import contracts
from tools.office.trusted.effects import list_invoices, send_email, today

from lictor_layer import guarantee


@guarantee(contracts.mails_only_to_debtors())
@guarantee(contracts.at_most_mails(300))
def main() -> None:
    current_day = today()
    for invoice in list_invoices(paid=False):
        if invoice.due >= current_day:
            continue
        amount = f"${invoice.amount_cents / 100:.2f}"
        body = (
            f"Dear {invoice.customer},\n\n"
            f"invoice {invoice.number} over {amount} was due on {invoice.due}.\n"
            "Please pay it within the next 7 days.\n\n"
            "Kind regards\nYour office team"
        )
        send_email(invoice.email, f"Reminder: invoice {invoice.number}", body)
