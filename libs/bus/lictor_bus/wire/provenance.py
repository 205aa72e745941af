"""Whether a stored message is one of ours: every message that we store names the subject that it was stored on.

NATS puts an answer wherever the question says. So whoever may ask the broker anything can have it store its answers,
or copies of stored messages with all their headers, on any subject of the account. Such a message is **foreign**. It
is passed over, and reported once. There are three cases, told apart here and nowhere else:

* **Ours**: it names the subject that it stands on. If this version can't read it, a newer version wrote it, and
  leaving it out could change a judgement: whoever judges by it refuses (``UnreadableEntry``).
* **Foreign**: it names another subject, or has the headers that the broker gives to a copy.
* **Unnamed**: an older version wrote it, or it is foreign. Its body decides: what this version can't read is foreign,
  because every newer version names its messages.

Events and programs come from outside, through subjects that an account may map: they are judged by their bodies.
"""

import logging
from collections import Counter, OrderedDict

from lictor_bus.names.subjects import EVENT, PROGRAM, SCHEDULE, TICK, is_config_switch
from lictor_bus.wire.delivery import COPIED, Delivery, WireHeaders

log = logging.getLogger("lictor.provenance")

LOG = "Lictor-Log"
"""The header that names the subject a message was stored on."""
_LOG = LOG.encode()
_BROKERS_OWN = "Nats-Stream"
_MOST_REPORTED = 10_000

_reported: "OrderedDict[tuple[str, int], None]" = OrderedDict()
_counts: "Counter[str]" = Counter()


def is_named(stored: Delivery) -> bool:
    """Whether the message names the subject that it stands on: ours, unless it is a copy."""
    return LOG in stored.headers and not _is_elsewhere(stored)


def is_foreign(stored: Delivery) -> bool:
    """Whether the message is certainly none of ours; what is, is reported."""
    subject = stored.subject
    if subject.startswith((EVENT.prefix, PROGRAM.prefix)) and not is_config_switch(subject):
        return False
    if not _is_copy(stored) and not _is_elsewhere(stored):
        return False
    pass_over(stored, "a copy of another message, or an answer of the broker")
    return True


def pass_over(stored: Delivery, why: str) -> None:
    """Report a message that is left out: once in the log, and in the counts."""
    place = (stored.subject, stored.sequence)
    if place in _reported:
        return
    _reported[place] = None
    if len(_reported) > _MOST_REPORTED:
        _reported.popitem(last=False)
    kind = ".".join(stored.subject.split(".")[:2])
    _counts[kind] += 1
    log.warning("%s, sequence %d: passed over: %s", stored.subject[:200], stored.sequence, why)


def passed_over() -> dict[str, int]:
    """How many messages this process has passed over, by the beginning of their subjects."""
    return dict(_counts)


def _is_copy(stored: Delivery) -> bool:
    headers = stored.headers
    if isinstance(headers, WireHeaders):
        return headers.mention(_BROKERS_OWN.encode())
    # The broker's headers stand on everything that is read back; twice, if they were stored with it.
    return (_BROKERS_OWN if stored.delivery_number else COPIED) in headers


def _is_elsewhere(stored: Delivery) -> bool:
    headers = stored.headers
    if isinstance(headers, WireHeaders) and not headers.mention(_LOG):
        return False
    named = headers.get(LOG)
    if named is None or named == stored.subject:
        return False
    # The broker moves a schedule to its tick with all its headers.
    kind, _, rest = stored.subject.partition(TICK.prefix)
    return bool(kind) or named != f"{SCHEDULE.prefix}{rest}"
