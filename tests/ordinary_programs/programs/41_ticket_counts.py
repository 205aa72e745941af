from tools.office.trusted import contracts
from tools.office.trusted.effects import count_tickets, post_message

from lictor_layer import guarantee


@guarantee(contracts.posts_only_to(["#support"]))
@guarantee(contracts.exactly_posts(1))
def main() -> None:
    counts = count_tickets()
    total = sum(counts.values())
    parts = [f"{status}: {counts[status]}" for status in sorted(counts)]
    post_message("#support", f"{total} tickets ({', '.join(parts)})")
