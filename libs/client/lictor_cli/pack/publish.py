"""`lictor pack publish`: sign packs and put them in force without a restart."""

import asyncio
import time
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from nats.aio.client import Client

from lictor.errors import LictorError
from lictor.history.stream_contents import streams_at
from lictor.installation.atomic_files import replace_file
from lictor.installation.directories import changeable_packs
from lictor_bus.logs.packs import read_refusals, read_switches, read_taken, store_bundle
from lictor_bus.names import subjects
from lictor_bus.names.stream_check import require
from lictor_bus.names.streams import EVENTS, PACKS, partitions_of
from lictor_bus.wire.publish import Outgoing, publish_one
from lictor_cli.main import FAILED, OK
from lictor_cli.output.terminal import common_arguments, printable, quiet_logs, say, say_json, warn
from lictor_cli.pack import lint, test
from lictor_cli.pack.sources import methods_argument
from lictor_policy.packs.bundle import Bundled, bundle_directory
from lictor_schema.core.base_model import utc_millis
from lictor_schema.packs.release import PackRelease
from lictor_seal import SigningKey, TrustStore, sign_release

HELP = """\
Check the packs of a directory, run their examples, sign them, and publish them on a channel. Every
evaluator that follows the channel and trusts the key switches to them, without a restart.
"""
_LOOK_S = 0.1
_MOST_DAYS = 3650
EXPIRES_DAYS = 90


def arguments(parser: ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument(
        "packs",
        metavar="DIR",
        nargs="?",
        help="the directory of packs (default: LICTOR_PACKS, or the nearest policy-packs)",
    )
    parser.add_argument(
        "--key", metavar="KEYFILE", required=True, help="the private key to sign by"
    )
    parser.add_argument(
        "--key-name",
        metavar="NAME",
        default="lictor-packs",
        help="the key's name in trust files (default: lictor-packs)",
    )
    parser.add_argument(
        "--create-key",
        action="store_true",
        help="make KEYFILE if it does not exist, and KEYFILE.trust.json for evaluators",
    )
    parser.add_argument("--channel", metavar="NAME", default="main", help="default: main")
    parser.add_argument("--profiles", metavar="NAMES", help="profiles to apply, between commas")
    methods_argument(parser)
    parser.add_argument(
        "--rollback",
        action="store_true",
        help="take back what is in force: versions need not be newer",
    )
    parser.add_argument(
        "--expires",
        metavar="DAYS",
        type=_days,
        default=EXPIRES_DAYS,
        help="no evaluator takes it after so many days; what is in force by then stays, and health says so"
        " (default: 90)",
    )
    parser.add_argument(
        "--wait",
        metavar="SECONDS",
        type=float,
        default=10.0,
        help="how long to wait until it is in force or refused; 0 for not at all (default: 10)",
    )
    common_arguments(parser)


def _days(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and 1 <= int(text) <= _MOST_DAYS):
        raise ArgumentTypeError(f"{text!r} is not a number of days, from 1 to {_MOST_DAYS}")
    return int(text)


async def run(options: Namespace) -> int:
    """Check, sign, publish, and see what becomes of it."""
    quiet_logs()
    directory = Path(options.packs) if options.packs else changeable_packs()
    checked = Namespace(
        packs=[str(directory)], strict=False, json=options.json, methods=options.methods
    )
    tested = Namespace(packs=str(directory), json=options.json)
    if lint.run(checked) != OK or test.run(tested) != OK:
        warn("nothing was published.")
        return FAILED
    names = (name.strip() for name in (options.profiles or "").split(","))
    bundled = bundle_directory(directory, [name for name in names if name])
    key = _key(Path(options.key), options)
    async with streams_at(options.url, "pack-publish") as client:
        sequence, number = await _publish(client, bundled, key, options)
        told = {
            "bundle_hash": bundled.bundle_hash,
            "config_hash": bundled.config.config_hash,
            "number": number,
        }
        if options.json:
            say_json({"what": "published", "sequence": sequence, **told})
        else:
            say(f"published  {bundled.bundle_hash} on channel {options.channel}")
        if options.wait <= 0:
            return OK
        outcome, detail = await _outcome(client, bundled, sequence, options)
    if options.json:
        say_json({"what": outcome, "detail": detail, **told})
    else:
        say(f"{outcome:<9}  {printable(detail)}")
    return OK if outcome == "in force" else FAILED


def _key(path: Path, options: Namespace) -> SigningKey:
    if options.create_key and not path.exists():
        key = SigningKey.generate(options.key_name)
        key.save(path)
        trust = path.with_name(f"{path.name}.trust.json")
        replace_file(trust, TrustStore.of([key.verifying_key]).to_bytes())
        warn(f"made the key {path}; evaluators trust it by LICTOR_PACK_TRUST={trust}")
        return key
    return SigningKey.load(path, options.key_name)


async def _publish(
    client: Client, bundled: Bundled, key: SigningKey, options: Namespace
) -> tuple[int, int]:
    """Publish a release; returns its place in PACKS and its number."""
    await require(client, PACKS)
    in_force = (await read_switches(client, 0))[-1:] if options.rollback else []
    if options.rollback and not in_force:
        raise LictorError("nothing is in force yet that could be taken back.")
    await store_bundle(client, bundled.body)
    taken = await read_taken(client, options.channel)
    now = datetime.now(UTC)
    release = PackRelease(
        channel=options.channel,
        # By the clock, so that it grows on a broker that was made anew too; by the stream, where a clock was wrong.
        number=max([time.time_ns() // 1_000_000, *(each.number + 1 for each in taken)]),
        bundle_hash=bundled.bundle_hash,
        packs=bundled.config.packs,
        rollback_of=in_force[0].switch.bundle_hash if in_force else None,
        released_at=utc_millis(now),
        expires_at=utc_millis(now + timedelta(days=options.expires)),
    )
    signed = sign_release(release, key).encode()
    message = Outgoing(subjects.pack_release(options.channel), signed)
    return await publish_one(client, PACKS, message) or 0, release.number


async def _outcome(
    client: Client, bundled: Bundled, sequence: int, options: Namespace
) -> tuple[str, str]:
    """What the evaluators made of it, within the time to wait."""
    info = await client.jetstream().stream_info(EVENTS)  # pyright: ignore[reportUnknownMemberType] -- nats-py leaves **opts open
    partitions = partitions_of(info.config)
    switched = 0
    deadline = time.monotonic() + options.wait
    while time.monotonic() < deadline:
        for refusal in await read_refusals(client, options.channel):
            if refusal.sequence == sequence:
                return "refused", refusal.reason
        taken = await read_taken(client, options.channel)
        last = [(await read_switches(client, partition))[-1:] for partition in range(partitions)]
        switched = sum(bool(at) and at[0].switch.bundle_hash == bundled.bundle_hash for at in last)
        # The same packs may be in force already, by an older release.
        if switched == partitions and any(each.sequence == sequence for each in taken):
            return "in force", f"in all {partitions} partitions"
        await asyncio.sleep(_LOOK_S)
    return (
        "pending",
        f"no evaluator took it within {options.wait:g} s ({switched} of {partitions} partitions);"
        f" does one run with LICTOR_PACK_CHANNEL={options.channel}, trusting the key?",
    )
