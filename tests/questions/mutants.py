"""Make wrong answers by mutation: each reference with one small change, at every place where the change is possible.

A *subject* is the source of a question's reference: the function or class, and the helpers of its own module that it
calls. First, code that the question does not need is removed: parameters that no case passes are replaced by their
defaults, and a guard goes unless a case expects its exception. Then each operator below changes one node of the tree at
a time.
"""

from __future__ import annotations

import ast
import builtins
import copy
import inspect
import itertools
import pickle
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import torch
from torch import Tensor

from qkv import attention
from qkv import cache as kv_cache
from qkv import softmax as softmax_module
from qkv.questions.engine.comparing import differences
from qkv.questions.engine.difference import WRONG_RESULT
from qkv.questions.engine.judging import Verdict, float32_remark, judge
from qkv.questions.engine.question import Question
from qkv.questions.shared import writing
from qkv.sandboxed.cases import Case
from qkv.sandboxed.isolation import quiet, undisturbed
from qkv.sandboxed.observations import Observation, observe, results_of

MAX_TICKS = 300_000  # iterations of loops, over all cases of a check; then an endless mutant raises an error

# References that a factory makes: the class in the package that does the same, as a learner would write it.
PLAIN_SOURCE: dict[str, Any] = {"2.5": attention.SingleHeadAttention}
# Helpers from another module that the question is about.
ALSO: dict[str, tuple[Any, ...]] = {
    "5.4": (softmax_module.masked_softmax,),
    "5.5": (softmax_module.masked_softmax,),
}
# Parts that are questions of their own. Where another question's reference calls them, they are not mutated.
PARTS = (
    *(softmax_module.softmax, kv_cache.KVCache, attention.Cache, attention.unchanged),
    *(writing.block, writing.writer, writing.without_head, writing.part),
)
# Code of the package that the question does not ask for, as pairs: the code, and its replacement.
WITH_A_MASK = ("softmax(scores) if mask is None else masked_softmax(scores, mask)", "masked_softmax(scores, mask)")
MASK_FITS = ("    mask = _mask_for(scores, mask)\n", "")
AS_MANY_KEYS = (
    ("n_q: int, n_k: int | None = None", "n: int"),
    ("    n_k = n_q if n_k is None else n_k\n", ""),
    ("torch.ones(n_q, n_k, dtype=torch.bool).tril(n_k - n_q)", "torch.ones(n, n, dtype=torch.bool).tril()"),
)
NOT_ASKED: dict[str, tuple[tuple[str, str], ...]] = {
    "2.5": (("x: Tensor, mask: Tensor | None = None", "x: Tensor"), (", mask)", ")")),
    "5.1": (("n_heads < 1 or ", ""),),
    "5.3": AS_MANY_KEYS,
    "5.4": (WITH_A_MASK, MASK_FITS),
    "5.5": (MASK_FITS,),
    "7.1": (
        ("        self._check(k, v)\n", ""),
        ("    @property\n    def next_position", "    def next_position"),
        ("start: int = 0, stop: int | None = None", ""),
        ("slice(start, len(self) if stop is None else stop)", "slice(0, len(self))"),
    ),
    "10.1": (
        ("n_q: int, window: int, n_k: int | None = None, sinks: int = 0,", "n: int, window: int,"),
        ("allowed = causal_mask(n_q, n_k)", "allowed = causal_mask(n)"),
        ("else torch.ones(n_q, n_k, dtype=torch.bool)\n", "else torch.ones(n, n, dtype=torch.bool)\n"),
        ("torch.arange(n_k - n_q, n_k)[:, None] - torch.arange(n_k)", "torch.arange(n)[:, None] - torch.arange(n)"),
        ("    first = torch.arange(n_k) < sinks\n", ""),
        ("((lag.abs() < window) | first)", "(lag.abs() < window)"),
        *AS_MANY_KEYS,
    ),
    "7.5": (
        WITH_A_MASK,
        ('return visit("heads", weighted_sum(weights, v)), weights', "return weighted_sum(weights, v)"),
        ("mask.to(q.device))[0]", "mask)"),
        ("causal_mask(q.shape[-2], k.shape[-2])", "causal_mask(q.shape[-2])"),
        *AS_MANY_KEYS,
    ),
}


@dataclass(frozen=True)
class Mutant:
    """A reference with one change.

    Attributes:
        question: the question's id
        operator: the kind of change
        function: the name of the changed function
        was, now: the changed statement, before and after
        source: the whole source of the changed subject
    """

    question: str
    operator: str
    function: str
    was: str
    now: str
    source: str = field(repr=False)

    def __str__(self) -> str:
        return f"{self.question} {self.function}: {self.was} → {self.now}"


@dataclass(frozen=True, eq=False)
class Subject:
    """A question's reference as a syntax tree, and the global names that it needs."""

    question: Question
    name: str
    tree: ast.Module
    namespace: dict[str, Any]

    def compile(self, source: str | None = None) -> Any:
        """Compile a mutant's source (default: the reference). Return the answer, and the effects of its helpers."""
        effects = Effects()
        names = self.namespace | {"_tick": Ticks(), "_rounded": effects.rounded, "_cut": effects.cut}
        tree = _Ticking().visit(ast.parse(source)) if source is not None else copy.deepcopy(self.tree)
        exec(compile(ast.fix_missing_locations(tree), f"<mutant of {self.question.id}>", "exec"), names)
        return names[self.name], effects


class Ticks:
    """A counter of loop iterations, which raises an error when there are too many."""

    def __init__(self) -> None:
        self.left = MAX_TICKS

    def __call__(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise TimeoutError("this loop does not end")


class Effects:
    """The helpers that mutants call. `any` is False if they changed no value: then the mutant equals the reference."""

    def __init__(self) -> None:
        self.any = False

    def rounded(self, value: Any) -> Any:
        """Round a value, and remember if this changed it."""
        if isinstance(value, Tensor) and value.is_floating_point():
            new = value.round()
            self.any |= not torch.equal(new, value)
            return new
        if isinstance(value, float):
            self.any |= value != round(value)
            return float(round(value))
        return value

    def cut(self, value: Any) -> Any:
        """Cut a tensor from its gradient history, and remember if it had one."""
        if isinstance(value, Tensor) and value.requires_grad:
            self.any = True
            return value.detach()
        return value


class _Ticking(ast.NodeTransformer):
    """Insert a call of `_tick` into each loop."""

    def visit_While(self, node: ast.While) -> ast.AST:
        self.generic_visit(node)
        node.body.insert(0, ast.parse("_tick()").body[0])
        return node

    def visit_For(self, node: ast.For) -> ast.AST:
        self.generic_visit(node)
        node.body.insert(0, ast.parse("_tick()").body[0])
        return node


# ── the subject ───────────────────────────────────────────────────────────────────────────────────


def subject_of(question: Question) -> Subject:
    """Return the subject of a question: its reference and helpers, without code that the question does not need."""
    reference = PLAIN_SOURCE.get(question.id, question.reference)
    module = inspect.getmodule(reference)
    assert module is not None
    also = ALSO.get(question.id, ())
    namespace = {name: value for part in also for name, value in vars(inspect.getmodule(part)).items()} | vars(module)
    parts = {part for part in PARTS if part is not reference}
    sources = _with_helpers(question, reference, module.__name__, namespace, also, parts)
    tree = ast.Module(list(reversed(sources.values())), [])
    tree = _reparsed(_Plain(_expected_exceptions(question), _called_methods(question)).visit(tree))
    while _fold_constants(tree, question, reference.__name__):
        tree = _reparsed(_Folded().visit(tree))
    return Subject(question, reference.__name__, tree, namespace)


def _reparsed(tree: ast.Module) -> ast.Module:
    """Write a tree as source and parse it again, which gives a consistent tree."""
    return ast.parse(ast.unparse(ast.fix_missing_locations(tree)))


def _with_helpers(
    question: Question, reference: Any, module: str, namespace: dict[str, Any], also: tuple[Any, ...], parts: set[Any]
) -> dict[str, ast.stmt]:
    """Parse the reference and all functions and classes of its own module that it uses, callers first."""
    found: dict[str, ast.stmt] = {}
    waiting = [reference]
    while waiting:
        thing = waiting.pop(0)
        text = textwrap.dedent(inspect.getsource(thing))
        for old, new in NOT_ASKED.get(question.id, ()):
            text = text.replace(old, new)
        tree = ast.parse(text).body[0]
        found.pop(thing.__name__, None)
        found[thing.__name__] = tree
        for node in ast.walk(tree):
            called = namespace.get(node.id) if isinstance(node, ast.Name) else None
            if not (inspect.isfunction(called) or inspect.isclass(called)) or called in parts:
                continue
            if (called.__module__ == module or called in also) and called is not thing:
                waiting.append(called)
    return found


@cache
def _expected_exceptions(question: Question) -> frozenset[str]:
    """Return the names of the exceptions that the question's cases expect."""
    return frozenset(case.raises for seed in range(3) for case in question.fresh_cases(seed) if case.raises)


def _called_methods(question: Question) -> set[str]:
    """Return the names of the methods that the question's cases call."""
    return {step.method or "forward" for case in question.fresh_cases(0) for step in case.script}


class _Plain(ast.NodeTransformer):
    """Remove docstrings, annotations, devices, calls of `visit`, and guards whose exception no case expects."""

    def __init__(self, raises: frozenset[str], methods: set[str]) -> None:
        self.raises = raises
        self.methods = methods

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """Remove annotations, the docstring and the parameter `visit`."""
        node.returns = None
        if node.args.args and node.args.args[-1].arg == "visit":
            node.args.args.pop()
            node.args.defaults.pop()
        for arg in [*node.args.args, *node.args.kwonlyargs]:
            arg.annotation = None
        if ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:]
        self.generic_visit(node)
        node.body = node.body or [ast.Pass()]
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        """Remove the docstring, and methods that no case calls."""
        if ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:]
        used = {n.attr for n in ast.walk(node) if isinstance(n, ast.Attribute)} | self.methods
        node.body = [
            item for item in node.body
            if not isinstance(item, ast.FunctionDef) or item.name in used or item.name.startswith("__")
        ]  # fmt: skip
        return self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        assert node.value is not None
        return self.generic_visit(ast.Assign([node.target], node.value))

    def visit_Assign(self, node: ast.Assign) -> Any:
        self.generic_visit(node)
        return None if ast.unparse(node.targets[0]) == ast.unparse(node.value) else node

    def visit_If(self, node: ast.If) -> Any:
        """Remove a guard whose exception no case expects."""
        guard = len(node.body) == 1 and isinstance(node.body[0], ast.Raise) and not node.orelse
        if guard and not any(name in ast.unparse(node.body[0]) for name in self.raises):
            return None
        return self.generic_visit(node)

    def visit_Raise(self, node: ast.Raise) -> ast.AST:
        assert isinstance(node.exc, ast.Call)
        return ast.Raise(ast.Call(node.exc.func, [], []), None)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Remove calls of `visit`, moves to a device, and arguments that change nothing."""
        self.generic_visit(node)
        node.keywords = [k for k in node.keywords if k.arg not in ("device", "strict", "bias")]
        name = node.func.id if isinstance(node.func, ast.Name) else None
        if name == "visit":
            return node.args[1]
        node.args = [arg for arg in node.args if ast.unparse(arg) != "visit"]
        if name == "softmax" and len(node.args) < 3 and all(k.arg != "dim" for k in node.keywords):
            node.keywords.append(ast.keyword("dim", ast.Constant(-1)))  # so that the default can be mutated
        moved = isinstance(node.func, ast.Attribute) and node.func.attr in ("to", "cpu")
        if moved and (not node.args or ast.unparse(node.args[0]).endswith(".device")):
            return node.func.value
        return node


def _fold_constants(tree: ast.Module, question: Question, name: str) -> bool:
    """Replace one parameter that is the same constant in every call by this constant. Return whether there was one."""
    for function, owner in _functions(tree):
        method = owner is not None
        if function.name == "__init__":
            continue
        nodes = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
        calls = [call for call in nodes if _is_call_of(call, function.name, method)]
        passed = _passed_by_cases(question) if name in (function.name, owner) else None
        for i in reversed(range(method, len(function.args.args))):
            if _fold_parameter(function, i, calls, method, passed):
                return True
    return False


def _is_call_of(call: ast.Call, name: str, method: bool) -> bool:
    """Check whether a node calls the function or method of this name."""
    target = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", None)
    return target == name and isinstance(call.func, ast.Attribute) == method


def _fold_parameter(
    function: ast.FunctionDef, i: int, calls: list[ast.Call], method: bool, passed: tuple[int, set[str]] | None
) -> bool:
    """Replace the i-th parameter by its value, if the calls and the cases all pass the same constant. Return if so."""
    arguments = function.args
    name, n_defaults = arguments.args[i].arg, len(arguments.defaults)
    default = i - (len(arguments.args) - n_defaults)
    values = [arguments.defaults[default]] if default >= 0 and (passed or not calls) else []
    if passed and (i - method < passed[0] or name in passed[1]):
        return False
    for call in calls:
        named = [k.value for k in call.keywords if k.arg == name]
        here = call.args[i - method : i - method + 1] or named or arguments.defaults[default : default + 1]
        values += here or [ast.Name("unknown")]
    constant = {ast.unparse(value) for value in values}
    plain = isinstance(values[0], ast.Constant) or ast.unparse(values[0]).startswith("torch.") if values else False
    if len(constant) != 1 or not plain:
        return False
    for call in calls:
        del call.args[i - method : i - method + 1]
        call.keywords = [k for k in call.keywords if k.arg != name]
    del arguments.args[i]
    if default >= 0:
        del arguments.defaults[default]
    for statement in function.body:
        stores = [n.id for n in ast.walk(statement) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
        _Substituted(name, values[0]).visit(statement)
        if name in stores:
            break
    return True


def _functions(tree: ast.Module) -> Iterator[tuple[ast.FunctionDef, str | None]]:
    """Yield all functions and methods, each with the name of its class or None."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            yield node, None
        elif isinstance(node, ast.ClassDef):
            yield from ((item, node.name) for item in node.body if isinstance(item, ast.FunctionDef))


@cache
def _passed_by_cases(question: Question) -> tuple[int, set[str]]:
    """Return the largest number of positional arguments, and the keyword arguments, in the calls of the cases."""
    steps = [step for seed in range(3) for case in question.fresh_cases(seed) for step in case.script]
    calls = [step for step in steps if step.act == "call" and step.on is None]
    return max(len(step.args) for step in calls), {name for step in calls for name in step.kwargs}


class _Substituted(ast.NodeTransformer):
    """Replace every use of a name by an expression."""

    def __init__(self, name: str, value: ast.expr) -> None:
        self.name, self.value = name, value

    def visit_Name(self, node: ast.Name) -> ast.AST:
        here = node.id == self.name and isinstance(node.ctx, ast.Load)
        return copy.deepcopy(self.value) if here else node


class _Folded(ast.NodeTransformer):
    """Evaluate constant expressions (`None is None`, `x / 1.0`), and replace a branch whose condition is constant."""

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        return _evaluated(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        self.generic_visit(node)
        return _evaluated(node) if isinstance(node.op, ast.Not) else node

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        self.generic_visit(node)
        return (node.body if node.test.value else node.orelse) if isinstance(node.test, ast.Constant) else node

    def visit_If(self, node: ast.If) -> Any:
        self.generic_visit(node)
        return (node.body if node.test.value else node.orelse) if isinstance(node.test, ast.Constant) else node

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        """Remove a multiplication by 1 and a division by 1."""
        self.generic_visit(node)
        one = (
            isinstance(node.right, ast.Constant) and node.right.value == 1 and isinstance(node.op, (ast.Div, ast.Mult))
        )
        return node.left if one else node


def _evaluated(node: ast.expr) -> ast.expr:
    """Return the value of an expression as a constant, or the expression if it contains a name."""
    names = [n for n in ast.walk(node) if isinstance(n, (ast.Name, ast.Call, ast.Attribute, ast.Subscript))]
    return node if names else ast.Constant(eval(ast.unparse(node)))


# ── the changes ───────────────────────────────────────────────────────────────────────────────────

Change = tuple[str, ast.AST | None]  # the kind of change, and the new node (None: the node is removed)

ARITHMETIC: dict[type, tuple[type, ...]] = {
    ast.Add: (ast.Sub, ast.Mult),
    ast.Sub: (ast.Add, ast.Mult),
    ast.Mult: (ast.Div, ast.Add),
    ast.Div: (ast.Mult, ast.Sub),
    ast.FloorDiv: (ast.Div, ast.Mult),
    ast.Mod: (ast.FloorDiv, ast.Div),
    ast.Pow: (ast.Mult, ast.Div),
    ast.MatMult: (ast.Mult,),
    ast.BitAnd: (ast.BitOr, ast.BitXor),
    ast.BitOr: (ast.BitAnd, ast.BitXor),
}
COMPARISONS: dict[type, tuple[type, ...]] = {
    ast.Lt: (ast.LtE, ast.Gt, ast.GtE),
    ast.LtE: (ast.Lt, ast.GtE, ast.Gt),
    ast.Gt: (ast.GtE, ast.Lt, ast.LtE),
    ast.GtE: (ast.Gt, ast.LtE, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
}
# Functions that do not change when arguments are exchanged.
SYMMETRIC = ("transpose", "maximum", "minimum", "max", "min", "broadcast_shapes")
# The positions of a call's arguments that are axes.
AXIS_AT = {
    **dict.fromkeys(("sum", "mean", "amax", "softmax", "cumsum", "unsqueeze", "squeeze", "unbind", "unfold"), (0,)),
    **dict.fromkeys(("flatten", "unflatten", "argmax", "log_softmax", "gather", "scatter"), (0,)),
    **dict.fromkeys(("transpose", "movedim", "swapaxes"), (0, 1)),
}
REDUCTIONS = ("sum", "mean", "amax", "amin", "softmax", "argmax", "flatten", "squeeze", "sort", "any", "all")


def mutants_of(subject: Subject) -> list[Mutant]:
    """Return all mutants that compile and differ from the reference and from each other."""
    original = ast.unparse(subject.tree)
    seen = {original}
    made = []
    for mutant in _changed(subject):
        if mutant.source not in seen:
            seen.add(mutant.source)
            made.append(mutant)
    return made


def _changed(subject: Subject) -> Iterator[Mutant]:
    """Yield all mutants that compile, with duplicates."""
    nodes = list(ast.walk(subject.tree))
    parents = {id(child): node for node in nodes for child in ast.iter_child_nodes(node)}
    skipped = {id(n) for node in nodes if isinstance(node, (ast.Raise, ast.arguments)) for n in ast.walk(node)}
    for i, node in enumerate(nodes):
        if id(node) in skipped:
            continue
        for operator, new in _changes(node, parents, subject.question):
            tree = _replaced(subject.tree, i, new)
            try:
                source = ast.unparse(ast.fix_missing_locations(tree))
                compile(source, "<mutant>", "exec")
            except (SyntaxError, ValueError):
                continue
            function, was, now = _described(node, new, parents)
            yield Mutant(subject.question.id, operator, function, was, now, source)


def _replaced(tree: ast.Module, i: int, new: ast.AST | None) -> ast.Module:
    """Return a copy of a tree with its i-th node (in the order of `ast.walk`) replaced."""
    tree, new = pickle.loads(pickle.dumps((tree, new)))  # a copy, ten times faster than copy.deepcopy
    target = next(itertools.islice(ast.walk(tree), i, None))

    class Replace(ast.NodeTransformer):
        def visit(self, node: ast.AST) -> Any:
            return new if node is target else self.generic_visit(node)

    return Replace().visit(tree)


def _described(node: ast.AST, new: ast.AST | None, parents: dict[int, ast.AST]) -> tuple[str, str, str]:
    """Return the name of the changed function, and the changed statement before and after."""
    statement = node
    while not isinstance(statement, ast.stmt):
        statement = parents[id(statement)]
    inside = list(ast.walk(statement))
    module = ast.Module([statement], [])
    changed = _replaced(module, 1 + inside.index(node), new)
    function: ast.AST = statement
    while id(function) in parents and not isinstance(function, (ast.FunctionDef, ast.ClassDef)):
        function = parents[id(function)]
    was, now = _first_difference(ast.unparse(module), ast.unparse(ast.fix_missing_locations(changed)))
    return getattr(function, "name", ""), was, now


def _first_difference(was: str, now: str) -> tuple[str, str]:
    """Return the lines in which two versions of a statement differ, without equal lines at both ends."""
    a, b = was.splitlines(), now.splitlines()
    while len(a) > 1 and len(b) > 1 and a[0] == b[0]:
        a, b = a[1:], b[1:]
    while len(a) > 1 and len(b) > 1 and a[-1] == b[-1]:
        a, b = a[:-1], b[:-1]
    return "; ".join(line.strip() for line in a), "; ".join(line.strip() for line in b) or "(left out)"


def _changes(node: ast.AST, parents: dict[int, ast.AST], question: Question) -> Iterator[Change]:
    """Yield all changes of a node."""
    parent = parents.get(id(node))
    if isinstance(node, ast.BinOp):
        yield from _operator_changes(node)
    if isinstance(node, ast.Compare):
        yield from _comparison_changes(node)
    if isinstance(node, ast.BoolOp):
        yield "comparison", ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
        for i in range(len(node.values)):
            rest = node.values[:i] + node.values[i + 1 :]
            yield "left out", rest[0] if len(rest) == 1 else ast.BoolOp(node.op, rest)
    if isinstance(node, ast.UnaryOp) and _number(node) is None:
        yield "mask inverted" if isinstance(node.op, ast.Invert) else "sign", node.operand
    if isinstance(node, ast.Call):
        yield from _call_changes(node)
    if _number(node) is not None and _number(parent) is None:
        yield from _number_changes(node, parent, parents, question)
    if isinstance(node, ast.stmt) and not isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.Pass, ast.Raise)):
        yield "statement left out", ast.Pass()
    if isinstance(node, ast.Tuple) and len(node.elts) < 4 and not _in_slice_or_shape(node, parent):
        for order in list(itertools.permutations(range(len(node.elts))))[1:]:
            yield "order", ast.Tuple([node.elts[i] for i in order], node.ctx)
    if isinstance(node, ast.IfExp):
        yield "branch", node.body
        yield "branch", node.orelse
        yield "branch", ast.IfExp(node.test, node.orelse, node.body)
    if _is_mask(node) and not isinstance(parent, (ast.Compare, ast.UnaryOp, ast.Attribute)):
        yield "mask inverted", ast.UnaryOp(ast.Invert(), node)
    yield from _value_changes(node, parent)


def _is_mask(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id == "mask"


def _value_changes(node: ast.AST, parent: ast.AST | None) -> Iterator[Change]:
    """Yield the changes of a value that is returned or assigned: its sign, rounded, detached, an inverted mask."""
    given = isinstance(parent, (ast.Return, ast.Assign)) and parent.value is node
    # The items of a tuple are changed one by one.
    if given and isinstance(node, ast.Tuple):
        return
    if isinstance(parent, ast.Tuple) and isinstance(node, ast.expr) and isinstance(parent.ctx, ast.Load):
        given = not isinstance(node, (ast.Slice, ast.Constant))
    if not given or _number(node) is not None or isinstance(node, (ast.List, ast.Tuple)):
        return
    assert isinstance(node, ast.expr)
    if not isinstance(node, ast.Compare) and not ast.unparse(node).startswith("nn."):  # a layer has no sign
        yield "sign", ast.UnaryOp(ast.USub(), node)
    if isinstance(node, (ast.Compare,)) or (isinstance(node, ast.Call) and "tril" in ast.unparse(node.func)):
        yield "mask inverted", ast.UnaryOp(ast.Invert(), node)
    yield "rounded", ast.Call(ast.Name("_rounded", ast.Load()), [node], [])
    yield "detached", ast.Call(ast.Name("_cut", ast.Load()), [node], [])


def _operator_changes(node: ast.BinOp) -> Iterator[Change]:
    """Yield another operator, each operand alone, and exchanged operands."""
    for other in ARITHMETIC.get(type(node.op), ()):
        yield "arithmetic", ast.BinOp(node.left, other(), node.right)
    yield "left out", node.left
    yield "left out", node.right
    if not isinstance(node.op, (ast.Add, ast.Mult, ast.BitAnd, ast.BitOr)):
        yield "exchanged", ast.BinOp(node.right, node.op, node.left)


def _comparison_changes(node: ast.Compare) -> Iterator[Change]:
    """Yield the comparison with other operators."""
    for i, op in enumerate(node.ops):
        for other in COMPARISONS.get(type(op), ()):
            yield "comparison", ast.Compare(node.left, [*node.ops[:i], other(), *node.ops[i + 1 :]], node.comparators)


def _call_changes(node: ast.Call) -> Iterator[Change]:
    """Yield the changes of a call: left out, or with exchanged or missing arguments."""
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    is_method = isinstance(node.func, ast.Attribute) and ast.unparse(node.func.value) not in ("torch", "math", "nn")
    if hasattr(builtins, name) and name not in ("min", "max", "sum", "abs", "int", "float"):
        return
    if is_method and not ast.unparse(node.func).startswith(("self.", "super()")):
        yield "left out", node.func.value  # a transpose, a root, a softmax
    elif node.args and name[:1].islower():
        yield "left out", node.args[0]
    for a, b in itertools.combinations(range(len(node.args)), 2) if name not in SYMMETRIC else ():
        args = list(node.args)
        args[a], args[b] = args[b], args[a]
        yield "exchanged", ast.Call(node.func, args, node.keywords)
    for i, keyword in enumerate(node.keywords):
        if not (name == "softmax" and not is_method and keyword.arg == "dim"):  # -1 is its default
            kept = node.keywords[:i] + node.keywords[i + 1 :]
            yield "dim dropped" if keyword.arg == "dim" else "left out", ast.Call(node.func, node.args, kept)
    for i in range(is_method is False, len(node.args)) if name in REDUCTIONS else ():
        yield "dim dropped", ast.Call(node.func, node.args[:i] + node.args[i + 1 :], node.keywords)


def _number(node: ast.AST | None) -> int | float | None:
    """Return the value of a literal number with its sign; None if the node is something else."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = _number(node.operand)
        return None if value is None else -value
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        return node.value
    return None


def _number_changes(
    node: ast.AST, parent: ast.AST | None, parents: dict[int, ast.AST], question: Question
) -> Iterator[Change]:
    """Yield other numbers or, if the number is an axis, other axes."""
    value = _number(node)
    assert value is not None
    if _is_axis(node, parent, parents):
        for axis in _other_axes(int(value), question):
            yield "axis", ast.Constant(axis)
        return
    if isinstance(parent, ast.BinOp) and isinstance(parent.op, (ast.Add, ast.Sub)) and value == 0:
        return
    whole = isinstance(value, int) and not isinstance(parent, ast.BinOp)  # an index or a count, so half of 1 is 0
    half = value // 2 if whole or value % 2 == 0 else value / 2
    new = [value + 1, value - 1, value * 2, half, -value]
    for other in dict.fromkeys(n for n in new if n != value):
        yield "sign" if other == -value else "constant", ast.Constant(other)


def _is_axis(node: ast.AST, parent: ast.AST | None, parents: dict[int, ast.AST]) -> bool:
    """Check whether a number is an axis: dim=…, x.shape[…], or an argument such as that of `sum`."""
    if isinstance(parent, ast.keyword):
        return parent.arg in ("dim", "axis")
    if isinstance(parent, ast.Subscript) and parent.slice is node:
        return ast.unparse(parent.value).endswith(".shape")
    if isinstance(parent, ast.Call) and node in parent.args:
        name = parent.func.attr if isinstance(parent.func, ast.Attribute) else getattr(parent.func, "id", "")
        shift = isinstance(parent.func, ast.Attribute) and ast.unparse(parent.func.value) == "torch"
        return parent.args.index(node) - shift in AXIS_AT.get(name, ())
    return False


def _other_axes(axis: int, question: Question) -> list[int]:
    """Return other axes: from the same end and, if the question allows leading axes, also from the front."""
    if axis >= 0:
        return [other for other in (0, 1, 2) if other != axis]
    leading = any("..." in output for output in question.outputs)
    front = [0, 1] if leading else []
    return [other for other in (-1, -2, -3, *front) if other != axis]


def _in_slice_or_shape(node: ast.Tuple, parent: ast.AST | None) -> bool:
    return isinstance(parent, ast.Subscript) or len(node.elts) < 2


# ── try them ──────────────────────────────────────────────────────────────────────────────────────


def survives(subject: Subject, mutant: Mutant, seed: int) -> bool:
    """Check whether a mutant passes the check with this seed.

    Most mutants already give a wrong result in the first cases; only the others are judged completely.
    """
    question = subject.question
    answer, _ = subject.compile(mutant.source)
    with undisturbed(), quiet():
        for case, want in expected_results(question, seed):
            seen = results_of(answer, case)
            if not seen.absent and any(d.kind in WRONG_RESULT for d in differences(question, case, seen, want)):
                return False
    found = verdict_on(subject, mutant, seed)
    return found is not None and found.status == "passed" and float32_remark() not in found.message


@cache
def expected_results(question: Question, seed: int) -> list[tuple[Case, Observation]]:
    """Draw the cases of a check that expect a result, and return each with the reference's results."""
    with undisturbed(), quiet():
        cases = [case for case in question.fresh_cases(seed) if not case.raises]
        return [(case, results_of(question.reference, case)) for case in cases]


def verdict_on(subject: Subject, mutant: Mutant, seed: int | None = None) -> Verdict | None:
    """Judge a mutant as an answer is judged. Return None if its inserted helper changed no value."""
    answer, effects = subject.compile(mutant.source)
    cases = subject.question.fresh_cases(seed)
    found = judge(subject.question, cases, observe(answer, cases, subject.question.gradients))
    inserted = "_cut(" in mutant.source or "_rounded(" in mutant.source
    return None if inserted and not effects.any else found
