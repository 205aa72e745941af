"""Only what a program imports is there, and from where it is imported on."""

from __future__ import annotations

import enum
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from libs.prove.tests.python_front_end import HEAD, LAYER
from lictor_prove.errors import Rejected
from lictor_prove.layer_model import Layer, TrustedModule
from lictor_prove.layers import load_layer
from lictor_prove.python import read_program

EFFECTS = """
from lictor_layer import trusted

@trusted
def {name}(text: str) -> None: ...

LIMIT = 7
"""
CONTRACTS = """
from lictor_layer import Spec, contract, no_guarantees

@contract
def nothing() -> Spec:
    return no_guarantees()
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for domain, name in (("a", "send"), ("b", "pay")):
        trusted = tmp_path / "tools" / domain / "trusted"
        trusted.mkdir(parents=True)
        (trusted / "effects.py").write_text(EFFECTS.format(name=name), "utf-8")
        (trusted / "contracts.py").write_text(CONTRACTS, "utf-8")
    return tmp_path


@pytest.fixture
def layer(root: Path) -> Layer:
    return load_layer([root / "tools/a/trusted", root / "tools/b/trusted"], [root])


PROGRAMS = {
    "import tools.a.trusted.effects|tools.a.trusted.effects.send('x')": True,
    "import tools.a.trusted.effects as e|e.send('x')": True,
    "import tools.a.trusted as t\nimport tools.a.trusted.effects|t.effects.send('x')": True,
    "from tools.a import trusted\nfrom tools.a.trusted import effects|trusted.effects.send('x')": True,
    "import tools.a.trusted.effects, tools.b.trusted.effects|tools.b.trusted.effects.pay('x')": True,
    "import tools.a.trusted.effects\nfrom tools.b.trusted.effects import pay|tools.b.trusted.effects.pay('x')": True,
    "import tools.a.trusted.effects|tools.b.trusted.effects.pay('x')": False,
    "import tools.a.trusted|tools.a.trusted.effects.send('x')": False,
    "import tools|tools.a": False,
    "from tools import a|a.trusted": False,
    "from tools.a.trusted import contracts\nimport tools.a.trusted as t|t.effects": False,
    "import tools.a.trusted.effects|tools = 5\n    tools.a": False,
    "import tools.a.trusted.effects as e|tools.a": False,
}


@pytest.mark.parametrize("text", PROGRAMS)
def test_a_module_is_there_for_a_program_when_it_is_there_in_python(
    text: str, root: Path, layer: Layer
) -> None:
    imports, _, body = text.partition("|")
    source = f"{imports}\n\n\ndef main() -> None:\n    {body}\n"
    ran = subprocess.run(
        [sys.executable, "-c", f"{source}\nmain()"],
        cwd=root,
        check=False,
        capture_output=True,
    )
    assert (ran.returncode == 0) == PROGRAMS[text], ran.stderr
    if PROGRAMS[text]:
        read_program(source, name="program.py", layer=layer)
    else:
        with pytest.raises(Rejected):
            read_program(source, name="program.py", layer=layer)


def test_a_guarantee_names_only_what_is_imported_above_it(layer: Layer) -> None:
    head = "import lictor_layer\nimport tools.a.trusted.contracts\n"
    target = "@lictor_layer.guarantee(tools.b.trusted.contracts.nothing())\ndef main():\n    pass\n"
    late = "import tools.b.trusted.contracts\n"
    read_program(head + late + target, name="program.py", layer=layer)
    with pytest.raises(Rejected) as refused:
        read_program(head + target + late, name="program.py", layer=layer)
    assert refused.value.reasons[0].code == "import.missing"


def test_a_package_that_binds_the_name_of_its_submodule_is_taken_at_its_word(root: Path) -> None:
    (root / "tools/a/trusted/__init__.py").write_text(
        "from tools.a.trusted.send import send\n", "utf-8"
    )
    (root / "tools/a/trusted/send.py").write_text(EFFECTS.format(name="send"), "utf-8")
    (root / "tools/a/trusted/effects.py").unlink()
    layer = load_layer([root / "tools/a/trusted"], [root])
    source = "from tools.a.trusted import send\ndef main():\n    send('x')\n"
    document = read_program(source, name="program.py", layer=layer)
    assert [atom.effect for atom in document.atoms] == ["send"]
    with pytest.raises(Rejected) as refused:
        read_program(
            "import tools.a.trusted.send\ndef main():\n    tools.a.trusted.send.LIMIT\n",
            name="program.py",
            layer=layer,
        )
    assert refused.value.reasons[0].code == "import.ambiguous"


class Color(enum.IntEnum):
    RED = 1


@pytest.mark.parametrize("held", [Color.RED, type("Text", (str,), {})("x")])
def test_a_constant_of_a_class_below_a_builtin_is_not_taken_for_one(held: object) -> None:
    odd = replace(
        LAYER, modules={**LAYER.modules, "tools.odd": TrustedModule("tools.odd", {"X": held})}
    )
    source = HEAD + "from tools.odd import X\ndef main():\n    note(X == 1)\n"
    with pytest.raises(Rejected) as refused:
        read_program(source, name="program.py", layer=odd)
    assert refused.value.reasons[0].code == "import.object"
