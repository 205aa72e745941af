"""Applying an approved patch to the packs of a directory: checked on a copy, then written whole, or not at all."""

import shutil
import tempfile
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from lictor.errors import LictorError
from lictor.installation.atomic_files import replace_file
from lictor_contracts.patch.document import PatchDocumentError, PolicyDocument, read_document
from lictor_contracts.patch.life import Patch
from lictor_contracts.patch.proposal import Applied, apply
from lictor_contracts.patch.undo import is_result_of
from lictor_policy.errors import PackError
from lictor_policy.judge.config import load_config
from lictor_policy.packs.bundle import bundle_directory
from lictor_policy.packs.files import PACK_FILE, DirectoryFiles
from lictor_policy.packs.lint_directory import lint_packs
from lictor_policy.packs.pack_tests import (
    TESTS_FILE,
    load_pack_tests,
    missing_examples,
    run_pack_tests,
)
from lictor_schema.contracts.patch import AppliedPatch, PatchProposal, PatchTarget

_MOST_PROBLEMS = 10


class NotApplicable(LictorError):
    """The patch can't be applied here; nothing was changed."""

    def __init__(self, reason: str, *, early: bool = False) -> None:
        super().__init__(reason)
        self.early = early
        """Whether it only comes too early: nothing was tried."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A patch that can be applied: the file, its new text, and what it makes."""

    path: Path
    before: str
    """What the file held when the patch was worked out."""
    text: str
    made: AppliedPatch
    already: bool
    """Whether the file is so already: an earlier try was cut short before it could be told."""


def prepare(
    patch: Patch, directory: Path, profiles: Sequence[str] = (), methods: Collection[str] = ()
) -> Prepared:
    """Work the patch out for the packs of a directory, and check on a copy what it makes.

    `methods` are the verification methods that envelopes may name.
    """
    proposal = patch.proposal
    if proposal is None:
        raise NotApplicable(
            f"patch {patch.patch_id} holds no change yet; write one with `lictor patch propose`",
            early=True,
        )
    if patch.needs_human:
        raise NotApplicable(
            f"no human other than {proposal.proposed_by} has approved patch {patch.patch_id}; have"
            " one approve it with `lictor patch approve`",
            early=True,
        )
    document = pack_document(directory, proposal.target)
    path = directory / document.name
    if is_result_of(document, proposal):
        made = _made(directory, document, proposal, profiles)
        return Prepared(path, document.text, document.text, made, True)
    result = apply(document, proposal, patch.approvals)
    if not isinstance(result, Applied):
        raise NotApplicable(f"{result.reason}; {result.remedy}")
    with tempfile.TemporaryDirectory(prefix="lictor-patch-") as scratch:
        copy = Path(scratch) / "packs"
        shutil.copytree(directory, copy)
        (copy / document.name).write_bytes(result.document.text.encode())
        _refuse_faulty(copy, proposal.target.id, methods)
        made = _made(copy, result.document, proposal, profiles)
    return Prepared(path, document.text, result.document.text, made, False)


def write(prepared: Prepared) -> None:
    """Put the new version in place of the file that it was worked out for, and of no other."""
    if prepared.already:
        return
    try:
        found = prepared.path.read_bytes()
    except OSError as error:
        raise NotApplicable(f"{prepared.path} can't be read ({error.strerror})") from None
    if found != prepared.before.encode():
        raise NotApplicable(
            f"{prepared.path} was changed by somebody else meanwhile; it stays as it is, try again"
        )
    replace_file(prepared.path, prepared.text.encode())


def take_back(prepared: Prepared) -> None:
    """Put the old version back, unless somebody else has changed the file since."""
    if not prepared.already and prepared.path.read_bytes() == prepared.text.encode():
        replace_file(prepared.path, prepared.before.encode())


def pack_document(directory: Path, target: PatchTarget) -> PolicyDocument:
    """The document that a patch is for, as it is in a directory of packs."""
    if target.kind != "policy_pack":
        raise NotApplicable(
            f"the patch is for the {target.kind} {target.id} by itself, and envelopes stand in"
            " packs; propose it for the pack"
        )
    files = DirectoryFiles(directory)
    if target.id not in files.pack_ids():
        raise NotApplicable(
            f"{directory} holds no pack {target.id}; name its directory with --packs"
        )
    name = f"{target.id}/{PACK_FILE}"
    try:
        return read_document("policy_pack", name, files.read(name).decode("utf-8"))
    except (PackError, UnicodeDecodeError, PatchDocumentError) as error:
        raise NotApplicable(str(error)) from None


def _refuse_faulty(directory: Path, pack_id: str, methods: Collection[str]) -> None:
    """What `lictor pack lint` and `lictor pack test` would say against the new packs."""
    problems = [
        f"{each.file}: {each.problem}".replace(f"{directory}/", "")
        for each in lint_packs(directory, methods=methods)
        if each.level == "error"
    ]
    problems = problems or _failing_examples(directory, pack_id)
    if problems:
        shown = "; ".join(problems[:_MOST_PROBLEMS])
        raise NotApplicable(f"the patched packs are refused: {shown}")


def _failing_examples(directory: Path, pack_id: str) -> list[str]:
    path = directory / pack_id / TESTS_FILE
    if not path.exists():
        return []
    try:
        config, tests = load_config(directory, [pack_id]), load_pack_tests(path)
    except PackError as error:
        return str(error).replace(f"{directory}/", "").splitlines()
    problems = list(missing_examples([rule.rule.id for rule in config.rules], tests))
    for result in run_pack_tests(config, tests):
        if not result.ok:
            problems.append(f"example {result.rule}: {result.title}: {'; '.join(result.problems)}")
    return problems


def _made(
    directory: Path, document: PolicyDocument, proposal: PatchProposal, profiles: Sequence[str]
) -> AppliedPatch:
    try:
        bundled = bundle_directory(directory, profiles)
    except PackError as error:
        raise NotApplicable(str(error).replace(f"{directory}/", "")) from None
    return AppliedPatch(
        before=proposal.target.content_hash,
        after=document.content_hash,
        version=proposal.new_version,
        bundle_hash=bundled.bundle_hash,
    )
