"""`lictor hook install`: write our hooks into Claude Code's settings."""

import asyncio
import compileall
import json
import os
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from pathlib import Path
from typing import Any, cast

import lictor
import lictor_cli
from lictor.errors import LictorError
from lictor.fast.broker_address import addresses, registered
from lictor.fast.claude_events import EVENTS
from lictor.installation.directories import data_directory, packs_directory
from lictor.installation.endpoints import registration
from lictor.runtimes.claude_settings import SettingsRefused, hook_command, installed, uninstalled
from lictor_bus.names.roles import OPERATORS
from lictor_cli.hook.definition_check import refuse_unknown
from lictor_cli.main import OK
from lictor_cli.output.terminal import say, say_json, warn

MAX_ASK_S = 3600

HELP = """\
Writes the hooks into Claude Code's settings, for every tool and every event that Lictor judges or hears of. Other
settings, and hooks of others, stay as they are. Doing it again changes nothing; after Lictor has moved, it mends the
path.

Who judges is written into the command: the server of --url, or the `lictor up` that keeps its data in --data-dir.
Without either it is LICTOR_NATS_URL, else the `lictor up` that runs in the project or above it, or would take its
data there if it were started. With --user and neither, each project has its own.

The definition must be one that those who judge know, or where they don't run, one of the folder of definitions that
`lictor up` would take in.
"""


def arguments(parser: ArgumentParser) -> None:
    """Options of `lictor hook install`."""
    where = parser.add_mutually_exclusive_group()
    where.add_argument(
        "--project", metavar="DIR", type=Path, help="the project (default: the current directory)"
    )
    where.add_argument("--user", action="store_true", help="for all projects of this user")
    judge = parser.add_mutually_exclusive_group()
    judge.add_argument("--url", help="the NATS server of those who judge, without a password")
    judge.add_argument(
        "--data-dir",
        metavar="DIR",
        type=Path,
        help="the data directory of the `lictor up` that judges",
    )
    parser.add_argument(
        "--definition",
        metavar="NAME",
        help="the agent definition that sessions begin with (default: the service's)",
    )
    parser.add_argument(
        "--unchecked",
        action="store_true",
        help="take the definition's name as it is, also where nobody knows such a definition yet",
    )
    parser.add_argument(
        "--ask-s",
        metavar="SECONDS",
        type=_ask_s,
        default=0,
        help=f"how long a call may wait for a person to decide, at most {MAX_ASK_S} (default: what LICTOR_HOOK_ASK_S"
        " says where Claude Code runs, else 3)",
    )
    parser.add_argument("--uninstall", action="store_true", help="take our hooks out again")
    parser.add_argument("--dry-run", action="store_true", help="show the settings, write nothing")
    parser.add_argument("--json", action="store_true", help="print JSON")


def _ask_s(text: str) -> int:
    seconds = int(text) if text.isascii() and text.isdigit() else 0
    if not 0 < seconds <= MAX_ASK_S:
        raise ArgumentTypeError(f"give whole seconds, from 1 to {MAX_ASK_S}")
    return seconds


def run(options: Namespace) -> int:
    """Change the settings, or show what they would be."""
    path = settings_path(options.project, user=options.user)
    text, settings = _read(path)
    url, data_dir = _judge(options)
    endpoints = None if data_dir is None else registration(data_dir)
    if options.definition and not options.uninstall and not options.unchecked:
        project = None if options.user else (options.project or Path.cwd()).resolve()
        asyncio.run(refuse_unknown(options.definition, url, endpoints, project))
    command = hook_command(
        Path(sys.executable), _script(), options.definition, url=url, endpoints=endpoints
    )
    try:
        after = (
            uninstalled(settings)
            if options.uninstall
            else installed(settings, command, ask_s=options.ask_s)
        )
    except SettingsRefused as error:
        raise SettingsRefused(f"{path}: {error}") from None
    changed = after != settings
    if changed and not options.dry_run:
        _write(path, _spelled(after, text))
        # Not every way to install writes byte code, and each hook would compile all of it again.
        compileall.compile_dir(Path(lictor.__file__).parent, maxlevels=1, quiet=2)
        compileall.compile_dir(Path(lictor_cli.__file__).parent, maxlevels=0, quiet=2)
    if options.json:
        events = [] if options.uninstall else list(EVENTS)
        result: dict[str, Any] = {"settings": str(path), "changed": changed, "events": events}
        if not options.uninstall:
            result["judge"] = {
                "url": url,
                "data_dir": None if data_dir is None else str(data_dir),
                "endpoints": None if endpoints is None else str(endpoints),
            }
        say_json({**result, "written": changed and not options.dry_run, "after": after})
    elif options.dry_run:
        say(_spelled(after, text).rstrip("\n"))
    else:
        say(_told(path, changed=changed, uninstall=options.uninstall))
        if not options.uninstall:
            say(_who_judges(url, data_dir))
    if after.get("disableAllHooks") is True and not options.uninstall:
        warn(f"{path} says `disableAllHooks`: no hook runs until that is taken out.")
    return OK


def _judge(options: Namespace) -> tuple[str | None, Path | None]:
    """The server, or the data directory of the `lictor up`, that hooks shall ask; neither: each project's own."""
    if options.data_dir is not None:
        return None, options.data_dir.absolute()
    if options.url is not None:
        return _without_password(options.url, given=True), None
    if from_environment := os.environ.get("LICTOR_NATS_URL"):
        return _without_password(from_environment, given=False), None
    if options.user:
        return None, None
    project = (options.project or Path.cwd()).resolve()
    if running := registered(os.environ, str(project), OPERATORS):
        return None, Path(running[0])
    try:
        packs = packs_directory(project)
    except LictorError:
        packs = None
    return None, data_directory(packs, project)


def _without_password(url: str, *, given: bool) -> str:
    try:
        found = addresses(url)
    except ValueError as error:
        raise SettingsRefused(f"{error}; correct --url or LICTOR_NATS_URL.") from None
    if given and any(address.user is not None for address in found):
        raise SettingsRefused(
            "--url holds a user or a password, and settings are no place for them; leave them out, and set"
            " LICTOR_NATS_URL to the same address with them where Claude Code runs."
        )
    return ",".join(address.shown for address in found)


def _who_judges(url: str | None, data_dir: Path | None) -> str:
    if url is not None:
        return f"Who judges: the services at {url}."
    if data_dir is not None:
        return f"Who judges: the `lictor up` that keeps its data in {data_dir}. Until it runs, calls are denied."
    return "Who judges: the `lictor up` that you run in a project or above it; --url or --data-dir names one for all."


def settings_path(project: Path | None, *, user: bool) -> Path:
    """The settings file; behind a link, the file that the link leads to."""
    if user:
        folder = Path(os.environ.get("CLAUDE_CONFIG_DIR") or Path.home() / ".claude")
    else:
        root = Path.cwd() if project is None else project
        if not root.is_dir():
            raise SettingsRefused(f"{root} is not a directory; name the project's with --project.")
        folder = root / ".claude"
    return (folder / "settings.json").resolve()


def _script() -> Path:
    """The `lictor` of this environment."""
    script = Path(sys.executable).with_name("lictor")
    if not script.is_file():
        raise SettingsRefused(
            f"{script} is not there, so a hook could not run it; install lictor-client in this environment."
        )
    return script


def _read(path: Path) -> tuple[str, dict[str, Any]]:
    try:
        text = path.read_text("utf-8")
    except FileNotFoundError:
        return "", {}
    except UnicodeDecodeError:
        raise SettingsRefused(f"{path} is not UTF-8 text; correct it and install again.") from None
    try:
        settings: Any = json.loads(text) if text.strip() else {}
    except (ValueError, RecursionError) as error:
        raise SettingsRefused(
            f"{path} is not JSON ({error}); correct it and install again."
        ) from None
    if not isinstance(settings, dict):
        raise SettingsRefused(f"{path} is not a JSON object; correct it and install again.")
    return text, cast("dict[str, Any]", settings)


def _spelled(settings: dict[str, Any], before: str) -> str:
    """As JSON, indented as the file was."""
    second = next(iter(before.splitlines()[1:]), "")
    indent = second[: len(second) - len(second.lstrip())] or "  "
    return json.dumps(settings, indent=indent, ensure_ascii=False) + "\n"


def _write(path: Path, text: str) -> None:
    """Whole or not at all, with the rights that the file had."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft.write_text(text, "utf-8")
        if path.exists():
            draft.chmod(path.stat().st_mode & 0o777)
        draft.replace(path)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise SettingsRefused(f"{path} can't be written ({error.strerror}).") from error


def _told(path: Path, *, changed: bool, uninstall: bool) -> str:
    if not changed:
        return f"{path} has {'no hooks of ours' if uninstall else 'the hooks already'}."
    if uninstall:
        return f"{path}: our hooks are out. Sessions that run keep theirs until they are restarted."
    return f"{path}: the hooks are in. They take effect in the next session of Claude Code."
