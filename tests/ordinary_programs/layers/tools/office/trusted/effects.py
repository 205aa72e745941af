"""What programs may do in the back office. The bodies work on a few rows in memory, and print."""

from tools.office.trusted.schemas import (
    Customer,
    Employee,
    FileEntry,
    Invoice,
    Order,
    OrderItem,
    Product,
    Ticket,
    Transaction,
)

from lictor_layer import (
    ensures,
    has_no_parent_segments,
    mock,
    nothing_to_undo,
    requires,
    trusted,
)

MOST_CUSTOMERS = 500
MOST_ORDERS = 200
PAGE_SIZE = 25
MOST_ITEMS = 40
MOST_TICKETS = 100
MOST_INVOICES = 300
MOST_PRODUCTS = 400
MOST_FILES = 1000
MOST_EMPLOYEES = 50
MOST_TRANSACTIONS = 500

_CUSTOMERS = (
    Customer(id=1, name="Ada Byron", email="ada@example.com", city="London", segment="premium", active=True, last_order_day="2026-03-02"),
    Customer(id=2, name="Bob Kahn", email="bob@example.com", city="Austin", segment="standard", active=True, last_order_day="2025-06-11"),
    Customer(id=3, name="Cleo Paz", email="cleo@example.org", city="Lima", segment="standard", active=False, last_order_day="2024-12-30"),
    Customer(id=4, name="Dan Okoro", email="dan@example.net", city="Lagos", segment="premium", active=True, last_order_day="2026-03-10"),
)
_ORDERS = (
    Order(id=101, customer_id=1, customer="Ada Byron", email="ada@example.com", total_cents=12950, status="open", day="2026-03-02", due="2026-03-12", region="EU"),
    Order(id=102, customer_id=2, customer="Bob Kahn", email="bob@example.com", total_cents=4500, status="open", day="2026-03-05", due="2026-03-25", region="US"),
    Order(id=103, customer_id=1, customer="Ada Byron", email="ada@example.com", total_cents=880, status="open", day="2026-03-10", due="2026-03-30", region="EU"),
    Order(id=104, customer_id=4, customer="Dan Okoro", email="dan@example.net", total_cents=150000, status="open", day="2026-03-14", due="2026-03-16", region="AF"),
    Order(id=105, customer_id=4, customer="Dan Okoro", email="dan@example.net", total_cents=2500, status="returned", day="2026-02-10", due="2026-02-20", region="AF"),
    Order(id=106, customer_id=2, customer="Bob Kahn", email="bob@example.com", total_cents=7999, status="returned", day="2026-02-12", due="2026-02-22", region="US"),
    Order(id=107, customer_id=3, customer="Cleo Paz", email="cleo@example.org", total_cents=3100, status="shipped", day="2026-02-28", due="2026-03-10", region="SA"),
    Order(id=108, customer_id=1, customer="Ada Byron", email="ada@example.com", total_cents=0, status="cancelled", day="2026-02-01", due="2026-02-11", region="EU"),
)
_ITEMS = (
    OrderItem(order_id=101, sku="LAMP-1", quantity=2, unit_cents=4975),
    OrderItem(order_id=101, sku="BULB-4", quantity=3, unit_cents=1000),
    OrderItem(order_id=102, sku="DESK-9", quantity=1, unit_cents=4500),
    OrderItem(order_id=103, sku="BULB-4", quantity=1, unit_cents=880),
    OrderItem(order_id=104, sku="DESK-9", quantity=30, unit_cents=5000),
    OrderItem(order_id=107, sku="LAMP-1", quantity=1, unit_cents=3100),
)
_TICKETS = (
    Ticket(id=1, subject="Lamp flickers", body="The lamp flickers since Monday. Please help!", email="ada@example.com", status="open", priority=2, opened="2026-03-01", assignee=""),
    Ticket(id=2, subject="  REFUND please ", body="I sent it back weeks ago.", email="bob@example.com", status="open", priority=1, opened="2026-02-20", assignee="kim"),
    Ticket(id=3, subject="Invoice address", body="Our address has changed to 4 Elm Street, see attachment.", email="cleo@example.org", status="waiting", priority=3, opened="2026-02-25", assignee="lee"),
    Ticket(id=4, subject="Thanks", body="All good now.", email="dan@example.net", status="solved", priority=4, opened="2026-01-15", assignee="kim"),
)
_INVOICES = (
    Invoice(number="2026-001", customer_id=1, customer="Ada Byron", email="ada@example.com", amount_cents=12950, paid=False, due="2026-03-01"),
    Invoice(number="2026-002", customer_id=2, customer="Bob Kahn", email="bob@example.com", amount_cents=4500, paid=False, due="2026-04-01"),
    Invoice(number="2026-003", customer_id=4, customer="Dan Okoro", email="dan@example.net", amount_cents=99000, paid=True, due="2026-02-01"),
)
_PRODUCTS = (
    Product(sku="LAMP-1", name="Desk lamp", stock=3, minimum=10, price_cents=4975, supplier_email="sales@lumen.example", discontinued=False),
    Product(sku="BULB-4", name="Bulb, box of 4", stock=120, minimum=40, price_cents=1000, supplier_email="sales@lumen.example", discontinued=False),
    Product(sku="DESK-9", name="Standing desk", stock=0, minimum=2, price_cents=5000, supplier_email="orders@timber.example", discontinued=False),
    Product(sku="SOFA-2", name="Sofa", stock=0, minimum=1, price_cents=80000, supplier_email="orders@timber.example", discontinued=True),
)
_FILES = (
    FileEntry(path="/shared/tmp/export1.tmp", name="export1.tmp", size_bytes=2048, modified="2026-03-01"),
    FileEntry(path="/shared/tmp/report.csv", name="report.csv", size_bytes=5_000_000, modified="2026-03-17"),
    FileEntry(path="/shared/tmp/old.bak", name="old.bak", size_bytes=10, modified="2025-01-01"),
    FileEntry(path="/shared/reports/q1.pdf", name="q1.pdf", size_bytes=700_000, modified="2026-03-15"),
    FileEntry(path="/shared/reports/q1 (copy).pdf", name="q1 (copy).pdf", size_bytes=700_000, modified="2026-03-16"),
)
_TEXTS = {
    "/shared/reports/contacts.csv": "name,email\nAda Byron,ada@example.com\nEve,eve@example.com\nbroken line\n",
    "/shared/reports/notes.txt": "Call the bank.\n\nTODO: order paper\nTODO: water the plants\n",
}
_EMPLOYEES = (
    Employee(id=1, name="Kim Doe", email="kim@office.example", team="support", manager_email="pat@office.example", birthday="1990-03-18", hours=41.5),
    Employee(id=2, name="Lee Roy", email="lee@office.example", team="support", manager_email="pat@office.example", birthday="1985-07-01", hours=32.0),
    Employee(id=3, name="Pat Lu", email="pat@office.example", team="sales", manager_email="pat@office.example", birthday="1979-11-30", hours=47.25),
)
_TRANSACTIONS = (
    Transaction(id=1, account="main", cents=500000, memo="opening", day="2026-03-01"),
    Transaction(id=2, account="main", cents=-120000, memo="rent", day="2026-03-03"),
    Transaction(id=3, account="main", cents=-4599, memo="PAPER  mill", day="2026-03-09"),
    Transaction(id=4, account="main", cents=-4599, memo="paper mill", day="2026-03-09"),
)
_SETTINGS = {
    "report_recipients": "kim@office.example, lee@office.example,, pat@office.example ",
    "digest_enabled": "yes",
    "refund_limit_cents": "5000",
    "ticket_keywords": "refund;broken;flickers",
    "reminder_days": "14",
    "price_rules": '{"increase_percent": 5, "minimum_cents": 100}',
}
_BALANCES = {"main": 370802, "petty_cash": 4200, "payroll": 90000}
_FAILED_ONCE: set[str] = set()


# Reading


@nothing_to_undo
@ensures(lambda result: len(result) == 10)
@trusted("read")
@mock
def today() -> str:
    """Today's date as YYYY-MM-DD."""
    return "2026-03-18"


@nothing_to_undo
@trusted("read")
@mock
def get_setting(name: str) -> str:
    """The text of a setting, "" if it is not set."""
    return _SETTINGS.get(name, "")


@nothing_to_undo
@ensures(lambda result: all("@" in c.email for c in result))
@ensures(lambda result: len(result) <= MOST_CUSTOMERS)
@trusted("read")
@mock
def list_customers() -> list[Customer]:
    """All customers, at most 500."""
    return list(_CUSTOMERS)


@nothing_to_undo
@ensures(lambda customer_id, result: result.id == customer_id and "@" in result.email)
@trusted("read")
@mock
def get_customer(customer_id: int) -> Customer:
    """The customer with this id; raises KeyError if there is none."""
    for customer in _CUSTOMERS:
        if customer.id == customer_id:
            return customer
    raise KeyError(customer_id)


@nothing_to_undo
@trusted("read")
@mock
def find_customer(email: str) -> Customer | None:
    """The customer with this address, None if there is none."""
    for customer in _CUSTOMERS:
        if customer.email == email:
            return customer
    return None


@nothing_to_undo
@ensures(lambda status, result: all(o.status == status for o in result))
@ensures(lambda result: all("@" in o.email and o.total_cents >= 0 for o in result))
@ensures(lambda result: len(result) <= MOST_ORDERS)
@trusted("read")
@mock
def list_orders(status: str) -> list[Order]:
    """The orders with this status (open, shipped, cancelled, returned), at most 200."""
    return [order for order in _ORDERS if order.status == status]


@nothing_to_undo
@ensures(lambda result: all("@" in o.email and o.total_cents >= 0 for o in result))
@ensures(lambda result: len(result) <= PAGE_SIZE)
@requires(lambda page: page >= 1, message="pages are counted from 1")
@trusted("read")
@mock
def orders_page(page: int) -> list[Order]:
    """A page of all orders, 25 a page, counted from 1; a page after the last one is empty."""
    return list(_ORDERS[(page - 1) * PAGE_SIZE : page * PAGE_SIZE])


@nothing_to_undo
@ensures(lambda result: all(i.quantity >= 1 and i.unit_cents >= 0 for i in result))
@ensures(lambda order_id, result: all(i.order_id == order_id for i in result))
@ensures(lambda result: len(result) <= MOST_ITEMS)
@trusted("read")
@mock
def list_items(order_id: int) -> list[OrderItem]:
    """The lines of an order, at most 40."""
    return [item for item in _ITEMS if item.order_id == order_id]


@nothing_to_undo
@ensures(lambda status, result: all(t.status == status for t in result))
@ensures(lambda result: all("@" in t.email for t in result))
@ensures(lambda result: len(result) <= MOST_TICKETS)
@trusted("read")
@mock
def list_tickets(status: str) -> list[Ticket]:
    """The tickets with this status (open, waiting, solved), at most 100."""
    return [ticket for ticket in _TICKETS if ticket.status == status]


@nothing_to_undo
@trusted("read")
@mock
def count_tickets() -> dict[str, int]:
    """How many tickets there are, by status."""
    counts: dict[str, int] = {}
    for ticket in _TICKETS:
        counts[ticket.status] = counts.get(ticket.status, 0) + 1
    return counts


@nothing_to_undo
@trusted("read")
@mock
def tickets_after(cursor: str) -> tuple[list[Ticket], str]:
    """Up to 50 tickets and the cursor of the next call; start with "", the last page gives ""."""
    if cursor == "":
        return list(_TICKETS[:2]), "2"
    return list(_TICKETS[2:]), ""


@nothing_to_undo
@ensures(lambda paid, result: all(i.paid == paid for i in result))
@ensures(lambda result: all("@" in i.email and i.amount_cents > 0 for i in result))
@ensures(lambda result: len(result) <= MOST_INVOICES)
@trusted("read")
@mock
def list_invoices(paid: bool) -> list[Invoice]:
    """The invoices that are paid, or those that are not, at most 300."""
    return [invoice for invoice in _INVOICES if invoice.paid == paid]


@nothing_to_undo
@ensures(lambda result: all("@" in p.supplier_email for p in result))
@ensures(lambda result: all(p.stock >= 0 and p.minimum >= 0 and p.price_cents > 0 for p in result))
@ensures(lambda result: len(result) <= MOST_PRODUCTS)
@trusted("read")
@mock
def list_products() -> list[Product]:
    """All products, at most 400."""
    return list(_PRODUCTS)


@nothing_to_undo
@ensures(lambda folder, result: all(f.path.startswith(folder + "/") for f in result))
@ensures(lambda result: all(has_no_parent_segments(f.path) and f.size_bytes >= 0 for f in result))
@ensures(lambda result: len(result) <= MOST_FILES)
@trusted("read")
@mock
def list_files(folder: str) -> list[FileEntry]:
    """The files in a folder of the shared drive such as /shared/tmp, at most 1000."""
    return [entry for entry in _FILES if entry.path.startswith(folder + "/")]


@nothing_to_undo
@trusted("read")
@mock
def read_file(path: str) -> str:
    """The text of a file; raises FileNotFoundError if there is none."""
    if path not in _TEXTS:
        raise FileNotFoundError(path)
    return _TEXTS[path]


@nothing_to_undo
@ensures(lambda result: all("@" in e.email and "@" in e.manager_email for e in result))
@ensures(lambda team, result: all(e.team == team for e in result))
@ensures(lambda result: len(result) <= MOST_EMPLOYEES)
@trusted("read")
@mock
def list_employees(team: str) -> list[Employee]:
    """The people of a team (sales, support, ...), at most 50. `hours` are those of this week."""
    return [employee for employee in _EMPLOYEES if employee.team == team]


@nothing_to_undo
@ensures(lambda account, result: all(t.account == account for t in result))
@ensures(lambda result: len(result) <= MOST_TRANSACTIONS)
@trusted("read")
@mock
def list_transactions(account: str) -> list[Transaction]:
    """The movements on an account this month, oldest first, at most 500."""
    return [entry for entry in _TRANSACTIONS if entry.account == account]


@nothing_to_undo
@trusted("read")
@mock
def get_balance(account: str) -> int:
    """The balance of an account (main, petty_cash, payroll) in cents; may be negative."""
    return _BALANCES.get(account, 0)


@nothing_to_undo
@ensures(lambda result: 0 <= result and result <= 30)
@trusted("read")
@mock
def tax_percent(region: str) -> int:
    """The sales tax of a region, in percent: 0 to 30."""
    return {"EU": 20, "US": 8}.get(region, 0)


@nothing_to_undo
@ensures(lambda result: result > 0.0)
@trusted("net")
@mock
def exchange_rate(currency: str) -> float:
    """How many of a currency one dollar buys; raises ConnectionError if the bank does not answer."""
    if currency not in _FAILED_ONCE:
        _FAILED_ONCE.add(currency)
        raise ConnectionError("the bank does not answer")
    return {"EUR": 0.91, "GBP": 0.78}.get(currency, 1.0)


# Acting


@requires(lambda to: "@" in to, message="to is an e-mail address")
@requires(lambda subject: len(subject) > 0, message="there is a subject")
@trusted("net")
@mock
def send_email(to: str, subject: str, body: str) -> None:
    """Sends a mail to one address. The subject must not be empty."""
    print(f"mail to {to}: {subject}\n{body}")


@requires(lambda channel: channel.startswith("#"), message="a channel starts with #")
@trusted("net")
@mock
def post_message(channel: str, text: str) -> None:
    """Posts a text to a chat channel such as #sales."""
    print(f"{channel}: {text}")


@trusted("write")
@mock
def log(text: str) -> None:
    """Writes a line to the log of the office."""
    print(f"log: {text}")


@requires(lambda cents: cents > 0, message="a refund is more than nothing")
@trusted("money")
@mock
def refund(order_id: int, cents: int) -> str:
    """Pays back some or all of an order, more than 0 cents; returns a reference."""
    print(f"refund {order_id}: {cents}")
    return f"R{order_id}"


@requires(lambda cents: cents > 0, message="a charge is more than nothing")
@trusted("money")
@mock
def charge(customer_id: int, cents: int, memo: str) -> str:
    """Charges a customer's card, more than 0 cents; returns a reference. Raises ConnectionError if the bank does not answer."""
    if memo not in _FAILED_ONCE:
        _FAILED_ONCE.add(memo)
        raise ConnectionError("the bank does not answer")
    print(f"charge {customer_id}: {cents} for {memo}")
    return f"C{customer_id}"


@requires(lambda cents: cents > 0, message="a transfer is more than nothing")
@trusted("money")
@mock
def transfer(source: str, target: str, cents: int) -> None:
    """Moves more than 0 cents between two of our accounts."""
    print(f"transfer {source} -> {target}: {cents}")


@requires(lambda cents: cents > 0, message="an invoice is about more than nothing")
@trusted("write")
@mock
def create_invoice(customer_id: int, cents: int, memo: str) -> str:
    """Writes an invoice of more than 0 cents; returns its number."""
    print(f"invoice {customer_id}: {cents} for {memo}")
    return f"2026-{customer_id:03}"


@trusted("write")
@mock
def set_order_status(order_id: int, status: str) -> None:
    """Gives an order a status: open, shipped, cancelled or returned."""
    print(f"order {order_id} is {status}")


@trusted("write")
@mock
def close_ticket(ticket_id: int, note: str) -> None:
    """Closes a ticket with a note."""
    print(f"ticket {ticket_id} closed: {note}")


@trusted("write")
@mock
def assign_ticket(ticket_id: int, assignee: str) -> None:
    """Gives a ticket to somebody."""
    print(f"ticket {ticket_id} for {assignee}")


@requires(lambda priority: 1 <= priority and priority <= 4, message="priorities are 1 to 4")
@trusted("write")
@mock
def set_priority(ticket_id: int, priority: int) -> None:
    """Gives a ticket a priority, 1 (urgent) to 4."""
    print(f"ticket {ticket_id} has priority {priority}")


@requires(lambda tag: len(tag) > 0, message="a tag has a text")
@trusted("write")
@mock
def tag_customer(customer_id: int, tag: str) -> None:
    """Puts a tag on a customer."""
    print(f"customer {customer_id} is {tag}")


@requires(lambda quantity: quantity > 0, message="something is ordered")
@trusted("money")
@mock
def reorder(sku: str, quantity: int) -> None:
    """Orders more of a product, at least 1."""
    print(f"reorder {quantity} of {sku}")


@requires(lambda cents: cents > 0, message="nothing is free")
@trusted("write")
@mock
def set_price(sku: str, cents: int) -> None:
    """Changes the price of a product, more than 0 cents."""
    print(f"{sku} costs {cents}")


@requires(lambda path: len(path) > 0, message="there is a path")
@trusted("write")
@mock
def delete_file(path: str) -> None:
    """Deletes a file of the shared drive."""
    print(f"delete {path}")


@requires(lambda path: len(path) > 0, message="there is a path")
@trusted("write")
@mock
def write_file(path: str, text: str) -> None:
    """Writes a file of the shared drive, and replaces what was there."""
    print(f"write {path}:\n{text}")


@requires(lambda title: len(title) > 0, message="a task has a title")
@trusted("write")
@mock
def create_task(assignee: str, title: str, due: str) -> None:
    """Puts a task with a title and a due day (YYYY-MM-DD) on somebody's list."""
    print(f"task for {assignee} until {due}: {title}")
