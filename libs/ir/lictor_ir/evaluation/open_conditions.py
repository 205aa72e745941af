"""Which condition over declared unknowns is to be asked first, where what comes next is left open beside it.

A condition may rest on unknowns and on a call that happens only if they are so: `p and not q and result(c2) == 1`,
where `c2` is called when `p and not q`. While nobody asked whether `p`, all of it is open, and not by what is declared
alone; in a run in which `p` is false, it is false. So nothing may be given up as left open before every condition that
can decide it was asked: each way in turn, and what was answered is remembered. An honest run takes one of them.

What is asked this way may go either way, also where only one is possible of any value (`endswith(x, "")`): a run that
takes the other is held to it from then on, wherever the same is read, and to the guarantees, call by call. It does
nothing that the document does not do for some answers.
"""

from __future__ import annotations

from lictor_ir.evaluation.term_values import Evaluation
from lictor_ir.terms import App, Term
from lictor_ir.values import Open


def deciding_condition(evaluation: Evaluation, *terms: Term) -> Term | None:
    """A condition that rests on declared unknowns alone, and may decide what else is open of these terms."""
    todo = [evaluation.settled(term) for term in reversed(terms) if _is_left_open(term, evaluation)]
    seen: set[Term] = set()
    while todo:
        term = todo.pop()
        if term in seen or not _is_left_open(term, evaluation):
            continue
        seen.add(term)
        match term:
            case App(op="and" | "or"):
                for part in term.args:
                    if _is_unknown(part, evaluation):
                        return part
                todo += reversed(term.args)
            case App(op="ite"):
                condition, then, otherwise = term.args
                chosen = evaluation.found(condition)
                if isinstance(chosen, Open):
                    todo.append(condition)  # If it were unknown, so would be the whole.
                else:
                    todo.append(then if chosen else otherwise)
            case _:
                todo += reversed(term.below)
    return None


def _is_unknown(term: Term, evaluation: Evaluation) -> bool:
    found = evaluation.found(term)
    return isinstance(found, Open) and found.declared


def _is_left_open(term: Term, evaluation: Evaluation) -> bool:
    found = evaluation.found(term)
    return isinstance(found, Open) and not found.declared
