"""Turn the TODO lines of the notes into tasks for kim, 20 at most."""

from tools.office.trusted import contracts
from tools.office.trusted.effects import create_task, read_file, today

from lictor_layer import guarantee

NOTES = "/shared/reports/notes.txt"
PREFIX = "TODO:"


@guarantee(contracts.tasks_only_for(["kim"]))
@guarantee(contracts.at_most_tasks(20))
@guarantee(contracts.deletes_nothing())
def main() -> None:
    titles = []
    for line in read_file(NOTES).splitlines():
        line = line.strip()
        if line.startswith(PREFIX):
            title = line.removeprefix(PREFIX).strip()
            if title:
                titles.append(title)

    due = today()
    for title in titles[:20]:
        create_task("kim", title, due)
