"""What the address book holds."""

from lictor_layer import Row


class Contact(Row):
    """A person who asked for mail."""

    name: str
    email: str
    mailing_list: str
