"""What `collections` and `contextlib` have can't be used to hide a call, a key or an error.

None of the broken programs is proved, and a run of real Python breaks each of them. The kept ones beside them are
proved, and stand a rehearsal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from random import Random
from types import CodeType
from typing import Any

import pytest
from concrete_runs import Answers, Call, compiled
from differential import PARAMETERS, desk

from lictor_prove.proof.prover import prove
from lictor_prove.proof.settings import ProofSettings
from lictor_prove.rehearsal.rounds import rehearse
from lictor_run.rehearsal.local_stage import LocalStage

SEED = "5eed" * 8
RUNS = 400
IMPORTS = """\
import collections
import json
import string
from collections import Counter, defaultdict
from contextlib import nullcontext, suppress
"""
HEAD = """\
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import everybody, log, lookup, names, number, orders, pay, send_email, users


@lictor_layer.guarantee(c.{contract})
"""
QUIET = "none_sent()"
SENDS = '\nsend_email("eve", "x")'
COUNTED = "d = defaultdict(int)\nfor u in everybody():\n    d[u.name] += 1\n"

INSERTED = {
    "a condition": 'if d["a"] == 0:\n    log("a")',
    "a condition that is not met": 'if d["a"]:\n    log("a")',
    "an f-string": "log(f\"{d['a']}\")",
    "a comprehension": 'xs = [d[k] for k in ["a"]]',
    "the condition of a comprehension": 'xs = [k for k in ["a"] if d[k]]',
    "any": 'any(d[k] for k in ["a"])',
    "sum": 'n = sum(d[k] for k in ["a", "b"])',
    "a default": 'n = {}.get("b", d["a"])',
    "the left of and": 'n = d["a"] and 1',
    "the right of or": 'n = 0 or d["a"]',
    "a chained comparison": 'n = 0 <= d["a"] < 5',
    "a key": 'n = max(["a", "b"], key=lambda k: d[k])',
    "an index": 'n = [1][d["a"]]',
    "another name": 'e = d\ne["a"]',
    "a helper": 'def read(into, k):\n    return into[k]\nread(d, "a")',
    "a list that holds it": 'xs = [d]\nxs[0]["a"]',
    "while": 'while d["a"] > 0:\n    log("a")',
    "an argument": 'pay("a", d["a"])',
    "a statement of its own": 'd["a"]',
    "an augmented assignment": 'd["a"] += 0',
    "one that fails": 'try:\n    d["a"] += 1 // 0 if number() else 1 // number()\nexcept ZeroDivisionError:\n    pass',
    "one of two": 'e = d if number() else d\ne["a"]',
    "one of two keys": 'd["a" if number() else "b"]',
    "a key that nobody knows": 'd[lookup("a")]',
    "a loop over what nobody knows": "for u in everybody():\n    d[u.name]",
    "a match": 'match d["a"]:\n    case 0:\n        pass',
    "a loop that runs while it is small": (
        'while d[lookup("a")] < number():\n    d["b"] += 1\n    if d["b"] > 5:\n        break'
    ),
    "unpacking": 'n, m = d["a"], 1',
    "a lambda": 'f = lambda: d["a"]\nf()',
}
"""What reads a missing key, and so puts it in."""
NOT_INSERTED = {
    "get": 'd.get("a")',
    "in": '"a" in d',
    "a pop": 'd.pop("a", 0)',
    "a copy": 'd.copy()["a"]',
    "dict": 'dict(d).get("a")',
    "a union": '(d | {})["a"]',
    "json": "json.dumps(d)",
    "its text": "f'{d}'",
    "what is not reached": 'number() < 0 and number() > 0 and d["a"]',
}
"""What does not."""

BROKEN = {
    **{
        f"{name} puts in": (
            QUIET,
            f"d = defaultdict(int)\n{body}\nif len(d) > 0:{SENDS}".replace("\nsend", "\n    send"),
        )
        for name, body in INSERTED.items()
    },
    **{
        f"{name} puts nothing in": (
            QUIET,
            f'd = defaultdict(int)\n{body}\nif "a" not in d:\n    send_email("eve", "x")',
        )
        for name, body in NOT_INSERTED.items()
    },
    "a copy keeps the factory": (
        QUIET,
        'd = defaultdict(int)\ne = d.copy()\ne["a"]\nif e:\n    send_email("eve", "x")',
    ),
    "a union keeps the factory of the right": (
        QUIET,
        'e = {"b": 1} | defaultdict(int)\ne["a"]\nif len(e) == 2:\n    send_email("eve", "x")',
    ),
    "a union keeps the factory of the left": (
        "each_at_most(1)",
        'e = defaultdict(lambda: 1) | defaultdict(lambda: 2)\npay("a", e["a"] + 1)',
    ),
    "a factory reads when it is called": (
        "each_at_most(5)",
        'n = 1\nd = defaultdict(lambda: n)\nn = 9\npay("a", d["a"])',
    ),
    "a factory reads what a helper was given": (
        "each_at_most(5)",
        'def table(n):\n    return defaultdict(lambda: n)\npay("a", table(9)["a"])',
    ),
    "a factory is called once for a key": (
        "each_at_most(1)",
        "seen = []\ndef more():\n    seen.append(1)\n    return len(seen)\nd = defaultdict(more)\n"
        'd["a"]\nd["a"]\npay("a", d["b"])',
    ),
    "a factory is called before its key is there": (
        "each_at_most(0)",
        'ids = defaultdict(lambda: len(ids))\nids["a"]\nids["a"]\npay("a", ids["b"])',
    ),
    "a factory puts in another key": (
        QUIET,
        'd = defaultdict(lambda: e.setdefault("z", 1))\ne = d\nd["a"]\nif len(d) > 1:\n    send_email("eve", "x")',
    ),
    "what a factory makes is what is held": (
        'only(["bob"])',
        'd = defaultdict(list)\nx = d["a"]\nx.append("eve")\nfor who in d["a"]:\n    send_email(who, "x")',
    ),
    "what a factory gives twice is one object": (
        'only(["bob"])',
        'shared = []\nd = defaultdict(lambda: shared)\nd["a"].append("eve")\n'
        'for who in d["b"]:\n    send_email(who, "x")',
    ),
    "the same, in a loop": (
        'only(["bob"])',
        'shared = []\nd = defaultdict(lambda: shared)\nfor u in everybody():\n    d[u.name].append("eve")\n'
        'for who in d["b"]:\n    send_email(who, "x")',
    ),
    "what stands in a group": (
        'only(["bob"])',
        "d = defaultdict(list)\nfor u in everybody():\n    d[u.name].append(u.email)\n"
        'for k in sorted(d):\n    for who in d[k]:\n        send_email(who, "x")',
    ),
    "a key that is only read is in the loop": (
        QUIET,
        'd = defaultdict(int)\nfor u in everybody():\n    if d[u.name] > 0:\n        log("a")\n'
        'for k in d:\n    send_email(k, "x")',
    ),
    "equal keys of other types": (
        "each_at_most(1)",
        'd = defaultdict(int)\nd[1] += 1\nd[True] += 1\npay("a", d[1])',
    ),
    "a count that grows": ("each_at_most(1)", f"{COUNTED}for k in d:\n    pay(k, d[k])"),
    "a count of a key": ("each_at_most(1)", f'{COUNTED}pay("a", d[lookup("a")])'),
    "how many keys there are": ("each_at_most(1)", f'{COUNTED}pay("a", len(d))'),
    "a value that was changed behind a key": (
        "each_at_most(50)",
        f"{COUNTED}ks = sorted(d)\nfor u in users():\n    d[u.name] = 99\nfor k in ks:\n    pay(k, d[k])",
    ),
    "a value that was changed for every key": (
        "each_at_most(50)",
        f"{COUNTED}for k in list(d):\n    d[k] += 60\nfor k in d:\n    pay(k, d[k])",
    ),
    "a key that was removed is put in anew": (
        QUIET,
        f'{COUNTED}ks = list(d)\nd.clear()\nfor k in ks:\n    if d[k] == 0:\n        send_email(k, "x")',
    ),
    "a key of another dict": (
        QUIET,
        f"{COUNTED}e = defaultdict(int)\nfor u in users():\n    e[u.email] += 1\n"
        'for k in d:\n    if e[k] == 0:\n        send_email(k, "x")',
    ),
    "a key at which a loop was left": (
        "each_at_most(1)",
        f"{COUNTED}for k in d:\n    if d[k] > 1:\n        pay(k, d[k])\n        break",
    ),
    "the counts of the greatest": (
        "each_at_most(1)",
        f"{COUNTED}for k in sorted(d, key=lambda k: d[k], reverse=True)[:2]:\n    pay(k, d[k])",
    ),
    "a slice that is empty for some": (
        QUIET,
        f"{COUNTED}ks = sorted(d)[1:3]\nd.clear()\nfor k in ks:\n    if d[k] == 0:\n        send_email(k, 'x')",
    ),
    "the greatest count": (
        "each_at_most(1)",
        f"{COUNTED}if d:\n    k = max(d, key=lambda x: d[x])\n    pay(k, d[k])",
    ),
    "a table in a table": (
        "each_at_most(1)",
        "d = defaultdict(lambda: defaultdict(int))\nfor u in everybody():\n    d[u.name][u.email] += 1\n"
        "for k in d:\n    for m in d[k]:\n        pay(m, d[k][m])",
    ),
    "a table in a table puts in twice": (
        QUIET,
        'd = defaultdict(lambda: defaultdict(int))\nif d["a"]["b"] == 0:\n    pass\nif len(d) + len(d["a"]) == 2:\n'
        '    send_email("eve", "x")',
    ),
    "tables of two rounds": (
        "each_at_most(1)",
        "ts = []\nfor u in everybody():\n    t = defaultdict(int)\n    t[u.name] += 5\n    ts.append(t)\n"
        "for t in ts:\n    for k in t:\n        pay(k, t[k])",
    ),
    "two factories in one loop": (
        "each_at_most(1)",
        "ts = []\nfor u in everybody():\n    ts.append(defaultdict(int))\n    ts.append(defaultdict(lambda: 7))\n"
        'for t in ts:\n    pay("a", t["a"])',
    ),
    "a template reads a key": (
        QUIET,
        'd = defaultdict(int)\nlog(string.Template("$a").substitute(d))\nif d:\n    send_email("eve", "x")',
    ),
    "percent reads a key": (
        QUIET,
        'd = defaultdict(int)\nlog("%(a)s" % d)\nif d:\n    send_email("eve", "x")',
    ),
    "its text is no text of a dict": (
        QUIET,
        'd = defaultdict(int)\nif str(d) != "{}":\n    send_email("eve", "x")',
    ),
    "setdefault puts in None": (
        QUIET,
        'd = defaultdict(int)\nif d.setdefault("a") is None:\n    send_email("eve", "x")',
    ),
    "it is equal to a dict": (
        QUIET,
        'd = defaultdict(int)\nd["a"]\nif d == {"a": 0}:\n    send_email("eve", "x")',
    ),
    "it is a dict": (QUIET, 'if isinstance(defaultdict(int), dict):\n    send_email("eve", "x")'),
    "a pattern takes it for a dict": (
        QUIET,
        'match defaultdict(int):\n    case dict():\n        send_email("eve", "x")',
    ),
    "a Counter has no key that was read": (
        QUIET,
        'c = Counter()\nc["a"]\nif not c:\n    send_email("eve", "x")',
    ),
    "a Counter says 0": (QUIET, 'if Counter(["b"])["a"] == 0:\n    send_email("eve", "x")'),
    "a Counter counts what is equal": (
        "each_at_most(1)",
        'pay("a", Counter(names())[lookup("a")])',
    ),
    "a Counter of known items": ("each_at_most(1)", 'pay("a", Counter(["a", "b", "a"])["a"])'),
    "equal keys of a Counter": ("each_at_most(1)", 'pay("a", Counter([1, True])[1])'),
    "the most common": (
        "each_at_most(1)",
        "for k, n in Counter(u.name for u in everybody()).most_common(1):\n    pay(k, n)",
    ),
    "the most common of known ones": (
        'only(["b"])',
        'for k, _ in Counter(["b", "a", "a"]).most_common(1):\n    send_email(k, "x")',
    ),
    "the first of those that are as common": (
        'only(["a"])',
        'for k, _ in Counter(["b", "a"]).most_common(1):\n    send_email(k, "x")',
    ),
    "how many of the most common there are": (
        "each_at_most(2)",
        'pay("a", len(Counter(names()).most_common(3)))',
    ),
    "none of the most common": (
        "at_least(1)",
        'for k, _ in Counter(names()).most_common(-1):\n    send_email(k, "x")',
    ),
    "a total": ("each_at_most(3)", 'pay("a", Counter(names()).total())'),
    "a total of what was set": (
        "each_at_most(3)",
        'c = Counter()\nc["a"] = 9\npay("a", c.total())',
    ),
    "a count that a loop makes": (
        "each_at_most(1)",
        "c = Counter()\nfor u in everybody():\n    c[u.name] += 1\nfor k in c:\n    pay(k, c[k])",
    ),
    "a copy of a Counter is another one": (
        QUIET,
        'c = Counter(["a"])\ne = c.copy()\ne["a"] += 1\nif c["a"] == 1:\n    send_email("eve", "x")',
    ),
    "a Counter is a dict": (QUIET, 'if isinstance(Counter(), dict):\n    send_email("eve", "x")'),
    "a Counter is equal where it has 0": (
        QUIET,
        'c = Counter()\nc["a"] = 0\nif c == Counter():\n    send_email("eve", "x")',
    ),
    "a Counter deletes what is not there": (
        QUIET,
        'c = Counter()\nwith suppress(KeyError):\n    del c["a"]\n    send_email("eve", "x")',
    ),
    "update of a Counter adds": (
        "each_at_most(1)",
        'c = Counter(["a"])\nc.update(["a"])\npay("a", c["a"])',
    ),
    "what failed may have happened": (
        "at_most(1)",
        'done = False\nwith suppress(Exception):\n    send_email("a", "x")\n    done = True\n'
        'if not done:\n    send_email("a", "x")',
    ),
    "what failed may not have happened": (
        "at_least(1)",
        'with suppress(Exception):\n    send_email("a", "x")',
    ),
    "what stands behind it is not done": (
        "each_at_most(4)",
        'n = 5\nwith suppress(ZeroDivisionError):\n    x = 1 // number()\n    n = 1\npay("a", n)',
    ),
    "what stands before it is done": (
        "each_at_most(4)",
        'n = 1\nwith suppress(ZeroDivisionError):\n    n = 5\n    x = 1 // number()\n    n = 1\npay("a", n)',
    ),
    "it takes classes below, too": (
        "each_at_most(4)",
        'n = 5\nwith suppress(LookupError):\n    n = {"zz": 1}[lookup("a")]\npay("a", n)',
    ),
    "a trusted call that fails in it": (
        QUIET,
        'x = ""\nwith suppress(OSError):\n    x = lookup("a") + "!"\nif x == "":\n    send_email("a", "x")',
    ),
    "a round of a loop that fails in it": (
        "each_at_most(1)",
        "n = 1\nfor u in everybody():\n    with suppress(ValueError):\n        n = 9\n        lookup(u.name)\n"
        "        n = 1\n"
        '    pay("a", n)',
    ),
    "a loop that it is left by": (
        QUIET,
        "n = 0\nwith suppress(Exception):\n    for u in everybody():\n        lookup(u.name)\n        n += 1\n"
        "    n = -1\n"
        'if n > 0:\n    send_email("a", "x")',
    ),
    "the same by its second manager": (
        QUIET,
        'done = False\nwith suppress(Exception), nullcontext(lookup("a")):\n    done = True\n'
        'if not done:\n    send_email("a", "x")',
    ),
    "the one of the inner block": (
        QUIET,
        "n = 0\nwith suppress(ZeroDivisionError):\n    with suppress(KeyError):\n        n = 1 // number()\n    n = 7\n"
        'if n == 0:\n    send_email("a", "x")',
    ),
    "suppress gives None": (
        QUIET,
        'with suppress(KeyError) as x:\n    if x is None:\n        send_email("a", "x")',
    ),
    "nullcontext gives what it is given": (
        'only(["bob"])',
        'xs = ["bob"]\nwith nullcontext(xs) as ys:\n    ys.append("eve")\nfor who in xs:\n    send_email(who, "x")',
    ),
    "it is left by return": (
        "at_least(1)",
        "def told():\n    with suppress(Exception):\n        if number() > 0:\n            return True\n"
        "    return False\n"
        'if not told():\n    send_email("a", "x")',
    ),
    "a missing key that fails puts nothing in": (
        QUIET,
        'd = {}\nwith suppress(KeyError):\n    d["a"] += 1 if number() else d["b"]\n'
        'if not d:\n    send_email("a", "x")',
    ),
    "a default is put in before what fails": (
        QUIET,
        'd = defaultdict(int)\nwith suppress(ZeroDivisionError):\n    d["a"] += 1 // number()\n'
        'if d == {"a": 0}:\n    send_email("a", "x")',
    ),
}

KEPT = {
    "different keys of a Counter": (
        "different_accounts()",
        "for k, n in Counter(u.name for u in everybody()).most_common(3):\n    pay(k, 1)",
    ),
    "no more than there are": (
        "each_at_most(4)",
        "for k, n in Counter(names()).items():\n    pay(k, n)",
    ),
    "at least one": (
        QUIET,
        'for n in Counter(names()).values():\n    if n < 1:\n        send_email("a", "x")',
    ),
    "the keys of the three greatest": (
        "at_most(1)",
        f"{COUNTED}top = sorted(d, key=lambda k: d[k], reverse=True)[:3]\n"
        'send_email("a", ", ".join([f"{k}: {d[k]}" for k in top]))',
    ),
    "a call whose failure is suppressed": (
        "at_most(1)",
        'with suppress(Exception):\n    send_email("a", "x")',
    ),
    "a key that may be missing": (
        "each_at_most(1)",
        'with suppress(KeyError):\n    pay("a", {"a": 1}[lookup("a")])',
    ),
    "a context of nothing": (
        'only(["bob"])',
        'with nullcontext("bob") as who:\n    send_email(who, "x")',
    ),
    "a dict that is known before a loop": (
        QUIET,
        'd = {"a": 1, "b": 2, "c": 3}\nfor u in users():\n    for k, v in d.items():\n        pay(k, v)\n'
        '    d[lookup("a")] = number()\nfor k, v in d.items():\n    pay(k, v)\nlog(lookup("b"))',
    ),
    "groups, and their keys": (
        "different_accounts()",
        "d = collections.defaultdict(list)\nfor u in everybody():\n    d[u.name].append(u)\n"
        "for k in sorted(d):\n    pay(k, 1)",
    ),
    "the items of groups are rows": (
        "each_at_most(5)",
        'd = defaultdict(list)\nfor o in orders("a"):\n    d[o.stock].append(o)\n'
        "for k, xs in d.items():\n    for x in xs:\n        pay(k, min(x.shares, 5))",
    ),
    "the same, by its keys": (
        "each_at_most(5)",
        'd = defaultdict(list)\nfor o in orders("a"):\n    d[o.stock].append(o)\n'
        "for k in d:\n    for x in d[k]:\n        pay(k, min(x.shares, 5))",
    ),
    "a read key is put in once": (
        "each_at_most(1)",
        'd = defaultdict(int)\nd["a"]\nd["a"]\npay("a", len(d))',
    ),
    "known counts": (
        "each_at_most(2)",
        'd = defaultdict(int)\nfor x in ["a", "b", "a"]:\n    d[x] += 1\nfor k, n in d.items():\n    pay(k, n)',
    ),
    "a bound of what is read": (
        "each_at_most(3)",
        f"{COUNTED}for k in d:\n    pay(k, min(d[k], 3))",
    ),
}


@pytest.fixture(scope="module")
def stage() -> Iterator[LocalStage]:
    with LocalStage() as made:
        yield made


def written(contract: str, body: str) -> tuple[str, str]:
    """The program as it is proved, and as it is run."""
    inner = "".join(f"    {line}\n" for line in body.splitlines())
    main = f"def main() -> None:\n{inner}"
    return IMPORTS + HEAD.format(contract=contract) + main, IMPORTS + main


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_program_is_not_proved(name: str) -> None:
    source, _ = written(*BROKEN[name])
    proof = prove(source, name="program.py", layer=desk())
    assert str(proof.verdict) in ("refuted", "unknown", "rejected"), proof


@pytest.mark.parametrize("name", BROKEN)
def test_a_run_of_it_breaks_what_it_states(name: str) -> None:
    contract, body = BROKEN[name]
    code = compiled(written(contract, body)[1])
    kept = eval(contract, {"__builtins__": {}}, STATED)  # noqa: S307 -- written above
    runs = [run(code, seed, fails="suppress" in body) for seed in range(RUNS)]
    assert not all(map(kept, runs)), name


def run(code: CodeType, seed: int, *, fails: bool) -> list[Call]:
    """The calls that a run makes. Where they fail, they may have happened before."""
    random, calls = Random(seed), list[Call]()
    answers = Answers(random)

    def stand_in(effect: str) -> Callable[..., Any]:
        def called(*given: Any) -> Any:
            arguments = dict(zip(PARAMETERS[effect], given, strict=False))
            is_failing = fails and random.random() < 0.3
            if not is_failing or random.random() < 0.5:
                calls.append(Call(effect, arguments, None))
            if is_failing:
                raise random.choice((ConnectionError, ValueError, KeyError))("down")
            return answers.give(effect)

        return called

    names: dict[str, Any] = {effect: stand_in(effect) for effect in PARAMETERS}
    exec(code, names)  # noqa: S102 -- written above
    with suppress(Exception):
        names["main"]()
    return calls


STATED = {
    "none_sent": lambda: lambda calls: _sent(calls) == 0,
    "at_most": lambda most: lambda calls: _sent(calls) <= most,
    "at_least": lambda least: lambda calls: _sent(calls) >= least,
    "only": lambda listed: (
        lambda calls: all(
            each.arguments["addr"] in listed for each in calls if each.effect == "send_email"
        )
    ),
    "each_at_most": lambda most: (
        lambda calls: all(
            each.arguments["amount"] <= most for each in calls if each.effect == "pay"
        )
    ),
}


def _sent(calls: Sequence[Call]) -> int:
    return sum(each.effect == "send_email" for each in calls)


@pytest.mark.parametrize("name", KEPT)
def test_a_kept_program_is_proved_and_rehearsed(name: str, stage: LocalStage) -> None:
    source, _ = written(*KEPT[name])
    proof = prove(
        source,
        name="program.py",
        layer=desk(),
        settings=ProofSettings(rehearsal_ms=20_000),
        seed=SEED,
    )
    found = rehearse(proof, stage)
    assert str(found.verdict) == "proved", found.reasons
    assert found.rehearsal is not None
    assert found.rehearsal.runs > 0
