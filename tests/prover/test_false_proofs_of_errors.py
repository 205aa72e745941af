"""Programs that handle errors: what a run breaks in which a call fails is never proved, and what none breaks is."""

from __future__ import annotations

from pathlib import Path

import pytest

from lictor_prove.layer_model import Layer
from lictor_prove.layers import load_layer
from lictor_prove.proof.prover import prove

LAYERS = Path(__file__).parent / "layers"
HEAD = """
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import everybody, lock, log, names, number, pay, send_email, unlock
from tools.desk.trusted.schemas import UserRow
"""

FALSE = {
    "what failed did not surely happen before": """
@lictor_layer.guarantee(c.logged_first())
def main() -> None:
    try:
        log("x")
    except Exception:
        pass
    send_email("bob@example.com", "m")
""",
    "what failed may have happened": """
@lictor_layer.guarantee(c.at_most(1))
def main() -> None:
    try:
        send_email("bob@example.com", "m")
    except ConnectionError:
        send_email("bob@example.com", "m")
""",
    "four attempts are not three": """
@lictor_layer.guarantee(c.at_most(3))
def main() -> None:
    for attempt in range(4):
        try:
            send_email("bob@example.com", "m")
            return
        except ConnectionError:
            continue
""",
    "a failed attempt is counted at least": """
@lictor_layer.guarantee(c.at_least(1))
def main() -> None:
    try:
        send_email("bob@example.com", "m")
    except Exception:
        pass
""",
    "a failed attempt is spent": """
@lictor_layer.guarantee(c.spend(5))
def main() -> None:
    try:
        pay("a", 3)
    except Exception:
        pay("a", 3)
""",
    "a failed attempt is not spent": """
@lictor_layer.guarantee(c.spend_at_least(3))
def main() -> None:
    try:
        pay("a", 3)
    except Exception:
        pass
""",
    "two attempts are not different": """
@lictor_layer.guarantee(c.different_accounts())
def main() -> None:
    try:
        pay("a", 3)
    except Exception:
        pay("a", 3)
""",
    "a handler has effects": """
@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    try:
        log("x")
    except Exception:
        send_email("eve@example.com", "m")
""",
    "so has a finally, after a failure that nobody handles": """
@lictor_layer.guarantee(c.log_never("failed"))
def main() -> None:
    text = "failed"
    try:
        number()
        text = "fine"
    finally:
        log(text)
""",
    "so has one after return": """
def f() -> int:
    try:
        return 1
    finally:
        send_email("eve@example.com", "m")

@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    f()
""",
    "what was assigned before the error stays": """
@lictor_layer.guarantee(c.only(["bob@example.com"]))
def main() -> None:
    to = "bob@example.com"
    try:
        to = "eve@example.com"
        number()
        to = "bob@example.com"
    except Exception:
        pass
    send_email(to, "m")
""",
    "what was appended before the error stays": """
@lictor_layer.guarantee(c.only(["bob@example.com"]))
def main() -> None:
    to = ["bob@example.com"]
    try:
        to.append("eve@example.com")
        number()
        to.pop()
    except Exception:
        pass
    for each in to:
        send_email(each, "m")
""",
    "an inner handler may not take it": """
@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    try:
        try:
            number()
        except KeyError:
            log("inner")
    except Exception:
        send_email("eve@example.com", "m")
""",
    "an error in a handler goes out": """
@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    try:
        try:
            number()
        except Exception:
            number()
    except ValueError:
        send_email("eve@example.com", "m")
""",
    "a known error is taken by a class above": """
@lictor_layer.guarantee(c.none_sent())
def main(x: int) -> None:
    d = {1: 1}
    try:
        log(str(d[x]))
    except LookupError:
        send_email("eve@example.com", "m")
""",
    "a loop is left by an error": """
@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    try:
        for each in names():
            log(str(int(each)))
    except ValueError:
        send_email("eve@example.com", "m")
""",
    "an error in a comprehension": """
@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    try:
        xs = [int(each) for each in names()]
    except ValueError:
        send_email("eve@example.com", "m")
""",
    "who failed is not who was reached": """
@lictor_layer.guarantee(c.only(["bob@example.com"]))
def main() -> None:
    failed = []
    for each in names():
        try:
            log(each)
        except ConnectionError:
            failed.append(each)
    for each in failed:
        send_email(each, "m")
""",
    "else is not handled": """
@lictor_layer.guarantee(c.at_least(1))
def main() -> None:
    try:
        x = 1
    except Exception:
        pass
    else:
        if number() > 0:
            send_email("bob@example.com", "m")
""",
    "an assertion may be handled": """
@lictor_layer.guarantee(c.none_sent())
def main(x: int) -> None:
    try:
        assert x > 0
    except AssertionError:
        send_email("eve@example.com", "m")
""",
    "nothing that fails is handled outside": """
@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    try:
        if number() > 0:
            raise ValueError("x")
    except KeyError:
        log("x")
""",
    "the text of an error": """
@lictor_layer.guarantee(c.log_is("no"))
def main() -> None:
    try:
        number()
    except Exception as error:
        log(str(error))
""",
    "the last rest of a retry": """
@lictor_layer.guarantee(c.exactly(1))
def main() -> None:
    for attempt in range(2):
        try:
            send_email("bob@example.com", "m")
            break
        except Exception:
            log("again")
""",
    "a lock that failed may not have been set": """
@lictor_layer.guarantee(c.locked("a"))
def main() -> None:
    unlock("a")
    try:
        lock("a")
    except Exception:
        pass
""",
    "an unlock that failed may have been set": """
@lictor_layer.guarantee(c.all_locked())
def main() -> None:
    try:
        unlock("a")
    except Exception:
        pass
    else:
        lock("a")
""",
    "an unlock in a loop that failed may have been set": """
@lictor_layer.guarantee(c.all_locked())
def main() -> None:
    for each in names():
        try:
            unlock(each)
        except Exception:
            continue
        lock(each)
""",
    "a budget that only counts what returned": """
@lictor_layer.guarantee(c.spend(100))
def main() -> None:
    spent = 0
    for each in names():
        n = len(each)
        if spent + n > 100:
            break
        try:
            pay("a", n)
        except Exception:
            continue
        spent += n
""",
    "a counter that only counts what returned": """
@lictor_layer.guarantee(c.at_most(3))
def main() -> None:
    sent = 0
    for each in names():
        if sent >= 3:
            break
        try:
            send_email("bob@example.com", "m")
        except ConnectionError:
            log("x")
        else:
            sent += 1
""",
    "a counter that is asked, and only counts what returned": """
@lictor_layer.guarantee(c.at_most(3))
def main() -> None:
    sent = 0
    for each in names():
        if sent < 3:
            try:
                send_email("bob@example.com", "m")
                sent += 1
            except ConnectionError:
                pass
""",
    "who was tried may be tried again": """
@lictor_layer.guarantee(c.unique())
def main() -> None:
    seen = set()
    for each in names():
        if each in seen:
            continue
        try:
            send_email(each, "m")
        except Exception:
            continue
        seen.add(each)
""",
    "an int of too many digits has no text": """
@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    n = number()
    try:
        str(n * n)
    except Exception:
        send_email("bob@example.com", "m")
""",
    "nor in a list": """
@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    n = number()
    try:
        log(f"{[n]}")
    except ValueError:
        send_email("bob@example.com", "m")
""",
    "nor is it printed": """
@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    n = number()
    try:
        print("n is", n)
    except ValueError:
        send_email("bob@example.com", "m")
""",
    "a text may be one that can't be printed here": """
@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    for each in everybody():
        try:
            print(each.name)
        except Exception:
            send_email("bob@example.com", "m")
""",
    "nor has it one in a format of decimal digits": """
@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    n = number()
    try:
        f"{n:d}"
    except ValueError:
        send_email("bob@example.com", "m")
""",
    "nor in one that only pads": """
@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    n = number()
    try:
        "{:>8}".format(n)
    except ValueError:
        send_email("bob@example.com", "m")
""",
    "nor with separators": """
@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    n = number()
    try:
        format(n, ",")
    except ValueError:
        send_email("bob@example.com", "m")
""",
    "a range may be too long to be sorted": """
@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    n = number()
    try:
        sorted(range(n))
    except OverflowError:
        send_email("bob@example.com", "m")
""",
    "a range may be too long for a display": """
@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    n = number()
    try:
        [0, *range(n)]
    except OverflowError:
        send_email("bob@example.com", "m")
""",
    "a range may be too long to be taken over": """
@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    n = number()
    xs = [0]
    try:
        xs += range(n)
    except OverflowError:
        send_email("bob@example.com", "m")
""",
    "an iterator over a range knows how long it is": """
@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    n = number()
    try:
        list(reversed(range(n)))
    except OverflowError:
        send_email("bob@example.com", "m")
""",
    "nobody handles that a range is too long": """
@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    xs = sorted(range(number()))
""",
    "an error that holds such an int has no text": """
@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    n = number()
    try:
        raise KeyError(n)
    except KeyError as error:
        try:
            str(error)
        except ValueError:
            send_email("bob@example.com", "m")
""",
    "nor has one that Python raised for it": """
@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    try:
        {1: 1}[number()]
    except KeyError as error:
        try:
            f"{error!r}"
        except ValueError:
            send_email("bob@example.com", "m")
""",
    "what a layer raises may have no text": """
@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    try:
        number()
    except Exception as error:
        try:
            f"{error}"
        except Exception:
            send_email("bob@example.com", "m")
""",
}

TRUE = {
    "the error is printed": """
@lictor_layer.guarantee(c.at_most(1))
def main() -> None:
    try:
        send_email("bob@example.com", "m")
    except Exception as error:
        print("failed:", error)
""",
    "attempts are counted": """
@lictor_layer.guarantee(c.at_most(3))
@lictor_layer.guarantee(c.only(["bob@example.com"]))
def main() -> None:
    for attempt in range(3):
        try:
            send_email("bob@example.com", "m")
            return
        except ConnectionError as error:
            log(f"{attempt}: {error}")
""",
    "who goes on has logged": """
@lictor_layer.guarantee(c.logged_first())
def main() -> None:
    try:
        log("x")
    except Exception:
        return
    send_email("bob@example.com", "m")
""",
    "else comes after what succeeded": """
@lictor_layer.guarantee(c.logged_first())
def main() -> None:
    try:
        log("x")
    except Exception:
        pass
    else:
        send_email("bob@example.com", "m")
""",
    "a class that does not take it": """
@lictor_layer.guarantee(c.none_sent())
def main(x: int) -> None:
    d = {1: 1}
    try:
        log(str(d[x]))
    except KeyError:
        log("none")
    except Exception:
        log("other")
""",
    "rows that failed are rows": """
@lictor_layer.guarantee(c.to_users())
def main() -> None:
    failed = []
    for each in everybody():
        try:
            log(each.name)
        except ConnectionError:
            failed.append(each)
    for each in failed:
        send_email(each.email, "m")
""",
    "a range that is not too long": """
@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    n = min(number(), 100)
    try:
        sorted(range(n))
    except OverflowError:
        send_email("bob@example.com", "m")
""",
    "hexadecimal digits are never too many": """
@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    n = number()
    try:
        f"{n:x}"
    except ValueError:
        send_email("bob@example.com", "m")
""",
    "the text of an error is logged": """
@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    for each in everybody():
        try:
            log(each.name)
        except Exception as error:
            print(f"failed: {error}")
""",
    "a handler that raises again sends nothing": """
@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    try:
        number()
    except Exception:
        log("failed")
        raise
    finally:
        log("done")
""",
    "a lock in a finally": """
@lictor_layer.guarantee(c.locked("a"))
def main() -> None:
    try:
        unlock("a")
    finally:
        lock("a")
""",
}


@pytest.fixture(scope="module")
def layer() -> Layer:
    return load_layer([LAYERS / "tools/desk/trusted"], [LAYERS])


@pytest.mark.parametrize("name", FALSE)
def test_what_a_failure_breaks_is_not_proved(name: str, layer: Layer) -> None:
    proof = prove(HEAD + FALSE[name], name="program.py", layer=layer)
    assert str(proof.verdict) in ("refuted", "unknown"), proof.reasons


@pytest.mark.parametrize("name", TRUE)
def test_what_no_failure_breaks_is_proved(name: str, layer: Layer) -> None:
    proof = prove(HEAD + TRUE[name], name="program.py", layer=layer)
    assert str(proof.verdict) == "proved", (proof.reasons, proof.guarantees)
