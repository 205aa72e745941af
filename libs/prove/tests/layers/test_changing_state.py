"""What a layer's functions may change is a constant for nobody: not for programs, conditions, events or contracts."""

from __future__ import annotations

import builtins
import math
import re
from pathlib import Path
from textwrap import dedent

import pytest

from libs.prove.tests.layers_on_disk import mail
from lictor_prove.errors import ProverConfigError
from lictor_prove.layer_model import Layer
from lictor_prove.proof.prover import document_of, prove
from lictor_prove.proof.result import Proof

HEAD = "from lictor_layer import *\n"


def proved(layer: Layer, text: str) -> Proof:
    return prove(dedent(text), name="p.py", layer=layer)


def reading_limit(base: Path, changing: str, read: str = "charges.LIMIT") -> Proof:
    """A program that charges what a constant of the layer allows, beside a function that may change it."""
    charges = (
        HEAD + "LIMIT = 5\n" + dedent(changing) + "@trusted\ndef charge(cents: int) -> None: ...\n"
    )
    layer = mail(
        base,
        charges=charges,
        limits=HEAD
        + "from tools.mail.trusted.charges import charge\n"
        + "@contract\ndef cap():\n    return effect(charge).all(lambda e: e.cents <= 5)\n",
        other="import tools.mail.trusted.charges as charges\nfrom lictor_layer import trusted\n",
    )
    return proved(
        layer,
        f"""
        from lictor_layer import guarantee
        from tools.mail.trusted import charges, limits

        @guarantee(limits.cap())
        def main():
            charges.charge({read})
        """,
    )


REBINDING = {
    "global": "@trusted\ndef raise_limit(n: int):\n    global LIMIT\n    LIMIT = n\n",
    "augmented": "@trusted\ndef raise_limit(n: int):\n    global LIMIT\n    LIMIT += n\n",
    "a function inside": "def a():\n    def b():\n        global LIMIT\n        LIMIT = 6\n    b()\n",
    "as an attribute": "import tools.mail.trusted.charges as me\ndef a():\n    me.LIMIT = 6\n",
    "as an attribute of an alias": "def a(module):\n    module.LIMIT += 1\n",
    "setattr": "def a(module):\n    setattr(module, 'LIMIT', 6)\n",
    "setattr of any name": "def a(module, name):\n    setattr(module, name, 6)\n",
    "globals": "def a(name):\n    globals()[name] = 6\n",
    "its module's dict": "import sys\ndef a():\n    sys.modules[__name__].LIMIT = 6\n",
    "a static method": "class A:\n    @staticmethod\n    def a(m):\n        m.LIMIT = 6\n",
    "a lambda": "change = lambda: globals().update(LIMIT=6)\n",
    "its own setattr": "def a(m):\n    object.__setattr__(m, 'LIMIT', 6)\n",
    "loaded again": "import importlib\ndef a(m):\n    importlib.reload(m)\n",
    "exec": "def a(text):\n    exec(text, globals())\n",
    "setattr of builtins": "import builtins\ndef a(m):\n    builtins.setattr(m, 'LIMIT', 6)\n",
    "setattr imported": "from builtins import setattr as put\ndef a(m):\n    put(m, 'LIMIT', 6)\n",
    "globals that are passed": "kept = []\nkept.append(globals())\ndef a():\n    kept[0]['LIMIT'] = 6\n",
    "a patch that is imported": "from unittest.mock import patch\ndef a(m):\n    patch.object(m, 'LIMIT', 6).start()\n",
    "loaded again by another name": "import importlib as i\ndef a(m):\n    i.reload(m)\n",
    "loaded again by its own name": "from importlib import reload\ndef a(m):\n    reload(m)\n",
    "setattr of a module": "import builtins\ndef a(m, n):\n    builtins.setattr(m, n, 6)\n",
    "setattr that is kept": "put = setattr\ndef a(m):\n    put(m, 'LIMIT', 6)\n",
    "setattr in a default": "def a(m, n, put=setattr):\n    put(m, n, 6)\n",
    "globals that are kept": "NAMES = globals()\ndef a():\n    NAMES['LIMIT'] = 6\n",
    "locals that are kept": "NAMES = locals()\ndef a():\n    NAMES['LIMIT'] = 6\n",
    "globals that a method gives": "NAMES = globals().__ior__({})\n"
    "def a():\n    NAMES['LIMIT'] = 6\n",
    "a dict that a method gives": "def a(m):\n    m.__getattribute__('__dict__')['LIMIT'] = 6\n",
    "what is imported by a call": "def a(m):\n    __import__('importlib').reload(m)\n",
    "a patch": "from unittest import mock\ndef a(m):\n    mock.patch.object(m, 'LIMIT', 6).start()\n",
    "a dict that is kept": "import sys\nNAMES = sys.modules[__name__].__dict__\n"
    "def a():\n    NAMES['LIMIT'] = 6\n",
    "a dict by its name": "def a(m):\n    getattr(m, '__dict__')['LIMIT'] = 6\n",
    "names of a frame": "import inspect\ndef a():\n"
    "    inspect.currentframe().f_globals['LIMIT'] = 6\n",
    "globals by their name": "import operator\ndef a(f):\n"
    "    operator.attrgetter('__globals__')(f)['LIMIT'] = 6\n",
    "setattr by its name": "import operator\ndef a(m):\n"
    "    operator.methodcaller('__setattr__', 'LIMIT', 6)(m)\n",
    "globals of the builtins": "def a():\n    __builtins__['globals']()['LIMIT'] = 6\n",
    "a builtin by its name": "import builtins\ndef a(m):\n"
    "    getattr(builtins, 'setattr')(m, 'LIMIT', 6)\n",
    "a builtin by a name that is made": "import builtins\ndef a(m, n):\n"
    "    getattr(builtins, n)(m, 'LIMIT', 6)\n",
    "loaded again by a name": "import importlib\ndef a(m):\n    getattr(importlib, 'reload')(m)\n",
    "a self that is none": "class A:\n    def a(self):\n"
    "        import tools.mail.trusted.charges as self\n        self.LIMIT = 6\n",
    "a self of another function": "class A:\n    def a(self):\n        def b(self):\n"
    "            self.LIMIT = 6\n        return b\n",
}


@pytest.mark.parametrize("how", REBINDING)
def test_a_global_that_functions_assign_is_no_constant_of_a_program(
    tmp_path: Path, how: str
) -> None:
    proof = reading_limit(tmp_path, REBINDING[how])
    assert (proof.verdict, {each.code for each in proof.reasons}) == (
        "rejected",
        {"import.changing"},
    )
    assert all("charges.py:" in each.message for each in proof.reasons)


STAYING = {
    "nothing": "",
    "assigned when it is loaded": "LIMIT = 3 + 1\nLIMIT += 1\n",
    "a local of that name": "def a():\n    LIMIT = 6\n    return LIMIT\n",
    "an attribute of an object": "class A:\n    def __init__(self):\n        self.LIMIT = 6\n"
    "        setattr(self, 'x', 1)\n        vars(self).clear()\n"
    "        object.__setattr__(self, 'x', self.__class__)\n"
    "        held = vars(self)\n        print(self.__dict__, held)\n",
    "another name": "def a():\n    global OTHER\n    OTHER = 6\n",
    "what is done when it is loaded": "globals()['OTHER'] = 6\nglobals().update(MORE=7)\n"
    "class A: ...\nsetattr(A, 'x', 1)\nNAMES = [name for name in globals()]\n",
    "what is asked for by a name": "import sys\nclass A:\n    def a(self, it, name):\n"
    "        return hasattr(it, '__dict__'), getattr(self, '__dict__'), getattr(it, name), getattr(sys, 'argv')\n",
    "what is called as if": "class A:\n    def reload(self): ...\ndef a(it):\n    it.reload()\n"
    "    return getattr(it, 'x'), it.modules\n",
}


@pytest.mark.parametrize("how", STAYING)
def test_a_global_that_nobody_assigns_is_a_constant(tmp_path: Path, how: str) -> None:
    assert reading_limit(tmp_path, STAYING[how]).verdict == "proved"


def test_an_imported_name_and_an_attribute_of_a_module_are_judged_alike(tmp_path: Path) -> None:
    layer = mail(tmp_path, charges=HEAD + "LIMIT = 5\n" + REBINDING["global"] + "def f(): ...\n")
    for text in (
        "from tools.mail.trusted.charges import LIMIT\ndef main():\n    return LIMIT\n",
        "import tools.mail.trusted.charges as c\ndef main():\n    return c.LIMIT\n",
    ):
        (reason,) = proved(layer, text).reasons
        assert reason.code == "import.changing"


ENUMS = {
    "str": "import enum\nclass E(enum.StrEnum):\n    A = 'a@b'\nNAME = E.A\n",
    "str and Enum": "import enum\nclass E(str, enum.Enum):\n    A = 'a@b'\nNAME = E.A\n",
    "int": "import enum\nclass E(enum.IntEnum):\n    A = 1\nNAME = E.A\n",
    "flag": "import enum\nclass E(enum.IntFlag):\n    A = 1\nNAME = E.A\n",
    "plain": "import enum\nclass E(enum.Enum):\n    A = 1\nNAME = E.A\n",
    "a str of its own": "class S(str):\n    def __eq__(self, other): return True\nNAME = S('a@b')\n",
    "a float of its own": "class F(float): ...\nNAME = F(1.0)\n",
}


@pytest.mark.parametrize("kind", ENUMS)
def test_a_constant_is_of_a_builtin_type_itself(tmp_path: Path, kind: str) -> None:
    layer = mail(
        tmp_path,
        words=ENUMS[kind]
        + HEAD
        + "@requires(lambda a: a == NAME)\n@trusted\ndef f(a: str) -> None: ...\n"
        + "@contract\ndef same():\n    return effect(f).all(lambda e: e.a == NAME)\n",
    )
    read = "from tools.mail.trusted.words import NAME, f\ndef main():\n    f(f'{NAME}')\n"
    assert [each.code for each in proved(layer, read).reasons] == ["import.object"]
    called = "from tools.mail.trusted.words import f\ndef main():\n    f('a@b')\n"
    assert [each.code for each in proved(layer, called).reasons] == ["precondition.unreadable"]
    stated = (
        "from lictor_layer import guarantee\nfrom tools.mail.trusted import words\n"
        "@guarantee(words.same())\ndef main():\n    pass\n"
    )
    assert [each.code for each in proved(layer, stated).reasons] == ["guarantee.arguments"]


CONDITIONS = {
    "a global that is assigned": (
        "LIMIT = 5\ndef a():\n    global LIMIT\n    LIMIT = 9\n",
        "lambda n: n <= LIMIT",
    ),
    "of another module": (
        "import tools.mail.trusted.settings as s\ndef a():\n    s.LIMIT = 9\n",
        "lambda n: n <= s.LIMIT",
    ),
    "through a helper": (
        "LIMIT = 5\ndef low(n):\n    return n <= LIMIT\ndef a():\n    global LIMIT\n    LIMIT = 9\n",
        "lambda n: low(n)",
    ),
    "a helper that is assigned": (
        "def low(n):\n    return n <= 5\ndef a():\n    global low\n    low = bool\n",
        "lambda n: low(n)",
    ),
    "a builtin that is hidden later": (
        "def a():\n    global len\n    len = bool\n",
        "lambda n: len([n]) == 1",
    ),
    "a list that grows": (
        "LOW = [1, 2]\ndef a(n):\n    LOW.append(n)\n",
        "lambda n: n in LOW",
    ),
    "a list that is handed on": (
        "LOW = [1, 2]\ndef add(xs, n):\n    xs.append(n)\ndef a(n):\n    add(LOW, n)\n",
        "lambda n: n in LOW",
    ),
    "a list that is returned": ("LOW = [1]\ndef a():\n    return LOW\n", "lambda n: n in LOW"),
    "a list with another name": (
        "LOW = [1]\nOTHER = LOW\ndef a(n):\n    OTHER.append(n)\n",
        "lambda n: n in LOW",
    ),
    "a list in another object": (
        "LOW = [1]\nALL = {'low': LOW}\ndef a(n):\n    ALL['low'].append(n)\n",
        "lambda n: n in LOW",
    ),
    "a list that others made": (
        "MADE = [[1]]\nLOW = MADE[0]\ndef a(n):\n    MADE[0].append(n)\n",
        "lambda n: n in LOW",
    ),
    "a dict that is written to": (
        "TOP = {'a': 5}\ndef a(n):\n    TOP['a'] = n\n",
        "lambda n: n <= TOP['a']",
    ),
    "a list inside of a dict": (
        "TOP = {'a': [5]}\ndef a(n):\n    for each in TOP.values():\n        each.append(n)\n",
        "lambda n: n in TOP['a']",
    ),
    "a set that is updated": ("LOW = {1}\ndef a(n):\n    LOW.update([n])\n", "lambda n: n in LOW"),
    "a list in a tuple": (
        "LOW = ([1], 2)\ndef a(n):\n    LOW[0].append(n)\n",
        "lambda n: n in LOW[0]",
    ),
    "a list through its module": (
        "import sys\nLOW = [1]\ndef a(m, n):\n    m.LOW.append(n)\n",
        "lambda n: n in LOW",
    ),
    "a list that is put into a dict": (
        "LOW = [1]\nALL = {}\nALL['low'] = LOW\ndef a(n):\n    ALL['low'].append(n)\n",
        "lambda n: n in LOW",
    ),
    "a list that its own method gives": (
        "LOW = [1]\nALL = {}\nALL['low'] = LOW.__iadd__([2])\ndef a(n):\n    ALL['low'].append(n)\n",
        "lambda n: n in LOW",
    ),
    "a list that had another name": (
        "OTHER = [1]\nLOW = OTHER\nadd = OTHER.append\nOTHER = None\n",
        "lambda n: n in LOW",
    ),
    "a list that had another name in a default": (
        "LOW = [1]\nOTHER = LOW\ndef a(n, held=OTHER):\n    held.append(n)\ndel OTHER\n",
        "lambda n: n in LOW",
    ),
    "a list that an object gets": (
        "class A: ...\nLOW = [1]\nA.low = LOW\ndef a(n):\n    A.low.append(n)\n",
        "lambda n: n in LOW",
    ),
    "a list inside that has a name": (
        "TOP = {'a': [5]}\nLOW = TOP['a']\ndef a(n):\n    LOW.append(n)\n",
        "lambda n: n in TOP['a']",
    ),
    "a list inside that was fetched": (
        "TOP = {'a': [5]}\nLOW = TOP.get('a')\ndef a(n):\n    LOW.append(n)\n",
        "lambda n: n in TOP['a']",
    ),
    "a list inside that was unpacked": (
        "TOP = [[5]]\nLOW, = TOP\ndef a(n):\n    LOW.append(n)\n",
        "lambda n: n in TOP[0]",
    ),
    "a list that a function imports": (
        "from tools.mail.trusted.settings import HELD\ndef a(n):\n"
        "    from tools.mail.trusted.settings import HELD as it\n    it.append(n)\n",
        "lambda n: n in HELD",
    ),
    "a list that a class imports": (
        "from tools.mail.trusted.settings import HELD\nclass A:\n"
        "    from tools.mail.trusted.settings import HELD as it\ndef a(n):\n    A.it.append(n)\n",
        "lambda n: n in HELD",
    ),
    "a list by its name": (
        "LOW = [1]\ndef a(m, n):\n    getattr(m, 'LOW').append(n)\n",
        "lambda n: n in LOW",
    ),
    "a list by any name": (
        "LOW = [1]\ndef a(m, name, n):\n    getattr(m, name).append(n)\n",
        "lambda n: n in LOW",
    ),
    "a list of all names": (
        "LOW = [1]\nALL = {}\nALL['low'] = globals()['LOW']\ndef a(n):\n    ALL['low'].append(n)\n",
        "lambda n: n in LOW",
    ),
    "a list that a method gets": (
        "class A:\n    def get(self, held):\n        held.append(9)\n"
        "LOW = [1]\ndef a(it):\n    it.get(LOW)\n",
        "lambda n: n in LOW",
    ),
    "a list that a method of its own gets": (
        "class A:\n    def union(self, held):\n        held.append(9)\n"
        "LOW = [1]\ndef a(it):\n    it.union(LOW)\n",
        "lambda n: n in LOW",
    ),
    "a list that is no longer sorted": (
        "def sorted(held):\n    held.append(9)\nLOW = [1]\ndef a():\n    sorted(LOW)\n",
        "lambda n: n in LOW",
    ),
    "a list that a parameter gets": (
        "LOW = [1]\ndef a(len):\n    len(LOW)\n",
        "lambda n: n in LOW",
    ),
    "a list that is compared with anything": (
        "class A:\n    def __eq__(self, other):\n        other.append(9)\n"
        "LOW = [1]\ndef a(it):\n    return it == LOW\n",
        "lambda n: n in LOW",
    ),
    "a list that is added to anything": (
        "class A:\n    def __radd__(self, other):\n        other.append(9)\n"
        "LOW = [1]\ndef a(it):\n    return LOW + it\n",
        "lambda n: n in LOW",
    ),
    "a list that is multiplied by anything": (
        "class A:\n    def __rmatmul__(self, other):\n        other.append(9)\n"
        "LOW = [1]\ndef a(it):\n    return LOW @ it\n",
        "lambda n: n in LOW",
    ),
    "a list that is looked for": (
        "class A:\n    def __contains__(self, other):\n        other.append(9)\n"
        "LOW = [1]\ndef a(it):\n    return LOW in it\n",
        "lambda n: n in LOW",
    ),
    "a list that is looked for among anything": (
        "class A:\n    def __eq__(self, other):\n        other.append(9)\n"
        "LOW = [1]\ndef a(it):\n    return LOW in [it]\n",
        "lambda n: n in LOW",
    ),
    "a list inside that is compared with anything": (
        "class A:\n    def __eq__(self, other):\n        other.append(9)\n"
        "LOW = [[1]]\ndef a(it):\n    return it in LOW\n",
        "lambda n: n in LOW[0]",
    ),
    "a list whose class is asked": (
        "class A(type):\n    def __instancecheck__(cls, other):\n        other.append(9)\n"
        "LOW = [1]\ndef a(cls):\n    return isinstance(LOW, cls)\n",
        "lambda n: n in LOW",
    ),
    "a list that is the greatest": (
        "LOW = [1]\ndef a(n):\n    max(LOW, [0]).append(n)\n",
        "lambda n: n in LOW",
    ),
    "a list that is the least": (
        "LOW = [1]\ndef a(n):\n    min([2], LOW).append(n)\n",
        "lambda n: n in LOW",
    ),
    "a list that stands for the next": (
        "LOW = [1]\ndef a(n):\n    next(iter(()), LOW).append(n)\n",
        "lambda n: n in LOW",
    ),
    "a list that a sum begins with": (
        "LOW = [1]\ndef a(n):\n    sum((), LOW).append(n)\n",
        "lambda n: n in LOW",
    ),
    "a list among the members": (
        "import inspect\nLOW = [1]\ndef a(m, n):\n    dict(inspect.getmembers(m))['LOW'].append(n)\n",
        "lambda n: n in LOW",
    ),
    "a list that a pattern reads": (
        "LOW = [1]\ndef a(m, n):\n    match m:\n        case object(LOW=held):\n"
        "            held.append(n)\n",
        "lambda n: n in LOW",
    ),
    "a list that its iterator gives": (
        "LOW = [1]\ndef a(n):\n    iter(LOW).__reduce__()[1][0].append(n)\n",
        "lambda n: n in LOW",
    ),
    "a list that an error holds": (
        "LOW = [1]\ndef a(n):\n    assert n, LOW\n",
        "lambda n: n in LOW",
    ),
    "a list that a copy is not": (
        "class A:\n    held = [1]\n    def copy(self):\n        return self.held\nLOW = A().copy()\n"
        "def a(n):\n    A.held.append(n)\n",
        "lambda n: n in LOW",
    ),
    "a list of an installed package": ("import sys\n", "lambda n: n in sys.path"),
    "a name of an installed package": (
        "import tempfile\ndef a():\n    return tempfile.gettempdir()\n",
        "lambda n: tempfile.tempdir is None or n <= 5",
    ),
    "what a module makes up": (
        "import tools.mail.trusted.settings as s\n",
        "lambda n: n <= s.OTHER",
    ),
    "a default that is a list": (
        "def low(n, seen=[1]):\n    return n in seen\n",
        "lambda n: low(n)",
    ),
    "a variable of a function around": (
        "def make():\n    top = 5\n    def a(n):\n        nonlocal top\n        top = n\n"
        "    def low(n):\n        return n <= top\n    return low, a\nlow, a = make()\n",
        "lambda n: low(n)",
    ),
    "a list of a function around": (
        "def make():\n    held = [1]\n    def low(n):\n        return n in held\n"
        "    return low, held\nlow, held = make()\n",
        "lambda n: low(n)",
    ),
}


def conditions(base: Path, how: str, decorator: str) -> Layer:
    before, predicate = CONDITIONS[how]
    return mail(
        base,
        settings="LIMIT = 5\nHELD = [1]\ndef __getattr__(name): return 5\n",
        state=HEAD + before + f"@{decorator}({predicate})\n@trusted\ndef f(n: int) -> int: ...\n"
        f"@contract\ndef low_ones():\n    return effect(f).all(lambda e: ({predicate})(e.n))\n",
    )


@pytest.mark.parametrize("how", CONDITIONS)
def test_a_precondition_over_what_may_change_can_not_be_decided(tmp_path: Path, how: str) -> None:
    layer = conditions(tmp_path, how, "requires")
    proof = proved(layer, "from tools.mail.trusted.state import f\ndef main():\n    f(1)\n")
    assert [each.code for each in proof.reasons] == ["precondition.unreadable"]
    assert any(why in proof.reasons[0].message for why in ("is no constant", "is not there"))


@pytest.mark.parametrize("how", CONDITIONS)
def test_nobody_relies_on_a_promise_over_what_may_change(tmp_path: Path, how: str) -> None:
    layer = conditions(tmp_path, how, "ensures")
    text = "from tools.mail.trusted.state import f\ndef main():\n    assert f(1) <= 5\n"
    proof = proved(layer, text)
    # Nor does it refute anything: the run that breaks the assertion may be one that breaks the promise.
    assert proof.verdict == "unknown"
    assert [each.code for each in proof.reasons] == ["assertion.unknown", "promise.unread"]
    assert document_of(text, name="p.py", layer=layer).assumptions == ()


BUILTINS = {
    "replaced for a module": "def size(x):\n    return 100\n__builtins__ = {'len': size}\n",
    "replaced by a lambda": "__builtins__ = {'len': lambda x: 100}\n",
    "taken away": "__builtins__ = {'int': int}\n",
}


@pytest.mark.parametrize("how", BUILTINS)
def test_builtins_are_those_that_the_function_has(tmp_path: Path, how: str) -> None:
    layer = mail(
        tmp_path,
        state=HEAD
        + BUILTINS[how]
        + "@requires(lambda n: len([n]) == 1)\n@trusted\ndef f(n: int) -> None: ...\n",
    )
    proof = proved(layer, "from tools.mail.trusted.state import f\ndef main():\n    f(1)\n")
    assert proof.verdict in ("refuted", "rejected")


PATCHES = {
    "when it is loaded": "import builtins\nbuiltins.abs = lambda x: 100\n",
    "of a module that programs import": "import re\nre.match = lambda *_: None\n",
    "taken away": "import builtins\ndel builtins.abs\n",
    "how modules are imported": "import builtins\nbuiltins.__import__ = lambda *_: None\n",
    "and then fails": "import builtins\nbuiltins.abs = lambda x: 100\nraise ValueError\n",
    "when it is called": "import builtins as b\ndef f():\n    b.abs = lambda x: 100\n",
    "by setattr": "import math\ndef f():\n    setattr(math, 'fabs', lambda x: 100)\n",
}


@pytest.mark.parametrize("how", PATCHES)
def test_a_layer_that_changes_python_itself_is_refused(tmp_path: Path, how: str) -> None:
    before = builtins.abs, re.match, math.fabs
    with pytest.raises(ProverConfigError, match=r"state\.py:"):
        mail(tmp_path, state=HEAD + PATCHES[how])
    assert (builtins.abs, re.match, math.fabs) == before


READ_ONLY = {
    "a list": "LOW = [1, 2]\nLOW.append(3)\ndef a(n):\n    return n in LOW and len(LOW) > 1\n",
    "a set": "LOW = {1}\nLOW |= {2}\ndef a():\n    return sorted(LOW), [x for x in LOW]\n",
    "with another name": "OTHER = [1]\nLOW = OTHER\ndef a():\n    for x in OTHER: print(x)\n",
    "a dict": "LOW = {1: 'one'}\ndef a(n):\n    return LOW.get(n), LOW[1], list(LOW)\n",
    "of the other module": "from tools.mail.trusted.settings import LOW\n",
    "imported by a function": "LOW = [1]\ndef a(n):\n"
    "    from tools.mail.trusted.settings import LOW as low\n    return n in low\n",
    "joined": "LOW = [1]\ndef a(s):\n    return s.issubset(LOW), s.join(LOW), LOW == s, LOW + [2]\n",
    "of the standard library": "import math, string\nLOW = [1]\n"
    "@requires(lambda n: n < math.inf and 'a' in string.ascii_letters)\n"
    "@trusted\ndef g(n: int) -> None: ...\n",
    "the greatest item": "LOW = [1]\nclass A:\n    def __eq__(self, other): return True\n"
    "def a(n):\n    return max(LOW), sum(LOW), n in LOW, LOW is n, isinstance(LOW, list)\n",
    "a tuple": "LOW = (1, 2)\ndef a(f):\n    return f(LOW)\n",
    "a frozenset": "LOW = frozenset([1])\ndef a(f):\n    return f(LOW)\n",
}


@pytest.mark.parametrize("how", READ_ONLY)
def test_a_container_that_is_only_read_is_a_constant(tmp_path: Path, how: str) -> None:
    layer = mail(
        tmp_path,
        settings="LOW = [1, 2]\n",
        state=HEAD
        + READ_ONLY[how]
        + "@requires(lambda n: n in LOW)\n@trusted\ndef f(n: int) -> None: ...\n",
    )
    text = "from tools.mail.trusted.state import f\ndef main():\n    f({})\n"
    assert proved(layer, text.format(1)).verdict == "proved"
    assert proved(layer, text.format(9)).verdict == "refuted"


def test_a_row_class_has_columns_and_no_constants(tmp_path: Path) -> None:
    """Nobody looks at what is assigned to a class."""
    layer = mail(
        tmp_path,
        state=HEAD + "class U(Row):\n    email: str\n    LIMIT = 5\n"
        "    @classmethod\n    def raise_limit(cls, n):\n        cls.LIMIT = n\n"
        "@requires(lambda n: n <= U.LIMIT)\n@trusted\ndef f(n: int) -> None: ...\n",
    )
    proof = proved(layer, "from tools.mail.trusted.state import f\ndef main():\n    f(1)\n")
    assert [each.code for each in proof.reasons] == ["precondition.unreadable"]
    assert "LIMIT is no column" in proof.reasons[0].message


def test_what_a_call_sets_does_not_rest_on_what_may_change(tmp_path: Path) -> None:
    state = (
        HEAD + "Locked = fluent('locked', key=str, value=bool, initial=True)\nLOCK = True\n"
        "@sets(lambda door: Locked.set(door, LOCK))\n@trusted\ndef close(door: str) -> None: ...\n"
    )
    assert "close" in mail(tmp_path / "fine", state=state).functions
    with pytest.raises(ProverConfigError, match=r"LOCK, which is no constant.*state.py:8"):
        mail(tmp_path, state=state + "def a():\n    global LOCK\n    LOCK = False\n")


def test_arguments_of_a_contract_are_read_as_they_are_given(tmp_path: Path) -> None:
    """The lists of a contract's parameters live as long as the reading of its lambdas."""
    layer = mail(tmp_path)
    text = """
        from lictor_layer import guarantee
        from tools.mail.trusted.contracts import only
        from tools.mail.trusted.effects import send

        @guarantee(only(["a@b"]))
        def main():
            send("a@b", "x")
    """
    assert proved(layer, text).verdict == "proved"


def test_a_contract_over_what_may_change_can_not_be_stated(tmp_path: Path) -> None:
    layer = mail(
        tmp_path,
        state=HEAD + "LIMIT = 5\ndef a():\n    global LIMIT\n    LIMIT = 9\n"
        "@trusted\ndef f(n: int) -> None: ...\n"
        "@contract\ndef low():\n    return effect(f).all(lambda e: e.n <= LIMIT)\n",
    )
    text = """
        from lictor_layer import guarantee
        from tools.mail.trusted.state import f, low

        @guarantee(low())
        def main():
            f(1)
    """
    (reason,) = proved(layer, text).reasons
    assert reason.code == "guarantee.arguments"
    assert "LIMIT is no constant" in reason.message
