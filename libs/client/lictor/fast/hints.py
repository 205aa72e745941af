"""A connection that only listens: something was stored that may end a wait.

What is heard is not read, and nothing is believed because of it. Whoever can't hear goes on after its time.
"""

import time

from lictor.fast.nats_wire import Broken, Connection

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


class Hints(Connection):
    """Listens to one subject at a time; what is said between two waits ends the second at once."""

    def __init__(self, where: "str | Callable[[], str | None]", *, name: str = "lictor") -> None:
        super().__init__(where, name=name)
        self._subject = ""

    def __enter__(self) -> "Hints":
        return self

    def heard(self, subject: str, seconds: float) -> None:
        """Return when something is said on a subject, at the latest after so long."""
        until = time.monotonic() + seconds
        try:
            if subject != self._subject:
                self.close()
            if self._socket is None:
                self._connect(until)
                self._send(f"SUB {subject} 2\r\n".encode(), until)
                self._subject = subject
            while not self._is_hint(until):
                pass
        except TimeoutError:
            # Of a line that came in part, the rest is still to come.
            return
        except (Broken, OSError, ValueError):
            self.close()
            time.sleep(max(0.0, until - time.monotonic()))

    def _is_hint(self, until: float) -> bool:
        """Take a line of the server's."""
        line = self._line(until)
        word, _, rest = line.partition(b" ")
        if word in (b"MSG", b"HMSG"):
            size = rest.rpartition(b" ")[2]
            if not size.isdigit():
                raise Broken("the broker does not speak NATS")
            try:
                self._exactly(int(size) + 2, until)
            except TimeoutError:
                raise Broken("a message did not come whole") from None
            return True
        if word == b"PING":
            self._send(b"PONG\r\n", until)
        elif word == b"-ERR":
            raise Broken("the broker does not let us listen")
        return False
