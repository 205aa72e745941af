"""The server's accounts, as its configuration file spells them.

One account holds the streams, the services, operators and `deploy`. Each runtime has one of its own, to which only what
`roles` lists for it is exported: what it publishes as a service, what it follows as a stream. Subjects are the same on
both sides, so clients need not know whether there are accounts. Nothing of JetStream's own (`$JS.`), of the server's
(`$SYS.`) and no inbox ever crosses: with a reply subject of its choice a client has the server publish for it, and that
reply stays in the account of who asked.
"""

import json
from collections.abc import Iterable, Mapping, Sequence

from lictor_bus.names import subjects
from lictor_bus.names.roles import Role

_RESPONSES = '{ max: 1, expires: "1m" }'
ACCOUNT = "LICTOR"
"""Where the streams and the services are."""


def account_of(role: Role) -> str:
    """The account whose user a role is."""
    return f"runtime-{subjects.token(role.name)}" if role.is_runtime else ACCOUNT


def accounts_config(roles: Sequence[Role], passwords: Mapping[str, Mapping[str, str]]) -> str:
    """The server's ``accounts`` block: for each role its users, with their passwords."""
    ours = [role for role in roles if not role.is_runtime]
    runtimes = [role for role in roles if role.is_runtime]
    lines = ["# Written by `lictor account`; don't change it by hand.", "accounts {"]
    lines += [f"    {_quoted(ACCOUNT)}: {{", "        jetstream: enabled"]
    lines += _users(ours, passwords)
    lines += _block("exports", (line for role in runtimes for line in _exports(role)))
    lines.append("    }")
    for role in runtimes:
        lines.append(f"    {_quoted(account_of(role))}: {{")
        lines += _users([role], passwords)
        lines += _block("imports", _imports(role))
        lines.append("    }")
    return "\n".join([*lines, "}", ""])


def _exports(role: Role) -> Iterable[str]:
    only = f"accounts: [{_quoted(account_of(role))}]"
    for subject in role.publish:
        yield f"{{ service: {_quoted(subject)}, {only} }}"
    for subject in role.hears:
        yield f"{{ stream: {_quoted(subject)}, {only} }}"


def _imports(role: Role) -> Iterable[str]:
    for kind, crossing in (("service", role.publish), ("stream", role.hears)):
        for subject in crossing:
            yield f"{{ {kind}: {{ account: {_quoted(ACCOUNT)}, subject: {_quoted(subject)} }} }}"


def _users(roles: Iterable[Role], passwords: Mapping[str, Mapping[str, str]]) -> list[str]:
    lines: list[str] = []
    for role in roles:
        for user, password in passwords[role.name].items():
            lines += [
                "{",
                f"    user: {_quoted(user)}",
                f"    password: {_quoted(password)}",
                "    permissions: {",
                *_permission("publish", role.publish),
                *_permission("subscribe", role.subscribe),
                *([f"        allow_responses: {_RESPONSES}"] if role.only_answers else []),
                "    }",
                "}",
            ]
    return _block("users", lines)


def _permission(name: str, allowed: Iterable[str]) -> list[str]:
    return [
        f"        {name}: [",
        *(f"            {_quoted(subject)}" for subject in dict.fromkeys(allowed)),
        "        ]",
    ]


def _block(name: str, lines: Iterable[str]) -> list[str]:
    return [f"        {name}: [", *(f"            {line}" for line in lines), "        ]"]


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
