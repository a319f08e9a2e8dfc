"""Problems of `batch_problems`, solved by other libraries for accelerators."""

import io
import xml.etree.ElementTree as ET
from collections.abc import Callable

import ik
import jax
import jax.numpy as jnp
import numpy as np

from .batch_problems import Solve, panda_targets
from .service_robots import skeleton

SEEDS = 8
"""Number of random starts of PyRoki for each target; the best end counts."""
POSITION, ANGLE = 1e-3, 0.01
"""Largest errors of a pose that is reached [m, rad]."""


def pyroki_targets(count: int) -> Solve:
    """PyRoki's least squares: weights as in its examples, all seeds at once."""
    import jaxlie
    import jaxls
    import pyroki
    import yourdfpy

    urdf = yourdfpy.URDF.load(
        io.BytesIO(ET.tostring(skeleton(ik.urdf()))), load_meshes=False
    )
    robot = pyroki.Robot.from_urdf(urdf)
    C, poses = panda_targets(count)
    tip = jnp.array(robot.links.names.index(ik.TIP), jnp.int32)
    low, high = robot.joints.lower_limits, robot.joints.upper_limits
    seeds = jax.random.uniform(
        jax.random.key(0), (SEEDS, len(low)), minval=low, maxval=high
    )
    targets = jnp.array([[*pose[3:], *pose[:3]] for pose in poses], jnp.float32)

    def from_seed(seed: jax.Array, pose: jax.Array) -> tuple[jax.Array, jax.Array]:
        variable, target = robot.joint_var_cls(0), jaxlie.SE3(pose)
        costs = [
            pyroki.costs.pose_cost_analytic_jac(
                robot, variable, target, tip, pos_weight=50.0, ori_weight=10.0
            ),
            pyroki.costs.limit_constraint(robot, variable),
        ]
        problem = jaxls.LeastSquaresProblem(costs, [variable]).analyze()
        values = problem.solve(
            jaxls.VarValues.make([variable.with_value(seed)]),
            verbose=False,
            linear_solver="dense_cholesky",
        )
        q = values[variable]
        error = (jaxlie.SE3(robot.forward_kinematics(q)[tip]).inverse() @ target).log()
        return q, jnp.linalg.norm(error)

    @jax.jit
    def best(poses: jax.Array) -> jax.Array:
        def of_pose(pose: jax.Array) -> jax.Array:
            q, error = jax.vmap(from_seed, (0, None))(seeds, pose)
            return q[jnp.argmin(error)]

        return jax.vmap(of_pose)(poses)

    names = [robot.joints.actuated_names.index(n) for n in C.joints.coordinate_names]
    reached = jax.jit(jax.vmap(_reaches(C)))

    def solve() -> np.ndarray:
        q = np.asarray(best(targets))[:, names]
        return np.asarray(reached(q, np.array(poses)))

    return solve


def _reaches(C) -> Callable[[jax.Array, jax.Array], jax.Array]:
    """Return whether a configuration reaches a pose within the limits."""
    K, (low, high) = C.kinematics(), C.limits

    def is_reached(q: jax.Array, pose: jax.Array) -> jax.Array:
        tip = K.pose(q, ik.TIP)
        turn = 2 * jnp.arccos(jnp.clip(jnp.abs(tip[3:] @ pose[3:]), 0, 1))
        is_inside = jnp.all((q >= low - 1e-4) & (q <= high + 1e-4))
        is_near = jnp.linalg.norm(tip[:3] - pose[:3]) < POSITION
        return is_near & (turn < ANGLE) & is_inside

    return is_reached


def mjx_kinematics(count: int) -> Solve:
    """MJX's kinematics of the same arm."""
    import mujoco
    from mujoco import mjx

    text = ET.tostring(skeleton(ik.urdf()), encoding="unicode")
    spec = mujoco.MjSpec.from_string(text)
    spec.compiler.fusestatic = False
    model = mjx.put_model(spec.compile())
    data = mjx.make_data(model)
    poses = jax.jit(
        jax.vmap(lambda q: mjx.kinematics(model, data.replace(qpos=q)).xpos)
    )
    q = jnp.asarray(np.random.default_rng(0).uniform(-1, 1, (count, model.nq)))

    def solve() -> np.ndarray:
        return np.isfinite(poses(q)).reshape(count, -1).all(1)

    return solve


PEERS = {f.__name__: f for f in (pyroki_targets, mjx_kinematics)}
