"""`lictor ir fetch`: the certificate of a proof, from the broker to a file."""

import re
from argparse import ArgumentParser, Namespace
from pathlib import Path

from nats.aio.client import Client

from lictor.errors import LictorError
from lictor.history.id_prefixes import CERTIFICATE, whole_id
from lictor.history.stream_contents import extent, streams_at
from lictor_bus.logs.certificates import load_certificate
from lictor_bus.names.streams import CERTIFICATES
from lictor_cli.main import OK
from lictor_cli.output.terminal import common_arguments, quiet_logs, say, say_json

HELP = """\
Fetch the certificate that a proof's result names (`certificate_hash`), and write it to a file. What does not have that
name is not written. `lictor ir check FILE` checks it, offline.
"""
_HASH = re.compile(r"sha256:[0-9a-f]{64}")
_START = re.compile(r"(?:sha256:)?[0-9a-f]{1,64}")


def arguments(parser: ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("hash", metavar="HASH", help="sha256:…, or its first digits")
    parser.add_argument(
        "--out",
        metavar="FILE",
        type=Path,
        help="where to (default: certificate-<first digits of the hash>.json)",
    )
    common_arguments(parser)


async def run(options: Namespace) -> int:
    """Fetch, compare the name, write."""
    from lictor_ir.certificate.format import name_of
    from lictor_ir.errors import IrError

    quiet_logs()
    if not _START.fullmatch(options.hash):
        raise LictorError(f"{ascii(options.hash)[:80]} is no hash: it is sha256: and 64 digits.")
    async with streams_at(options.url, "ir") as client:
        await extent(client, CERTIFICATES)
        wanted = await _whole(client, options.hash)
        data = await load_certificate(client, wanted)
    if data is None:
        raise LictorError(f"the broker keeps no certificate {wanted}.")
    try:
        found = name_of(data)
    except IrError as error:
        raise LictorError(f"what the broker keeps as {wanted} is no certificate: {error}") from None
    if found != wanted:
        raise LictorError(f"what the broker keeps as {wanted} is another certificate: {found}.")
    out: Path = options.out or Path(f"certificate-{wanted.removeprefix('sha256:')[:12]}.json")
    _write(out, data)
    if options.json:
        say_json({"hash": wanted, "file": str(out), "bytes": len(data)})
    else:
        say(f"{out}: {len(data)} bytes; `lictor ir check {out}` checks it")
    return OK


async def _whole(client: Client, given: str) -> str:
    if _HASH.fullmatch(given):
        return given
    # Subjects hold the digits alone.
    return "sha256:" + await whole_id(client, CERTIFICATE, given.removeprefix("sha256:"))


def _write(path: Path, data: bytes) -> None:
    try:
        path.write_bytes(data)
    except OSError as error:
        raise LictorError(f"{path} can't be written: {error.strerror or error}") from None
