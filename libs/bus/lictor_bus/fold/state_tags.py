"""Tags on what a service keeps in Redis: whoever can write there, and lacks the service's key, can't make one.

A tag is a keyed BLAKE2b digest (RFC 7693) over everything that says what a value means: whose it is, of what, as of
where in the stream. So a value that was invented, shortened, or moved from one place to another is found when it is
read. A genuine value that is put back later has a genuine tag: against that, whoever reads compares its position.
"""

import hashlib
import hmac
import logging
from collections.abc import Callable

from lictor_bus.errors import ForgedState

log = logging.getLogger("lictor.state")

TAG_BYTES = 16


class StateTags:
    """Makes and checks the tags of one service, and raises the alarm for wrong ones.

    Without a key they are made with one that everybody knows: damage is found, forgery is not.
    """

    def __init__(self, key: bytes, service: str, alarm: Callable[[], None] = lambda: None) -> None:
        own = hashlib.blake2b(service.encode(), key=hashlib.blake2b(key).digest()).digest()
        self._fresh = hashlib.blake2b(key=own, digest_size=TAG_BYTES)
        self._alarm = alarm

    def tag(self, *parts: bytes) -> bytes:
        """The tag of these parts, in this order."""
        digest = self._fresh.copy()
        # With their lengths in front, or one part could borrow from the next.
        digest.update(b"%a;" % ([*map(len, parts)],))
        digest.update(b"".join(parts))
        return digest.digest()

    def fits(self, tag: bytes, *parts: bytes) -> bool:
        """Whether this is their tag."""
        return hmac.compare_digest(tag, self.tag(*parts))

    def forged(self, what: str) -> ForgedState:
        """Count and log that something was changed behind our back; the error to raise."""
        self._alarm()
        log.error("ALARM: %s", what)
        return ForgedState(what)
