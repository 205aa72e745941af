"""Remind everyone whose invoice is past due; large ones are copied to accounting."""

from tools.office.trusted import contracts
from tools.office.trusted.effects import list_invoices, send_email, today

from lictor_layer import guarantee

LARGE = 50_000


@guarantee(contracts.mails_only_to_debtors())
def main() -> None:
    now = today()
    for invoice in list_invoices(paid=False):
        if invoice.due < now:
            subject = f"Reminder: invoice {invoice.number}"
            body = f"Dear {invoice.customer}, please pay ${invoice.amount_cents / 100:.2f}."
            send_email(invoice.email, subject, body)
            if invoice.amount_cents >= LARGE:
                send_email("accounting@office.example", f"Copy: {subject}", body)
