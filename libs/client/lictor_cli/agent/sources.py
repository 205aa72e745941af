"""Where a command finds agent definitions: files, directories of them, or what is stored, by name or hash."""

from dataclasses import dataclass
from pathlib import Path

from lictor.errors import LictorError
from lictor.history.id_prefixes import one_of
from lictor.history.stored_definitions import kept_versions
from lictor.history.stream_contents import streams_at
from lictor.installation.directories import AGENTS_DIR, agents_directory
from lictor_guard.definitions.loading import definition_files, file_content, read_definition
from lictor_policy.errors import nearest
from lictor_schema.sessions.agent_definition import AgentDefinition

_HASH = "sha256:"


@dataclass(frozen=True)
class FoundDefinition:
    """A definition, and where it was found."""

    definition: AgentDefinition
    hash: str
    plugins: dict[str, str]
    source: str


def find_files(given: list[str]) -> list[Path]:
    """The files that arguments name, or those of this installation."""
    if not given:
        here, found = Path.cwd(), agents_directory()
        if found is None:
            raise LictorError(
                f"no {AGENTS_DIR} directory with definitions was found in {here} or above it;"
                " name a file, or set LICTOR_AGENTS."
            )
        given = [str(found.relative_to(here) if found.is_relative_to(here) else found)]
    files: list[Path] = []
    for each in given:
        path = Path(each)
        if not path.is_dir():
            files.append(path)
            continue
        inside = definition_files(path)
        if not inside:
            raise LictorError(f"{path} holds no definition (a .yaml, .yml or .json file).")
        files += inside
    return files


def is_file(given: str) -> bool:
    """Whether an argument names a file, and not what is stored."""
    return "/" in given or Path(given).suffix in (".yaml", ".yml", ".json") or Path(given).exists()


async def find_definition(given: str, url: str | None) -> FoundDefinition:
    """The definition that an argument names: a file, the newest of a name, or one by its hash."""
    if is_file(given):
        guarded = read_definition(file_content(Path(given)), given)
        return FoundDefinition(guarded.definition, guarded.hash, dict(guarded.plugins), given)
    async with streams_at(url, "agent") as client:
        kept = await kept_versions(client)
    by_hash = given.startswith(_HASH)
    if by_hash:
        hashes = (each.version.hash for each in kept)
        given = one_of(given, hashes, "definition", "lictor agent list --all")
    matching = [
        each
        for each in kept
        if (each.version.hash if by_hash else each.version.definition.metadata.name) == given
    ]
    if not matching:
        names = {each.version.definition.metadata.name for each in kept}
        raise LictorError(f"no definition {given!r} is stored; {nearest(given, names)}")
    version = matching[-1].version
    return FoundDefinition(version.definition, version.hash, dict(version.plugins), "stored")
