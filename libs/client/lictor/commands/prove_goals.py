"""Every goal of a proof as an SMT-LIB script: what was asked, for any solver, whatever was found."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from lictor.errors import LictorError

if TYPE_CHECKING:
    from lictor_prove.proof import Proof


def written_goals(file: Path, proof: "Proof", folder: Path) -> dict[str, Any]:
    """Write the goals of a proof to `folder/<name>-<hash>/<goal>.smt2`, and tell which could be written."""
    if proof.ir is None:
        return {"folder": None, "goals": []}
    from lictor_ir.errors import IrError
    from lictor_ir.goals import goals
    from lictor_ir.lower_smtlib import script

    digest = proof.ir.hash.removeprefix("sha256:")[:12]
    inside = folder / f"{file.stem}-{digest}"
    told: list[dict[str, Any]] = []
    try:
        inside.mkdir(parents=True, exist_ok=True)
        for goal in goals(proof.ir.document):
            try:
                text = script(goal)
            except IrError as error:
                told.append({"goal": goal.id, "file": None, "missing": str(error)})
                continue
            path = inside / f"{goal.id}.smt2"
            path.write_text(text, "utf-8")
            told.append({"goal": goal.id, "file": str(path), "missing": None})
    except OSError as error:
        raise LictorError(
            f"the goals can't be written to {inside}: {error.strerror or error}"
        ) from None
    return {"folder": str(inside), "goals": told}
