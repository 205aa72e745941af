"""A directory of packs, linted: every file of it, alone and together."""

from collections.abc import Sequence
from pathlib import Path

from lictor_policy.config import PACK_FILE, load_config
from lictor_policy.errors import PackError
from lictor_policy.lint import Finding, findings_in, lint_pack
from lictor_policy.pack_tests import TESTS_FILE, load_pack_tests, missing_examples
from lictor_policy.packs import LoadedPack, load_pack


def lint_packs(directory: Path, pack_ids: Sequence[str]) -> list[Finding]:
    """What is wrong with the packs named, in the order of their names."""
    found: list[Finding] = []
    for pack_id in pack_ids:
        try:
            pack = load_pack(directory / pack_id / PACK_FILE)
        except PackError as error:
            found += findings_in(error)
            continue
        found += lint_pack(pack)
        found += _examples(directory / pack_id / TESTS_FILE, pack)
    if not any(finding.level == "error" for finding in found):
        found += _together(directory, pack_ids)
    return list(dict.fromkeys(found))


def _examples(path: Path, pack: LoadedPack) -> list[Finding]:
    if not path.exists():
        return [_no_example(path, None, "there are no examples")]
    try:
        tests = load_pack_tests(path)
    except PackError as error:
        return findings_in(error)
    rules = [rule.id for rule in pack.pack.spec.rules]
    told = (line.partition(": ") for line in missing_examples(rules, tests))
    return [_no_example(path, rule, problem) for rule, _, problem in told]


def _no_example(path: Path, rule: str | None, problem: str) -> Finding:
    told = "add examples; `lictor pack test` runs them"
    return Finding("warning", "examples", str(path), None, rule, "tests", problem, told)


def _together(directory: Path, pack_ids: Sequence[str]) -> list[Finding]:
    """What shows only when the packs are put together, as the evaluator will."""
    try:
        load_config(directory, pack_ids)
    except PackError as error:
        return findings_in(error)
    return []
