from tools.office.trusted import contracts
from tools.office.trusted.effects import list_employees, send_email, today
from tools.office.trusted.schemas import Employee

from lictor_layer import guarantee

TEAMS = ("support", "sales")


def has_birthday(employee: Employee, day: str) -> bool:
    return employee.birthday[5:] == day[5:]


def first_name(employee: Employee) -> str:
    return employee.name.split()[0] if employee.name.strip() else "colleague"


@guarantee(contracts.mails_only_to_employees())
@guarantee(contracts.at_most_mails(100))
@guarantee(contracts.subject_is("Happy birthday!"))
def main() -> None:
    day = today()
    for team in TEAMS:
        for employee in list_employees(team):
            if has_birthday(employee, day):
                send_email(
                    employee.email,
                    "Happy birthday!",
                    f"Dear {first_name(employee)},\n\nall the best from the {team} team!",
                )
