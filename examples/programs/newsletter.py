"""Writes to everybody on the newsletter. It is proved to keep its promises:

lictor prove examples/programs/newsletter.py --import-root examples/layers
"""

from tools.mail.trusted import contracts as mail
from tools.mail.trusted.effects import list_contacts, send_mail

from lictor_layer import guarantee


@guarantee(mail.only_list("newsletter"))
@guarantee(mail.to_contacts())
@guarantee(mail.at_most(50))
def main() -> None:
    for contact in list_contacts("newsletter"):
        if "@" in contact.email:
            send_mail(contact.email, contact.name, "the new issue is out.")
