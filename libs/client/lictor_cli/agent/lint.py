"""`lictor agent lint`: everything that is wrong with agent definitions, and what is surely not meant."""

from argparse import ArgumentParser, Namespace
from collections.abc import Iterable
from pathlib import Path
from typing import Literal, NamedTuple

from lictor.installation.directories import approvers_named
from lictor_approval.signed_decisions import Approvers
from lictor_cli.agent.approver_warnings import approver_doubts, read_approvers
from lictor_cli.agent.sources import find_files
from lictor_cli.main import FAILED, OK
from lictor_cli.output.terminal import common_arguments, counted, printable, say, say_json
from lictor_guard.definitions.lint_warnings import definition_doubts
from lictor_guard.definitions.loading import file_content, read_source
from lictor_guard.errors import DefinitionError, Problem, spelled

HELP = """\
Check agent definitions: every error that would keep the feedback service from starting, at once, by
file, line and place, with what to do; and warnings about what is allowed but surely not meant.

Exits with 1 when there is an error; with --strict, also when there is a warning.
"""


class _Finding(NamedTuple):
    level: Literal["error", "warning"]
    problem: Problem


def arguments(parser: ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument(
        "definitions",
        metavar="DIR|FILE",
        nargs="*",
        help="definitions, or directories of them (default: LICTOR_AGENTS, or the nearest agents)",
    )
    approvers_argument(parser)
    parser.add_argument("--strict", action="store_true", help="warnings count as errors")
    common_arguments(parser, connects=False)


def approvers_argument(parser: ArgumentParser) -> None:
    """Whom policies may ask."""
    parser.add_argument(
        "--approvers",
        metavar="FILE",
        type=Path,
        help="the approvers' keys, to see whether policies that ask people find them"
        " (default: LICTOR_APPROVERS, if set)",
    )


def run(options: Namespace) -> int:
    """Check, and tell all."""
    return checked(
        options.definitions,
        approvers=options.approvers,
        strict=options.strict,
        as_json=options.json,
    )


def checked(
    definitions: list[str], *, approvers: Path | None, strict: bool = False, as_json: bool
) -> int:
    """Check the files, tell all that is to be told, and say by the exit code whether they may be used."""
    files = find_files(definitions)
    named = approvers or approvers_named()
    found = findings(files, None if named is None else read_approvers(Path(named)))
    for level, problem in found:
        if as_json:
            say_json(
                {
                    "level": level,
                    "file": problem.source,
                    "line": problem.line,
                    "place": spelled(problem.place),
                    "problem": problem.text,
                }
            )
        else:
            _tell(level, problem)
    errors = sum(each.level == "error" for each in found)
    if not as_json:
        told = f"{counted(errors, 'error')}, {counted(len(found) - errors, 'warning')}"
        say(f"{counted(len(files), 'definition')} checked: {told if found else 'ok'}")
    return FAILED if errors or (strict and found) else OK


def findings(files: Iterable[Path], approvers: Approvers | None = None) -> list[_Finding]:
    """All that is to be told about some files, and about whom they ask, where that is known."""
    found: list[_Finding] = []
    names: dict[str, Path] = {}
    for path in files:
        try:
            source = read_source(file_content(path), str(path))
            found += [
                _Finding("warning", source.located(each))
                for each in (
                    *definition_doubts(source.definition),
                    *(approver_doubts(source.definition, approvers) if approvers else ()),
                )
            ]
            name = source.definition.metadata.name
            if names.setdefault(name, path) != path:
                told = f"{name} is defined in {names[name]} already"
                problem = Problem(("metadata", "name"), told)
                found.append(_Finding("error", source.located(problem)))
            source.compile()
        except DefinitionError as error:
            found += [_Finding("error", each) for each in error.problems]
    return found


def _tell(level: str, problem: Problem) -> None:
    where = printable(problem.source or "")
    line = "" if problem.line is None else f":{problem.line}"
    place = f"{spelled(problem.place)}: " if problem.place else ""
    say(f"{where}{line}: {level}: {printable(place + problem.text)}")
