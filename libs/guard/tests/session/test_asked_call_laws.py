"""Laws of calls that wait for people, over random interleavings, against a naive account of what people said.

Two instances judge the same session: each reads what people said, and decides a while later, when the other may have
been faster. Entries are folded twice, state is set back, and time goes by. What people say about a cancelled or an
expired request goes on standing where they decide: only the session keeps it from counting.
"""

import itertools
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

from asked_play import MONEY, AskedPlay
from hypothesis import event, given, settings
from hypothesis import strategies as st
from rehearsed_session import SECOND_US

from lictor_guard.facts.approval_facts import ASKING, Asking
from lictor_guard.facts.session_facts import IDENTITY, Identity
from lictor_guard.log.approval_fold import asked_signature, call_signature, micros
from lictor_guard.session.asking import Known, ReadApproval, Unsettled
from lictor_schema.approvals.call_approval import CallApprovalRequest
from lictor_schema.core.base_model import utc_millis
from lictor_schema.core.time import from_micros
from lictor_schema.sessions.session_log import (
    ApprovalCancelled,
    CallAsked,
    CallDenied,
    CallReserved,
)
from lictor_schema.sessions.session_questions import ToolGateAnswer, ToolGateRequest

DEADLINE_S = 500
POLICY = {
    **MONEY,
    "decide_within_s": 100,
    "use_within_s": 60,
    "remember": ["session"],
    "max_waiting": 2,
}
_amounts = st.sampled_from([1, 1, 2])
_call_ids = st.sampled_from([f"c{n}" for n in range(6)])
_which = st.sampled_from([0, 0, 0, 1, 2, 3])


@dataclass
class Parked:
    """A question that an instance has not answered yet, and what it knows so far."""

    request: ToolGateRequest
    known: Known | None = None


@dataclass
class Said:
    """What somebody truly said about a request."""

    params: dict[str, Any] | None
    reusable: bool
    until_us: int


@dataclass
class World:
    """The session, two instances, and a naive account of it all."""

    play: AskedPlay = field(
        default_factory=lambda: AskedPlay(POLICY, deadline_s=DEADLINE_S, session_id="s1")
    )
    said: dict[str, Said] = field(default_factory=dict[str, Said])
    rejected: set[str] = field(default_factory=set[str])
    cancelled: set[str] = field(default_factory=set[str])
    parked: list[Parked] = field(default_factory=list[Parked])
    made: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    """The calls that were allowed, by the request they were allowed by."""
    used_us: dict[str, int] = field(default_factory=dict[str, int])

    def request(self, which: int) -> CallApprovalRequest | None:
        """The newest, or an older one."""
        found = self.play.requests
        return found[-1 - which % len(found)] if found else None

    # Instances.

    def begin(self, amount: int, call_id: str) -> None:
        question = ToolGateRequest(
            **self.play._fields(),  # pyright: ignore[reportPrivateUsage]
            call_id=call_id,
            tool="pay",
            params={"amount": amount},
            knows_ask=True,
        )
        self.parked.append(Parked(question))

    def go_on(self, which: int) -> None:
        """One instance gets one step further with a question."""
        if not self.parked:
            return
        one = self.parked[which % len(self.parked)]
        play = self.play
        names = play.session.names_for_check(one.request, one.known)
        facts = play._load(names)  # pyright: ignore[reportPrivateUsage]
        entry, answer = play.session.check(one.request, facts, play.now_us, known=one.known)
        if isinstance(answer, Unsettled):
            assert entry is None
            wanted = answer.request_id if answer.read else None
            read = (
                None if wanted is None else play.said.get(wanted, ReadApproval(standing="waiting"))
            )
            one.known = answer.beyond(one.known, read)
            assert len(names) < 25
            return
        self.parked.remove(one)
        if entry is not None:
            assert play.session.names_to_fold(entry) <= names
            play._append(entry)  # pyright: ignore[reportPrivateUsage]
        self.judge_answer(one.request, answer)

    # What is checked.

    def judge_answer(self, question: ToolGateRequest, answer: ToolGateAnswer) -> None:
        event(f"{answer.decision} {answer.policy_id}")
        if answer.decision != "allow":
            return
        assert answer.approval is not None
        request_id = answer.approval.request_id
        calls = self.made[request_id]
        if question.call_id in calls:
            # The answer was lost: it is the same call, it was allowed when it counted, and that was just now.
            assert self.play.now_us < self.used_us[question.call_id] + 60 * SECOND_US
            assert self.play.now_us < self.said[request_id].until_us
            assert request_id not in self.cancelled
            return
        calls.add(question.call_id)
        self.used_us[question.call_id] = self.play.now_us
        said = self.said[request_id]
        request = next(each for each in self.play.requests if each.request_id == request_id)
        assert request_id not in self.cancelled
        assert request_id not in self.rejected
        assert self.play.now_us < said.until_us
        assert question.params == (request.params if said.params is None else said.params)
        assert len(calls) == 1 or said.reusable

    def judge_state(self) -> None:
        whole = self.play.whole
        asking = whole.get(ASKING, Asking())
        assert isinstance(asking, Asking)
        requests = {each.request_id: each for each in self.play.requests}
        waiting = [asked_signature(requests[name]) for name in asking.waiting]
        assert len(waiting) == len(set(waiting))
        assert len(waiting) <= POLICY["max_waiting"]
        assert asking.asked == len(requests)
        assert len(self.taken_back()) <= 2 * 4 * POLICY["max_waiting"]
        identity = whole[IDENTITY]
        assert isinstance(identity, Identity)
        assert identity.deadline_at(self.play.now_us) == self.naive_deadline(identity)

    def taken_back(self) -> set[str]:
        """The requests that were cancelled within the time that people have for one."""
        since = self.play.now_us - POLICY["decide_within_s"] * SECOND_US
        return {
            entry.approval_request
            for _, entry in self.play.log
            if isinstance(entry, ApprovalCancelled) and entry.at_us > since
        }

    def naive_deadline(self, identity: Identity) -> int:
        """The deadline, later by every second in which some request waited, as far as the log says, and in all by
        no more than the longest time that people had for one."""
        waits: dict[str, tuple[int, int]] = {}
        settled: set[str] = set()
        standing: dict[str, str] = {}
        last_us = longest_us = 0

        def settle(name: str | None, at: str | None = None) -> None:
            if name is not None and name in waits and name not in settled:
                settled.add(name)
                since, until = waits[name]
                ended = last_us if at is None else micros(at)
                waits[name] = since, min(until, ended, last_us)

        for _, entry in self.play.log:
            last_us = max(last_us, entry.at_us)
            match entry:
                case CallAsked() if entry.request.request_id not in waits:
                    request = entry.request
                    # Of what nobody decided in time, nobody is told later that they did.
                    settled |= {name for name, (_, until) in waits.items() if until <= last_us}
                    signature = asked_signature(request)
                    settle(standing.get(signature))
                    standing[signature] = request.request_id
                    waits[request.request_id] = (last_us, micros(request.expires_at))
                    longest_us = max(longest_us, micros(request.expires_at) - last_us)
                case CallReserved() if entry.permission is not None:
                    settle(entry.permission.request.request_id, entry.permission.settled_at)
                case CallDenied() if entry.approval is not None:
                    told = entry.approval
                    if told.params is not None and told.request_id not in self.edited_by(entry):
                        edited = call_signature("pay", told.params)
                        settle(standing.get(edited), told.settled_at)
                        standing[edited] = told.request_id
                    settle(told.request_id, told.settled_at)
                case ApprovalCancelled():
                    settle(entry.approval_request)
                case _:
                    pass
        waited, reached = 0, 0
        for since, until in sorted(waits.values()):
            start, end = max(since, reached), min(until, self.play.now_us)
            waited += max(0, end - start)
            reached = max(reached, end)
        return identity.began_us + DEADLINE_S * SECOND_US + min(waited, longest_us)

    def edited_by(self, entry: CallDenied) -> set[str]:
        """The requests that an entry before this one, or this one when it came first, says were edited."""
        before = itertools.takewhile(
            lambda each: each is not entry, (one for _, one in self.play.log)
        )
        return {
            each.approval.request_id
            for each in before
            if isinstance(each, CallDenied) and each.approval is not None and each.approval.params
        }


def _happens(world: World, what: str, amount: int, call_id: str, which: int) -> None:
    play, request = world.play, world.request(which)
    match what:
        case "begin":
            world.begin(amount, call_id)
        case "go on":
            world.go_on(which)
        case "pay" | "pay under an old id":
            # Without anybody coming between.
            others, world.parked = world.parked, []
            world.begin(amount, call_id if what.endswith("id") else f"fresh {len(play.log)}")
            while world.parked:
                world.go_on(0)
            world.parked = others
        case "pass":
            play.passing((1, 20, 59, 61)[which % 4])
        case "entry twice":
            entry = play.log[-1 - which % len(play.log)][1]
            if entry.kind.startswith(("call_", "approval_")):
                play._append(entry)  # pyright: ignore[reportPrivateUsage]
        case "keep":
            play.snapshot(f"s{which}")
        case "restore":
            play.restore(f"s{which}")
        case "reset":
            play.reset()
        case "result":
            play.result("pay", call_id, params={"amount": amount})
        case _ if request is None or _is_decided(world, request):
            pass
        case "approve" | "approve for the session" | "edit":
            params = {"amount": amount} if what == "edit" else None
            if params == request.params:
                return
            reusable = what.endswith("session")
            settled = utc_millis(from_micros(play.now_us))
            play.approve(request, seconds=60, params=params, reusable=reusable, settled_at=settled)
            until_us = micros(play.said[request.request_id].until or "")
            world.said[request.request_id] = Said(params, reusable, until_us)
        case "reject" | "reject for now":
            settled = utc_millis(from_micros(play.now_us)) if which else None
            play.reject(request, may_ask_again=what.endswith("now"), settled_at=settled)
            world.rejected.add(request.request_id)
        case _:
            raise AssertionError(what)


def _is_decided(world: World, request: CallApprovalRequest) -> bool:
    late = world.play.now_us >= micros(request.expires_at)
    return late or request.request_id in world.said or request.request_id in world.rejected


def _cancels(world: World, which: int) -> None:
    request = world.request(which)
    if request is not None:
        before = len(world.play.log)
        world.play.cancel(request.request_id)
        if len(world.play.log) > before:
            world.cancelled.add(request.request_id)


_OFTEN = ["pay", "pay", "pay", "approve", "approve", "begin", "go on", "go on", "go on"]
_steps = st.tuples(
    st.sampled_from(
        [
            *_OFTEN,
            "pay under an old id",
            "approve for the session",
            "edit",
            "reject",
            "reject for now",
            "cancel",
            "pass",
            "entry twice",
            "keep",
            "restore",
            "reset",
            "result",
        ]
    ),
    _amounts,
    _call_ids,
    _which,
)
law = settings(max_examples=max(100, settings().max_examples), deadline=None)


@law
@given(st.lists(_steps, min_size=10, max_size=80))
def test_an_approval_is_used_once_by_the_very_call_and_never_after_its_time(script) -> None:
    world = World()
    for what, amount, call_id, which in script:
        if what == "cancel":
            _cancels(world, which)
        else:
            _happens(world, what, amount, call_id, which)
        world.judge_state()
    while world.parked:
        world.go_on(0)
        world.judge_state()
    play = world.play
    assert play.rebuilt() == play.stored
    used: dict[str, set[str]] = defaultdict(set)
    for _, entry in play.log:
        if isinstance(entry, CallReserved) and entry.permission is not None:
            used[entry.permission.request.request_id].add(entry.call_id)
    reserved = {e.entry_id: e.call_id for _, e in play.log if isinstance(e, CallReserved)}
    assert len(reserved) == len(set(reserved.values()))
    assert {name: calls for name, calls in used.items() if calls} == {
        name: calls for name, calls in world.made.items() if calls
    }


@given(st.integers(1, 40))
@settings(max_examples=10, deadline=None)
def test_a_check_loads_as_many_facts_after_many_requests(requests: int) -> None:
    play = AskedPlay({**POLICY, "max_waiting": 256})
    for number in range(requests):
        play.pay(params={"amount": number})
    question = ToolGateRequest(
        **play._fields(),  # pyright: ignore[reportPrivateUsage]
        call_id="next",
        tool="pay",
        params={"amount": 0},
    )
    known = {play.requests[0].request_id: None}
    assert len(play.session.names_for_check(question)) == 5
    assert len(play.session.names_for_check(question, known)) == 8
