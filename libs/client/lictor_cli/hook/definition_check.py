"""Whether those who judge know the agent definition that hooks are to name."""

import os
from pathlib import Path

from nats.errors import Error as NatsError

from lictor.errors import LictorError
from lictor.fast.broker_address import nats_url, pinned_url, running_by
from lictor.history.stored_definitions import kept_versions
from lictor.history.stream_contents import streams_at
from lictor.installation.directories import agents_directory
from lictor.runtimes.claude_settings import SettingsRefused
from lictor_bus.errors import BusError
from lictor_bus.names.roles import OPERATORS
from lictor_guard.definitions.loading import definition_files, file_content, read_definition
from lictor_guard.errors import DefinitionError

_BUILT_IN = "lictor-default"


async def refuse_unknown(
    name: str, url: str | None, endpoints: Path | None, project: Path | None
) -> None:
    """Raise, with the names that there are, unless such a definition can be begun with."""
    where = _address(url, endpoints, project)
    asked: set[str] | None = None
    problem = "no `lictor up` runs there"
    if where is not None:
        try:
            async with streams_at(where, "hook-install") as client:
                kept = await kept_versions(client)
            asked = {each.version.definition.metadata.name for each in kept}
        except (BusError, NatsError, LictorError) as error:
            problem = str(error).partition(";")[0]
    names = _in_folder(project) | {_BUILT_IN} if asked is None else asked
    if name in names:
        return
    known = ", ".join(sorted(names))
    if asked is None:
        raise SettingsRefused(
            f"whether there is a definition {name!r} can't be asked ({problem}), and the folder of definitions has:"
            f" {known}; start those who judge, correct the name, or install it with --unchecked."
        )
    raise SettingsRefused(
        f"there is no definition {name!r}, so every call would be denied; those who judge know: {known}. Publish it"
        " with `lictor agent publish`, correct the name, or install it with --unchecked."
    )


def _address(url: str | None, endpoints: Path | None, project: Path | None) -> str | None:
    """Where the hooks will ask, if somebody answers there now."""
    if url is not None:
        return pinned_url(os.environ, url, "", OPERATORS)
    if endpoints is not None:
        return running_by(str(endpoints), OPERATORS)
    return nats_url(os.environ, str(project or Path.cwd()), OPERATORS)


def _in_folder(project: Path | None) -> set[str]:
    """The definitions that a `lictor up` would take in from its folder."""
    folder = agents_directory(project)
    if folder is None:
        return set()
    names: set[str] = set()
    for path in definition_files(folder):
        try:
            names.add(read_definition(file_content(path), str(path)).definition.metadata.name)
        except DefinitionError:
            # `lictor up` says what is wrong with it.
            continue
    return names
