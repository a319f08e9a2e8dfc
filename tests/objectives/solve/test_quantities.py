"""Paths as functions of scales, options, origins and sizes: against other problems."""

from functools import lru_cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import posewise as pw
from posewise import FS, OT, presets
from posewise.objectives import ObjectiveError
from posewise.solvers import Status

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


@pytest.mark.long
@pytest.mark.sampled("tip")
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
