"""`lictor account list`: who has a password, and who has two."""

from argparse import ArgumentParser, Namespace

from lictor_bus.names.roles import roles
from lictor_bus.names.server_accounts import account_of
from lictor_cli.account.sources import accounts_folder, folder_argument
from lictor_cli.main import OK
from lictor_cli.output.terminal import common_arguments, printable, say_json, say_table

HELP = "List the roles, their accounts and users. Passwords are not shown.\n"


def arguments(parser: ArgumentParser) -> None:
    """The options of the command."""
    folder_argument(parser)
    common_arguments(parser, connects=False)


def run(options: Namespace) -> int:
    """List them."""
    folder = accounts_folder(options.dir)
    accounts = folder.read()
    listed = [
        (role.name, account_of(role), list(accounts.users[role.name]))
        for role in roles(accounts.runtimes)
        if role.name in accounts.users
    ]
    if options.json:
        for name, account, users in listed:
            credential = str(folder.credential(name))
            say_json({"role": name, "account": account, "users": users, "credential": credential})
        return OK
    say_table(
        ("role", "account", "users", "credential"),
        (
            (
                printable(name),
                account,
                ", ".join(map(printable, users)),
                str(folder.credential(name).relative_to(folder.path)),
            )
            for name, account, users in listed
        ),
    )
    return OK
