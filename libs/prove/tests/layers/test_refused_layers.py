"""Layers that can't be used: each is refused as a whole, with the file and line."""

from pathlib import Path

import pytest

from libs.prove.tests.layers_on_disk import EFFECTS, MAIL, mail, write
from lictor_prove.errors import ProverConfigError
from lictor_prove.layers import discover_trusted_roots, load_layer

HEAD = "from lictor_layer import *\nimport lictor_layer\n"

BROKEN_MODULES = {
    "an exception": ("x = 1\nraise RuntimeError('no')", "broken.py:2", "RuntimeError: no"),
    "an exit": ("import sys\n\nsys.exit(0)", "broken.py:3", "SystemExit"),
    "bad syntax": ("def f(:\n", "broken.py:1", "SyntaxError"),
    "null bytes": ("x = 1\0", "broken.py:", "null bytes"),
    "a missing package": ("import no_such_package_at_all", "broken.py:1", "no_such_package_at_all"),
    "code beside the roots": ("import tools.elsewhere", "broken.py:1", "in no trusted root"),
    "an unknown part of clauz3": ("import clauz3.prover", "broken.py:1", "has no meaning here"),
    "endless recursion": ("def f(): f()\nf()", "broken.py:1", "RecursionError"),
    "a misspelt parameter": (
        HEAD + "@requires(lambda adress: adress)\n@trusted\ndef f(addr: str): ...",
        "broken.py:3",
        "no parameter of f",
    ),
}


@pytest.mark.parametrize("name", BROKEN_MODULES)
def test_a_module_that_fails_to_load_is_named_with_its_line(tmp_path: Path, name: str) -> None:
    text, place, why = BROKEN_MODULES[name]
    with pytest.raises(ProverConfigError) as caught:
        mail(tmp_path, broken=text)
    assert place in str(caught.value)
    assert why in str(caught.value)


BAD_EFFECTS = {
    "an unknown decorator": (
        "import functools\n@functools.lru_cache\n@trusted\ndef f(a: str) -> str: ...",
        "broken.py:4: the decorator",
    ),
    "an unknown decorator below": (
        "import functools\n@trusted\n@functools.lru_cache\ndef f(a: str) -> str: ...",
        "can't be loaded",
    ),
    "a decorator of its own that hides the mark": (
        "def hide(f):\n    return lambda *a: f(*a)\n@hide\n@trusted\ndef f(a: str): ...",
        "broken.py:5: the decorator 'hide'",
    ),
    "a wrapper that is put around it later": (
        "import functools\n@requires(lambda a: a != '')\n@trusted\ndef f(a: str) -> None: ...\n"
        "def twice(f):\n    @functools.wraps(f)\n    def g(*a):\n        f(*a)\n        f(*a)\n    return g\n"
        "f = twice(f)",
        "the effect f is wrapped by g",
    ),
    "a condition of its own making": (
        "short = requires(lambda a: len(a) < 3)\n@short\n@trusted\ndef f(a: str): ...",
        "the decorator 'short'",
    ),
    "an effect in a function": (
        "def make():\n    @trusted\n    def f(a: str): ...\n    return f\nf = make()",
        "top level",
    ),
    "an effect in a branch": (
        "if True:\n    @trusted\n    def f(a: str): ...",
        "top level",
    ),
    "an effect in a class": (
        "class C:\n    @trusted\n    def f(self): ...",
        "f is marked as an effect",
    ),
    "an effect that is rebound": ("@trusted\ndef f(a: str): ...\nf = print", "don't rebind"),
    "star parameters": ("@trusted\ndef f(*a: str): ...", "one by one"),
    "an async effect": ("@trusted\nasync def f(a: str): ...", "plain `def`"),
    "a condition that is no lambda": (
        "def ok(a): return a\n@requires(ok)\n@trusted\ndef f(a: str): ...",
        "ok is no lambda",
    ),
    "another effect of that name": (
        "@trusted\ndef send(a: str): ...",
        "another effect called send",
    ),
    "an event field of another type": (
        "class E(Event):\n    a: int\n@trusted\n@performs(lambda a: E(a))\ndef f(a: str): ...",
        "they must agree",
    ),
    "a fluent key of another type": (
        "D = fluent('d', key=int, initial=True)\n"
        "@trusted\n@sets(lambda a: D.set(a, True))\ndef f(a: str): ...",
        "they must agree",
    ),
    "two fluents of one name": (
        "D = fluent('d', initial=True)\nE = fluent('d', initial=True)",
        "two fluents called 'd'",
    ),
}


@pytest.mark.parametrize("name", BAD_EFFECTS)
def test_an_effect_that_can_not_be_told_exactly_is_refused(tmp_path: Path, name: str) -> None:
    text, why = BAD_EFFECTS[name]
    with pytest.raises(ProverConfigError) as caught:
        mail(tmp_path, broken=HEAD + text)
    assert why in str(caught.value)


BAD_CONTRACTS = {
    "an unknown effect by name": (
        "Sent = effect('sned')",
        "broken.py:3: effect('sned') names no effect",
    ),
    "an unknown effect within a contract": (
        "@contract\ndef c(n: int) -> Spec:\n    return effect('sned').count() <= n",
        "broken.py:5: effect('sned')",
    ),
    "an unknown field": (
        "Sent = effect('send')\n@contract\ndef c(to: str) -> Spec:\n"
        "    return Sent.where(lambda e: e.text == to).all(lambda x: x.adress == to)",
        "broken.py:6: x.adress is read",
    ),
    "a field that only some have": (
        "@contract\ndef c() -> Spec:\n    return effect('send', 'draft').distinct(lambda e: e.text)",
        "they share: addr",
    ),
    "an unknown field of an event": (
        "class E(Event):\n    a: str\n@trusted\n@performs(lambda a: E(a))\ndef f(a: str): ...\n"
        "@contract\ndef c() -> Spec:\n    return E.all(lambda e: e.b == 'x')",
        "e.b is read",
    ),
    "a function that is no effect": ("R = effect(print)", "no trusted function"),
    "a bad description": (
        "@contract(description='at most {n}')\ndef c() -> Spec: ...",
        "broken.py:3",
    ),
}


@pytest.mark.parametrize("name", BAD_CONTRACTS)
def test_a_contract_over_what_nobody_has_is_refused(tmp_path: Path, name: str) -> None:
    text, why = BAD_CONTRACTS[name]
    with pytest.raises(ProverConfigError) as caught:
        mail(tmp_path, broken=HEAD + text)
    assert why in str(caught.value)


def test_a_local_name_is_not_taken_for_a_relation_of_the_module(tmp_path: Path) -> None:
    text = (
        "Sent = effect('send')\n@contract\ndef c(Sent: list[str]) -> Spec:\n"
        "    return effect('send').all(lambda e: Sent.all(lambda x: x.nothing))"
    )
    assert "c" in mail(tmp_path, fine=HEAD + text).modules["tools.mail.trusted.fine"].names


BAD_POLICIES = {
    "an unknown trigger": (
        "POLICY = domain_policy(when_used='sned')",
        "'sned', which is no effect",
    ),
    "an unknown required contract": (
        "POLICY = domain_policy(when_used='send', required=['unqiue'])",
        "'unqiue' of the domain send is no contract",
    ),
    "a required contract with arguments": (
        "POLICY = [domain_policy(when_used='send', required=['only'], label='mail')]",
        "'only' of the domain mail takes arguments",
    ),
    "a misspelt recommended contract": (
        "POLICY = domain_policy(when_used='send', recommended=['unique', 'olny'])",
        "'olny' is no contract",
    ),
    "a recommended contract with arguments it does not take": (
        "POLICY = domain_policy(when_used='send', recommended=['only(5)'])",
        "addresses takes list",
    ),
    "a recommended contract without all of its arguments": (
        "POLICY = domain_policy(when_used='send', recommended=['only()'])",
        "missing a required argument",
    ),
    "a recommendation that is no call with literals": (
        "POLICY = domain_policy(when_used='send', recommended=['only(ALL)'])",
        "neither a name nor a call with literals",
    ),
    "something else": ("POLICY = 'unique'", "must be a domain_policy"),
    "nothing": ("POLICIES = []", "must be a domain_policy"),
}


@pytest.mark.parametrize("name", BAD_POLICIES)
def test_a_policy_that_names_what_is_not_there_is_refused(tmp_path: Path, name: str) -> None:
    text, why = BAD_POLICIES[name]
    with pytest.raises(ProverConfigError) as caught:
        mail(tmp_path, policy=f"from lictor_layer import domain_policy\n{text}")
    assert "tools/mail/trusted/policy.py:" in str(caught.value)
    assert why in str(caught.value)


def test_a_package_above_a_trusted_root_is_refused(tmp_path: Path) -> None:
    write(tmp_path, MAIL)
    (tmp_path / "tools" / "mail" / "__init__.py").write_text("")
    with pytest.raises(ProverConfigError, match=r"mail/__init__\.py:1: a package outside"):
        load_layer(discover_trusted_roots([tmp_path]), [tmp_path])


def test_an_import_root_may_be_a_package_itself(tmp_path: Path) -> None:
    (tmp_path / "__init__.py").write_text("raise RuntimeError('never run')")
    assert "send" in mail(tmp_path).functions


def test_the_same_effect_in_two_domains_is_refused(tmp_path: Path) -> None:
    write(tmp_path, {"effects": EFFECTS}, "tools/other/trusted")
    with pytest.raises(ProverConfigError, match="another effect called") as caught:
        mail(tmp_path)
    assert "tools/mail/trusted/effects.py" in str(caught.value)
    assert "tools/other/trusted/effects.py" in str(caught.value)


def test_one_name_for_two_files_is_refused(tmp_path: Path) -> None:
    one = write(tmp_path / "a", MAIL)
    other = write(tmp_path / "b", MAIL)
    with pytest.raises(ProverConfigError, match="one at a time"):
        load_layer([one, other], [tmp_path / "a", tmp_path / "b"])


def test_roots_that_are_no_layers_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ProverConfigError, match="no directory"):
        load_layer([tmp_path / "nowhere"], [tmp_path])
    (tmp_path / "empty").mkdir()
    with pytest.raises(ProverConfigError, match="no module"):
        load_layer([tmp_path / "empty"], [tmp_path])
    root = write(tmp_path, MAIL)
    with pytest.raises(ProverConfigError, match="below none of the import roots"):
        load_layer([root], [tmp_path / "elsewhere"])
    write(tmp_path, {"a-b": "x = 1"}, "odd")
    with pytest.raises(ProverConfigError, match="'a-b' can't be part"):
        load_layer([tmp_path / "odd"], [tmp_path])


def test_a_layer_can_not_stand_in_for_the_api(tmp_path: Path) -> None:
    root = write(tmp_path, {"effects": "x = 1"}, "clauz3/trusted")
    with pytest.raises(ProverConfigError, match="can't have this name"):
        load_layer([root], [tmp_path])


def test_a_lambda_whose_text_is_not_in_the_layer_is_refused(tmp_path: Path) -> None:
    text = "@requires(eval('lambda n: n > 1'))\n@trusted\ndef f(n: int): ..."
    with pytest.raises(ProverConfigError, match="defined outside the trusted roots"):
        mail(tmp_path, broken=HEAD + text)
