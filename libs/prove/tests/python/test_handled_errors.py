"""`try`: whatever Python does when calls and operations fail, the document says that it may be done."""

from __future__ import annotations

import builtins
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

import pytest

from libs.prove.tests.python_front_end import HEAD, program, read
from lictor_ir.document import Document
from lictor_ir.evaluation import follows
from lictor_ir.evaluation.following import ObservedCall
from lictor_ir.json.document import from_json, to_json
from lictor_ir.text import document_reader, document_writer

FAILURES = (None, "KeyError", "ConnectionError", "ValueError")
MOST_PLANS = 48
NUMBERS = (3, 0, -2)
TEXTS = ("7", "x", "a")


class _Early(BaseException):
    """The run is over."""


def _python(
    body: str, before: str, plan: Sequence[str | None], first: int
) -> tuple[list[ObservedCall], bool]:
    """The calls that Python makes when those of the plan fail, and whether it comes to its end."""
    made: list[ObservedCall] = []

    def call(effect: str, names: Sequence[str], args: Sequence[Any], answer: Any) -> Any:
        number = len(made)
        given = dict(zip(names, args, strict=False))
        error = plan[number] if number < len(plan) else None
        if error is not None:
            made.append(ObservedCall(effect, given, fails=True))
            raise getattr(builtins, error)("no")
        made.append(ObservedCall(effect, given, answer))
        return answer

    def number() -> int:
        return call("number", (), (), NUMBERS[(len(made) + first) % 3])

    def text() -> str:
        return call("text", (), (), TEXTS[(len(made) + first) % 3])

    def names() -> list[str]:
        return call("names", (), (), [*TEXTS[first:], "8"])

    def note(value: object) -> None:
        call("note", ("value",), (value,), None)

    def send(addr: str, msg: str) -> None:
        call("send", ("addr", "msg"), (addr, msg), None)

    scope: dict[str, Any] = {
        "number": number,
        "text": text,
        "names": names,
        "note": note,
        "send": send,
    }
    lines = program(body, before=before).removeprefix(HEAD)
    exec(lines, scope)  # noqa: S102 -- written above
    try:
        scope["main"]()
    except Exception:  # noqa: BLE001 -- whatever ends it
        return made, False
    return made, True


def _plans(document: Document) -> Iterator[tuple[str | None, ...]]:
    size = min(5, max(1, len(document.atoms)))
    for at, plan in enumerate(product(FAILURES, repeat=size)):
        if at % max(1, len(FAILURES) ** size // MOST_PLANS) == 0:
            yield plan


PROGRAMS = {
    "a handler and else": """
try:
    n = number()
    note(str(n))
except ValueError as e:
    note(f'bad {e}')
else:
    note('fine')
note('end')
""",
    "what was assigned before the error": """
a = 'none'
try:
    a = 'before'
    number()
    a = 'after'
    number()
    a = 'last'
except (KeyError, ValueError):
    note(a)
note(a)
""",
    "handlers in order": """
try:
    number()
except KeyError:
    note('key')
except LookupError:
    note('lookup')
except ValueError:
    note('value')
except Exception:
    note('other')
""",
    "finally on every way out": """
def f():
    try:
        n = number()
        if n > 0:
            return 'returned'
        note('on')
    except KeyError:
        return 'handled'
    finally:
        note('finally')
    return 'end'
note(f())
""",
    "break and continue through finally": """
for i in range(3):
    try:
        try:
            n = number()
        except ValueError:
            continue
        finally:
            note(str(i))
        if n < 0:
            break
    except KeyError:
        note('outer')
    note('round')
note('end')
""",
    "nested": """
try:
    try:
        number()
        note('a')
    except KeyError:
        note('inner')
        number()
        note('b')
    finally:
        note('f')
except ValueError:
    note('outer')
note('end')
""",
    "raised again": """
try:
    try:
        number()
    except Exception:
        note('log')
        raise
    note('on')
except KeyError:
    note('key')
""",
    "raised again, and nobody handles it": """
try:
    number()
except Exception as e:
    note('log')
    raise RuntimeError('no') from e
finally:
    note('f')
note('end')
""",
    "an error in a handler": """
try:
    try:
        number()
    except KeyError:
        note('1')
        raise ValueError('2')
except ValueError:
    note('3')
""",
    "a class that is known": """
n = number()
try:
    if n > 0:
        raise KeyError('a')
    if n < 0:
        raise ConnectionError('b')
    note('none')
except LookupError:
    note('lookup')
except OSError:
    note('os')
""",
    "an operation that raises": """
d = {'7': 1}
t = text()
try:
    note(d[t])
    note(10 // number())
except KeyError:
    note('key')
except ZeroDivisionError:
    note('zero')
""",
    "an operation that has no model": """
t = text()
try:
    n = int(t)
except ValueError:
    n = 0
note(n)
""",
    "an assertion": """
n = number()
try:
    assert n > 0, 'small'
    note('large')
except AssertionError as e:
    note(str(e) + '!')
""",
    "a helper raises": """
def parse(t):
    if t == 'x':
        raise ValueError(t)
    note('parsing')
    return int(t)
try:
    note(parse(text()))
except ValueError as e:
    note(str(e))
""",
    "a helper handles": """
def tried():
    try:
        note('a')
    except ConnectionError as e:
        note(f'{e}')
        return False
    return True
n = 0
while n < 2 and not tried():
    n += 1
note(n)
""",
    "a loop over a list": """
bad = []
for t in names():
    try:
        note(t)
    except ConnectionError:
        bad.append(t)
        continue
    note('ok')
for t in bad:
    note(t)
""",
    "an error leaves a loop": """
done = 0
try:
    for t in names():
        note(int(t))
        done += 1
except ValueError:
    note('bad')
else:
    note('all')
note(done >= 0)
""",
    "a comprehension raises": """
try:
    xs = [int(t) for t in names()]
except ValueError:
    xs = []
note(len(xs) >= 0)
""",
    "retry": """
for i in range(3):
    try:
        n = number()
    except ConnectionError:
        note(i)
        continue
    note(n)
    break
else:
    note('gave up')
""",
    "while": """
n = 0
while True:
    n += 1
    try:
        number()
    except KeyError:
        if n > 2:
            raise
    else:
        break
note('end')
""",
    "an argument raises first": """
try:
    send(text(), str(number()))
except Exception:
    note('x')
""",
    "one branch raises": """
n = number()
x = 'a' if n > 0 else 'b'
try:
    y = n // (n - 3) if n > 0 else number()
    note(y)
except ZeroDivisionError:
    note(x)
note('end')
""",
    "an item of a tuple is assigned": """
d = {}
a = 0
try:
    a, d['x'] = 1, number()
except KeyError:
    pass
note(a)
note(len(d))
""",
    "a sort that fails leaves any order": """
xs = [(2, text()), (1, 'b'), (5, 'c'), ('x', 'd')]
try:
    xs.sort(key=lambda each: (each[0], 1))
except TypeError:
    note(xs[0][1])
note(xs[1][1])
""",
    "finally alone": """
try:
    n = number()
    note(n)
finally:
    note('f')
note('end')
""",
    "finally in a loop": """
def f():
    for t in names():
        try:
            if t == 'a':
                return t
            note(t)
        finally:
            note('f')
    return 'none'
note(f())
""",
    "everything": """
try:
    number()
except:
    note('bare')
try:
    number()
except BaseException:
    note('base')
""",
    "nothing fails": "try:\n    a = 1\nexcept ValueError:\n    a = 2\nnote(a)",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_python_does_is_in_the_document(name: str) -> None:
    body = PROGRAMS[name]
    document = read(program(body))
    ended = 0
    for plan in _plans(document):
        for first in range(3):
            calls, completed = _python(body, "", plan, first)
            told = follows(document, {}, calls, ended=completed)
            assert told is None, (plan, first, told, calls)
            ended += completed
    assert ended


@pytest.mark.parametrize("name", PROGRAMS)
def test_documents_of_such_programs_are_written_and_read(name: str) -> None:
    document = read(program(PROGRAMS[name]))
    assert from_json(to_json(document)) == document
    assert document_reader.read(document_writer.write(document)) == document


def _nested(depth: int) -> str:
    lines = ["n = 0"]
    for at in range(depth):
        body = [f"for u{at} in users():", f"    n += u{at}.age", f"    note(u{at}.email)"]
        lines += [" " * 8 * at + line for line in ("try:", *("    " + each for each in body))]
    lines.append(" " * 8 * depth + "note(str(n))")
    for at in reversed(range(depth)):
        lines += [" " * 8 * at + "except ValueError:", " " * 8 * at + "    note('no')"]
    return "\n".join(lines)


def test_loops_in_loops_that_errors_may_leave_are_read_in_few_steps(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each round is executed once where nothing is to be supposed: twice took seven times as long a level."""
    monkeypatch.setattr("lictor_prove.python.machine.machine_state.MAX_STEPS", 3_000)
    assert read(program(_nested(3))).atoms
