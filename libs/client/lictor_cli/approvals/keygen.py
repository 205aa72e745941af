"""`lictor approvals keygen`: a key for an approver."""

from argparse import ArgumentParser, Namespace
from dataclasses import replace
from pathlib import Path

from lictor.installation.atomic_files import replace_file
from lictor_approval.signed_decisions import Approvers
from lictor_cli.main import OK
from lictor_cli.output.terminal import common_arguments, say, say_json
from lictor_seal import SigningKey, TrustedKey, TrustStore

HELP = """\
Make an approver's private key, which only its owner may read, and the public half beside it as
KEYFILE.trust.json. With --add the public half is also put into a file of approvers, which the approval
service and the runner read by LICTOR_APPROVERS.
"""


def arguments(parser: ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument(
        "key", metavar="KEYFILE", help="where to write the private key; never replaced"
    )
    parser.add_argument(
        "--name", metavar="NAME", required=True, help="who has it, such as an address"
    )
    parser.add_argument("--add", metavar="FILE", help="the file of approvers to add it to")
    common_arguments(parser, connects=False)


def run(options: Namespace) -> int:
    """Make it."""
    path = Path(options.key)
    key = SigningKey.generate(options.name)
    approvers = Path(options.add) if options.add else None
    store = None
    if approvers is not None:
        known = TrustStore.load(approvers) if approvers.exists() else TrustStore(())
        # Whatever else is in the file, such as its groups, stays there.
        store = replace(known, keys=(*known.keys, TrustedKey(key.verifying_key)))
        # Names that can't be told apart are refused before anything is written.
        Approvers(store)
    key.save(path)
    trust = path.with_name(f"{path.name}.trust.json")
    replace_file(trust, TrustStore.of([key.verifying_key]).to_bytes())
    if approvers is not None and store is not None:
        replace_file(approvers, store.to_bytes())
    if options.json:
        say_json({"key_id": key.key_id, "name": key.name, "key": str(path), "trust": str(trust)})
        return OK
    say(f"key       {path}")
    say(f"public    {trust}")
    if approvers is not None:
        say(f"approvers {approvers}: name it in LICTOR_APPROVERS")
    return OK
