"""Programs that try to get a false proof, each with the right verdict in its first line.

    # refuted: why
    # proved|rejected: either is right
    # not proved: any verdict but proved

A program that is proved although its first line says otherwise is the worst bug this project can have.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from lictor_prove.errors import ProveError
from lictor_prove.layer_model import Layer
from lictor_prove.layers import load_layer
from lictor_prove.proof.prover import Proof, prove

HERE = Path(__file__).parent
LAYERS = HERE / "layers"
PROGRAMS = sorted((HERE / "adversarial").glob("*.py"))
VERDICTS = {"proved", "refuted", "unknown", "rejected"}
FIRST_LINE = re.compile(r"# (?P<verdicts>[a-z |]+): (?P<why>.+)")


@pytest.fixture(scope="module")
def layer() -> Layer:
    # The others have effects of the same names.
    return load_layer([LAYERS / f"tools/{each}/trusted" for each in ("desk", "switched")], [LAYERS])


def right_verdicts(source: str) -> set[str]:
    """The verdicts that the first line allows."""
    found = FIRST_LINE.match(source)
    assert found, "the first line says the right verdict and why"
    named = set(found["verdicts"].split("|"))
    return VERDICTS - {"proved"} if named == {"not proved"} else named


def verdict_on(source: str, layer: Layer, name: str = "program.py") -> Proof:
    return prove(source, name=name, layer=layer)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_program_gets_the_right_verdict(program: Path, layer: Layer) -> None:
    source = program.read_text("utf-8")
    right = right_verdicts(source)
    assert right <= VERDICTS
    proof = verdict_on(source, layer, program.name)
    assert str(proof.verdict) in right, proof


def test_there_are_programs_for_every_verdict() -> None:
    told = [right_verdicts(program.read_text("utf-8")) for program in PROGRAMS]
    assert len(told) >= 120
    assert {"proved"} in told
    assert {"refuted"} in told
    assert {"rejected"} in told


HEADER = (
    "import lictor_layer\n"
    "from tools.desk.trusted import contracts as c\n"
    "from tools.desk.trusted.effects import is_allowed, log, send_email\n\n\n"
    "@lictor_layer.guarantee(c.none_sent())\n"
    "def main() -> None:\n"
)
BAD_SOURCES = {
    "syntax error": HEADER + "    send_email(\n",
    "empty": "",
    "only a comment": "# nothing\n",
    "null byte": HEADER + "    log('x')\n\0send_email('eve@evil.com', 'x')\n",
    "ten thousand parentheses": HEADER + "    log(" + "(" * 10_000 + "'x'" + ")" * 10_000 + ")\n",
    "ten thousand brackets": HEADER + "    x = " + "[" * 10_000 + "]" * 10_000 + "\n",
    "ten thousand minus signs": HEADER + "    x = " + "-" * 10_000 + "1\n",
    "ten thousand nots": HEADER + "    x = " + "not " * 10_000 + "True\n",
    "ten thousand attributes": HEADER + "    x = log" + ".x" * 10_000 + "\n",
    "a megabyte of statements": HEADER + "    log('x')\n" * 80_000,
    "a megabyte in one string": HEADER + "    log('" + "x" * 1_000_000 + "')\n",
    "a megabyte in one sum": HEADER + "    x = 1" + " + 1" * 250_000 + "\n",
    "a deep else-if ladder": HEADER
    + "    if is_allowed('x'):\n        log('a')\n"
    + "".join(f"    elif is_allowed('{n}'):\n        log('b')\n" for n in range(3000)),
    "nested ifs": HEADER
    + "".join("    " * n + f"if is_allowed('{n}'):\n" for n in range(1, 95))
    + "    " * 95
    + "send_email('eve@evil.com', 'x')\n",
    "a huge number": HEADER + "    x = 9 ** 9 ** 9 ** 9\n",
    "a huge string": HEADER + "    x = 'x' * 10 ** 12\n",
    "a huge list": HEADER + "    x = [0] * 10 ** 12\n",
    "a huge shift": HEADER + "    x = 1 << 10 ** 12\n",
    "a number of many digits": HEADER + "    x = " + "9" * 10_000 + "\n",
    "a surrogate": HEADER + "    log('\ud800')\n",
    "a form feed": HEADER + "\f    send_email('eve@evil.com', 'x')\n",
    "a carriage return": HEADER + "    log('x')  # \r    send_email('eve@evil.com', 'x')\n",
    "an encoding line": "# coding: rot13\n" + HEADER + "    send_email('eve@evil.com', 'x')\n",
    "tabs and spaces": HEADER + "    if 1:\n\tsend_email('eve@evil.com', 'x')\n",
    "many helpers, each calling the next twice": "".join(
        f"def h{n}():\n    h{n + 1}()\n    h{n + 1}()\n\n\n" for n in range(40)
    )
    + HEADER
    + "    h0()\n\n\ndef h40():\n    log('x')\n",
    "many doublings": HEADER + "    x = 'x'\n" + "    x = x + x\n" * 64 + "    log(x)\n",
    "many doublings of a list": HEADER + "    x = [0]\n" + "    x = x + x\n" * 64,
    "nested loops": HEADER
    + "".join("    " * n + f"for i{n} in range(100):\n" for n in range(1, 8))
    + "    " * 8
    + "log('x')\n",
}
QUICKLY_S = 20


@pytest.mark.timeout(QUICKLY_S)
@pytest.mark.parametrize("case", BAD_SOURCES, ids=str)
def test_bad_input_gets_a_clear_verdict_quickly(case: str, layer: Layer) -> None:
    proof = verdict_on(BAD_SOURCES[case], layer)
    allowed = {"unknown", "rejected", "refuted"}
    if "send_email('eve" not in BAD_SOURCES[case].partition("def main")[2]:
        allowed.add("proved")  # nothing is sent: true, if it was quick
    assert str(proof.verdict) in allowed
    if str(proof.verdict) == "rejected":
        assert proof.reasons
        assert all(reason.message and reason.remedy for reason in proof.reasons)


def test_prover_survives_all_of_it(layer: Layer) -> None:
    for source in BAD_SOURCES.values():
        verdict_on(source, layer)
    fine = HEADER + "    log('x')\n"
    assert str(verdict_on(fine, layer).verdict) == "proved"


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("effects.py", "raise RuntimeError('no')\n"),
        ("effects.py", "import a_module_that_is_not_there\n"),
        ("effects.py", "def broken(:\n"),
        ("contracts.py", "from lictor_layer import effect\nX = effect('nobody')\n"),
        (
            "all.py",
            "from lictor_layer import contract, effect, trusted\n\n\n"
            "@trusted\ndef act(x: int) -> None: ...\n\n\n"
            "@contract\ndef reads_what_is_missing():\n"
            "    return effect(act).all(lambda e: e.missing == 1)\n",
        ),
    ],
)
def test_layer_that_fails_to_load_is_refused_with_a_reason(
    file: str, text: str, tmp_path: Path
) -> None:
    trusted = tmp_path / "tools" / "bad" / "trusted"
    trusted.mkdir(parents=True)
    (trusted / file).write_text(text, "utf-8")
    with pytest.raises(ProveError, match=file.partition(".")[0]):
        load_layer([trusted], [tmp_path])


def test_contract_that_raises_is_no_proof(tmp_path: Path) -> None:
    trusted = tmp_path / "tools" / "odd" / "trusted"
    trusted.mkdir(parents=True)
    (trusted / "all.py").write_text(
        "from lictor_layer import Spec, contract, effect, trusted\n\n\n"
        "@trusted\ndef act(x: int) -> None: ...\n\n\n"
        "@contract\ndef raises() -> Spec:\n    raise RuntimeError('no')\n\n\n"
        "@contract\ndef gives_nothing() -> Spec:\n    return None\n\n\n"
        "@contract\ndef gives_a_relation() -> Spec:\n    return effect(act)\n",
        "utf-8",
    )
    layer = load_layer([trusted], [tmp_path])
    for name in ("raises", "gives_nothing", "gives_a_relation"):
        source = (
            "import lictor_layer\nfrom tools.odd.trusted import all as c\n\n\n"
            f"@lictor_layer.guarantee(c.{name}())\ndef main() -> None:\n    c.act(1)\n"
        )
        assert str(prove(source, name="odd.py", layer=layer).verdict) != "proved"
