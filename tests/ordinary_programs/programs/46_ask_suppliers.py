"""Ask each supplier, in one mail, for a quote on the products that run low."""

from collections import defaultdict

from tools.office.trusted import contracts
from tools.office.trusted.effects import list_products, log, send_email

from lictor_layer import guarantee


@guarantee(contracts.mails_only_to_suppliers())
@guarantee(contracts.one_mail_per_address())
@guarantee(contracts.at_most_mails(400))
def main() -> None:
    wanted = defaultdict(list)
    for product in list_products():
        if product.stock < product.minimum and not product.discontinued:
            wanted[product.supplier_email].append(product)

    for supplier, products in wanted.items():
        lines = "\n".join(f"- {p.name} ({p.sku}): {p.minimum - p.stock} pieces" for p in products)
        send_email(supplier, f"Request for quote: {len(products)} products", f"Please quote:\n{lines}")
    log(f"Asked {len(wanted)} suppliers")
