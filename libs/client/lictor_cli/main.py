"""The `lictor` command.

This module imports nothing, and the code of each command is loaded when it is called: a tool that
hooks start before every tool call has to start fast. Where the code of `lictor NOUN VERB` is, and what
it has, stands in `groups.py`; that of a command without verbs is the module of its name.
"""

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Coroutine, Sequence
    from typing import Any, Protocol

    class Home(Protocol):
        """A module with one verb, or a `lictor_cli.verb.Verb` in a module with several."""

        @property
        def HELP(self) -> str: ...  # noqa: N802 -- a constant of a module
        def arguments(self, parser: ArgumentParser, /) -> None: ...
        def run(self, options: Namespace, /) -> "int | Coroutine[Any, Any, int]": ...


OK, FAILED, USAGE, UNREACHABLE, DIFFERENT, LAYER, WAITING, INTERRUPTED, READER_GONE = (
    0,
    1,
    2,
    3,
    4,
    5,
    6,
    130,
    141,
)

COMMANDS = {
    "up": "run NATS, Redis and all services until Ctrl-C",
    "demo": "play a short agent story through everything, and verify its seal",
    "publish": "publish events from a file or a pipe",
    "watch": "show decisions as they are made",
    "decision": "show one decision and what became of it",
    "pack": "check, test, explain, compare and watch over policy packs",
    "agent": "check, show, compare and publish agent definitions",
    "prove": "prove what programs will do, before they run",
    "approvals": "list, show and decide on programs and tool calls that wait for people",
    "runs": "list and show what approved programs did, effect by effect",
    "ir": "show what a program may do, as an Effect IR document",
    "layer": "show what programs may call and promise, as text for whoever writes them",
    "replay": "prove that the events still lead to the decisions on record",
    "seal": "export a sealed episode, verify and read one offline, correct or erase it",
    "log": "export, prove, check and cosign the log of all seals",
    "hook": "answer the hooks of Claude Code; `hook install` sets them up",
    "mcp": "run an MCP server behind a proxy that judges every tool call",
    "http": "judge the tool calls and stops of agents that speak HTTP",
    "session": "list, show, halt and resume guarded sessions; keep, restore or reset their state",
    "drift": "list what did not go as agreed, show one, move its handling forward",
    "patch": "list, propose, approve, reject and apply changes that drift asks for",
    "claim": "register what is relied on, tell what was measured, show the cycles",
    "report": "tell how decisions kept to their contracts, from what was measured",
    "contract": "show a governed decision; approve, freeze, resume; halt or release all",
    "dead": "list, show or replay what could not be processed",
    "streams": "make, check and migrate the streams that everything is stored in",
    "account": "list, add, rotate and remove the accounts and passwords of NATS",
    "doctor": "check this machine and the running services",
}

_EXITS = """\
exit codes:
  0    done
  1    failed or refused
  2    wrong usage
  3    a server or service can't be reached
  4    a diff or an analysis found a difference
  5    a trusted layer can't be used: no program was judged by it
  6    what was waited for has not happened yet, and may still
  130  interrupted
  141  the reader of the output went away
"""


def main(argv: "Sequence[str] | None" = None) -> int:
    """Run one command and return its exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments[:1] == ["hook"] and _has_no_verb(arguments[1:]):
        return _answer_hook(arguments[1:])
    _open_closed_streams()
    try:
        return _dispatch(arguments)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        return _leave_quietly()
    except Exception as error:  # noqa: BLE001 -- the one place where a traceback becomes a sentence
        from lictor_cli.output.failure_report import report

        return {"failed": FAILED, "layer": LAYER, "unreachable": UNREACHABLE}[report(error)]


def _has_no_verb(arguments: list[str]) -> bool:
    return not arguments or (arguments[0].startswith("--") and arguments[0] != "--help")


def _answer_hook(arguments: list[str]) -> int:
    """A hook that can't even be loaded must block, or the agent would go on; but no stop, which would never end."""
    named = [arguments[at + 1 :][:1] for at, word in enumerate(arguments) if word == "--event"]
    stops = ["Stop"] in named or ["SubagentStop"] in named
    try:
        from lictor.fast.hook import main
    except BaseException as error:  # noqa: BLE001 -- see above
        import os

        told = f"lictor hook can't be loaded: {error!r}\n"
        os.write(2, told.encode("utf-8", "replace"))
        if stops:
            os.write(1, b'{"systemMessage":"Lictor can\'t be loaded: the agent stops unjudged"}\n')
        return 0 if stops else 2
    try:
        return main(arguments)
    except BaseException:  # noqa: BLE001 -- a second signal while it refuses
        return 0 if stops else 2


def _dispatch(arguments: list[str]) -> int:
    name = arguments[0] if arguments else ""
    if name in ("", "-h", "--help", "help"):
        _write(sys.stdout if name else sys.stderr, _usage())
        return OK if name else USAGE
    if name in ("-V", "--version"):
        from lictor import __version__

        _write(sys.stdout, f"lictor {__version__}\n")
        return OK
    if name not in COMMANDS:
        return _refuse_command("lictor", name, COMMANDS)
    from lictor_cli.groups import GROUPS

    if name not in GROUPS:
        return _run(name, arguments[1:])
    text, verbs = GROUPS[name]
    summaries = {verb: summary for verb, (_, summary) in verbs.items()}
    return _run_verb(name, text, summaries, arguments[1:])


def home_of(name: str) -> "Home":
    """Where a command (`up`) or a verb (`patch approve`) is; `lictor_cli.groups` says so."""
    from importlib import import_module

    from lictor_cli.groups import GROUPS, HOMES

    noun, _, verb = name.partition(" ")
    place = GROUPS[noun][1][verb][0] if verb else HOMES.get(noun, noun)
    path, _, attribute = place.partition(":")
    module: Any = import_module(f"lictor_cli.{path}")
    return getattr(module, attribute) if attribute else module


def _run(name: str, arguments: list[str]) -> int:
    home = home_of(name)
    options = _parser(name, home).parse_args(arguments)
    outcome = home.run(options)
    if not isinstance(outcome, int):
        import asyncio

        outcome = asyncio.run(outcome)
    sys.stdout.flush()
    return int(outcome)


def _run_verb(noun: str, text: str, verbs: dict[str, str], arguments: list[str]) -> int:
    verb = arguments[0] if arguments else ""
    if verb in ("", "-h", "--help", "help"):
        told = (
            f"usage: lictor {noun} COMMAND [options]\n\n{text}\n"
            f"commands (`lictor {noun} COMMAND --help` shows the options):\n"
            f"{_listed(verbs)}\n{_EXITS}"
        )
        _write(sys.stdout if verb else sys.stderr, told)
        return OK if verb else USAGE
    if verb not in verbs:
        return _refuse_command(f"lictor {noun}", verb, verbs)
    return _run(f"{noun} {verb}", arguments[1:])


def _parser(name: str, home: "Home") -> "ArgumentParser":
    from argparse import ArgumentParser, RawDescriptionHelpFormatter

    parser = ArgumentParser(
        prog=f"lictor {name}",
        description=home.HELP,
        epilog=_EXITS,
        formatter_class=RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    home.arguments(parser)
    return parser


def _usage() -> str:
    return (
        "usage: lictor COMMAND [options]\n\n"
        "Lictor governs AI agents: it judges what they report, and seals what was decided.\n\n"
        f"commands (`lictor COMMAND --help` shows the options):\n{_listed(COMMANDS)}\n"
        "options:\n"
        "  -h, --help     show this\n"
        "  -V, --version  show the version\n\n"
        f"{_EXITS}\n"
        "LICTOR_NATS_URL and LICTOR_REDIS_URL name the servers to use;"
        " LICTOR_DEBUG=1 shows tracebacks.\n"
    )


def _listed(commands: dict[str, str]) -> str:
    width = max(map(len, commands))
    return "".join(f"  {name:<{width}}  {summary}\n" for name, summary in commands.items())


def _refuse_command(program: str, name: str, known: dict[str, str]) -> int:
    from difflib import get_close_matches

    near = get_close_matches(name, known, n=1)
    hint = f"did you mean `{program} {near[0]}`?" if near else f"`{program} --help` lists them."
    _write(sys.stderr, f"lictor: there is no command {ascii(name)[:80]}; {hint}\n")
    return USAGE


def _write(stream: object, text: str) -> None:
    stream.write(text)  # type: ignore[attr-defined]
    stream.flush()  # type: ignore[attr-defined]


def _open_closed_streams() -> None:
    """Read from and write to nothing where the caller closed a stream (`lictor doctor >&-`)."""
    if None not in (sys.stdin, sys.stdout, sys.stderr):
        return
    import os

    # In this order each gets the number that is missing, which children then inherit.
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            stream = open(os.devnull, mode, encoding="utf-8", errors="replace")  # noqa: PTH123, SIM115
            os.set_inheritable(stream.fileno(), True)
            setattr(sys, name, stream)


def _leave_quietly() -> int:
    """Let the interpreter flush into nothing at exit, since nobody reads any more."""
    import os

    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    return READER_GONE
