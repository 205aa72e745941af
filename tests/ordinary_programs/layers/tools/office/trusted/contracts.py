"""What programs of the back office may promise."""

from tools.office.trusted.effects import (
    assign_ticket,
    charge,
    close_ticket,
    create_invoice,
    create_task,
    delete_file,
    log,
    post_message,
    refund,
    reorder,
    send_email,
    set_order_status,
    set_price,
    set_priority,
    tag_customer,
    transfer,
    write_file,
)
from tools.office.trusted.schemas import (
    Customer,
    Employee,
    FileEntry,
    Invoice,
    Order,
    Product,
    Ticket,
)

from lictor_layer import Spec, contract, effect, has_no_parent_segments, same_row

Mail = effect(send_email)
Post = effect(post_message)
Log = effect(log)
Refund = effect(refund)
Charge = effect(charge)
Transfer = effect(transfer)
Bill = effect(create_invoice)
OrderStatus = effect(set_order_status)
Close = effect(close_ticket)
Assign = effect(assign_ticket)
Priority = effect(set_priority)
Tag = effect(tag_customer)
Reorder = effect(reorder)
Price = effect(set_price)
Delete = effect(delete_file)
Write = effect(write_file)
Task = effect(create_task)
Money = effect(refund, charge, transfer, create_invoice)
Changes = effect(
    refund,
    charge,
    transfer,
    create_invoice,
    set_order_status,
    close_ticket,
    assign_ticket,
    set_priority,
    tag_customer,
    reorder,
    set_price,
    delete_file,
    write_file,
    create_task,
)


# Mail


@contract(description="Mail goes only to {addresses}.")
def mails_only_to(addresses: list[str]) -> Spec:
    """Every mail goes to one of these addresses."""
    return Mail.all(lambda e: e.to in addresses)


@contract(description="Mail goes only to addresses that end with {domain}.")
def mails_only_to_domain(domain: str) -> Spec:
    """Every address ends with this."""
    return Mail.all(lambda e: e.to.endswith(domain))


@contract(description="Mail goes only to addresses of customers.")
def mails_only_to_customers() -> Spec:
    """Every address is the email of a customer that was read."""
    return Mail.all(lambda e: e.to == Customer.email)


@contract(description="Mail goes only to the addresses of orders that were read.")
def mails_only_to_buyers() -> Spec:
    """Every address is the email of an order."""
    return Mail.all(lambda e: e.to == Order.email)


@contract(description="Mail goes only to the addresses of invoices that were read.")
def mails_only_to_debtors() -> Spec:
    """Every address is the email of an invoice."""
    return Mail.all(lambda e: e.to == Invoice.email)


@contract(description="Mail goes only to people who wrote a ticket.")
def mails_only_to_ticket_authors() -> Spec:
    """Every address is the email of a ticket."""
    return Mail.all(lambda e: e.to == Ticket.email)


@contract(description="Mail goes only to employees.")
def mails_only_to_employees() -> Spec:
    """Every address is the email of an employee."""
    return Mail.all(lambda e: e.to == Employee.email)


@contract(description="Mail goes only to managers of employees.")
def mails_only_to_managers() -> Spec:
    """Every address is the manager_email of an employee."""
    return Mail.all(lambda e: e.to == Employee.manager_email)


@contract(description="Mail goes only to suppliers of our products.")
def mails_only_to_suppliers() -> Spec:
    """Every address is the supplier_email of a product."""
    return Mail.all(lambda e: e.to == Product.supplier_email)


@contract(description="At most {count} mails are sent.")
def at_most_mails(count: int) -> Spec:
    """A bound on the number of mails."""
    return Mail.count() <= count


@contract(description="Exactly {count} mails are sent.")
def exactly_mails(count: int) -> Spec:
    """The number of mails of a run that completes."""
    return Mail.count() == count


@contract(description="Nobody gets two mails.")
def one_mail_per_address() -> Spec:
    """No two mails go to the same address."""
    return Mail.distinct(lambda e: e.to)


@contract(description="No mail is sent.")
def no_mail() -> Spec:
    """Nobody gets mail."""
    return Mail.empty()


@contract(description="Every mail has the subject {subject}.")
def subject_is(subject: str) -> Spec:
    """The subject is fixed."""
    return Mail.all(lambda e: e.subject == subject)


@contract(description="No mail has a body of more than {characters} characters.")
def bodies_at_most(characters: int) -> Spec:
    """A bound on the length of each mail."""
    return Mail.all(lambda e: len(e.body) <= characters)


# Messages and the log


@contract(description="Messages are posted only to {channels}.")
def posts_only_to(channels: list[str]) -> Spec:
    """No other channel gets a message."""
    return Post.all(lambda e: e.channel in channels)


@contract(description="At most {count} messages are posted.")
def at_most_posts(count: int) -> Spec:
    """A bound on the number of messages."""
    return Post.count() <= count


@contract(description="Exactly {count} messages are posted.")
def exactly_posts(count: int) -> Spec:
    """The number of messages of a run that completes."""
    return Post.count() == count


@contract(description="No message is longer than {characters} characters.")
def posts_at_most_long(characters: int) -> Spec:
    """A bound on the length of each message."""
    return Post.all(lambda e: len(e.text) <= characters)


@contract(description="Nothing is posted.")
def no_posts() -> Spec:
    """No channel gets a message."""
    return Post.empty()


@contract(description="At least one line is logged.")
def something_is_logged() -> Spec:
    """Holds of runs that complete."""
    return Log.count() >= 1


@contract(description="At most {count} lines are logged.")
def at_most_log_lines(count: int) -> Spec:
    """A bound on the number of lines."""
    return Log.count() <= count


@contract(description="Nothing is changed: no money, orders, tickets, customers, products, files or tasks.")
def changes_nothing() -> Spec:
    """The program reads, and at most tells somebody."""
    return Changes.empty()


@contract(description="The program only reads, and writes to the log.")
def only_reads_and_logs() -> Spec:
    """No change, no mail, no message."""
    return Changes.empty() & Mail.empty() & Post.empty()


# Money


@contract(description="No money is moved and no invoice is written.")
def no_money() -> Spec:
    """No refund, no charge, no transfer, no invoice."""
    return Money.empty()


@contract(description="Nobody is charged.")
def no_charge() -> Spec:
    """No card is charged."""
    return Charge.empty()


@contract(description="Refunds go only to orders that were read.")
def refunds_only_listed_orders() -> Spec:
    """Every order_id is the id of an order."""
    return Refund.all(lambda e: e.order_id == Order.id)


@contract(description="Each refund is the whole total of its own order.")
def refunds_are_order_totals() -> Spec:
    """Order and amount come from one and the same order."""
    return Refund.all(lambda e: same_row((e.order_id, Order.id), (e.cents, Order.total_cents)))


@contract(description="No refund is more than {cents} cents.")
def each_refund_at_most(cents: int) -> Spec:
    """A bound on each refund."""
    return Refund.all(lambda e: e.cents <= cents)


@contract(description="All refunds together are at most {cents} cents.")
def refunds_in_sum_at_most(cents: int) -> Spec:
    """A bound on the sum."""
    return Refund.sum(lambda e: e.cents) <= cents


@contract(description="At most {count} refunds are made.")
def at_most_refunds(count: int) -> Spec:
    """A bound on the number of refunds."""
    return Refund.count() <= count


@contract(description="No order is refunded twice.")
def no_order_refunded_twice() -> Spec:
    """No two refunds have the same order."""
    return Refund.distinct(lambda e: e.order_id)


@contract(description="No charge is more than {cents} cents.")
def each_charge_at_most(cents: int) -> Spec:
    """A bound on each charge."""
    return Charge.all(lambda e: e.cents <= cents)


@contract(description="At most {count} charges are tried.")
def at_most_charges(count: int) -> Spec:
    """A bound on the number of charges, failed ones included."""
    return Charge.count() <= count


@contract(description="Only customers of orders that were read are charged.")
def charges_only_buyers() -> Spec:
    """Every customer_id is that of an order."""
    return Charge.all(lambda e: e.customer_id == Order.customer_id)


@contract(description="Money moves only from {source} to {target}.")
def transfers_only(source: str, target: str) -> Spec:
    """No other accounts are touched."""
    return Transfer.all(lambda e: e.source == source and e.target == target)


@contract(description="All transfers together are at most {cents} cents.")
def transfers_in_sum_at_most(cents: int) -> Spec:
    """A bound on the sum."""
    return Transfer.sum(lambda e: e.cents) <= cents


@contract(description="At most {count} transfers are made.")
def at_most_transfers(count: int) -> Spec:
    """A bound on the number of transfers."""
    return Transfer.count() <= count


@contract(description="Invoices are written only for customers of orders that were read.")
def invoices_only_buyers() -> Spec:
    """Every customer_id is that of an order."""
    return Bill.all(lambda e: e.customer_id == Order.customer_id)


@contract(description="At most {count} invoices are written.")
def at_most_invoices(count: int) -> Spec:
    """A bound on the number of invoices."""
    return Bill.count() <= count


# Orders, tickets, customers, products, tasks


@contract(description="Orders only get a status of {statuses}.")
def order_status_only(statuses: list[str]) -> Spec:
    """No other status is set."""
    return OrderStatus.all(lambda e: e.status in statuses)


@contract(description="Only orders that were read get another status.")
def only_listed_orders_change() -> Spec:
    """Every order_id is the id of an order."""
    return OrderStatus.all(lambda e: e.order_id == Order.id)


@contract(description="Only tickets that were read are closed.")
def closes_only_listed_tickets() -> Spec:
    """Every ticket_id is the id of a ticket."""
    return Close.all(lambda e: e.ticket_id == Ticket.id)


@contract(description="At most {count} tickets are closed.")
def at_most_closed(count: int) -> Spec:
    """A bound on the number of tickets that are closed."""
    return Close.count() <= count


@contract(description="No ticket is closed.")
def closes_no_ticket() -> Spec:
    """Tickets stay open."""
    return Close.empty()


@contract(description="No ticket is closed before somebody got a mail.")
def mail_before_closing() -> Spec:
    """Each closing has a mail before it."""
    return Mail.before(Close)


@contract(description="Tickets are assigned only to {people}.")
def assigns_only_to(people: list[str]) -> Spec:
    """Nobody else gets a ticket."""
    return Assign.all(lambda e: e.assignee in people)


@contract(description="Only tickets that were read are assigned.")
def assigns_only_listed_tickets() -> Spec:
    """Every ticket_id is the id of a ticket."""
    return Assign.all(lambda e: e.ticket_id == Ticket.id)


@contract(description="Tickets only get the priority {priority}.")
def priority_only(priority: int) -> Spec:
    """No other priority is set."""
    return Priority.all(lambda e: e.priority == priority)


@contract(description="Customers only get the tags {tags}.")
def tags_only(tags: list[str]) -> Spec:
    """No other tag is put on anybody."""
    return Tag.all(lambda e: e.tag in tags)


@contract(description="Only customers that were read are tagged.")
def tags_only_listed_customers() -> Spec:
    """Every customer_id is the id of a customer."""
    return Tag.all(lambda e: e.customer_id == Customer.id)


@contract(description="Only products that were read are ordered.")
def reorders_only_listed_products() -> Spec:
    """Every sku is that of a product."""
    return Reorder.all(lambda e: e.sku == Product.sku)


@contract(description="At most {quantity} of a product are ordered at once.")
def each_reorder_at_most(quantity: int) -> Spec:
    """A bound on each quantity."""
    return Reorder.all(lambda e: e.quantity <= quantity)


@contract(description="At most {count} products are ordered.")
def at_most_reorders(count: int) -> Spec:
    """A bound on the number of orders to suppliers."""
    return Reorder.count() <= count


@contract(description="At most {quantity} pieces are ordered in all.")
def reorders_in_sum_at_most(quantity: int) -> Spec:
    """A bound on the sum of quantities."""
    return Reorder.sum(lambda e: e.quantity) <= quantity


@contract(description="No price is set below {cents} cents.")
def prices_at_least(cents: int) -> Spec:
    """A bound on each price."""
    return Price.all(lambda e: e.cents >= cents)


@contract(description="Only products that were read get another price.")
def prices_only_listed_products() -> Spec:
    """Every sku is that of a product."""
    return Price.all(lambda e: e.sku == Product.sku)


@contract(description="Tasks are given only to {people}.")
def tasks_only_for(people: list[str]) -> Spec:
    """Nobody else gets a task."""
    return Task.all(lambda e: e.assignee in people)


@contract(description="At most {count} tasks are created.")
def at_most_tasks(count: int) -> Spec:
    """A bound on the number of tasks."""
    return Task.count() <= count


# Files


@contract(description="Only files below {folder} are deleted.")
def deletes_only_under(folder: str) -> Spec:
    """No path leaves the folder."""
    return Delete.all(lambda e: e.path.startswith(folder + "/") and has_no_parent_segments(e.path))


@contract(description="Only files that were listed are deleted.")
def deletes_only_listed_files() -> Spec:
    """Every path is that of a file."""
    return Delete.all(lambda e: e.path == FileEntry.path)


@contract(description="At most {count} files are deleted.")
def at_most_deletes(count: int) -> Spec:
    """A bound on the number of files."""
    return Delete.count() <= count


@contract(description="Nothing is deleted.")
def deletes_nothing() -> Spec:
    """All files stay."""
    return Delete.empty()


@contract(description="Only {paths} are written.")
def writes_only(paths: list[str]) -> Spec:
    """No other file is written."""
    return Write.all(lambda e: e.path in paths)


@contract(description="Files are written only below {folder}.")
def writes_only_under(folder: str) -> Spec:
    """No path leaves the folder."""
    return Write.all(lambda e: e.path.startswith(folder + "/") and has_no_parent_segments(e.path))


@contract(description="At most {count} files are written.")
def at_most_writes(count: int) -> Spec:
    """A bound on the number of files."""
    return Write.count() <= count


@contract(description="Nothing is deleted before something was written to the log.")
def log_before_deleting() -> Spec:
    """Each deletion has a log line before it."""
    return Log.before(Delete)
