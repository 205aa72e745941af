"""The examples beside a pack, `tests.yaml`: events in, the rules that must fire out.

Every rule has at least one example in which it fires and one in which it does not. An example is a
short story; its last step is the one that is judged.
"""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

from pydantic import Field, ValidationError

from lictor_policy.errors import PackError, StoryError, UnacceptableEvent
from lictor_policy.judge.config import EvaluatorConfig
from lictor_policy.offline.stories import Stage, StoryStep, disagreements, play_step
from lictor_policy.packs.strict_yaml import YamlDocument, YamlError, read_yaml
from lictor_schema.core.base_model import Identifier, Model, Text
from lictor_schema.errors import WHOLE_DOCUMENT, describe_validation_error

TESTS_FILE = "tests.yaml"


class PackTest(Model):
    """One example: steps, and whether the rule fires on the last of them."""

    title: Text
    rule: Identifier = Field(description="The rule that the example is about")
    fires: bool = Field(description="Whether it fires on the last step")
    steps: Annotated[tuple[StoryStep, ...], Field(min_length=1, max_length=1000)]


class PackTests(Model):
    """The examples of one pack."""

    kind: Literal["PolicyPackTests"]
    pack: Identifier = Field(description="The id of the pack")
    tests: Annotated[tuple[PackTest, ...], Field(min_length=1, max_length=10_000)]


class PackTestResult(NamedTuple):
    """How an example went."""

    title: str
    rule: str
    fires: bool
    problems: tuple[str, ...]
    """What went otherwise, a sentence each; none when it went as written."""

    @property
    def ok(self) -> bool:
        """Whether it went as written."""
        return not self.problems


def load_pack_tests(path: Path) -> PackTests:
    """Read the examples of a pack; raises PackError that names the file, the line and the field."""
    try:
        document = read_yaml(path.read_bytes())
    except OSError as error:
        raise PackError(f"{path}: can't be read: {error.strerror}") from error
    except YamlError as error:
        where = path if error.line is None else f"{path}:{error.line}"
        raise PackError(f"{where}: {error.problem}") from error
    try:
        return PackTests.model_validate_json(json.dumps(document.data))
    except ValidationError as error:
        lines = (
            _located(path, document, told.path, told.problem)
            for told in describe_validation_error(error)
        )
        raise PackError("\n".join(dict.fromkeys(lines))) from error


def run_pack_tests(config: EvaluatorConfig, tests: PackTests) -> list[PackTestResult]:
    """Play every example against the configuration.

    Only the rules of the tests' own pack are looked at, so other packs may be in force beside it.
    """
    return [_run(config, tests.pack, test) for test in tests.tests]


def missing_examples(rule_ids: Iterable[str], tests: PackTests) -> list[str]:
    """What each rule still lacks: an example that fires, one that does not; and unknown rules."""
    known = list(rule_ids)
    shown = {(test.rule, test.fires) for test in tests.tests}
    lacking = [
        f"{rule}: has no example in which it {'fires' if fires else 'does not fire'}"
        for rule in known
        for fires in (True, False)
        if (rule, fires) not in shown
    ]
    strangers = sorted({test.rule for test in tests.tests} - set(known))
    return [*lacking, *(f"{rule}: is no rule of {tests.pack}" for rule in strangers)]


def _run(config: EvaluatorConfig, pack_id: str, test: PackTest) -> PackTestResult:
    stage = Stage(config)
    problems: list[str] = []
    fired: tuple[str, ...] = ()
    for number, told in enumerate(test.steps, 1):
        where = f"step {number} ({told.event or told.timer or 'evidence'}, t+{told.at})"
        try:
            outcome = play_step(stage, told)
        except UnacceptableEvent as error:
            problems.append(f"{where}: the event was refused: {error}")
            break
        except StoryError as error:
            problems.append(f"{where}: {error}")
            break
        except ValidationError as error:
            first = describe_validation_error(error)[0]
            problems.append(f"{where}: {first.path}: {first.problem}")
            break
        # Also when it only records: a rule is tried out in shadow mode with its examples.
        fired = tuple(use.rule_id for use in outcome.uses if use.pack_id == pack_id)
        if told.expect is not None:
            found = disagreements(told.expect, outcome, stage, pack_id=pack_id)
            problems.extend(f"{where}: {problem}" for problem in found)
    else:
        if (test.rule in fired) is not test.fires:
            wanted = "should fire" if test.fires else "should not fire"
            problems.append(
                f"last step: {test.rule} {wanted}; fired: {', '.join(fired) or 'no rule'}"
            )
    return PackTestResult(test.title, test.rule, test.fires, tuple(problems))


def _located(path: Path, document: YamlDocument, dotted: str, problem: str) -> str:
    parts = () if dotted == WHOLE_DOCUMENT else tuple(dotted.split("."))
    place = tuple(int(part) if part.isdigit() else part for part in parts)
    line = document.line_of(place)
    where = path if line is None else f"{path}:{line}"
    return f"{where}: {dotted if parts else 'the document'}: {problem}"
