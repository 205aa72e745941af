"""What agents do with tables: loops that count, collect, group, remember and leave early, then act on what they have.

A grammar as data. `<int>` is an expression of that kind, `<xs>` a name that is bound to one, `<k=str>` binds a new
name, `@` is a block in which it is known. Containers get second names and are changed through them, on some paths.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from generated_oddities import Oddities

DEPTH: Final = 3
DEEPEST: Final = 4
_PLACE: Final = re.compile(r"<(?:(\w+)=)?(\w+)>")

NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    "n": ("<n=n> = 0", "<n=n> = 0", "<n=n> = number()", "<n=n> = 1"),
    "t": ('<t=t> = ""', '<t=t> = "a"', '<t=t> = lookup("a")'),
    "f": ("<f=f> = False", "<f=f> = True", '<f=f> = is_allowed("a")'),
    "xs": ("<xs=xs> = []", "<xs=xs> = []", '<xs=xs> = ["a"]', "<xs=xs> = names()"),
    "ns": ("<ns=ns> = []", "<ns=ns> = [1]"),
    "rs": ("<rs=rs> = []", "<rs=rs> = users()", "<rs=rs> = [u for u in everybody() if u.active]"),
    "seen": ("<seen=seen> = set()", '<seen=seen> = {"a"}'),
    "d": ("<d=d> = {}", "<d=d> = {}", '<d=d> = {"k": 1}'),
    "g": ("<g=g> = {}", '<g=g> = {"a": []}', '<g=g> = {"a": ["b"], "b": []}'),
    "c": ("<c=c> = defaultdict(int)", "<c=c> = defaultdict(int)", "<c=c> = defaultdict(lambda: 1)"),
    "m": ("<m=m> = Counter()", "<m=m> = Counter(names())", '<m=m> = Counter(["a", "b", "a"])'),
    "gs": ("<gs=gs> = defaultdict(list)", '<gs=gs> = defaultdict(lambda: ["a"])'),
    "deep": (
        "<deep=deep> = defaultdict(lambda: defaultdict(int))",
        '<deep=deep> = defaultdict(lambda: {"k": 1})',
    ),
    "ls": ("<ls=ls> = []", "<ls=ls> = [[]]", '<ls=ls> = [["a"], []]'),
    "b": ("<b=b> = None",),
    "line": (
        '<line=line> = Line("a")',
        '<line=line> = Line("a", number())',
        '<line=line> = Line(name=lookup("a"), tags=names())',
    ),
    "lines": (
        "<lines=lines> = []",
        '<lines=lines> = [Line("a"), Line("b", 2)]',
        "<lines=lines> = [Line(u.name, u.age) for u in users()]",
    ),
    "book": ("<book=book> = {}", '<book=book> = {"a": Line("a")}'),
    "key": ('<key=key> = Key("a")', '<key=key> = Key(lookup("a"), number())'),
}
"""State that a loop may carry, and what it is at first."""

EXPRESSIONS: Final[Mapping[str, tuple[str, ...]]] = {
    "str": (
        '"a"', '"bob@example.com"', '"b"', "<t>", "<t>", "<row>.email", "<row>.email", "<row>.name", "<k>",
        "<order>.stock", "(<xs>[0] if <xs> else <str>)", "(<xs>[-1] if <xs> else <str>)",
        "(<b>.email if <b> is not None else <str>)", "(<b>.name if <b> else <str>)", '", ".join(<xs>)',
        '"".join(sorted(<seen>))', "f\"{<n>}: {<t>}\"", "str(<int>)", "<str>.lower()", "(<str> + <str>)",
        "(<str> if <bool> else <str>)", "<str>.strip()", 'f"{<n>:,}"', 'f"{<n> / 4:.2f}"', "lookup(<str>)",
        '(min(<xs>) if <xs> else "a")', 'max(<xs>, default="b")', '(<ls>[0][0] if <ls> and <ls>[0] else "c")',
        "(<rs>[0].email if <rs> else <str>)", '(<g>["a"][0] if "a" in <g> and <g>["a"] else <str>)',
        "next((u.email for u in <rs> if u.active), <str>)", 'next((x for x in <xs> if x != <t>), "b")',
        "<line>.name", "<line>.name", "(<lines>[0].name if <lines> else <str>)", "str(<key>)", "repr(<line>)[:9]",
        '(<line>.tags[0] if <line>.tags else "c")', "<key>.name", 'asdict(<key>)["name"]', "f\"{<line>}\"",
        '(max(<lines>, key=lambda l: l.amount).name if <lines> else "d")',
        "<str>[:2]", "bob()", '"%s/%s" % (<t>, <n>)', '(<xs>.pop() if <xs> else "d")', 'repr(<d>)[:3]',
        '(<gs>[<str>][0] if <gs>[<str>] else "e")', '", ".join(<gs>[<str>])',
        'f"{<c>[<str>]}/{len(<c>)}"', "str(<c>)[:3]",
        "(max(<c>, key=lambda k: <c>[k]) if <c> else <str>)", "(max(<gs>, key=len) if <gs> else <str>)",
        "(max(<rs>, key=lambda u: u.age).email if <rs> else <str>)", "(sorted(<seen>)[0] if <seen> else <str>)",
    ),
    "int": (
        "0", "1", "2", "5", "<n>", "<n>", "<row>.age", "<row>.age", "<v>", "<order>.shares", "len(<xs>)",
        "len(<seen>)", "len(<d>)", "len(<rows>)", '<d>.get("k", 0)', "<d>.get(<str>, <int>)", "sum(<d>.values())",
        "<m>[<str>]", "<m>[<row>.name]", "<m>.total()", "len(<m>)", "<m>.get(<str>, 0)", "len(<m>.most_common(<int>))",
        "(<m>.most_common(1)[0][1] if <m> else 6)", "Counter(<strs>)[<str>]", "Counter(x for x in <xs>).total()",
        "<c>[<str>]", "<c>[<str>]", "<c>[<row>.name]", "len(<c>)", "<c>.get(<str>, 0)", "len(<gs>)",
        "sum(<c>.values())",
        "len(<gs>[<str>])", "len(<gs>[<row>.name])", '<deep>[<str>]["k"]', "len(<deep>)", "len(<deep>[<str>])",
        "len([<c>[x] for x in <xs>])", "<c>.pop(<str>, 2)", "len(dict(<c>))", "max(<c>.values(), default=0)",
        "sum(u.age for u in <rs>)", "min(<int>, 3)", "max(0, min(<int>, 5))", "(<int> + <int>)", "(<int> - 1)",
        "<int> // 2", "<int> % 3", "(<b>.age if <b> is not None else 0)", "sum(<ns>)", "max(<ns>, default=0)",
        "(<ns>[-1] if <ns> else 4)", "number()", 'balance("a")', "abs(<int>)", "round(<int> / 3)", "int(<bool>)",
        "<line>.amount", "<line>.amount", "<key>.at", "sum(l.amount for l in <lines>)", "len(<lines>)",
        "len(<line>.tags)",
        "<line>.add(<int>)", "max((l.amount for l in <lines>), default=0)", "(<lines>[-1].amount if <lines> else 3)",
        "len({<key>, Key(<str>)})", "{<key>: 1}.get(Key(<str>, <int>), 2)",
        "<xs>.count(<str>)", "sum(1 for u in <rs> if u.active)", 'len(<g>.get("a", []))', "len(<str>)",
        "max((u.age for u in <rs> if u.active), default=0)",
        'int("7")', "(<int> * <int>)", "(<int> if <bool> else <int>)", "len([u for u in <rs> if u.age > <n>])",
    ),
    "bool": (
        "<f>", "<f>", "<row>.active", "<row>.active", "<row>.age > <int>", "<n> < 2", "<n> >= 3", "<int> == <int>",
        "<str> == <str>", "<str> in <seen>", "<str> not in <seen>", "<str> in <xs>", "<str> in <d>", "not <xs>",
        "<xs>", "<d>", "<b> is None", "<b> is not None", 'is_allowed("a")', "is_allowed(<str>)", "not <bool>",
        "(<bool> and <bool>)", "(<bool> or <bool>)", "any(u.active for u in <rs>)", "all(u.age > 1 for u in <rs>)",
        "<str> in <m>", "<m>", "<m>[<str>] > <int>", "isinstance(<m>, dict)",
        "<str> in <c>", "<str> not in <gs>", "<c>[<str>] > 1", "not <c>[<str>]", "<gs>[<str>]", "<c>", "<gs>",
        "<c> == {}",
        "isinstance(<c>, dict)", '"k" in <deep>[<str>]', "any(<c>[x] for x in <xs>)", "<c> == <d>",
        "0 < <int> <= 5", "<order>.approved", "<int> < <int>", "<str>.startswith(\"a\")", "len(<xs>) < 2",
        "<line> == <line>", "<line> is <line>", "<line> != Line(<str>)", "<line> in <lines>", "<lines>", "<line>",
        "<key> == Key(<str>, <int>)", "isinstance(<line>, Line)", "<key> == <line>", "<key> in [Key(<str>)]",
        "<lines> == [<line>]", "<line> is None",
        "<row>.email != <t>", "<seen>", "<rs>", "<str>.isdigit()", "<str> < <str>",
    ),
    "rows": (
        "users()", "users()", "everybody()", "everybody()", "<rs>", "<rs>", "<rs>[:2]", "users()[1:]",
        "sorted(<rs>, key=lambda u: u.age)", "sorted(users(), key=lambda u: (u.active, u.name), reverse=True)",
        "[u for u in <rs> if u.active]", "[u for u in users() if u.age > <n>]", "list(reversed(<rs>))",
        "[u for u in users() if <bool>]", "(<rs> if <bool> else users())", "<rs>[::-1]", "list(<rs>)",
    ),
    "strs": (
        "<xs>", "<xs>", "names()", "[<str>]", "[<str>, <str>]", "sorted(<xs>)", "sorted(<seen>)", "list(<seen>)",
        "sorted(<m>)", "[k for k, _ in <m>.most_common(2)]",
        "list(<d>)", "list(<c>)", "sorted(<gs>)", "<gs>[<str>]", '<gs>.get(<str>, ["f"])',
        "<xs>[1:]", "<xs>.copy()", "[u.email for u in <rs>]", "[u.name for u in <rs> if u.active]",
        "list(set(<xs>))", "[x for x in <xs> if x != <t>]", "list(<g>)", '<g>.get("a", [])', "(<xs> + [<str>])",
        "[*<xs>, <str>]", "[<str>, *<xs>]",
        "[x + <t> for x in names()]", '"a b".split()', "<str>.split()", "list(reversed(<xs>))", "list(<d>.keys())",
    ),
}  # fmt: skip
"""`<int>`, …: expressions of a kind; the first are those where there is no more depth."""

EFFECTS: Final = (
    "send_email(<str>, <str>)", "send_email(<str>, <str>)", "send_email(<row>.email, <str>)",
    "send_email(<t>, <t>)", "pay(<str>, <int>)", "pay(<row>.name, max(0, min(<int>, 9)))", "log(<str>)",
    "log(<t>)", "sell(<order>.stock, <order>.shares)", "sell(<str>, <int>)", "send_copies(<str>, <strs>)",
    "send_copies(\"a\", <xs>)", "lock(<str>)", "unlock(<str>)", "lookup(<str>)", "refund(abs(<int>))",
    "if 0 < <n> <= 4:\n    pay(\"a\", <n>)", "if <b> is not None:\n    send_email(<b>.email, <b>.name)",
    "for <k=k> in <xs>:\n    send_email(<k>, <str>)", "for <k=k> in sorted(<seen>):\n    send_email(<k>, <str>)",
    "for <k=k>, <v=v> in <d>.items():\n    pay(<k>, <v>)",
    "for <row=r> in <rs>:\n    send_email(<row>.email, <row>.name)",
    "for <k=k>, h in <g>.items():\n    send_email(<k>, \", \".join(h))",
    "for <k=k> in <g>:\n    for h in <g>[<k>]:\n        send_email(h, <k>)",
    "for <k=k>, <v=v> in <m>.most_common(<int>):\n    pay(<k>, <v>)", "for <k=k> in <m>:\n    pay(<k>, <m>[<k>])",
    "for <k=k>, <v=v> in <m>.items():\n    pay(<k>, <v>)",
    "for <k=k>, <v=v> in <c>.items():\n    pay(<k>, <v>)", "for <k=k> in sorted(<c>):\n    pay(<k>, <c>[<k>])",
    "for <k=k> in <c>:\n    if <c>[<k>] > 1:\n        send_email(<k>, str(<c>[<k>]))",
    "for <k=k> in sorted(<gs>):\n    for h in <gs>[<k>]:\n        send_email(h, <k>)",
    "for <k=k>, h in sorted(<gs>.items()):\n    send_copies(<k>, h)",
    "for <k=k>, h in <deep>.items():\n    for m, <v=v> in h.items():\n        pay(m, <v>)",
    "for <k=k> in <deep>:\n    pay(<k>, <deep>[<k>][\"k\"])",
    "for h in <ls>:\n    send_copies(\"a\", h)",
    "for <line=h> in <lines>:\n    pay(<line>.name, <line>.amount)",
    "for <line=h> in sorted(<lines>, key=lambda l: (l.amount, l.name)):\n    send_copies(<line>.name, <line>.tags)",
    "for <k=k>, <line=h> in <book>.items():\n    pay(<k>, <line>.amount)", "send_email(<line>.name, <line>.name)",
    "for <line=h> in <book>.values():\n    pay(<line>.name, <line>.amount)", "pay(<key>.name, <key>.at)",
    "log(str(<line>))", "pay(<line>.name, <line>.amount)",
    "if <n> == 0:\n    send_email(<str>, <str>)", "if <f>:\n    send_email(<str>, <str>)",
)  # fmt: skip

CHANGES: Final = (
    "<n> += 1", "<n> += 1", "<n> += <int>", "<n> = <int>", "<n> -= 1", "<n> = max(<n>, <int>)", "<t> = <str>",
    "<t> += <str>", "<t> = <str>", "<f> = True", "<f> = <bool>", "<f> = not <f>", "<xs>.append(<str>)",
    "<xs>.append(<str>)", "<xs> += [<str>]", "<xs> = <strs>", "<xs>.insert(0, <str>)", "<xs>.extend(<strs>)",
    "if <xs>:\n    <xs>.pop()", "if <xs>:\n    <xs>[0] = <str>", "if <xs>:\n    <xs>[-1] = <str>", "<xs>.clear()",
    "if <str> in <xs>:\n    <xs>.remove(<str>)", "<xs>.reverse()", "<ns>.append(<int>)", "<ns>.append(<row>.age)",
    "<rs>.append(<row>)", "<rs>.append(<row>)", "<rs> = <rows>", "<rs>.extend(<rows>)", "<seen>.add(<str>)",
    "<seen>.add(<str>)", "<seen>.discard(<str>)", "<seen> |= {<str>}", "<seen>.update(<strs>)", "<seen> = set(<strs>)",
    "<d>[<str>] = <int>", "<d>[<str>] = <d>.get(<str>, 0) + 1", "<d>.setdefault(<str>, <int>)", "<d>.pop(<str>, 0)",
    "if <xs>:\n    del <xs>[0]", "if <xs>:\n    <t=t>, *<xs=xs> = <xs>",
    "<k=t> = <str>\nif <k> in <d>:\n    del <d>[<k>]",
    "<d>.update({<str>: <int>})", "if <row>.name in <d>:\n    <d>[<row>.name] += 1\nelse:\n    <d>[<row>.name] = 1",
    "<m>[<str>] += 1", "<m>[<row>.name] += 1", "<m>[<str>] -= 1", "<m>[<str>] = <int>", "<m=m> = <m>", "<m>.clear()",
    "<m=m> = Counter(<strs>)", "<m=m> = <m>.copy()", "<d=d> = dict(<m>)", "<d>.update(<m>)", "<m>[<str>] += <m>[<str>]",
    "<m=m> = <m> if <bool> else Counter()",
    "<c>[<str>] += 1", "<c>[<row>.name] += 1", "<c>[<row>.name] += <row>.age", "<c>[<str>] += <int>", "<c>[<str>]",
    "<c>[<str>] = <int>", "<c>.pop(<str>, 0)", "<c=c> = <c>", "<c=c> = <c>.copy()", "<d=d> = dict(<c>)", "<d=d> = <c>",
    "<c> |= {<str>: <int>}", "<c=c> = <c> | {<str>: <int>}", "<c>.update(<d>)", "<d>.update(<c>)", "<c>.clear()",
    "<c=c> = <c> if <bool> else <c>", "<c=c> = (<c> if <bool> else defaultdict(int))", "<c>.setdefault(<str>, <int>)",
    "<k=t> = <str>\nif <k> in <c>:\n    del <c>[<k>]", "if <c>[<str>] < 2:\n    <c>[<str>] += 1",
    "<gs>[<str>].append(<str>)", "<gs>[<row>.name].append(<row>.email)", "<gs>[<row>.email].append(<str>)",
    "<gs>[<str>] += [<str>]", "<gs>[<str>] = <strs>", "<gs>[<str>]", "<xs=xs> = <gs>[<str>]", "<gs=gs> = <gs>",
    "<g=g> = dict(<gs>)", "<g=g> = <gs>", "for h in <gs>.values():\n    h.append(<str>)", "<gs>.pop(<str>, None)",
    "<deep>[<str>][\"k\"] += 1", "<deep>[<row>.name][\"k\"] += <int>", "<deep>[<str>]", "<deep=deep> = <deep>",
    "<c=c> = <deep>[<str>] | <c>", "<xs=xs> = [x for x in <xs> if <c>[x] == 0]",
    "<c=c> = defaultdict(lambda: <n>)", "<c=c> = defaultdict(lambda: len(<xs>))",
    "<g>.setdefault(<str>, []).append(<str>)", "<g>.setdefault(<row>.name, []).append(<row>.email)",
    "if <row>.name not in <g>:\n    <g>[<row>.name] = []\n<g>[<row>.name].append(<str>)", "<g>[<str>] = <strs>",
    "<g>[<str>] = <xs>", "<g>[<str>] = <g>.get(<str>, []) + [<str>]", "<xs=xs> = <g>.setdefault(<str>, <xs>)",
    "for h in <g>.values():\n    h.append(<str>)", "<ls>.append(<xs>)", "<ls>.append([<str>])", "<ls>.append(<strs>)",
    "if <ls>:\n    <ls>[-1].append(<str>)", "for h in <ls>:\n    h.append(<str>)", "<ls> = [<xs>, <xs>]",
    "if <b> is None or <row>.age > <b>.age:\n    <b> = <row>", "<b> = <row>", "if <b> is None:\n    <b> = <row>",
    "<b> = None", "<xs=xs> = <xs>", "<d=d> = <d>", "<rs=rs> = <rs>", "<g=g> = <g>", "<seen=seen> = <seen>",
    "<n>, <t> = <int>, <str>", "<t>, <t> = <str>, <str>", "<t=t> = <str>", "<n=n> = <int>", "<xs=xs> = <strs>",
    "<rs=rs> = <rows>", "note(<xs>, <str>)", "<t=t> = note(<xs>, <str>)", "<row>, <row> = <row>, <row>",
    "<xs=xs> = (<xs> if <bool> else <xs>)", "p = (<xs>, <n>)\np[0].append(<str>)",
    "<row=r> = max(<rs>, key=lambda u: u.age) if <rs> else <row>",
    "<line>.amount += <int>", "<line>.amount = <int>", "<line>.name = <str>", "<line>.tags.append(<str>)",
    "<line>.tags += [<str>]", "<line>.tags = <xs>", "<lines>.append(<line>)",
    "<lines>.append(Line(<row>.name, <row>.age))",
    "<lines>.append(Line(<row>.name, <int>))", "<lines>.append(Line(<str>, tags=<xs>))",
    "if <lines>:\n    <lines>[-1].amount += 1", "for <line=h> in <lines>:\n    <line>.amount += <int>",
    "for <line=h> in <lines>:\n    <line>.tags.append(<str>)", "<book>[<row>.name] = Line(<row>.name)",
    "<book>[<str>] = <line>", "<book>.setdefault(<row>.name, Line(<row>.name)).amount += <int>",
    "if <row>.name not in <book>:\n    <book>[<row>.name] = Line(<row>.name)\n<book>[<row>.name].amount += <row>.age",
    "for <line=h> in <book>.values():\n    <line>.amount = <int>", "<line=line> = <line>", "<line=line> = Line(<str>)",
    "<line=line> = replace(<line>, amount=<int>)", "<line>.add(<int>)", "bump(<line>, <int>)",
    "<line=h> = bump(<line>, 1)",
    "<line=h> = (<line> if <bool> else Line(<str>))",
    "<line=h> = (<line> if <bool> else <line>)\n<line>.amount = <int>",
    "<line>.amount, <t> = <int>, <str>", "<lines=lines> = <lines>", "<lines=lines> = [<line>, <line>]",
    "<lines=lines> = sorted(<lines>, key=lambda l: l.name)", "<lines>.sort(key=lambda l: l.amount)",
    "if <lines>:\n    <line=h> = <lines>[0]", "if <lines>:\n    <line=h> = <lines>.pop()",
    "<key=key> = Key(<str>, <int>)",
    "<key=key> = replace(<key>, at=<int>)", "<line=h> = <book>.get(<str>, <line>)",
    "<line> = Line(<row>.name, <row>.age)",
    "<lines=lines> = [l for l in <lines> if l.amount > <int>]", "<line> = <line>",
    "for <line>.amount in range(2):\n    pass",
)  # fmt: skip
"""What is done to state, also through a second name for it."""

BLOCKS: Final = (
    'match <str>:\n    case "a":\n        @\n    case _:\n        @',
    "match <n>:\n    case 0 | 1:\n        @\n    case <v=v> if <bool>:\n        @",
    "if <bool>:\n    @", "if <bool>:\n    @", "if <bool>:\n    @\nelse:\n    @",
    "if <bool>:\n    @\nelif <bool>:\n    @\nelse:\n    @", "for <row=r> in <rows>:\n    @",
    "for <row=r> in <rows>:\n    @", "for <row=r> in <rows>:\n    @", "for <row=r> in <rows>:\n    @\nelse:\n    @",
    "for <v=i>, <row=r> in enumerate(<rows>):\n    @", "for <row=r>, <k=k> in zip(<rows>, names()):\n    @",
    "for <row=r>, <k=k> in zip(<rs>, <xs>):\n    @", 'for <order=o> in orders("a"):\n    @',
    'for <order=o> in orders("a")[:2]:\n    @', "for <k=k> in <strs>:\n    if len(<xs>) > 9:\n        break\n    @",
    "for <k=k> in list(<xs>):\n    @", "for <k=k> in sorted(<seen>):\n    @", "for <k=k>, <v=v> in <d>.items():\n    @",
    "for <k=k> in list(<d>):\n    @", "for <k=k>, <xs=h> in <g>.items():\n    @", "for <v=i> in range(2):\n    @",
    "<v=w> = 0\nwhile <v> < 3 and <bool>:\n    <v> += 1\n    @",
    "<v=w> = 0\nwhile True:\n    <v> += 1\n    if <v> > 3 or <bool>:\n        break\n    @",
    "with suppress(ZeroDivisionError):\n    <n> += 4 // number()\n    @",
    "with suppress(KeyError, ValueError):\n    @\n    <n> = {\"a\": 3}[<str>]\n    @",
    "with suppress(LookupError), nullcontext(names()[<int>]) as <t=w>:\n    @",
    "with nullcontext(<xs>) as <xs=h>, suppress(IndexError):\n    @\n    <t=t> = names()[<n>]",
    "for <v=i> in range(len(<rs>)):\n    <row=r> = <rs>[<v>]\n    @",
)  # fmt: skip

LEAVING: Final = (
    "if <bool>:\n    continue", "if <bool>:\n    break", "if <str> in <seen>:\n    continue", "break",
    "if <bool>:\n    return", "if <n> >= 2:\n    break", "if <row>.active:\n    @\n    break", "continue",
)  # fmt: skip

CLASSES: Final = (
    "from dataclasses import asdict, dataclass, field, replace",
    "",
    "",
    "<options>",
    "class Line:",
    "    name: str",
    "    amount: int = 0",
    "    tags: list[str] = field(default_factory=list)",
    "",
    "    def add(self, more):",
    "        <change>",
    "        return self.amount + more",
    "",
    "",
    "@dataclass(frozen=True)",
    "class Key:",
    "    name: str",
    "    at: int = 1",
    "",
    "",
    "def bump(line, more):",
    "    <bump>",
    "    return line",
    "",
    "",
)
"""What programs may declare. Where nothing is assigned, instances are values."""

Known = dict[str, list[str]]
"""The names of each kind that are bound."""


class Work(Oddities):
    """Writes it."""

    def __init__(self, choices: bytes) -> None:
        super().__init__(choices)
        self._written: list[str] = []
        self._left = 0

    def program(self) -> str:
        """The text of a program, without imports and guarantees."""
        self._left = self.number(6, 22)
        self._written = []
        known: Known = {}
        self._write("def main() -> None:", known, 0)
        for kind in NAMES:
            if self.chance(2):
                self._write(self.pick(NAMES[kind]), known, 1)
        self._write("for <row=r> in <rows>:\n    @", known, 1, loops=1)
        self._block(known, 1, loops=0, count=self.number(1, 5))
        self._write(self._possible(EFFECTS, known), known, 1)
        lines = self._written
        for name in ("Counter", "defaultdict"):
            if any(f"{name}(" in line for line in lines):
                lines = [f"from collections import {name}", "", *lines]
        if any(line.lstrip().startswith("with ") for line in lines):
            lines = ["from contextlib import nullcontext, suppress", "", *lines]
        if any("note(" in line for line in lines):
            noted = ("def note(into, value):", "    into.append(value)", "    return value", "")
            lines = [*noted, *lines]
        if any(name in line for line in lines for name in ("Line(", "Key(")):
            filled = {
                "<options>": self.pick(("@dataclass", "@dataclass(slots=True)")),
                "<change>": self.pick(("self.amount += more", "pass")),
                "<bump>": self.pick(('line.tags.append("x")', "line.amount += more", "pass")),
            }
            declared = "\n".join(CLASSES)
            for place, text in filled.items():
                declared = declared.replace(place, text)
            lines = [*declared.split("\n"), *lines]
        return "\n".join(lines) + "\n"

    def _block(self, known: Known, depth: int, loops: int, count: int) -> None:
        before = len(self._written)
        for _ in range(count):
            if self._left <= 0:
                break
            self._left -= 1
            options = CHANGES if self.chance(2) else EFFECTS
            if depth < DEEPEST and self.chance(3):
                options = BLOCKS
            elif loops and self.chance(6):
                options = LEAVING
            text = self._possible(options, known)
            self._write(text, known, depth, loops)
            if text in ("break", "continue"):
                return
        if len(self._written) == before:
            self._write(self._possible(EFFECTS, known), known, depth)

    def _possible(self, options: tuple[str, ...], known: Known) -> str:
        """One of these whose names are all bound."""
        fitting = [each for each in options if self._fits(each, known)]
        return self.pick(fitting) if fitting else 'log("z")'

    def _fits(self, text: str, known: Known) -> bool:
        bound = {kind for kind, names in known.items() if names} | set(EXPRESSIONS)
        for line in text.split("\n"):
            places = _PLACE.findall(line)
            if any(not new and kind not in bound for new, kind in places):
                return False
            bound |= {new for new, _ in places if new}
        return True

    def _write(self, text: str, known: Known, depth: int, loops: int = 0) -> None:
        # What a loop binds is known inside of it.
        is_loop = "for " in text[:4] or "while " in text
        inner = _copied(known) if is_loop else known
        before = ""
        for line in text.split("\n"):
            indent = (len(line) - len(line.lstrip())) // 4
            if line.strip() == "@":
                inside = loops + (is_loop and before != "else:")
                self._block(_copied(inner), depth + indent, inside, self.number(1, 4))
            else:
                written = self._filled(line.strip(), inner, DEPTH)
                self._written.append("    " * (depth + indent) + written)
            before = line

    def _filled(self, text: str, known: Known, depth: int) -> str:
        made: list[tuple[str, str]] = []

        def one(found: re.Match[str]) -> str:
            kind, name = found[1], found[2]
            if kind:
                made.append((kind, self.fresh(name)))
                return made[-1][1]
            if name in EXPRESSIONS:
                return self._expression(name, known, depth - 1)
            # What was bound last is used most.
            return known[name][-1] if self.chance(2) else self.pick(known[name])

        written = _PLACE.sub(one, text)
        for kind, name in made:
            known.setdefault(kind, []).append(name)
        return written

    def _expression(self, kind: str, known: Known, depth: int) -> str:
        options = [
            each
            for each in EXPRESSIONS[kind]
            if self._fits(each, known)
            and (depth > 0 or not any(k in EXPRESSIONS for _, k in _PLACE.findall(each)))
        ]
        return self._filled(self.pick(options), known, depth)


def _copied(known: Known) -> Known:
    return {kind: list(names) for kind, names in known.items()}
