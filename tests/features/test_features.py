"""Features: reference rows, derivatives, singular points, float32, user functions."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers.oracle import reference, world
from helpers.worlds import central_differences, random_q, random_tree

import posewise as pw
from posewise import FS
from posewise.features import safe_math
from posewise.rai.config import make_feature
from posewise.robots.contact_forces import ContactForceVariable

QUATERNION_ROWS = {
    "quaternion": slice(0, 4),
    "quaternionDiff": slice(0, 4),
    "quaternionRel": slice(0, 4),
    "pose": slice(3, 7),
    "poseDiff": slice(3, 7),
    "poseRel": slice(3, 7),
}
PAIRED = {
    "distance",
    "negDistance",
    "oppose",
    "opposeCentral",
    "pairCollision_negScalar",
    "pairCollision_vector",
    "pairCollision_normal",
    "pairCollision_p1",
    "pairCollision_p2",
}
HIGHER = {
    FS.position,
    FS.quaternionRel,
    FS.poseDiff,
    FS.angularVel,
    FS.energy,
    FS.qItself,
}
PUSHING = {
    FS.totalForce,
    FS.physics,
    FS.contactPOA,
    FS.contactForce,
    FS.contactConstraints,
    FS.frictionCone,
    FS.contactDistances,
    FS.complementarity,
    FS.slipVelocity,
    FS.slidingFriction,
}
LIVELY = ["free", "universal", "transXYPhi", "hinge", "XBall"]
OTHERS = {"manipulability", "linearManipulability"}


def symbol_frames(C, symbol) -> list[str]:
    low, _ = symbol.symbol.frames
    names = ["f1", "f2", "f0"]
    if symbol.symbol.takes_joints and symbol.name not in OTHERS:
        return []
    return names[: max(low, 1)]


def with_shapes(C):
    """Give the frames the shapes that region features need."""
    C.set_shape("f2", pw.Box([0.4, 0.3, 0.2], rounding=0.02))
    return C


def with_contact(C, symbol) -> None:
    """Add a contact force between f1 and f2, for contact features."""
    if symbol in PUSHING:
        ContactForceVariable("f1", "f2", "point", "force", 2.0).add_to(C)


def prepared(symbol, seed=0):
    types = ["free"] if symbol is FS.supportPolygon else LIVELY
    C = with_shapes(random_tree(seed, joints=3, types=types))
    for name in C.joint_names:
        coordinates = C.joints.coordinates(name)
        if not np.isin(C.joints.quaternions, coordinates).any():
            limits = np.tile([[-0.7], [0.6]], (1, coordinates.size))
            C.joints.set_limits(name, limits)
    if symbol is FS.insideCylinder:
        C.set_shape("f2", pw.Cylinder(0.3, 0.2))
    with_contact(C, symbol)
    if symbol is FS.velocityLimits:
        C = pw.Config()
        C.add_model(fast_arm())
    return C


def fast_arm():
    from posewise.robots import Frame, Joint, Model

    z = np.array([0.0, 0, 1])
    frames = [Frame("base")]
    for k in range(3):
        joint = Joint("hinge", f"j{k}", axis=z, velocity=np.array([1.0 + k]))
        origin = np.array([0.3, 0, 0.1, 1, 0, 0, 0])
        frames.append(Frame(f"f{k}", parent=k, origin=origin, joint=joint))
    return Model(tuple(frames))


@pytest.mark.slow
@pytest.mark.parametrize("part", ["o0", "o12"])
@pytest.mark.parametrize("scene", ["planar3", "freebodies"])
def test_reference_rows(scene, part):
    """All rows equal rai's where rai is right; known defects are listed."""
    d = reference(f"features/oracle_{scene}_{part}_0.json")
    C = world(d["scene"])
    if scene == "planar3":  # one link with the root there, which link2 (-1) ignores
        C.ignore_collisions("link2", ["ball", "brick"])
    features = {}
    checked = 0
    for sample in d["samples"][::5]:
        X = np.array(sample["x"]).reshape(d["slices"], -1)
        C.q = X[-1]
        for r in sample["rows"]:
            row = d["rows"][r["r"]]
            name, k = row["fs"], row["order"]
            if name not in FS.__members__:
                continue
            if name in PAIRED and (row["scale"] or "ball" not in row["frames"]):
                continue  # the others would take minutes; see test_collisions.py
            if name == "accumulatedCollisions" and row["frames"] == ["bodyBox"]:
                continue
            if not rai_is_right(C, d["scene"], row):
                continue
            if r["r"] not in features:
                options = [
                    () if row[n] is None else row[n] for n in ("scale", "target")
                ]
                feature = make_feature(C, FS[name], row["frames"], *options, k)
                features[r["r"]] = feature
            y, J = features[r["r"]].eval(C, X[-k - 1 :] if k else X[-1], tau=d["tau"])
            full = np.zeros((len(y), d["slices"], C.nq))
            full[:, -k - 1 :] = J.reshape(len(y), k + 1, C.nq)
            want_J = np.zeros((len(y), X.size))
            columns = r["cfd"] if "jfd_err" in r else r["c"]
            want_J[:, columns] = np.reshape(
                r["Jfd" if "jfd_err" in r else "J"], (len(y), -1)
            )
            want = np.array(r.get("ref", r["y"]))
            loose = 1e-6 if "jfd_err" in r else 1e-7
            if name == "physics":  # there over mass and time, with gravity twice
                if row["scale"] is row["target"] is None:
                    mass = C.frame(row["frames"][0]).mass
                    change = d["tau"] * y[:3] / mass + [0, 0, 9.81]
                    np.testing.assert_allclose(change, want[:3], atol=1e-9)
                continue
            got = signed(row, y, full.reshape(len(y), -1), want)
            if got is None:
                continue
            near = 2e-5 if name in PAIRED else 1e-9
            loose = 1e-4 if name in PAIRED else loose
            np.testing.assert_allclose(got[0], want, atol=near, err_msg=str(row))
            np.testing.assert_allclose(got[1], want_J, atol=loose, err_msg=str(row))
            checked += 1
    assert checked > 400


def rai_is_right(C, scene, row) -> bool:
    """Whether only roundings overlap and no cylinder, a prism there, is near.

    Its witness points are off by a µm over the distance of the cores.
    """
    sharp = {"box", "mesh", "cylinder"}
    shapes = {f["name"]: f["shape"] for f in scene["frames"] if "shape" in f}
    rounding = {n: s["type"] not in sharp and s["size"][-1] for n, s in shapes.items()}
    if row["fs"] == "accumulatedCollisions":
        distances = C.collisions()
    elif row["fs"] in PAIRED:
        ends = row["frames"]
        pairs = [ends] if len(ends) == 2 else [(ends[0], ends[2]), (ends[1], ends[2])]
        distances = [(a, b, C.signed_distance(a, b)[0]) for a, b in pairs]
    else:
        return True
    prisms = {n for n, s in shapes.items() if s["type"] == "ssCylinder"}
    return all(
        d + rounding.get(a, 0) + rounding.get(b, 0)
        > (0.01 if row["fs"] in PAIRED else -1e-12)
        and (abs(d) < 1e-12 or not prisms & {a, b})
        for a, b, d in distances
    )


def signed(row, y, J, want):
    """Our row with the quaternion's sign that rai chose; None where rai is wrong.

    Wrong are its quaternion accelerations after a reversal of the velocity, which show
    as another length; under a matrix scale the sign cannot be told.
    """
    rows = QUATERNION_ROWS.get(row["fs"])
    if rows is None:
        return y, J
    if np.ndim(row["scale"]) == 2:
        return (y, J) if np.allclose(y, want, atol=1e-9) else None
    scale = np.broadcast_to(np.array(row["scale"] or [1.0]), y.shape)
    target = np.broadcast_to(np.array(row["target"] or [0.0]), y.shape)
    plain, mine = want + scale * target, y + scale * target
    lengths = np.linalg.norm(plain[rows]), np.linalg.norm(mine[rows])
    if row["order"] == 2 and not np.isclose(*lengths, atol=1e-7):
        return None
    sign = np.ones(len(y))
    sign[rows] = 1.0 if plain[rows] @ mine[rows] >= 0 else -1.0
    return sign * mine - scale * target, sign[:, None] * J


def symbols(long: set[str]) -> list:
    """All symbols; those named, which compile like others, in slow runs only."""
    return [
        pytest.param(s, id=s.name, marks=[pytest.mark.slow] * (s.name in long))
        for s in FS
    ]


PUSHES = {symbol.name for symbol in PUSHING}


@pytest.mark.long
@pytest.mark.parametrize("symbol", symbols(PUSHES - {"physics", "slidingFriction"}))
def test_jacobian_equals_autodiff_and_differences(symbol):
    C = prepared(symbol)
    rng = np.random.default_rng(5)
    frames = symbol_frames(C, symbol)
    for order in sorted({symbol.symbol.window} | ({2} if symbol in HIGHER else set())):
        q = random_q(C, rng, order + 1)
        if order == 0:
            q = q[0]
        f = C.feature(symbol, frames, order=order, scale=1.7, target=0.2)
        y, J = f.eval(C, q, tau=0.5)
        phi = f.function(C, tau=0.5)
        # values and derivatives by one program: compiling is what takes time here
        linearize = jax.jit(lambda x, phi=phi: (phi(x), jax.jacfwd(phi)(x)))
        value, forward = map(np.asarray, linearize(q))
        np.testing.assert_allclose(value, y, atol=1e-10)
        size = 1 + np.abs(forward).max(initial=0)
        np.testing.assert_allclose(J / size, forward / size, atol=1e-11)
        plain = central_differences(
            lambda x, linearize=linearize: np.asarray(linearize(x)[0]), q
        )
        plain = plain.reshape(forward.shape)
        np.testing.assert_allclose(forward / size, plain / size, atol=3e-7)


QUICK = {
    "position",
    "positionRel",
    "quaternionRel",
    "vectorX",
    "scalarProductXY",
    "gazeAt",
    "angularVel",
    "qItself",
    "jointLimits",
    "aboveBox",
    "distance",
}
"""One symbol of each sort."""


@pytest.mark.sampled
@pytest.mark.parametrize("symbol", symbols({symbol.name for symbol in FS} - QUICK))
def test_jit_vmap_grad_and_float32(symbol):
    C = prepared(symbol, seed=0 if symbol is FS.qQuaternionNorms else 1)
    rng = np.random.default_rng(6)
    order = symbol.symbol.window
    f = C.feature(symbol, symbol_frames(C, symbol))
    phi = f.function(C, tau=0.5)
    q = np.stack([random_q(C, rng, order + 1) for _ in range(3)])
    q = q[:, 0] if order == 0 else q

    @jax.jit
    def everything(q):
        grad = jax.grad(lambda q: jnp.sum(phi(q) ** 2))
        return jax.vmap(phi)(q), jax.vmap(grad)(q)

    y, grad = everything(q)
    want, J = f.eval(C, q[1], tau=0.5)
    np.testing.assert_allclose(y[1], want, atol=1e-10)
    wanted_grad = 2 * np.tensordot(want, J.reshape(len(want), -1), 1)
    np.testing.assert_allclose(np.ravel(grad[1]), wanted_grad, atol=1e-7, rtol=1e-9)
    single, single_grad = everything(q.astype(np.float32))
    assert single.dtype == single_grad.dtype == jnp.float32
    np.testing.assert_allclose(single, y, atol=2e-4, rtol=2e-4)


@pytest.mark.long
@pytest.mark.sampled
@pytest.mark.parametrize("symbol", symbols({symbol.name for symbol in FS} - QUICK))
def test_other_transformations(symbol):
    """Linearize, checkpoint, scan, shard_map, and the Hessian of a sum of squares."""
    C = prepared(symbol, seed=0 if symbol is FS.qQuaternionNorms else 1)
    rng, order = np.random.default_rng(7), symbol.symbol.window
    f = C.feature(symbol, symbol_frames(C, symbol))
    phi = f.function(C, tau=0.5)
    q = random_q(C, rng, order + 1)
    q = q if order else q[0]
    direction = rng.normal(size=q.shape)

    def cost(q):
        return jnp.sum(phi(q) ** 2)

    mesh = jax.sharding.Mesh(np.array(jax.devices()[:1]), ("rows",))
    rows = jax.sharding.PartitionSpec("rows")
    # loops of distances begin with constants, which differ on no device
    sharded = jax.shard_map(
        jax.vmap(phi), mesh=mesh, in_specs=rows, out_specs=rows, check_vma=False
    )

    @jax.jit
    def everything(q):
        y, along = jax.linearize(phi, q)
        _, scanned = jax.lax.scan(lambda carry, q: (carry, phi(q)), 0, q[None])
        again = jax.grad(jax.checkpoint(cost))(q)
        return y, along(direction), scanned[0], sharded(q[None])[0], again

    y, tangent, *same, again = everything(q)
    want, J = f.eval(C, q, tau=0.5)
    size = 1 + np.abs(J).max(initial=0)
    for value in (y, *same):
        np.testing.assert_allclose(value, want, atol=1e-10)
    J = J.reshape(len(want), -1)
    np.testing.assert_allclose(tangent / size, J @ direction.ravel() / size, atol=1e-10)
    np.testing.assert_allclose(np.ravel(again), 2 * want @ J, atol=1e-7, rtol=1e-9)
    slopes = jax.jit(jax.grad(cost))
    hessian = jax.jit(lambda q: jax.jvp(jax.grad(cost), (q,), (direction,))[1])(q)
    step = 1e-5
    ends = [slopes(q + sign * step * direction) for sign in (1, -1)]
    differences = (ends[0] - ends[1]) / (2 * step)
    scale = 1 + np.abs(differences).max()
    np.testing.assert_allclose(hessian / scale, differences / scale, atol=1e-5)


@pytest.mark.sampled
@pytest.mark.parametrize(
    "symbol", symbols(PUSHES - {"frictionCone", "slidingFriction"})
)
def test_derivatives_are_finite_where_frames_coincide(symbol):
    """Zero distance, parallel axes, identity rotation, no motion."""
    C = pw.Config()
    C.add_frame("j", joint="free", limits=None)
    for name, shape in (
        ("f0", pw.Sphere(0.1)),
        ("f1", pw.Box([0.1, 0.1, 0.1])),
        ("f2", pw.Box([0.2, 0.2, 0.2])),
    ):
        C.add_frame(name, joint="free", shape=shape, mass=1.0)
    if symbol is FS.insideCylinder:
        C.set_shape("f2", pw.Cylinder(0.2, 0.1))
    with_contact(C, symbol)
    order = symbol.symbol.window
    f = C.feature(symbol, symbol_frames(C, symbol))
    q = np.tile(C.q, (order + 1, 1)) if order else C.q
    y, J = f.eval(C, q)
    assert np.isfinite(y).all() and np.isfinite(J).all()
    phi = f.function(C)
    jacobians = jax.jit(lambda q: (jax.jacfwd(phi)(q), jax.jacrev(phi)(q)))
    for derivative in jacobians(jnp.asarray(q)):
        assert np.isfinite(derivative).all()


@pytest.mark.long
@pytest.mark.sampled("0")
@pytest.mark.parametrize("order", [0, 1, 2])
def test_own_function_of_poses(order):
    C = random_tree(2, joints=5, types=LIVELY)

    def height_and_offset(a, b):
        return jnp.array([a.p[2], jnp.sin(b.R[0, 1]) * jnp.sum((a.p - b.p) ** 2)])

    f = pw.Feature(height_and_offset, ["f1", "f4"], order=order, scale=[2.0, 3.0])
    q = random_q(C, np.random.default_rng(0), order + 1)
    q = q if order else q[0]
    y, J = f.eval(C, q, tau=0.3)
    phi = f.function(C, tau=0.3)
    total = lambda q: jnp.sum(phi(q))
    program = jax.jit(lambda q: (phi(q), jax.jacfwd(phi)(q), jax.hessian(total)(q)))
    value, jacobian, H = program(jnp.asarray(q))
    np.testing.assert_allclose(y, value, atol=1e-12)
    np.testing.assert_allclose(J, jacobian, atol=1e-10)
    assert np.isfinite(H).all()


def test_scale_and_target_follow_differencing():
    C = random_tree(0, joints=4)
    q = random_q(C, np.random.default_rng(1), 2)
    plain = pw.Feature(FS.position, ["f1"], order=1).eval(C, q, tau=0.1)[0]
    A = np.array([[1.0, 2, 3], [0, 1, -1]])
    target = [0.1, 0.2, 0.3]
    y, J = pw.Feature(FS.position, ["f1"], order=1, scale=A, target=target).eval(
        C, q, tau=0.1
    )
    np.testing.assert_allclose(y, A @ (plain - target), atol=1e-12)
    assert J.shape == (2, 2, C.nq)


@pytest.mark.long
@pytest.mark.sampled("FS.transAccelerations-2")
@pytest.mark.parametrize(
    ("symbol", "order"),
    [
        (FS.position, 1),
        (FS.position, 2),
        (FS.linangVel, 1),
        (FS.linangVel, 2),
        (FS.qItself, 2),
        (FS.transAccelerations, 2),
    ],
)
def test_differences_over_steps_of_different_length(symbol, order):
    """Differences of 1 + 2 t + 3 t² are exact: velocity mid-step, acceleration 6."""
    C = pw.Config()
    C.add_frame("car", joint="transX")
    frames = [] if symbol in (FS.qItself, FS.transAccelerations) else ["car"]
    f = C.feature(symbol, frames, order=order)
    tau = np.array([0.3, 0.8])[:order]
    t = 0.4 + np.cumsum([0.0, *tau])
    q = (1 + 2 * t + 3 * t**2)[:, None]
    y, J = f.eval(C, q, tau=tau)
    want = 6.0 if order == 2 else 2 + 6 * (t[0] + t[1]) / 2
    np.testing.assert_allclose(y[0], want, rtol=1e-12)
    np.testing.assert_allclose(y[1:], 0, atol=1e-12)
    forward = jax.jacfwd(f.function(C, tau))(jnp.asarray(q))
    np.testing.assert_allclose(J, forward, atol=1e-12)
    np.testing.assert_allclose(J.sum(), 0, atol=1e-12)


@pytest.mark.parametrize("tau", [0.0, [0.1, 0.2], "fast", float("nan")])
def test_a_wrong_tau_is_refused(tau):
    C = random_tree(0, joints=2)
    f = C.feature(FS.position, ["f1"], order=1)
    with pytest.raises(pw.FeatureError, match="tau is .* one number, or 1"):
        f.eval(C, np.zeros((2, C.nq)), tau=tau)


@pytest.mark.parametrize(
    ("order", "slices", "says"),
    [(1, (), r"\(3,\), expected \(2, 3\): 2 slices"), (0, (2,), r"expected \(3,\)")],
)
def test_q_of_another_shape_is_refused(order, slices, says):
    C = random_tree(0, joints=2)
    phi = C.feature(FS.position, ["f1"], order=order).function(C)
    says = says.replace("3", str(C.nq))
    with pytest.raises(pw.FeatureError, match=says):
        jax.jit(phi)(np.zeros((*slices, C.nq)))


def test_gaze_takes_scales_of_either_form():
    C = random_tree(0, joints=4)
    two = C.eval(FS.gazeAt, ["f1", "f2"])[0]
    three = C.eval(FS.gazeAt, ["f1", "f2"], scale=[[1, 0, 0], [0, 1, 0]])[0]
    np.testing.assert_allclose(two, three)
    assert C.eval(FS.gazeAt, ["f1", "f2"], scale=[[1, 0]])[0].shape == (1,)


def test_a_pose_target_is_met_by_either_sign_of_its_quaternion():
    C = random_tree(0, joints=4)
    target = C.pose("f1")
    for sign in (1, -1):
        goal = np.concatenate([target[:3], sign * target[3:]])
        np.testing.assert_allclose(
            C.eval(FS.pose, ["f1"], target=goal)[0], 0, atol=1e-12
        )


@pytest.mark.slow
@pytest.mark.parametrize(
    "shape",
    [
        pw.Box([0.1, 0.2, 0.3], rounding=0.02),
        pw.Convex(np.random.default_rng(0).normal(size=(12, 3)) * 0.1),
        *(
            pytest.param(shape, marks=pytest.mark.slow)
            for shape in (
                pw.Sphere(0.1),
                pw.Cylinder(0.3, 0.1),
                pw.Capsule(0.2, 0.05),
                pw.Ellipsoid([0.1, 0.2, 0.05]),
            )
        ),
    ],
    ids=lambda s: type(s).__name__,
)
def test_standing_above_holds_only_if_every_surface_point_does(shape):
    rng = np.random.default_rng(3)
    count = 0
    for _ in range(400):
        C = pw.Config()
        pose = np.concatenate([rng.uniform(-0.4, 0.4, 2), [0], rng.normal(size=4)])
        C.add_frame("table", shape=pw.Box([1.0, 0.8, 0.1]), pose=pose)
        where = np.concatenate(
            [rng.uniform(-0.5, 0.5, 2), rng.uniform(0.1, 0.5, 1), rng.normal(size=4)]
        )
        C.add_frame("it", "table", joint="free", pose=where, shape=shape)
        rows = C.eval(FS.standingAbove, ["it", "table"])[0]
        points = surface(shape, rng)
        R, p = C.forward_pass().frames.R, C.forward_pass().frames.p
        points = (points @ R[1].T + p[1] - p[0]) @ R[0]
        outside = np.abs(points[:, :2]) - [0.5, 0.4]
        truth = max(outside.max(), 0.05 - points[:, 2].min())
        if rows.max() <= 0:
            assert truth <= 1e-9
            count += 1
        assert truth <= rows.max() + 1e-9
    assert count > 20


def surface(shape, rng) -> np.ndarray:
    """Return points on or in a shape."""
    u = rng.normal(size=(4000, 3))
    u /= np.linalg.norm(u, axis=1, keepdims=True)
    match shape:
        case pw.Sphere(radius):
            return u * radius
        case pw.Ellipsoid(radii):
            return u * radii
        case pw.Capsule(length, radius):
            return u * radius + np.outer(np.sign(u[:, 2]), [0, 0, length / 2])
        case pw.Box(size, rounding):
            corner = np.sign(u) * (size / 2 - rounding)
            return corner + u * rounding
        case pw.Cylinder(length, radius, _):
            ring = u[:, :2] / np.linalg.norm(u[:, :2], axis=1, keepdims=True)
            z = np.sign(u[:, 2:]) * length / 2
            return np.concatenate([ring * radius, z], 1)
        case pw.Convex(vertices, _):
            return vertices


@pytest.mark.sampled
@pytest.mark.parametrize("axis", [0, -1])
def test_amin_and_amax_share_their_derivative_among_ties(axis):
    x = jnp.array([[3.0, 1, 1], [0, 2, -jnp.inf], [3, 2, 5]])
    for ours, plain in ((safe_math.amin, jnp.min), (safe_math.amax, jnp.max)):
        np.testing.assert_array_equal(ours(x, axis), plain(x, axis))
        want = jax.jacrev(lambda x, f=plain: f(x, axis))(x)
        for derivative in (jax.jacrev, jax.jacfwd):
            got = derivative(lambda x, f=ours: f(x, axis))(x)
            np.testing.assert_allclose(got, want, atol=1e-15)
