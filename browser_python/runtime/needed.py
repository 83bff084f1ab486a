"""Find the earlier cells that a cell needs: those that assign or change names that it uses, and the cells they need."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

RANDOM = "<random numbers>"  # stands for the generator's state, which each draw reads and changes, like a variable
# Names that draw from torch's generator, or seed it. Layers draw their initial weights.
DRAWS = {"manual_seed", "rand", "randn", "randint", "randperm", "rand_like", "randn_like", "normal", "multinomial"}
DRAWS |= {"bernoulli", "Dropout", "dropout", "Linear", "Embedding", "Conv1d", "Conv2d", "LSTM", "GRU", "normal_"}
DRAWS |= {"uniform_", "exponential_", "bernoulli_", "random_", "shuffle", "sample", "Parameter", "MultiheadAttention"}
# The course's layers and trained models draw too.
DRAWS |= {"SingleHeadAttention", "MultiHeadAttention", "CachedAttention", "LearnedPositions", "FeedForward", "Block"}
DRAWS |= {"Encoder", "Decoder", "EncoderDecoder", "Tagger", "Repeater", "load_tagger", "load_repeater", "load_writer"}
MUTATORS = {"append", "extend", "insert", "pop", "clear", "update", "add", "setdefault", "remove"}


def needed_cells(cells: Sequence[str]) -> list[int]:
    """Return the indices of the last cell and of the cells that it needs, in order; all, if a cell has a syntax error.

    A cell that changes a needed object in place (by an item, an attribute, or a method such as `append` or `mul_`) is
    needed too.
    """
    try:
        about = [Names(ast.parse(source).body) for source in cells]
    except SyntaxError:
        return list(range(len(cells)))
    drawing = {RANDOM}  # with the functions and classes that draw when they are called
    changing: dict[str, set[str]] = {}  # for each function, the names whose objects it changes when it is called
    for names in about:
        changing |= names.mutates_when_called
        names.mutates |= set().union(*(changing.get(name, set()) for name in names.uses))
        drawing |= {name for name, inside in names.uses_when_called.items() if inside & drawing}
        if names.reads & drawing:
            names.may_assign.add(RANDOM)
            names.uses.add(RANDOM)
    late: set[str] = set()  # names that functions use when they are called: later cells may assign them
    while True:
        found = needed_places(about, late)
        inside = set().union(*(uses for place in found for uses in about[place].uses_when_called.values())) - {RANDOM}
        if inside <= late:
            return found
        late |= inside


def needed_places(about: Sequence[Names], late: set[str]) -> list[int]:
    """Return the indices of the last cell and of those before it that assign or change a name needed after them."""
    wanted, found = about[-1].uses | late, [len(about) - 1]
    for place in range(len(about) - 2, -1, -1):
        names = about[place]
        if (names.may_assign | names.mutates) & wanted:
            wanted = wanted - names.assigned | names.uses
            found.append(place)
    return sorted(found)


class Names(ast.NodeVisitor):
    """The names in a cell, or in one scope of it. The code is visited in the order in which it runs.

    Attributes:
        reads: every name that is read
        uses: names that are needed from before: read where this code may not have assigned them yet
        may_assign: names that this code may assign
        assigned: names that this code has assigned for certain up to this point
        mutates: names whose objects this code changes in place
        uses_when_called: for each function or class defined here, the names that it uses when it is called
        mutates_when_called: for each of them, the names whose objects it changes when it is called
    """

    def __init__(self, body: Sequence[ast.AST], assigned: set[str] | None = None) -> None:
        self.reads: set[str] = set()
        self.uses: set[str] = set()
        self.may_assign: set[str] = set()
        self.mutates: set[str] = set()
        self.assigned = assigned or set()
        self.uses_when_called: dict[str, set[str]] = {}
        self.mutates_when_called: dict[str, set[str]] = {}
        self.read(body)
        for names in (self.uses, self.may_assign, self.mutates, self.assigned):
            names -= {"", "_"}

    def read(self, parts: Sequence[ast.AST | None]) -> None:
        for part in filter(None, parts):
            self.visit(part)

    @contextmanager
    def branch(self) -> Iterator[None]:
        """Enter code that may not run to its end. Afterwards its assignments do not count as certain."""
        before = set(self.assigned)
        yield
        self.assigned = before

    def visit_Name(self, node: ast.Name) -> None:
        if node.id in DRAWS:
            self.draw()
        if not isinstance(node.ctx, ast.Load):
            self.may_assign.add(node.id)
            self.assigned.add(node.id)
        else:
            self.reads.add(node.id)
            self.uses |= {node.id} - self.assigned

    def draw(self) -> None:
        self.reads.add(RANDOM)
        self.uses.add(RANDOM)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        if node.attr in DRAWS:
            self.draw()
        if isinstance(node.ctx, ast.Store) or node.attr in MUTATORS or node.attr.endswith("_"):
            self.mutates.add(root_of(node))
        self.visit(node.value)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        if isinstance(node.ctx, ast.Store):
            self.mutates.add(root_of(node))
        self.generic_visit(node)

    def visit_alias(self, node: ast.alias) -> None:
        name = (node.asname or node.name).partition(".")[0]
        self.may_assign.add(name)
        self.assigned.add(name)

    # ── nodes whose value is computed before their target is assigned ──

    def visit_Assign(self, node: ast.Assign) -> None:
        self.read([node.value, *node.targets])

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        if isinstance(node.target, ast.Name):
            self.visit(ast.Name(node.target.id, ast.Load()))
        self.read([node.value, node.target])

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value:
            self.read([node.value, node.target])

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        self.read([node.value, node.target])

    # ── code that may not run ──

    def visit_For(self, node: ast.For) -> None:
        self.visit(node.iter)
        with self.branch():
            self.read([node.target, *node.body])
        with self.branch():
            self.read(node.orelse)

    def visit_While(self, node: ast.While) -> None:
        self.visit_If(node)

    def visit_If(self, node: ast.If | ast.While) -> None:
        self.visit(node.test)
        for block in (node.body, node.orelse):
            with self.branch():
                self.read(block)

    def visit_Try(self, node: ast.Try) -> None:
        for block in (node.body, node.handlers, node.orelse):
            with self.branch():
                self.read(block)
        self.read(node.finalbody)

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        self.read([node.type])
        with self.branch():
            self.assigned.add(node.name or "")
            self.read(node.body)

    # ── nodes with a scope of their own ──

    def visit_DictComp(self, node: ast.DictComp) -> None:
        self.read_comprehension(node.generators, node.key, node.value)

    def visit_ListComp(self, node: ast.ListComp) -> None:
        self.read_comprehension(node.generators, node.elt)

    def visit_SetComp(self, node: ast.SetComp) -> None:
        self.read_comprehension(node.generators, node.elt)

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> None:
        self.read_comprehension(node.generators, node.elt)

    def read_comprehension(self, generators: list[ast.comprehension], *last: ast.expr) -> None:
        parts = [part for one in generators for part in (one.iter, one.target, *one.ifs)]
        self.merge_scope(Names([*parts, *last], set(self.assigned)))

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self.visit(node.args)
        self.merge_scope(Names([node.body], parameters(node.args)))

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self.read([*node.decorator_list, node.args, node.returns])
        inside = Names(node.body, parameters(node.args))
        self.define(node.name, inside, inside.uses.union(*inside.uses_when_called.values()) - inside.local_names())

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self.read([*node.decorator_list, *node.bases, *node.keywords])
        inside = Names(node.body)
        self.define(node.name, inside, (inside.uses - inside.local_names()).union(*inside.uses_when_called.values()))

    def define(self, name: str, inside: Names, uses: set[str]) -> None:
        """Add a function or class with the names in its scope. It draws random numbers only when it is called."""
        self.uses_when_called[name] = uses
        self.mutates_when_called[name] = inside.mutates - inside.local_names()
        self.uses |= uses - self.assigned - {RANDOM, name}
        self.mutates |= self.mutates_when_called[name]
        self.may_assign.add(name)
        self.assigned.add(name)

    def merge_scope(self, inside: Names) -> None:
        """Add the names in the scope of a lambda or comprehension, which is assumed to run here."""
        self.reads |= inside.reads
        self.uses |= inside.uses - self.assigned
        self.mutates |= inside.mutates - inside.local_names()

    def local_names(self) -> set[str]:
        """Return the names that are local to this scope: its parameters, and the names that it assigns."""
        return self.assigned | self.may_assign


def parameters(args: ast.arguments) -> set[str]:
    return {node.arg for node in ast.walk(args) if isinstance(node, ast.arg)}


def root_of(node: ast.expr) -> str:
    """Return the first name of an expression such as `a.b[c].d`; an empty string if it starts with a call."""
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""
