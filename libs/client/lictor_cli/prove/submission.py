"""What `lictor prove` reads, and what it hands to the running prover with --submit."""

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from lictor.errors import LictorError
from lictor_cli.prove.input_options import given_inputs
from lictor_cli.prove.proof_output import FileReport

if TYPE_CHECKING:
    from lictor.programs import Program
    from lictor_schema.proofs.program import Language

MAX_BYTES = 4 * 1024 * 1024


def language_argument(parser: ArgumentParser) -> None:
    """What the files are written in."""
    parser.add_argument(
        "--language",
        choices=("python", "commands", "ir"),
        help="what the files are written in (default: by their names: .py, .lictor, else ir)",
    )


def language_of(path: Path, options: Namespace) -> "Language":
    """What a file is written in: as it is said, else by its name. A wrong name is refused, never run as another."""
    if options.language is not None:
        return options.language
    suffixes: dict[str, Language] = {".py": "python", ".lictor": "commands"}
    return suffixes.get(path.suffix, "ir")


def read_source(path: Path) -> str:
    """The text of a program; LictorError when it is none."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise LictorError(f"the program can't be read: {error.strerror or error}") from None
    if len(data) > MAX_BYTES:
        raise LictorError(f"the program has more than {MAX_BYTES} bytes")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise LictorError(
            f"the program is no UTF-8 text: byte {error.start} can't be read"
        ) from None


async def submitted(options: Namespace) -> list[FileReport]:
    """What the running prover finds about each file, and the request about what is proved."""
    from lictor.governor_connection import connect
    from lictor_cli.prove.approval_requests import request_ids

    if options.task is None:
        raise LictorError("--submit needs --task: a proof belongs to the task it is for.")
    programs = programs_of(options)
    async with connect(options.url, runtime=options.runtime, reads_all=True) as governor:
        # Each waits for its turn, and for the others before it.
        patience = options.timeout * len(programs) + 30
        found = await governor.prove(*programs, task_id=options.task, timeout_s=patience)
    requests = await request_ids(options.url, found)
    return [
        FileReport(file=file, proof=proof, request_id=requests.get(proof.submission_id))
        for file, proof in zip(options.files, found, strict=True)
    ]


def programs_of(options: Namespace) -> "list[Program]":
    """What is to be submitted; LictorError for what can't be, before anybody is asked."""
    from lictor.programs import Program

    programs: list[Program] = []
    for file in map(Path, options.files):
        source, language = read_source(file), language_of(file, options)
        program = Program(
            source,
            name=file.name,
            target=options.target,
            language=language,
            layer_hash=options.layer,
            timeout_ms=round(options.timeout * 1000),
            inputs=given_inputs(options, source, language),
            # Whoever enters the command again wants another run, not to be told of the one that was.
            anew=True,
        )
        # What does not fit is said without a broker, too.
        program.written_inputs()
        programs.append(program)
    return programs
