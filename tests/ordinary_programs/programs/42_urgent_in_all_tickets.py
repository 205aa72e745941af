"""Page through all tickets and post the urgent ones."""

from tools.office.trusted import contracts
from tools.office.trusted.effects import post_message, tickets_after

from lictor_layer import guarantee


@guarantee(contracts.posts_only_to(["#urgent"]))
@guarantee(contracts.at_most_posts(1))
@guarantee(contracts.changes_nothing())
def main() -> None:
    urgent = []
    cursor = ""
    while True:
        tickets, cursor = tickets_after(cursor)
        urgent.extend(t for t in tickets if t.priority == 1 and t.status != "solved")
        if not cursor:
            break

    if urgent:
        listing = "\n".join(f"#{t.id} {t.subject.strip()} ({t.email})" for t in urgent)
        post_message("#urgent", f"{len(urgent)} urgent tickets:\n{listing}")
