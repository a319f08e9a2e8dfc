"""Distances of a world's pairs of frames by coal, pinocchio and MuJoCo MJX.

All of them measure the bodies of posewise: of a frame with several, each pair of these.
coal gets poses that were computed beforehand, pinocchio and MJX get configurations.
"""

from dataclasses import dataclass
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

import posewise as pw
from posewise.collision import Box, BoxPlusEllipsoid, Hull
from posewise.robots.contact.bodies import frame_bodies

from .coal_peer import coal_shape, fastest_seconds

MIN_SECONDS = 1.0
"""Time for which a peer is measured at least [s]."""
LINK_OFFSET = (0.0, 0.0, 0.25)
"""Position of each link of an arm in the one before [m]."""
TOLERANCE = 1e-3
"""Largest difference of distances from those of posewise [m]."""
MJX_MARGIN = 10.0
"""Distance up to which MJX reports contacts [m]: that of all pairs of these worlds."""


@dataclass(frozen=True)
class Scene:
    """A world, and the names of the frames of its pairs."""

    world: pw.Config
    pairs: list[tuple[str, str]]
    urdf: Path | None = None
    """Description of the robot; None: an arm of hinges, see `LINK_OFFSET`."""


def bodies_of(C: pw.Config, name: str) -> list[tuple]:
    """Return core, radius, R and p of each body of a frame, in its axes."""
    bodies = []
    for group in frame_bodies(C.frames[C.index(name)]):
        body = group.body
        for k in range(len(group)):
            core = jax.tree.map(lambda x, k=k: np.asarray(x)[k], body.core)
            bodies.append((core, float(body.radius[k]), body.R[k], body.p[k]))
    return bodies


def check_distances(scene: Scene, of_bodies: np.ndarray, expected: np.ndarray) -> None:
    """Check that a peer measures the same bodies at the same poses.

    Args:
        scene: the world and its pairs.
        of_bodies: distances of all pairs of bodies at each configuration (n, m) [m].
        expected: distances of pairs of frames at each configuration (n, pairs) [m].

    Raises:
        SystemExit: where bodies that are apart differ by more than `TOLERANCE`.
    """
    C = scene.world
    sizes = [len(bodies_of(C, a)) * len(bodies_of(C, b)) for a, b in scene.pairs]
    starts = np.cumsum([0, *sizes[:-1]])
    distances = np.minimum.reduceat(of_bodies, starts, axis=1)
    error = np.abs(distances - expected)[(expected > 0) & (distances > 0)].max()
    if error > TOLERANCE:
        raise SystemExit(f"The peer's distances differ by up to {error:.4f} m.")


def coal_rates(
    scene: Scene, Q: np.ndarray, expected: np.ndarray
) -> tuple[float, float]:
    """Return pairs of frames, and pairs of bodies, that coal measures a second.

    Shapes and poses are made beforehand; a loop in Python calls it.
    """
    import coal

    C = scene.world
    names = {name for pair in scene.pairs for name in pair}
    shapes = {
        name: [(coal_shape(core, r), R, p) for core, r, R, p in bodies_of(C, name)]
        for name in names
    }
    jobs = []
    for q in Q:
        C.q = q
        R, p = C.forward_pass().frames
        posed = {}
        for name in names:
            i = C.index(name)
            posed[name] = [
                (shape, coal.Transform3s(R[i] @ R_body, R[i] @ p_body + p[i]))
                for shape, R_body, p_body in shapes[name]
            ]
        jobs += [(*x, *y) for a, b in scene.pairs for x in posed[a] for y in posed[b]]
    request, result = coal.DistanceRequest(True), coal.DistanceResult()
    request.enable_signed_distance = True

    def run() -> None:
        for job in jobs:
            result.clear()
            coal.distance(*job, request, result)

    check = [coal.distance(*job, request, coal.DistanceResult()) for job in jobs]
    check_distances(scene, np.reshape(check, (len(Q), -1)), expected)
    seconds = fastest_seconds(run, MIN_SECONDS)
    return len(Q) * len(scene.pairs) / seconds, len(jobs) / seconds


def pinocchio_rate(scene: Scene, Q: np.ndarray, expected: np.ndarray) -> float:
    """Return pairs a second of pinocchio, which calls coal from C++.

    A loop in Python calls `computeDistances` once for each configuration.
    """
    import pinocchio as pin

    C = scene.world
    model = _pinocchio_model(scene)
    geometry, of_frame = pin.GeometryModel(), {}
    for name in {name for pair in scene.pairs for name in pair}:
        joint, placement = 0, pin.SE3(*(x[C.index(name)] for x in C.forward_pass()[0]))
        if model.existFrame(name):
            frame = model.frames[model.getFrameId(name)]
            joint, placement = frame.parentJoint, frame.placement
        of_frame[name] = [
            geometry.addGeometryObject(
                pin.GeometryObject(
                    f"{name} {k}",
                    joint,
                    placement * pin.SE3(R, p),
                    coal_shape(core, radius),
                )
            )
            for k, (core, radius, R, p) in enumerate(bodies_of(C, name))
        ]
    for a, b in scene.pairs:
        for i in of_frame[a]:
            for j in of_frame[b]:
                geometry.addCollisionPair(pin.CollisionPair(i, j))
    data, bodies = model.createData(), geometry.createData()
    for request in bodies.distanceRequests:
        request.enable_nearest_points = request.enable_signed_distance = True

    def run() -> None:
        for q in Q:
            pin.computeDistances(model, data, geometry, bodies, q)

    run()
    last = np.array([[result.min_distance for result in bodies.distanceResults]])
    check_distances(scene, last, expected[-1:])
    return len(Q) * len(scene.pairs) / fastest_seconds(run, MIN_SECONDS)


def _pinocchio_model(scene: Scene):
    """Return the robot of a scene in pinocchio."""
    import pinocchio as pin

    if scene.urdf:
        return pin.buildModelFromUrdf(str(scene.urdf))
    model, joint = pin.Model(), 0
    offset = pin.SE3(np.eye(3), np.array(LINK_OFFSET))
    axes = dict(X=pin.JointModelRX, Y=pin.JointModelRY, Z=pin.JointModelRZ)
    for frame in scene.world.frames:
        if frame.joint:
            axis = axes[frame.joint.type[-1]]()
            joint = model.addJoint(joint, axis, offset, f"joint {frame.name}")
            model.addBodyFrame(frame.name, joint, pin.SE3.Identity(), 0)
    return model


def mjx_rate(scene: Scene, Q: np.ndarray) -> float | None:
    """Return pairs a second of MJX's contacts, by `jit(vmap)`.

    MJX measures contacts, not distances; of boxes and hulls several for each pair.

    Returns:
        None for pairs that MJX does not know.
    """
    from mujoco import mjx

    model = _mujoco_model(scene)
    try:
        model, data = mjx.put_model(model), mjx.make_data(model)
    except NotImplementedError:
        return None

    # Models as arguments would be compiled again at each call.
    @jax.jit
    @jax.vmap
    def depths(q):
        moved = mjx.kinematics(model, data.replace(qpos=q))
        return mjx.collision(model, moved)._impl.contact.dist

    q = jnp.asarray(Q)
    seconds = fastest_seconds(lambda: jax.block_until_ready(depths(q)), MIN_SECONDS)
    return len(Q) * len(scene.pairs) / seconds


def _mujoco_model(scene: Scene):
    """Return an arm with obstacles in MuJoCo, in which these pairs touch alone."""
    import mujoco

    C, geom = scene.world, mujoco.mjtGeom
    spec = mujoco.MjSpec()
    link = spec.worldbody
    for frame in C.frames:
        body, place = spec.worldbody, {"pos": C.pose(frame.name)[:3]}
        if frame.joint:
            axis = np.eye(3)["XYZ".index(frame.joint.type[-1])]
            body, place = link.add_body(pos=LINK_OFFSET), {}
            body.add_joint(type=mujoco.mjtJoint.mjJNT_HINGE, axis=axis)
            link = body
        core, radius, _, _ = bodies_of(C, frame.name)[0]
        match core:
            case Box(half) if not half[0] and not half[1]:
                shape = dict(type=geom.mjGEOM_CAPSULE, size=[radius, half[2], 0])
            case Box(half):
                shape = dict(type=geom.mjGEOM_BOX, size=half)
            case BoxPlusEllipsoid(half, radii):
                size = [radii[0], half[2], 0]
                shape = dict(type=geom.mjGEOM_CYLINDER, size=size)
            case Hull(vertices):
                spec.add_mesh(name=frame.name, uservert=vertices.ravel())
                shape = dict(type=geom.mjGEOM_MESH, meshname=frame.name)
        # Only the pairs that are added below touch.
        shape |= dict(name=frame.name, mass=1, contype=0, conaffinity=0)
        body.add_geom(**shape, **place)
    for a, b in scene.pairs:
        spec.add_pair(geomname1=a, geomname2=b, margin=MJX_MARGIN)
    return spec.compile()
