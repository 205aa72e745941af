"""Who may say what on the bus: a NATS user for each role, as data and as the server's configuration.

``python -m lictor_bus.names.roles RUNTIME...`` writes the users for the services, for operators, and for each runtime
named. Passwords are not in it: the server reads them from its environment (``NATS_PASSWORD_<USER>``).

A runtime publishes events in its own name only, asks gates, and reads decisions and episodes, but not the messages that
an episode covers. Only the evaluator writes decisions, only the sealer episodes, and only it erases, on an operator's
order. The sealer holds the private key of the log, and no runtime can send it anything. Every user has inboxes of its
own, so nobody overhears the answers to another, and only services may write to inboxes, so nobody else can answer in
their place.
"""

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lictor_bus import gate
from lictor_bus.errors import ReservedName
from lictor_bus.gates.table import answered_by, asked_by
from lictor_bus.names import streams, subjects

OPERATORS = "ops"
LICTOR = "lictor"
"""The runtime of events that the evaluator derives; nobody may speak in its name."""
_READABLE_BY_RUNTIMES = (
    streams.DECISIONS,
    streams.EPISODES,
    streams.GUIDANCE,
    streams.PROOFS,
    # How far its programs are; only services write there.
    streams.APPROVALS,
)


@dataclass(frozen=True, kw_only=True)
class Role:
    """A user: what it may publish and what it may listen to."""

    user: str
    publish: tuple[str, ...]
    subscribe: tuple[str, ...] = ()
    not_publish: tuple[str, ...] = ()
    """What is taken out of `publish` again."""


def password_variable(user: str) -> str:
    """The server's environment variable that holds the user's password."""
    return "NATS_PASSWORD_" + "".join(c if c.isalnum() else "_" for c in user).upper()


def roles(runtimes: Iterable[str] = ()) -> tuple[Role, ...]:
    """Every role: the services, operators, and a user for each runtime."""
    ours = _ours()
    return (*ours, *_runtimes(list(runtimes), ours))


def _runtimes(names: Sequence[str], ours: Iterable[Role]) -> Iterable[Role]:
    """A user for each; none that could pass for one of ours, or for another runtime."""
    # Users whose passwords stand in one variable would have one password.
    taken = {password_variable(name): name for name in (LICTOR, *(role.user for role in ours))}
    reserved = set(taken)
    for name in names:
        variable = password_variable(name)
        other = taken.setdefault(variable, name)
        if variable in reserved:
            raise ReservedName(
                f"a runtime can't be called {name!r}: {other!r} is a name of Lictor's own;"
                " give the runtime another name"
            )
        if other != name:
            raise ReservedName(
                f"runtimes {other!r} and {name!r} would share the password in {variable};"
                " give one of them another name"
            )
    services = [role.user for role in ours if role.user != OPERATORS]
    return [_runtime(name, services) for name in dict.fromkeys(names)]


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
            ),
            hears=(subjects.PACK_RELEASE.any,),
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
            writes=(
                subjects.SESSION_LOG.any,
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
            writes=(subjects.PROOF.any, subjects.CERTIFICATE.any, subjects.PROOF_PROGRESS.any),
        ),
        _service(
            "approvals",
            declares=(streams.APPROVALS, streams.PROOFS, streams.TIMERS),
            # What was submitted, to bind an approval to it; certificates, to check them again.
            looks_at=(streams.PROGRAMS, streams.CERTIFICATES),
            writes=(
                *(
                    subjects.APPROVAL.where(state=state)
                    for state in ("requested", "approved", "rejected", "expired", "stale")
                ),
                subjects.SCHEDULE.where(kind="approval"),
            ),
        ),
        _service(
            "runner",
            declares=(streams.APPROVALS, streams.RUNS),
            # What was submitted and proved, to hold it against the approval.
            looks_at=(streams.PROGRAMS, streams.PROOFS),
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
        _operators(),
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
    api = [call for stream in (*declares, *looks_at) for call in _declaring(stream)]
    folds = [call for stream in declares for call in (*_reading(stream), *_folding(stream))]
    looks = [call for stream in looks_at for call in _looking(stream)]
    asks = [each.wildcard for each in asked_by(name)]
    answers = [each.wildcard for each in answered_by(name)]
    return Role(
        user=name,
        publish=(
            *writes,
            *asks,
            subjects.DEAD_LETTER.where(service=name),
            # The health check of its container asks under its own name.
            subjects.health(name),
            *api,
            *folds,
            *looks,
            "_INBOX.>",
        ),
        subscribe=(*answers, *hears, subjects.health(name), f"{subjects.inboxes(name)}.>"),
    )


def _operators() -> Role:
    return Role(
        user=OPERATORS,
        publish=(
            # Replays of dead letters, under the names of those who wrote them.
            subjects.EVENT.any,
            subjects.PROGRAM.any,
            subjects.PACKS.any,
            subjects.DEFINITION.any,
            *(each.wildcard for each in asked_by(gate.OPERATORS)),
            subjects.HEALTH.any,
            *_reading("*"),
        ),
        subscribe=(subjects.EVERYTHING, f"{subjects.inboxes(OPERATORS)}.>"),
    )


def _runtime(name: str, services: Iterable[str]) -> Role:
    own = subjects.token(name)
    return Role(
        user=name,
        publish=(
            subjects.EVENT.where(runtime=own),
            subjects.PROGRAM.any,
            *(each.subject_of(name) for each in asked_by(gate.RUNTIMES)),
            subjects.HEALTH.any,
            *(call for stream in _READABLE_BY_RUNTIMES for call in _reading(stream)),
        ),
        subscribe=(subjects.PROOF_PROGRESS.any, f"{subjects.inboxes(name)}.>"),
        not_publish=(
            subjects.health("sealer"),
            *(
                subject
                for stream in _READABLE_BY_RUNTIMES
                for service in services
                for subject in _consumer_of(stream, service)
            ),
        ),
    )


def _consumer_of(stream: str, service: str) -> Sequence[str]:
    """All that can be done to the consumer by which a service folds a stream: it is called like the service."""
    return [
        f"$JS.API.CONSUMER.*.{stream}.{service}",
        f"$JS.API.CONSUMER.*.{stream}.{service}.>",
        f"$JS.API.CONSUMER.MSG.NEXT.{stream}.{service}",
    ]


def _declaring(stream: str) -> Sequence[str]:
    return [f"$JS.API.STREAM.{verb}.{stream}" for verb in ("INFO", "CREATE", "UPDATE")]


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


def users_config(runtimes: Iterable[str] = ()) -> str:
    """The server's ``authorization`` block."""
    lines = [
        "# Written by `python -m lictor_bus.names.roles`; don't change it by hand.",
        "authorization {",
        "    users: [",
    ]
    for role in roles(runtimes):
        lines += [
            "        {",
            f'            user: "{_quotable(role.user)}"',
            f"            password: ${password_variable(role.user)}",
            "            permissions: {",
            *_permission("publish", role.publish, role.not_publish),
            *_permission("subscribe", role.subscribe),
            "            }",
            "        }",
        ]
    return "\n".join([*lines, "    ]", "}", ""])


def _permission(name: str, allowed: Iterable[str], denied: Sequence[str] = ()) -> list[str]:
    if not denied:
        return _listed("                ", name, allowed)
    return [
        f"                {name}: {{",
        *_listed("                    ", "allow", allowed),
        *_listed("                    ", "deny", denied),
        "                }",
    ]


def _listed(indent: str, name: str, subjects: Iterable[str]) -> list[str]:
    return [
        f"{indent}{name}: [",
        *(f'{indent}    "{subject}"' for subject in dict.fromkeys(subjects)),
        f"{indent}]",
    ]


def _quotable(user: str) -> str:
    if not user.isprintable() or set(user) & set('"\\:@/'):
        raise SystemExit(f"lictor: {user!r} can't be the name of a NATS user; use a plain name.")
    return user


if __name__ == "__main__":
    try:
        sys.stdout.write(users_config(sys.argv[1:]))
    except ReservedName as error:
        raise SystemExit(f"lictor: {error}") from None
