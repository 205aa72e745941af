"""`lictor pack test`: the examples beside each pack, run."""

from argparse import ArgumentParser, Namespace
from typing import NamedTuple

from lictor_cli.main import FAILED, OK
from lictor_cli.output.progress_bar import counting
from lictor_cli.output.terminal import common_arguments, counted, printable, say, say_json
from lictor_cli.pack.sources import PackSource, find_packs
from lictor_policy.errors import PackError
from lictor_policy.judge.config import load_config
from lictor_policy.packs.pack_tests import (
    TESTS_FILE,
    PackTestResult,
    load_pack_tests,
    missing_examples,
    run_pack_tests,
)

HELP = """\
Run the examples beside each pack (tests.yaml), with only that pack in force. Every rule needs an
example in which it fires and one in which it doesn't; a rule without is a failure too.
"""


class _Tested(NamedTuple):
    pack: str
    results: list[PackTestResult]
    problems: list[str]
    """What is wrong beside the examples: the pack, the file, a rule without examples."""

    @property
    def failed(self) -> list[PackTestResult]:
        return [result for result in self.results if not result.ok]

    @property
    def ok(self) -> bool:
        return not self.problems and not self.failed


def arguments(parser: ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument(
        "packs",
        metavar="DIR",
        nargs="?",
        help="a directory of packs, or one pack (default: LICTOR_PACKS, or the nearest"
        " policy-packs, or those that come with Lictor)",
    )
    common_arguments(parser, connects=False)


def run(options: Namespace) -> int:
    """Test pack by pack."""
    source = find_packs(options.packs)
    names = source.pack_names()
    tested: list[_Tested] = []
    with counting("testing packs", len(names), quiet=options.json) as advance:
        for name in names:
            tested.append(_test(source, name))
            advance()
    for each in tested:
        if options.json:
            _say_json(each)
        else:
            _say(each)
    failed = sum(not each.ok for each in tested)
    if not options.json:
        examples = sum(len(each.results) for each in tested)
        packs = f"{counted(len(tested), 'pack')}, {counted(examples, 'example')}"
        say(f"{packs}: {f'{failed} failed' if failed else 'ok'}")
    return FAILED if failed else OK


def _test(source: PackSource, name: str) -> _Tested:
    path = source.directory / name / TESTS_FILE
    try:
        config = load_config(source.directory, [name])
        if not path.exists():
            # An envelope has nothing that an example could show: it is checked when it is read.
            wanted = [f"{path}: there are no examples; write some"] if config.rules else []
            return _Tested(name, [], wanted)
        tests = load_pack_tests(path)
    except PackError as error:
        return _Tested(name, [], str(error).splitlines())
    problems = [] if tests.pack == name else [f"{path}: pack: is {tests.pack}, not {name}"]
    rules = [rule.rule.id for rule in config.rules]
    problems += [f"{path}: {problem}" for problem in missing_examples(rules, tests)]
    return _Tested(name, run_pack_tests(config, tests), problems)


def _say(tested: _Tested) -> None:
    told = counted(len(tested.results), "example")
    if tested.failed:
        told += f", {len(tested.failed)} failed"
    say(f"{'ok' if tested.ok else 'FAIL':<4}  {tested.pack}: {told}")
    for problem in tested.problems:
        say(f"      {printable(problem)}")
    for result in tested.failed:
        say(f"      {printable(result.rule)}: {printable(result.title)}")
        for problem in result.problems:
            say(f"          {printable(problem)}")


def _say_json(tested: _Tested) -> None:
    for result in tested.results:
        say_json({"pack": tested.pack, **result._asdict(), "ok": result.ok})
    say_json(
        {
            "pack": tested.pack,
            "ok": tested.ok,
            "examples": len(tested.results),
            "failed": len(tested.failed),
            "problems": tested.problems,
        }
    )
