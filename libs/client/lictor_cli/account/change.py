"""`lictor account add|rotate|retire|remove NAME`: one change, written as a whole, and read by the running server."""

from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from functools import partial

from lictor.errors import LictorError
from lictor_cli.account.sources import (
    RELOAD,
    RELOAD_TWICE,
    accounts_folder,
    folder_argument,
    runs_here,
    until_server,
)
from lictor_cli.main import OK
from lictor_cli.output.terminal import common_arguments, quiet_logs, say, say_json
from lictor_cli.verb import Verb
from lictor_local.accounts import Accounts
from lictor_local.permission import is_permitted, reaches_services

Change = Callable[[Accounts, str], Accounts]
_ENDING = ("retire", "remove")


def _added(accounts: Accounts, name: str) -> Accounts:
    if name in accounts.runtimes:
        raise LictorError(f"runtime {name!r} has an account already.")
    return accounts.completed([name])


async def _run(verb: str, change: Change, told: str, options: Namespace) -> int:
    quiet_logs()
    folder, name = accounts_folder(options.dir), options.name
    with folder.changing():
        before = folder.read()
        after = change(before, name)
        folder.write(after)
    read = runs_here(folder)
    if read:
        await until_server(partial(_is_read, verb, before, after, name))
    credential = str(folder.credential(name)) if name in after.users else None
    if options.json:
        say_json({"what": verb, "role": name, "credential": credential, "read": read})
        return OK
    say(told.format(name=name))
    if credential is not None:
        say(f"  {'credential':<12}  {credential}")
    if not read:
        say(RELOAD_TWICE if verb == "add" else RELOAD)
    return OK


async def _is_read(verb: str, before: Accounts, after: Accounts, name: str) -> bool:
    """Whether the server does as the change says."""
    if verb in _ENDING:
        return not await is_permitted(before.url(name, newest=False))
    if verb == "add":
        return await reaches_services(after.url(name))
    return await is_permitted(after.url(name))


def _arguments(what: str, parser: ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help=what)
    folder_argument(parser)
    common_arguments(parser, connects=False)


def _verb(verb: str, what: str, help_text: str, change: Change, told: str) -> Verb:
    return Verb(help_text, partial(_arguments, what), partial(_run, verb, change, told))


_ROLE = "a runtime, a service, `ops` or `deploy`"

ADD = _verb(
    "add",
    "the runtime",
    "Give a runtime an account of its own. Nobody's connection is touched.\n",
    _added,
    "runtime {name} has an account; whoever runs as it reads its address from",
)
ROTATE = _verb(
    "rotate",
    _ROLE,
    """\
Give a role a second user with a new password. Both are valid, and its credential file has the new one: let whoever
runs as it connect again, then end the old one with `lictor account retire`.
""",
    Accounts.rotated,
    "{name} has a new password; the old one is valid until `lictor account retire {name}`",
)
RETIRE = _verb(
    "retire",
    _ROLE,
    """\
End the old password of a role. The server closes connections that use it; clients that read the credential file come
back at once with the new one.
""",
    Accounts.retired,
    "the old password of {name} is not valid any more",
)
REMOVE = _verb(
    "remove",
    "the runtime",
    "Take a runtime's account away; its connections are closed. What it reported and what was decided stay.\n",
    Accounts.without,
    "runtime {name} has no account any more",
)
