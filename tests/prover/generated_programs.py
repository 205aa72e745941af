"""Programs of the subset, made by Hypothesis: typed, so that most of them run, and mean, so that slips show.

A program is lines of Python over the functions of the `desk` layer. What makes provers slip is frequent: negative
divisors, bools as numbers, two names for one list, closures that read a variable later, returns in the middle of
loops, calls behind `and` and `or`. Nothing here knows the prover; the text that comes out is all there is.
"""

from __future__ import annotations

from generated_expressions import (
    BOOL,
    CONTAINERS,
    FLOAT,
    INT,
    INTS,
    KEYS,
    SCALARS,
    SET,
    STR,
    STRS,
    TABLE,
    Function,
    Scope,
)
from generated_oddities import Oddities
from generated_work import Work
from hypothesis import strategies as st


class Writer(Oddities):
    """Writes one program."""

    def __init__(self, choices: bytes) -> None:
        super().__init__(choices)
        self._lines: list[str] = []
        self._depth = 0
        self._budget = 0

    def line(self, text: str) -> None:
        self._lines.append("    " * self._depth + text)

    # -- whole programs --------------------------------------------------------------------------

    def program(self) -> str:
        """The text of a program, without imports and guarantees."""
        for _ in range(self.number(0, 2)):
            self._helper()
        inputs = {
            self.fresh("x"): self.pick((INT, STR, BOOL, FLOAT)) for _ in range(self.number(0, 2))
        }
        given = ", ".join(f"{name}: {kind}" for name, kind in inputs.items())
        self.line(f"def main({given}) -> None:")
        self._budget = self.number(3, 18)
        self._block(Scope(names=inputs), self.number(2, 9))
        text = "\n".join(self._lines) + "\n"
        return f"import re\n\n{text}" if "re." in text else text

    def _helper(self) -> None:
        name = self.fresh("helper")
        kinds = (*SCALARS, INTS, STRS)
        parameters = tuple(self.pick(kinds) for _ in range(self.number(0, 2)))
        result = self.pick((*SCALARS, "None"))
        scope = Scope(in_function=True)
        given: list[str] = []
        for kind in parameters:
            parameter = self.fresh("p")
            scope.names[parameter] = kind
            given.append(parameter)
        self.line(f"def {name}({', '.join(given)}):")
        self._budget = self.number(1, 4)
        self._depth += 1
        before = len(self._lines)
        self._statements(scope, self.number(1, 3))
        changes = any(
            f"{parameter}." in line or f"{parameter}[" in line or f"{parameter} +=" in line
            for parameter, kind in scope.names.items()
            if kind in CONTAINERS and parameter in given
            for line in self._lines[before:]
        )
        if result != "None":
            if self.chance(2):
                self.line(f"if {self.expression(scope, BOOL, 2)}:")
                self.line(f"    return {self.expression(scope, result, 1)}")
            self.line(f"return {self.expression(scope, result, 2)}")
        self._depth -= 1
        self.line("")
        self._functions.append(Function(name, parameters, result, changes))

    def _block(self, scope: Scope, count: int) -> None:
        self._depth += 1
        self._statements(scope, count)
        self._depth -= 1

    def _statements(self, scope: Scope, count: int) -> None:
        before = len(self._lines)
        for _ in range(count):
            if self._budget <= 0:
                break
            self._budget -= 1
            self._statement(scope)
        if len(self._lines) == before:
            self._effect(scope)

    # -- statements ------------------------------------------------------------------------------

    def _statement(self, scope: Scope) -> None:
        kinds = ["effect", "effect", "effect", "bind", "bind", "if", "if", "for"]
        if scope.names:
            kinds += ["rebind", "change", "change", "alias", "augment", "swap"]
        kinds += ["nest", "maybe"]
        if not scope.in_rows:
            kinds += ["rows", "rows", "closure", "collected", "picked", "swept"]
            kinds += ["while", "gathered", "gathered", "best", "first", "grouped"]
        elif len(scope.rows) == 1 and not scope.in_function:
            kinds.append("rows")
        if self._functions:
            kinds.append("call")
        if scope.in_loop:
            kinds.append("leave")
        kind = self.pick(kinds)
        {
            "effect": self._effect,
            "bind": self._bind,
            "rebind": self._rebind,
            "change": self._change,
            "alias": self._alias,
            "augment": self._augment,
            "swap": self._swap,
            "if": self._if,
            "for": self._for,
            "rows": self._rows,
            "closure": self._closure,
            "call": self._call,
            "leave": self._leave,
            "nest": self._nest,
            "maybe": self._maybe,
            "collected": self._collected,
            "picked": self._picked,
            "swept": self._swept,
            "while": self._while,
            "gathered": self._gathered,
            "best": self._best,
            "first": self._first,
            "grouped": self._grouped,
        }[kind](scope)

    def _effect(self, scope: Scope) -> None:
        kind = self.pick(
            ["send", "send", "pay", "pay", "log", "copies", "float", "guarded", "refund"]
        )
        if kind == "send":
            to, text = self.expression(scope, STR, 2), self.expression(scope, STR, 1)
            self.line(f"send_email({to}, {text})")
        elif kind == "pay":
            swapped = f"amount={self.expression(scope, INT, 3)}, account={self._text()}"
            plain = f"{self._text()}, {self.expression(scope, INT, 3)}"
            self.line(f"pay({swapped if self.chance(4) else plain})")
        elif kind == "log":
            self.line(f"log({self.expression(scope, STR, 3)})")
        elif kind == "copies":
            self.line(f"send_copies({self._text()}, {self.expression(scope, STRS, 1)})")
        elif kind == "refund":
            amount = self.expression(scope, INT, 2)
            self.line(f"refund(max({amount}, 0))" if self.chance(2) else f"refund({amount})")
        elif kind == "float":
            self.line(f"pay_float({self.expression(scope, FLOAT, 2)})")
        else:
            operator = self.pick(["and", "or"])
            self.line(f"{self.expression(scope, BOOL, 2)} {operator} log({self._text()})")

    def _bind(self, scope: Scope) -> None:
        kind = self.pick((*SCALARS, FLOAT, *CONTAINERS))
        name = self.fresh("v")
        self.line(f"{name} = {self.expression(scope, kind, 3)}")
        scope.names[name] = kind

    def _changeable(self, scope: Scope, *kinds: str) -> str | None:
        names = [
            name
            for name, kind in scope.names.items()
            if kind in kinds and name not in scope.frozen and not name.startswith("f")
        ]
        return self.pick(names) if names else None

    def _rebind(self, scope: Scope) -> None:
        name = self._changeable(scope, *SCALARS, FLOAT, *CONTAINERS)
        if name is None:
            return self._bind(scope)
        self.line(f"{name} = {self.expression(scope, scope.names[name], 2)}")

    def _alias(self, scope: Scope) -> None:
        found = [name for name, kind in scope.names.items() if kind in CONTAINERS]
        if not found:
            return self._bind(scope)
        source, name = self.pick(found), self.fresh("v")
        self.line(f"{name} = {source}")
        scope.names[name] = scope.names[source]
        if source in scope.frozen:
            scope.frozen |= {name}

    def _augment(self, scope: Scope) -> None:
        name = self._changeable(scope, INT, STR, INTS, STRS)
        if name is None:
            return self._effect(scope)
        kind = scope.names[name]
        operator = self.pick(["+=", "-=", "*="]) if kind == INT else "+="
        self.line(f"{name} {operator} {self.expression(scope, kind, 1)}")

    def _swap(self, scope: Scope) -> None:
        name = self._changeable(scope, *SCALARS, *CONTAINERS)
        if name is None:
            return self._effect(scope)
        others = [
            other
            for other, kind in scope.names.items()
            if kind == scope.names[name] and other not in scope.frozen and not other.startswith("f")
        ]
        other = self.pick(others)
        self.line(f"{name}, {other} = {other}, {name}")

    def _change(self, scope: Scope) -> None:
        name = self._changeable(scope, *CONTAINERS)
        if name is None:
            return self._bind(scope)
        kind = scope.names[name]
        item = INT if kind in (INTS, SET) else STR
        value = self.expression(scope, item, 1) if kind != TABLE else ""
        options = {
            INTS: [f"{name}.append({value})", f"{name}.extend([{value}, 1])", f"{name}.clear()"],
            STRS: [f"{name}.append({value})", f"{name}.extend([{value}])", f"{name}.clear()"],
            SET: [
                f"{name}.add({value})",
                f"{name}.discard({value})",
                f"{name}.update({{{value}}})",
            ],
            TABLE: [
                f'{name}["{self.pick(KEYS)}"] = {self.expression(scope, INT, 1)}',
                f'{name}.pop("{self.pick(KEYS)}", 0)',
                f'{name}.setdefault("{self.pick(KEYS)}", {self.expression(scope, INT, 1)})',
                f'{name}.update({{"{self.pick(KEYS)}": {self.expression(scope, INT, 1)}}})',
            ],
        }[kind]
        if kind in (INTS, STRS):
            options += [f"if {name}:\n{'    ' * (self._depth + 1)}{name}.pop()"]
            options += [f"if {name}:\n{'    ' * (self._depth + 1)}{name}[0] = {value}"]
            options += [f"if {name}:\n{'    ' * (self._depth + 1)}{name}[-1] = {value}"]
            options += [f"{name}.insert({self.number(-1, 2)}, {value})", f"{name}.reverse()"]
            options += [
                f"if {value} in {name}:\n{'    ' * (self._depth + 1)}{name}.remove({value})"
            ]
        self.line(self.pick(options))

    def _if(self, scope: Scope) -> None:
        self.line(f"if {self.expression(scope, BOOL, 3)}:")
        ends: list[Scope] = [self._branch(scope)]
        if self.chance(3):
            self.line(f"elif {self.expression(scope, BOOL, 2)}:")
            ends.append(self._branch(scope))
        if self.chance(2):
            self.line("else:")
            ends.append(self._branch(scope))
            both = set.intersection(*(set(end.names) for end in ends))
            for name in sorted(both):
                kinds = {end.names[name] for end in ends}
                if name not in scope.names and len(kinds) == 1:
                    scope.names[name] = kinds.pop()

    def _branch(self, scope: Scope) -> Scope:
        inner = scope.inner()
        self._block(inner, self.number(1, 2))
        if not scope.in_rows and not scope.in_function and self.chance(8):
            self._depth += 1
            self.line("return")
            self._depth -= 1
        return inner

    def _for(self, scope: Scope) -> None:
        kind = self.pick([INT, STR])
        item = self.fresh("i")
        source = self._iterated(scope, kind)
        self.line(f"for {item} in {source}:")
        # The loop may change what it iterates over by no name but its own: that case has tests of its own.
        inner = scope.inner(in_loop=True, in_rows=scope.in_rows)
        inner.names[item] = kind
        inner.frozen = scope.frozen | {
            name for name, held in scope.names.items() if held in CONTAINERS
        }
        self._block(inner, self.number(1, 3))

    def _iterated(self, scope: Scope, kind: str) -> str:
        if kind == INT:
            if self.chance(3):
                low, step = self.number(-2, 2), self.pick(["1", "2", "-1"])
                return f"range({low}, {self.number(-2, 3)}, {step})"
            if self.chance(2):
                return f"range({self.number(0, 3)})"
        if self.chance(3):
            return self.expression(scope, INTS if kind == INT else STRS, 1)
        if kind == STR and self.chance(5):
            return self.expression(scope, TABLE, 1)
        if kind == INT and self.chance(5):
            return f"{self.expression(scope, TABLE, 1)}.values()"
        if kind == STR and self.chance(6):
            return self._text()
        items = [self.expression(scope, kind, 1) for _ in range(self.number(1, 3))]
        return f"[{', '.join(items)}]" if self.chance(2) else f"({', '.join(items)},)"

    def _leave(self, scope: Scope) -> None:
        self.line(f"if {self.expression(scope, BOOL, 2)}:")
        self._depth += 1
        self.line(self.pick(["continue", "break"]))
        self._depth -= 1

    def _rows(self, scope: Scope) -> None:
        row = self.fresh("row")
        strings, counted = self.chance(4), self.chance(8)
        if counted:
            self.line(f"for {row} in range(len({self.pick(('names', 'users'))}())):")
        elif strings:
            self.line(f"for {row} in names():")
        elif self.chance(2):
            self.line(f"for {row} in users():")
        else:
            rows = self.fresh("rows")
            self.line(f"{rows} = users()")
            self.line(f"for {row} in {rows}:")
        # What a round leaves for the next one: most of the time, nothing.
        frozen = scope.frozen if self.chance(2) else frozenset(scope.names)
        inner = scope.inner(in_rows=True, in_loop=True, frozen=frozen)
        if counted or strings:
            inner.names[row] = INT if counted else STR
            inner.frozen |= {row}
        else:
            inner.rows = (*scope.rows, row)
        self._block(inner, self.number(1, 3))

    def _while(self, scope: Scope) -> None:
        """A loop that ends when an answer says so, or after a few rounds."""
        count, most = self.fresh("v"), self.number(1, 4)
        self.line(f"{count} = 0")
        asked = self.pick(('is_allowed("a")', "number() > 0", "names()"))
        self.line(f"while {count} < {most} and {asked}:")
        inner = scope.inner(in_rows=True, in_loop=False, frozen=scope.frozen | {count})
        inner.names[count] = INT
        self._block(inner, self.number(1, 2))
        self.line(f"    {count} += {self.number(1, 2)}")
        scope.names[count] = INT

    def _gathered(self, scope: Scope) -> None:
        """A container that a loop over rows fills, and what is done with it."""
        held, row, item = self.fresh("g"), self.fresh("row"), self.fresh("i")
        column = self.pick(("email", "name", "age"))
        kind = self.pick(("list", "set", "dict"))
        inner = scope.inner(rows=(*scope.rows, row))
        self.line(f"{held} = {'[]' if kind == 'list' else 'set()' if kind == 'set' else '{}'}")
        other = self.fresh("g")
        self.line(f"{other} = {held}")
        self.line(f"for {row} in users():")
        if self.chance(2):
            self.line(f"    if {self.expression(inner, BOOL, 1)}:")
            self.line(f"        {self.pick(('continue', 'break', 'pass'))}")
        added = {
            "list": f"{held}.append({row}.{column})",
            "set": f"{held}.add({row}.{column})",
            "dict": f"{held}[{row}.{column}] = {held}.get({row}.{column}, 0) + 1",
        }[kind]
        self.line(f"    {added}")
        shown = f"str({item})" if column == "age" else item
        source = self.pick((held, other, f"sorted({other})"))
        self.line(f"for {item} in {source}:")
        self.line(f"    send_email({shown}, str(len({held})))")
        if kind == "list":
            self.line(f"if {other}:")
            self.line(f"    log(str({other}[{self.pick(('0', '-1'))}]))")

    def _best(self, scope: Scope) -> None:
        """The row that is remembered of all."""
        best, row = self.fresh("b"), self.fresh("row")
        self.line(f"{best} = None")
        self.line(f"for {row} in users():")
        self.line(f"    if {best} is None or {row}.age {self.pick(('<', '>='))} {best}.age:")
        self.line(f"        {best} = {row}")
        self.line(f"if {best} is not None:")
        self.line(f"    send_email({best}.email, {best}.{self.pick(('name', 'email'))})")

    def _first(self, scope: Scope) -> None:
        """The first row of which something holds."""
        row, name = self.fresh("row"), self.fresh("v")
        inner = scope.inner(rows=(*scope.rows, row))
        self.line(f"{name} = {self._text()}")
        self.line(f"for {row} in users():")
        self.line(f"    if {self.expression(inner, BOOL, 2)}:")
        self.line(f"        {name} = {row}.{self.pick(('name', 'email'))}")
        self.line("        break")
        if self.chance(2):
            self.line("else:")
            self.line(f"    log({name})")
        self.line(f"send_email({name}, {name})")
        scope.names[name] = STR

    def _grouped(self, scope: Scope) -> None:
        """Rows in lists by what they have in common."""
        groups, row, key, held = (self.fresh(each) for each in ("g", "row", "i", "h"))
        self.line(f"{groups} = {{}}")
        self.line(f"for {row} in users():")
        if self.chance(2):
            self.line(f"    {groups}.setdefault({row}.name, []).append({row})")
        else:
            self.line(f"    if {row}.name not in {groups}:")
            self.line(f"        {groups}[{row}.name] = []")
            self.line(f"    {groups}[{row}.name].append({row})")
        self.line(f"for {key}, {held} in {groups}.items():")
        self.line(f"    send_email({key}, str(len({held})))")
        self.line(f"    for {row} in {held}:")
        self.line(f"        log({row}.email + str(sum(r.age for r in {held})))")

    def _closure(self, scope: Scope) -> None:
        name = self.fresh("fun")
        if self.chance(2):
            kind = self.pick(SCALARS)
            self.line(f"{name} = lambda: {self.expression(scope, kind, 2)}")
        else:
            self.line(f"def {name}():")
            inner = scope.inner(in_function=True, in_loop=False, frozen=frozenset(scope.names))
            # A name that the body binds is local to it, and outer ones are read as they are when it runs.
            self._block(inner, self.number(1, 2))
        if self.chance(2):
            self._statement(scope)
        self.line(f"{name}()")
        if self.chance(2):
            self._rebind(scope)
            self.line(f"{name}()")

    def _nest(self, scope: Scope) -> None:
        """A container inside a container, changed from outside or from inside."""
        found = [name for name, kind in scope.names.items() if kind in (INTS, STRS)]
        if not found:
            return self._bind(scope)
        held = self.pick(found)
        outer, inner = self.fresh("n"), self.fresh("v")
        shape = self.pick([f"[{held}]", f"({held}, 1)", f'{{"k": {held}}}', f"[{held}, {held}]"])
        at = '"k"' if shape.startswith("{") else "0"
        self.line(f"{outer} = {shape}")
        self.line(f"{inner} = {outer}[{at}]")
        scope.names[inner] = scope.names[held]
        if held in scope.frozen:
            scope.frozen |= {inner}
        elif self.chance(2):
            item = INT if scope.names[held] == INTS else STR
            self.line(f"{outer}[{at}].append({self.expression(scope, item, 1)})")

    def _maybe(self, scope: Scope) -> None:
        """A name that is None on some paths."""
        name, kind = self.fresh("m"), self.pick([STR, INT])
        self.line(
            f"{name} = {self.expression(scope, kind, 1)} if {self._condition(scope)} else None"
        )
        if self.chance(2):
            self.line(f"if {name} is not None:")
            inner = scope.inner()
            inner.names[name] = kind
            inner.frozen |= {name}
            self._block(inner, 1)
        else:
            bound = self.fresh("v")
            self.line(f"{bound} = {name} or {self._literal(kind)}")
            scope.names[bound] = kind

    def _condition(self, scope: Scope) -> str:
        return self.expression(scope, BOOL, 1)

    def _collected(self, scope: Scope) -> None:
        """A comprehension over rows, and what is done with it."""
        name, row, item = self.fresh("rows"), self.fresh("c"), self.fresh("i")
        column = self.pick(("email", "name", "age"))
        kind = INT if column == "age" else STR
        inner = scope.inner(rows=(*scope.rows, row))
        only = f" if {self.expression(inner, BOOL, 1)}" if self.chance(2) else ""
        self.line(f"{name} = [{row}.{column} for {row} in users(){only}]")
        if self.chance(3):
            self.line(f"if {name}:")
            self.line(f"    pay({self._text()}, len({name}))")
            return
        self.line(f"for {item} in {name}:")
        body = scope.inner(in_rows=True, in_loop=True, frozen=frozenset((*scope.names, item)))
        body.names[item] = kind
        self._block(body, self.number(1, 2))

    def _picked(self, scope: Scope) -> None:
        """One row of a result, by its index."""
        rows, name = self.fresh("rows"), self.fresh("v")
        at = self.pick(["0", "-1", "1", f"len({rows}) - 1"])
        least = 2 if at == "1" else 1
        column = self.pick(("email", "name"))
        self.line(f"{rows} = users()")
        if self.chance(4):
            self.line(f"{name} = {rows}[{at}].{column}")
        else:
            self.line(
                f"{name} = {rows}[{at}].{column} if len({rows}) >= {least} else {self._text()}"
            )
        scope.names[name] = STR

    def _swept(self, scope: Scope) -> None:
        """Effects inside a comprehension, or a loop that counts."""
        row = self.fresh("c")
        inner = scope.inner(rows=(*scope.rows, row), frozen=frozenset(scope.names), in_rows=True)
        only = f" if {self.expression(inner, BOOL, 1)}" if self.chance(2) else ""
        done = self.pick([f"send_email({row}.email, {row}.name)", f"lookup({row}.name)"])
        if self.chance(2):
            self.line(f"{self.fresh('v')} = [{done} for {row} in users(){only}]")
            return
        at = self.fresh("i")
        self.line(f"for {at}, {row} in enumerate(users()):")
        inner.in_loop = True
        inner.names[at] = INT
        inner.frozen |= {at}
        self._block(inner, self.number(1, 2))

    def _call(self, scope: Scope) -> None:
        function = self._functions[self.number(0, len(self._functions) - 1)]
        if function.changes and (scope.in_rows or scope.frozen):
            return self._effect(scope)
        self.line(self._called(scope, function))


def program_of(choices: bytes) -> str:
    """The text of a program with a function `main`, without imports and guarantees."""
    if choices and choices[0] % 2:
        return Work(choices[1:]).program()
    return Writer(choices[1:]).program()


def programs() -> st.SearchStrategy[str]:
    """Programs. One draw of bytes is fast, and bytes shrink to the simplest choices."""
    return st.binary(min_size=60, max_size=900).map(program_of)


def computing_programs() -> st.SearchStrategy[str]:
    """Programs that compute with what the prover knows exactly."""
    return st.binary(min_size=60, max_size=900).map(lambda choices: Writer(choices).program())
