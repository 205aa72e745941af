"""Delete copies such as "q1 (copy).pdf" from the reports, if the original is still there."""

from tools.office.trusted import contracts
from tools.office.trusted.effects import delete_file, list_files, log

from lictor_layer import guarantee

FOLDER = "/shared/reports"
MARK = " (copy)"


@guarantee(contracts.deletes_only_under("/shared/reports"))
@guarantee(contracts.log_before_deleting())
@guarantee(contracts.at_most_deletes(1000))
def main() -> None:
    files = list_files(FOLDER)
    names = {file.name for file in files}
    copies = [f for f in files if MARK in f.name and f.name.replace(MARK, "") in names]
    if not copies:
        log("No copies found")
        return

    log(f"Deleting {len(copies)} copies")
    for copy in copies:
        delete_file(copy.path)
