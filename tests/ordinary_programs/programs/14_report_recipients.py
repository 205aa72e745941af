"""Mail the stock report to the addresses of the setting report_recipients that are our own."""

from tools.office.trusted import contracts
from tools.office.trusted.effects import get_setting, list_products, send_email

from lictor_layer import guarantee

DOMAIN = "@office.example"


def parse_recipients(text: str) -> list[str]:
    """Split "a@b, c@d" into clean addresses, without duplicates."""
    recipients = []
    for part in text.split(","):
        address = part.strip().lower()
        if address.endswith(DOMAIN) and address not in recipients:
            recipients.append(address)
    return recipients


@guarantee(contracts.mails_only_to_domain("@office.example"))
@guarantee(contracts.one_mail_per_address())
def main() -> None:
    recipients = parse_recipients(get_setting("report_recipients"))
    body = "\n".join(f"{p.sku}: {p.stock} in stock" for p in list_products())
    for address in recipients:
        send_email(address, "Stock report", body)
