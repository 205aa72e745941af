"""Signed decisions: who may say yes, and reading what they signed.

People and policies have keys of their own, in two trust stores. A decision that says a policy made it counts by a key
of the second store alone, one that says a person did by the first: a stolen service key can't speak for a person.
Whoever relies on a decision verifies it against a copy of the stores of its own.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Self

from pydantic import ValidationError

from lictor_approval.errors import ConfigRefused, StepRefused
from lictor_contracts.action.judgement import person_key
from lictor_schema.approvals.approval import ApprovalDecision
from lictor_schema.core.canonical_json import CanonicalError, canonical_json
from lictor_seal import (
    NoteError,
    SealError,
    SigningKey,
    TrustedKey,
    TrustStore,
    VerifyingKey,
    open_statement,
    parse_note,
    sign_statement,
)

KIND = "lictor-approval-decision/v1"
_NOBODY = TrustStore(())


@dataclass(frozen=True, slots=True)
class OpenedDecision:
    """A decision whose signature holds, and the key that made it."""

    decision: ApprovalDecision
    key: VerifyingKey


@dataclass(frozen=True, slots=True)
class Approvers:
    """Whose decisions count."""

    people: TrustStore = _NOBODY
    policies: TrustStore = _NOBODY
    """The keys of approval services, whose automatic decisions are accepted."""

    _by_person: Mapping[str, TrustedKey] = field(
        init=False, repr=False, compare=False, default_factory=dict[str, TrustedKey]
    )
    """The people's keys by what their names come to, in their order."""

    def __post_init__(self) -> None:
        taken: dict[str, str] = {}
        for trusted in (*self.people.keys, *self.policies.keys):
            name, person = trusted.key.name, person_key(trusted.key.name)
            if not person:
                raise ConfigRefused(f"the approver's key {name!r} names nobody", "name who has it")
            # Two keys of one name could be used by two people, each denying it later.
            if person in taken:
                raise ConfigRefused(
                    f"{taken[person]!r} and {name!r} are one name and have two approver's keys",
                    "give each approver one name and one key, and revoke the old one by removing it",
                )
            taken[person] = name
        people = {trusted.key.key_id for trusted in self.people.keys}
        for trusted in self.policies.keys:
            if trusted.key.key_id in people:
                raise ConfigRefused(
                    f"the key {trusted.key.key_id} is a person's and a policy's",
                    "have each sign with a key of its own",
                )
        self._check_groups(taken)
        by_person = {person_key(each.key.name): each for each in self.people.keys}
        object.__setattr__(self, "_by_person", by_person)

    def _check_groups(self, taken: dict[str, str]) -> None:
        for group in self.people.groups:
            key = person_key(group.name)
            if not key:
                raise ConfigRefused(f"the group {group.name!r} names nobody", "give it a name")
            # A policy that names one of them would otherwise ask the other too.
            if key in taken:
                raise ConfigRefused(
                    f"the group {group.name!r} has the name of {taken[key]!r}",
                    "give each group and each approver a name of its own",
                )
            taken[key] = group.name

    @classmethod
    def load(cls, people: Path | None, policies: Path | None) -> Self:
        """The trust stores in two files; without a file, nobody."""
        try:
            return cls(
                TrustStore.load(people) if people else _NOBODY,
                TrustStore.load(policies) if policies else _NOBODY,
            )
        except SealError as error:
            raise ConfigRefused(str(error), "correct the file of approvers' keys") from None

    def people_named(self, names: Iterable[str]) -> tuple[TrustedKey, ...]:
        """The approvers whom these names of people and groups stand for; all, for no names.

        A name that nobody has stands for nobody.
        """
        wanted = {person_key(name) for name in names}
        if not wanted:
            return self.people.keys
        wanted |= {
            person_key(member)
            for group in self.people.groups
            if person_key(group.name) in wanted
            for member in group.members
        }
        return tuple(each for person, each in self._by_person.items() if person in wanted)

    def person(self, name: str) -> TrustedKey | None:
        """The key of an approver, by a name of theirs."""
        return self._by_person.get(person_key(name))

    def opened(self, signed: str, at: datetime) -> OpenedDecision:
        """The decision in a note that a key signed which counts at that time; StepRefused otherwise."""
        said = claimed(signed)
        store, whose = (
            (self.people, "an approver") if said.automatic is None else (self.policies, "a policy")
        )
        try:
            statement = open_statement(KIND, signed.encode(), store, at)
        except NoteError as error:
            raise StepRefused(
                f"the decision is not signed by {whose} who is trusted here: {error}",
                "sign with a key that is in the file of approvers, or have it added there",
            ) from None
        if statement.document != _text(said):
            raise StepRefused(
                "the decision is not written in canonical JSON", "sign it with `lictor approvals`"
            )
        if statement.signer.name != said.by:
            raise StepRefused(
                f"the decision is by {said.by!r} and signed by {statement.signer.name!r}",
                "decide in one's own name",
            )
        return OpenedDecision(said, statement.signer)


def sign_decision(decision: ApprovalDecision, key: SigningKey) -> str:
    """The decision as a signed note."""
    return sign_statement(KIND, decision, key)


def claimed(signed: str) -> ApprovalDecision:
    """What a note says, believed by nobody yet; StepRefused when it is no decision."""
    try:
        text = parse_note(signed).text
        if not text.startswith(f"{KIND}\n"):
            raise StepRefused("what was signed is no decision about an approval", _SIGN)
        decision = ApprovalDecision.from_json(text.removeprefix(f"{KIND}\n"))
        # The pattern of a date lets the 30th of February pass.
        for moment in (decision.decided_at, decision.expires_at):
            datetime.fromisoformat(moment)
    except NoteError as error:
        raise StepRefused(f"the decision is no signed note: {error}", _SIGN) from None
    except (ValidationError, CanonicalError, ValueError) as error:
        raise StepRefused(f"the decision can't be read: {error}", _SIGN) from None
    return decision


_SIGN = "sign a decision with `lictor approvals approve` or `reject`"


def _text(decision: ApprovalDecision) -> str:
    return canonical_json(decision.model_dump(mode="json")).decode() + "\n"
