from tools.office.trusted import contracts
from tools.office.trusted.effects import get_setting, list_tickets, log, post_message

from lictor_layer import guarantee


@guarantee(contracts.posts_only_to(["#support"]))
@guarantee(contracts.at_most_posts(1))
@guarantee(contracts.changes_nothing())
def main() -> None:
    enabled = get_setting("digest_enabled").strip().lower() in ("yes", "true", "1", "on")
    if not enabled:
        log("The digest is switched off")
        return

    open_count = len(list_tickets("open"))
    waiting_count = len(list_tickets("waiting"))
    post_message("#support", f"{open_count} open, {waiting_count} waiting")
