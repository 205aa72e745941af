from tools.office.trusted import contracts
from tools.office.trusted.effects import list_tickets, post_message

from lictor_layer import guarantee


@guarantee(contracts.posts_only_to(["#support"]))
@guarantee(contracts.at_most_posts(1))
@guarantee(contracts.closes_no_ticket())
def main() -> None:
    tickets = list_tickets("open") + list_tickets("waiting")
    if not tickets:
        return
    oldest = min(tickets, key=lambda t: t.opened)
    owner = oldest.assignee or "nobody"
    post_message(
        "#support",
        f"Oldest ticket: #{oldest.id} '{oldest.subject}' since {oldest.opened}, assigned to {owner}",
    )
