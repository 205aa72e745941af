"""A directory of packs, linted: every file of it, alone and together."""

import re
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from lictor_policy.errors import PackError
from lictor_policy.judge.config import compile_files
from lictor_policy.packs.files import PACK_FILE, PROFILES, SHARED, DirectoryFiles, PackFiles
from lictor_policy.packs.lint import LintFinding, findings_in, lint_envelopes, lint_pack
from lictor_policy.packs.pack import LoadedPack, PackReader, envelopes_of
from lictor_policy.packs.pack_tests import TESTS_FILE, load_pack_tests, missing_examples
from lictor_policy.packs.yaml_models import read_document
from lictor_schema.packs.pack import TemplateSet

_TAKES_IN = re.compile(rb"\{\{>\s*([A-Za-z0-9_.-]+)\s*\}\}")


def lint_packs(
    directory: Path,
    pack_ids: Sequence[str] | None = None,
    *,
    methods: Collection[str] | None = None,
) -> list[LintFinding]:
    """What is wrong with the packs named; with none named, with all that the directory holds.

    `methods` are the verification methods there are; None where nobody knows them.
    """
    files = DirectoryFiles(directory)
    reader = PackReader(files)
    names = files.pack_ids() if pack_ids is None else list(pack_ids)
    found: list[LintFinding] = []
    loaded: list[LoadedPack] = []
    for pack_id in names:
        try:
            pack = reader.pack(pack_id)
        except PackError as error:
            found += findings_in(error)
            continue
        loaded.append(pack)
        found += lint_pack(pack)
        found += lint_envelopes(pack, methods)
        found += _examples(directory / pack_id / TESTS_FILE, pack)
    try:
        envelopes_of(loaded)
    except PackError as error:
        found += findings_in(error)
    if not any(finding.level == "error" for finding in found):
        found += _together(files, names, whole=pack_ids is None)
        found += _unused_texts(files, loaded, whole=pack_ids is None)
    return list(dict.fromkeys(found))


def _examples(path: Path, pack: LoadedPack) -> list[LintFinding]:
    if not path.exists():
        if not pack.pack.spec.rules:
            return []
        return [_no_example(path, None, "there are no examples")]
    try:
        tests = load_pack_tests(path)
    except PackError as error:
        return findings_in(error)
    rules = [rule.id for rule in pack.pack.spec.rules]
    told = (line.partition(": ") for line in missing_examples(rules, tests))
    return [_no_example(path, rule, problem) for rule, _, problem in told]


def _no_example(path: Path, rule: str | None, problem: str) -> LintFinding:
    told = "add examples; `lictor pack test` runs them"
    return LintFinding("warning", "examples", str(path), None, rule, "tests", problem, told)


def _together(files: PackFiles, pack_ids: list[str], *, whole: bool) -> list[LintFinding]:
    """What shows only when the packs are put together, as the evaluator will; with each profile."""
    profiles = [name.partition("/")[2].removesuffix(".yaml") for name in files.listed(PROFILES)]
    found: list[LintFinding] = []
    for chosen in ([], *([name] for name in profiles if whole)):
        try:
            compile_files(files, pack_ids, chosen)
        except PackError as error:
            found += findings_in(error)
    return found


def _unused_texts(
    files: PackFiles, packs: list[LoadedPack], *, whole: bool
) -> Iterator[LintFinding]:
    """Shared texts that no rule takes in, of the files that the packs name."""
    used: dict[str, set[str]] = {name: set() for name in files.listed(SHARED) if whole}
    for pack in packs:
        written, folder = pack.document.model, pack.pack.metadata.id
        sources = [f"{folder}/{name}" for name in (PACK_FILE, *written.spec.rule_files)]
        taken = {
            name.decode() for source in sources for name in _TAKES_IN.findall(files.read(source))
        }
        for name in written.spec.template_files:
            path = name if name.startswith(f"{SHARED}/") else f"{folder}/{name}"
            used.setdefault(path, set()).update(taken)
    for path, taken in used.items():
        try:
            document = read_document(files.read(path), files.said(path), TemplateSet)
        except PackError as error:
            yield from findings_in(error)
            continue
        for name in document.model.templates:
            if name not in taken:
                line = document.yaml.line_of(("templates", name))
                told = "take it in with {{> " + name + "}}, or remove it"
                field = f"templates.{name}"
                problem = "no rule uses this text"
                yield LintFinding(
                    "warning", "unused", files.said(path), line, None, field, problem, told
                )
