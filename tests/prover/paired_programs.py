"""The same programs in Python and in commands, over the `desk` layer: they must do the same, call by call."""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import dedent

from concrete_runs import PARAMETERS


@dataclass(frozen=True, slots=True)
class Pair:
    """One program, written twice."""

    name: str
    guarantees: tuple[str, ...]
    """Contracts with their arguments; both languages write them alike."""
    python: str
    commands: str
    verdict: str
    same_document: bool = True
    """Whether the two documents are equal but for places and names of indices."""

    def python_source(self) -> str:
        """The file in Python."""
        head = [
            "import lictor_layer",
            "from tools.desk.trusted import contracts as c",
            f"from tools.desk.trusted.effects import {', '.join(PARAMETERS)}",
            "",
            *(f"@lictor_layer.guarantee(c.{each})" for each in self.guarantees),
        ]
        return "\n".join(head) + "\n" + dedent(self.python)

    def commands_source(self) -> str:
        """The file in commands."""
        inputs, _, body = dedent(self.commands).strip().rpartition("---")
        head = ["lictor-commands v1", inputs, *(f"guarantee {each}" for each in self.guarantees)]
        return "\n".join(head) + "\n" + body + "\n"


PAIRS = (
    Pair(
        "one mail",
        ('only(["bob@example.com"])', "exactly(1)"),
        """\
        def main() -> None:
            send_email("bob@example.com", "hello")
        """,
        'call send_email(addr = "bob@example.com", msg = "hello")',
        "proved",
    ),
    Pair(
        "arguments in another order",
        ("spend(5)",),
        """\
        def main() -> None:
            pay(amount=5, account="a")
        """,
        'call pay(amount = 5, account = "a")',
        "proved",
    ),
    Pair(
        "a branch by an input",
        ("at_most(1)",),
        """\
        def main(urgent: bool) -> None:
            if urgent:
                send_email("bob@example.com", "now")
            else:
                log("later")
        """,
        """\
        input urgent: bool
        ---
        when urgent {
            call send_email(addr = "bob@example.com", msg = "now")
        } else {
            call log(text = "later")
        }
        """,
        "proved",
    ),
    Pair(
        "a chain of branches",
        ("each_at_most(2)", "pays_at_most(1)"),
        """\
        def main(n: int) -> None:
            if n < 0:
                pay("low", 0)
            elif n < 10:
                pay("middle", 1)
            elif n == 10:
                pay("ten", 2)
            else:
                pay("high", 3)
        """,
        """\
        input n: int
        ---
        when n < 0 { call pay(account = "low", amount = 0) }
        else when n < 10 { call pay(account = "middle", amount = 1) }
        else when n == 10 { call pay(account = "ten", amount = 2) }
        else { call pay(account = "high", amount = 3) }
        """,
        "refuted",
    ),
    Pair(
        "an early end",
        ("none_sent()",),
        """\
        def main(x: int) -> None:
            if x < 0:
                log("negative")
                return
            log("fine")
            if x == 7:
                send_email("eve@evil.com", "seven")
        """,
        """\
        input x: int
        ---
        when x < 0 {
            call log(text = "negative")
            stop
        }
        call log(text = "fine")
        when x == 7 { call send_email(addr = "eve@evil.com", msg = "seven") }
        """,
        "refuted",
    ),
    Pair(
        "what stands behind the end",
        ("none_sent()",),
        """\
        def main() -> None:
            log("a")
            return
            send_email("eve@evil.com", "never")
        """,
        """\
        call log(text = "a")
        stop
        call send_email(addr = "eve@evil.com", msg = "never")
        """,
        "proved",
    ),
    Pair(
        "a division that is guarded",
        ("each_at_most(100)",),
        """\
        def main(x: int) -> None:
            if x != 0:
                pay("a", 100 // x)
        """,
        """\
        input x: int
        ---
        when not (x == 0) { call pay(account = "a", amount = 100 // x) }
        """,
        "proved",
    ),
    Pair(
        "a division that may fail",
        ("no_lookups()",),
        """\
        def main() -> None:
            n = number()
            pay("a", 10 // n)
            pay("b", 10 % n)
        """,
        """\
        n = call number()
        call pay(account = "a", amount = 10 // n)
        call pay(account = "b", amount = 10 % n)
        """,
        "refuted",
    ),
    Pair(
        "a division behind and",
        ("at_most(1)",),
        """\
        def main(x: int) -> None:
            if x != 0 and 10 // x > 1:
                send_email("bob@example.com", "small")
        """,
        """\
        input x: int
        ---
        when not (x == 0) and 1 < 10 // x {
            call send_email(addr = "bob@example.com", msg = "small")
        }
        """,
        "proved",
    ),
    Pair(
        "a division behind or",
        ("at_most(1)",),
        """\
        def main(x: int) -> None:
            if x == 0 or 10 % x == 1:
                send_email("bob@example.com", "odd")
        """,
        """\
        input x: int
        ---
        when x == 0 or 10 % x == 1 {
            call send_email(addr = "bob@example.com", msg = "odd")
        }
        """,
        "proved",
    ),
    Pair(
        "mail to active users",
        ("to_users()", "at_most(3)"),
        """\
        def main() -> None:
            for user in users():
                if user.active and user.age >= 18:
                    send_email(user.email, user.name)
        """,
        """\
        people = call users()
        for each user in people {
            when user.active and 18 <= user.age {
                call send_email(addr = user.email, msg = user.name)
            }
        }
        """,
        "proved",
    ),
    Pair(
        "mail to names, that are no addresses",
        ("to_users()",),
        """\
        def main() -> None:
            for user in users():
                send_email(user.name, "hello")
        """,
        """\
        people = call users()
        for each user in people { call send_email(addr = user.name, msg = "hello") }
        """,
        "refuted",
    ),
    Pair(
        "a loop in a loop",
        ("at_most(12)",),
        """\
        def main() -> None:
            people = users()
            for who in names():
                for user in people:
                    if user.name == who:
                        send_email(user.email, who)
                log(who)
        """,
        """\
        people = call users()
        listed = call names()
        for each who in listed {
            for each user in people {
                when user.name == who { call send_email(addr = user.email, msg = who) }
            }
            call log(text = who)
        }
        """,
        "proved",
    ),
    Pair(
        "a call in each round",
        ("at_most(4)",),
        """\
        def main() -> None:
            for who in names():
                found = lookup(who)
                if is_allowed(found):
                    send_email(found, who)
        """,
        """\
        listed = call names()
        for each who in listed {
            found = call lookup(name = who)
            ok = call is_allowed(addr = found)
            when ok { call send_email(addr = found, msg = who) }
        }
        """,
        "proved",
    ),
    Pair(
        "counting to three",
        ("spend(3)", "pays_at_most(3)"),
        """\
        def main() -> None:
            for i in range(3):
                pay("a", i)
        """,
        'for i in 0..3 { call pay(account = "a", amount = i) }',
        "proved",
    ),
    Pair(
        "counting to an input",
        ("logs_at_most(3)",),
        """\
        def main(n: int) -> None:
            for i in range(n % 4):
                log("round")
                pay("a", i)
        """,
        """\
        input n: int
        ---
        for i in 0..n % 4 {
            call log(text = "round")
            call pay(account = "a", amount = i)
        }
        """,
        "proved",
    ),
    Pair(
        "a list that is written out",
        ('only(["a", "b"])', "unique()"),
        """\
        def main() -> None:
            for to in ["a", "b"]:
                send_email(to, "hello")
        """,
        'for each to in ["a", "b"] { call send_email(addr = to, msg = "hello") }',
        "proved",
    ),
    Pair(
        "one of two lists",
        ("at_most(2)",),
        """\
        def main(all_of_them: bool) -> None:
            for to in (["a"] if not all_of_them else ["b", "c"]):
                send_email(to, "hello")
        """,
        """\
        input all_of_them: bool
        ---
        for each to in (if not all_of_them then ["a"] else ["b", "c"]) {
            call send_email(addr = to, msg = "hello")
        }
        """,
        "proved",
    ),
    Pair(
        "an end inside a counted loop",
        ("at_most(2)",),
        """\
        def main(n: int) -> None:
            for i in range(3):
                if i == n:
                    return
                send_email("bob@example.com", "again")
        """,
        """\
        input n: int
        ---
        for i in 0..3 {
            when i == n { stop }
            call send_email(addr = "bob@example.com", msg = "again")
        }
        """,
        "refuted",
    ),
    Pair(
        "the first of some",
        ("at_most(1)",),
        """\
        def main() -> None:
            xs = names()
            if len(xs) > 0:
                send_email(xs[0], "you are first")
        """,
        """\
        xs = call names()
        when 0 < len(xs) { call send_email(addr = xs[0], msg = "you are first") }
        """,
        "proved",
    ),
    Pair(
        "the first of perhaps none",
        ("at_most(1)",),
        """\
        def main() -> None:
            xs = names()
            send_email(xs[0], "you are first")
        """,
        """\
        xs = call names()
        call send_email(addr = xs[0], msg = "you are first")
        """,
        "refuted",
    ),
    Pair(
        "items by their index",
        ("logs_at_most(4)",),
        """\
        def main() -> None:
            xs = names()
            for i in range(len(xs)):
                log(xs[i])
        """,
        """\
        xs = call names()
        for i in 0..len(xs) { call log(text = xs[i]) }
        """,
        "proved",
        same_document=False,  # in Python an index below 0 counts from the end
    ),
    Pair(
        "what is asserted",
        ("each_at_most(10)",),
        """\
        def main(n: int) -> None:
            if n < 5:
                assert n <= 10
                pay("a", n)
        """,
        """\
        input n: int
        ---
        when n < 5 {
            assert n <= 10
            call pay(account = "a", amount = n)
        }
        """,
        "proved",
    ),
    Pair(
        "what is asserted and wrong",
        ("each_at_most(10)",),
        """\
        def main(n: int) -> None:
            log("begin")
            assert n <= 10
            pay("a", n)
        """,
        """\
        input n: int
        ---
        call log(text = "begin")
        assert n <= 10
        call pay(account = "a", amount = n)
        """,
        "refuted",
    ),
    Pair(
        "texts",
        ('message_starts("re: ")',),
        """\
        def main(text: str) -> None:
            subject = "re: " + text
            if text.startswith("a") or text.endswith("z") or "@" in text:
                send_email("bob@example.com", subject)
            log(text.replace("a", "b"))
            pay("a", text.count("a"))
            pay("b", text.find("b"))
        """,
        """\
        input text: str
        ---
        let subject = concat("re: ", text)
        when startswith(text, "a") or endswith(text, "z") or contains(text, "@") {
            call send_email(addr = "bob@example.com", msg = subject)
        }
        call log(text = replace(text, "a", "b"))
        call pay(account = "a", amount = count(text, "a"))
        call pay(account = "b", amount = find(text, "b", 0))
        """,
        "proved",
    ),
    Pair(
        "numbers as text",
        ("logs_at_most(2)",),
        """\
        def main(n: int) -> None:
            log(f"n is {n}")
            log(str(-n * 2 + abs(n)))
        """,
        """\
        input n: int
        ---
        call log(text = concat("n is ", str_of_int(n)))
        call log(text = str_of_int(neg(n) * 2 + abs(n)))
        """,
        "proved",
    ),
    Pair(
        "one of some addresses",
        ('only(["bob@example.com", "a"])',),
        """\
        def main(to: str) -> None:
            if to in ["bob@example.com", "a"]:
                send_email(to, "you")
        """,
        """\
        input to: str
        ---
        when to in ["bob@example.com", "a"] { call send_email(addr = to, msg = "you") }
        """,
        "proved",
        same_document=False,  # of Python, `in` becomes one comparison after the other
    ),
    Pair(
        "one value or another",
        ("each_at_most(5)",),
        """\
        def main(n: int) -> None:
            amount = n if n <= 5 else 5
            pay("a", amount)
        """,
        """\
        input n: int
        ---
        let amount = (if n <= 5 then n else 5)
        call pay(account = "a", amount = amount)
        """,
        "proved",
    ),
    Pair(
        "an argument that is left to its default",
        ('copies_are(["a", "b"])',),
        """\
        def main(to: str) -> None:
            send_copies(to, ["a", "b"])
            send_copies(to, ["a", "b"], urgent=True)
        """,
        """\
        input to: str
        ---
        call send_copies(addr = to, copies = ["a", "b"])
        call send_copies(addr = to, copies = ["a", "b"], urgent = true)
        """,
        "proved",
    ),
    Pair(
        "a demand that is met",
        ("logs_at_most(0)",),
        """\
        def main() -> None:
            n = number()
            if n >= 0:
                refund(n)
        """,
        """\
        n = call number()
        when 0 <= n { call refund(amount = n) }
        """,
        "proved",
    ),
    Pair(
        "a demand that is not met",
        ("logs_at_most(0)",),
        """\
        def main() -> None:
            refund(number() - 1)
        """,
        """\
        n = call number()
        call refund(amount = n - 1)
        """,
        "refuted",
    ),
    Pair(
        "floats, and what is no number",
        ("float_at_most(10.0)",),
        """\
        def main() -> None:
            r = rate()
            if r < 10.0:
                pay_float(r)
            if not (r <= 10.0):
                log("more, or no number")
        """,
        """\
        r = call rate()
        when r < 10.0 { call pay_float(amount = r) }
        when not r <= 10.0 { call log(text = "more, or no number") }
        """,
        "proved",
    ),
    Pair(
        "a name that two branches use for themselves",
        ("at_most(1)",),
        """\
        def main(x: bool) -> None:
            if x:
                to = lookup("a")
                send_email(to, "a")
            else:
                to = lookup("b")
                send_email(to, "b")
        """,
        """\
        input x: bool
        ---
        when x {
            to = call lookup(name = "a")
            call send_email(addr = to, msg = "a")
        } else {
            to = call lookup(name = "b")
            call send_email(addr = to, msg = "b")
        }
        """,
        "proved",
    ),
    Pair(
        "a branch that no path takes",
        ("none_sent()",),
        """\
        def main() -> None:
            if False:
                send_email("eve@evil.com", "never")
            if 1 + 1 == 3:
                send_email("eve@evil.com", "never")
            log("done")
        """,
        """\
        when false { call send_email(addr = "eve@evil.com", msg = "never") }
        when 1 + 1 == 3 { call send_email(addr = "eve@evil.com", msg = "never") }
        call log(text = "done")
        """,
        "proved",
    ),
)
