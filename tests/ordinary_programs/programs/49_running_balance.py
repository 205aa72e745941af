from tools.office.trusted import contracts
from tools.office.trusted.effects import list_transactions, post_message

from lictor_layer import guarantee


@guarantee(contracts.no_money())
@guarantee(contracts.posts_only_to(["#finance"]))
@guarantee(contracts.at_most_posts(1))
def main() -> None:
    balance = 0
    lowest = 0
    lowest_day = None
    for entry in list_transactions("main"):
        balance += entry.cents
        if balance < lowest:
            lowest = balance
            lowest_day = entry.day
    if lowest_day is not None:
        post_message(
            "#finance",
            f"The main account was down to {lowest / 100:,.2f} on {lowest_day}; it is at {balance / 100:,.2f} now",
        )
