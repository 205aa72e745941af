from tools.office.trusted import contracts
from tools.office.trusted.effects import list_tickets, post_message

from lictor_layer import guarantee


def channel_for(priority: int) -> str:
    match priority:
        case 1:
            return "#urgent"
        case 2 | 3:
            return "#support"
        case _:
            return "#later"


@guarantee(contracts.posts_only_to(["#urgent", "#support", "#later"]))
@guarantee(contracts.at_most_posts(100))
def main() -> None:
    for ticket in list_tickets("open"):
        post_message(channel_for(ticket.priority), f"#{ticket.id}: {ticket.subject}")
