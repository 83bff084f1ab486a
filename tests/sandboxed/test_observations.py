"""What is observed of an answer, and that nothing of it stays behind."""

import inspect
import logging
import os
import random
import subprocess
import sys
import warnings

import numpy as np
import pytest
import torch

from qkv.questions.shared.writing import HeldCache
from qkv.sandboxed.cases import Case, Provided, Seeded, call, call_many, length, load, make, method
from qkv.sandboxed.observations import observe
from qkv.sandboxed.recording import MAX_ITEMS, MAX_TEXT, OtherValue
from qkv.sandboxed.wire import make_from_source

X = torch.arange(6.0).view(2, 3)
CASE = Case(call(X))


def one(answer, case=CASE, gradients=False):
    return observe(answer, [case], gradients)[0]


# ── plain data ────────────────────────────────────────────────────────────────────────────────────


def test_tensors_numbers_and_tuples_come_back_as_they_are():
    seen = one(lambda x: (x.sum(), 3, 2.5, [True, None]))
    assert seen.results[0][0].item() == 15
    assert seen.results[0][1:] == (3, 2.5, [True, None])


def test_what_came_back_does_not_change_when_the_answer_writes_into_it_later():
    kept = []

    def answer(x):
        kept.append(x * 2)
        kept[0].zero_()
        kept[0] = x * 2
        return kept[0]

    seen = one(answer)
    kept[0].fill_(-1)
    assert torch.equal(seen.results[0], X * 2)


class EqualsEverything(torch.Tensor):
    def __eq__(self, other):
        return True

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        return True


def test_a_subclass_that_equals_everything_becomes_a_plain_tensor():
    seen = one(lambda x: x.as_subclass(EqualsEverything))
    assert type(seen.results[0]) is torch.Tensor
    assert torch.equal(seen.results[0], X)


@pytest.mark.parametrize(
    ("give", "kind"),
    [
        (lambda x: x.numpy(), "NumPy array"),
        (lambda x: {"a": 1}, "dictionary"),
        (lambda x: len, "builtin_function_or_method"),
        (lambda x: int, "class"),
        (lambda x: torch.empty(3, device="meta"), "tensor that cannot be read on the CPU (meta)"),
        (lambda x: torch.zeros(3, dtype=torch.complex64), "complex64 tensor"),
        (lambda x: torch.zeros(1).expand(3_000_000), "very large float32 tensor"),
        (lambda x: list(range(1000)), "list"),
        (lambda x: 10**5000, "int"),
    ],
)
def test_anything_else_is_odd_and_named(give, kind):
    result = one(give).results[0]
    assert isinstance(result, OtherValue)
    assert result.kind == kind


def test_a_numpy_number_is_a_number():
    assert one(lambda x: np.float32(0.5)).results == (0.5,)


def test_texts_are_bounded_and_printable():
    result = one(lambda x: "a\x1b[31m" + "b" * 9999).results[0]
    assert len(result) <= MAX_TEXT
    assert "\x1b" not in result


def test_deep_and_endless_containers_are_cut():
    loop = []
    loop.append(loop)
    assert "OtherValue" in repr(one(lambda x: loop).results[0])
    assert one(lambda x: [x] * (MAX_ITEMS + 1)).results[0].text == f"of {MAX_ITEMS + 1} items"


# ── exceptions ────────────────────────────────────────────────────────────────────────────────────


def raises(error):
    def answer(x):
        raise error

    return answer


def recurses(x):
    return recurses(x)


class SilentError(Exception):
    def __str__(self):
        raise RuntimeError("no text")


@pytest.mark.parametrize(
    ("answer", "name"),
    [
        (raises(ValueError("no")), "ValueError"),
        (raises(SystemExit(3)), "SystemExit"),
        (raises(GeneratorExit()), "GeneratorExit"),
        (raises(MemoryError()), "MemoryError"),
        (recurses, "RecursionError"),
        (raises(SilentError()), "SilentError"),
        (lambda: 0, "TypeError"),
    ],
)
def test_whatever_is_raised_is_described(answer, name):
    seen = one(answer)
    assert seen.raised.type == name
    assert seen.results == ()


def test_an_exception_names_the_answers_own_line():
    def answer(x):
        return x @ x

    assert one(answer).raised.line == "return x @ x"


def test_an_exception_in_what_a_case_passes_names_the_answers_line():
    def answer(held):
        return held.append(X, X.sum(0))

    of_the_course = Provided(HeldCache)
    of_a_worker = Provided(make_from_source("HeldCache", inspect.getsource(HeldCache)))
    for held in (of_the_course, of_a_worker):
        assert one(answer, Case(call(held))).raised.line == "return held.append(X, X.sum(0))"


def test_a_keyboard_interrupt_passes():
    with pytest.raises(KeyboardInterrupt):
        one(raises(KeyboardInterrupt()))


# ── inputs, state, gradients ──────────────────────────────────────────────────────────────────────


def test_writing_into_an_input_is_seen_and_the_case_stays_as_it_was():
    before = X.clone()
    seen = one(lambda x: x.mul_(2))
    assert seen.changed == ((0, 0),)
    assert torch.equal(X, before)


def test_writing_into_a_tensor_that_needs_a_gradient_is_seen_too():
    seen = one(lambda x: x.mul_(2), gradients=True)
    assert seen.changed == ((0, 0),)
    assert seen.raised is None
    assert seen.gradient_raised is None


def test_a_list_that_is_written_into_is_seen():
    assert one(lambda rows: rows.pop(), Case(call([1, 2, 3]))).changed == ((0, 0),)
    assert one(lambda rows: rows[0], Case(call([X, X]))).changed == ()


def test_gradients_are_those_of_a_fixed_projection():
    seen = one(lambda x: x * 3, gradients=True)
    again = one(lambda x: x * 3, gradients=True)
    assert torch.equal(seen.gradients[0, 0], again.gradients[0, 0])
    assert seen.gradients[0, 0].std() > 0.1


@pytest.mark.parametrize(
    "cut", [lambda x: x.detach() * 2, lambda x: torch.tensor(x.tolist()), lambda x: torch.zeros(2)]
)
def test_a_cut_gradient_is_none(cut):
    assert one(cut, gradients=True).gradients == {(0, 0): None}


def test_gradients_come_of_an_answer_that_turned_them_off_behind_itself():
    def answer(x):
        out = x * 3
        torch.set_grad_enabled(False)
        return out

    assert one(answer, gradients=True).gradients[0, 0] is not None


def test_an_answer_that_cannot_bear_gradients_still_shows_its_values():
    seen = one(lambda x: torch.from_numpy(x.numpy() * 2), gradients=True)
    assert torch.equal(seen.results[0], X * 2)
    assert "numpy" in seen.gradient_raised.text


def test_state_between_calls_is_seen():
    calls = []

    def answer(x):
        calls.append(x)
        return x + len(calls)

    assert one(answer).unstable == (0,)
    assert observe(answer, [CASE, CASE])[0].unstable == (0,)


@pytest.mark.parametrize(("step", "expected"), [(5e-6, ()), (1e-3, (0,))])
def test_sums_taken_in_another_order_are_no_state(step: float, expected: tuple[int, ...]):
    calls = []

    def answer(x):
        calls.append(x)
        return torch.ones(3) + step * len(calls)

    assert one(answer).unstable == expected


def test_random_answers_are_seen():
    assert one(lambda x: torch.rand(3)).unstable == (0,)
    assert one(lambda x: torch.rand(3)).global_draws


def test_what_a_generator_went_through():
    case = Case(call(Seeded(5)))
    assert one(lambda g: 0, case).generators == ("unused",)
    assert one(lambda g: torch.rand(1, generator=g), case).generators == ("moved",)
    assert one(lambda g: g.manual_seed(1) and 0, case).generators == ("reseeded",)


def test_many_draws_come_from_one_generator():
    seen = one(lambda g: int(torch.randint(9, (), generator=g)), Case(call_many(50, Seeded(5))))
    wanted = torch.randint(9, (50,), generator=torch.Generator().manual_seed(5))
    assert torch.equal(seen.results[0], wanted)


class Pile:
    def __init__(self, *items):
        self.items = list(items)

    def add(self, item):
        self.items.append(item)
        return torch.stack(self.items)

    def __len__(self):
        return len(self.items)


def test_steps_act_on_the_object_that_was_made():
    seen = one(Pile, Case((make(X), method("add", X), length(), method("add", X), length())))
    assert [r.shape if isinstance(r, torch.Tensor) else r for r in seen.results] == [None, (2, 2, 3), 2, (3, 2, 3), 3]


def test_a_provided_object_is_one_and_the_same_within_a_run_and_new_in_the_next():
    pile = Provided(Pile, (X,))
    seen = one(lambda x, p: p.add(x), Case((call(X, pile), call(X, pile), length(on=pile))))
    assert seen.results[2] == 3
    assert seen.unstable == ()


def test_a_result_that_changes_later_is_seen():
    class Reuses:
        def __init__(self):
            self.store = torch.zeros(3)

        def set(self, value):
            self.store[0] = value
            return self.store

    seen = one(Reuses, Case((make(), method("set", 1.0), method("set", 2.0))))
    assert seen.changed_later == (1,)
    assert seen.results[1][0] == 1


def test_weights_are_loaded_by_name_in_their_dtype_and_a_bias_may_be_absent():
    class Layer(torch.nn.Module):
        def __init__(self, bias):
            super().__init__()
            self.w = torch.nn.Linear(3, 2, bias=bias)

        def forward(self, x):
            return self.w(x)

    weights = {"w.weight": torch.ones(2, 3, dtype=torch.float64), "w.bias": torch.ones(2, dtype=torch.float64)}
    case = (load(weights), call(X.double()))
    full = one(Layer, Case((make(True), *case)), gradients=True)
    bare = one(Layer, Case((make(False), *case)))
    assert torch.equal(full.results[2], X.double().sum(-1, keepdim=True).expand(2, 2) + 1)
    assert {where[1] for where in full.gradients} == {"w.weight", "w.bias", 0}
    assert bare.absent == ("w.bias",)
    assert bare.lacking == ()


def test_layers_that_are_missing_or_of_another_shape_are_named():
    class Other(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.v = torch.nn.Linear(3, 5)

        def forward(self, x):
            return x

    lacking = one(Other, Case((make(), load({"w.weight": X, "v.weight": X}), call(X)))).lacking
    assert "called w" in lacking[0]
    assert "there are: v" in lacking[0]
    assert "(5, 3), where (out, in) = (2, 3)" in lacking[1]


def test_a_bare_parameter_in_the_place_of_a_layer_is_named():
    class Bare(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.w = torch.nn.Parameter(X)

        def forward(self, x):
            return x @ self.w.T

    lacking = one(Bare, Case((make(), load({"w.weight": X}), call(X)))).lacking
    assert lacking == ("w is a bare nn.Parameter, where an nn.Linear was expected",)


# ── leave the process as it was ───────────────────────────────────────────────────────────────────


def vandal(x):
    print("out")
    print("err", file=sys.stderr)
    print("past", file=sys.__stderr__, flush=True)
    os.write(2, b"further past")
    warnings.warn("careful", stacklevel=1)
    logging.warning("logged")
    torch.manual_seed(1)
    np.random.seed(1)
    random.seed(1)
    torch.set_grad_enabled(False)
    torch.set_default_dtype(torch.float64)
    torch.set_num_threads(torch.get_num_threads() + 1)
    torch.set_printoptions(precision=1)
    np.set_printoptions(precision=1)
    sys.setrecursionlimit(sys.getrecursionlimit() + 1)
    os.chdir("/")
    torch.rand(3)
    torch.set_default_device("meta")
    return x


def state():
    with torch.device("cpu"):
        torch_state = torch.get_rng_state().tolist()
    return {
        "torch": torch_state,
        "numpy": np.random.get_state()[1].tolist(),
        "python": random.getstate(),
        "grad": torch.is_grad_enabled(),
        "dtype": torch.get_default_dtype(),
        "device": torch.get_default_device(),
        "threads": torch.get_num_threads(),
        "torch prints": vars(torch._tensor_str.PRINT_OPTS).copy(),
        "numpy prints": np.get_printoptions(),
        "depth": sys.getrecursionlimit(),
        "folder": os.getcwd(),
        "streams": (sys.stdout, sys.stderr),
        "filters": warnings.filters[:],
        "handlers": logging.root.handlers[:],
    }


@pytest.mark.parametrize("prepare", ["as it is", "no_grad", "float64"])
def test_global_state_is_put_back(prepare, capfd):
    with torch.set_grad_enabled(prepare != "no_grad"):
        torch.set_default_dtype(torch.float64 if prepare == "float64" else torch.float32)
        try:
            before = state()
            seen = one(vandal)
            assert state() == before
        finally:
            torch.set_default_dtype(torch.float32)
    assert capfd.readouterr().err == ""
    assert "out\nerr" in seen.printed


def test_answers_find_the_same_surroundings_whatever_the_notebook_did():
    with torch.no_grad():
        seen = one(lambda x: x * 2, gradients=True)
    assert seen.gradients[0, 0] is not None
    torch.set_default_dtype(torch.float64)
    try:
        assert one(lambda x: torch.zeros(2)).results[0].dtype == torch.float32
    finally:
        torch.set_default_dtype(torch.float32)


@pytest.mark.slow
def test_what_is_compiled_runs_as_it_is_written():
    """To import torch's compiler takes seconds, and to compile a function for eight shapes takes longer."""
    compiled = []
    answer = torch.compile(lambda x: x * 2, backend=lambda graph, inputs: compiled.append(graph) or graph.forward)
    assert one(answer).raised is None
    assert compiled == []
    answer(torch.ones(2))
    assert len(compiled) == 1, "outside it is compiled"


def test_prints_are_bounded():
    seen = one(lambda x: print("x" * 10_000_000))
    assert len(seen.printed) <= MAX_TEXT


def test_nothing_of_the_course_is_imported():
    """It runs beside untrusted code, where no reference may be found."""
    look = "import sys, qkv.sandboxed.worker; print(*(m for m in sys.modules if m.startswith('qkv')))"
    loaded = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, check=True).stdout.split()
    assert all(name == "qkv" or name.startswith("qkv.sandboxed") for name in loaded), loaded
