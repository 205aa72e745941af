"""A certificate that was kept from an earlier proof: whether it shows that all goals of a document hold.

Where it was kept is not believed. The document is the one that the front-end made just now, so the certificate must
carry exactly that, and the checker must follow every goal itself (level c): that solvers said so once is only the word
of whoever wrote the file. Checking is done in a child, because nobody knows who that was.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from lictor_ir.certificate.check import check_names, shown, weakest
from lictor_ir.certificate.format import FrontEnd, Level, name_of, read
from lictor_ir.document import Document
from lictor_ir.errors import IrError
from lictor_ir.forked_child import Forked, Tell
from lictor_ir.json.document import to_json

CHECK_S: Final = 10.0
MEMORY_MB: Final = 1_024
_SHOWN: Final = b"shown"


@dataclass(frozen=True, slots=True)
class KeptCertificate:
    """A file, the name under which it was kept, and what it should have been made of."""

    hash: str
    data: bytes
    front_end: FrontEnd


def why_not_shown(
    kept: KeptCertificate, document: Document, limit_s: float = CHECK_S
) -> str | None:
    """Why a kept certificate can't be relied on for the goals of a document; None when it shows them all."""

    def work(tell: Tell) -> None:
        tell(_why_not(kept, document).encode() or _SHOWN)

    with Forked(work, MEMORY_MB) as child:
        try:
            told = child.told(limit_s)
        except TimeoutError:
            return f"it was not checked within {limit_s:g} s"
    if told is None:
        return "the process that checked it broke off"
    return None if told == _SHOWN else told.decode()


def _why_not(kept: KeptCertificate, document: Document) -> str:
    try:
        if name_of(kept.data) != kept.hash:
            return "it has another name than the one under which it was kept"
        certificate = read(kept.data)
        if certificate.front_end is not kept.front_end:
            return f"it is about a {certificate.front_end}, not about a {kept.front_end}"
        if certificate.ir != to_json(document):
            return "the program does not become the Effect IR that it carries"
        check_names(certificate, document)
        level = weakest(each.level for each in shown(document, certificate)[1])
    except IrError as error:
        return f"it is refused: {error}"
    except (MemoryError, RecursionError):
        return "it is deeper or larger than is checked"
    except Exception as error:  # noqa: BLE001 -- whatever a file does to the checker, it shows nothing
        return f"it could not be checked: {type(error).__name__}: {error}"
    return "" if level is Level.C else f"it shows level {level}, and rests on what solvers said"
