"""`lictor pack new`: a pack to start from."""

from argparse import ArgumentParser, Namespace
from pathlib import Path

from lictor.errors import LictorError
from lictor.installation.directories import PACKS_DIR, own_packs, shipped_packs
from lictor_cli.main import OK
from lictor_cli.output.terminal import command_line, common_arguments, say, say_json
from lictor_policy.packs.scaffold import new_pack

HELP = """\
Start a pack: a folder with one rule that works and the examples that show it. Change both to what
you need; `lictor pack lint` and `lictor pack test` tell whether they still fit.
"""


def arguments(parser: ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("id", metavar="ID", help="lower-case words with hyphens: known-channels")
    parser.add_argument("--title", metavar="TEXT", help="its name for people (default: the id)")
    parser.add_argument("--owner", metavar="TEXT", default="my-team", help="who answers for it")
    parser.add_argument(
        "--dir",
        metavar="DIR",
        help="the directory of packs (default: LICTOR_PACKS, or the nearest policy-packs, or one"
        " here)",
    )
    common_arguments(parser, connects=False)


def run(options: Namespace) -> int:
    """Write the files; never over others."""
    files = new_pack(options.id, title=options.title, owner=options.owner)
    first = options.dir is None and own_packs() is None
    folder = _directory(options.dir) / options.id
    try:
        folder.mkdir(parents=True)
    except FileExistsError:
        raise LictorError(f"{folder} is there already; choose another id.") from None
    for name, text in files.items():
        (folder / name).write_text(text, "utf-8")
    if options.json:
        say_json({"pack": options.id, "files": [str(folder / name) for name in files]})
        return OK
    for name in files:
        say(f"wrote {folder / name}")
    say(f"check it with: {command_line('pack', 'lint', folder)}")
    say(f"test it with:  {command_line('pack', 'test', folder)}")
    if first:
        say(
            f"From now on {folder.parent} is what is judged by here, and not the packs that come with Lictor;"
            f" copy those that you want to keep from {shipped_packs()}."
        )
    return OK


def _directory(given: str | None) -> Path:
    return Path(given) if given is not None else own_packs() or Path.cwd() / PACKS_DIR
