# The verdict: refuted
# What the layer requires is demanded of a program that states nothing.
from tools.mail.trusted.effects import list_contacts, send_mail


def main() -> None:
    for contact in list_contacts("newsletter"):
        if "@" in contact.email:
            send_mail(contact.email, contact.name, contact.name)
