"""Merged features return what each feature returns by itself."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers.worlds import random_q, random_tree

import posewise as pw
from posewise import FS, OT
from posewise.objectives.problem.spec import compile_chain

VECTORS = [symbol for symbol in FS if symbol.symbol.vector_form is not None]
FORMS = {
    "as it is": lambda rng, D: dict(),
    "target": lambda rng, D: dict(target=rng.normal(size=D)),
    "scale": lambda rng, D: dict(scale=rng.normal(size=D), target=rng.normal(size=D)),
    "matrix": lambda rng, D: dict(
        scale=rng.normal(size=(2, D)), target=rng.normal(size=D)
    ),
}


def compared(komo: pw.KOMO, path: np.ndarray, atol: float) -> None:
    """Compare rows and derivatives of each objective with those of its feature."""
    nlp = komo.nlp()
    phi, J = nlp.evaluate(path.ravel())
    J = J.toarray().reshape(len(phi), *path.shape)
    first = 0
    for o in komo.objectives:
        k = o.feature.order
        for t in o.slices:
            q = path[t - k : t + 1]
            y, dy = o.feature.eval(komo.config, q if k else q[0], tau=komo.tau[0])
            rows = slice(first, first := first + len(y))
            np.testing.assert_allclose(phi[rows], y, atol=atol, err_msg=o.name)
            expected = np.zeros((len(y), *path.shape))
            expected[:, t - k : t + 1] = dy.reshape(len(y), k + 1, -1)
            np.testing.assert_allclose(J[rows], expected, atol=atol, err_msg=o.name)
    assert first == len(phi)


@pytest.mark.slow
@pytest.mark.sampled("1")
@pytest.mark.parametrize("seed", range(3))
def test_vectors(seed):
    """One problem has all symbols, orders and forms of scales."""
    rng = np.random.default_rng(seed)
    C = random_tree(seed, joints=5)
    C.set_shape("f1", pw.Box([0.4, 0.3, 0.2], rounding=0.02))
    komo = pw.KOMO(C, 1, 4, 2)
    names = ["world", "j0", "f1", "f2", "f4"]
    for k, symbol in enumerate(VECTORS):
        boxes = symbol in (FS.aboveBox, FS.insideBox)
        frames = [*rng.permutation(names[3:] if boxes else names)]
        frames = [frames[0], "f1" if boxes else frames[1]][: symbol.symbol.frames[0]]
        for i, form in enumerate(FORMS.values()):
            options = form(rng, symbol.symbol.dim)
            order = (k + i) % 3
            komo.add_objective(
                [0.75, 1.0], symbol, frames, OT.sos, order=order, **options
            )
    compared(komo, random_q(C, rng, 4), 1e-9)


def test_numbers_of_vectors_are_made_without_compiling():
    """They are made on the host, as JAX would compile one program per operation."""
    for symbol, half in ((FS.aboveBox, np.ones((2, 2))), (FS.insideBox, np.ones(3))):
        offset = symbol.symbol.vector_form.offset(half=half, margin=half[..., 0])
        assert type(offset) is np.ndarray


def test_a_vector_of_a_frame_in_itself():
    C = random_tree(4, joints=3)
    komo = pw.KOMO(C, 1, 1, 0)
    for symbol in (FS.positionRel, FS.positionDiff, FS.vectorXRel, FS.scalarProductXX):
        komo.add_objective(None, symbol, ["f1", "f1"], OT.eq)
    compared(komo, random_q(C, np.random.default_rng(0), 1), 1e-12)


def bodies() -> pw.Config:
    """Return free bodies of several types, some of which cannot collide."""
    C = pw.Config()
    corners = np.random.default_rng(0).normal(size=(9, 3)) * 0.1
    shapes = {
        "box": pw.Box([0.2, 0.3, 0.1], rounding=0.01),
        "plank": pw.Box([0.5, 0.1, 0.05]),
        "rod": pw.Capsule(0.3, 0.05),
        "gem": pw.Convex(corners),
        "wedge": pw.Convex(corners[:5]),
    }
    for name, shape in shapes.items():
        C.add_frame(name, joint="free", shape=shape, contact=1)
    C.add_frame("floor", shape=pw.Plane(), contact=1, position=[0, 0, -0.3])
    C.ignore_collisions("box", ["plank"])
    for name in ("box", "rod", "plank"):
        C.ignore_collisions(name, ["gem", "wedge"])
    return C


PAIRS = [("box", "plank"), ("rod", "box"), ("wedge", "gem"), ("floor", "box")]


@pytest.mark.slow
def test_sums_over_pairs():
    """Distances of pairs merge with the sum of all, and reach beyond its margin."""
    C = bodies()
    komo = pw.KOMO(C, 1, 2, 0)
    komo.add_objective(None, FS.accumulatedCollisions, [], OT.sos, margin=0.05)
    for pair in PAIRS:
        komo.add_objective(None, FS.negDistance, pair, OT.eq, scale=2.0, target=0.1)
    path = random_q(C, np.random.default_rng(1), 2)
    positions = path.reshape(2, -1, 7)[..., :3]
    positions *= np.array([0.1, 3.0])[:, None, None]
    positions[1, :, 2] += 5.0
    compared(komo, path, 1e-7)
    phi = komo.nlp().evaluate(path.ravel())[0]
    assert (phi[0] > 0) and phi[1] == 0 and (phi[2:] > 0).any() and (phi[2:] < 0).any()

    chain, data, placed = compile_chain(komo.spec)
    batch = jnp.stack([path, path[::-1]])
    many = jax.jit(jax.vmap(lambda x: chain.evaluate(data, x)))(batch)
    line = jnp.concatenate([r.y.reshape(2, -1) for r in many], 1)
    where = np.concatenate([p.positions for places in placed for p in places])
    np.testing.assert_allclose(line[0, where.ravel()], phi, atol=1e-9)
    np.testing.assert_allclose(line[1, where[0]], line[0, where[1]], atol=1e-9)


def test_a_pair_that_just_touches_has_a_derivative():
    C = pw.Config()
    C.add_frame("ball", joint="trans3", position=[0, 0, 0.5], shape=pw.Sphere(0.5))
    C.add_frame("cube", position=[0, 0, -0.5], shape=pw.Sphere(0.5))
    C.add_frame("other", position=[5, 0, 0.5], shape=pw.Sphere(0.5), contact=1)
    komo = pw.KOMO(C, 1, 1, 0)
    komo.add_objective(None, FS.accumulatedCollisions, [], OT.ineq)
    komo.add_objective(None, FS.negDistance, ["ball", "cube"], OT.ineq)
    phi, J = komo.nlp().evaluate(np.zeros(3))
    np.testing.assert_allclose(phi[-1], 0.0, atol=1e-12)
    np.testing.assert_allclose(J.toarray()[-1], [0, 0, -1], atol=1e-9)
