"""An agent hands over its output before it stops: what it lacks is told as feedback, and counts as no stop."""

from typing import Any

from rehearsed_session import Rehearsal, guarded

from lictor_guard.definitions.compiled_definition import compile_definition
from lictor_guard.plugins.completion_checker import (
    CompletionContext,
    CompletionResult,
    PlainChecker,
)
from lictor_guard.plugins.installed import Plugin, Plugins
from lictor_schema.events.evidence import Quality
from lictor_schema.gates.task_standing import TaskStanding
from lictor_schema.sessions.session_log import FeedbackDelivered
from lictor_schema.sessions.session_questions import FeedbackAnswer, SeenFile, TentativeOutput

FILES = {"checker": {"kind": "files", "files": ["report.md", "results.json"]}, "max_blocks": 2}


def seen(*there: str) -> tuple[SeenFile, ...]:
    return tuple(
        SeenFile(path=path, state="file" if path in there else "missing", size=9)
        for path in ("report.md", "results.json")
    )


def handed_over(
    play: Rehearsal, files: tuple[SeenFile, ...] | None, **fields: Any
) -> FeedbackAnswer:
    play.call("StructuredOutput")
    output = TentativeOutput(value={"answer": 42}, files=files, **fields)
    return play.collect(output=output)


def rehearsed(**sections: Any) -> Rehearsal:
    return Rehearsal(guarded(tools=["StructuredOutput"], **sections))


def test_an_output_without_its_files_is_answered_with_what_is_missing() -> None:
    """Scenario 98: incomplete adds feedback that names them; complete and unseen ones are told apart."""
    play = rehearsed(completion=FILES)
    answer = handed_over(play, seen("report.md"))
    (said,) = answer.feedback
    assert (said.provider, said.severity, said.trigger) == (
        "lictor.completion",
        "warning",
        "output",
    )
    assert "1 required output file missing or empty: 'results.json'" in answer.text
    assert "no view of the workspace" in handed_over(play, None).text
    assert handed_over(play, seen("report.md", "results.json")).text == ""


def test_it_stands_in_the_log_and_counts_as_no_stop() -> None:
    play = rehearsed(completion=FILES)
    for _ in range(5):
        handed_over(play, seen())
    assert play.tally.blocks == 0
    assert sum(isinstance(entry, FeedbackDelivered) for _, entry in play.log) == 5
    assert "stop_judged" not in play.kinds
    assert play.rebuilt() == play.stored
    assert play.stop(files=seen()).decision == "deny"


def test_the_same_call_is_told_the_same_again() -> None:
    play = rehearsed(completion=FILES)
    output = TentativeOutput(value={}, files=seen())
    first = play.collect("c-1", output=output)
    assert play.collect("c-1", output=output).feedback == first.feedback


def test_without_a_checker_an_output_is_free() -> None:
    """Scenario 97: structured output without a checker adds nothing."""
    assert handed_over(rehearsed(), None).feedback == ()


def test_an_output_is_not_checked_when_time_or_budget_is_used_up() -> None:
    play = rehearsed(completion=FILES, deadline_s=60)
    play.passing(60)
    assert play.collect(output=TentativeOutput(value=1, files=seen())).feedback == ()
    play = rehearsed(completion=FILES, budgets={"calls": 1})
    assert handed_over(play, seen()).feedback == ()


def test_the_output_of_a_subagent_is_checked_where_its_stops_are() -> None:
    assert handed_over(rehearsed(completion=FILES), seen(), subagent=True).feedback == ()
    play = rehearsed(completion={**FILES, "subagents": True})
    assert handed_over(play, seen(), subagent=True).feedback


def test_what_a_checker_asks_of_the_task_is_asked_for() -> None:
    play = rehearsed(completion={"checker": {"kind": "evidence", "quality": "strong"}})
    output = TentativeOutput(value=1)
    assert "did not tell" in play.collect(output=output).text
    standing = TaskStanding(request_id="r", known=True, evidence={Quality.STRONG: 1})
    assert play.collect(output=output, standing=standing).feedback == ()


class Sums(PlainChecker):
    """The output must hold an answer, and a file beside it."""

    def __init__(self) -> None:
        self.shown: list[CompletionContext] = []

    def look_at(self) -> tuple[str, ...]:
        return ("report.md", "out")

    def check(self, context: CompletionContext) -> CompletionResult:
        self.shown.append(context)
        output = context.tentative_output
        if not isinstance(output, dict) or "answer" not in output:
            return CompletionResult.incomplete("the output has no answer")
        if context.filesystem is None or not context.filesystem.exists("./report.md"):
            return CompletionResult.incomplete("report.md is missing")
        return CompletionResult.ok()


def checked_by(checker: PlainChecker) -> Rehearsal:
    plain = guarded(
        tools=["StructuredOutput"],
        completion={"checker": {"kind": "files", "files": []}},
    ).definition
    spec = {"kind": "plugin", "name": "sums", "plugin": "sums"}
    document = plain.model_dump(mode="json", by_alias=True)
    document["completion"]["checker"] = spec
    definition = type(plain).model_validate(document, by_alias=True, strict=False)
    plugin = Plugin(lambda: lambda *_: checker, "tests==1")
    return Rehearsal(compile_definition(definition, Plugins(checkers={"sums": plugin})))


def test_a_checker_sees_the_output_the_files_and_why_it_is_asked() -> None:
    """Scenario 110: structured output is what the checker sees; also filesystem.exists and stop_reason."""
    checker = Sums()
    play = checked_by(checker)
    files = (
        SeenFile(path="report.md", state="file", size=3),
        SeenFile(path="out", state="directory"),
    )
    assert handed_over(play, files).feedback == ()
    assert "report.md is missing" in handed_over(play, None).text
    context = checker.shown[0]
    assert (context.tentative_output, context.stop_reason) == ({"answer": 42}, "structured_output")
    filesystem = context.filesystem
    assert filesystem is not None
    assert (filesystem.exists("out"), filesystem.is_file("out")) == (True, False)
    assert (filesystem.is_file("report.md"), filesystem.size("report.md")) == (True, 3)
    # At a stop the output is what the runtime hands over, else the last words.
    play.stop(files=files, final_message="done", tentative_output={"answer": 1})
    play.stop(files=files, final_message="done")
    assert [each.tentative_output for each in checker.shown[2:]] == [{"answer": 1}, "done"]
    assert checker.shown[3].stop_reason == "end_turn"


def test_a_file_that_nobody_looked_at_is_not_taken_for_missing() -> None:
    class Careless(PlainChecker):
        def check(self, context: CompletionContext) -> CompletionResult:
            assert context.filesystem is not None
            return CompletionResult.ok(str(context.filesystem.exists("elsewhere.md")))

    text = handed_over(checked_by(Careless()), seen()).text
    assert "name it in look_at()" in text
