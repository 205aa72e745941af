"""`lictor seal show`: a sealed episode in plain words, after it is verified."""

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from lictor.history.episode_story import SECTIONS, EpisodeStory, told_once
from lictor_cli.main import FAILED, OK
from lictor_cli.output.terminal import common_arguments, counted, printable, say, say_json, warn
from lictor_cli.seal.sources import NOT_COMPLETE, opened
from lictor_seal import (
    SealBundle,
    SealError,
    TrustStore,
    VerificationReport,
    incomplete_strands,
    verify_file,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

HELP = """\
Verify a bundle and tell its episode: what was claimed, on what, what was refused and approved and by whom,
what was done, and how it ended.
"""


def arguments(parser: ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("file", metavar="FILE", help="the bundle; - for stdin")
    parser.add_argument(
        "--trust",
        metavar="KEYFILE",
        help="the trust file: whose seals you believe; without it nothing is verified",
    )
    common_arguments(parser, connects=False)


def run(options: Namespace) -> int:
    """Verify, then tell; nothing is told of a file that is not what was sealed."""
    trust = TrustStore.load(Path(options.trust)) if options.trust is not None else TrustStore(())
    story = EpisodeStory()
    with opened(options.file) as file:
        report = verify_file(file, trust, visit=story.take)
        try:
            sealed = SealBundle.from_bytes(file.first).sealed_episode
        except SealError:
            sealed = None
    doubt = None if report.ok else _doubt(report, options.trust is not None)
    tellable = sealed is not None and (report.ok or report.only_the_key_is_unknown)
    if options.json:
        value: dict[str, object] = {
            "file": options.file,
            "verified": report.ok,
            "problem": doubt,
            **report.to_json_value(),
        }
        if tellable:
            value |= {"episode": sealed, "story": story.to_json_value()}
        say_json(value)
    else:
        if doubt is not None:
            warn(f"{printable(options.file)} {doubt}")
        if tellable:
            _tell(cast("Mapping[str, Any]", sealed), story, report)
    return OK if report.ok else FAILED


def _doubt(report: VerificationReport, asked: bool) -> str:
    if report.only_the_key_is_unknown:
        return (
            "is NOT VERIFIED: the trust file does not hold its key; believe nothing of what follows"
            if asked
            else "is NOT VERIFIED: no trust file was given (--trust); believe nothing of what follows"
        )
    failed = "; ".join(
        f"{check.name}: {printable(check.detail)}"
        for check in report.failures
        if check.status.value == "failed"
    )
    return f"is NOT what was sealed ({failed}); it is not shown"


def _tell(sealed: "Mapping[str, Any]", story: EpisodeStory, report: VerificationReport) -> None:
    seal, outcome, actor = sealed["seal"], sealed["outcome"], sealed["actor"]
    # Also for whoever keeps only what is told.
    doubt = "" if report.ok else "NOT VERIFIED: "
    say(doubt + printable(story.title or f"task {sealed['taskId']}"))
    _fact("episode", f"{sealed['episodeId']}, version {seal['version']}")
    _fact("task", f"{sealed['taskId']} ({sealed['decisionType']}), in {sealed['runtime']}")
    _fact("who", f"{actor['type']} {actor['id']}")
    _fact("when", f"{sealed['startedAt']} to {sealed['endedAt']}, sealed at {seal['sealedAt']}")
    _fact("outcome", f"{outcome['code']}: {outcome.get('reason') or 'no reason given'}")
    if sealed.get("shortened"):
        _fact("shortened", f"{', '.join(sealed['shortened'])}: the seal names only the first")
    correction = sealed.get("correction")
    if correction:
        _fact("corrected", f"by {correction['by']}: {correction['reason']}")
    for feature in sealed["context"].get("features") or ():
        _fact("feature", _freshness(feature))
    for name, heading in SECTIONS.items():
        lines = story.sections[name]
        if not lines:
            continue
        say()
        say(heading)
        for at, text in told_once(lines):
            say(f"  {at}  {printable(text)}")
        if name in story.left_out:
            say(f"  … and {story.left_out[name]} more (in the file)")
    _tell_rest(sealed, story, report)


def _tell_rest(
    sealed: "Mapping[str, Any]", story: EpisodeStory, report: VerificationReport
) -> None:
    contents = report.verified.contents if report.verified else None
    say()
    for name in incomplete_strands(sealed):
        say(f"{printable(name)}: {NOT_COMPLETE}")
    if not story.counts:
        say("The file is the seal alone: the messages that tell the story are not in it.")
        return
    carried = ", ".join(f"{name} {count}" for name, count in story.carried.items())
    say(f"Messages in the file: {carried or 'none, all were erased'}")
    if story.unreadable:
        say(f"{counted(story.unreadable, 'message')} could not be read")
    for name, sequences in story.erased.items():
        first = ", ".join(map(str, sequences[:10])) + (", …" if len(sequences) > 10 else "")
        say(f"Erased: {name}, {counted(len(sequences), 'message')} (at {first})")
    for erasure in contents.erasures if contents else ():
        say(f"  {erasure.erased_at}  by {printable(erasure.by)}: {printable(erasure.reason)}")


def _freshness(feature: "Mapping[str, Any]") -> str:
    """How fresh a feature was, as the seal says; what it was stands in the messages."""
    text = f"{feature['name']}, captured at {feature['capturedAt'] or 'no time'}, fresh for {feature['ttlMs']} ms"
    if feature["ageMs"] is not None:
        text += f", at most {feature['ageMs']} ms old when an action was asked for"
    return text + (": too old, or missing" if feature["breach"] else "")


def _fact(name: str, text: str) -> None:
    say(f"  {name:<9}  {printable(text)}")
