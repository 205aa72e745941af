"""Programs that grow: straight lines of effects, branches in a row, and branches inside branches.

They call a layer that both provers can load: it is written in clauz3's style.
"""

from __future__ import annotations

from pathlib import Path

from prover_cases import Case

EFFECTS = (10, 100, 1_000)
BRANCHES = (4, 8, 12)
CONTRACTS = ("count", "sum", "distinct")

_FILES = {
    "effects.py": '''"""Effects to measure with."""

import clauz3


@clauz3.trusted
def act(key: str, amount: int) -> None:
    """Do something."""
    pass


@clauz3.trusted
def flag(name: str) -> bool:
    """Whether a flag is set."""
    return False
''',
    "contracts.py": '''"""Contracts to measure with."""

from clauz3.spec import ContractSpec, contract, effect
from tools.growth.trusted.effects import act

Act = effect(act)


@contract
def count(most: int) -> ContractSpec:
    return Act.count() <= most


@contract
def sum(most: int) -> ContractSpec:
    return Act.sum(lambda e: e.amount) <= most


@contract
def distinct(most: int) -> ContractSpec:
    return Act.distinct(lambda e: e.key)
''',
}


def straight(effects: int) -> tuple[str, int]:
    """So many effects in a line, and the bound that they just keep."""
    return "".join(f'    act("k{n}", 1)\n' for n in range(effects)), effects


def in_a_row(branches: int) -> tuple[str, int]:
    """So many branches one after the other: two to the power of that many paths."""
    body = "".join(
        f'    if flag("f{n}"):\n        act("a{n}", 2)\n    else:\n        act("b{n}", 1)\n'
        for n in range(branches)
    )
    return body, branches * 2


def nested(branches: int) -> tuple[str, int]:
    """Branches inside branches, so deep, with an effect in each arm."""
    lines: list[str] = []
    for n in range(branches):
        pad = "    " * (n + 1)
        lines += [f'{pad}if flag("f{n}"):', f'{pad}    act("a{n}", 2)']
    for n in reversed(range(branches)):
        pad = "    " * (n + 1)
        lines += [f"{pad}else:", f'{pad}    act("b{n}", 1)']
    return "\n".join(lines) + "\n", branches * 2


SHAPES = {"straight": straight, "branches": in_a_row, "depth": nested}


def growing_cases(folder: Path) -> list[tuple[str, Case]]:
    """Every program, written below the folder, with a name that says shape, size and contract."""
    trusted = folder / "tools" / "growth" / "trusted"
    trusted.mkdir(parents=True, exist_ok=True)
    for file, text in _FILES.items():
        (trusted / file).write_text(text, "utf-8")
    cases: list[tuple[str, Case]] = []
    for shape, write in SHAPES.items():
        for size in EFFECTS if shape == "straight" else BRANCHES:
            body, most = write(size)
            for contract in CONTRACTS:
                name = f"{shape}_{size}_{contract}"
                file = folder / f"{name}_pass.py"
                file.write_text(
                    "import clauz3\nfrom tools.growth.trusted import contracts as c\n"
                    "from tools.growth.trusted.effects import act, flag\n\n\n"
                    f"@clauz3.guarantee(c.{contract}({most}))\n"
                    f"def main() -> None:\n{body}",
                    "utf-8",
                )
                cases.append((name, Case(name, file, True, (folder,), (trusted,))))
    return cases
