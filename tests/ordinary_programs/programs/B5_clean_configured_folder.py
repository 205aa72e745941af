"""Delete old temporary files from the configured folder."""

from tools.office.trusted import contracts
from tools.office.trusted.effects import delete_file, get_setting, list_files, log

from lictor_layer import guarantee

DEFAULT_FOLDER = "/shared/tmp"


@guarantee(contracts.deletes_only_under("/shared/tmp"))
def main() -> None:
    folder = get_setting("temp_folder") or DEFAULT_FOLDER
    deleted = 0
    for entry in list_files(folder):
        if entry.modified < "2026-01-01":
            delete_file(entry.path)
            deleted += 1
    log(f"Deleted {deleted} files from {folder}")
