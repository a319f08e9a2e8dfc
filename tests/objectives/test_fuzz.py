"""Random problems: the status of every solution is honest.

The problems of a family share what is static in a program, so that each family compiles
once; frames, times, types, targets, scales, limits and states are random in each.
"""

from dataclasses import dataclass

import numpy as np
import pytest
from helpers.worlds import random_q, random_tree
from scipy.optimize import lsq_linear

import posewise as pw
from posewise import FS, OT, Status

# Contradictory problems have axes of any length as targets, which costs a warning.
pytestmark = pytest.mark.filterwarnings("ignore:.*an axis has length 1")

STARTS = 4
TOLERANCE = 1e-3
GAP = 0.3
"""Distance between contradictory targets [m]."""
SOLID = FS.negDistance, FS.insideBox, FS.aboveBox
"""Symbols of frames with a shape."""


@dataclass(frozen=True)
class Family:
    """Static structure that the problems of a family share."""

    seed: int
    joints: int
    slices: int
    order: int
    symbols: tuple[tuple[FS, int, int], ...]
    """Besides positions: symbol, number of frames, order."""


FAMILIES = [
    Family(0, 4, 1, 0, ((FS.vectorZ, 1, 0), (FS.positionRel, 2, 0))),
    Family(1, 6, 4, 1, ((FS.quaternion, 1, 0), (FS.positionDiff, 2, 1))),
    Family(2, 8, 1, 0, ((FS.poseLog, 2, 0), (FS.scalarProductXY, 2, 0))),
    Family(3, 3, 6, 2, ((FS.position, 1, 2), (FS.vectorXRel, 2, 0))),
    Family(4, 9, 3, 1, ((FS.linangVel, 1, 1), (FS.gazeAt, 2, 0))),
    Family(5, 5, 5, 2, ((FS.poseDiff, 2, 1), (FS.insideBox, 2, 0))),
    Family(6, 4, 1, 0, ((FS.negDistance, 2, 0), (FS.vectorYDiff, 2, 0))),
    Family(7, 7, 2, 0, ((FS.qItself, 0, 0), (FS.aboveBox, 2, 0))),
]
KINDS = "feasible", "contradictory", "any"


def world(family: Family, rng: np.random.Generator) -> pw.Config:
    """The family's tree; half of its single joints have limits, of random width."""
    C = random_tree(family.seed, family.joints)
    for k, name in enumerate(C.joint_names):
        columns = C.joints.coordinates(name)
        if columns.size == 1 and k % 2:
            low, high = rng.uniform(0, 2, 2)
            C.joints.set_limits(name, [C.q[columns] - low, C.q[columns] + high])
    C.q = within(C, random_q(C, rng))
    return C


def within(C: pw.Config, q: np.ndarray) -> np.ndarray:
    """q with unit quaternions, within the limits."""
    q = np.clip(q, *C.limits)
    for first in C.joints.quaternions:
        part = q[..., first : first + 4]
        part /= np.linalg.norm(part, axis=-1, keepdims=True)
    return q


def draw(family: Family, kind: str, rng: np.random.Generator) -> pw.KOMO:
    """Draw three or four objectives of each symbol, each in one slice.

    Constraints of a feasible problem hold on a random path; in a contradictory problem
    a frame has two targets in the same slice.
    """
    C = world(family, rng)
    komo = pw.KOMO(C, 1, family.slices, family.order, rng.uniform(0.5, 2.0))
    komo.add_control_objective(family.order, rng.uniform(0.01, 1.0))
    path = within(C, random_q(C, rng, family.slices))
    names = [f.name for f in C.frames]
    solid = [f.name for f in C.frames if f.geometries]
    for symbol, count, order in ((FS.position, 1, 0), *family.symbols):
        clash = kind == "contradictory" and (symbol, order) == (FS.position, 0)
        for _ in range(rng.integers(3, 5) - 2 * clash):
            t = int(rng.integers(family.slices))
            among = solid if symbol in SOLID else names
            frames = [str(f) for f in rng.choice(among, count, replace=False)]
            y = pw.Feature(symbol, frames, order=order).eval(
                C, window(komo, path, t, order), komo.tau[0]
            )[0]
            type = OT(rng.choice([0, 1, 1, 2, 2]))
            scale = rng.choice([0.0, 0.3, 1.0, 5.0], len(y), p=[0.1, 0.3, 0.3, 0.3])
            if type is OT.ineq:
                scale *= rng.choice([-1, 1], len(y))
                y = y + np.sign(scale) * rng.uniform(0, 0.2, len(y))
            if kind == "any" or type is OT.sos:
                y = y + rng.normal(size=len(y))
            aim(komo, t, symbol, frames, type, order=order, scale=scale, target=y)
    if kind == "contradictory":
        t, frame = int(rng.integers(family.slices)), str(rng.choice(names))
        place = rng.normal(size=3)
        type = OT(rng.choice([1, 2]))
        scale = np.eye(3)[rng.integers(3)] * rng.uniform(1, 5)
        for side in (1, -1):
            target = place + 0.5 * GAP * side
            aim(komo, t, FS.position, [frame], type, scale=-side * scale, target=target)
    return komo


def aim(komo: pw.KOMO, t: int, *what, **options) -> None:
    """An objective in slice t."""
    komo.add_objective([(t + 1) / komo.slices_per_phase], *what, **options)


def window(komo: pw.KOMO, path: np.ndarray, t: int, order: int) -> np.ndarray:
    """The slices that a feature of some order in slice t looks at, oldest first."""
    every = np.concatenate([np.tile(komo.config.q, (order, 1)), path])
    return every[t : t + order + 1]


def evaluate(komo: pw.KOMO, objective: pw.Objective, q: np.ndarray) -> np.ndarray:
    """The value of an objective, by its feature alone.

    A feature alone does not know its type. Joints that turn without end it compares
    with a target up to full turns, of which inequalities count each one.
    """
    it = objective.feature
    if objective.type is OT.ineq and it.symbol is FS.qItself.symbol and it.order == 0:
        return it.scale * (q[-1] - it.target)
    return it.eval(komo.config, q, komo.tau[0])[0]


def check(komo: pw.KOMO, solution: pw.Solution) -> None:
    """Check what every solution must satisfy, by features evaluated one by one."""
    C, path = komo.config, solution.path
    assert np.isfinite(path).all()
    np.testing.assert_allclose(path, within(C, path.copy()), atol=1e-9)
    worst = 0.0
    for report in solution.objectives:
        it = report.objective
        order = it.feature.order
        windows = [window(komo, path, t, order) for t in it.slices]
        y = np.stack([evaluate(komo, it, q) for q in windows])
        if it.weights is not None:
            y = y * np.reshape(it.weights, (-1, 1))
        np.testing.assert_allclose(report.values, y, rtol=1e-6, atol=1e-7)
        if it.type is OT.eq:
            worst = max(worst, np.abs(y).max())
        if it.type is OT.ineq:
            worst = max(worst, y.max())
    assert np.isfinite(solution.sos)
    assert solution.feasible == (worst <= TOLERANCE)
    good = solution.status in (Status.CONVERGED, Status.FEASIBLE)
    assert good == solution.feasible, solution.report()
    assert ("Violated" in solution.message) == (not solution.feasible)


class KktCheck:
    """The conditions of optimality at a solution, of SciPy and `nlp` alone."""

    def __init__(self, komo: pw.KOMO, solution: pw.Solution):
        nlp, self.x = komo.nlp(), solution.path.ravel()
        self.phi, jacobian = nlp.evaluate(self.x)
        self.J = jacobian.toarray()
        kind = np.array([t.value for t in nlp.types])
        self.cost, self.eq = kind == OT.sos.value, kind == OT.eq.value
        self.ineq = kind == OT.ineq.value
        self.low = self.x <= nlp.bounds[0] + 1e-9
        self.high = self.x >= nlp.bounds[1] - 1e-9
        starts = [
            t * komo.config.nq + first
            for t in range(komo.T)
            for first in komo.config.joints.quaternions
        ]
        self.lengths = np.zeros((len(starts), self.x.size))
        for row, first in zip(self.lengths, starts, strict=True):
            row[first : first + 4] = self.x[first : first + 4]

    def free_and_one_sided(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return gradients of what may push either way, and one way only."""
        eye = np.eye(self.x.size)
        free = [self.J[rows & self.eq], self.lengths]
        one_sided = [self.J[rows & self.ineq], -eye[self.low], eye[self.high]]
        return np.concatenate(free), np.concatenate(one_sided)

    def of_cost(self) -> float:
        """The imbalance of the cost among feasible points, by the best multipliers."""
        terms = (2 * self.cost * self.phi)[:, None] * self.J
        touching = self.eq | (self.ineq & (self.phi > -TOLERANCE))
        free, one_sided = self.free_and_one_sided(touching)
        least = np.repeat([-np.inf, 0.0], [len(free), len(one_sided)])
        push = np.concatenate([free, one_sided]).T
        imbalance = lsq_linear(push, -terms.sum(0), (least, np.inf)).fun
        return np.abs(imbalance).max() / (np.abs(terms).max() + 1e-3)

    def of_violation(self) -> float:
        """The imbalance of violated rows, by the best weights.

        By Gordan's theorem it vanishes where no direction lessens all violations.
        """
        violation = np.where(self.ineq, np.maximum(self.phi, 0.0), self.eq * self.phi)
        violated = np.abs(violation) > TOLERANCE
        touching = (self.eq | (self.ineq & (self.phi > -TOLERANCE))) & ~violated
        free, one_sided = self.free_and_one_sided(touching)
        pull = np.sign(violation[violated])[:, None] * self.J[violated]
        pull /= np.maximum(np.linalg.norm(pull, axis=1, keepdims=True), 1e-9)
        least = np.repeat([-np.inf, 0.0], [len(free), len(one_sided) + len(pull)])
        every = np.concatenate([free, one_sided, pull]).T
        # The last row asks for weights with a sum of 1.
        total = np.repeat([0.0, 1e3], [every.shape[1] - len(pull), len(pull)])
        want = np.append(np.zeros(len(every)), 1e3)
        imbalance = lsq_linear(np.vstack([every, total]), want, (least, np.inf)).fun
        return np.linalg.norm(imbalance[:-1])


def run(family: Family, count: int) -> dict[str, list[tuple[pw.KOMO, pw.Solution]]]:
    """Solve problems of each kind in turn, and check each."""
    solved: dict = {kind: [] for kind in KINDS}
    for k in range(count):
        kind = KINDS[k % len(KINDS)]
        komo = draw(family, kind, np.random.default_rng([family.seed, k]))
        solution = komo.solve(starts=STARTS, seed=k, tolerance=TOLERANCE)
        check(komo, solution)
        solved[kind].append((komo, solution))
        if solution.status is Status.CONVERGED:
            assert KktCheck(komo, solution).of_cost() < 2e-2
    assert all(s.status is Status.INFEASIBLE for _, s in solved["contradictory"])
    return solved


@pytest.mark.long
@pytest.mark.parametrize("family", FAMILIES[:1], ids=lambda f: f.symbols[0][0].name)
def test_random_problems_end_honestly(family):
    solved = run(family, 10)
    assert np.mean([s.feasible for _, s in solved["feasible"]]) >= 0.75


@pytest.mark.slow
def test_two_hundred_random_problems():
    runs = [run(family, 25) for family in FAMILIES]
    feasible = [s.feasible for f in runs for _, s in f["feasible"]]
    assert np.mean(feasible) >= 0.8
    every = [pair for f in runs for pairs in f.values() for pair in pairs]
    unsolved = [s.status is Status.INFEASIBLE for _, s in every if not s.feasible]
    assert np.mean(unsolved) >= 0.95
    # Violations of some symbols have kinks, where no gradient vanishes.
    unsolved = [p for p in every if p[1].status is Status.INFEASIBLE]
    stationary = [KktCheck(*p).of_violation() < 2e-2 for p in unsolved]
    assert np.mean(stationary) >= 0.95
