# The verdict: proved
from tools.mail.trusted import contracts as mail
from tools.mail.trusted.effects import list_contacts, send_mail

from lictor_layer import guarantee


@guarantee(mail.to_contacts())
@guarantee(mail.at_most(50))
def main() -> None:
    for contact in list_contacts("newsletter"):
        if "@" in contact.email:
            send_mail(contact.email, contact.name, "the new issue is out.")
