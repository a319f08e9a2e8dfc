"""Contact forces as variables: statics against MuJoCo, and what they are made of."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import posewise as pw
from posewise import FS, OT
from posewise.collision import point_distance_and_normal
from posewise.objectives.problem.spec import compile_chain, initial_paths, mode_sequence
from posewise.robots.contact.bodies import frame_bodies
from posewise.robots.contact_forces import ContactForceVariable, contact_force_variables
from posewise.robots.simulation.inertia import link_inertia

G, MASS, EFFORT = 9.81, 0.2, 5.0
SIZE = pw.Box([0.06, 0.06, 0.06])
FINGERS = {"left": -1, "right": 1}


# -- a block on a slope --------------------------------------------------------------


def slope(degrees: float, joint: str = "transZ") -> pw.Config:
    """A block on an inclined table, of friction 0.5 (26.57°)."""
    half = np.radians(degrees) / 2
    turn = [np.cos(half), 0, np.sin(half), 0]
    C = pw.Config()
    C.add_frame("table", quaternion=turn, shape=pw.Box([1, 1, 0.1]))
    C.add_frame("place", "table", position=[0, 0, 0.08])
    if joint == "free":
        pose = {"pose": C.pose("place"), "joint": "free"}
        C.add_frame("block", shape=SIZE, mass=MASS, **pose)
    else:
        C.add_frame("block", "place", joint=joint, q=[0.02], shape=SIZE, mass=MASS)
    return C


def resting(C: pw.Config) -> pw.KOMO:
    komo = pw.KOMO(C)
    komo.add_contact(None, "block", "table")
    komo.add_objective(None, FS.totalForce, ["block"], OT.eq, scale=1 / (MASS * G))
    return komo


@pytest.mark.long
@pytest.mark.sampled
@pytest.mark.parametrize(("degrees", "rests"), [(0, True), (24, True), (29, False)])
def test_a_block_rests_where_friction_holds_it(degrees, rests):
    solution = resting(slope(degrees)).solve()
    assert solution.feasible == rests, solution.report()
    if rests:
        (contact,) = solution.forces()
        normal = slope(degrees).forward_pass().frames.R[0][:, 2]
        pressure = contact.force @ normal
        assert contact.frames == ("block", "table") and contact.slice == 0
        np.testing.assert_allclose(contact.force, [0, 0, MASS * G], atol=1e-3)
        assert np.linalg.norm(contact.force - pressure * normal) <= 0.5 * pressure
        bottom = contact.point - 0.05 * normal
        np.testing.assert_allclose(bottom @ normal, 0, atol=1e-4)
        total = solution.world_at(0).eval(FS.totalForce, ["block"])[0]
        np.testing.assert_allclose(total, np.zeros(6), atol=2e-3)
    else:
        assert solution.status is pw.Status.INFEASIBLE
        assert "totalForce" in solution.message


@pytest.mark.parametrize(("degrees", "rests"), [(0, True), (24, True), (29, False)])
def test_so_it_does_in_mujoco(degrees, rests):
    pytest.importorskip("mujoco")
    twin = pw.Twin(slope(degrees, "free"))
    z = twin.simulate(1.0).poses("block")[:, 2]
    assert (abs(z[-1] - z[0]) < 1e-3) == rests
    if rests:
        touches = twin.contacts(after=0.5)
        sign = {"block": 1, "table": -1}
        total = sum(sign[touch.b] * touch.force for touch in touches)
        np.testing.assert_allclose(total, [0, 0, MASS * G], atol=0.02 * MASS * G)


# -- a block between two fingers -----------------------------------------------------


def gripper(friction: float) -> pw.Config:
    """A block in the air between two fingers."""
    C = pw.Config()
    for name, side in FINGERS.items():
        C.add_frame(
            name, joint="transX", position=[0.035 * side, 0, 0.5],
            limits=[[-0.05], [0.05]], mass=0.1,
        )  # fmt: skip
        C.add_frame(
            f"{name}_pad", name, shape=pw.Box([0.01, 0.03, 0.03]),
            contact_friction=friction,
        )  # fmt: skip
    C.add_frame(
        "block", joint="free", position=[0, 0, 0.5], shape=SIZE, mass=MASS,
        contact_friction=friction,
    )  # fmt: skip
    return C


def holding(C: pw.Config, limit: float = EFFORT) -> pw.KOMO:
    """Neither finger pushes the block harder than the limit."""
    komo = pw.KOMO(C)
    for name, side in FINGERS.items():
        pair = ["block", f"{name}_pad"]
        komo.add_contact(None, *pair)
        along = [[-side / EFFORT, 0, 0]]
        goal = [-side * limit, 0, 0]
        komo.add_objective(
            None, FS.contactForce, pair, OT.ineq, scale=along, target=goal
        )
    komo.add_objective(None, FS.totalForce, ["block"], OT.eq, scale=1 / (MASS * G))
    komo.add_objective(None, FS.pose, ["block"], OT.eq, target=C.pose("block"))
    return komo


# 2 fingers of 5 N hold 0.2 kg from a friction of 0.196 on
@pytest.mark.slow
@pytest.mark.parametrize(("friction", "holds"), [(0.25, True), (0.15, False)])
def test_a_grasp_holds_where_friction_is_enough(friction, holds):
    solution = holding(gripper(friction)).solve()
    assert solution.feasible == holds, solution.report()
    if not holds:
        assert solution.status is pw.Status.INFEASIBLE
        # The block may slip, or tilt until the fingers carry it from below.
        names = "totalForce", "friction", "pose(block)"
        assert any(name in solution.message for name in names)
        return
    left, right = (contact.force for contact in solution.forces())
    np.testing.assert_allclose(left + right, [0, 0, MASS * G], atol=2e-3)
    assert left[0] == pytest.approx(-right[0], abs=2e-3)
    for force in (left, right):
        assert np.hypot(*force[1:]) <= friction * abs(force[0]) + 1e-3
        assert abs(force[0]) <= EFFORT + 5e-3


@pytest.mark.parametrize(("friction", "holds"), [(0.25, True), (0.15, False)])
def test_so_it_does_in_mujoco_with_motors(friction, holds):
    pytest.importorskip("mujoco")
    twin = pw.Twin(gripper(friction), movable_joints=FINGERS)
    motors = {n: pw.Motor(-side * EFFORT, damping=5) for n, side in FINGERS.items()}
    run = twin.start_run(motors=motors)
    for _ in range(250):
        run.step()
    C = gripper(friction)
    C.q = run.q
    drop = 0.5 - C.pose("block")[2]
    assert (drop < 1e-3) == holds
    if holds:  # as in the solution: weight shared, fingers opposed
        pushed = dict.fromkeys(FINGERS, 0.0)
        for touch in run.contacts():
            pad = touch.a if touch.b == "block" else touch.b
            sign = 1 if touch.b == "block" else -1
            pushed[pad.removesuffix("_pad")] += sign * touch.force
        for name, side in FINGERS.items():
            want = [-side * EFFORT, 0, MASS * G / 2]
            np.testing.assert_allclose(pushed[name], want, atol=0.05 * EFFORT)


# -- a block pushed along a table ----------------------------------------------------

SLICES, TOUCH, TAU, GOAL = 12, 3, 2.0 / 12, 0.3


def pushed(kind: str, guessed: bool) -> pw.KOMO:
    """By a ball that goes along the table at a constant height, to a goal, at rest."""
    C = slope(0, "free")
    C.add_frame(
        "ball", joint="transXY", position=[0, 0, 0.07], q=[-0.1, 0],
        shape=pw.Sphere(0.02),
    )  # fmt: skip
    komo = pw.KOMO(C, 1, SLICES, 2, SLICES * TAU)
    komo.add_control_objective(2, 0.1)
    komo.add_contact(None, "block", "table", friction=0.4, kind="sliding")
    touching = [(TOUCH + 1) / SLICES, 1.0]
    komo.add_contact(touching, "block", "ball", friction=0.5, kind=kind)
    scale = np.array([1, 1, 1, 10, 10, 10]) / (MASS * G)
    komo.add_objective(None, FS.physics, ["block"], OT.eq, scale=scale)
    place = np.append(10 * np.eye(2), np.zeros((2, 1)), 1)
    komo.add_objective(
        [1.0], FS.position, ["block"], OT.eq, scale=place, target=[GOAL, 0, 0]
    )
    komo.add_objective([1.0], FS.qItself, [], OT.eq, order=1)
    if not guessed:
        return komo
    # from rest, friction holds a block that the ball may slide on
    path = np.tile(C.q, (SLICES, 1))
    path[:, 0] = GOAL * np.clip((np.arange(SLICES) - TOUCH) / (SLICES - 4), 0, 1)
    path[:, 7] = path[:, 0] - 0.05
    komo.initialize(path)
    return komo


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "guessed"), [("sticking", True), ("sliding", True), ("sticking", False)]
)
def test_a_pushed_block_obeys_newton_and_coulomb(kind, guessed):
    """From the path and the forces alone, by plain NumPy."""
    komo = pushed(kind, guessed)
    solution = komo.solve()
    assert solution.feasible, solution.report()
    np.testing.assert_allclose(solution.path[-1, :2], [GOAL, 0], atol=2e-4)
    start = komo.config.q[None]
    path = np.concatenate([start, start, solution.path])[:, :7]
    centre = path[:, :3]
    w, x, y, z = path[:, 3:].T / np.linalg.norm(path[:, 3:], axis=1)
    tilt = 2 * np.arctan2(y, w)
    assert np.abs(np.stack([x, z])).max() < 1e-3  # it turns about y only
    v, spin = np.diff(centre, axis=0) / TAU, np.diff(tilt) / TAU
    inertia = MASS * 0.06**2 / 6
    contacts = solution.forces()
    assert {f.slice for f in contacts if "ball" in f.frames} == set(
        range(TOUCH, SLICES)
    )
    for t in range(SLICES):
        acting = [f for f in contacts if f.slice == t]
        total = sum(f.force for f in acting) - [0, 0, MASS * G]
        np.testing.assert_allclose(
            total, MASS * (v[t + 1] - v[t]) / TAU, atol=2e-3 * MASS * G
        )
        torque = sum(np.cross(f.point - centre[t + 2], f.force) for f in acting)
        np.testing.assert_allclose(
            torque[1], inertia * (spin[t + 1] - spin[t]) / TAU, atol=2e-4 * MASS * G
        )
    for f in (f for f in contacts if "table" in f.frames):
        assert abs(f.point[2] - 0.05) < 2e-4  # on the table's top
        pressure, drag = f.force[2], f.force[:2]
        assert np.hypot(*drag) <= 0.4 * pressure + 1e-3
        # what touches the table there moves with the block
        arm = f.point - centre[f.slice + 2]
        slip = v[f.slice + 1, 0] + spin[f.slice] * arm[2]
        if abs(slip) > 0.02:
            assert drag[0] == pytest.approx(-0.4 * pressure * np.sign(slip), abs=0.02)
    for f in (f for f in contacts if "ball" in f.frames):
        ball = np.array([*solution.path[f.slice, 7:], 0.07])
        assert np.linalg.norm(f.point - ball) == pytest.approx(0.02, abs=2e-4)
        normal = (f.point - ball) / 0.02
        pressure = f.force @ normal
        assert np.linalg.norm(f.force - pressure * normal) <= 0.5 * pressure + 2e-3


def let_go(C: pw.Config, tau: float, slices: int) -> pw.KOMO:
    """The block goes where gravity and the table take it."""
    komo = pw.KOMO(C, 1, slices, 2, slices * tau)
    komo.add_contact(None, "block", "table", kind="complementary")
    scale = np.array([1, 1, 1, 10, 10, 10]) / (MASS * G)
    komo.add_objective(None, FS.physics, ["block"], OT.eq, scale=scale)
    return komo


@pytest.mark.slow
@pytest.mark.parametrize("height", [0, 0.02, 0.05, 0.1])
def test_a_block_falls_and_lands(height):
    """As plain time stepping says: no force in the air, no bounce."""
    tau, C = 0.02, slope(0, "free")
    C.set_pose("block", [0, 0, 0.08 + height, 1, 0, 0, 0])
    solution = let_go(C, tau, 8).solve()
    assert solution.feasible, solution.report()
    z, v = 0.08 + height, 0.0
    for t, contact in enumerate(solution.forces()):
        new = max(z + tau * (v - tau * G), 0.08)
        force = MASS * (((new - z) / tau - v) / tau + G)
        z, v = new, (new - z) / tau
        assert solution.path[t, 2] == pytest.approx(z, abs=2e-4)
        np.testing.assert_allclose(contact.force, [0, 0, force], atol=0.15)


@pytest.mark.slow
@pytest.mark.parametrize("degrees", [10, 24, 35])
def test_a_block_lies_or_slides_by_itself(degrees):
    """As Coulomb says: nothing tells the solver which of the two."""
    tau, C = 0.02, slope(degrees, "free")
    solution = let_go(C, tau, 8).solve()
    assert solution.feasible, solution.report()
    tilt = np.radians(degrees)
    down = max(G * (np.sin(tilt) - 0.5 * np.cos(tilt)), 0.0)
    steps = np.arange(1, 9)
    distance = down * tau**2 * steps * (steps + 1) / 2
    displacement = solution.path[:, :3] - C.pose("block")[:3]
    along = np.array([np.cos(tilt), 0, -np.sin(tilt)])
    np.testing.assert_allclose(displacement, distance[:, None] * along, atol=2e-4)
    for contact in solution.forces():
        pressure = contact.force @ [np.sin(tilt), 0, np.cos(tilt)]
        assert pressure == pytest.approx(MASS * G * np.cos(tilt), abs=0.02)


# -- laws ----------------------------------------------------------------------------


def test_physics_is_newtons_and_eulers_law():
    """NumPy agrees for a pushed, spinning body whose centre is not its origin."""
    C = pw.Config()
    C.add_object("body", [(pw.Box([0.3, 0.2, 0.1]), None)], joint="free",
                 com=[0.03, -0.02, 0.01], mass=1.5)  # fmt: skip
    C.add_frame("hand", joint="trans3", shape=pw.Sphere(0.05))
    ContactForceVariable("hand", "body", "point", "force", 3.0).add_to(C)
    rng, tau = np.random.default_rng(0), np.array([0.1, 0.2])
    q = np.tile(C.q, (3, 1)) + 0.1 * rng.normal(size=(3, C.nq))
    y, _ = pw.Feature(FS.physics, ["body"]).eval(C, q, tau=tau)
    frames = C.forward_pass(q).frames
    R, p = frames.R[:, C.index("body")], frames.p[:, C.index("body")]
    inertia = 1.5 / 12 * np.diag([0.2**2 + 0.1**2, 0.3**2 + 0.1**2, 0.3**2 + 0.2**2])
    centre = p + R @ [0.03, -0.02, 0.01]
    v = np.diff(centre, axis=0) / tau[:, None]
    spin = []
    for k in range(2):
        turn = R[k + 1] @ R[k].T
        axis = np.array([turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0],
                         turn[1, 0] - turn[0, 1]])  # fmt: skip
        angle = np.arccos((np.trace(turn) - 1) / 2)
        w = 2 * np.sin(angle / 2) * axis / np.linalg.norm(axis) / tau[k]
        spin.append(R[k + 1] @ inertia @ R[k + 1].T @ w)
    point, force = (
        q[2, C.joints.coordinates("point")],
        -3 * q[2, C.joints.coordinates("force")],
    )
    down = np.array([0, 0, -1.5 * G])
    linear = 1.5 * (v[1] - v[0]) / tau.mean() - down - force
    angular = (spin[1] - spin[0]) / tau.mean() - np.cross(point - centre[2], force)
    np.testing.assert_allclose(y, [*linear, *angular], atol=1e-10)


def test_gravity_counts_once():
    """Free fall is feasible; a body held still needs its weight."""
    C = pw.Config()
    C.add_frame("ball", joint="free", shape=pw.Sphere(0.1), mass=2.0)
    still = np.tile(C.q, (3, 1))
    falling = still.copy()
    falling[:, 2] = -G / 2 * (0.1 * np.arange(3)) ** 2
    law = pw.Feature(FS.physics, ["ball"])
    np.testing.assert_allclose(law.eval(C, falling, tau=0.1)[0], 0, atol=1e-12)
    weight = [0, 0, 2 * G, 0, 0, 0]
    np.testing.assert_allclose(law.eval(C, still, tau=0.1)[0], weight, atol=1e-12)
    np.testing.assert_allclose(C.eval(FS.totalForce, ["ball"])[0], weight, atol=1e-12)


def sled(shape=None) -> pw.Config:
    """A box that lies on a plane, which pushes it with (1, 2, 4) N."""
    C = pw.Config()
    C.add_frame("ground", shape=pw.Plane())
    C.add_frame("box", joint="free", pose=[0, 0, 0.1, 1, 0, 0, 0],
                shape=shape or pw.Box([0.4, 0.3, 0.2]), mass=1.0)  # fmt: skip
    ContactForceVariable("box", "ground", "point", "force", 2.0).add_to(C)
    C.set_joint("point", [0.05, 0.02, 0.0])
    C.set_joint("force", [0.5, 1.0, 2.0])
    return C


S5 = np.sqrt(5)
LAWS = [
    (FS.contactPOA, {}, [0.05, 0.02, 0]),
    (FS.contactForce, {}, [1, 2, 4]),
    (FS.contactConstraints, {}, [1, 2, 0]),
    (FS.frictionCone, {"friction": 0.3}, [-4, S5 - 1.2]),
    (FS.contactDistances, {}, [0, 0]),
    (FS.slipVelocity, {}, [0.1, 0, 0]),
    (FS.slidingFriction, {"friction": 0.5}, [0.1 + 0.2, 0.2, 0]),
]


@pytest.mark.sampled
@pytest.mark.parametrize(("symbol", "options", "want"), LAWS, ids=lambda x: str(x)[:20])
def test_laws_of_contact_by_hand(symbol, options, want):
    """The box has slid by 1 cm in 0.1 s; seen from the ground, forces turn round."""
    C = sled()
    feature = pw.Feature(symbol, ["box", "ground"], **options)
    q = np.tile(C.q, (feature.order + 1, 1))
    q[:-1, 0] -= 0.01
    path = q if feature.order else q[0]
    np.testing.assert_allclose(feature.eval(C, path, tau=0.1)[0], want, atol=1e-9)
    turned = pw.Feature(symbol, ["ground", "box"], **options).eval(C, path, tau=0.1)[0]
    even = (FS.contactPOA, FS.frictionCone, FS.contactDistances)
    sign = 1 if symbol in even else -1
    np.testing.assert_allclose(turned, sign * np.array(want), atol=1e-9)
    contact_force_variables(C)[0].renamed({}, False).register(C)
    idle = pw.Feature(symbol, ["box", "ground"], **options).eval(C, path, tau=0.1)[0]
    np.testing.assert_allclose(idle, 0, atol=0)


def test_force_where_there_is_a_gap_violates_complementarity():
    C = sled()
    C.set_joint("point", [0.05, 0.02, -0.01])
    y, _ = C.eval(FS.complementarity, ["box", "ground"])
    np.testing.assert_allclose(y, [0.04, -0.04], atol=1e-9)


def test_pairs_without_contact():
    """rai's constraint is void there; of all others it is a mistake."""
    C = sled()
    C.add_frame("other", shape=pw.Sphere(0.1))
    np.testing.assert_array_equal(C.eval(FS.contactConstraints, ["box", "other"])[0], 0)
    with pytest.raises(pw.ConfigError, match="add_contact"):
        C.eval(FS.contactForce, ["box", "other"])
    with pytest.raises(pw.ConfigError, match="no mass"):
        C.eval(FS.totalForce, ["other"])


# -- surfaces and inertia ------------------------------------------------------------

SHAPES = {
    "box": pw.Box([0.3, 0.2, 0.1]),
    "rounded box": pw.Box([0.3, 0.2, 0.1], rounding=0.02),
    "sphere": pw.Sphere(0.1),
    "capsule": pw.Capsule(0.2, 0.05),
    "cylinder": pw.Cylinder(0.3, 0.1),
    "ellipsoid": pw.Ellipsoid([0.1, 0.15, 0.2]),
    "hull": pw.Convex(np.random.default_rng(0).normal(size=(20, 3)) / 10),
    "plane": pw.Plane(),
}


COSTLY = ("hull", "cylinder", "ellipsoid")


@pytest.mark.sampled
@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=[pytest.mark.slow] * (n in COSTLY)) for n in SHAPES],
)
def test_points_of_a_surface(name):
    """Distance zero and the normal's slope there, as the general distance has them."""
    C = pw.Config()
    pose = [0.3, -0.2, 0.1, *np.array([0.8, 0.2, -0.4, 0.4])]
    C.add_frame("body", pose=pose, shape=SHAPES[name])
    C.add_frame("point", joint="trans3")
    (group,) = frame_bodies(C.frame("body"))
    R, p = C.forward_pass().frames.R[0], C.forward_pass().frames.p[0]
    body = group.body._replace(R=R @ group.body.R, p=p + group.body.p @ R.T)
    measure = jax.jit(lambda x: [a[0] for a in point_distance_and_normal(body, x)])
    slope = jax.jit(jax.grad(lambda x: measure(x)[0]))
    rng = np.random.default_rng(1)
    for _ in range(8):
        C.q = p + 0.5 * rng.normal(size=3)
        _, x, _ = C.signed_distance("body", "point")
        gap, normal = measure(jnp.asarray(x))
        assert abs(gap) < 1e-7
        C.q = x + 1e-4 * normal
        d, y = C.signed_distance("body", "point")[:2]
        away = (C.q - y) / d
        if np.linalg.norm(np.cross(away, normal)) > 1e-3:
            continue  # near an edge, where normals are rounded
        np.testing.assert_allclose(d, 1e-4, rtol=1e-3)
        np.testing.assert_allclose(measure(C.q)[0], d, atol=1e-7)
        np.testing.assert_allclose(slope(C.q), normal, atol=2e-3)


@pytest.mark.parametrize("name", [n for n in SHAPES if n not in ("plane", "hull")])
def test_inertia_is_mujocos(name):
    pytest.importorskip("mujoco")
    if name == "rounded box":
        pytest.skip("MuJoCo's boxes have sharp edges")
    C = pw.Config()
    C.add_frame("body", joint="free", shape=SHAPES[name], mass=2.5)
    inertia = link_inertia(C, "body")
    want = np.sort(pw.Twin(C).model.body_inertia[-1])
    assert inertia.mass == 2.5
    np.testing.assert_allclose(np.sort(np.diag(inertia.about_com)), want, rtol=1e-6)


def test_inertia_of_a_link_is_that_of_its_parts():
    """A dumbbell, by the parallel axis theorem."""
    C = pw.Config()
    C.add_frame("bar", joint="free")
    for name, x in (("a", 0.3), ("b", -0.3)):
        C.add_frame(name, "bar", position=[x, 0, 0.1], shape=pw.Sphere(0.1), mass=2.0)
    mass, com, about = link_inertia(C, "bar")
    ball, arm = 0.4 * 2 * 0.1**2, 2 * 0.3**2
    assert mass == 4
    np.testing.assert_allclose(com, [0, 0, 0.1], atol=1e-12)
    want = np.diag([2 * ball, 2 * (ball + arm), 2 * (ball + arm)])
    np.testing.assert_allclose(about, want, atol=1e-12)


# -- the problem ---------------------------------------------------------------------


def pushing(k_order: int = 1) -> pw.KOMO:
    """A finger on a block on a table; four slices."""
    C = slope(0, "free")
    C.add_frame("finger", joint="trans3", q=[-0.08, 0, 0.08], shape=pw.Sphere(0.02))
    return pw.KOMO(C, 1, 4, k_order)


def test_forces_exist_in_their_slices_only():
    komo = pushing()
    free = komo.config.nq
    objectives = komo.add_contact([0.5, 0.75], "block", "finger", kind="sliding")
    assert {o.slices for o in objectives} == {(1, 2), (2,)}
    komo.add_contact([1.0], "block", "finger")
    (acting,) = komo.contacts
    assert acting.slices == (1, 2, 3)
    modes = mode_sequence(komo.spec)
    assert modes.world.nq == free + 6 and [m for m in modes.starts] == [1, 4]
    variables = [acting.variable.point, acting.variable.force]
    columns = modes.world.joints.coordinates(variables)
    low, high = modes.limits(4)
    assert (low[0, columns] == 0).all() and (high[0, columns] == 0).all()
    assert np.isinf(low[1:, columns]).all()
    chain, data, _ = compile_chain(komo.spec)
    bounds = np.stack(chain.bounds(data))
    np.testing.assert_array_equal(
        bounds[..., columns], [low[:, columns], high[:, columns]]
    )
    start = initial_paths(komo.spec, 0, 3)
    assert not start[:, 0, columns].any()
    # between the finger's box, from x = -0.06, and the block's, to -0.03
    np.testing.assert_allclose(start[0, 1, columns[:3]], [-0.045, 0, 0.08], atol=1e-9)


def test_contacts_follow_what_is_carried():
    """After the switch the copy that is real is pushed."""
    komo = pushing()
    komo.add_mode_switch([0.5], "stable", ["finger", "block"])
    komo.add_contact([0.25, 1.0], "block", "table")
    names = [
        contact_force_variables(mode_sequence(komo.spec).at(t).config)[0].a
        for t in range(4)
    ]
    assert names == ["block", "block@0", "block@0", "block@0"]
    active = [
        contact_force_variables(mode_sequence(komo.spec).at(t).config)[0].active
        for t in (-1, 0)
    ]
    assert active == [False, True]


CALLS = [
    (lambda k: k.add_contact(None, "blok", "table"), pw.ConfigError, "'block'"),
    (lambda k: k.add_contact(None, "block", "world"), pw.ConfigError, "no surface"),
    (lambda k: k.add_contact([9.0], "block", "table"), pw.ObjectiveError, "no slice"),
    (lambda k: k.add_contact(None, "block", "table", kind="stick"),
     pw.ObjectiveError, "'sticking'"),
    (lambda k: k.add_contact(None, "block", "table", friction=-1),
     pw.ObjectiveError, "number >= 0"),
    (lambda k: [k.add_contact(None, "block", n) for n in ("table", "table")],
     pw.ObjectiveError, "already"),
    (lambda k: k.add_contact(None, "block", "block"), pw.ConfigError, "itself"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "error", "match"), CALLS)
def test_errors_name_what_is_wrong(call, error, match):
    komo = pushing()
    with pytest.raises(error, match=match):
        call(komo)
    assert len(komo.contacts) <= 1


def test_sliding_needs_velocities():
    with pytest.raises(pw.ObjectiveError, match="k_order >= 1"):
        pushing(0).add_contact(None, "block", "table", kind="sliding")


def test_numbers_of_contacts_are_data():
    """Friction, forces' units and slices: the same structure, so the same program."""
    chains = []
    for friction, times in ((0.5, [0.5, 1]), (0.1, [0.25, 0.75])):
        komo = pushing()
        komo.config.set_mass("block", 0.1 + friction)
        komo.add_contact(times, "block", "finger", friction=friction)
        komo.add_objective(None, FS.totalForce, ["block"], OT.eq)
        chains.append(compile_chain(komo.spec)[0])
    assert chains[0] == chains[1] and hash(chains[0]) == hash(chains[1])
