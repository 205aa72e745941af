"""Find movements that look booked twice, and tell the accountant."""

from tools.office.trusted import contracts
from tools.office.trusted.effects import list_transactions, send_email

from lictor_layer import guarantee

ACCOUNTANT = "accounting@office.example"


@guarantee(contracts.mails_only_to(["accounting@office.example"]))
@guarantee(contracts.at_most_mails(1))
@guarantee(contracts.no_money())
def main() -> None:
    seen = {}
    duplicates = []
    for entry in list_transactions("main"):
        key = (entry.day, entry.cents, " ".join(entry.memo.lower().split()))
        if key in seen:
            duplicates.append((seen[key], entry))
        else:
            seen[key] = entry

    if not duplicates:
        return
    lines = [
        f"{first.id} and {second.id}: {second.memo} {second.cents / 100:.2f} on {second.day}"
        for first, second in duplicates
    ]
    send_email(ACCOUNTANT, f"{len(duplicates)} possible duplicates", "\n".join(lines))
