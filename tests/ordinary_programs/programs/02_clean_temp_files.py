from tools.office.trusted import contracts
from tools.office.trusted.effects import delete_file, list_files, log

from lictor_layer import guarantee


@guarantee(contracts.deletes_only_under("/shared/tmp"))
@guarantee(contracts.deletes_only_listed_files())
@guarantee(contracts.something_is_logged())
def main() -> None:
    deleted = 0
    freed = 0
    for entry in list_files("/shared/tmp"):
        if entry.name.endswith((".tmp", ".bak")):
            delete_file(entry.path)
            deleted += 1
            freed += entry.size_bytes
    log(f"Deleted {deleted} temporary files, freed {freed / 1024:.1f} KiB")
