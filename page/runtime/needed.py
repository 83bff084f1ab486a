"""Which earlier cells a cell needs: those that make or change the names that it uses, and what those need in turn."""

from __future__ import annotations

import ast
from collections.abc import Sequence

Names = tuple[set[str], set[str], dict[str, set[str]]]  # see `names_of`
RANDOM = "<random numbers>"  # as if a name: whoever draws uses what earlier draws left, and changes it
# What draws from torch's own generator, or seeds it. Layers draw their first weights.
DRAWS = {"manual_seed", "rand", "randn", "randint", "randperm", "rand_like", "randn_like", "normal", "multinomial"}
DRAWS |= {"bernoulli", "Dropout", "dropout", "Linear", "Embedding", "Conv1d", "Conv2d", "LSTM", "GRU", "normal_"}
DRAWS |= {"uniform_", "exponential_", "bernoulli_", "random_", "shuffle", "sample", "Parameter", "MultiheadAttention"}
CHANGES = {"append", "extend", "insert", "pop", "clear", "update", "add", "setdefault", "remove"}


def needed(cells: Sequence[str]) -> list[int]:
    """The places of the cells that the last one needs, and its own, in order; all, where one cannot be read.

    A cell that changes a name in place (an item, an attribute, a method that ends in _ or is of a list) uses it too.
    """
    try:
        about = [names_of(ast.parse(source)) for source in cells]
    except SyntaxError:
        return list(range(len(cells)))
    drawing = {RANDOM}  # and the functions and classes that draw when they are called
    for uses, makes, defines in about:
        drawing |= {name for name, inside in defines.items() if inside & drawing}
        if uses & drawing:
            makes.add(RANDOM)
            uses.add(RANDOM)
    late: set[str] = set()  # what functions use: it may be made after them
    while True:
        found = places_back(about, late)
        inside = set().union(*(uses for place in found for uses in about[place][2].values()))
        if inside <= late:
            return found
        late |= inside


def places_back(about: Sequence[Names], late: set[str]) -> list[int]:
    """Go back from the last cell, and take each that makes or changes what is wanted by then."""
    wanted, found = about[-1][0] | late, [len(about) - 1]
    for place in range(len(about) - 2, -1, -1):
        uses, makes, _ = about[place]
        if makes & wanted:
            wanted = wanted - (makes - uses) | uses
            found.append(place)
    return sorted(found)


def names_of(tree: ast.AST) -> Names:
    """The names that a cell uses, those that it makes or changes, and what each function or class in it uses."""
    uses: set[str] = set()
    makes: set[str] = set()
    defines: dict[str, set[str]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            (uses if isinstance(node.ctx, ast.Load) else makes).add(node.id)
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            makes.add(node.name)
            if node is not tree:
                defines[node.name] = names_of(node)[0]
        elif isinstance(node, ast.alias):
            makes.add((node.asname or node.name).partition(".")[0])
        elif isinstance(node, ast.Attribute):
            if node.attr in DRAWS:
                uses.add(RANDOM)
            if isinstance(node.ctx, ast.Store) or node.attr in CHANGES or node.attr.endswith("_"):
                makes.add(root_of(node))
        elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
            makes.add(root_of(node))
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            uses.add(node.target.id)
    return uses - {"_"}, makes - {"", "_"}, defines


def root_of(node: ast.expr) -> str:
    """The name at which `a.b[c].d` begins; nothing where it begins with a call."""
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""
