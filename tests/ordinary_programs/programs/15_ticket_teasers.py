from tools.office.trusted import contracts
from tools.office.trusted.effects import list_tickets, post_message

from lictor_layer import guarantee

MAX_LENGTH = 280


def truncate(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    return text[: limit - 3] + "..."


@guarantee(contracts.posts_at_most_long(280))
@guarantee(contracts.posts_only_to(["#support"]))
def main() -> None:
    for ticket in list_tickets("open"):
        message = f"[{ticket.id}] {ticket.subject.strip()}: {ticket.body}"
        post_message("#support", truncate(message, MAX_LENGTH))
