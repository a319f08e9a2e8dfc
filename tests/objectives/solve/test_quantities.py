"""Paths as functions of scales, options, predicates, origins and sizes: against others.

The others are problems that were built with other values.
"""

from functools import lru_cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import posewise as pw
from posewise import FS, OT, logic, presets
from posewise.objectives import ObjectiveError
from posewise.objectives.problem.spec import compile_chain
from posewise.objectives.solve.affine_data import CORE_RADIUS
from posewise.objectives.solve.quantities import data_function
from posewise.solvers import Status
from posewise.solvers.sensitivity import replace_leaves

LINK = (0.5, 0, 0, 1, 0, 0, 0)
TABLE = (0.9, 0.3, 0, 1, 0, 0, 0)


def world(box=(0.2, 0.3, 0.25), tip=(0.1, 0.05), table=TABLE, link=LINK) -> pw.Config:
    """Return a planar arm before a table with a box and a can."""
    C = pw.Config()
    C.add_frame("base", joint="hingeZ", shape=pw.Sphere(0.05))
    C.add_frame("link", "base", pose=list(link))
    rod = pw.Capsule(0.1, 0.05)
    C.add_frame("elbow", "link", joint="hingeZ", shape=rod, contact=1)
    C.add_frame("tip", "elbow", position=[0.5, 0, 0], joint="transX")
    C.set_shape("tip", pw.Cylinder(*tip))
    C.set_contact("tip", 1)
    C.add_frame("table", pose=list(table))
    solid = pw.Box(list(box), rounding=0.01)
    C.add_frame("box", "table", position=[0.02, 0, 0], shape=solid, contact=1)
    can = pw.Cylinder(0.2, 0.1)
    C.add_frame("can", "table", position=[0, -0.3, 0], shape=can, contact=1)
    return C


def problem(C: pw.Config, margin=0.05, scale=2.0) -> tuple[pw.KOMO, ...]:
    """Return a problem in which all quantities below count, and two objectives."""
    komo = pw.KOMO(C, 1, 1, 0)
    komo.add_objective([], FS.qItself, [], OT.sos, scale=0.3)
    komo.add_objective([1], FS.position, ["tip"], OT.sos, target=[0.8, 0.2, 0])
    rows = komo.add_objective([], FS.collisionRows, [], OT.ineq, margin=margin)
    frames = ["tip", "box"]
    inside = komo.add_objective(
        [1], FS.insideBox, frames, OT.sos, margin=0.02, scale=scale
    )
    return komo, rows, inside


@lru_cache
def present() -> tuple[pw.KOMO, ...]:
    return problem(world())


def quantity(name: str):
    """Return what a path is a function of, its present value, and the other problem."""
    _, rows, inside = present()
    table = {
        "box": (("size", "box"), (0.2, 0.3, 0.25), lambda v: problem(world(box=v))),
        "tip": (("size", "tip"), (0.1, 0.05), lambda v: problem(world(tip=v))),
        "table": (("origin", "table"), TABLE, lambda v: problem(world(table=v))),
        "link": (("origin", "link"), LINK, lambda v: problem(world(link=v))),
        "margin": (("margin", rows), 0.05, lambda v: problem(world(), margin=float(v))),
        "scale": (("scale", inside), 2.0, lambda v: problem(world(), scale=float(v))),
    }
    wrt, value, build = table[name]
    return wrt, np.array(value, float), build


@pytest.mark.slow
@pytest.mark.parametrize("name", ["box", "tip", "table", "link", "margin", "scale"])
def test_paths_are_those_of_other_problems_with_exact_gradients(name):
    wrt, value, build = quantity(name)
    path = present()[0].function(wrt, with_status=True)
    rng = np.random.default_rng(3)
    moved = value + 0.02 * rng.uniform(0.2, 1, value.shape)
    got, status = path(moved)
    assert status == Status.CONVERGED
    # another problem's solution from there is the same
    other = build(moved)[0]
    other.initialize(np.asarray(got))
    np.testing.assert_allclose(
        other.solve(tolerance=1e-6, progress=False).path, got, atol=3e-4
    )
    loss = jax.jit(lambda v: jnp.sum(path(v)[0] ** 2))
    slope = jax.grad(loss)(moved)
    steps = 1e-5 * np.eye(value.size).reshape(value.size, *value.shape)
    differences = [(loss(moved + h) - loss(moved - h)) / 2e-5 for h in steps]
    # Derivatives by tilts out of the plane differ by 2e-5, all others by 1e-9.
    np.testing.assert_allclose(
        slope, np.reshape(differences, value.shape), rtol=3e-5, atol=1e-8
    )
    assert np.abs(slope).max() > 1e-4


@pytest.mark.parametrize(
    ("wrt", "says"),
    [
        (("size", "tip", 1), "expected an objective"),
        (("size", "link"), "has 0 shapes for collision, expected one"),
        (("size", "nowhere"), "No frame 'nowhere'"),
        (("origin", "nowhere"), "No frame 'nowhere'"),
        (("width", 2), "has no 'width', expected one of: target, scale, margin"),
    ],
)
def test_what_is_no_quantity(wrt, says):
    komo, _, inside = present()
    if wrt[1] == 2:
        wrt = (wrt[0], inside)
    with pytest.raises(pw.PosewiseError, match=says):
        komo.function(wrt)


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("box", [0.1, 0.2], r"size of 'box' has shape \(2,\), expected \(3,\)"),
        ("box", [0.1, 0.2, -0.1], "expected sizes >= 0"),
        ("table", [0, 0, 0], r"origin of 'table' has shape \(3,\), expected a pose"),
        ("scale", [1, 2], r"scale of .* has shape \(2,\), expected \(1,\)"),
    ],
)
def test_values_that_do_not_fit(name, value, says):
    with pytest.raises(ObjectiveError, match=says):
        present()[0].function(quantity(name)[0])(value)


def test_what_is_no_smooth_function_is_refused():
    C = world()
    komo = pw.KOMO(C, 1, 1, 0)
    # the margin is cut at half of a size
    komo.add_objective([1], FS.insideBox, ["tip", "box"], OT.ineq, margin=0.3)
    with pytest.raises(ObjectiveError, match="not affine in it"):
        komo.function(("size", "box"))
    komo = pw.KOMO(C, 1, 1, 0)
    komo.add_objective([1], FS.position, ["tip"], OT.sos)
    with pytest.raises(ObjectiveError, match="No objective .* depends on the size"):
        komo.function(("size", "box"))
    # rows of a preset keep the sizes of when it was added
    komo = pw.KOMO(C, 1, 1, 0)
    komo.add(presets.grasp_box("tip", "box", "elbow"), times=[1])
    with pytest.raises(ObjectiveError, match="was added when the world had other"):
        komo.function(("size", "box"))


NUMBERS = {"tolerance": 0.12, "reach": 0.7, "nearness": 0.8}
PLACES = ([0.55, 0.1, 0], [0.9, 0.4, 0], [0.9, -0.5, 0])


def stated(tolerance=0.12, reach=0.7, nearness=0.8) -> tuple[pw.KOMO, ...]:
    """Return a problem whose slices are each bounded by a predicate, and these."""
    C = pw.Config()
    C.add_frame("base", position=[0.1, 0, 0])
    C.add_frame("x", joint="transX", q=[0.3])
    C.add_frame("hand", "x", joint="transY", shape=pw.Sphere(0.03), q=[0.1])
    C.add_frame("vase", position=[0.5, 0.02, 0], shape=pw.Cylinder(0.3, 0.06))
    C.add_frame("bowl", position=[0.4, -0.3, 0], shape=pw.Box([0.2, 0.1, 0.1]))
    komo = pw.KOMO(C, 3, 1, 0)
    touch = logic.InContactWith("hand", "vase", tolerance=tolerance)
    near = logic.NextTo("hand", "bowl", nearness=nearness)
    reaching = logic.InReachOfAgent("hand", "base", reach=reach)
    goals = [
        komo.add_objective([k + 1], FS.position, ["hand"], OT.sos, target=place)
        for k, place in enumerate(PLACES)
    ]
    komo.add(~touch, [1])
    rows = [*komo.add(reaching, [2]), *komo.add(near, [3])]
    return komo, goals[0], touch, reaching, near, rows


@pytest.mark.slow
def test_numbers_of_predicates_are_those_of_other_problems_with_exact_gradients():
    komo, goal, touch, reaching, near, _ = stated()
    numbers = [("tolerance", touch), ("reach", reaching), ("nearness", near)]
    path = komo.function([goal, *numbers], with_status=True)
    place, values = np.array([0.5, 0.15, 0]), np.array([0.15, 0.65, 0.7])

    def solved(place, *values) -> np.ndarray:
        """Return the exact path of a problem that was built with these values."""
        other, its_goal, *_ = stated(*map(float, values))
        path, status = other.function(its_goal, with_status=True)(place)
        assert status == Status.CONVERGED
        return np.asarray(path)

    got, status = path([place, *values])
    assert status == Status.CONVERGED
    np.testing.assert_allclose(got, solved(place, *values), atol=1e-9)
    slopes = jax.jacfwd(lambda every: path(every)[0])([place, *values])
    for k, slope in enumerate(slopes[1:]):
        h = 1e-4 * np.eye(3)[k]
        ends = [solved(place, *(values + s * h)) for s in (1, -1)]
        wide = [solved(place, *(values + 2 * s * h)) for s in (1, -1)]
        difference = (8 * (ends[0] - ends[1]) - (wide[0] - wide[1])) / 12e-4
        assert np.abs(difference[k]).max() > 0.05
        np.testing.assert_allclose(slope, difference, rtol=1e-6, atol=1e-7)
    # one quantity alone, by the objective that states it
    alone = komo.function(("reach", reaching))
    _, _, _, _, _, rows = stated()
    np.testing.assert_allclose(alone(0.65)[1], got[1], atol=1e-9)


def test_values_of_a_list_give_the_numbers_of_another_problem():
    komo, rows, inside = present()
    wrt = [("origin", "table"), ("margin", inside), ("size", "box"), ("margin", rows)]
    table, box = (0.8, 0.35, 0.02, 1, 0, 0, 0), (0.25, 0.2, 0.3)
    data = compile_chain(komo.spec).data
    changes = data_function(komo.spec, wrt)(data, [np.array(table), 0.02, box, 0.07])
    other, _, _ = problem(world(box=box, table=table), margin=0.07)
    want = jax.tree.leaves(compile_chain(other.spec).data)
    got = jax.tree_util.tree_leaves_with_path(replace_leaves(data, changes))
    for (path, leaf), expected in zip(got, want, strict=True):
        if getattr(path[-1], "key", None) == CORE_RADIUS:
            # a bound
            assert (np.asarray(leaf) >= np.asarray(expected) - 1e-12).all()
        else:
            np.testing.assert_allclose(leaf, expected, atol=1e-12, err_msg=str(path))
    same = [np.asarray(leaf) for leaf in jax.tree.leaves(data)]
    assert any(not np.array_equal(a, b) for a, b in zip(same, want, strict=True))


def test_a_number_by_an_objective_that_states_it():
    komo, _, _, reaching, near, rows = stated()
    for name, row in (("reach", rows[0]), ("nearness", rows[1])):
        predicate = reaching if name == "reach" else near
        present, same = (
            data_function(komo.spec, (name, which)) for which in (row, predicate)
        )
        assert present.present == same.present == NUMBERS[name]
        assert present.label == same.label


@pytest.mark.slow
def test_a_list_compiles_once():
    """Values of a learning loop are data of one program."""
    komo, goal, _, reaching, _, _ = stated()
    path = komo.function([goal, ("reach", reaching)])

    @jax.jit
    def loss(place, reach):
        return jnp.sum(path([place, reach]) ** 2)

    values = [float(loss(jnp.array([0.5, 0.1, 0]), r)) for r in (0.6, 0.65, 0.7)]
    assert loss._cache_size() == 1
    assert values == sorted(values) and values[0] < values[-1] - 1e-2


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("nearnes", "has no number 'nearnes', expected one of: bound, nearness"),
        ("other", "NextTo.*'vase'.*expected a predicate of this problem"),
        ("preset", "this Preset has no number 'margin', nor any other"),
        ("tilt", "tilt of Upright: its .* are not affine in it"),
        ("row", r"'NextTo: \(hand, bowl\)'\), but it has no 'reach', expected one of"),
        ("empty", "wrt is empty, expected a list of different quantities"),
        ("twice", "wrt has .* twice, expected a list of different"),
        ("nothing", "quantity is 3, expected an objective"),
    ],
)
def test_what_is_no_number_of_a_predicate(name, says):
    komo, goal, _, _, near, rows = stated()
    upright = logic.Upright("hand")
    komo.add(upright)
    wrt = {
        "nearnes": ("nearnes", near),
        "other": ("nearness", logic.NextTo("hand", "vase")),
        "preset": ("margin", presets.grasp_box("hand", "bowl", "x")),
        "tilt": ("tilt", upright),
        "row": ("reach", rows[1]),
        "empty": [],
        "twice": [goal, ("nearness", near), goal],
        "nothing": 3,
    }[name]
    with pytest.raises(ObjectiveError, match=says):
        komo.function(wrt)


def test_values_of_numbers_that_do_not_fit():
    komo, goal, _, _, near, _ = stated()
    with pytest.raises(logic.PredicateError, match=r"nearness is -0\.1, expected > 0"):
        komo.function(("nearness", near))(-0.1)
    path = komo.function([goal, ("nearness", near)])
    for values, got in (([1.0], "1 values"), (np.ones(2), "one")):
        with pytest.raises(ObjectiveError, match=f"2 quantities, but got {got}"):
            path(values)


def test_products_of_quantities_are_refused():
    """The numbers of rows in a box have its sizes times their scale."""
    komo, _, inside = present()
    for wrt in (("scale", inside), ("size", "box")):
        komo.function([wrt])
    with pytest.raises(ObjectiveError, match="scale of .* and the size of 'box': its"):
        komo.function([("scale", inside), ("size", "box")])


def test_the_scale_and_a_number_of_one_predicate():
    komo, _, _, reaching, near, rows = stated()
    komo.function([("scale", rows[0]), ("reach", reaching), ("nearness", near)])


def test_rows_that_two_predicates_share():
    """Two boxes of one stack are stable by the same rows, with one number."""
    C = pw.Config()
    C.add_frame("table", shape=pw.Box([1, 1, 0.1]), contact=1)
    for name, z in (("low", 0.1), ("high", 0.2)):
        shape = pw.Box([0.1, 0.1, 0.1])
        C.add_frame(name, joint="free", position=[0, 0, z], shape=shape, contact=1)
    komo = pw.KOMO(C)
    komo.add(logic.Stable("low"))
    komo.function(("shift", logic.Stable("low")))
    komo.add(logic.Stable("high"))
    with pytest.raises(ObjectiveError, match="Stable.*'high'.* states, too; expected"):
        komo.function(("shift", logic.Stable("low")))
    with pytest.raises(ObjectiveError, match="No objective .* depends on the speed"):
        other = pw.KOMO(C)
        other.add(logic.Stable("low"))
        other.function(("speed", logic.Stable("low")))
