"""Quaternions of targets are normalised, or refused when they are zero."""

import numpy as np
import pytest

import posewise as pw
from posewise import FS, OT, FeatureError

HALF = np.sqrt(0.5)
SYMBOLS = {
    FS.quaternion: ["a"],
    FS.quaternionRel: ["a", "b"],
    FS.pose: ["a"],
    FS.poseRel: ["a", "b"],
}


def world() -> pw.Config:
    C = pw.Config()
    C.add_frame("b")
    C.add_frame("a", joint="free")
    return C


def as_target(symbol, quaternion) -> list[float]:
    place = [0.1, 0.2, 0.3] if symbol in (FS.pose, FS.poseRel) else []
    return [*place, *quaternion]


@pytest.mark.sampled
@pytest.mark.parametrize("symbol", SYMBOLS)
@pytest.mark.parametrize("length", [1e-6, 0.5, 1.0, 300.0])
def test_targets_of_any_length(symbol, length):
    C, frames = world(), SYMBOLS[symbol]
    unit = np.array([0, HALF, HALF, 0])
    target = as_target(symbol, length * unit)
    C.set_pose("a", [0.1, 0.2, 0.3, *unit])
    feature = pw.Feature(symbol, frames, target=target)
    np.testing.assert_allclose(feature.with_unit_target().eval(C)[0], 0, atol=1e-9)
    C.set_pose("a", [0, 0, 0, 1, 0, 0, 0])
    komo = pw.KOMO(C)
    komo.add_objective([], symbol, frames, OT.eq, target=target, scale=10)
    solution = komo.solve()
    assert solution.feasible
    assert abs(solution.q[3:] @ unit) == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("symbol", SYMBOLS)
@pytest.mark.parametrize("scale", [None, 10.0, [1.0], "identity"])
def test_zero_is_refused(symbol, scale):
    scale = np.eye(symbol.symbol.dim) if scale == "identity" else scale
    target, komo = as_target(symbol, [0] * 4), pw.KOMO(world())
    with pytest.raises(FeatureError, match=r"whose quaternion is zero.*but 0"):
        komo.add_objective([], symbol, SYMBOLS[symbol], target=target, scale=scale)


PARTIAL = {
    "position of a pose": (FS.pose, [1, 1, 1, 0, 0, 0, 0], [1, 2, 3, 0, 0, 0, 0]),
    "upright": (FS.quaternion, [0, 1, 1, 0], [0, 0, 0, 0]),
    "one component": (FS.quaternionRel, np.eye(4)[3:], [0, 0, 0, 0.5]),
}


@pytest.mark.parametrize("case", PARTIAL)
def test_components_keep_their_values(case):
    symbol, scale, target = PARTIAL[case]
    feature = pw.Feature(symbol, SYMBOLS[symbol], target=target, scale=scale)
    np.testing.assert_array_equal(feature.with_unit_target().target, target)


def test_velocities_and_differences_keep_their_targets():
    for symbol, frames, order in [
        (FS.quaternion, ["a"], 1),
        (FS.quaternionDiff, ["a", "b"], 0),
    ]:
        feature = pw.Feature(symbol, frames, target=[0, 0, 0, 0.1], order=order)
        unit = feature.with_unit_target()
        np.testing.assert_array_equal(unit.target, [0, 0, 0, 0.1])


@pytest.mark.slow
def test_targets_of_batches_and_functions():
    komo = pw.KOMO(world())
    turn = komo.add_objective([], FS.quaternion, ["a"], target=[1, 0, 0, 0])
    (solution,) = komo.solve_batch({turn: [[0, 1, 1, 0]]})
    assert abs(solution.q[3:] @ [0, HALF, HALF, 0]) == pytest.approx(1.0, abs=1e-3)
    q = np.asarray(komo.function(turn)([0.0, 0.0, 3.0, 0.0]))[-1]
    assert abs(q[5]) == pytest.approx(1.0, abs=1e-3)
    with pytest.raises(FeatureError, match="whose quaternion is zero"):
        komo.solve_batch({turn: [[1, 0, 0, 0], [0, 0, 0, 0]]})
