"""Policy packs as formulas: what their rules can do at all, proved or shown by an example.

A rule is a boolean formula over typed facts, so a solver can say for every task at once what tests and past events say
for some. `analysis` looks at packs by themselves, `comparison` at two versions of them. Only `z3_questions` touches
Z3, and imports it when it is first needed.
"""
