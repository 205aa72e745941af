from tools.office.trusted import contracts
from tools.office.trusted.effects import exchange_rate, log, today, write_file

from lictor_layer import guarantee

MAX_ATTEMPTS = 3
TARGET = "/shared/reports/eur_rate.txt"


@guarantee(contracts.writes_only(["/shared/reports/eur_rate.txt"]))
@guarantee(contracts.at_most_writes(1))
def main() -> None:
    for attempt in range(1, MAX_ATTEMPTS + 1):
        try:
            rate = exchange_rate("EUR")
        except ConnectionError as error:
            log(f"Attempt {attempt} of {MAX_ATTEMPTS} failed: {error}")
            continue
        write_file(TARGET, f"{today()} EUR {rate:.4f}\n")
        return
    log("Giving up: no exchange rate today")
