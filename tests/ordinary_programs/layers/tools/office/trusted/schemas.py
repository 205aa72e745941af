"""What the back office of a small company keeps in its tables. Days are ISO dates, amounts are cents."""

from lictor_layer import Row


class Customer(Row):
    """Somebody who buys from us."""

    id: int
    name: str
    email: str
    city: str
    segment: str
    active: bool
    last_order_day: str


class Order(Row):
    """An order; `status` is open, shipped, cancelled or returned."""

    id: int
    customer_id: int
    customer: str
    email: str
    total_cents: int
    status: str
    day: str
    due: str
    region: str


class OrderItem(Row):
    """One line of an order."""

    order_id: int
    sku: str
    quantity: int
    unit_cents: int


class Ticket(Row):
    """A support ticket; `status` is open, waiting or solved, priority 1 is the most urgent."""

    id: int
    subject: str
    body: str
    email: str
    status: str
    priority: int
    opened: str
    assignee: str


class Invoice(Row):
    """An invoice that we sent."""

    number: str
    customer_id: int
    customer: str
    email: str
    amount_cents: int
    paid: bool
    due: str


class Product(Row):
    """Something that we sell, and how much of it is in stock."""

    sku: str
    name: str
    stock: int
    minimum: int
    price_cents: int
    supplier_email: str
    discontinued: bool


class FileEntry(Row):
    """A file on the shared drive."""

    path: str
    name: str
    size_bytes: int
    modified: str


class Employee(Row):
    """Somebody who works here."""

    id: int
    name: str
    email: str
    team: str
    manager_email: str
    birthday: str
    hours: float


class Transaction(Row):
    """A movement on one of our accounts; money that leaves is negative."""

    id: int
    account: str
    cents: int
    memo: str
    day: str
