"""Projections onto equations and bounds meet them, within limits, and near by."""

import numpy as np
import pytest

import posewise as pw
from posewise import FS, OT
from posewise.objectives.solve.goal_configurations import Projection

LINKS = 0.5, 0.4, 0.3
LIMIT = 2.5


@pytest.fixture(scope="module")
def arm() -> pw.Config:
    C = pw.Config()
    parent, before = "world", 0.0
    for k, length in enumerate(LINKS):
        C.add_frame(
            f"joint {k}",
            parent,
            position=[before, 0, 0],
            joint="hingeZ",
            limits=[[-LIMIT], [LIMIT]],
        )
        parent, before = f"joint {k}", length
    C.add_frame("tip", parent, position=[before, 0, 0])
    return C


def tip(q: np.ndarray) -> np.ndarray:
    angles = np.cumsum(q, -1)
    return np.stack([np.cos(angles) @ LINKS, np.sin(angles) @ LINKS], -1)


def projection(C: pw.Config, type: OT, q=(0, 0, 0), locked=()) -> Projection:
    komo = pw.KOMO(C, 1, 2, 1)
    komo.add_objective(
        [], FS.position, ["tip"], type, scale=[[0, 1, 0]], target=[0, 0.3, 0]
    )
    return Projection(komo.spec, np.array(q, float), 0, 1e-4, locked)


@pytest.mark.parametrize("type", [OT.eq, OT.ineq])
def test_what_is_projected_meets_the_demand_by_its_own_formula(arm, type):
    q = np.random.default_rng(0).uniform(-1.2, 1.2, (40, 3))
    ends, is_met = projection(arm, type)(q)
    height = tip(ends)[:, 1] - 0.3
    assert is_met.mean() >= 0.9
    violation = np.abs(height) if type is OT.eq else np.maximum(height, 0.0)
    assert (violation[is_met] <= 1e-4).all()
    assert (np.abs(ends) <= LIMIT).all()
    free = type is OT.ineq and tip(q)[:, 1] <= 0.3
    np.testing.assert_array_equal(ends[free], q[free])


def test_the_way_is_nearly_the_shortest(arm):
    q = np.random.default_rng(1).uniform(-0.6, 0.6, (8, 3))
    ends, is_met = projection(arm, OT.eq)(q)
    for start, end in zip(q[is_met], ends[is_met], strict=True):
        # of the same arm, the nearest of many configurations on the equation
        samples = start + np.random.default_rng(2).uniform(-0.9, 0.9, (40_000, 3))
        on = samples[np.abs(tip(samples)[:, 1] - 0.3) < 5e-3]
        shortest = np.linalg.norm(on - start, axis=1).min()
        assert np.linalg.norm(end - start) <= 1.3 * shortest + 0.02


def test_locked_joints_stay_and_what_cannot_be_met_is_told(arm):
    q = np.random.default_rng(3).uniform(-1, 1, (5, 3))
    q[:, 0] = 0.2
    ends, is_met = projection(arm, OT.eq, q[0], ["joint 0"])(q)
    np.testing.assert_array_equal(ends[:, 0], q[:, 0])
    assert np.abs(tip(ends)[is_met, 1] - 0.3).max() <= 1e-4
    low = np.array([[-1.5, 0.1, 0.1]])  # the last link alone does not reach up
    ends, is_met = projection(arm, OT.eq, low[0], ["joint 0", "joint 1"])(low)
    assert not is_met.any()
    assert np.isfinite(ends).all()
