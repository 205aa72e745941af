"""What policies over sequences of calls can do: never deny, deny only what others deny, leave a tool no call at all.

A session is abstracted to what its earlier calls left: the marks that `never-after` looks at, and the successes that
`only-after` looks at. The solver tells which kinds of calls there are; a search over what they leave tells which
sessions there are. What is not modelled (times, counts, amounts, order, plugins) is taken to let a call pass, so that
"never" is said of more sessions than there are. A session that is shown was played before, by the judge itself.
"""

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, Literal

from lictor_prove.sequences.parameter_terms import CallKind, Question, kinds_of_calls
from lictor_schema.sessions.agent_definition import AgentDefinition, SectionSpec
from lictor_schema.sessions.sequence_policy import NeverAfterSpec, OnlyAfterSpec
from lictor_schema.sessions.tool_policy import ParameterPatternSpec, PolicySpec, ToolSpec

MAX_STATES = 4_096
TRIES = 32
"""Sessions that are played before a finding is left unknown."""
QUESTION_MS = 2_000

ForetoldCall = tuple[str, Mapping[str, str]]
Play = Callable[[Sequence[ForetoldCall]], Sequence[Sequence[str]]]
"""Plays a session by the real judge, and says by which policies each call was denied."""
Check = Literal["fires", "never-fires", "shadowed", "never-allowed", "unknown"]

ASSUMED = (
    "every call is asked about before it is made",
    "a question is small enough for every pattern to be matched in time (512 KiB, as shipped)",
)


@dataclass(frozen=True, slots=True)
class SessionExample:
    """A session whose last call is denied, as the judge confirmed; the others are allowed and succeed."""

    calls: tuple[ForetoldCall, ...]
    denied_by: tuple[str, ...]

    def to_json_value(self) -> dict[str, Any]:
        """For `--json`."""
        calls = [{"tool": tool, "params": dict(params)} for tool, params in self.calls]
        return {"calls": calls, "denied_by": list(self.denied_by)}


@dataclass(frozen=True, slots=True)
class SequenceFinding:
    """What was found out about a policy, or a tool."""

    check: Check
    about: str
    problem: str
    examples: tuple["SessionExample", ...] = ()
    """Shortest sessions that show it; none where there is no such session."""

    @property
    def level(self) -> Literal["warning", "information", "unknown"]:
        """How bad it is."""
        if self.check == "unknown":
            return "unknown"
        return "information" if self.check == "fires" else "warning"

    def to_json_value(self) -> dict[str, Any]:
        """For `--json`."""
        return {
            "level": self.level,
            "check": self.check,
            "about": self.about,
            "problem": self.problem,
            "examples": [each.to_json_value() for each in self.examples],
        }


State = frozenset[str]
"""The marks and successes that there are."""


@dataclass(frozen=True, slots=True)
class _Step:
    tool: str
    kind: CallKind
    denied_by: tuple[str, ...]

    @property
    def call(self) -> ForetoldCall:
        return self.tool, self.kind.params or {}


@dataclass(slots=True)
class _Tool:
    name: str
    policies: list[PolicySpec]
    kinds: list[CallKind] = field(default_factory=list[CallKind])
    complete: bool = True
    why: str = ""


def analyze(
    definition: AgentDefinition, play: Play, timeout_ms: int = QUESTION_MS
) -> list[SequenceFinding]:
    """Every finding, those about policies first."""
    return list(_Analysis(definition, play, timeout_ms).findings())


class _Analysis:
    def __init__(self, definition: AgentDefinition, play: Play, timeout_ms: int) -> None:
        self._definition = definition
        self._play = play
        self._policies = list(_placed(definition))
        self._outputs = {_label(each.label) for each in definition.labels if each.output}
        self._tools = [self._tool(name, timeout_ms) for name in _tool_names(definition)]
        self._doubts = [f"{each.name}: {each.why}" for each in self._tools if not each.complete]

    def findings(self) -> Iterator[SequenceFinding]:
        for spec, _ in self._policies:
            if isinstance(spec, NeverAfterSpec | OnlyAfterSpec):
                yield self._about_policy(spec)
        for tool in self._tools:
            found = self._about_tool(tool)
            if found is not None:
                yield found

    def _about_policy(self, spec: NeverAfterSpec | OnlyAfterSpec) -> SequenceFinding:
        """The shortest session in which it alone denies a call, else one in which others do too."""
        name = spec.name
        alone = self._shown(lambda step: step.denied_by == (name,), lambda by: tuple(by) == (name,))
        if alone is not None:
            problem = "denies a call that all others allow"
            return SequenceFinding("fires", name, problem, (alone,))
        if self._possible(lambda step: step.denied_by == (name,)):
            return self._unknown(name, "whether it ever denies a call that all others allow")
        among = self._shown(lambda step: name in step.denied_by, lambda by: name in by)
        if among is not None:
            others = ", ".join(each for each in among.denied_by if each != name)
            problem = f"denies only what others deny too, such as {others}"
            return SequenceFinding("shadowed", name, problem, (among,))
        if self._possible(lambda step: name in step.denied_by):
            return self._unknown(name, "whether it ever denies a call")
        return SequenceFinding("never-fires", name, self._why_never(spec))

    def _about_tool(self, tool: _Tool) -> SequenceFinding | None:
        gates = [
            spec.name
            for spec in tool.policies
            if isinstance(spec, NeverAfterSpec | OnlyAfterSpec)
            and _any_covers(spec.tools, tool.name)
        ]
        if not gates or self._possible(lambda step: step.tool == tool.name and not step.denied_by):
            return None
        shown = [
            self._shown(
                lambda step, name=name: step.tool == tool.name and name in step.denied_by,
                lambda by, name=name: name in by,
            )
            for name in gates
        ]
        examples: list[SessionExample] = []
        for each in shown:
            if each is not None and each not in examples:
                examples.append(each)
        if not examples:
            return self._unknown(tool.name, "by which policies it is always denied")
        problem = "can't be called in any session: whatever was called before, a policy denies it"
        return SequenceFinding("never-allowed", tool.name, problem, tuple(examples))

    def _unknown(self, about: str, what: str) -> SequenceFinding:
        why = "; ".join(self._doubts) or "no session was found that the judge confirms"
        return SequenceFinding("unknown", about, f"it is not known {what}: {why}")

    def _why_never(self, spec: NeverAfterSpec | OnlyAfterSpec) -> str:
        if isinstance(spec, NeverAfterSpec):
            reached = {each for state, _ in self._sessions(any_kind=True) for each in state}
            if not reached & set(_looked_at(spec)):
                return "never denies: in no session there is an earlier call that it looks back at"
        return "never denies: all parameters of a call pass `unless`"

    def _shown(
        self, wanted: Callable[[_Step], bool], confirmed: Callable[[Sequence[str]], bool]
    ) -> SessionExample | None:
        """The shortest session that ends so, as the judge confirms."""
        tries = 0
        for state, path in self._sessions(any_kind=False):
            for step in self._steps(state, any_kind=False):
                if not wanted(step):
                    continue
                calls = (*path, step.call)
                *before, last = self._play(calls)
                if last and not any(before) and confirmed(last):
                    return SessionExample(calls, tuple(last))
                tries += 1
                if tries == TRIES:
                    return None
        return None

    def _possible(self, wanted: Callable[[_Step], bool]) -> bool:
        """Whether it is so in some session, or that can't be excluded."""
        if self._doubts:
            return True
        for number, (state, _) in enumerate(self._sessions(any_kind=True)):
            if number >= MAX_STATES or any(map(wanted, self._steps(state, any_kind=True))):
                return True
        return False

    def _sessions(self, *, any_kind: bool) -> Iterator[tuple[State, tuple[ForetoldCall, ...]]]:
        """Every state that calls can lead to, each by a shortest session, the shortest first."""
        seen: set[State] = {frozenset()}
        waiting: deque[tuple[State, tuple[ForetoldCall, ...]]] = deque([(frozenset(), ())])
        while waiting:
            state, path = waiting.popleft()
            yield state, path
            for step in self._steps(state, any_kind=any_kind):
                if step.denied_by:
                    continue
                for after in self._after(state, step, any_kind=any_kind):
                    if after not in seen and len(seen) <= MAX_STATES:
                        seen.add(after)
                        waiting.append((after, (*path, step.call)))

    def _steps(self, state: State, *, any_kind: bool) -> Iterator[_Step]:
        for tool in self._tools:
            for kind in tool.kinds:
                if any_kind or kind.params is not None:
                    yield _Step(tool.name, kind, tuple(_against(tool, kind, state)))

    def _after(self, state: State, step: _Step, *, any_kind: bool) -> Iterator[State]:
        """What is there after a call: as it is played, or in every way that it may go."""
        left = frozenset(
            each.removeprefix(_LEAVES).rstrip(" ")
            for each in step.kind.holds
            if each.startswith(_LEAVES)
        )
        if not any_kind:
            yield state | left
            return
        # What a call returns may give a label or not; it may fail, and time takes any success back.
        open_ = [
            each
            for each in (state | left)
            if each in self._outputs - state or each.startswith(_SUCCESS)
        ]
        if len(open_) > _MAX_OPEN:
            open_ = open_[:_MAX_OPEN]
            self._doubts.append("too much may happen in one call")
        for count in range(len(open_) + 1):
            for missing in combinations(open_, count):
                yield (state | left) - frozenset(missing)

    def _tool(self, name: str, timeout_ms: int) -> _Tool:
        gating = [
            spec for spec, section in self._policies if section is None or _holds(section, name)
        ]
        tool = _Tool(name, gating)
        spec = _spec(self._definition, name)
        files = () if spec is None else spec.resources
        found = kinds_of_calls(list(self._questions(tool, files)), files, timeout_ms)
        tool.kinds, tool.complete, tool.why = found.kinds, found.complete, found.why
        return tool

    def _questions(self, tool: _Tool, files: Sequence[str]) -> Iterator[Question]:
        for spec in tool.policies:
            match spec:
                case ParameterPatternSpec() if _any_covers(spec.tools, tool.name):
                    yield Question(_pass(spec.name), spec.rules)
                case NeverAfterSpec() | OnlyAfterSpec() if spec.unless and _any_covers(
                    spec.tools, tool.name
                ):
                    yield Question(_pass(spec.name), spec.unless)
                case _:
                    pass
        for number, rule in enumerate(self._definition.labels):
            if _any_covers(rule.tools, tool.name):
                asked = rule.files if files else ()
                # Two rules that give one label are two questions; what they leave is the same.
                name = f"{_LEAVES}{_label(rule.label)}" + " " * number
                yield Question(name, rule.where, asked, any_value=True)
        for spec, _ in self._policies:
            match spec:
                case NeverAfterSpec() if _any_covers(spec.after.tools, tool.name):
                    name = f"{_LEAVES}{_mark(spec.name)}"
                    yield Question(name, spec.after.where, any_value=True)
                case OnlyAfterSpec() if _any_covers(spec.after.tools, tool.name):
                    yield Question(f"{_LEAVES}{_success(spec.name)}", spec.after.where)
                case _:
                    pass


_LEAVES = "leaves "
_SUCCESS = "success of "
_MAX_OPEN = 8


def _pass(policy: str) -> str:
    return f"pass {policy}"


def _label(label: str) -> str:
    return f"label {label}"


def _mark(policy: str) -> str:
    return f"call before {policy}"


def _success(policy: str) -> str:
    return f"{_SUCCESS}{policy}"


def _looked_at(spec: NeverAfterSpec) -> list[str]:
    marks = [_mark(spec.name)] if spec.after.tools else []
    return [*(_label(each) for each in spec.after.labels), *marks]


def _against(tool: _Tool, kind: CallKind, state: State) -> Iterator[str]:
    """The policies that deny such a call in such a state; those that are not modelled let it pass."""
    for spec in tool.policies:
        match spec:
            case ParameterPatternSpec():
                denies = _pass(spec.name) not in kind.holds
            case NeverAfterSpec():
                passes = bool(spec.unless) and _pass(spec.name) in kind.holds
                denies = not passes and any(each in state for each in _looked_at(spec))
            case OnlyAfterSpec():
                passes = bool(spec.unless) and _pass(spec.name) in kind.holds
                denies = not passes and _success(spec.name) not in state
            case _:
                continue
        if denies and _any_covers(spec.tools, tool.name):
            yield spec.name


def _placed(definition: AgentDefinition) -> Iterator[tuple[PolicySpec, SectionSpec | None]]:
    """The policies in the order in which they are asked."""
    for section in definition.sections:
        yield from ((spec, section) for spec in section.policies)
    yield from ((spec, None) for spec in definition.policies)


def _listed(definition: AgentDefinition) -> list[ToolSpec]:
    return [*definition.tools, *(tool for each in definition.sections for tool in each.tools)]


def _holds(section: SectionSpec, tool: str) -> bool:
    return _any_covers([each.name for each in section.tools], tool)


def _spec(definition: AgentDefinition, tool: str) -> ToolSpec | None:
    """By its exact name, else by the longest `prefix*`."""
    meant = [each for each in _listed(definition) if _any_covers([each.name], tool)]
    return max(meant, key=lambda each: (each.name == tool, len(each.name)), default=None)


def _tool_names(definition: AgentDefinition) -> list[str]:
    """A tool of every sort that the definition tells apart: by its name, or by a `prefix*` that no longer one takes."""
    listed = [each.name for each in _listed(definition)]
    named = [*listed]
    for rule in definition.labels:
        named += rule.tools
    for spec, _ in _placed(definition):
        named += getattr(spec, "tools", ())
        if isinstance(spec, NeverAfterSpec | OnlyAfterSpec):
            named += spec.after.tools
    names = [f"{each[:-1]}{_ANY_NAME}" if each.endswith("*") else each for each in named]
    return [
        each
        for each in dict.fromkeys(names)
        if definition.other_tools == "allow" or _any_covers(listed, each)
    ]


_ANY_NAME = "other-tool"


def _any_covers(names: Sequence[str], tool: str) -> bool:
    return any(tool.startswith(each[:-1]) if each.endswith("*") else tool == each for each in names)
