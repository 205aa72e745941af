from tools.office.trusted import contracts
from tools.office.trusted.effects import get_balance, post_message

from lictor_layer import guarantee

ACCOUNTS = ("main", "petty_cash", "payroll")


@guarantee(contracts.exactly_posts(1))
@guarantee(contracts.posts_only_to(["#finance"]))
@guarantee(contracts.no_money())
def main() -> None:
    balances = {account: get_balance(account) for account in ACCOUNTS}
    overdrawn = [name for name, cents in balances.items() if cents < 0]
    lines = [f"{name.replace('_', ' ').title()}: {cents / 100:,.2f}" for name, cents in balances.items()]
    headline = f"Overdrawn: {', '.join(overdrawn)}!" if overdrawn else "All accounts are fine."
    post_message("#finance", "\n".join([headline, *lines]))


if __name__ == "__main__":
    main()
