from tools.office.trusted import contracts
from tools.office.trusted.effects import list_files, log

from lictor_layer import guarantee

FOLDERS = ["/shared/tmp", "/shared/reports", "/shared/exports"]


def human_size(size: float) -> str:
    for unit in ("B", "KB", "MB", "GB"):
        if size < 1024:
            return f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} TB"


@guarantee(contracts.only_reads_and_logs())
@guarantee(contracts.at_most_log_lines(4))
def main() -> None:
    grand_total = 0
    for folder in FOLDERS:
        files = list_files(folder)
        used = sum(f.size_bytes for f in files)
        grand_total += used
        largest = max(files, key=lambda f: f.size_bytes).name if files else "-"
        log(f"{folder}: {len(files)} files, {human_size(used)}, largest: {largest}")
    log(f"All folders: {human_size(grand_total)}")
