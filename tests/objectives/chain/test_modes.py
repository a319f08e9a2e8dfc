"""Mode switches: what is carried stays put on what carries it, and never jumps."""

import jax.numpy as jnp
import numpy as np
import pytest
from helpers.mode_worlds import kitchen, pick_and_place, relative
from helpers.oracle import komo_scenes, world

import posewise as pw
from posewise import FS, OT
from posewise.objectives.problem.spec import compile_chain, initial_paths, mode_sequence


@pytest.mark.long
@pytest.mark.parametrize("carried", [None, "free"])
@pytest.mark.parametrize(
    ("slices", "order"), [(1, 1), pytest.param(5, 2, marks=pytest.mark.slow)]
)
def test_pick_and_place(carried, slices, order):
    komo = pick_and_place(carried, slices, order)
    sol = komo.solve()
    assert sol.feasible, sol.report()
    before, T = komo.config, komo.T
    picked, placed = slices - 1, T - 1
    grasp = relative(sol.world_at(picked), "wrist", "box")
    for t in range(T):
        C = sol.world_at(t)
        knob = relative(C, "box", "knob")
        np.testing.assert_allclose(knob, relative(before, "box", "knob"), atol=1e-12)
        if t < picked:
            np.testing.assert_allclose(C.pose("box"), before.pose("box"), atol=1e-9)
        elif t < placed:
            np.testing.assert_allclose(relative(C, "wrist", "box"), grasp, atol=1e-9)
            assert C.frames[C.frame("box").parent].name == "wrist"
    np.testing.assert_allclose(
        relative(sol.world_at(picked), "table", "box"),
        relative(before, "table", "box"),
        atol=2e-4,
    )
    offset = (
        sol.world_at(picked).pose("wrist")[:3] - sol.world_at(picked).pose("knob")[:3]
    )
    np.testing.assert_allclose(offset, [0, 0, 0.05], atol=1e-3)
    end = sol.world_at(-1)
    np.testing.assert_allclose(end.pose("box")[2], 0.49 + 0.05, atol=1e-9)
    x_axis = end.forward_pass().frames.R[end.index("box")][:, 0]
    np.testing.assert_allclose(x_axis, [0, 1, 0], atol=1e-3)
    # handed on without a jump
    if slices == 1:
        relative_pose = relative(end, "wrist", "box")
        np.testing.assert_allclose(relative_pose, grasp, atol=1e-3)
    if carried == "free":
        C = before.copy()
        C.q = sol.path[-1]
        np.testing.assert_allclose(C.pose("box")[:3], end.pose("box")[:3], atol=1e-9)


@pytest.mark.slow
def test_collisions_are_those_of_what_is_real():
    """A carried box meets the wall it is carried through, not its old place."""
    C = kitchen()
    C.add_frame("wall", position=[0, 0, 0.6], shape=pw.Box([0.1, 0.6, 0.3]))
    komo = pw.KOMO(C, 2, 1, 1)
    komo.add_mode_switch([1.0], "rigid", ["wrist", "box"])
    komo.add_objective(None, FS.accumulatedCollisions, [], OT.sos, name="hits")
    pairs = [
        {tuple(sorted(p)) for p in m.config.pairs.names()}
        for m in mode_sequence(komo.spec).modes
    ]
    assert ("box", "wrist") in pairs[0] and ("box@0", "wall") in pairs[1]
    assert not any("box" in pair for pair in pairs[1])
    assert not any("box@0" in pair for pair in pairs[0])
    problem, data, placed = compile_chain(komo.spec)
    for x, hit in ((-1.0, 0.0), (0.0, 0.1)):  # half of the wall, and of the box
        q = mode_sequence(komo.spec).from_base(np.tile(C.q, (2, 1)))
        q[:, :3] = x, 0.0, -0.35
        rows = problem.evaluate(data, jnp.asarray(q))
        last = float(rows[placed[-1][-1].batch].y[placed[-1][-1].rows[-1], 0])
        assert (last > hit) if hit else last == 0.0


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda k: k.add_mode_switch([1.0], "glued", ["hand", "box"]), "mode 'glued'"),
        (lambda k: k.add_mode_switch([1.0], "stable", ["hand", "bix"]), "'box'"),
        (lambda k: k.add_mode_switch([1.0], "stable", ["knob", "box"]), "a part of it"),
        (lambda k: k.add_mode_switch([1.0], "stable", ["box"]), "expected two"),
        (lambda k: k.add_mode_switch([5.0], "stable", ["hand", "box"]), "no slice"),
        (lambda k: k.add_mode_switch([1.0], "stableOn", ["hand", "box"]), "no shape"),
    ],
)
def test_errors_name_what_is_wrong(call, match):
    komo = pw.KOMO(kitchen(), 2, 1, 1)
    with pytest.raises((pw.ConfigError, pw.FeatureError), match=match):
        call(komo)
    assert not komo.objectives


def test_k_order_zero_is_refused():
    with pytest.raises(pw.ObjectiveError, match="k_order >= 1"):
        pw.KOMO(kitchen()).add_mode_switch([1.0], "stable", ["hand", "box"])


@pytest.mark.parametrize("slices", [1, 3])
def test_nothing_jumps_in_initial_paths(slices):
    """An object released above or beside the tray is put on it upright."""
    komo = pick_and_place(slices=slices)
    q = komo.config.q
    q[:3] += [-0.3, 0.1, -0.2]
    komo.initialize(q)
    modes, T = mode_sequence(komo.spec), komo.T
    for path in initial_paths(komo.spec, 3, 4):
        picked = modes.config_at(path[slices - 1], slices - 1)
        pose = komo.config.pose("box")
        np.testing.assert_allclose(picked.pose("box"), pose, atol=1e-9)
        before = relative(modes.config_at(path[T - 2], T - 2), "tray", "box")
        after = relative(modes.config_at(path[T - 1], T - 1), "tray", "box")
        beside = np.clip(before[:2, 0], -0.15, 0.15)
        np.testing.assert_allclose(after[:, 0], [*beside, 0.07], atol=1e-9)
        np.testing.assert_allclose(after[2, 1:], [0, 0, 1], atol=1e-9)


@pytest.mark.slow
def test_a_whole_path_of_a_panda_that_puts_a_box_elsewhere():
    """Neither from home nor from near zero does it creep along a valley.

    The grip is far from the box at first: a small turn of the hand throws it about,
    and its velocity may not change while it is gripped.
    """
    scenes = komo_scenes()
    C = world(scenes["panda7"](box_joint=True))
    C.q = scenes["PANDA_HOME"]
    komo = pw.KOMO(C, 2, 16, 2)
    komo.add_control_objective(0, 1e-2)
    komo.add_control_objective(2, 0.1)
    komo.add_objective(None, FS.accumulatedCollisions, [], OT.ineq)
    komo.add_objective(None, FS.jointLimits, [], OT.ineq)
    komo.add_mode_switch([1.0], "stable", ["gripper", "box"])
    komo.add(pw.presets.grasp_box("gripper", "box", "palm", "x"), [1.0])
    komo.add(pw.presets.place_box("box", "table", "palm", "z", 0.1), [2.0])
    target = pw.presets.target_relative_xy_position("box", "table", [0.05, 0.1])
    komo.add(target, [2.0])
    for begin, passes in ((C.q, 80), ([0, 0, 0, -0.08, 0, 0, 0], 200)):
        komo.initialize(begin)
        sol = komo.solve()
        assert sol.feasible and sol.iterations < passes, sol.report()
        assert sol.sos < 0.17
