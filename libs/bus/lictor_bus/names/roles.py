"""Who may say what on the bus, as data: services, operators, the deploy-time user, and each runtime.

Services, operators and `deploy` share the account in which the streams are. A runtime has an account of its own,
without JetStream: what it may publish and follow is exactly what is exported to it, and every such subject carries its
name. `server_accounts` writes the server's configuration from this.

A runtime publishes events and programs in its own name, asks gates, and follows what was stored for it. Only the
evaluator writes decisions, only the sealer episodes, and only it erases, on an operator's order. The sealer holds the
private key of the log, and no runtime can send it anything. Only `deploy` makes or changes streams. Every role has
inboxes of its own, so nobody overhears the answers to another, and only services may write to inboxes, so nobody else
can answer in their place.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lictor_bus import gate
from lictor_bus.errors import ReservedName
from lictor_bus.gates.table import answered_by, asked_by
from lictor_bus.names import streams, subjects

OPERATORS = "ops"
DEPLOY = "deploy"
"""Makes and changes the streams when a version is deployed; nothing runs under it."""
LICTOR = "lictor"
"""The runtime of events that the evaluator derives; nobody may speak in its name."""
_REPLIES = ("_INBOX.>", "_R_.>")
"""Where answers go: to who asked in the same account, and through an import to who asked in another."""


@dataclass(frozen=True, kw_only=True)
class Role:
    """What somebody may publish and listen to."""

    name: str
    publish: tuple[str, ...]
    hears: tuple[str, ...] = ()
    is_runtime: bool = False
    """Whether it has an account of its own: then it publishes and hears across its border only."""
    only_answers: bool = False
    """Whether it may publish to the inbox of a question that it was asked, once, and to no other."""

    @property
    def user(self) -> str:
        """The name of its first user; addresses hold it, so it is a token."""
        return subjects.token(self.name)

    @property
    def subscribe(self) -> tuple[str, ...]:
        """What it hears, and its inboxes."""
        return (*self.hears, f"{subjects.inboxes(self.user)}.>")


def roles(runtimes: Iterable[str] = ()) -> tuple[Role, ...]:
    """Every role: the services, operators, `deploy`, and each runtime."""
    ours = _ours()
    return (*ours, *_runtimes(runtimes, ours))


def _runtimes(names: Iterable[str], ours: Sequence[Role]) -> Iterable[Role]:
    """A role for each; none that could pass for one of ours, or for another runtime."""
    taken = {_look(name): name for name in (LICTOR, *(role.name for role in ours))}
    reserved = set(taken)
    services = [role.name for role in ours if role.name not in (OPERATORS, DEPLOY)]
    found: dict[str, Role] = {}
    for name in names:
        if not name.isprintable() or not name.strip():
            raise ReservedName(f"a runtime can't be called {name!r}: use a name that can be read")
        other = taken.setdefault(_look(name), name)
        if _look(name) in reserved:
            raise ReservedName(
                f"a runtime can't be called {name!r}: {other!r} is a name of Lictor's own;"
                " give the runtime another name"
            )
        if other != name:
            raise ReservedName(
                f"runtimes {other!r} and {name!r} look alike; give one of them another name"
            )
        found[name] = _runtime(name, services)
    return found.values()


def _look(name: str) -> str:
    """What names have in common that people, or file systems, take for each other."""
    return "".join(c if c.isalnum() else "_" for c in name).casefold()


def _ours() -> tuple[Role, ...]:
    return (
        _service(
            "policy-evaluator",
            declares=(
                streams.EVENTS,
                streams.DECISIONS,
                streams.TIMERS,
                streams.GATES,
                streams.PACKS,
                streams.RECEIPTS,
                streams.MARKS,
            ),
            writes=(
                subjects.DECISION.any,
                # What it derives itself, and switches of the configuration.
                subjects.EVENT.where(runtime=LICTOR),
                subjects.CONFIG_SWITCH.any,
                subjects.SCHEDULE.any,
                subjects.GATED.any,
                subjects.RECEIPT.any,
                subjects.MARK.any,
                subjects.PACK_BUNDLE.any,
                subjects.PACK_REFUSAL.any,
                subjects.PACK_TAKEN.any,
            ),
            hears=(subjects.PACK_RELEASE.any,),
            # Whether an event was set aside, for the runtime that published it.
            looks_at=(streams.DEAD,),
        ),
        _service(
            "sealer",
            declares=(
                streams.DECISIONS,
                streams.EPISODES,
                streams.CONTENTS,
                streams.ERASURES,
                streams.ACTIONS,
                # Read only: an episode holds what others wrote there about its task.
                streams.GATES,
                streams.PROOFS,
                streams.RECEIPTS,
                streams.SESSIONS,
                streams.RUNS,
            ),
            looks_at=(streams.EVENTS,),
            writes=(
                subjects.EPISODE.any,
                subjects.LOG.any,
                subjects.CONTENTS.any,
                subjects.ERASURE.any,
                # To erase what an operator orders to be erased; every other stream it writes keeps what it holds.
                f"$JS.API.STREAM.MSG.DELETE.{streams.CONTENTS}",
                # It ends the log of a decision whose task closed.
                subjects.DECISION_LOG.any,
            ),
        ),
        _service(
            "supervisor",
            declares=(
                streams.ACTIONS,
                streams.TIMERS,
                streams.GATES,
                streams.SESSIONS,
                streams.DRIFT,
                streams.PATCHES,
                streams.CERPA,
            ),
            # Which packs are in force, and their envelopes; which tasks run; what the report is about.
            looks_at=(
                streams.EVENTS,
                streams.PACKS,
                streams.DECISIONS,
                streams.EPISODES,
                streams.DEAD,
            ),
            writes=(
                subjects.DECISION_LOG.any,
                subjects.GATED.where(gate="action"),
                subjects.SCHEDULE.where(kind="decision"),
                subjects.SIGHTING.any,
                subjects.SETTLEMENT.any,
                subjects.DRIFT.any,
                subjects.TRIAGE.any,
                subjects.PATCH.any,
                subjects.CLAIM.any,
                subjects.CYCLE.any,
            ),
        ),
        _service(
            "feedback",
            declares=(
                streams.SESSIONS,
                streams.DEFINITIONS,
                streams.GUIDANCE,
                streams.DECISIONS,
                streams.TIMERS,
                streams.GATES,
            ),
            # What people said about calls that wait for them; whether the kill-switch is engaged.
            looks_at=(streams.APPROVALS, streams.ACTIONS),
            writes=(
                subjects.SESSION_LOG.any,
                subjects.HALTS,
                subjects.DEFINITION.any,
                subjects.GUIDANCE.any,
                subjects.GUARD_DECISION.any,
                subjects.GUARD_REFUSAL.any,
                subjects.SCHEDULE.where(kind="guidance"),
                subjects.GATED.where(gate="tool"),
                subjects.GATED.where(gate="stop"),
                subjects.SESSION_DOUBT,
            ),
            hears=(subjects.SESSION_DOUBT,),
        ),
        _service(
            "prover",
            declares=(streams.PROGRAMS, streams.PROOFS, streams.CERTIFICATES),
            # Whether a program was set aside, for the runtime that submitted it.
            looks_at=(streams.DEAD,),
            writes=(subjects.PROOF.any, subjects.CERTIFICATE.any, subjects.PROOF_PROGRESS.any),
        ),
        _service(
            "approvals",
            # Sessions say which calls wait for people, and what became of them.
            declares=(streams.APPROVALS, streams.PROOFS, streams.SESSIONS, streams.TIMERS),
            # What was submitted, to bind an approval to it; certificates, to check them again.
            looks_at=(streams.PROGRAMS, streams.CERTIFICATES),
            writes=(
                *(
                    subjects.APPROVAL.where(state=state)
                    # How a program runs is for the runner to say.
                    for state in (
                        "requested",
                        "endorsed",
                        "delegated",
                        "approved",
                        "rejected",
                        "expired",
                        "stale",
                        "cancelled",
                        "calling",
                        "called",
                        "call_failed",
                    )
                ),
                subjects.SCHEDULE.where(kind="approval"),
            ),
        ),
        _service(
            "runner",
            declares=(streams.APPROVALS, streams.RUNS),
            # What was submitted and proved, to hold it against the approval; certificates, to check them again.
            looks_at=(streams.PROGRAMS, streams.PROOFS, streams.CERTIFICATES),
            writes=(
                *(
                    subjects.APPROVAL.where(state=state)
                    for state in (
                        "stale",
                        "executing",
                        "executed",
                        "compensated",
                        "partial",
                        "in_doubt",
                        "failed",
                    )
                ),
                subjects.RUN.any,
            ),
        ),
        _answering("rehearser"),
        _operators(),
        _deploy(),
    )


def _service(
    name: str,
    *,
    declares: Sequence[str],
    writes: Sequence[str],
    hears: Sequence[str] = (),
    looks_at: Sequence[str] = (),
) -> Role:
    # What stands where a dead letter would go is looked at: it may be somebody else's.
    looks_at = tuple(dict.fromkeys((*looks_at, streams.DEAD)))
    sees = [f"$JS.API.STREAM.INFO.{stream}" for stream in (*declares, *looks_at)]
    folds = [call for stream in declares for call in (*_reading(stream), *_folding(stream))]
    looks = [call for stream in looks_at for call in _looking(stream)]
    asks = [each.wildcard for each in asked_by(name)]
    answers = [each.wildcard for each in answered_by(name)]
    return Role(
        name=name,
        publish=(
            *writes,
            *asks,
            subjects.DEAD_LETTER.where(service=name),
            # The health check of its container asks under its own name.
            subjects.health(name),
            *sees,
            *folds,
            *looks,
            *_REPLIES,
        ),
        hears=(*answers, *hears, subjects.health(name)),
    )


def _answering(name: str) -> Role:
    """A service that answers its gates and does nothing else: no stream, no other subject, no inbox to choose."""
    return Role(
        name=name,
        publish=(subjects.health(name),),
        hears=(*(each.wildcard for each in answered_by(name)), subjects.health(name)),
        only_answers=True,
    )


def _operators() -> Role:
    return Role(
        name=OPERATORS,
        publish=(
            # Replays of dead letters, under the names of those who wrote them.
            subjects.EVENT.any,
            subjects.PROGRAM.any,
            # Not what became of a release: evaluators remember by it what was in force.
            subjects.PACK_BUNDLE.any,
            subjects.PACK_RELEASE.any,
            subjects.DEFINITION.any,
            *(each.wildcard for each in asked_by(gate.OPERATORS)),
            subjects.HEALTH.any,
            *_reading("*"),
        ),
        hears=(subjects.EVERYTHING,),
    )


def _deploy() -> Role:
    return Role(
        name=DEPLOY,
        publish=(
            "$JS.API.STREAM.NAMES",
            "$JS.API.STREAM.LIST",
            *(f"$JS.API.STREAM.{verb}.*" for verb in ("CREATE", "UPDATE", "DELETE", "PURGE")),
            *_reading("*"),
            # A migration refuses to work beside running services, and sets consumers to where they were. The broker
            # copies what is stored: nobody publishes it again.
            subjects.HEALTH.any,
            "$JS.API.CONSUMER.LIST.*",
            "$JS.API.CONSUMER.RESET.*.>",
            *(streams.placeholder_of(name) for name in streams.STREAMS),
        ),
    )


def _runtime(name: str, services: Iterable[str]) -> Role:
    own = subjects.token(name)
    return Role(
        name=name,
        publish=(
            subjects.EVENT.where(runtime=own),
            subjects.PROGRAM.where(runtime=own),
            *(each.subject_of(name) for each in asked_by(gate.RUNTIMES)),
            *(subjects.health(service) for service in services if service != "sealer"),
        ),
        hears=(subjects.stored_for(name), subjects.PROOF_PROGRESS.where(runtime=own)),
        is_runtime=True,
    )


def _looking(stream: str) -> Sequence[str]:
    """Single messages, without a consumer: nobody's deliveries can be disturbed by it."""
    return [f"$JS.API.STREAM.MSG.GET.{stream}", f"$JS.API.DIRECT.GET.{stream}"]


def _reading(stream: str) -> Sequence[str]:
    return [
        "$JS.API.INFO",
        f"$JS.API.STREAM.INFO.{stream}",
        *_looking(stream),
        *(
            f"$JS.API.CONSUMER.{verb}.{stream}.>"
            for verb in ("CREATE", "INFO", "DELETE", "MSG.NEXT")
        ),
    ]


def _folding(stream: str) -> Sequence[str]:
    return [f"$JS.API.CONSUMER.UNPIN.{stream}.>", f"$JS.ACK.{stream}.>"]
