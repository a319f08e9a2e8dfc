"""The problem for other solvers: rows, derivatives, and SciPy's own optima."""

import numpy as np
import pytest
from helpers.worlds import central_differences, random_tree

import posewise as pw
import posewise.rai as ry
from posewise import FS, OT
from posewise.objectives.problem.nlp import _program

optimize = pytest.importorskip("scipy.optimize", reason="JAX brings SciPy along")


def mixed() -> pw.KOMO:
    """Balls, a mimicking joint, windows that reach before the path, matrix scales."""
    C = random_tree(0, 4, ["quatBall", "hingeX", "free", "transXY"])
    komo = pw.KOMO(C, 1, 3, 2)
    komo.add_control_objective(2, 0.1)
    komo.add_objective([1.0], FS.position, ["f1"], OT.ineq, scale=[[0, 0, 2]])
    komo.add_objective([], FS.positionRel, ["f0", "f3"], OT.eq, order=1)
    komo.add_objective([0.3, 0.7], FS.quaternionDiff, ["f2", "n0"], OT.eq, name="turn")
    komo.add_objective([1.0], FS.position, ["f3"], OT.eq, target=[1, 2, 3])
    return komo


def carrying() -> pw.KOMO:
    """A flat arm takes a peg from a slot, carries it, and puts it on a plate.

    What slices share is a free joint, a place on the plate, and a helper's angle, on
    which the first slices of the path look back too.
    """
    C = arm(1, 1).config
    C.add_frame("peg", position=[1.5, 0.2, 0.1], shape=pw.Box([0.1, 0.1, 0.1]))
    C.add_frame("plate", position=[1.3, 0.7, 0.03], shape=pw.Box([0.3, 0.3, 0.04]))
    komo = pw.KOMO(C, 2, 2, 1)
    komo.add_frame("side", "peg", joint="hingeZ")
    komo.add_frame("grip", "side", position=[0.1, 0, -0.1])
    komo.add_mode_switch([1.0, 2.0], "stable", ["tip", "peg"])
    komo.add_mode_switch([2.0], "stableOn", ["plate", "peg"])
    komo.add_control_objective(1, 0.3)
    komo.add_objective([1.0], FS.positionDiff, ["tip", "grip"], OT.eq)
    komo.add_objective([], FS.position, ["grip"], OT.sos, order=1, scale=0.1)
    return komo


@pytest.mark.sampled
@pytest.mark.parametrize("build", [mixed, carrying])
def test_rows_and_jacobian(build):
    komo = build()
    nlp = komo.nlp()
    x = nlp.initial + np.random.default_rng(1).normal(scale=0.1, size=nlp.dimension)
    phi, J = nlp.evaluate(x)
    assert nlp.dimension == komo.T * komo.config.nq + 11 * (build is carrying)
    assert nlp.path(x).shape == (komo.T, komo.config.nq)
    assert phi.shape == (len(nlp.types),) and J.shape == (len(phi), nlp.dimension)
    want = central_differences(lambda x: nlp.evaluate(x)[0], x)
    np.testing.assert_allclose(J.toarray(), want, atol=1e-6 * np.abs(want).max())
    assert J.nnz == len(nlp.row) < 0.6 * J.toarray().size
    assert J.has_canonical_format
    again = nlp.evaluate(nlp.initial)[1]
    np.testing.assert_array_equal(again.indices, J.indices)


@pytest.mark.slow
def test_rows_stand_in_the_order_of_objectives_then_slices():
    komo = mixed()
    nlp = komo.nlp()
    phi, _ = nlp.evaluate(nlp.initial)
    sol = komo.solve(max_iterations=1)
    want = [o.objective.name for o in sol.objectives for _ in o.values.ravel()]
    assert [n.partition("@")[0] for n in nlp.names] == want
    kinds = [o.objective.type for o in sol.objectives for _ in o.values.ravel()]
    assert list(nlp.types) == kinds
    assert [n for n in nlp.names if "turn" in n][4] == "turn@1[0]"
    first = [o.objective.feature for o in sol.objectives][1]
    q = nlp.initial.reshape(3, -1)[2]
    row = nlp.types.index(OT.ineq)
    np.testing.assert_allclose(phi[row], first.eval(komo.config, q)[0][0])
    totals = nlp.summarize(phi)
    eq = [abs(y) for y, t in zip(phi, nlp.types, strict=True) if t is OT.eq]
    assert totals.eq == max(eq) and totals.ineq == max(phi[row], 0)


def test_evaluations_do_not_recompile_and_the_world_may_change():
    komo = mixed()
    nlp = komo.nlp()
    phi, _ = nlp.evaluate(nlp.initial)
    before = _program.num_compilations()
    komo.config.q = komo.config.q + 0.1
    np.testing.assert_array_equal(nlp.evaluate(nlp.initial)[0], phi)
    mixed().nlp().evaluate(nlp.initial + 0.1)
    assert _program.num_compilations() == before
    with pytest.raises(pw.ObjectiveError, match="expected 42"):
        nlp.evaluate(np.zeros(5))


def arm(order: int, slices: int) -> pw.KOMO:
    C = pw.Config()
    parent = "world"
    for k in range(3):
        C.add_frame(f"j{k}", parent, position=[0.4, 0, 0], joint="hingeZ")
        C.joints.set_limits(f"j{k}", [[-0.5], [0.5]])
        parent = f"j{k}"
    C.add_frame("tip", parent, position=[0.4, 0, 0])
    komo = pw.KOMO(C, 1, slices, order)
    komo.add_control_objective(order, 0.3)
    komo.add_objective([1.0], FS.position, ["tip"], OT.sos, target=[1.0, 0.9, 0])
    low = dict(scale=[[0, 1.0, 0]], target=[0, 0.6, 0])
    komo.add_objective([], FS.position, ["tip"], OT.ineq, **low)
    komo.add_objective([1.0], FS.qItself, ["j2"], OT.eq, target=0.2)
    return komo


def by_scipy(nlp: pw.NLP, method: str) -> np.ndarray:
    """Solve with scipy.optimize; costs as Σφ², rows as constraints."""
    kinds = {t: np.flatnonzero([k is t for k in nlp.types]) for t in OT}

    def cost(x):
        phi, J = nlp.evaluate(x)
        r = phi[kinds[OT.sos]]
        return r @ r, 2 * J[kinds[OT.sos]].T @ r

    def constraint(kind, low):
        dense = method == "SLSQP"
        rows = lambda x: nlp.evaluate(x)[0][kinds[kind]]
        slopes = lambda x: nlp.evaluate(x)[1][kinds[kind]]
        jac = (lambda x: slopes(x).toarray()) if dense else slopes
        return optimize.NonlinearConstraint(rows, low, 0.0, jac=jac)

    result = optimize.minimize(
        cost,
        nlp.initial,
        jac=True,
        method=method,
        bounds=optimize.Bounds(*nlp.bounds),
        constraints=[constraint(OT.eq, 0.0), constraint(OT.ineq, -np.inf)],
        options=dict(maxiter=300),
    )
    return result.x


@pytest.mark.long
@pytest.mark.sampled("IK")
@pytest.mark.parametrize(
    ("build", "method"),
    [
        (lambda: arm(0, 1), "SLSQP"),
        (lambda: arm(2, 8), "SLSQP"),
        pytest.param(lambda: arm(2, 8), "trust-constr", marks=pytest.mark.slow),
    ],
    ids=["IK", "path", "path by trust regions"],
)
@pytest.mark.filterwarnings("ignore:delta_grad == 0.0:UserWarning")
def test_scipy_finds_the_same_optimum(build, method):
    komo = build()
    sol = komo.solve(tolerance=1e-5)
    assert sol.feasible
    nlp = komo.nlp()
    x = by_scipy(nlp, method)
    totals = nlp.summarize(nlp.evaluate(x)[0])
    assert max(totals.eq, totals.ineq) < 1e-4
    np.testing.assert_allclose(totals.sos, sol.sos, rtol=1e-3)
    np.testing.assert_allclose(nlp.path(x), sol.path, atol=5e-3)


@pytest.mark.slow
def test_what_was_solved_is_stationary_with_shared_variables():
    """∇cost + Σ λ ∇φ_eq = 0 for some λ, along variables that are not at a limit."""
    komo = carrying()
    sol, nlp = komo.solve(tolerance=1e-6), komo.nlp()
    x = np.zeros(nlp.dimension)
    x[nlp._variables] = sol.x
    np.testing.assert_allclose(nlp.path(x), sol.path, atol=1e-12)
    phi, J = nlp.evaluate(x)
    totals = nlp.summarize(phi)
    np.testing.assert_allclose([totals.sos, totals.eq], [sol.sos, sol.eq], rtol=1e-6)
    free = (x > nlp.bounds[0] + 1e-9) & (x < nlp.bounds[1] - 1e-9)
    assert 0 < np.sum(~free) < 4
    J, cost = J.toarray()[:, free], np.array([t is OT.sos for t in nlp.types])
    slope = 2 * J[cost].T @ phi[cost]
    residual = slope - J[~cost].T @ np.linalg.lstsq(J[~cost].T, slope)[0]
    assert np.abs(residual).max() < 1e-4 * np.abs(slope).max()


def test_ipopt_finds_the_same_optimum():
    cyipopt = pytest.importorskip("cyipopt", reason="needs the package cyipopt")
    komo = arm(2, 8)
    sol, nlp = komo.solve(), komo.nlp()
    kinds = np.array([t.value for t in nlp.types])
    cost, is_constraint = kinds == OT.sos.value, kinds != OT.sos.value
    entries = is_constraint[nlp.row]

    class Problem:
        objective = lambda self, x: np.sum(nlp.values(x)[0][cost] ** 2)
        constraints = lambda self, x: nlp.values(x)[0][is_constraint]
        jacobian = lambda self, x: nlp.values(x)[1][entries]

        def gradient(self, x):
            phi, J = nlp.evaluate(x)
            return 2 * J[cost].T @ phi[cost]

        def jacobianstructure(self):
            return (np.cumsum(is_constraint) - 1)[nlp.row[entries]], nlp.column[entries]

    low = np.where(kinds[is_constraint] == OT.eq.value, 0.0, -1e20)
    ipopt = cyipopt.Problem(
        nlp.dimension, is_constraint.sum(), Problem(), *nlp.bounds, low, 0 * low
    )
    ipopt.add_option("print_level", 0)
    x, _ = ipopt.solve(nlp.initial)
    np.testing.assert_allclose(x.reshape(sol.path.shape), sol.path, atol=5e-3)


def test_the_same_problem_in_rais_spelling():
    C = ry.Config()
    C.addFrame("a").setJoint(ry.JT.hingeZ)
    tip = C.addFrame("tip", "a")
    tip.setRelativePosition([0.5, 0, 0])
    komo = ry.KOMO(C, 1, 2, 1, False)
    komo.addControlObjective([], 1, 0.1)
    komo.addObjective([1.0], ry.FS.position, ["tip"], ry.OT.eq, [1], [0.3, 0.4, 0])
    nlp = komo.nlp()
    x = nlp.getInitializationSample()
    phi, triplets = nlp.evaluate(x)
    assert nlp.getDimension() == 2 == len(x) and nlp.getBounds().shape == (2, 2)
    assert nlp.getTypes() == [ry.OT.sos] * 2 + [ry.OT.eq] * 3
    J = np.zeros((5, 2))
    np.add.at(
        J, (triplets[:, 0].astype(int), triplets[:, 1].astype(int)), triplets[:, 2]
    )
    want = central_differences(lambda x: nlp.evaluate(x)[0], x)
    np.testing.assert_allclose(J, want, atol=1e-8)
    f, sos, ineq, eq = nlp.summarizeErrors(phi)
    assert (f, ineq) == (0, 0)
    np.testing.assert_allclose([sos, eq], [phi[:2] @ phi[:2], np.abs(phi[2:]).sum()])
