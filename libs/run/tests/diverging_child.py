"""A runner's child that is given another document than the front-end makes: what a defect of the prover looks like.

Started in place of Python (`sys.executable`), with the arguments that the runner gives it.
"""

from __future__ import annotations

import stat
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lictor_ir.document import Document
from lictor_ir.json.document import from_json, to_json
from lictor_run import child
from lictor_run.stale_approval import read_again

if TYPE_CHECKING:
    import pytest


def give_document(document: Document, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Children that are started from now on follow this document, whatever their program is."""
    known = folder / "document.json"
    known.write_bytes(to_json(document))
    script = folder / "diverging-python"
    here = str(Path(__file__).parent)
    script.write_text(
        f"#!{sys.executable} -IXutf8\n"
        f"import sys\nsys.path.append({here!r})\n"
        f"import diverging_child\ndiverging_child.main({str(known)!r}, sys.argv[-2:])\n"
    )
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setattr(sys, "executable", str(script))


def main(known: str, arguments: list[str]) -> None:
    """As the child's own `main`."""
    document = from_json(Path(known).read_bytes())

    def other_document(*given: Any) -> Any:
        return replace(read_again(*given), document=document)

    child.read_again = other_document  # pyright: ignore[reportPrivateImportUsage] -- that is what is played
    child.main(arguments)
