"""Mail the hours of the support team to payroll, sorted by name, with total and average."""

from tools.office.trusted import contracts
from tools.office.trusted.effects import list_employees, send_email, today

from lictor_layer import guarantee


@guarantee(contracts.mails_only_to(["payroll@office.example"]))
@guarantee(contracts.exactly_mails(1))
def main() -> None:
    team = sorted(list_employees("support"), key=lambda e: e.name)
    total = sum(e.hours for e in team)
    average = total / len(team) if team else 0.0

    report = []
    for employee in team:
        flag = " *" if employee.hours > 40 else ""
        report.append(f"{employee.name:.<30}{employee.hours:6.2f}{flag}")
    report.append(f"{'Total':.<30}{total:6.2f}")
    report.append(f"{'Average':.<30}{round(average, 2):6.2f}")

    send_email("payroll@office.example", f"Hours of support, {today()}", "\n".join(report))
