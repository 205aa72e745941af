"""`lictor layer test`: the example programs of a layer, held to the verdicts that they say they get."""

import re
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from lictor.errors import LictorError
from lictor_cli.layer.lint import directory_argument, living_layer
from lictor_cli.main import FAILED, OK
from lictor_cli.output.terminal import (
    common_arguments,
    counted,
    printable,
    quiet_logs,
    say,
    say_json,
)
from lictor_cli.prove.layer_source import layer_arguments, layer_roots
from lictor_cli.prove.submission import read_source

if TYPE_CHECKING:
    from lictor_prove.layer_model import Layer

HELP = """\
Prove the example programs of a layer, and compare the verdicts with what they say: `tools/<domain>/examples` holds
programs (.py, .lictor), each with a line `# The verdict: proved`, `refuted`, `unknown`, or `rejected CODE` with the
code of the first reason. So a change of the layer that lets less be proved, or more, is seen before an agent meets it.

The layer is run to learn what it declares; the examples are proved, and never run.
"""
_SAYS = re.compile(
    r"^# The verdict: (proved|refuted|unknown|rejected)(?: ([a-z0-9_.-]+))?\s*$", re.M
)
_SUFFIXES: "dict[str, Literal['python', 'commands']]" = {".py": "python", ".lictor": "commands"}


@dataclass(frozen=True, slots=True)
class ExampleResult:
    """An example, with what it says and what was found."""

    file: str
    said: str | None
    """None when it says no verdict."""
    found: str
    reasons: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether it gets what it says."""
        return self.said in (self.found, self.found.partition(" ")[0])


def arguments(parser: ArgumentParser) -> None:
    """The options of the command."""
    directory_argument(parser)
    layer_arguments(parser)
    parser.add_argument(
        "--timeout",
        metavar="S",
        type=float,
        default=30.0,
        help="how long one example may take (default: 30); what is undecided then is unknown",
    )
    common_arguments(parser, connects=False)


def run(options: Namespace) -> int:
    """Prove each, and compare."""
    quiet_logs()
    if not 0 < options.timeout <= 86_400:
        raise LictorError(
            f"--timeout is {options.timeout:g}: it must be more than 0, at most 86400."
        )
    layer = living_layer(options).layer
    trusted, _ = layer_roots(options)
    files = list(_examples(trusted))
    if not files:
        where = ", ".join(sorted({str(each.parent / "examples") for each in trusted}))
        raise LictorError(f"there are no examples in {where}: nothing is tested.")
    results = [_result(file, layer, options.timeout) for file in files]
    failed = [each for each in results if not each.ok]
    for each in results:
        if options.json:
            say_json({**asdict(each), "ok": each.ok})
            continue
        verb = "ok    " if each.ok else "FAILED"
        said = "it says no verdict" if each.said is None else f"it says {each.said}"
        say(f"{verb}  {printable(each.file)}: {each.found}{'' if each.ok else f'; {said}'}")
        for reason in () if each.ok else each.reasons:
            say(f"    {printable(reason)}")
    if not options.json:
        say(f"{counted(len(results), 'example')}, {len(failed)} failed")
    return FAILED if failed else OK


def _examples(trusted: list[Path]) -> Iterator[Path]:
    """The examples beside each trusted package."""
    for folder in sorted({each.parent / "examples" for each in trusted}):
        yield from sorted(each for each in folder.glob("*") if each.suffix in _SUFFIXES)


def _named(file: Path) -> str:
    """The file as somebody here would name it."""
    here = Path.cwd()
    return str(file.relative_to(here) if file.is_relative_to(here) else file)


def _result(file: Path, layer: "Layer", timeout_s: float) -> ExampleResult:
    from functools import partial

    from lictor_prove.proof.prover import prove
    from lictor_prove.proof.settings import ProofSettings
    from lictor_prove.workers.limited_proof import prove_limited

    source = read_source(file)
    said = _SAYS.search(source)
    settings = ProofSettings(rehearsal_ms=0).within(round(timeout_s * 1000))
    proving = partial(
        prove,
        source,
        name=file.name,
        layer=layer,
        language=_SUFFIXES[file.suffix],
        settings=settings,
    )
    proof = prove_limited(proving, settings)
    found = proof.verdict.value
    if found == "rejected" and proof.reasons:
        found = f"rejected {proof.reasons[0].code}"
    return ExampleResult(
        _named(file),
        None if said is None else " ".join(part for part in said.groups() if part),
        found,
        tuple(f"{each.code}: {each.message}" for each in proof.reasons),
    )
