"""`lictor approvals policy`: check an approval policy, and see what it would say."""

import os
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from lictor.errors import LictorError
from lictor_approval.approval_policy import (
    PolicyVerdict,
    ProofFindings,
    contracts_named,
    findings,
    judge,
    lifts_rehearsal,
    load_policy,
    needs_certificate,
    needs_findings,
    policy_hash,
    values_not_looked_at,
    values_of_several_types,
)
from lictor_approval.errors import ConfigRefused
from lictor_bus.logs.certificates import load_certificate
from lictor_cli.approvals.sources import find_request, program_of, requests_at
from lictor_cli.main import FAILED, OK
from lictor_cli.output.terminal import (
    common_arguments,
    counted,
    printable,
    quiet_logs,
    say,
    say_json,
    say_table,
    warn,
)
from lictor_schema.approvals.approval import ApprovalRequest
from lictor_schema.approvals.approval_policy import ApprovalPolicy

HELP = """\
`lint FILE` checks a policy, and where LICTOR_LAYERS is set that a layer there has its contracts. `explain FILE REQUEST`
tells what each of its rules comes to for a request, and what the policy would decide; nothing is decided by it. The
layers are those of LICTOR_LAYERS.
"""
_LOOK_WITHIN_S = 60.0


def arguments(parser: ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("action", choices=("lint", "explain"))
    parser.add_argument("policy", metavar="FILE", help="the policy")
    parser.add_argument(
        "request",
        metavar="REQUEST",
        nargs="?",
        help="with explain: the request, or its first characters",
    )
    common_arguments(parser)


async def run(options: Namespace) -> int:
    """Check it, or explain it."""
    quiet_logs()
    try:
        policy = load_policy(Path(options.policy))
    except ConfigRefused as error:
        if options.json:
            say_json({"ok": False, "problem": str(error)})
        else:
            warn(str(error))
        return FAILED
    if options.action == "lint":
        problems = _undecidable(policy)
        warnings = list(_warnings(policy))
        told = {
            "ok": not problems,
            "policy_hash": policy_hash(policy),
            "rules": len(policy.rules),
            "warnings": warnings,
        }
        if options.json:
            say_json({**told, "problem": "; ".join(problems)} if problems else told)
        else:
            say(f"{options.policy}: {counted(len(policy.rules), 'rule')}, {told['policy_hash']}")
            for problem in (*problems, *warnings):
                warn(problem)
        return FAILED if problems else OK
    if options.request is None:
        raise LictorError("`explain` needs a request; `lictor approvals list --all` shows them.")
    async with requests_at(options.url) as client:
        life, _ = await find_request(client, options.request)
        looked = ProofFindings()
        if needs_findings(policy):
            looked = await _look(policy, life.program, await program_of(client, life.program))
        named = life.program.binding.certificate_hash
        if needs_certificate(policy) and named is not None:
            data = await load_certificate(client, named)
            looked = await _with_certificate(looked, life.program, data)
    _tell(judge(policy, life.program, looked), options.json)
    return OK


def _warnings(policy: ApprovalPolicy) -> Iterator[str]:
    for name in lifts_rehearsal(policy):
        yield f"rule {name} allows what was never compared with Python: leave `rehearsed: false` out"
    for name in values_not_looked_at(policy):
        yield (
            f"rule {name} allows whatever value is given: say `one_of`, `at_least` or `at_most` where that matters"
        )
    for name, value in values_of_several_types(policy):
        yield (
            f"rule {name} names values of several types in one_of of {value}: a value that is none of them leaves it"
            " unknown; name values of its parameter's type alone, such as `1.0` beside `2.5`"
        )


def _undecidable(policy: ApprovalPolicy) -> list[str]:
    """The contracts by which no rule will ever be decided under the layers of LICTOR_LAYERS."""
    contracts = contracts_named(policy)
    if not contracts or not os.environ.get("LICTOR_LAYERS"):
        return []
    try:
        from lictor_prove.layers import load_layer
        from lictor_prove.layers.installed import installed_layers
        from lictor_prove.workers.entailment import why_undecidable
    except ModuleNotFoundError as error:
        raise LictorError(
            f"LICTOR_LAYERS is set, and {error.name} is not installed here to read them."
        ) from None
    layers = [
        load_layer(list(map(Path, roots.trusted)), list(map(Path, roots.imports)))
        for roots in installed_layers().layers.values()
    ]
    found = [(call, why_undecidable(call, layers)) for call in contracts]
    return [f"{call} decides nothing: {why}" for call, why in found if why is not None]


async def _look(policy: ApprovalPolicy, request: ApprovalRequest, program: str) -> ProofFindings:
    try:
        from lictor_prove.workers.entailment import look_at
    except ModuleNotFoundError as error:
        return ProofFindings(problem=f"{error.name} is not installed here")
    contracts = contracts_named(policy)
    answer = await look_at(request.binding, program, contracts, _LOOK_WITHIN_S)
    return findings(contracts, answer.effects, answer.implied, answer.problem)


async def _with_certificate(
    looked: ProofFindings, request: ApprovalRequest, data: bytes | None
) -> ProofFindings:
    if data is None:
        return replace(looked, certificate_problem="the broker does not keep the certificate")
    try:
        from lictor_prove.certificate.recheck import recheck
    except ModuleNotFoundError as error:
        return replace(looked, certificate_problem=f"{error.name} is not installed here")
    checked = await recheck(request, data, _LOOK_WITHIN_S)
    return replace(looked, certificate_level=checked.level, certificate_problem=checked.problem)


_WORDS = {True: "holds", False: "does not hold", None: "not known"}


def _tell(verdict: PolicyVerdict, as_json: bool) -> None:
    if as_json:
        say_json(
            {
                "decision": verdict.decision,
                "rule": verdict.rule,
                "why": verdict.why,
                "rules": [
                    {
                        "name": each.rule.name,
                        "decision": each.rule.decision,
                        "holds": each.truth.holds,
                        "why": each.truth.why,
                    }
                    for each in verdict.judged
                ],
            }
        )
        return
    say(f"{verdict.decision}: {printable(verdict.why)}")
    if verdict.judged:
        say_table(
            ("rule", "decision", "holds", "why"),
            (
                (
                    each.rule.name,
                    each.rule.decision,
                    _WORDS[each.truth.holds],
                    each.truth.why,
                )
                for each in verdict.judged
            ),
        )
