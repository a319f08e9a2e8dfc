"""Forward kinematics and Jacobians against a plain walk, differences, autodiff."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers.reference_kinematics import FILES
from helpers.worlds import (
    TYPES,
    central_differences,
    plain_poses,
    random_q,
    random_tree,
)

import posewise as pw
from posewise.objectives.trajectory.waypoints import slerp
from posewise.robots.kinematics.joint_types import (
    joint_transform,
    neutral_value,
    value_from_pose,
)
from posewise.robots.kinematics.manifold import (
    coordinates_to_tangent,
    difference,
    integrate,
    interpolate,
    interpolation_jacobian,
    tangent_to_coordinates,
)
from posewise.robots.kinematics.transforms import (
    IDENTITY,
    axis_angle_to_quat,
    matrix_to_quat,
    pose_inverse,
    pose_multiply,
    quat_exp,
    quat_log,
    quat_to_matrix,
)
from posewise.robots.world.frame_tree import FrameTree

BALLS = ["free", "hinge", "quatBall", "transXYPhi", "XBall"]


@pytest.mark.parametrize("seed", range(6))
def test_poses_equal_a_plain_walk(seed):
    C = random_tree(seed, joints=len(TYPES))
    want, got = plain_poses(C), C.poses()
    sign = np.sign(np.sum(want[:, 3:] * got[:, 3:], -1, keepdims=True))
    np.testing.assert_allclose(got[:, :3], want[:, :3], atol=1e-12)
    np.testing.assert_allclose(got[:, 3:] * sign, want[:, 3:], atol=1e-12)


@pytest.mark.sampled
@pytest.mark.parametrize("seed", range(3))
def test_jacobians_equal_autodiff_and_differences(seed):
    C = random_tree(seed, joints=10)
    K, q = C.kinematics(), jnp.asarray(C.q)
    place = lambda q: K.forward_pass(q).frames.p[:-1]
    turn_ = lambda q: K.forward_pass(q).frames.R[:-1]

    @jax.jit
    def everything(q):
        J = K.jacobians(q)
        Jq = tangent_to_coordinates(K.tree, q, J)
        back = coordinates_to_tangent(K.tree, q, Jq)
        derivatives = jax.jacfwd(place)(q), jax.jacrev(place)(q), jax.jacfwd(turn_)(q)
        return J, Jq, back, *derivatives, turn_(q), K.jacobian(q, "f3")

    J, Jq, back, forward, backward, dR, R, one = everything(q)
    np.testing.assert_allclose(Jq[:, :3], forward, atol=1e-12)
    np.testing.assert_allclose(Jq[:, :3], backward, atol=1e-12)
    plain = central_differences(lambda q: C.forward_pass(q).frames.p[:-1], C.q)
    np.testing.assert_allclose(Jq[:, :3], plain, atol=1e-8)
    spin = np.einsum("fijn,fkj->fikn", dR, R)
    turn = np.stack([spin[:, 2, 1], spin[:, 0, 2], spin[:, 1, 0]], 1)
    np.testing.assert_allclose(Jq[:, 3:], turn, atol=1e-12)
    np.testing.assert_allclose(one, J[K.index("f3")], atol=1e-14)
    np.testing.assert_allclose(back, J, atol=1e-12)


def test_tangent_jacobian_is_the_derivative_along_integrate():
    C = random_tree(3, joints=12)
    K = C.kinematics()
    q = jnp.asarray(K.integrate(C.q, np.zeros(C.nv)))
    place = lambda v: K.forward_pass(K.integrate(q, v)).frames.p[:-1]
    J = jax.jit(jax.jacfwd(place))(jnp.zeros(C.nv))
    got = K.jacobians(np.asarray(q))
    np.testing.assert_allclose(got[:, :3], J, atol=1e-12)


def test_batches_jit_vmap_and_numpy_agree():
    C = random_tree(1, joints=9)
    K = C.kinematics()
    rng = np.random.default_rng(0)
    q = np.stack([random_q(C, rng) for _ in range(6)]).reshape(2, 3, -1)
    batched = jax.jit(K.jacobians)(jnp.asarray(q))
    mapped = jax.jit(jax.vmap(jax.vmap(K.jacobians)))(jnp.asarray(q))
    np.testing.assert_allclose(batched, mapped, atol=1e-13)
    frames = C.forward_pass(q[1, 2]).frames
    got = K.forward_pass(q).frames.p[1, 2]
    np.testing.assert_allclose(got, frames.p, atol=1e-15)


def test_compiled_poses_multiply_no_small_matrices():
    # XLA for CPUs multiplies matrices of a batch one after the other.
    C = random_tree(0, joints=len(TYPES))
    q = jnp.asarray(random_q(C, np.random.default_rng(0), 4))
    program = jax.make_jaxpr(C.kinematics().forward_pass)(q)
    assert "dot_general" not in str(program)


def test_float32_is_close_to_float64():
    C = random_tree(2, joints=12)
    K = C.kinematics()
    q = np.asarray(C.q)
    program = jax.jit(K.jacobians)
    exact = program(jnp.asarray(q))
    single = program(jnp.asarray(q, jnp.float32))
    assert single.dtype == jnp.float32
    np.testing.assert_allclose(single, exact, atol=2e-5)


def test_the_compiled_program_depends_on_structure_only():
    C = random_tree(4, joints=6)
    count = 0

    @jax.jit
    def program(K, q):
        nonlocal count
        count += 1
        return K.poses(q)

    before = program(C.kinematics(), C.q)
    frame = next(f.name for f in C.frames if f.joint is None)
    C.set_pose(frame, pose_multiply(C.pose(frame), np.array([0.1, 0, 0, 1, 0, 0, 0])))
    after = program(C.kinematics(), C.q)
    assert count == 1
    assert float(jnp.abs(before - after).max()) > 0.05
    np.testing.assert_allclose(after, C.poses(), atol=1e-12)


@pytest.mark.parametrize("kind", TYPES)
def test_a_joint_value_is_read_off_its_own_motion(kind):
    rng = np.random.default_rng(7)
    axis = np.array([0.48, 0.6, 0.64])
    for _ in range(20):
        q = rng.uniform(-1.4, 1.4, neutral_value(kind).size)
        value, error = value_from_pose(kind, axis, joint_transform(kind, axis, q))
        assert error < 1e-12
        np.testing.assert_allclose(
            joint_transform(kind, axis, value),
            joint_transform(kind, axis, q),
            atol=1e-9,
        )


@pytest.mark.long
def test_rotations_at_their_singular_points():
    for angle in (0.0, 1e-9, 1e-5, 1e-3, 1.0, np.pi - 1e-6, np.pi):
        v = angle * np.array([0.6, 0.0, 0.8])
        q = quat_exp(v)
        np.testing.assert_allclose(np.linalg.norm(q), 1, atol=1e-15)
        np.testing.assert_allclose(quat_log(q), v, atol=2e-9)
        back = matrix_to_quat(quat_to_matrix(q))
        np.testing.assert_allclose(np.abs(back @ q), 1, atol=1e-14)
    for fn in (quat_exp, lambda v: quat_log(quat_exp(v))):
        J = jax.jacrev(fn)(jnp.zeros(3))
        assert np.isfinite(J).all()
    np.testing.assert_allclose(
        jax.jacfwd(lambda v: quat_log(quat_exp(v)))(jnp.zeros(3)),
        np.eye(3),
        atol=1e-12,
    )
    np.testing.assert_allclose(axis_angle_to_quat(np.zeros(3), 1.0), [1, 0, 0, 0])
    X = np.array([0.1, 0.2, 0.3, *quat_exp(np.array([0.3, -0.2, 0.9]))])
    np.testing.assert_allclose(pose_multiply(X, pose_inverse(X)), IDENTITY, atol=1e-15)


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:.*mesh.*:UserWarning")
@pytest.mark.sampled("panda0")
@pytest.mark.parametrize("file", FILES, ids=lambda f: f.stem)
def test_foreign_robots_equal_the_plain_walk(file):
    """The plain walk is what test_urdf compares with yourdfpy and MuJoCo."""
    if not file.is_file():
        pytest.skip(f"{file.name}: example-robot-data or pybullet is not installed")
    C = pw.Config()
    C.add_file(file)
    rng = np.random.default_rng(0)
    for _ in range(5):
        C.q = rng.uniform(-1, 1, C.nq)
        np.testing.assert_allclose(C.poses(), plain_poses(C), atol=1e-12)


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:.*mesh.*:UserWarning")
@pytest.mark.sampled("panda")
@pytest.mark.parametrize("file", [FILES[0], FILES[2]], ids=lambda f: f.stem)
def test_jacobians_equal_pinocchio(file):
    pin = pytest.importorskip("pinocchio", reason="needs the extra `peers`")
    if not file.is_file():
        pytest.skip(f"{file.name}: example-robot-data is not installed")
    C = pw.Config()
    C.add_file(file)
    model = pin.buildModelFromUrdf(str(file), mimic=True)
    data = model.createData()
    C.q = np.random.default_rng(1).uniform(-1, 1, C.nq)
    q = pin.neutral(model)
    columns = []
    for name in C.joint_names:
        joint = model.joints[model.getJointId(name)]
        value = C.joints.value(name)[0]
        turn = [np.cos(value), np.sin(value)]
        q[joint.idx_q : joint.idx_q + joint.nq] = turn if joint.nq == 2 else value
        columns.append(joint.idx_v)
    pin.computeJointJacobians(model, data, q)
    pin.updateFramePlacements(model, data)
    J = C.kinematics().jacobians(C.q)
    for frame in C.frame_names[::3]:
        i = model.getFrameId(frame)
        want = pin.getFrameJacobian(model, data, i, pin.LOCAL_WORLD_ALIGNED)
        np.testing.assert_allclose(J[C.index(frame)], want[:, columns], atol=1e-12)
        np.testing.assert_allclose(
            C.pose(frame)[:3], data.oMf[i].translation, atol=1e-12
        )


MOVED = ["marker", "table", "cup", "tool", "base", "hinge", "dish", "shelf"]


@pytest.mark.parametrize("name", MOVED)
def test_a_frame_that_moves_leaves_what_a_new_world_has(name):
    C = pw.Config()
    C.add_frame("base", position=[1, 0, 0])
    C.add_frame("hinge", "base", joint="free")
    C.add_frame("tool", "hinge", position=[0, 0.2, 0])
    C.add_frame("marker", "tool", position=[0, 0, 0.1])
    C.add_frame("table", quaternion=[0.6, 0, 0.8, 0])
    C.add_frame("shelf", "table", position=[0.1, 0.2, 0.3], joint="free")
    C.lock("shelf")
    C.add_frame("cup", "table", position=[0, 0.4, 0], quaternion=[0, 1, 0, 0])
    C.add_frame("dish", "cup", position=[0.5, 0, 0])
    C.kinematics()
    target = [0.3, -0.2, 0.9, 0.5, 0.5, -0.5, 0.5]
    structure = C.structure_key
    for k in range(3):
        C.set_pose(name, target[:2] + [0.1 * k, *target[3:]])
    new = FrameTree.build(C.frames, C.tree.values)
    np.testing.assert_allclose(C.pose(name), [*target[:2], 0.2, *target[3:]])
    got, want = C.tree.model, new.model
    assert got.layout.tree == want.layout.tree and got.children == want.children
    for field, value in vars(want.kinematics).items():
        if field not in ("tree", "names"):
            np.testing.assert_array_equal(getattr(got.kinematics, field), value)
    # The value of a locked joint is part of the structure.
    assert (C.structure_key == structure) == (name != "shelf")


@pytest.mark.sampled
@pytest.mark.parametrize("seed", range(3))
def test_differences_are_undone_by_steps(seed):
    C = random_tree(seed, 6, BALLS)
    tree, rng = C.kinematics().tree, np.random.default_rng(seed)
    a, b = random_q(C, rng, 5), random_q(C, rng, 5)
    step = difference(tree, a, b)
    assert step.shape == (5, C.nv)
    poses = lambda q: np.stack(C.kinematics().forward_pass(q).frames.p)
    np.testing.assert_allclose(poses(integrate(tree, a, step)), poses(b), atol=1e-12)
    np.testing.assert_allclose(difference(tree, a, a), 0, atol=1e-12)
    empty = np.zeros((0, tree.nq)), np.zeros((0, tree.nv))
    assert integrate(tree, *empty).shape == empty[0].shape
    assert difference(tree, empty[0], empty[0]).shape == empty[1].shape
    for first, column in tree.balls:
        turn = np.linalg.norm(step[:, column : column + 3], axis=1)
        quaternions = (x[:, first : first + 4] for x in (a, b))
        x, y = (q / np.linalg.norm(q, axis=1, keepdims=True) for q in quaternions)
        angle = 2 * np.arccos(np.minimum(np.abs(np.sum(x * y, 1)), 1))
        np.testing.assert_allclose(turn, angle, atol=1e-7)
        negated = b.copy()
        negated[:, first : first + 4] *= -1
        np.testing.assert_allclose(difference(tree, a, negated), step, atol=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_interpolation_is_straight_and_rotates_at_constant_speed(seed):
    C = random_tree(seed, 6, BALLS)
    tree, rng = C.kinematics().tree, np.random.default_rng(seed)
    a, b = random_q(C, rng, 3), random_q(C, rng, 3)
    fraction = np.array([0.0, 0.3, 1.0])
    got = interpolate(tree, a, b, fraction)
    single = [c for c in tree.column_coordinate if c >= 0]
    want = a + fraction[:, None] * (b - a)
    np.testing.assert_allclose(got[:, single], want[:, single], atol=1e-12)
    for first in C.joints.quaternions:
        part = slice(first, first + 4)
        want = slerp(a[:, part], b[:, part], fraction)
        sign = np.sign(np.sum(want * got[:, part], 1, keepdims=True))
        np.testing.assert_allclose(sign * got[:, part], want, atol=1e-12)


@pytest.mark.long
@pytest.mark.parametrize("fraction", [0.0, 0.4, 1.0])
def test_interpolation_jacobian_equals_differences(fraction):
    C = random_tree(2, 6, BALLS)
    tree, rng = C.kinematics().tree, np.random.default_rng(2)
    a, b = random_q(C, rng, 2)
    middle = interpolate(tree, a, b, np.asarray(fraction))

    def moved(steps):
        ends = integrate(tree, a, steps[0]), integrate(tree, b, steps[1])
        return difference(tree, middle, interpolate(tree, *ends, np.asarray(fraction)))

    ends = jnp.asarray(a), jnp.asarray(b)
    J = interpolation_jacobian(tree, *ends, jnp.asarray(fraction))
    numeric = central_differences(moved, np.zeros((2, C.nv))).reshape(-1, 2, C.nv)
    assert J.shape == (2, C.nv, C.nv)
    np.testing.assert_allclose(J, np.moveaxis(numeric, 0, -1), atol=1e-7)
