"""The file of a certificate: `lictor/certificate/v2`, canonical JSON, named by the SHA-256 of what it states.

A file is exactly the canonical JSON of `{"certificate": …, "hash": …}`, and the hash is that of the canonical JSON of
the first. So there is one file for each certificate, any other byte is refused, and the name tells what is in it.

Reading here says only that a file has the form. Whether it shows what it claims, `lictor_ir.certificate.check` says.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, TypeVar

from lictor_ir.errors import CertificateError, FormError
from lictor_ir.goals.goal import GoalKind
from lictor_ir.goals.witness import Witness, read_witness, witness_json
from lictor_ir.json.strict_reading import (
    Path,
    fail,
    list_of,
    name,
    object_of,
    text,
    text_or_none,
    tuple_of,
)
from lictor_schema.core.canonical_json import CanonicalError, canonical_json, hash_bytes, parse_json

FORMAT: Final = "lictor/certificate/v2"
"""Changes also when the same document would get other goals or other scripts: a certificate holds their hashes."""
MAX_BYTES: Final = 32 * 1024 * 1024

OUTSIDE: Final = (
    "that the program's text means this Effect IR: the front-end is trusted; derive it again to compare",
    "that this Effect IR says what the layer does: what trusted calls demand and promise, and what it requires",
    "that trusted calls keep what the layer promises: the layer is trusted",
    "levels a and b: that the solvers named said so; who made the certificate is believed",
)
"""What no certificate shows; each says so itself."""

_HEAD: Final = b'{"certificate":'
_TAIL: Final = b',"hash":"sha256:' + b"0" * 64 + b'"}'
_Word = TypeVar("_Word", bound=StrEnum)


class Level(StrEnum):
    """How strongly a goal is known to hold; a certificate is as strong as its weakest goal."""

    A = "a"
    """The goal is re-derived from the Effect IR and compared. That it holds, one solver said."""
    B = "b"
    """A second solver of another lineage said so too."""
    C = "c"
    """The checker found it out itself, step by step; no solver is believed."""


class FrontEnd(StrEnum):
    """Where the Effect IR came from."""

    PYTHON = "python"
    """A program, whose hash it names."""
    COMMANDS = "commands"
    """The same, in guarded commands."""
    DOCUMENT = "document"
    """Somebody handed it in: there is no program that it is about."""


class By(StrEnum):
    """What a goal rests on."""

    EVALUATION = "evaluation"
    """Nothing is left of it when it is derived: rewriting showed that it holds."""
    PROOF = "proof"
    """A proof of unsatisfiability, in cvc5's CPC format."""
    SOLVER = "solver"
    """What solvers said; nothing is carried."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is carried for one goal."""

    goal: str
    kind: GoalKind
    by: By
    level: Level
    """What the maker's own checker established."""
    script_hash: str | None = None
    """Of the SMT-LIB script of the goal; None when nothing is left for a script, or it can't be written."""
    solvers: tuple[str, ...] = ()
    """Who said that it holds."""
    proof: str | None = None


@dataclass(frozen=True, slots=True)
class Certificate:
    """All that a certificate states."""

    ir: bytes
    """The document's canonical JSON, whole."""
    ir_hash: str
    layer_hash: str | None
    program_hash: str | None
    front_end: FrontEnd
    level: Level
    witnesses: tuple[tuple[str, Witness], ...]
    """Of calls that promise something of their results, in their order."""
    goals: tuple[Evidence, ...]
    engine: str
    """The prover that decided, and its limits."""
    settings: str
    solvers: tuple[tuple[str, str], ...]
    """Names and versions, sorted."""


def write(certificate: Certificate) -> bytes:
    """The file, however large; what is larger than `MAX_BYTES` is not read."""
    try:
        body = canonical_json(_body(certificate))
    except CanonicalError as error:
        raise FormError(f"the certificate can't be written: {error}") from None
    return _HEAD + body + b',"hash":"' + hash_bytes(body).encode() + b'"}'


def name_of(data: bytes) -> str:
    """The name of a file; CertificateError when it is not the hash of what the file states."""
    if not data.startswith(_HEAD):
        raise FormError("this is no certificate: it must begin with the member `certificate`")
    found = hash_bytes(data[len(_HEAD) : -len(_TAIL)])
    if len(data) < len(_HEAD) + len(_TAIL) or not data.endswith(b',"hash":"%b"}' % found.encode()):
        raise CertificateError(
            "hash: it is not that of what the certificate states, which was changed or cut off; fetch it anew"
        )
    return found


def read(data: bytes) -> Certificate:
    """The certificate in a file; FormError or CertificateError when a single byte is not as the format has it."""
    if len(data) > MAX_BYTES:
        raise FormError(f"the certificate has {len(data)} bytes; at most {MAX_BYTES} are read")
    name_of(data)
    try:
        value = parse_json(data)
        if canonical_json(value) != data:
            raise FormError("the file is not canonical JSON; fetch it anew")
    except CanonicalError as error:
        raise FormError(str(error)) from None
    envelope = object_of(value, (), "certificate", "hash")
    return _read_body(envelope["certificate"])


# -- writing ---------------------------------------------------------------------------------------


def _body(certificate: Certificate) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "verdict": "proved",
        "level": certificate.level,
        "program_hash": certificate.program_hash,
        "layer_hash": certificate.layer_hash,
        "ir_hash": certificate.ir_hash,
        "ir": parse_json(certificate.ir),
        "front_end": certificate.front_end,
        "witnesses": [
            {"call": call, **witness_json(witness)} for call, witness in certificate.witnesses
        ],
        "goals": [evidence_json(each) for each in certificate.goals],
        "engine": certificate.engine,
        "settings": certificate.settings,
        "solvers": dict(certificate.solvers),
        "outside": list(OUTSIDE),
    }


def evidence_json(evidence: Evidence) -> dict[str, Any]:
    """The evidence as JSON has it."""
    return {
        "goal": evidence.goal,
        "kind": evidence.kind,
        "by": evidence.by,
        "level": evidence.level,
        "script_hash": evidence.script_hash,
        "solvers": list(evidence.solvers),
        "proof": evidence.proof,
    }


# -- reading ---------------------------------------------------------------------------------------


def _read_body(value: Any) -> Certificate:
    here: Path = ("certificate",)
    if not isinstance(value, dict) or value.get("format") != FORMAT:  # pyright: ignore[reportUnknownMemberType]
        raise FormError(f"format: must be {FORMAT!r}; nothing else is read here")
    fields = object_of(
        value,
        here,
        *("format", "verdict", "level", "program_hash", "layer_hash", "ir_hash", "ir"),
        *("front_end", "witnesses", "goals", "engine", "settings", "solvers", "outside"),
    )
    if fields["verdict"] != "proved":
        raise fail((*here, "verdict"), "must be `proved`; nothing else is certified")
    if fields["outside"] != list(OUTSIDE):
        raise fail((*here, "outside"), "must say what no certificate shows, in the format's words")
    solvers = object_of(fields["solvers"], (*here, "solvers"), optional=("cvc5", "z3"))
    return Certificate(
        ir=canonical_json(fields["ir"]),
        ir_hash=name(fields["ir_hash"], (*here, "ir_hash")),
        layer_hash=text_or_none(fields["layer_hash"], (*here, "layer_hash")),
        program_hash=text_or_none(fields["program_hash"], (*here, "program_hash")),
        front_end=_word(FrontEnd, fields["front_end"], (*here, "front_end")),
        level=_word(Level, fields["level"], (*here, "level")),
        witnesses=tuple_of(fields["witnesses"], (*here, "witnesses"), _read_witness),
        goals=tuple_of(fields["goals"], (*here, "goals"), read_evidence),
        engine=name(fields["engine"], (*here, "engine")),
        settings=text(fields["settings"], (*here, "settings")),
        solvers=tuple(
            (key, name(solvers[key], (*here, "solvers", key))) for key in sorted(solvers)
        ),
    )


def read_evidence(value: Any, path: Path) -> Evidence:
    """The evidence that `evidence_json` gave."""
    fields = object_of(
        value, path, "goal", "kind", "by", "level", "script_hash", "solvers", "proof"
    )
    by = _word(By, fields["by"], (*path, "by"))
    if (fields["proof"] is None) is (by is By.PROOF):
        raise fail((*path, "proof"), "must be carried exactly by what rests on a proof")
    return Evidence(
        goal=name(fields["goal"], (*path, "goal")),
        kind=_word(GoalKind, fields["kind"], (*path, "kind")),
        by=by,
        level=_word(Level, fields["level"], (*path, "level")),
        script_hash=text_or_none(fields["script_hash"], (*path, "script_hash")),
        solvers=_read_solvers(fields["solvers"], (*path, "solvers")),
        proof=text_or_none(fields["proof"], (*path, "proof")),
    )


def _read_witness(value: Any, path: Path) -> tuple[str, Witness]:
    fields = object_of(value, path, "call", "terms", "value", "length")
    call = name(fields["call"], (*path, "call"))
    rest = {key: part for key, part in fields.items() if key != "call"}
    return call, read_witness(rest, path)


def _read_solvers(value: Any, path: Path) -> tuple[str, ...]:
    found = tuple(list_of(value, path, name))
    if found != tuple(sorted(set(found) & {"cvc5", "z3"})):
        raise fail(path, "must name cvc5 and z3, or one of them, once and in this order")
    return found


def _word(words: type[_Word], value: Any, path: Path) -> _Word:
    spelled = text(value, path)
    if spelled not in {word.value for word in words}:
        raise fail(path, f"must be one of {', '.join(words)}")
    return words(spelled)
