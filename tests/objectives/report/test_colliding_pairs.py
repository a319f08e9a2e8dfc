"""Reports of infeasible solutions name the pairs that collide."""

import pytest

import posewise as pw
from posewise import FS, OT, ProblemWarning


def blocked(symbol, frames=(), **options) -> pw.Solution:
    """Return a path of a cart that ends within a wall, beside a distant ball."""
    C = pw.Config()
    C.add_frame("wall", position=[1, 0, 0], shape=pw.Box([0.2, 1, 1]))
    C.add_frame("ball", position=[0.85, 0.4, 0], shape=pw.Sphere(0.1))
    C.add_frame("cart", joint="transX", limits=[[-2.0], [2.0]], shape=pw.Sphere(0.2))
    komo = pw.KOMO(C, 1, 4, 1)
    komo.add_control_objective(order=1)
    komo.add_objective(None, symbol, frames, OT.ineq, name="clear", **options)
    komo.add_objective([1.0], FS.qItself, [], OT.eq, target=[0.8], scale=100)
    with pytest.warns(ProblemWarning, match="its target in slice 3 violates"):
        return komo.solve()


@pytest.mark.long
@pytest.mark.sampled
@pytest.mark.parametrize("symbol", [FS.accumulatedCollisions, FS.collisionRows])
def test_pairs_of_the_worst_slice_are_named(symbol):
    solution = blocked(symbol, margin=0.05)
    assert not solution.feasible
    assert solution.message.endswith("report() names the pairs that collide.")
    x = float(solution.q[0])
    line = solution.report().splitlines()[-1]
    assert line.startswith("clear: nearest in slice 3: 'wall' and 'cart' (")
    assert f"({1e3 * (0.7 - x):.1f} mm)" in line and "'ball'" not in line


@pytest.mark.long
def test_only_pairs_of_the_objective_are_named():
    lines = blocked(FS.accumulatedCollisions, ["ball"], margin=0.2).report()
    (line,) = [line for line in lines.splitlines() if "nearest" in line]
    assert "'ball' and 'cart'" in line and "'wall'" not in line


@pytest.mark.slow
def test_worlds_with_carried_objects_are_measured_too():
    C = pw.Config()
    C.add_frame("wall", position=[1, 0, 0], shape=pw.Box([0.2, 1, 1]))
    C.add_frame("hand", joint="transX", limits=[[-2.0], [2.0]])
    C.add_frame("box", joint="free", position=[0.1, 0, 0], shape=pw.Sphere(0.2))
    komo = pw.KOMO(C, 2, 2, 1)
    komo.add_mode_switch([1.0, 2.0], "stable", ["hand", "box"])
    komo.add_control_objective(order=1)
    komo.add_objective(None, FS.accumulatedCollisions, [], OT.ineq)
    komo.add_objective([2.0], FS.position, ["hand"], OT.eq, target=[1, 0, 0], scale=100)
    komo.add_objective([1.0], FS.poseDiff, ["hand", "box"], OT.eq)
    assert "'wall' and 'box' (-" in komo.solve().report()


def test_feasible_solutions_measure_nothing(monkeypatch):
    def fail(*_):
        raise AssertionError("collisions are measured")

    C = pw.Config()
    C.add_frame("wall", position=[1, 0, 0], shape=pw.Box([0.2, 1, 1]))
    C.add_frame("cart", joint="transX", shape=pw.Sphere(0.2))
    komo = pw.KOMO(C, 1, 4, 1)
    komo.add_objective(None, FS.accumulatedCollisions, [], OT.ineq)
    solution = komo.solve()
    monkeypatch.setattr(pw.Config, "collisions", fail)
    assert solution.feasible and "nearest" not in solution.report()
    assert "names the pairs" not in solution.message
