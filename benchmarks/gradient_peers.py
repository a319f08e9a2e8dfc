"""Gradients of signed distances by posewise and by peers, for `gradients.py`.

Each library is a function without arguments, which imports it and returns a function
from pairs to gradients (n, 6); entries are NaN where the library gives none. From a
normal n and a witness point p follows the gradient: n by a translation, (p - c) cross n
by a rotation about c.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

FD_STEP = 1e-4
"""Step of finite differences of a peer's distances [m, rad]; least errors of 10⁻³ to
10⁻⁶."""

Gradients = Callable[[Sequence[Any]], np.ndarray]


def of_posewise() -> Gradients:
    """Return JAX's gradient of `contact`."""
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    from posewise.collision import Body, Box, Hull, Segment, contact

    def body(shape, R, p) -> Body:
        cores = {
            "box": lambda: Box(shape.half),
            "mesh": lambda: Hull(shape.vertices),
        }
        core = cores.get(shape.kind, lambda: Segment(shape.half[2]))()
        return Body(core, np.float64(shape.radius), R, p)

    @jax.jit
    def gradient(a: Body, b: Body):
        def distance(twist):
            return contact(moved_body(a, twist), b).distance

        return jax.grad(distance)(jnp.zeros(6))

    def moved_body(a: Body, twist):
        x, y, z = twist[3:]
        cross = jnp.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
        return a._replace(R=a.R + cross @ a.R, p=a.p + twist[:3])

    def gradients(pairs):
        return np.array(
            [
                gradient(body(c.a, c.Ra, c.pa), body(c.b, c.Rb, c.pb))
                for c in map(padded, pairs)
            ]
        )

    return gradients


def padded(pair: Any) -> Any:
    """Repeat a vertex of meshes, so that all have arrays of one shape."""
    from dataclasses import replace

    def pad(shape):
        v = shape.vertices
        if shape.kind != "mesh":
            return shape
        return replace(shape, vertices=np.concatenate([v, v[[0] * (16 - len(v))]]))

    return replace(pair, a=pad(pair.a), b=pad(pair.b))


def from_witness(pair: Any, normal: np.ndarray, point: np.ndarray) -> np.ndarray:
    """Return the gradient that follows from a unit normal (B to A) and A's point."""
    return np.concatenate([normal, np.cross(point - pair.pa, normal)])


def by_differences(distance: Callable[[Any], float]) -> Gradients:
    """Return central differences of a distance."""

    def gradients(pairs):
        steps = FD_STEP * np.eye(6)
        rows = [
            [distance(c.moved(e)) - distance(c.moved(-e)) for e in steps] for c in pairs
        ]
        return np.array(rows) / (2 * FD_STEP)

    return gradients


def coal_query() -> Callable[[Any], Any]:
    """Return a function from a pair to coal's result, for signed distances."""
    import coal

    shapes: dict[int, Any] = {}

    def geometry(shape):
        if id(shape) not in shapes:
            shapes[id(shape)] = shape, make(shape)
        return shapes[id(shape)][1]

    def make(shape):
        match shape.kind:
            case "sphere":
                return coal.Sphere(shape.radius)
            case "capsule":
                return coal.Capsule(shape.radius, 2 * shape.half[2])
            case "box":
                return coal.Box(*(2 * shape.half))
        points = coal.StdVec_Vec3s()
        for v in shape.vertices:
            points.append(v)
        return coal.Convex.convexHull(points, False, "Qt")

    request = coal.DistanceRequest(True)
    request.enable_signed_distance = True

    def query(pair):
        result = coal.DistanceResult()
        poses = coal.Transform3s(pair.Ra, pair.pa), coal.Transform3s(pair.Rb, pair.pb)
        first, second = geometry(pair.a), geometry(pair.b)
        coal.distance(first, poses[0], second, poses[1], request, result)
        return result

    return query


def of_coal() -> Gradients:
    """Return the gradient by coal's normals and nearest points."""
    query = coal_query()

    def gradient(pair):
        result = query(pair)
        # coal's normal points from the first body to the second
        return from_witness(pair, -result.normal, result.getNearestPoint1())

    return lambda pairs: np.array([gradient(c) for c in pairs])


def of_coal_differences() -> Gradients:
    """Return differences of coal's distances."""
    query = coal_query()
    return by_differences(lambda pair: query(pair).min_distance)


def mujoco_xml(pair: Any) -> str:
    """Return a model of the two bodies, both free."""

    def numbers(x) -> str:
        return " ".join(f"{v:.17g}" for v in np.ravel(x))

    def geom(name, shape):
        match shape.kind:
            case "sphere":
                size = f'size="{shape.radius}"'
            case "capsule":
                size = f'size="{numbers([shape.radius, shape.half[2]])}"'
            case "box":
                size = f'size="{numbers(shape.half)}"'
            case _:
                size = f'mesh="{name}"'
        return f'<geom name="{name}" type="{shape.kind}" {size} margin="1" mass="1"/>'

    shapes = {"a": pair.a, "b": pair.b}
    meshes = "".join(
        f'<mesh name="{k}" vertex="{numbers(s.vertices)}" inertia="convex"/>'
        for k, s in shapes.items()
        if s.kind == "mesh"
    )
    bodies = "".join(
        f"<body><freejoint/>{geom(k, s)}</body>" for k, s in shapes.items()
    )
    return f"<mujoco><asset>{meshes}</asset><worldbody>{bodies}</worldbody></mujoco>"


def mujoco_scene(pair: Any) -> tuple[Any, Any]:
    """Return the model and its state at the poses of the pair."""
    import mujoco

    model = mujoco.MjModel.from_xml_string(mujoco_xml(pair))
    data = mujoco.MjData(model)
    data.qpos[:] = np.concatenate([*pose7(pair.Ra, pair.pa), *pose7(pair.Rb, pair.pb)])
    mujoco.mj_kinematics(model, data)
    return model, data


def pose7(R: np.ndarray, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the position, and the quaternion (w, x, y, z)."""
    from scipy.spatial.transform import Rotation

    return p, Rotation.from_matrix(R).as_quat()[[3, 0, 1, 2]]


def of_mujoco() -> Gradients:
    """Return the gradient by the segment of `mj_geomDistance`."""
    import mujoco

    def gradient(pair):
        segment = np.zeros(6)
        model, data = mujoco_scene(pair)
        distance = mujoco.mj_geomDistance(model, data, 0, 1, 10.0, segment)
        with np.errstate(divide="ignore", invalid="ignore"):
            normal = (segment[:3] - segment[3:]) / distance
        return from_witness(pair, normal / np.linalg.norm(normal), segment[:3])

    return lambda pairs: np.array([gradient(c) for c in pairs])


def of_mujoco_differences() -> Gradients:
    """Return differences of `mj_geomDistance`."""
    import mujoco

    def distance(pair):
        model, data = mujoco_scene(pair)
        return mujoco.mj_geomDistance(model, data, 0, 1, 10.0, None)

    return by_differences(distance)


def of_drake() -> Gradients:
    """Return the gradient by Drake's normals and witness points."""
    from pydrake.geometry import (
        Box,
        Capsule,
        Convex,
        FramePoseVector,
        GeometryFrame,
        GeometryInstance,
        ProximityProperties,
        SceneGraph,
        Sphere,
    )
    from pydrake.math import RigidTransform, RotationMatrix

    def geometry(shape):
        match shape.kind:
            case "sphere":
                return Sphere(shape.radius)
            case "capsule":
                return Capsule(shape.radius, 2 * shape.half[2])
            case "box":
                return Box(*(2 * shape.half))
        return Convex(points=shape.vertices.T, label="hull")

    def gradient(pair):
        graph = SceneGraph()
        source = graph.RegisterSource("pair")
        poses, ids = FramePoseVector(), []
        parts = ((pair.a, pair.Ra, pair.pa), (pair.b, pair.Rb, pair.pb))
        for name, (shape, R, p) in zip("ab", parts, strict=True):
            frame = graph.RegisterFrame(source, GeometryFrame(name))
            instance = GeometryInstance(RigidTransform(), geometry(shape), name)
            instance.set_proximity_properties(ProximityProperties())
            ids.append(graph.RegisterGeometry(source, frame, instance))
            R = RotationMatrix.ProjectToRotationMatrix(R)
            poses.set_value(frame, RigidTransform(R, p))
        context = graph.CreateDefaultContext()
        graph.get_source_pose_port(source).FixValue(context, poses)
        query = graph.get_query_output_port().Eval(context)
        try:
            closest = query.ComputeSignedDistancePairClosestPoints(*ids)
        except RuntimeError:  # its search did not converge
            return np.full(6, np.nan)
        point = pair.Ra @ closest.p_ACa + pair.pa
        return from_witness(pair, closest.nhat_BA_W, point)

    return lambda pairs: np.array([gradient(c) for c in pairs])


def of_mjx() -> Gradients:
    """Return JAX's gradient of the least distance of MJX's contacts; no meshes."""
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    from mujoco import mjx

    @jax.jit
    @jax.grad
    def gradient(twist, model, data):
        # A quaternion turned by a small rotation vector, to first order.
        turn, q = twist[3:] / 2, data.qpos
        w, v = q[3], q[4:7]
        turned = [w - turn @ v, *(v + w * turn + jnp.cross(turn, v))]
        qpos = jnp.concatenate([q[:3] + twist[:3], jnp.stack(turned), q[7:]])
        moved = mjx.kinematics(model, data.replace(qpos=qpos))
        return jnp.min(mjx.collision(model, moved)._impl.contact.dist)

    # Sizes are data of one model for each kind of pair, so that it compiles once.
    models: dict[tuple[str, str], Any] = {}

    def gradient_of(pair):
        model, data = mujoco_scene(pair)
        kinds = pair.a.kind, pair.b.kind
        if kinds not in models:
            models[kinds] = mjx.put_model(model), mjx.put_data(model, data)
        like, state = models[kinds]
        sizes = {"geom_size": jnp.array(model.geom_size)}
        state = state.replace(qpos=jnp.array(data.qpos))
        return gradient(jnp.zeros(6), like.replace(**sizes), state)

    return lambda pairs: np.array([gradient_of(c) for c in pairs])


WITHOUT_MESHES = ("MJX, its derivatives",)
"""Libraries that refuse meshes with a margin; they are asked of the other pairs."""
LIBRARIES: dict[str, Callable[[], Gradients]] = {
    "posewise": of_posewise,
    "coal, normals": of_coal,
    "coal, differences": of_coal_differences,
    "MuJoCo, segments": of_mujoco,
    "MuJoCo, differences": of_mujoco_differences,
    "MJX, its derivatives": of_mjx,
    "Drake, normals": of_drake,
}
