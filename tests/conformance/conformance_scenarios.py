"""What every adapter must do, as given / when / then: steps of a scripted agent, each with what must come of it.

A number in `about` is that of the reference's scenario; ACK names one of the seed's six on completion.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Document = dict[str, Any]


@dataclass(frozen=True)
class Given:
    """A file, a directory or a link stands in the workspace, whatever stood there before."""

    path: str
    content: str | None = ""
    """None: nothing stands there any more."""
    links_to: str | None = None
    directory: bool = False


@dataclass(frozen=True)
class Call:
    """The agent calls a tool. `{workspace}` in a parameter is the workspace's absolute path."""

    tool: str
    then: str
    params: Mapping[str, Any] = field(default_factory=dict[str, Any])
    says: str = ""
    """Stands in what the agent is told."""


@dataclass(frozen=True)
class Beside:
    """While one tool runs, the agent calls another, which ends first."""

    slow: Call
    quick: Call


@dataclass(frozen=True)
class Stop:
    """The agent wants to stop."""

    then: str
    says: str = ""


@dataclass(frozen=True)
class HandOver:
    """The agent hands over its output, before it stops."""

    output: Mapping[str, Any]
    then: str
    says: str = ""


@dataclass(frozen=True)
class Prompt:
    """Somebody gives the agent new work."""


@dataclass(frozen=True)
class Snapshot:
    """An operator keeps the session's state."""

    name: str


@dataclass(frozen=True)
class Restore:
    """An operator sets it back."""

    name: str


@dataclass(frozen=True)
class Use:
    """The model used tokens."""

    input_tokens: int


Step = Given | Call | Beside | Stop | HandOver | Prompt | Snapshot | Restore | Use


@dataclass(frozen=True)
class Scenario:
    """One story, under a definition of its own."""

    name: str
    about: str
    definition: Document
    steps: tuple[Step, ...]
    begins: bool = True
    out_of_time: bool = False
    """Whether the session's deadline has passed when it begins."""

    @property
    def expected(self) -> list[str]:
        """What must come of the steps, in the order in which they end."""
        came: list[str] = []
        for step in self.steps:
            if isinstance(step, Beside):
                came += [step.quick.then, step.slow.then]
            elif isinstance(step, Call | Stop | HandOver):
                came.append(step.then)
        return came

    @property
    def needs(self) -> tuple[str, ...]:
        """The capabilities that an adapter must have to play it."""
        kinds = {Stop: "task_completion", HandOver: "structured_output"}
        return tuple(
            need
            for kind, need in kinds.items()
            if any(isinstance(each, kind) for each in self.steps)
        )


TOOLS: list[Document] = [
    {"name": "read_file", "access": "read", "resources": ["path"]},
    {"name": "write_file", "access": "write", "resources": ["path"]},
    {"name": "edit_file", "access": "write", "resources": ["path"]},
    {"name": "build"},
    {"name": "test"},
    {"name": "deploy"},
    {"name": "note"},
]
READ_FIRST: Document = {"kind": "read-before-write", "name": "read-first"}
NO_WRITES: Document = {
    "kind": "parameters",
    "name": "no-writes",
    "tools": ["write_file"],
    "rules": [{"param": "path", "deny": ["."], "remedy": "leave the files alone"}],
}
ORDER: Document = {
    "kind": "sequential-dependency",
    "name": "order",
    "requires": {"deploy": ["build", "test"]},
    "invalidated_by": {"test": ["edit_file", "write_file"]},
}
TESTED: Document = {
    "kind": "verification",
    "name": "tests",
    "tool": "test",
    "stale_after": ["write_file", "edit_file"],
}
OUTPUT: Document = {"kind": "files", "files": ["output.txt"]}


def policies(*specs: Document) -> Document:
    """A definition with these policies."""
    return {"policies": list(specs)}


def completion(checker: Document, **more: Any) -> Document:
    """A definition with a completion checker."""
    return {"completion": {"checker": checker, **more}}


def says(name: str, **trigger: Any) -> Document:
    """A provider that says the same each time."""
    return {"kind": "static", "name": name, "trigger": trigger, "text": f"this is {name}"}


def write(path: str, then: str, content: str = "new", tool: str = "write_file") -> Call:
    """The agent writes a file."""
    return Call(tool, then, {"path": path, "content": content})


def read(path: str, then: str = "runs") -> Call:
    """The agent reads a file."""
    return Call("read_file", then, {"path": path})


def hears(*providers: str) -> str:
    """A call that runs, after which these are heard."""
    return "runs" + (f", hears {', '.join(providers)}" if providers else "")


SCENARIOS = (
    Scenario(
        "a denied tool does not run",
        "34, 37, 127",
        policies(NO_WRITES),
        (
            write("a.txt", "denied by no-writes"),
            Call("note", "runs"),
        ),
    ),
    Scenario(
        "every reason against a call is told at once",
        "13, 22",
        policies(NO_WRITES, READ_FIRST),
        (
            Given("a.txt", "old"),
            write("a.txt", "denied by no-writes, read-first"),
        ),
    ),
    Scenario(
        "a tool that the definition does not list is denied",
        "33",
        {},
        (Call("erase_disk", "denied by lictor.unknown-tool", {"path": "/"}),),
    ),
    Scenario(
        "a session that never began gets nothing",
        "150",
        {},
        (Call("note", "denied, not recorded"),),
        begins=False,
    ),
    Scenario(
        "a tool waits for those it needs, and again when one of them went stale",
        "12, 13, 14, 16, 151",
        policies(ORDER),
        (
            Call("deploy", "denied by order", says="build"),
            Call("build", "runs"),
            Call("test", "fails", {"fails": True}),
            Call("deploy", "denied by order", says="test"),
            Call("test", "runs"),
            Call("deploy", "runs"),
            write("a.txt", "runs"),
            Call("deploy", "denied by order", says="test"),
            Call("test", "runs"),
            Call("deploy", "runs"),
        ),
    ),
    Scenario(
        "one file has one name, however it is spelled",
        "21, 22, 23, 28, 29, 30, 143",
        {**policies(READ_FIRST), "workspace": {"mounts": ["/workspace"]}},
        (
            Given("a.txt", "old"),
            Given("d", directory=True),
            Given("link.txt", links_to="a.txt"),
            write("a.txt", "denied by read-first"),
            write("./a.txt", "denied by read-first"),
            write("d/../a.txt", "denied by read-first"),
            write("d//..//a.txt", "denied by read-first"),
            write("{workspace}/a.txt", "denied by read-first"),
            write("/workspace/a.txt", "denied by read-first"),
            write("link.txt", "denied by read-first"),
            read("d/../link.txt"),
            write("a.txt", "runs"),
            write("./a.txt", "runs"),
            write("{workspace}/d/../a.txt", "runs"),
            write("/workspace/a.txt", "runs"),
            write("link.txt", "runs"),
            write("new.txt", "runs"),
            write("new.txt", "runs", "again"),
        ),
    ),
    Scenario(
        "a read counts for the version that was read",
        "22, 23, 24",
        policies(READ_FIRST),
        (
            Given("a.txt", "old"),
            read("a.txt"),
            Given("a.txt", "changed by somebody else"),
            write("a.txt", "denied by read-first"),
            read("a.txt"),
            write("a.txt", "runs"),
        ),
    ),
    Scenario(
        "a path that can't be resolved, or is no file, is not written",
        "19, 20",
        policies(READ_FIRST),
        (
            Given("loop", links_to="loop"),
            Given("d", directory=True),
            write("loop", "denied by read-first"),
            write("d", "denied by read-first"),
            Call("write_file", "denied by read-first", {"content": "without a path"}),
            Call("write_file", "denied by read-first", {"path": 7, "content": "no path"}),
        ),
    ),
    Scenario(
        "a file name may hold a line break",
        "bad input",
        policies(READ_FIRST),
        (
            Given("a\nb.txt", "old"),
            write("a\nb.txt", "denied by read-first"),
            read("a\nb.txt"),
            write("./a\nb.txt", "runs"),
        ),
    ),
    Scenario(
        "no more calls than the limit",
        "rate limit",
        policies(
            {
                "kind": "rate-limit",
                "name": "slowly",
                "tools": ["note"],
                "limit": 2,
                "window_s": 3600,
            }
        ),
        (
            Call("note", "runs"),
            Call("build", "runs"),
            Call("note", "runs"),
            Call("note", "denied by slowly"),
            Call("build", "runs"),
        ),
    ),
    Scenario(
        "a pattern that would take for ever elsewhere takes no time",
        "bad input",
        policies(
            {
                "kind": "parameters",
                "name": "plain",
                "tools": ["note"],
                "rules": [{"param": "text", "deny": ["(a+)+$"]}],
            }
        ),
        (
            Call("note", "runs", {"text": "a" * 50_000 + "!"}),
            Call("note", "denied by plain", {"text": "b" * 50_000 + "a"}),
        ),
    ),
    Scenario(
        "parameters too large for the bus are denied where they are, and recorded",
        "bad input",
        {},
        (
            Call("note", "denied by lictor.client.too-large", {"text": "x" * 5_000_000}),
            Call("note", "runs", {"text": "x"}),
        ),
    ),
    Scenario(
        "advice after every call",
        "61, 96, 111, 128",
        {"feedback": [says("reminder", every_n_calls=1)]},
        (
            Call("note", hears("reminder"), says="this is reminder"),
            Call("note", hears("reminder")),
        ),
    ),
    Scenario(
        "an agent that is only denied hears that it goes round in circles",
        "advice comes with a denial too: no other hook follows a denied call",
        {
            "policies": [
                {
                    "kind": "sequential-dependency",
                    "name": "tested",
                    "requires": {"deploy": ["test"]},
                }
            ],
            "feedback": [
                {
                    "kind": "repeated-calls",
                    "name": "loops",
                    "trigger": {"every_n_calls": 1},
                    "repeats": 3,
                }
            ],
        },
        (
            Call("deploy", "denied by tested"),
            Call("deploy", "denied by tested"),
            Call("deploy", "denied by tested, hears loops", says="It is denied each time"),
            Call("test", "runs"),
            Call("deploy", "runs"),
        ),
    ),
    Scenario(
        "each provider has a cadence of its own",
        "63, 64, 65",
        {"feedback": [says("third", every_n_calls=3), says("fifth", every_n_calls=5)]},
        (
            Call("note", "runs"),
            Call("note", "runs"),
            Call("note", hears("third")),
            Call("note", "runs"),
            Call("note", hears("fifth")),
            Call("note", hears("third")),
            Call("note", "runs"),
            Call("note", "runs"),
            Call("note", hears("third")),
            Call("note", hears("fifth")),
        ),
    ),
    Scenario(
        "a tool that failed counts, and its advice is heard",
        "3.1: feedback after a failed call",
        {"feedback": [says("second", every_n_calls=2)]},
        (
            Call("note", "runs"),
            Call("build", "fails, hears second", {"fails": True}),
            Call("note", "runs"),
        ),
    ),
    Scenario(
        "a denied call counts, and its advice comes with the denial",
        "1.5: what is a call",
        {**policies(NO_WRITES), "feedback": [says("second", every_n_calls=2)]},
        (
            Call("note", "runs"),
            write("a.txt", "denied by no-writes, hears second"),
            Call("note", "runs"),
            Call("note", hears("second")),
        ),
    ),
    Scenario(
        "a file is told of once, when it is seen",
        "76, 77, 78, 146",
        {"feedback": [says("conventions", on_file_created="AGENTS.md")]},
        (
            Call("note", "runs"),
            write("AGENTS.md", hears("conventions")),
            Call("note", "runs"),
            Given("AGENTS.md", content=None),
            Call("note", "runs"),
            write("./AGENTS.md", "runs"),
        ),
    ),
    Scenario(
        "a restore sets back what policies know, and repeats no advice",
        "136, 148",
        {
            **policies(READ_FIRST),
            "feedback": [
                says("second", every_n_calls=2),
                says("conventions", on_file_created="AGENTS.md"),
            ],
        },
        (
            Given("a.txt", "old"),
            Call("note", "runs"),
            Snapshot("before"),
            Given("AGENTS.md", "be kind"),
            read("a.txt", hears("second", "conventions")),
            Restore("before"),
            write("a.txt", "denied by read-first"),
            read("a.txt", hears("second")),
            write("a.txt", "runs"),
        ),
    ),
    Scenario(
        "a stop is blocked while the output is missing",
        "84, 101, 129; ACK test_task_completion_blocks_early_stop",
        completion(OUTPUT),
        (
            Stop("blocked 1: incomplete", says="output.txt"),
            Given("output.txt", directory=True),
            Stop("blocked 2: incomplete", says="output.txt"),
            Given("output.txt", content=None),
            write("output.txt", "runs"),
            Stop("allowed: complete"),
        ),
    ),
    Scenario(
        "a stop is allowed when the output is there",
        "84, 101, 130; ACK test_task_completion_allows_stop_when_complete",
        completion(OUTPUT),
        (
            Given("output.txt", "done"),
            Stop("allowed: complete"),
        ),
    ),
    Scenario(
        "whoever is out of time may stop, and do nothing else",
        "92, 103, 113, 117; ACK test_task_completion_skipped_on_deadline_exhaustion",
        completion(OUTPUT),
        (
            Call("note", "denied by lictor.deadline"),
            Stop("allowed: bypassed (deadline)"),
        ),
        out_of_time=True,
    ),
    Scenario(
        "whoever has made all calls may stop, and do nothing else",
        "92, 103, 113; ACK test_task_completion_skipped_on_budget_exhaustion",
        {**completion(OUTPUT), "budgets": {"calls": 2}},
        (
            Call("note", "runs"),
            Stop("blocked 1: incomplete"),
            Call("note", "runs"),
            Call("note", "denied by lictor.budget"),
            Stop("allowed: bypassed (budget)"),
        ),
    ),
    Scenario(
        "tokens are used up when the limit is reached, not when it is passed",
        "1.8: bypass",
        {**completion(OUTPUT), "budgets": {"input_tokens": 1000}},
        (
            Use(input_tokens=999),
            Call("note", "runs"),
            Stop("blocked 1: incomplete"),
            Use(input_tokens=1),
            Call("note", "denied by lictor.budget"),
            Stop("allowed: bypassed (budget)"),
        ),
    ),
    Scenario(
        "all that is asked for must be there",
        "89; ACK test_composite_checker_all_must_pass",
        completion({"kind": "all-of", "checkers": [OUTPUT, {"kind": "files", "files": ["b.txt"]}]}),
        (
            Given("output.txt", "done"),
            Stop("blocked 1: incomplete", says="b.txt"),
            write("b.txt", "runs"),
            Stop("allowed: complete"),
        ),
    ),
    Scenario(
        "one of several is enough",
        "90",
        completion({"kind": "any-of", "checkers": [OUTPUT, {"kind": "files", "files": ["b.txt"]}]}),
        (
            Stop("blocked 1: incomplete"),
            write("b.txt", "runs"),
            Stop("allowed: complete"),
        ),
    ),
    Scenario(
        "a check must have passed after the last change",
        "verification",
        completion(TESTED, max_blocks=9),
        (
            Stop("blocked 1: incomplete"),
            Call("test", "fails", {"fails": True}),
            Stop("blocked 2: incomplete"),
            Call("test", "runs"),
            write("a.txt", "runs"),
            Stop("blocked 3: incomplete"),
            Call("test", "runs"),
            Stop("allowed: complete"),
        ),
    ),
    Scenario(
        "a check during which something changed does not count",
        "verification, beside a change",
        {**completion(TESTED), **policies(ORDER)},
        (
            Call("build", "runs"),
            Beside(Call("test", "runs"), write("a.txt", "runs")),
            Call("deploy", "denied by order", says="write_file"),
            Stop("blocked 1: incomplete", says="write_file"),
            Beside(Call("test", "runs"), Call("note", "runs")),
            Call("deploy", "runs"),
            Stop("allowed: complete"),
        ),
    ),
    Scenario(
        "a rule on a path judges the file, however it is spelled",
        "parameters, on files",
        {
            **policies(
                {
                    "kind": "parameters",
                    "name": "inside",
                    "tools": ["write_file"],
                    "rules": [
                        {"param": "path", "allow": ["[^/].*"], "deny": ["(^|/)\\.lictor(/|$)"]}
                    ],
                }
            ),
            "workspace": {"mounts": ["/workspace"]},
        },
        (
            Given(".lictor", directory=True),
            Given("docs", links_to=".lictor"),
            Given("away", links_to="/"),
            write("docs/endpoints.json", "denied by inside"),
            write("./.lictor//endpoints.json", "denied by inside"),
            write("/workspace/docs/../docs/endpoints.json", "denied by inside"),
            write("away/tmp/a.txt", "denied by inside"),
            write("../a.txt", "denied by inside"),
            write("{workspace}/a.txt", "runs"),
            write("/workspace/b.txt", "runs"),
        ),
    ),
    Scenario(
        "an output is answered with what it lacks, before the stop",
        "97, 98: StructuredOutput adds feedback if incomplete, and counts as no stop",
        {**completion(OUTPUT, max_blocks=1), "other_tools": "allow"},
        (
            HandOver({"answer": 42}, "hears lictor.completion", says="'output.txt'"),
            HandOver({"answer": 42}, "hears lictor.completion"),
            Stop("blocked 1: incomplete"),
            Given("output.txt", "done"),
            HandOver({"answer": 42}, "hears nothing"),
            Stop("allowed: complete"),
        ),
    ),
    Scenario(
        "without a checker any output is fine",
        "97",
        {"other_tools": "allow"},
        (HandOver({"answer": 42}, "hears nothing"), Stop("allowed: unchecked")),
    ),
    Scenario(
        "without a checker the agent stops when it wants",
        "131; ACK test_no_checker_allows_free_stop",
        {},
        (Stop("allowed: unchecked"),),
    ),
    Scenario(
        "a stop that is blocked again and again ends with a person",
        "114, 152",
        completion(OUTPUT, max_blocks=2),
        (
            Stop("blocked 1: incomplete"),
            Stop("blocked 2: incomplete"),
            Stop("allowed: incomplete, escalated"),
            Prompt(),
            Stop("blocked 1: incomplete"),
        ),
    ),
)
