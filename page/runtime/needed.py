"""Which earlier cells a cell needs: those that make or change the names that it uses, and what those need in turn."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

RANDOM = "<random numbers>"  # as if a name: whoever draws uses what earlier draws left, and changes it
# What draws from torch's own generator, or seeds it. Layers draw their first weights.
DRAWS = {"manual_seed", "rand", "randn", "randint", "randperm", "rand_like", "randn_like", "normal", "multinomial"}
DRAWS |= {"bernoulli", "Dropout", "dropout", "Linear", "Embedding", "Conv1d", "Conv2d", "LSTM", "GRU", "normal_"}
DRAWS |= {"uniform_", "exponential_", "bernoulli_", "random_", "shuffle", "sample", "Parameter", "MultiheadAttention"}
# The course's layers and trained models do so, too.
DRAWS |= {"SingleHeadAttention", "MultiHeadAttention", "CachedAttention", "LearnedPositions", "FeedForward", "Block"}
DRAWS |= {"Encoder", "Decoder", "EncoderDecoder", "Tagger", "Repeater", "load_tagger", "load_repeater", "load_writer"}
CHANGES = {"append", "extend", "insert", "pop", "clear", "update", "add", "setdefault", "remove"}


def needed(cells: Sequence[str]) -> list[int]:
    """The places of the cells that the last one needs, and its own, in order; all, where one cannot be read.

    A cell that changes a name in place (an item, an attribute, a method that ends in _ or is of a list) uses it too.
    """
    try:
        about = [Names(ast.parse(source).body) for source in cells]
    except SyntaxError:
        return list(range(len(cells)))
    drawing = {RANDOM}  # and the functions and classes that draw when they are called
    changing: dict[str, set[str]] = {}  # what functions change when they are called
    for names in about:
        changing |= names.alters
        names.changes |= set().union(*(changing.get(name, set()) for name in names.uses))
        drawing |= {name for name, inside in names.defines.items() if inside & drawing}
        if names.reads & drawing:
            names.makes.add(RANDOM)
            names.uses.add(RANDOM)
    late: set[str] = set()  # what functions use: it may be made after them
    while True:
        found = places_back(about, late)
        inside = set().union(*(uses for place in found for uses in about[place].defines.values())) - {RANDOM}
        if inside <= late:
            return found
        late |= inside


def places_back(about: Sequence[Names], late: set[str]) -> list[int]:
    """Go back from the last cell, and take each that makes or changes what is wanted by then."""
    wanted, found = about[-1].uses | late, [len(about) - 1]
    for place in range(len(about) - 2, -1, -1):
        names = about[place]
        if (names.makes | names.changes) & wanted:
            wanted = wanted - names.made | names.uses
            found.append(place)
    return sorted(found)


class Names(ast.NodeVisitor):
    """The names of a cell, or of a function in it, read in the order in which it runs.

    reads    every name that it reads
    uses     what it needs from before: names that are read where they may not have been made here
    makes    what it may make
    changes  what it changes in place
    made     what it has surely made by now, whatever was there before
    defines  what each function or class uses when it is called
    alters   what each of them changes then
    """

    def __init__(self, body: Sequence[ast.AST], made: set[str] | None = None) -> None:
        self.reads: set[str] = set()
        self.uses: set[str] = set()
        self.makes: set[str] = set()
        self.changes: set[str] = set()
        self.made = made or set()
        self.defines: dict[str, set[str]] = {}
        self.alters: dict[str, set[str]] = {}
        self.read(body)
        for names in (self.uses, self.makes, self.changes, self.made):
            names -= {"", "_"}

    def read(self, parts: Sequence[ast.AST | None]) -> None:
        for part in filter(None, parts):
            self.visit(part)

    @contextmanager
    def perhaps(self) -> Iterator[None]:
        """What may not run, or not be left alone in the end: afterwards nothing of it is surely made."""
        before = set(self.made)
        yield
        self.made = before

    def visit_Name(self, node: ast.Name) -> None:
        if node.id in DRAWS:
            self.draw()
        if not isinstance(node.ctx, ast.Load):
            self.makes.add(node.id)
            self.made.add(node.id)
        else:
            self.reads.add(node.id)
            self.uses |= {node.id} - self.made

    def draw(self) -> None:
        self.reads.add(RANDOM)
        self.uses.add(RANDOM)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        if node.attr in DRAWS:
            self.draw()
        if isinstance(node.ctx, ast.Store) or node.attr in CHANGES or node.attr.endswith("_"):
            self.changes.add(root_of(node))
        self.visit(node.value)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        if isinstance(node.ctx, ast.Store):
            self.changes.add(root_of(node))
        self.generic_visit(node)

    def visit_alias(self, node: ast.alias) -> None:
        name = (node.asname or node.name).partition(".")[0]
        self.makes.add(name)
        self.made.add(name)

    # ── what does not run in the order in which it is written ──

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

    # ── what may not run ──

    def visit_For(self, node: ast.For) -> None:
        self.visit(node.iter)
        with self.perhaps():
            self.read([node.target, *node.body])
        with self.perhaps():
            self.read(node.orelse)

    def visit_While(self, node: ast.While) -> None:
        self.visit_If(node)

    def visit_If(self, node: ast.If | ast.While) -> None:
        self.visit(node.test)
        for block in (node.body, node.orelse):
            with self.perhaps():
                self.read(block)

    def visit_Try(self, node: ast.Try) -> None:
        for block in (node.body, node.handlers, node.orelse):
            with self.perhaps():
                self.read(block)
        self.read(node.finalbody)

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        self.read([node.type])
        with self.perhaps():
            self.made.add(node.name or "")
            self.read(node.body)

    # ── what has names of its own ──

    def visit_DictComp(self, node: ast.DictComp) -> None:
        self.comprehend(node.generators, node.key, node.value)

    def visit_ListComp(self, node: ast.ListComp) -> None:
        self.comprehend(node.generators, node.elt)

    def visit_SetComp(self, node: ast.SetComp) -> None:
        self.comprehend(node.generators, node.elt)

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> None:
        self.comprehend(node.generators, node.elt)

    def comprehend(self, generators: list[ast.comprehension], *last: ast.expr) -> None:
        parts = [part for one in generators for part in (one.iter, one.target, *one.ifs)]
        self.take(Names([*parts, *last], set(self.made)))

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self.visit(node.args)
        self.take(Names([node.body], parameters(node.args)))

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self.read([*node.decorator_list, node.args, node.returns])
        inside = Names(node.body, parameters(node.args))
        self.define(node.name, inside, inside.uses.union(*inside.defines.values()) - inside.own())

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self.read([*node.decorator_list, *node.bases, *node.keywords])
        inside = Names(node.body)
        self.define(node.name, inside, (inside.uses - inside.own()).union(*inside.defines.values()))

    def define(self, name: str, inside: Names, uses: set[str]) -> None:
        """What is used inside may be made later; what draws inside draws when it is called."""
        self.defines[name] = uses
        self.alters[name] = inside.changes - inside.own()
        self.uses |= uses - self.made - {RANDOM, name}
        self.changes |= self.alters[name]
        self.makes.add(name)
        self.made.add(name)

    def take(self, inside: Names) -> None:
        """What an expression with names of its own uses at once."""
        self.reads |= inside.reads
        self.uses |= inside.uses - self.made
        self.changes |= inside.changes - inside.own()

    def own(self) -> set[str]:
        """The names that belong to this function alone: its parameters, and what it assigns."""
        return self.made | self.makes


def parameters(args: ast.arguments) -> set[str]:
    return {node.arg for node in ast.walk(args) if isinstance(node, ast.arg)}


def root_of(node: ast.expr) -> str:
    """The name at which `a.b[c].d` begins; nothing where it begins with a call."""
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""
