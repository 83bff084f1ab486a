"""Arguments of another kind, and attributes that cannot be set, raise an error on the page where they do in torch."""

from __future__ import annotations

import ast
import random
from collections.abc import Iterator
from types import GetSetDescriptorType

import pytest
import torch

from tests.browser_python import test_functions, test_torch
from tests.browser_python.both import BOTH, Raised, outcome
from tests.browser_python.test_torch import X
from tests.seeds import SEED

pytestmark = pytest.mark.filterwarnings("ignore")

OF_OTHER_KINDS = ("None", "...", "'a'", "1.5", "[1]", "(1.5,)", "torch.float32", "{}", "slice(None)", "1j")
# Python's own functions, and classes whose arguments torch itself leaves unchecked until they are used.
NOT_TRIED = {
    "str",
    "list",
    "len",
    "type",
    "setattr",
    "getattr",
    "tuple",
    "vars",
    "manual_seed",
    "state_dict",
    "Categorical",
}
NOT_TRIED |= {name for name in vars(torch.nn) if name[0].isupper()} | {
    name for name in vars(torch.optim) if name[0].isupper()
}
# Arguments that the page takes in another form than torch does, and nobody gives.
ACCEPTED = {"Tensor 0", "finfo 0", "result_type 0", "result_type 1", "new_tensor requires_grad", "tril_indices dtype"}
ACCEPTED |= {
    "movedim source",
    "movedim destination",
    "to 1",
    "to 2",
    "broadcast_shapes 0",
    "broadcast_shapes 1",
    "grad 1",
}
ACCEPTED |= {"matrix_rank tol", "unfold 3", "unfold 4", "unfold stride", "unfold dilation", "interpolate size"}
ACCEPTED |= {"eigvalsh UPLO", "tensor_split sections"}
ACCEPTED |= {"pow a", "bucketize input", "searchsorted input"}  # torch takes a number there only by its place


def calls() -> Iterator[tuple[ast.Module, ast.Call, str]]:
    """Return the calls in the programs of the other tests, with the program and the name of what is called."""
    for text in (*test_torch.EVERY.values(), *test_functions.EVERY.values()):
        for line in text.strip().splitlines():
            tree = ast.parse(line.replace("; ", "\n"))
            for node in ast.walk(tree):
                if isinstance(node, ast.Call) and (name := getattr(node.func, "attr", getattr(node.func, "id", ""))):
                    yield tree, node, name


def programs_of_other_kinds() -> dict[str, str]:
    """Return, by function and argument, programs that pass an argument of another kind: each once."""
    found: dict[str, str] = {}
    for tree, call, name in calls():
        for place in (
            (*range(len(call.args)), *(k.arg for k in call.keywords if k.arg)) if name not in NOT_TRIED else ()
        ):
            owner, key = (
                (call.args, place)
                if isinstance(place, int)
                else (call.keywords, [k.arg for k in call.keywords].index(place))
            )
            given = owner[key]
            for other in OF_OTHER_KINDS:
                if f"{name} {place} {other}" not in found:
                    value = ast.parse(other, mode="eval").body
                    owner[key] = value if owner is call.args else ast.keyword(place, value)
                    found[f"{name} {place} {other}"] = X + ast.unparse(tree)
            owner[key] = given
    return found


def accepted(programs: dict[str, str]) -> list[str]:
    """Return the programs that raise an error with torch, and none on the page."""
    found = []
    for name, program in programs.items():
        theirs, ours = (outcome(program, library) for library in BOTH)
        if isinstance(theirs, Raised) and not isinstance(ours, Raised):
            found.append(f"{name}: {program.removeprefix(X)}\n    torch: {theirs}\n    page: {ours}")
    return found


@pytest.mark.parametrize("share", [0.1, pytest.param(1, marks=pytest.mark.slow)])
def test_an_argument_of_another_kind_is_refused_where_torch_refuses_it(share: float):
    programs = programs_of_other_kinds()
    drawn = random.Random(SEED).sample(sorted(programs), int(share * len(programs)))
    found = accepted({name: programs[name] for name in drawn if name.rpartition(" ")[0] not in ACCEPTED})
    assert not found, "\n".join(found)


def test_an_attribute_that_cannot_be_set_is_refused():
    public = [name for name in dir(torch.Tensor) if not name.startswith("_")]
    names = [name for name in public if isinstance(getattr(torch.Tensor, name), GetSetDescriptorType)]
    kept = []
    for name in names:
        for made in ("torch.ones(2, 3)", "nn.Parameter(torch.ones(2))"):
            theirs, ours = (outcome(f"x = {made}\nsetattr(x, {name!r}, 3)", library) for library in BOTH)
            refused = isinstance(ours, Raised) and ours.kind in (getattr(theirs, "kind", ""), "NotImplementedError")
            if isinstance(theirs, Raised) and not refused:
                kept.append((name, theirs, ours))
    assert len(names) > 30
    assert kept == []
