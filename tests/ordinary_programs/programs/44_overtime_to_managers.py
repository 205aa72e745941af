"""Tell managers who of their people worked more than 40 hours this week."""

from tools.office.trusted import contracts
from tools.office.trusted.effects import list_employees, send_email

from lictor_layer import guarantee

LIMIT_HOURS = 40.0


@guarantee(contracts.mails_only_to_managers())
@guarantee(contracts.one_mail_per_address())
def main() -> None:
    overtime: dict[str, list[str]] = {}
    for team in ["sales", "support", "warehouse"]:
        for employee in list_employees(team):
            extra = employee.hours - LIMIT_HOURS
            if extra > 0:
                overtime.setdefault(employee.manager_email, []).append(
                    f"{employee.name} ({team}): {extra:.1f} hours over"
                )

    for manager, lines in overtime.items():
        send_email(manager, "Overtime in your team", "\n".join(lines))
