"""Coverage: the four statuses, what counts as used, and what counts as stated."""

import ast
from pathlib import Path
from textwrap import dedent

import pytest

from libs.prove.tests.layers_on_disk import MAIL, write
from lictor_prove.coverage.report import report, stated, used_policies, uses
from lictor_prove.layer_model import Layer
from lictor_prove.layers import discover_trusted_roots, load_layer
from lictor_schema.proofs.coverage import CoverageReport, CoverageStatus

HASH = "sha256:" + "0" * 64
BANK = {
    "effects": "from lictor_layer import trusted\n@trusted\ndef pay(to: str, sum: int) -> None: ...\n",
    "contracts": """
        from lictor_layer import Spec, contract, effect
        from tools.mail.trusted.contracts import nothing_said

        @contract
        def only(accounts: list[str]) -> Spec:
            return effect("pay").all(lambda e: e.to in accounts)

        @contract
        def once() -> Spec:
            return effect("pay").count() <= 1
    """,
    "policy": """
        from lictor_layer import domain_policy
        POLICY = domain_policy(when_used="pay", recommended=["only"], required=["once"], label="bank")
    """,
}
POLICY = """
    from lictor_layer import domain_policy
    POLICY = domain_policy(when_used="send", recommended=["only", "unique"], label="mail")
"""


@pytest.fixture(scope="module")
def layer(tmp_path_factory: pytest.TempPathFactory) -> Layer:
    base = tmp_path_factory.mktemp("layer")
    write(base, {**MAIL, "effects": MAIL["effects"] + "\n    post = send\n", "policy": POLICY})
    write(base, BANK, "tools/bank/trusted")
    return load_layer(discover_trusted_roots([base]), [base])


IMPORTS = """
from lictor_layer import guarantee
from tools.mail.trusted import contracts as mail
from tools.mail.trusted.effects import send
from tools.bank.trusted import contracts as bank
from tools.bank.trusted.effects import pay
"""


def told(layer: Layer, text: str) -> CoverageReport:
    return report(IMPORTS + dedent(text), target="main", layer=layer, program_hash=HASH)


def statuses(layer: Layer, text: str) -> dict[str, str]:
    return {domain.domain: domain.status.value for domain in told(layer, text).domains}


SEND = 'def main():\n    send("a@b", "x")\n'


@pytest.mark.parametrize(
    ("guarantees", "status"),
    [
        ("", "silent_gap"),
        ("@guarantee(bank.only([]))\n", "silent_gap"),
        ("@guarantee(mail.nothing_said())\n", "recommended_gap"),
        ("@guarantee(mail.only([]))\n", "recommended_gap"),
        ("@guarantee(mail.only([]))\n@guarantee(mail.unique())\n", "covered_by_name"),
    ],
)
def test_a_used_domain_has_one_of_the_documented_statuses(
    layer: Layer, guarantees: str, status: str
) -> None:
    assert statuses(layer, guarantees + SEND) == {"mail": status}


def test_a_missing_required_contract_is_the_loudest_gap(layer: Layer) -> None:
    text = '@guarantee(bank.only([]))\ndef main():\n    pay("a", 1)\n'
    (bank,) = told(layer, text).domains
    assert bank.status is CoverageStatus.REQUIRED_GAP
    # Nothing was proved, so nothing was enforced.
    assert (bank.missing_required, bank.enforced, bank.stated) == (("once",), (), ("only",))
    stated_too = "@guarantee(bank.once())\n" + text
    assert statuses(layer, stated_too) == {"bank": "covered_by_name"}


def test_gaps_come_before_what_is_covered(layer: Layer) -> None:
    text = "@guarantee(mail.only([]))\n@guarantee(mail.unique())\n" + SEND + '    pay("a", 1)\n'
    found = told(layer, text)
    assert [domain.domain for domain in found.domains] == ["bank", "mail"]
    assert found.worst is CoverageStatus.REQUIRED_GAP
    assert (found.level, found.layer_hash) == ("mention", layer.hash)


def test_a_domain_that_is_not_used_is_not_reported(layer: Layer) -> None:
    assert statuses(layer, "def main():\n    return 1\n") == {}
    unused = 'def never():\n    send("a", "b")\n\ndef main():\n    return 1\n'
    assert statuses(layer, unused) == {}


@pytest.mark.parametrize(
    "program",
    [
        'def main():\n    if False:\n        send("a", "b")\n',
        'def helper():\n    send("a", "b")\ndef main():\n    helper()\n',
        'def main():\n    def inner():\n        send("a", "b")\n    inner()\n',
        'def main():\n    f = send\n    f("a", "b")\n',
        'def main():\n    [send(x, "b") for x in ["a"]]\n',
        'def main(f=send):\n    f("a", "b")\n',
        "f = send\ndef main():\n    return 1\n",
        'def main():\n    from tools.mail.trusted.effects import send as s\n    s("a", "b")\n',
        'import tools.mail.trusted.effects as fx\ndef main():\n    fx.send("a", "b")\n',
        'import tools.mail.trusted.effects\ndef main():\n    tools.mail.trusted.effects.send("a", "b")\n',
        'def main(tool):\n    tool.send("a", "b")\n',
        'class C:\n    def go(self):\n        send("a", "b")\ndef main():\n    C().go()\n',
        'def a():\n    b()\ndef b():\n    a()\n    send("a", "b")\ndef main():\n    a()\n',
    ],
)
def test_whatever_may_call_a_function_uses_its_domain(layer: Layer, program: str) -> None:
    used = {policy.label for policy in used_policies(IMPORTS + program, target="main", layer=layer)}
    assert "mail" in used


@pytest.mark.parametrize(
    "program",
    [
        "def main():\n    f = mailing.send\n    f('a', 'b')\n",
        "def main():\n    f = g = mailing.send\n    g('a', 'b')\n",
        "def main():\n    m = mailing\n    m.send('a', 'b')\n",
        "def main():\n    m = mailing\n    f = m.post\n    f('a', 'b')\n",
        "def main():\n    mailing.post('a', 'b')\n",
        "def main():\n    fs = [mailing.send]\n    fs[0]('a', 'b')\n",
        "def main():\n    for f in [mailing.send]:\n        f('a', 'b')\n",
        "def go(f):\n    f('a', 'b')\ndef main():\n    go(mailing.send)\n",
        "def pick():\n    return mailing.send\ndef main():\n    pick()('a', 'b')\n",
        "def main():\n    (lambda f: f('a', 'b'))(mailing.send)\n",
        "def main():\n    [f('a', 'b') for f in (mailing.send,)]\n",
        "def main():\n    if (f := mailing.send):\n        f('a', 'b')\n",
    ],
)
def test_a_function_under_another_name_uses_its_own_domain_and_no_other(
    layer: Layer, program: str
) -> None:
    imports = "from tools.mail.trusted import effects as mailing\n"
    used = used_policies(imports + program, target="main", layer=layer)
    assert {policy.label for policy in used} == {"mail"}


@pytest.mark.parametrize(
    "program",
    [
        "def main(f):\n    f()\n",
        "def main(fs):\n    fs[0]()\n",
        'def main():\n    eval("send")("a", "b")\n',
        'def main():\n    getattr(mail, "x")\n',
        "import os\ndef main():\n    os.system('x')\n",
        "import helpers\ndef main():\n    helpers.go()\n",
        "from helpers import *\ndef main():\n    go()\n",
        "from tools.mail.trusted.effects import *\ndef main():\n    return 1\n",
        "from . import x\ndef main():\n    x()\n",
        "import tools.mail.trusted.effects as fx\ndef main(go):\n    go(fx)\n",
        "import tools.mail.trusted.effects as fx\ndef main():\n    fx.__dict__\n",
        "import tools.mail.trusted.effects as fx\ndef main():\n    m = fx\n    m.__dict__['send']()\n",
        "def main():\n    nowhere()\n",
        "def not_main():\n    return 1\n",
    ],
)
def test_a_call_that_can_not_be_resolved_uses_every_domain(layer: Layer, program: str) -> None:
    used = used_policies(program, target="main", layer=layer)
    assert {policy.label for policy in used} == {"mail", "bank"}


@pytest.mark.parametrize(
    "program",
    [
        "import math\ndef main():\n    return math.floor(1.5) + len([1])\n",
        "def main():\n    xs = []\n    xs.append(1)\n    return (lambda x: x)(xs)\n",
        "import clauz3\n@clauz3.guarantee(mail.unique())\ndef main():\n    return 1\n",
    ],
)
def test_ordinary_python_uses_no_domain(layer: Layer, program: str) -> None:
    assert used_policies(IMPORTS + program, target="main", layer=layer) == ()


@pytest.mark.parametrize(
    ("program", "names"),
    [
        ("from tools.mail.trusted.contracts import only as o\n@guarantee(o([]))\n", ["only"]),
        ("import tools.mail.trusted.contracts as c\n@guarantee(c.only([]))\n", ["only"]),
        ("import clauz3 as z\n@z.guarantee(mail.unique())\n", ["unique"]),
        ("from clauz3 import guarantee as promise\n@promise(mail.unique())\n", ["unique"]),
        ("@guarantee(bank.nothing_said())\n", ["nothing_said"]),
        ("def fake(x): return x\n@fake(mail.unique())\n", []),
        ("@guarantee(unique())\n", []),
        ("@guarantee(mail.send('a', 'b'))\n", []),
        ("import tools.bank.trusted.contracts as mail\n@guarantee(mail.only([]))\n", []),
    ],
)
def test_contracts_are_known_by_what_they_are_imported_as(
    layer: Layer, program: str, names: list[str]
) -> None:
    tree = ast.parse(IMPORTS + program + "def main():\n    return 1\n")
    assert [contract.name for contract in stated(tree, "main", layer)] == names


def test_a_contract_of_another_domain_covers_nothing_here(layer: Layer) -> None:
    text = "@guarantee(bank.only([]))\n@guarantee(mail.unique())\n" + SEND
    (mail,) = told(layer, text).domains
    assert (mail.status.value, mail.missing_recommended) == ("recommended_gap", ("only",))


def test_deep_programs_do_not_overflow(layer: Layer) -> None:
    text = "def main():\n    return " + "+".join(["1"] * 900) + "\n"
    assert not uses(ast.parse(text), "main", layer).anything


def of_two_domains(base: Path, bank: str, **more: str) -> Layer:
    """The mail layer, and a bank that may offer contracts of the mail under its own name."""
    write(base, MAIL)
    effects = "from lictor_layer import trusted\n@trusted\ndef pay(to: str) -> None: ...\n"
    policy = "from lictor_layer import *\nPOLICY = domain_policy(when_used='pay', recommended=['unique'])\n"
    modules = {"effects": effects, "contracts": bank, "policy": policy, **more}
    write(base, modules, "tools/bank/trusted")
    return load_layer(discover_trusted_roots([base]), [base])


PAYS = """
from lictor_layer import guarantee
from tools.bank.trusted.{module} import {name}
from tools.bank.trusted.effects import pay
@guarantee({name}())
def main():
    pay("a")
"""
OWN_UNIQUE = """
from lictor_layer import *
from tools.bank.trusted.effects import pay
@contract
def unique():
    return effect(pay).distinct(lambda e: e.to)
"""


def test_a_contract_of_another_domain_covers_nothing_wherever_it_is_imported_from(
    tmp_path: Path,
) -> None:
    again = "from tools.mail.trusted.contracts import unique\n"
    layer = of_two_domains(tmp_path, OWN_UNIQUE, exports=again)
    for module, status in (("exports", "silent_gap"), ("contracts", "covered")):
        text = PAYS.format(module=module, name="unique")
        (domain,) = report(text, target="main", layer=layer, program_hash=HASH).domains
        assert domain.status == status


def test_a_contract_of_another_domain_counts_where_the_policy_means_it(tmp_path: Path) -> None:
    layer = of_two_domains(tmp_path, "from tools.mail.trusted.contracts import unique\n")
    text = PAYS.format(module="contracts", name="unique")
    (domain,) = report(text, target="main", layer=layer, program_hash=HASH).domains
    assert (domain.status, domain.stated) == (CoverageStatus.COVERED, ("unique",))
