"""What programs may promise about mail."""

from tools.mail.trusted.effects import list_contacts, send_mail
from tools.mail.trusted.schemas import Contact

from lictor_layer import Spec, contract, effect, no_guarantees, same_row

Send = effect(send_mail)
Read = effect(list_contacts)

LONGEST_TEXT = 500


@contract(description="Mail goes only to {addresses}.")
def only_to(addresses: list[str]) -> Spec:
    """Every mail goes to one of these addresses."""
    return Send.all(lambda e: e.addr in addresses)


@contract(
    description="Mail goes only to people in the address book, each greeted by their own name."
)
def to_contacts() -> Spec:
    """Address and name of every mail are columns of one and the same contact."""
    return Send.all(lambda e: same_row((e.addr, Contact.email), (e.name, Contact.name)))


@contract(description="At most {count} mails are sent.")
def at_most(count: int) -> Spec:
    """A bound on the number of mails."""
    return Send.count() <= count


@contract(description="Only the mailing list {mailing_list} is read.")
def only_list(mailing_list: str) -> Spec:
    """No other mailing list is read."""
    return Read.all(lambda e: e.mailing_list == mailing_list)


@contract(description="No mail is longer than 500 characters.")
def short_texts() -> Spec:
    """The layer requires this of every program that sends mail."""
    return Send.all(lambda e: len(e.text) <= LONGEST_TEXT)


@contract(description="Nothing is promised about mail.")
def nothing_promised() -> Spec:
    """Says so, instead of saying nothing."""
    return no_guarantees()
