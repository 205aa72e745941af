"""Answer tickets that hold one of the keywords with a canned mail, then close them."""

from tools.office.trusted import contracts
from tools.office.trusted.effects import close_ticket, get_setting, list_tickets, send_email

from lictor_layer import guarantee

ANSWER = "Thank you for your message. You find the answer at https://help.office.example/returns"


@guarantee(contracts.mails_only_to_ticket_authors())
@guarantee(contracts.closes_only_listed_tickets())
@guarantee(contracts.mail_before_closing())
def main() -> None:
    keywords = [k.strip().lower() for k in get_setting("ticket_keywords").split(";") if k.strip()]
    for ticket in list_tickets("open"):
        text = f"{ticket.subject} {ticket.body}".lower()
        matches = [keyword for keyword in keywords if keyword in text]
        if not matches:
            continue
        send_email(ticket.email, f"Re: {ticket.subject.strip()}", ANSWER)
        close_ticket(ticket.id, f"Answered automatically ({', '.join(matches)})")
