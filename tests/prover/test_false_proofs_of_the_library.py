"""The standard library can't be used to hide where a value comes from, that something raises, or that time passes."""

from __future__ import annotations

import pytest
from differential import desk

from lictor_prove.layer_model import Layer
from lictor_prove.proof.prover import prove

HEAD = """\
import base64
import datetime
import decimal
import fractions
import hashlib
import html
import json
import lictor_layer
import math
import os.path
import random
import re
import statistics
import string
import textwrap
import time
import urllib.parse
import uuid
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import lookup, log, send_email, users


@lictor_layer.guarantee(c.{contract})
def main(n: int) -> None:
"""
WHO = "boss = users()\nwho = boss[0].name if boss else ''\n"
MADE_OF_A_NAME = {
    "dumps": "to = json.dumps(who)",
    "dumps of a dict": "to = json.dumps({'a': [who]})",
    "a key of a dict": "to = json.dumps({who: 1})",
    "the indent": "to = json.dumps([1], indent=who)",
    "there and back": "to = str(json.loads(json.dumps({'a': who}))['a'])",
    "the key that is asked for": "to = str(json.loads('{\"a\": 1}')[who])",
    "the default of get": "to = str(json.loads('{}').get('a', who))",
    "the key of get": "to = str(json.loads('{}').get(who, 'a'))",
    "items": "to = 'a'\nfor k, v in json.loads(who).items():\n    to = k",
    "how many items": "to = 'a'\nfor _ in json.loads(who):\n    to = to + 'a'",
    "the length": "to = 'abc'[:len(json.loads(who))]",
    "a comprehension": "to = ''.join([str(x) for x in json.loads(who)])",
    "whether it is empty": "to = 'a' if json.loads(who) else 'b'",
    "whether it is None": "to = 'a' if json.loads(who) is None else 'b'",
    "its class": "to = 'a' if isinstance(json.loads(who), str) else 'b'",
    "equality": "to = 'a' if json.loads('1') == who else 'b'",
    "order": "to = 'a' if json.loads('1') < len(who) else 'b'",
    "membership": "to = 'a' if who in json.loads('[]') else 'b'",
    "whether it raises": "to = 'a'\ntry:\n    json.loads(who)\nexcept ValueError:\n    to = 'b'",
    "whether a part raises": "to = 'a'\nx = json.loads(who)\ntry:\n    y = x['a']\nexcept Exception:\n    to = 'b'",
    "the text of the error": "to = 'a'\ntry:\n    json.loads(who)\nexcept ValueError as e:\n    to = str(e)",
    "a list that is repeated in place": "x = json.loads('[1]')\ny = x\ny *= len(who)\nto = str(x)",
    "a list that is extended in place": "x = json.loads('[1]')\ny = x\ny += [who]\nto = str(x)",
    "what is replaced": "to = re.sub('a', who, 'cab')",
    "where it is replaced": "to = re.sub('a', 'b', who)",
    "a pattern": "to = re.sub(re.escape(who), 'b', 'abc')",
    "how often": "to = re.sub('a', 'b', 'aaa', count=len(who))",
    "one of two patterns": "p = re.compile('a') if who == 'x' else re.compile('b')\nto = p.sub('z', 'ab')",
    "a template": "to = string.Template(who).substitute(x=1)",
    "what fills a template": "to = string.Template('$x').substitute(x=who)",
    "what fills a template, in a dict": "to = string.Template('$x').safe_substitute({'x': who})",
    "strftime": "to = datetime.date(2024, 1, 1 + len(who)).strftime('%d')",
    "a format of strftime": "to = datetime.date(2024, 1, 1).strftime(who)",
    "time.strftime": "to = time.strftime(who)",
    "an attribute of a date": "to = str(datetime.date.fromisoformat(who).year)",
    "f-string of a date": "to = f'{datetime.date.fromisoformat(who):%Y}'",
    "a difference of dates": "to = str((datetime.date.today() - datetime.date.fromisoformat(who)).days)",
    "an order of dates": "d = datetime.date.fromisoformat(who)\nto = 'a' if d < datetime.date.today() else 'b'",
    "equal dates": "d = datetime.date.fromisoformat(who)\nto = 'a' if d == datetime.date.today() else 'b'",
    "a date that is chosen": "d = datetime.date.min if who else datetime.date.max\nto = d.isoformat()",
    "the greatest date": "d = datetime.date.fromisoformat(who)\nto = str(max([d, datetime.date.min]))",
    "sorted dates": "d = datetime.date.fromisoformat(who)\nto = str(sorted([d, datetime.date.min])[0])",
    "a dict by dates": "d = datetime.date.fromisoformat(who)\nx = {d: 'a'}\nto = x.get(datetime.date.min, 'b')",
    "a set of dates": "d = datetime.date.fromisoformat(who)\nto = 'abc'[:len({d, datetime.date.min})]",
    "a date carried by a loop": (
        "d = datetime.date.min\nfor u in boss:\n    if u.name == 'a':\n"
        "        d = datetime.date.fromisoformat(u.name)\n"
        "to = d.isoformat()"
    ),
    "a date carried by a long loop": (
        "d = datetime.date.min\nfor i in range(n):\n    if who == 'a':\n        d = d + datetime.timedelta(days=1)\n"
        "to = d.isoformat()"
    ),
    "a sum of decimals": "t = decimal.Decimal('0')\nfor u in boss:\n    t += decimal.Decimal(u.name)\nto = str(t)",
    "sum() of decimals": "to = str(sum([decimal.Decimal(u.name) for u in boss]))",
    "a decimal in a list": "xs = [decimal.Decimal(who)]\nto = str(xs[0])",
    "a fraction": "to = str(fractions.Fraction(who).numerator)",
    "a mean": "to = str(statistics.mean([len(who), 1]))",
    "a median": "to = str(statistics.median([1, 2, len(who)]))",
    "a mode": "to = statistics.mode([who, 'a'])",
    "a hash": "to = hashlib.sha256(who.encode()).hexdigest()",
    "base64": "to = base64.b64encode(who.encode()).decode()",
    "hex": "to = who.encode().hex()",
    "a unique identifier": "to = str(uuid.UUID(who))",
    "html": "to = html.escape(who)",
    "quoted": "to = urllib.parse.quote(who)",
    "a query": "to = urllib.parse.urlencode({'a': who})",
    "a part of an address": "to = urllib.parse.urlparse(who).netloc",
    "a part that may be missing": "to = urllib.parse.urlparse(who).hostname or 'a'",
    "lines": "to = textwrap.wrap(who)[0]",
    "how many lines": "to = 'abc'[:len(textwrap.wrap(who))]",
    "the width": "to = textwrap.fill('a b c', width=len(who))",
    "a path": "to = os.path.join('a', who)",
    "a part of a path": "to = os.path.splitext(who)[1]",
    "a bound of a random number": "to = str(random.randint(1, 2 + len(who)))",
    "a seed": "random.seed(who)\nto = str(random.random())",
    "how many random numbers": "random.seed(1)\nfor _ in who:\n    random.random()\nto = str(random.random())",
    "math": "to = str(math.sin(len(who)))",
    "gcd": "to = str(math.gcd(4, len(who)))",
    "a helper": "def f(x):\n    return json.loads(x)\nto = str(f(who))",
    "a lambda": "to = max(['a', 'b'], key=lambda x: json.dumps([who, x]))",
    "an object in a tuple": "x = (json.loads(who), 1)\nto = str(x[0])",
    "an object that is unpacked": "x, y = json.loads(who), 1\nto = str(x)",
    "a walrus": "to = str(y) if (y := json.loads(who)) else 'a'",
    "a list that has two names": "x = textwrap.wrap('a b')\ny = x\ny.append(who)\nto = x[-1]",
    "a list that a helper changes": (
        "def f(xs):\n    xs.insert(0, who)\nx = textwrap.wrap('a b')\nf(x)\nto = x[0]"
    ),
    "a list of JSON that is changed": "x = list(json.loads('[1]'))\ny = [x]\ny[0].append(who)\nto = str(x)",
    "an item of JSON that is assigned": "x = json.loads('{}')\ny = x\ny['a'] = who\nto = str(x)",
    "an item of JSON that is appended": "x = json.loads('[]')\ny = x\ny.append(who)\nto = str(x)",
    "JSON that is updated": "x = json.loads('{}')\ny = x\ny.update({'a': who})\nto = str(x)",
    "JSON that is merged": "x = json.loads('{}')\ny = x\ny |= {'a': who}\nto = str(x)",
    "an inner list of JSON": "x = json.loads('[[1]]')\nfor y in x:\n    y += [who]\nto = str(x)",
    "an item of JSON that is deleted": "x = json.loads('[1, 2]')\ny = x\ndel y[len(who)]\nto = str(x)",
    "a slice of JSON": "x = json.loads('[1, 2]')\nx[0:1] = [who]\nto = str(x)",
    "a default": "x = json.loads(who) or json.loads('1')\nto = str(x)",
}
BROKEN = {
    "a clock that is read twice": "a = time.time()\nb = time.time()\nif a != b:\n    send_email('a', 'b')",
    "today, twice": "if datetime.date.today() != datetime.date.today():\n    send_email('a', 'b')",
    "now, in an order": "a = datetime.datetime.now()\nif a < datetime.datetime.now():\n    send_email('a', 'b')",
    "a random number, twice": "if random.random() != random.random():\n    send_email('a', 'b')",
    "random numbers of a loop": (
        "xs = [random.randint(1, 2) for _ in range(n)]\nif len(set(xs)) > 1:\n    send_email('a', 'b')"
    ),
    "a number of its own for each": "if uuid.uuid4() != uuid.uuid4():\n    send_email('a', 'b')",
    "a number of its own by a helper": (
        "def f():\n    return random.random()\nif f() != f():\n    send_email('a', 'b')"
    ),
    "a mean of ints may be an int": "if isinstance(statistics.mean([n, n]), int):\n    send_email('a', 'b')",
    "a mean may be a float": "if isinstance(statistics.mean([n, 1]), float):\n    send_email('a', 'b')",
    "what JSON holds may be a bool": "if json.loads(lookup('a')) is True:\n    send_email('a', 'b')",
    "NaN of JSON": "x = json.loads('NaN')\nif x != x:\n    send_email('a', 'b')",
    "1 is Decimal 1": "if 1 in [decimal.Decimal('1')]:\n    send_email('a', 'b')",
    "a key that is equal": "d = {1: 'x'}\nif json.loads('1.0') in [1]:\n    send_email('a', 'b')",
    "dates that are equal": (
        "x = {datetime.date(2024, 1, n): 1}\nif x.get(datetime.date(2024, 1, 1)):\n    send_email('a', 'b')"
    ),
    "one date twice in a set": (
        "d = datetime.date.min\ne = datetime.date(1, 1, 1)\nif len({d, e}) == 1:\n    send_email('a', 'b')"
    ),
    "two dates in a set": (
        "d = datetime.date.min\ne = datetime.date.max\nif len({d, e}) == 2:\n    send_email('a', 'b')"
    ),
    "the text of a vast fraction": (
        "x = fractions.Fraction('1e5000')\ntry:\n    y = str(x)\nexcept ValueError:\n    send_email('a', 'b')"
    ),
    "a vast fraction is printed": (
        "x = fractions.Fraction('1e5000')\ntry:\n    print('a', [x])\nexcept ValueError:\n    send_email('a', 'b')"
    ),
    "a vast fraction in a list": (
        "x = fractions.Fraction('1e5000')\ntry:\n    y = str([x])\nexcept ValueError:\n    send_email('a', 'b')"
    ),
    "a signalling NaN in a list": (
        "x = decimal.Decimal('sNaN')\ntry:\n    y = 1 in [x]\nexcept ArithmeticError:\n    send_email('a', 'b')"
    ),
    "a signalling NaN in two lists": (
        "x = decimal.Decimal('sNaN')\ntry:\n    y = [x] == [1]\nexcept ArithmeticError:\n    send_email('a', 'b')"
    ),
    "a signalling NaN in tuples of different lengths": (
        "x = decimal.Decimal('sNaN')\ntry:\n    y = (x,) == (1, 2)\nexcept ArithmeticError:\n    send_email('a', 'b')"
    ),
    "a tuple with a signalling NaN is looked for": (
        "x = decimal.Decimal('sNaN')\ntry:\n    y = (x,) in [(1, 2)]\nexcept ArithmeticError:\n    send_email('a', 'b')"
    ),
    "a signalling NaN is counted": (
        "xs = [decimal.Decimal(u.name) for u in users()]\ntry:\n    y = xs.count(1)\nexcept ArithmeticError:\n"
        "    send_email('a', 'b')"
    ),
    "JSON that is no container": (
        "x = json.loads('1')\ntry:\n    y = {1}.isdisjoint(x)\nexcept TypeError:\n    send_email('a', 'b')"
    ),
    "items of JSON have no order": (
        "x = json.loads('[1, null]')\ntry:\n    y = sorted(x)\nexcept TypeError:\n    send_email('a', 'b')"
    ),
    "a template that lacks a name": (
        "try:\n    y = string.Template('$a').substitute(b=1)\nexcept KeyError:\n    send_email('a', 'b')"
    ),
    "the mean of nothing": (
        "try:\n    y = statistics.mean([])\nexcept ValueError:\n    send_email('a', 'b')"
    ),
    "a text that can't be encoded": (
        "try:\n    y = lookup('a').encode('ascii')\nexcept ValueError:\n    send_email('a', 'b')"
    ),
    "JSON in place of a text, after a loop": (
        "x = ''\nfor u in users():\n    x = json.loads(u.name)\nif x is None:\n    send_email('a', 'b')"
    ),
    "JSON in place of a text, in a loop": (
        "x = ''\nfor u in users():\n    if isinstance(x, int):\n        send_email('a', 'b')\n"
        "    x = json.loads(u.name)"
    ),
    "a date in place of a text": (
        "x = ''\nfor u in users():\n    x = datetime.date.today()\ntry:\n    y = x + 'a'\n"
        "except TypeError:\n    send_email('a', 'b')"
    ),
    "JSON in place of a text, in a tuple": (
        "x = ('', 1)\nfor u in users():\n    x = (json.loads(u.name), 1)\nif x[0] is None:\n    send_email('a', 'b')"
    ),
    "JSON among texts": (
        "xs = ['']\nfor u in users():\n    xs.append(json.loads(u.name))\nif xs[-1] is None:\n    send_email('a', 'b')"
    ),
    "one of some bools is a bool": "if isinstance(statistics.mode([n > 1]), bool):\n    send_email('a', 'b')",
    "the text of one of some bools": (
        "xs = [u.active for u in users()]\nif str(statistics.mode(xs)) == 'True':\n    send_email('a', 'b')"
    ),
    "the median of bools may be one of them": (
        "if isinstance(statistics.median([n > 1]), bool):\n    send_email('a', 'b')"
    ),
    "the lower median of bools is one of them": (
        "if statistics.median_low([n > 1, n > 2]) is False:\n    send_email('a', 'b')"
    ),
    "the higher median of bools is one of them": (
        "if statistics.median_high([n > 1, True]) is True:\n    send_email('a', 'b')"
    ),
    "a median of bools and ints": (
        "if statistics.median([n > 1, n, True]) is True:\n    send_email('a', 'b')"
    ),
    "a template that is filled with a vast int": (
        "try:\n    y = string.Template('$a').safe_substitute(a=n)\nexcept ValueError:\n    send_email('a', 'b')"
    ),
    "a template that is filled with a dict of vast ints": (
        "try:\n    y = string.Template('$a').safe_substitute({'a': [n]})\nexcept ValueError:\n    send_email('a', 'b')"
    ),
    "a reference to a character of too many digits": (
        "x = lookup('a')\ntry:\n    y = html.unescape(x)\nexcept ValueError:\n    send_email('a', 'b')"
    ),
    "a default that is a function": (
        "def f(x):\n    send_email('a', 'b')\n    return 'a'\ny = json.dumps(datetime.date.min, default=f)"
    ),
    "a replacement that is a function": (
        "def f(m):\n    send_email('a', 'b')\n    return 'a'\ny = re.sub('a', f, 'a')"
    ),
    "a generator that dumps does not run": (
        "for x in [1]:\n    y = json.dumps((log('a') for _ in [1]), default=str)\nsend_email('a', 'b')"
    ),
}


@pytest.fixture(scope="module")
def layer() -> Layer:
    return desk()


def verdict(contract: str, body: str, layer: Layer) -> str:
    source = HEAD.replace("{contract}", contract)
    source += "".join(f"    {line}\n" for line in body.split("\n"))
    return str(prove(source, name="program.py", layer=layer).verdict)


@pytest.mark.parametrize("case", MADE_OF_A_NAME)
def test_what_the_library_makes_of_a_name_is_not_free_of_names(case: str, layer: Layer) -> None:
    body = f"{WHO}{MADE_OF_A_NAME[case]}\nsend_email(to, 'x')"
    assert verdict("not_names()", body, layer) != "proved"


@pytest.mark.parametrize("case", BROKEN)
def test_a_program_that_sends_something_is_not_proved_to_send_nothing(
    case: str, layer: Layer
) -> None:
    assert verdict("none_sent()", BROKEN[case], layer) != "proved"


@pytest.mark.parametrize(
    "body",
    [
        "to = datetime.date.today().isoformat()",
        "to = json.dumps({'a': [1, None]})",
        "to = str(json.loads(str(n))['b'])",
        "to = str(random.randint(1, 3))",
        "to = re.sub('a', 'b', str(n))",
        "to = string.Template('$a').substitute(a=n)",
        "to = str(statistics.mean([1, 2]))",
    ],
)
def test_what_is_made_of_no_name_is_free_of_names(body: str, layer: Layer) -> None:
    assert verdict("not_names()", f"{WHO}{body}\nsend_email(to, 'x')", layer) == "proved"
