"""`lictor account init`: accounts for a server that `lictor up` does not run, such as that of Compose."""

from argparse import ArgumentParser, Namespace
from dataclasses import replace
from pathlib import Path

from lictor_cli.main import OK
from lictor_cli.output.terminal import common_arguments, say, say_json
from lictor_local.accounts import Accounts, AccountsFolder

HELP = """\
Make the accounts for a server that `lictor up` does not run, or complete them after an upgrade: who has a password
keeps it. The server's own configuration includes `server/accounts.conf` of the folder.
"""


def arguments(parser: ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("dir", metavar="DIR", type=Path, help="the folder of accounts")
    parser.add_argument(
        "--address",
        metavar="HOST:PORT",
        default=None,
        help="where runtimes and operators reach the server (default: 127.0.0.1:4222)",
    )
    parser.add_argument(
        "--service-address",
        metavar="HOST:PORT",
        default=None,
        help="where services reach it (default: the same)",
    )
    parser.add_argument(
        "--runtime", metavar="NAME", action="append", default=[], help="a runtime with an account"
    )
    common_arguments(parser, connects=False)


def run(options: Namespace) -> int:
    """Make them."""
    folder = AccountsFolder(options.dir)
    with folder.changing():
        accounts = (
            folder.read() if folder.exists else Accounts.new((), address="127.0.0.1:4222")
        ).completed(options.runtime)
        address = options.address or accounts.address
        services = options.service_address or (
            accounts.service_address if folder.exists else address
        )
        folder.write(replace(accounts, address=address, service_address=services))
    if options.json:
        say_json({"what": "init", "config": str(folder.config), "roles": list(accounts.users)})
        return OK
    say(f"{len(accounts.users)} roles have passwords")
    say(f"  {'server':<12}  {folder.config}")
    say(f"  {'credentials':<12}  {folder.credentials}")
    return OK
