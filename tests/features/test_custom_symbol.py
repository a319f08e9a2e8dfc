"""Functions of users are read again for each use, wherever their numbers stand."""

import copy
import functools
import pickle
import types

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import posewise as pw
from posewise import OT
from posewise.compilation import traced_function
from posewise.features.errors import FeatureError
from posewise.features.functions.custom_symbol import custom_symbol, traced_symbol
from posewise.features.symbol import Pose

pytestmark = pytest.mark.filterwarnings("ignore:.*reads numbers that have changed")

LIMIT = 1.0
ARRAY = np.ones(3)
ENTRIES: dict = {"value": 1.0}
LIST = [1.0]
NAMES = types.SimpleNamespace(value=1.0)
OTHER = pw.Config()
OTHER.add_frame("goal", position=[1.0, 0, 0])


class Gap:
    """Callable, with numbers of the class and of the object."""

    shared = 1.0

    def __init__(self):
        self.value = 1.0

    def __call__(self, pose):
        return pose.p[:1] - self.value

    def method(self, pose):
        return pose.p[:1] - self.value

    def of_class(self, pose):
        return pose.p[:1] - self.shared


GAP = Gap()


def reads_global(pose):
    return pose.p[:1] - LIMIT


def set_global(value):
    globals()["LIMIT"] = value


def closure():
    value = 1.0

    def change(new):
        nonlocal value
        value = new

    return lambda pose: pose.p[:1] - value, change


def with_default(pose, values=LIST):
    return pose.p[:1] - values[0]


def from_array(values, pose):
    return (pose.p - values)[:1]


def fill(value):
    ARRAY[:] = value


def make_file_reader(folder):
    file = folder / "number.txt"

    def change(value):
        file.write_text(str(value))

    change(1.0)
    return lambda pose: pose.p[:1] - float(file.read_text()), change


SOURCES = {
    "global": lambda tmp: (reads_global, set_global),
    "global of another function": lambda tmp: (lambda p: reads_global(p), set_global),
    "closure": lambda tmp: closure(),
    "default": lambda tmp: (with_default, lambda v: LIST.__setitem__(0, v)),
    "callable object": lambda tmp: (GAP, lambda v: setattr(GAP, "value", v)),
    "bound method": lambda tmp: (GAP.method, lambda v: setattr(GAP, "value", v)),
    "class": lambda tmp: (GAP.of_class, lambda v: setattr(Gap, "shared", v)),
    "partial": lambda tmp: (functools.partial(from_array, ARRAY), fill),
    "array": lambda tmp: (lambda p: p.p[:1] - ARRAY[0], fill),
    "dict": lambda tmp: (
        lambda p: p.p[:1] - ENTRIES["value"],
        lambda v: ENTRIES.update(value=v),
    ),
    "attribute": lambda tmp: (
        lambda p: p.p[:1] - NAMES.value,
        lambda v: setattr(NAMES, "value", v),
    ),
    "file": make_file_reader,
    "another world": lambda tmp: (
        lambda p: p.p[:1] - OTHER.pose("goal")[0],
        lambda v: OTHER.set_pose("goal", [v, 0, 0, 1, 0, 0, 0]),
    ),
    "jitted": lambda tmp: (jax.jit(reads_global), set_global),
}


@pytest.mark.long
@pytest.mark.parametrize("source", SOURCES)
def test_a_changed_number_gives_another_symbol(source, tmp_path):
    fn, change = SOURCES[source](tmp_path)
    symbol = custom_symbol(fn, 1)
    before = traced_symbol(symbol, 1)
    assert traced_symbol(custom_symbol(fn, 1), 1) is before
    feature = pw.Feature(fn, ["tip"])
    C = slide()
    assert feature.function(C)(C.q) == pytest.approx(-1.0)
    change(2.0)
    try:
        assert traced_symbol(symbol, 1) is not before
        assert feature.function(C)(C.q) == pytest.approx(-2.0)
        assert feature.bind(C).symbol is traced_symbol(symbol, 1)
    finally:
        change(1.0)
    assert traced_symbol(symbol, 1) is before


def test_features_that_have_been_evaluated_are_copied_and_pickled():
    C = slide()
    feature = pw.Feature(reads_global, ["tip"])
    feature.bind(C)
    for again in (copy.deepcopy(feature), pickle.loads(pickle.dumps(feature))):
        assert again.bind(C).symbol is feature.bind(C).symbol


def slide() -> pw.Config:
    C = pw.Config()
    C.add_frame("tip", joint="transX")
    return C


def to_gap(C, feature) -> pw.KOMO:
    komo = pw.KOMO(C)
    on = () if isinstance(feature, pw.Feature) else ["tip"]
    komo.add_objective(None, feature, on, OT.eq)
    return komo


@pytest.mark.slow
def test_every_solve_uses_the_present_number():
    C = slide()
    feature = pw.Feature(reads_global, ["tip"])
    old = [to_gap(C, reads_global), to_gap(C, feature)]
    nlp, path_to = old[1].nlp(), old[1].function(old[1].objectives[0])
    for komo in old:
        assert komo.solve(progress=False).path == pytest.approx(1.0)
    set_global(2.0)
    try:
        for komo in (*old, to_gap(C, reads_global), to_gap(C, feature)):
            assert komo.solve(progress=False).path == pytest.approx(2.0)
        batch = old[0].solve_batch(worlds=[C, C.copy()], progress=False)
        batch += pickle.loads(pickle.dumps(batch[:1]))
        assert [s.path[0, 0] for s in batch] == pytest.approx([2.0] * 3)
        assert old[0].nlp().evaluate([2.0])[0] == pytest.approx(0.0)
        assert feature.eval(C)[0] == pytest.approx(-2.0)
        # These are the problem as it was when they were made.
        assert nlp.evaluate([2.0])[0] == pytest.approx(1.0)
        assert path_to(np.zeros(1)) == pytest.approx(1.0)
    finally:
        set_global(1.0)


def one(x):
    return x * 0 + LIMIT


jitted = jax.jit(one)


class JittedGap:
    """With jitted methods, whose object is static."""

    @functools.partial(jax.jit, static_argnums=0)
    def __call__(self, pose):
        return pose.p[:1] - LIMIT

    @functools.partial(jax.jit, static_argnums=0)
    def method(self, pose):
        return pose.p[:1] - LIMIT


def minus_jitted(pose):
    return pose.p[:1] - jitted(pose.p[:1])


INNER = {
    "fori_loop": lambda p: p.p[:1] - jax.lax.fori_loop(0, 3, lambda_of_index, p.p[:1]),
    "scan": lambda p: p.p[:1] - jax.lax.scan(step, p.p[:1], None, length=3)[0],
    "cond": lambda p: p.p[:1] - jax.lax.cond(p.p[1] > -5, one, one, p.p[:1]),
    "checkpoint": lambda p: p.p[:1] - jax.checkpoint(one)(p.p[:1]),
    "nested jit": minus_jitted,
    "vmapped jit": lambda p: p.p[:1] - jax.vmap(jitted)(p.p[:1]),
    "jit of jit": jax.jit(jax.jit(minus_jitted)),
    "partial of jit": functools.partial(
        jax.jit(lambda zero, p: p.p[:1] - LIMIT + zero), 0.0
    ),
    "jitted call": JittedGap(),
    "jitted method": JittedGap().method,
}


def lambda_of_index(_, x):
    return one(x)


def step(carry, _):
    return one(carry), None


@pytest.mark.parametrize("name", INNER)
def test_functions_within_a_function_are_read_again(name):
    assert row_at_zero(INNER[name]) == [-1.0]
    set_global(2.0)
    try:
        assert row_at_zero(INNER[name]) == [-2.0]
    finally:
        set_global(1.0)


def test_functions_of_jax_are_not_traced_again():
    calls = []

    def fn(pose):
        calls.append(pose)
        return jnp.where(pose.p > 0, jnp.clip(pose.p, -1, 1), jnp.linalg.norm(pose.p))

    row_at_zero(fn)
    assert len(calls) == 1


def test_traces_of_inner_functions_are_dropped(monkeypatch):
    partial_eval = pytest.importorskip("jax._src.interpreters.partial_eval")
    monkeypatch.setattr(traced_function, "MAX_KEPT_TRACES", 5)
    symbol = custom_symbol(minus_jitted, 1)
    for _ in range(40):
        traced_symbol(symbol, 1)
    assert partial_eval.trace_to_jaxpr.cache_info().currsize < 60


RESULTS = {
    "integers": (lambda p: np.array([1, 2]), [1, 2]),
    "rounded": (lambda p: jnp.round(p.p).astype(int), [0, 0, 0]),
    "truth values": (lambda p: p.p > -1, [1, 1, 1]),
    "one number": (lambda p: p.p[0] + 1, [1]),
    "numbers": (lambda p: [p.p[0] - 1, 2], [-1, 2]),
    "rows": (lambda p: (p.p[:2] - 1, p.p[0]), [-1, -1, 0]),
}


@pytest.mark.parametrize("name", RESULTS)
def test_results_become_rows_of_numbers(name):
    fn, rows = RESULTS[name]
    assert row_at_zero(fn) == rows


REFUSED = {
    "complex": (lambda p: p.p * 1j, "complex numbers"),
    "mapping": (lambda p: {"a": p.p}, "expected an array"),
    "matrices": (lambda p: [p.R, p.R], r"shape \(6, 3\), expected \(D,\)"),
    "loop without length": (
        lambda p: jax.lax.while_loop(lambda x: x[0] < 0, lambda x: x + 1, p.p),
        "fori_loop",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_results_without_rows_or_derivatives_are_refused(name):
    fn, message = REFUSED[name]
    with pytest.raises(FeatureError, match=f"^<lambda>: the function .*{message}"):
        traced_symbol(custom_symbol(fn, 1), 1)


@pytest.mark.long
def test_a_batch_has_one_trace_of_a_function():
    numbers = iter(range(1, 100))
    C = slide()
    komo = to_gap(C, lambda p: p.p[:1] - next(numbers) * 0.1)
    worlds = [C, C.copy(), C.copy()]
    first, *others = (
        s.path[0, 0] for s in komo.solve_batch(worlds=worlds, progress=False)
    )
    assert first > 0.05
    assert others == [first, first]


def row_at_zero(fn) -> list[float]:
    symbol = traced_symbol(custom_symbol(fn, 1), 1)
    pose = Pose(np.eye(3), np.zeros(3), np.array([1.0, 0, 0, 0]))
    return symbol.fn(pose).tolist()


@pytest.mark.filterwarnings("error:.*reads numbers that have changed")
def test_numbers_that_change_are_told_of_once():
    C = pw.Config()
    C.add_frame("ball", position=[1.0, 0, 0])
    offset = np.zeros(3)
    feature = pw.Feature(lambda ball: ball.p - offset, ["ball"])
    for _ in range(2):
        np.testing.assert_allclose(feature.eval(C)[0], [1, 0, 0])
    offset[0] = 0.25
    with pytest.warns(pw.ProblemWarning, match="Give what changes as params"):
        np.testing.assert_allclose(feature.eval(C)[0], [0.75, 0, 0])
    offset[0] = 0.5
    np.testing.assert_allclose(feature.eval(C)[0], [0.5, 0, 0])
