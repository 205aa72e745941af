"""What programs may do with mail. The bodies only print; a real layer would talk to a mail server."""

from tools.mail.trusted.schemas import Contact

from lictor_layer import ensures, mock, nothing_to_undo, requires, trusted

MOST_CONTACTS = 50

_BOOK = (
    Contact(name="Ada", email="ada@example.com", mailing_list="newsletter"),
    Contact(name="Bob", email="bob@example.com", mailing_list="newsletter"),
    Contact(name="Eve", email="eve@example.com", mailing_list="security"),
)


@nothing_to_undo
@ensures(lambda result: len(result) <= MOST_CONTACTS)
@trusted("read")
@mock
def list_contacts(mailing_list: str) -> list[Contact]:
    """The contacts on a mailing list, at most 50."""
    return [contact for contact in _BOOK if contact.mailing_list == mailing_list]


@requires(lambda addr: "@" in addr, message="addr is an e-mail address")
@requires(lambda text: len(text) > 0, message="there is a text")
@trusted("net")
@mock
def send_mail(addr: str, name: str, text: str) -> None:
    """Sends a text to an address, with a greeting by name."""
    print(f"to {addr}: Dear {name}, {text}")
