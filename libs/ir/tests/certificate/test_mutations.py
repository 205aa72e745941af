"""A certificate that was changed is refused: byte by byte as it is, and part by part after it was sealed again.

Whoever changes a file can write its hashes anew. Then what it states must still be shown, or it is refused; what is
only the maker's word (which engine, which versions) is the only thing that can be changed so.
"""

from __future__ import annotations

import copy
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lictor_ir.certificate import command
from lictor_ir.certificate.check import check
from lictor_ir.certificate.format import MAX_BYTES, Level, name_of
from lictor_ir.errors import CertificateError, FormError, IrError
from lictor_schema.core.canonical_json import CanonicalError, canonical_json, hash_bytes

PAY = (Path(__file__).parent / "pay.json").read_bytes()
BODY: dict[str, Any] = json.loads(PAY)["certificate"]
HEAD = b'{"certificate":'

Place = tuple[str | int, ...]


def sealed(body: Any, *, ir_hash: bool = True) -> bytes:
    """A file of this body, with its own hash and that of its Effect IR written anew."""
    if ir_hash and isinstance(body, dict) and "ir" in body and "ir_hash" in body:
        body = {**body, "ir_hash": hash_bytes(canonical_json(body["ir"]))}
    whole = canonical_json(body)
    return HEAD + whole + b',"hash":"' + hash_bytes(whole).encode() + b'"}'


def refused(data: bytes) -> None:
    with pytest.raises((CertificateError, FormError)) as caught:
        check(data)
    assert len(str(caught.value)) > 10


def test_the_file_itself_is_sealed_like_this() -> None:
    assert sealed(BODY) == PAY


# -- bytes -----------------------------------------------------------------------------------------


def test_every_changed_byte_is_refused() -> None:
    for at in range(len(PAY)):
        changed = bytearray(PAY)
        changed[at] ^= 1
        with pytest.raises((CertificateError, FormError)):
            name_of(bytes(changed))
    # All else begins with the name, so these speak for the others.
    for at in range(0, len(PAY), 997):
        refused(PAY[:at] + bytes([PAY[at] ^ 1]) + PAY[at + 1 :])


def test_every_cut_and_everything_added_is_refused() -> None:
    for at in range(0, len(PAY), 101):
        refused(PAY[:at])
        refused(PAY[:at] + PAY[at + 1 :])
        refused(PAY[:at] + b" " + PAY[at:])
    for added in (b"\n", b" ", b"\0", b"{}", PAY):
        refused(PAY + added)
        refused(added + PAY)
    refused(PAY + b"\n" * 1_000)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{}",
        b"[]",
        b"null",
        b"\xff\xfe",
        b"\xef\xbb\xbf" + PAY,
        PAY.decode().encode("utf-16"),
        b'{"hash":"sha256:' + b"0" * 64 + b'"}',
        HEAD,
        HEAD + b"{}}",
        b"[" * 100_000,
        HEAD + b"[" * 100_000,
        HEAD + b"9" * 100_000 + b"}",
        b" " * (MAX_BYTES + 1),
        HEAD + b"1" * MAX_BYTES,
    ],
    ids=range(15),
)
def test_what_is_no_certificate_is_refused(data: bytes) -> None:
    refused(data)


@pytest.mark.parametrize(
    "inside",
    [
        b"{" * 10_000,
        b"[" * 65 + b"]" * 65,
        b"9" * 5_000,
        b"9007199254740993",
        b"1e999",
        b"NaN",
        b"{}",
        b'{"format":"lictor/certificate/v1"}',
        b'{"format":"lictor/certificate/v2"}',
        b'{"format":"lictor/certificate/v3"}',
        b'"\\ud800"',
        canonical_json(BODY).replace(b'"engine":', b'"engine":"x","engine":', 1),
        canonical_json(BODY).replace(b'"engine":', b'"engine": ', 1),
        canonical_json(BODY).replace(b'"level":"c"', b'"level":"\\u0063"'),
        json.dumps(BODY, indent=1).encode(),
        json.dumps(dict(reversed(BODY.items())), separators=(",", ":")).encode(),
    ],
    ids=range(16),
)
def test_what_is_sealed_and_not_canonical_is_refused(inside: bytes) -> None:
    refused(HEAD + inside + b',"hash":"' + hash_bytes(inside).encode() + b'"}')


def test_a_file_of_fifty_megabytes_is_not_even_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "large.json"
    with path.open("wb") as file:
        file.write(PAY)
        file.truncate(50 * 1024 * 1024)
    assert command.main(["check", str(path)]) == command.UNREADABLE
    assert "at most" in capsys.readouterr().out


# -- parts, sealed again ---------------------------------------------------------------------------


def places(value: Any, here: Place = ()) -> Iterator[Place]:
    """Where every part stands."""
    yield here
    members = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for key, member in members:
        yield from places(member, (*here, key))


def at(body: Any, place: Place) -> Any:
    for part in place:
        body = body[part]
    return body


def changed(place: Place, change: Callable[[Any], Any]) -> Any:
    """The body with one part changed."""
    if not place:
        return change(copy.deepcopy(BODY))
    body = copy.deepcopy(BODY)
    holder = at(body, place[:-1])
    holder[place[-1]] = change(holder[place[-1]])
    return body


def variants(value: Any) -> Iterator[Any]:
    """Other values where this one stood."""
    match value:
        case bool():
            yield not value
        case int():
            yield from (value + 1, value - 1, -1, 2**53 - 1, str(value))
        case str():
            yield from (value + "x", value[:-1], "", None, value.swapcase(), [value])
        case None:
            yield from ("x", 0, [], {})
        case list():
            yield from ([*value, None], None, {}, [[*value]])
            if value:
                yield from (value[1:], value[:-1], [*value, value[-1]], [*value, value[0]])
                yield value[::-1] if len(value) > 1 else [value[0], value[0]]
        case dict():
            yield from (None, [], {**value, "more": 1}, {})
            for key in value:
                yield {name: value[name] for name in value if name != key}
        case _:
            raise AssertionError(value)


THE_MAKERS_WORD = {("engine",), ("settings",), ("solvers", "cvc5"), ("solvers", "z3")}


def _outcome(body: Any, *, ir_hash: bool = True) -> str | None:
    """What a changed body is refused with; None when it is not."""
    try:
        check(sealed(body, ir_hash=ir_hash))
    except (CertificateError, FormError) as error:
        return str(error)
    except CanonicalError as error:
        return str(error)  # it can't even be written
    return None


def _outside_of_the_ir() -> list[Place]:
    return [place for place in places(BODY) if place[:1] != ("ir",)]


@pytest.mark.parametrize("place", _outside_of_the_ir(), ids=lambda place: ".".join(map(str, place)))
def test_every_part_that_is_changed_and_sealed_again_is_refused(place: Place) -> None:
    # Who said so is the maker's word too, and proofs have tests of their own below.
    if place in THE_MAKERS_WORD or (len(place) > 2 and place[2] in ("solvers", "proof")):
        return
    for other in variants(at(BODY, place)):
        body = changed(place, lambda _, other=other: other)
        if body == BODY:
            continue
        assert _outcome(body, ir_hash=place != ("ir_hash",)), (place, other)


@pytest.mark.parametrize("place", sorted(THE_MAKERS_WORD))
def test_what_only_the_maker_can_know_shows_nothing_else(place: Place) -> None:
    body = changed(place, lambda was: was + "9")
    report = check(sealed(body))
    assert report.hash != name_of(PAY)
    assert report.level is Level.C
    assert report.certificate.ir_hash == BODY["ir_hash"]


def test_every_part_of_the_effect_ir_is_bound() -> None:
    """Without a new hash it is refused; with one, it is refused or a certificate about another document."""
    for place in [place for place in places(BODY) if place[:1] == ("ir",)]:
        body = changed(place, lambda was: next(variants(was)))
        assert _outcome(body, ir_hash=False), place
        data = sealed(body)
        try:
            assert check(data).certificate.ir_hash != BODY["ir_hash"]
        except (CertificateError, FormError):
            continue


def test_an_effect_ir_that_says_more_is_not_shown_by_what_showed_less() -> None:
    """Whatever is proved about the document stands in its goals: a stronger promise has other goals."""
    rows = BODY["ir"]["terms"]
    constants = [n for n, row in enumerate(rows) if row.get("const") in ("int", "str")]
    refusals = [
        outcome
        for number in constants
        for value in ("0", "3", "other")
        if (
            outcome := _outcome(
                changed(("ir", "terms", number, "value"), lambda _, value=value: value)
            )
        )
    ]
    assert len(constants) >= 4
    assert any("script" in each for each in refusals)


def _steps(proof: str) -> list[str]:
    return proof.splitlines(keepends=True)


def _with_proof(goal: int, lines: list[str]) -> Any:
    return changed(("goals", goal, "proof"), lambda _: "".join(lines))


@pytest.mark.parametrize(
    "goal", [n for n, each in enumerate(BODY["goals"]) if each["proof"]], ids=str
)
def test_a_proof_without_one_of_its_lines_is_refused(goal: int) -> None:
    lines = _steps(BODY["goals"][goal]["proof"])
    every = max(1, len(lines) // 40)
    kept = [
        lines[number]
        for number in range(0, len(lines), every)
        if _outcome(_with_proof(goal, lines[:number] + lines[number + 1 :])) is None
    ]
    # What nothing else names can go, and what the script declares anyway; what is left is a proof all the same.
    words = Counter(re.findall(r"[^\s()]+", "".join(lines)))
    assert all(
        line.startswith(("(declare-const ", "(define "))
        or words[re.findall(r"[^\s()]+", line)[1]] == 1
        for line in kept
    ), kept
    assert len(kept) < len(lines) / every / 2


@pytest.mark.parametrize(
    "goal", [n for n, each in enumerate(BODY["goals"]) if each["proof"]], ids=str
)
def test_a_proof_whose_steps_say_something_else_is_refused(goal: int) -> None:
    lines = _steps(BODY["goals"][goal]["proof"])
    last = max(n for n, line in enumerate(lines) if line.startswith("(step"))
    assert "false" in lines[last] or ":rule" in lines[last]
    refusals = [
        _outcome(_with_proof(goal, [*lines[:last], *lines[last + 1 :]])),
        _outcome(_with_proof(goal, [line.replace("false", "true") for line in lines])),
        _outcome(
            _with_proof(goal, [line.replace("(assume @p1 ", "(assume @p1 (not ") for line in lines])
        ),
        _outcome(_with_proof(goal, lines[:-1])),
        _outcome(_with_proof(goal, lines[::-1])),
        _outcome(_with_proof(goal, ["(assume @p1 false)\n"])),
        _outcome(_with_proof(goal, ["(\n(assume @p1 false)\n)\n"])),
        _outcome(_with_proof(goal, ["(\n(step @p1 false :rule trust)\n)\n"])),
        _outcome(_with_proof(goal, ["()"])),
        _outcome(_with_proof(goal, ["("])),
        _outcome(_with_proof(goal, [")" * 1_000])),
        _outcome(_with_proof(goal, ["(" * 100_000])),
    ]
    assert all(refusals), refusals


@settings(max_examples=60)
@given(
    st.integers(0, len(BODY["goals"]) - 1),
    st.integers(0, 100_000),
    st.sampled_from(
        ["0", "1", "9", "(", ")", " ", "@p1", "x", "-", "not", "false", "\0", "|", '"']
    ),
    st.integers(0, 3),
)
def test_a_proof_with_a_changed_spot_never_raises_anything_but_a_refusal(
    goal: int, spot: int, put: str, cut: int
) -> None:
    proof = BODY["goals"][goal]["proof"]
    if proof is None:
        return
    spot %= len(proof)
    body = changed(("goals", goal, "proof"), lambda was: was[:spot] + put + was[spot + cut :])
    try:
        report = check(sealed(body))
    except IrError:
        return
    # What still passes shows the same as before: spaces, an unused name.
    assert report.certificate.ir_hash == BODY["ir_hash"]


# -- claims ----------------------------------------------------------------------------------------


def test_goals_can_not_be_left_out_added_doubled_or_moved() -> None:
    goals = BODY["goals"]
    for other in (
        [],
        goals[:-1],
        goals[1:],
        [*goals, goals[-1]],
        [*goals, {**goals[-1], "goal": "guarantee.9.0"}],
        [goals[1], goals[0], *goals[2:]],
        [{**goals[0], "goal": goals[1]["goal"]}, *goals[1:]],
        [{**goals[0], "kind": "guarantee"}, *goals[1:]],
        [goals[0], {**goals[1], "kind": "assertion"}, *goals[2:]],
    ):
        assert _outcome({**BODY, "goals": other})


def test_a_level_that_is_not_shown_can_not_be_claimed() -> None:
    goals = copy.deepcopy(BODY["goals"])
    goals[1] |= {"by": "solver", "proof": None}
    assert "is claimed" in (_outcome({**BODY, "goals": goals}) or "")
    goals[1]["level"] = "b"
    assert "weakest" in (_outcome({**BODY, "goals": goals}) or "")
    assert _outcome({**BODY, "goals": goals, "level": "b"}) is None
    goals[1]["solvers"] = ["z3"]
    assert "is claimed" in (_outcome({**BODY, "goals": goals, "level": "b"}) or "")


def test_a_level_below_what_is_shown_is_no_lie_and_what_is_shown_counts() -> None:
    goals = [{**each, "level": "a"} for each in BODY["goals"]]
    assert check(sealed({**BODY, "goals": goals, "level": "a"})).level is Level.C
